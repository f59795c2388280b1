/* fuzz_npz.c: whatever the bytes, an archive opens or is refused with a message, and so does every array in it. The arrays that open are
 * written into an archive again, here, since the library writes none: it is read as the same arrays. */
#include "fuzz.h"

#include "data/npz.h"

#include <zlib.h>

typedef struct archive {
  unsigned char *bytes;
  size_t size, room;
  int members;
  struct {
    char name[NPZ_NAME_MAX + 8];
    size_t at, size;
    uint32_t crc;
  } * member;
} archive;

static void put(archive *a, const void *bytes, size_t size) {
  if (a->size + size > a->room) {
    a->room = 2 * (a->size + size);
    a->bytes = realloc(a->bytes, a->room);
    CHECK(a->bytes);
  }
  memcpy(a->bytes + a->size, bytes, size);
  a->size += size;
}

/* Numbers of `width` bytes each, little-endian; ends with -1. */
static void put_numbers(archive *a, const int64_t *list) {
  for (; list[0] >= 0; list += 2)
    for (int64_t i = 0; i < list[0]; i++) put(a, &(unsigned char){(unsigned char)(list[1] >> 8 * i)}, 1);
}

/* A local header or, with the place of one, a record of the central directory. */
static void put_record(archive *a, int i, int central) {
  int64_t crc = a->member[i].crc, size = (int64_t)a->member[i].size, at = (int64_t)a->member[i].at;
  int64_t name = (int64_t)strlen(a->member[i].name);
  put_numbers(a, (int64_t[]){4, central ? 0x02014b50 : 0x04034b50, central ? 2 : 0, 20, -1});
  put_numbers(a, (int64_t[]){2, 20, 2, 0, 2, 0, 4, 0, 4, crc, 4, size, 4, size, 2, name, 2, 0, -1});
  if (central) put_numbers(a, (int64_t[]){2, 0, 2, 0, 2, 0, 4, 0, 4, at, -1});
  put(a, a->member[i].name, (size_t)name);
}

static void put_array(archive *a, const char *name, const npy *x) {
  char head[NPY_HEAD_MAX];
  size_t n = npy_head(head, x->dtype, x->rank, x->shape), bytes = (size_t)x->count * st_dtype_size(x->dtype);
  int i = a->members++;
  a->member = realloc(a->member, (size_t)a->members * sizeof *a->member);
  CHECK(a->member);
  snprintf(a->member[i].name, sizeof a->member[i].name, "%s.npy", name);
  uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)head, (uInt)n);
  a->member[i].crc = (uint32_t)(bytes ? crc32(crc, x->data, (uInt)bytes) : crc); /* nothing there: zlib begins anew */
  a->member[i].size = n + bytes, a->member[i].at = a->size;
  put_record(a, i, 0);
  put(a, head, n);
  if (bytes) put(a, x->data, bytes);
}

static void put_end(archive *a) {
  size_t first = a->size;
  for (int i = 0; i < a->members; i++) put_record(a, i, 1);
  int64_t size = (int64_t)(a->size - first);
  put_numbers(
      a, (int64_t[]){4, 0x06054b50, 2, 0, 2, 0, 2, a->members, 2, a->members, 4, size, 4, (int64_t)first, 2, 0, -1});
}

static void same_array(const npy *a, const npy *b) {
  CHECK(a->dtype == b->dtype && a->rank == b->rank && a->count == b->count);
  CHECK(memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0);
  CHECK(a->count == 0 || memcmp(a->data, b->data, (size_t)a->count * st_dtype_size(a->dtype)) == 0);
}

/* source[k]: the member of z that stands at place k. */
static void read_again(const archive *a, const npz *z, const int *source) {
  npz again;
  npy x, y;
  void *room, *other;
  CHECK(npz_parse(&again, a->bytes, a->size, "again") == DKHO_OK && again.members == a->members);
  for (int k = 0; k < again.members; k++) {
    CHECK(strcmp(again.member[k].name, z->member[source[k]].name) == 0);
    CHECK(npz_array(&again, k, &x, &room) == DKHO_OK && npz_array(z, source[k], &y, &other) == DKHO_OK);
    same_array(&x, &y);
    mem_free(room), mem_free(other);
  }
  mem_free(again.member);
}

/* Members may share their bytes: of what they unpack to, the first so many are written again. */
static double read_all(const npz *z) {
  enum { ROOM = 1 << 20 };
  double sum = 0;
  archive made = {0};
  int *source = calloc((size_t)z->members + 1, sizeof *source);
  CHECK(source);
  for (int i = 0; i < z->members; i++) {
    npy a;
    void *room;
    if (npz_array(z, i, &a, &room) != DKHO_OK) continue;
    for (uint64_t k = 0; k < a.count; k++) sum += npy_double(&a, k);
    if (made.size < ROOM) source[made.members] = i, put_array(&made, z->member[i].name, &a);
    mem_free(room);
  }
  put_end(&made);
  if (made.members) read_again(&made, z, source);
  free(made.bytes), free(made.member), free(source);
  return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_run run = fuzz_begin(size);
  npz z;
  double sum = 0;
  if (npz_parse(&z, data, size, "fuzz") != DKHO_OK) {
    fuzz_refused("fuzz: ");
    fuzz_end(&run);
    return 0;
  }
  sum = read_all(&z);
  mem_free(z.member);
  fuzz_end(&run);
  return sum == 42;
}
