/* poison.h: a container with one number changed, as a damaged disk or a careless program leaves it. */
#ifndef TESTS_POISON_H
#define TESTS_POISON_H

#include "api.h"

#include "base/st.h"

static inline void poison_write(const char *path, const char *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

/* A file that says of itself that it is whole: the seal (FORMATS.md, "Content hash") is made again. */
static inline void poison_reseal(char *bytes, size_t size) {
  static const char key[] = "\"dkho.hash\":\"";
  char *at = memmem(bytes, size, key, sizeof key - 1), hex[33];
  if (!at) return;
  at += sizeof key - 1;
  memset(at, '0', 32);
  st_hash_bytes(bytes, size, hex);
  memcpy(at, hex, 32);
}

/* Writes `from` to `to` with element `at` (negative: from the end) of the tensor set to `value`; all elements when every. */
static inline void poison_set(const char *from, const char *to, const char *tensor, int64_t at, double value,
                              int every) {
  size_t size;
  char *bytes = api_bytes(from, &size);
  st_file *f;
  FINE(st_open_memory(&f, bytes, size, from));
  const st_tensor *t = st_find(f, tensor);
  if (!t) fail_msg("%s has no tensor '%s'", from, tensor);
  char *data = bytes + ((const char *)t->data - bytes);
  int64_t n = (int64_t)t->count, first = every ? 0 : at < 0 ? n + at : at, last = every ? n : first + 1;
  assert_in_range(first, 0, n - 1);
  for (int64_t i = first; i < last; i++) {
    float single = (float)value;
    if (t->dtype == ST_F32)
      memcpy(data + i * 4, &single, 4);
    else if (t->dtype == ST_F64)
      memcpy(data + i * 8, &value, 8);
    else
      fail_msg("%s: '%s' holds no floating-point numbers", from, tensor);
  }
  st_close(f);
  poison_reseal(bytes, size);
  poison_write(to, bytes, size);
  free(bytes);
}

static inline void poison(const char *from, const char *to, const char *tensor, int64_t at, double value) {
  poison_set(from, to, tensor, at, value, 0);
}

#endif
