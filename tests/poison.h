/* poison.h: a container with one number or name changed, as a damaged disk, a careless program or an enemy leaves it. */
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
    else if (t->dtype == ST_I64)
      memcpy(data + i * 8, &(int64_t){(int64_t)value}, 8);
    else
      fail_msg("%s: '%s' holds no numbers that can be set", from, tensor);
  }
  st_close(f);
  poison_reseal(bytes, size);
  poison_write(to, bytes, size);
  free(bytes);
}

static inline void poison(const char *from, const char *to, const char *tensor, int64_t at, double value) {
  poison_set(from, to, tensor, at, value, 0);
}

/* A copy of a file in which `from` is `to` wherever it stands in the header (of a container) or in the text; 0: it stands nowhere. */
static inline int poison_rename(const char *source, const char *out, const char *from, const char *to, int container) {
  size_t size, n = strlen(from), m = strlen(to), used = 0;
  char *bytes = api_bytes(source, &size);
  uint64_t head = size;
  if (container) memcpy(&head, bytes, 8);
  size_t begin = container ? 8 : 0, end = begin + head;
  if (end > size) end = size;
  char *made = malloc(size + 8 + (size / n + 1) * m);
  assert_non_null(made);
  int found = 0;
  for (size_t i = begin; i < end;) {
    if (i + n <= end && memcmp(bytes + i, from, n) == 0) {
      memcpy(made + begin + used, to, m);
      used += m, i += n, found++;
    } else {
      made[begin + used++] = bytes[i++];
    }
  }
  while (container && used % 8) made[begin + used++] = ' ';
  memcpy(made, &(uint64_t){used}, begin);
  memcpy(made + begin + used, bytes + end, size - end);
  used += begin + size - end;
  if (container) poison_reseal(made, used);
  if (found) poison_write(out, made, used);
  free(made);
  free(bytes);
  return found;
}

#endif
