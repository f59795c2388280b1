/* st.h: the tensor container: a strict subset of safetensors (docs/FORMATS.md). Meshes, data sets, weights, checkpoints
 * and predictions are all files of this kind.
 *
 * Layout: 8 bytes little-endian header length n; n bytes of JSON; then the tensors' bytes, contiguous, in header order.
 * Reading maps the file; tensors are views into the map, aligned to their element size. Writing declares all tensors
 * first, then streams their bytes in that order, so a data set may be larger than memory. Tensors named "_pad" and digits
 * are padding: the writer makes them, the reader checks and hides them. */
#ifndef BASE_ST_H
#define BASE_ST_H

#include "base/file.h"
#include "base/mem.h"

enum { ST_RANK_MAX = 8, ST_NAME_MAX = 255, ST_TENSORS_MAX = 65536, ST_HEADER_MAX = 64 << 20 };

/* Whether the text is UTF-8. */
int st_is_utf8(const char *s);
/* Puts a question mark for every byte that is not part of UTF-8. */
void st_mend_utf8(char *s);

typedef enum { ST_U8, ST_I8, ST_I32, ST_I64, ST_F32, ST_F64 } st_dtype;
size_t st_dtype_size(st_dtype t);
const char *st_dtype_name(st_dtype t); /* "U8" … "F64" */

typedef struct st_tensor {
  const char *name; /* borrowed from the file or the writer */
  st_dtype dtype;
  int rank;
  uint64_t shape[ST_RANK_MAX];
  uint64_t count;   /* product of shape, 1 for rank 0 */
  const void *data; /* count elements, borrowed from the map */
} st_tensor;

typedef struct st_file st_file; /* immutable once open: share it between threads freely */
dkho_status st_open(st_file **out, const char *path);
dkho_status st_open_memory(st_file **out, const void *bytes, size_t size,
                           const char *name); /* bytes borrowed; name for messages */
void st_close(st_file *f);
const char *st_path(const st_file *f);
int st_count(const st_file *f);
const st_tensor *st_at(const st_file *f, int i);
const st_tensor *st_find(const st_file *f, const char *name); /* NULL when absent */
const char *st_meta(const st_file *f, const char *key);       /* NULL when absent */
int st_meta_count(const st_file *f);
const char *st_meta_key(const st_file *f, int i); /* in the order of strcmp */
/* The tensor `name` if it has this type and shape, else an error that says what was found. shape entry -1: any extent.
 */
dkho_status st_need(const st_file *f, const char *name, st_dtype dtype, int rank, const int64_t *shape,
                    const st_tensor **out);
/* The metadata value, or an error naming file and key. */
dkho_status st_need_meta(const st_file *f, const char *key, const char **out);
/* 128-bit content hash of the whole file as 32 hex digits (not cryptographic; the function is documented in
 * FORMATS.md). */
void st_hash(const st_file *f, char hex[33]);
/* The same function over any bytes. */
void st_hash_bytes(const void *bytes, size_t size, char hex[33]);

typedef struct st_writer st_writer;
dkho_status st_create(st_writer **out, const char *path, int force);
dkho_status st_put_meta(st_writer *w, const char *key, const char *value);
/* Declares the next tensor. All metadata and declarations come before the first byte of data. Padding that a tensor's
 * alignment needs is put in by itself: any order of types will do. */
dkho_status st_declare(st_writer *w, const char *name, st_dtype dtype, int rank, const uint64_t *shape);
/* The next bytes of the stream; they run on from one declared tensor into the next. */
dkho_status st_write(st_writer *w, const void *data, size_t bytes);
/* Declared and written bytes must agree. Frees w whether or not it succeeds. */
dkho_status st_commit(st_writer *w);
void st_abort(st_writer *w); /* NULL is fine; the target is as it was */

/* One container by several processes, which all declare and write the same. The first creates it, the others join its temporary file; each
 * puts a share of the bytes in place, that of number `rank` among `of`. When all have come through st_sync the first one commits, the others
 * abort. */
const char *st_temp(const st_writer *w);
dkho_status st_join(st_writer **out, const char *path, const char *temp);
void st_share(st_writer *w, int rank, int of); /* before the first byte */
/* Or the first writes all but what it leaves to the others (not in a sealed file): the next bytes of the stream are theirs; where in the file
 * a declared tensor begins. */
dkho_status st_skip(st_writer *w, uint64_t bytes);
dkho_status st_place(st_writer *w, const char *name, uint64_t *at);
/* All is written, and this share of it durable; hex: the hash by which it is sealed, "" when it is not. */
dkho_status st_sync(st_writer *w, char hex[33]);

/* Writes a list of tensors held in memory and pairs (key, value) of metadata in one go. Of each tensor, name, dtype,
 * rank, shape and data count; count does not. */
dkho_status st_save(const char *path, int force, int tensors, const st_tensor *list, int metas,
                    const char *const (*meta)[2]);

#endif
