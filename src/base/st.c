/* st.c: what reading and writing of containers share: element types, names, sizes. */
#include "base/st_impl.h"

#include <assert.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size;
} dtypes[] = {[ST_U8] = {"U8", 1},   [ST_I8] = {"I8", 1},   [ST_I32] = {"I32", 4},
              [ST_I64] = {"I64", 8}, [ST_F32] = {"F32", 4}, [ST_F64] = {"F64", 8}};

size_t st_dtype_size(st_dtype t) {
  assert((size_t)t < sizeof dtypes / sizeof *dtypes);
  return dtypes[t].size;
}

const char *st_dtype_name(st_dtype t) {
  assert((size_t)t < sizeof dtypes / sizeof *dtypes);
  return dtypes[t].name;
}

int st_pair_order(const void *a, const void *b) {
  return strcmp(((const st_pair *)a)->key, ((const st_pair *)b)->key);
}

/* Length of the UTF-8 sequence at s, 0 when it is none: shortest form, no surrogates, up to U+10FFFF. */
static int utf8_step(const unsigned char *s) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  int n = s[0] < 0x80 ? 1 : (s[0] & 0xe0) == 0xc0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : (s[0] & 0xf8) == 0xf0 ? 4 : 0;
  if (n < 2) return n;
  uint32_t point = s[0] & (0x7fu >> n);
  for (int i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0; /* stops at the terminating zero too */
    point = point << 6 | (s[i] & 0x3fu);
  }
  int surrogate = point >= 0xd800 && point <= 0xdfff;
  return point < least[n] || point > 0x10ffff || surrogate ? 0 : n;
}

int st_is_utf8(const char *s) {
  const unsigned char *at = (const unsigned char *)s;
  for (int n; *at; at += n) {
    n = utf8_step(at);
    if (n == 0) return 0;
  }
  return 1;
}

void st_mend_utf8(char *s) {
  unsigned char *at = (unsigned char *)s;
  for (int n; *at; at += n) {
    n = utf8_step(at);
    if (n == 0) *at = '?', n = 1;
  }
}

const char *st_name_fault(const char *name) {
  size_t length = strlen(name);
  if (length == 0) return "is empty";
  if (length > ST_NAME_MAX) return "is longer than 255 bytes";
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f) return "holds a control character";
  return st_is_utf8(name) ? NULL : "is not UTF-8";
}

int st_is_pad(const char *name) {
  if (strncmp(name, "_pad", 4) != 0 || !name[4]) return 0;
  return name[4 + strspn(name + 4, "0123456789")] == 0;
}

int st_extent(st_dtype dtype, int rank, const uint64_t *shape, uint64_t *count, uint64_t *bytes) {
  uint64_t product = 1;
  int empty = 0;
  for (int i = 0; i < rank; i++) {
    empty |= shape[i] == 0;
    if (shape[i] && __builtin_mul_overflow(product, shape[i], &product)) return 0;
  }
  if (__builtin_mul_overflow(product, st_dtype_size(dtype), bytes) || *bytes > INT64_MAX) return 0;
  *count = empty ? 0 : product;
  if (empty) *bytes = 0;
  return 1;
}
