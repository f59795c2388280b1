/* mesh_files.h: reading mesh files in tests: sound ones, malformed ones, cut ones, without memory. */
#ifndef TEST_MESH_FILES_H
#define TEST_MESH_FILES_H

#include "scratch.h"

#include "mesh/meshio.h"

#include <math.h>

#define DATA TEST_DATA "/mesh/"

static inline cx *load(const char *path) {
  cx *c;
  if (mesh_read(&c, path, NULL, NULL) != DKHO_OK) fail_msg("%s", dkho_error());
  if (cx_check(c) != DKHO_OK) fail_msg("%s: %s", path, dkho_error());
  return c;
}

static inline cx *load_text(const char *format, const char *text) {
  cx *c;
  if (mesh_read_memory(&c, text, strlen(text), format, "text", NULL, NULL) != DKHO_OK) fail_msg("%s", dkho_error());
  if (cx_check(c) != DKHO_OK) fail_msg("%s", dkho_error());
  return c;
}

static inline int32_t label_at(const cx *c, int k, int64_t i) {
  return c->label[k] ? c->label[k][i] : 0;
}

/* Same simplices with the same numbers, same coordinates to `tolerance`, and the same labels unless told otherwise. */
static inline void assert_same(const cx *a, const cx *b, double tolerance, int labels) {
  assert_int_equal(a->dim, b->dim);
  assert_int_equal(a->gdim, b->gdim);
  for (int k = 0; k <= a->dim; k++) {
    assert_int_equal(a->n[k], b->n[k]);
    if (k) assert_memory_equal(a->vert[k], b->vert[k], (size_t)(a->n[k] * (k + 1)) * sizeof(int32_t));
    for (int64_t i = 0; labels && i < a->n[k]; i++) assert_int_equal(label_at(a, k, i), label_at(b, k, i));
  }
  for (int64_t i = 0; i < a->n[0] * a->gdim; i++) assert_true(fabs(a->x[i] - b->x[i]) <= tolerance);
}

typedef struct {
  const char *format, *text, *message; /* message: what the refusal must hold */
} bad_file;

static inline void refuse(const bad_file *f) {
  cx *c;
  size_t live = mem_live_blocks();
  dkho_status s = mesh_read_memory(&c, f->text, strlen(f->text), f->format, "bad", NULL, NULL);
  if (s == DKHO_OK) fail_msg("accepted: %s", f->text);
  assert_true(s == DKHO_E_FORMAT || s == DKHO_E_NONFINITE);
  assert_null(c);
  if (strncmp(dkho_error(), "bad: ", 5) != 0 || !strstr(dkho_error(), f->message))
    fail_msg("%s\n  gave      \"%s\"\n  expected  \"%s\"", f->text, dkho_error(), f->message);
  assert_int_equal(mem_live_blocks(), live);
}

static inline unsigned char *slurp(const char *name, size_t *size) {
  char path[512];
  file_map map;
  snprintf(path, sizeof path, DATA "%s", name);
  assert_int_equal(file_map_open(&map, path), DKHO_OK);
  unsigned char *copy = malloc(map.size);
  memcpy(copy, map.bytes, map.size);
  *size = map.size;
  file_map_close(&map);
  return copy;
}

/* Cut anywhere, a file is refused or, where only the tail is lost, read; the bytes end where the allocation does, so
 * that a sanitizer sees any step beyond. Texts are cut at about 1500 places each, the last 64 bytes at every place. A format that is
 * whole after any line is `open`; the others have an end that only white space may follow. */
static inline void check_truncated(const char *name, int open) {
  size_t size, live = mem_live_blocks(), accepted = 0, peak = mem_peak_bytes();
  unsigned char *bytes = slurp(name, &size);
  for (size_t cut = 0; cut < size; cut += cut + 64 < size ? 1 + size / 1500 : 1) {
    unsigned char *part = malloc(cut ? cut : 1);
    memcpy(part, bytes, cut);
    cx *c;
    if (mesh_read_memory(&c, part, cut, strrchr(name, '.') + 1, "cut", NULL, NULL) == DKHO_OK)
      accepted++;
    else
      assert_int_equal(strncmp(dkho_error(), "cut: ", 5), 0);
    cx_free(c);
    free(part);
    assert_int_equal(mem_live_blocks(), live);
  }
  if (!open && accepted > 20) fail_msg("%s: %zu cut files read", name, accepted);
  assert_true(mem_peak_bytes() - peak < 64 * size + (4 << 20));
  free(bytes);
}

/* Every allocation in turn fails: refused for memory, nothing left behind. */
static inline void check_starved(const char *name) {
  char path[512];
  snprintf(path, sizeof path, DATA "%s", name);
  size_t live = mem_live_blocks();
  for (int64_t n = 1;; n++) {
    cx *c;
    mem_fail_at(n);
    dkho_status s = mesh_read(&c, path, NULL, NULL);
    mem_fail_at(0);
    cx_free(c);
    assert_int_equal(mem_live_blocks(), live);
    if (s == DKHO_OK) {
      assert_true(n > 20);
      return;
    }
    assert_int_equal(s, DKHO_E_MEMORY);
    assert_null(c);
  }
}

#endif
