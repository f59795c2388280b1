/* st_impl.h: what the files of the container share among themselves; nobody else includes it. */
#ifndef BASE_ST_IMPL_H
#define BASE_ST_IMPL_H

#include "base/seal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "containers are mapped as they are: little-endian only");

/* Data begin at a multiple of ST_DATA_ALIGN in any file, of ST_WRITE_ALIGN in ours. */
enum { ST_PREFIX = 8, ST_DATA_ALIGN = 8, ST_WRITE_ALIGN = 64, ST_PAD_MAX = 7 };
#define ST_META_KEY "__metadata__"

typedef struct st_pair {
  const char *key, *value;
} st_pair;

struct st_file {
  char *path;
  file_map map; /* empty when the bytes are borrowed */
  const unsigned char *bytes;
  size_t size;
  arena mem;                 /* everything below */
  st_tensor *list;           /* count, file order, without padding */
  const st_tensor **by_name; /* count, sorted */
  int count, metas;
  st_pair *meta; /* metas, sorted by key */
};

/* The content hash piece by piece. */
typedef struct st_hasher {
  uint64_t lane[4], size;
  unsigned char tail[32]; /* size % 32 bytes of an unfinished stripe */
} st_hasher;
void st_hasher_start(st_hasher *h);
void st_hasher_add(st_hasher *h, const void *bytes, size_t count);
void st_hasher_end(st_hasher *h, char hex[33]);

/* The seal: metadata with the hash of the whole file, in which its own digits count as zeros. */
#define ST_SEAL_KEY "dkho.hash"
#define ST_SEAL_ZEROS "00000000000000000000000000000000"
enum { ST_SEAL_DIGITS = 32 };
const char *st_seal_at(const char *header, size_t size); /* the digits in a header's text, NULL when there are none */
/* Whether the contents are those that were sealed; a file without a seal is fine. */
dkho_status st_check_seal(const st_file *f);

/* Fills the lists of f from the header in f->bytes. */
dkho_status st_parse(st_file *f);

/* Order of qsort and bsearch over st_pair by key. */
int st_pair_order(const void *a, const void *b);

/* What is wrong with a tensor name or a metadata key ("is empty", …), or NULL. */
const char *st_name_fault(const char *name);
/* Whether the name is "_pad" and digits: reserved for padding. */
int st_is_pad(const char *name);
/* count = Π shape and bytes = count·size; 0 when either does not fit 63 bits, even if an extent is 0. */
int st_extent(st_dtype dtype, int rank, const uint64_t *shape, uint64_t *count, uint64_t *bytes);

#endif
