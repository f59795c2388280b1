/* Complexes in files: what is written comes back, hostile files are refused. */
#include "mesh/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char *const path = "test_cx_store.tmp";

static void assert_ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("status %d: %s", (int)s, fail_text());
}

static dkho_status save(const cx *c, const char *prefix) {
  st_writer *w;
  TRY(st_create(&w, path, 1));
  dkho_status s = cx_declare(c, w, prefix);
  if (s == DKHO_OK) s = cx_write(c, w);
  if (s == DKHO_OK) return st_commit(w);
  st_abort(w);
  return s;
}

static dkho_status load(cx **out, const char *prefix) {
  st_file *f;
  *out = NULL;
  TRY(st_open(&f, path));
  dkho_status s = cx_get(out, f, prefix);
  st_close(f);
  return s;
}

static void assert_same(const cx *a, const cx *b) {
  assert_int_equal(a->dim, b->dim);
  assert_int_equal(a->gdim, b->gdim);
  assert_memory_equal(a->n, b->n, sizeof a->n);
  assert_memory_equal(a->x, b->x, (size_t)(a->n[0] * a->gdim) * sizeof(double));
  for (int k = 0; k <= a->dim; k++) {
    size_t rows = (size_t)a->n[k], entries = rows * (size_t)(k + 1);
    if (k) {
      assert_memory_equal(a->vert[k], b->vert[k], entries * sizeof(int32_t));
      assert_memory_equal(a->face[k], b->face[k], entries * sizeof(int32_t));
      assert_memory_equal(a->sign[k], b->sign[k], entries);
      assert_memory_equal(a->measure[k], b->measure[k], rows * sizeof(double));
    }
    assert_memory_equal(a->dual[k], b->dual[k], rows * sizeof(double));
    assert_int_equal(!a->label[k], !b->label[k]);
    if (a->label[k]) assert_memory_equal(a->label[k], b->label[k], rows * sizeof(int32_t));
  }
  assert_int_equal(a->labels, b->labels);
  for (int i = 0; i < a->labels; i++) assert_string_equal(a->label_name[i], b->label_name[i]);
}

static void round_trip(cx *c, const char *prefix) {
  cx *back;
  assert_ok(save(c, prefix));
  assert_ok(load(&back, prefix));
  assert_ok(cx_check(back));
  assert_same(c, back);
  cx_free(back);
  cx_free(c);
}

static void round_trips(void **state) {
  (void)state;
  const double x[] = {0, 0, 1, 0, 1, 1, 0, 1};
  const int32_t points[] = {0, 1, 2, 3}, path_edges[] = {3, 2, 0, 1, 1, 2};
  cx *c;
  assert_ok(cx_darcy(&c, "smoke"));
  round_trip(c, "");
  assert_ok(cx_torus(&c, "smoke"));
  round_trip(c, "mesh.");
  assert_ok(cx_cavity(&c, "smoke"));
  round_trip(c, "complex/7/");
  assert_ok(cx_build(&c, 2, 4, x, 0, 4, points, CX_LEX));
  round_trip(c, "");
  assert_ok(cx_build(&c, 2, 4, x, 1, 3, path_edges, CX_APPEARANCE));
  round_trip(c, "");
  unlink(path);
}

/* A square of two triangles as tensors, one of which a test replaces. */
static void refuse(const char *name, st_dtype dtype, int rank, uint64_t rows, uint64_t columns, const void *data,
                   const char *text) {
  static const double x[] = {0, 0, 1, 0, 1, 1, 0, 1};
  static const int32_t edges[] = {0, 1, 1, 2, 0, 2, 2, 3, 0, 3}, faces[] = {0, 1, 2, 0, 2, 3}, label[] = {0, 1, 1, 0};
  st_tensor list[] = {
      {.name = "x", .dtype = ST_F64, .rank = 2, .shape = {4, 2}, .data = x},
      {.name = "vert1", .dtype = ST_I32, .rank = 2, .shape = {5, 2}, .data = edges},
      {.name = "vert2", .dtype = ST_I32, .rank = 2, .shape = {2, 3}, .data = faces},
      {.name = "label0", .dtype = ST_I32, .rank = 1, .shape = {4}, .data = label},
      {.name = "label_names", .dtype = ST_U8, .rank = 1, .shape = {14}, .data = "interior\0part"},
      {.name = "other", .dtype = ST_U8, .rank = 1, .shape = {0}, .data = ""},
  };
  int at = 0;
  cx *c;
  while (at < 5 && strcmp(list[at].name, name) != 0) at++;
  st_tensor put = {.name = rank ? name : "absent", .dtype = dtype, .rank = rank ? rank : 1, .shape = {rows, columns}};
  put.data = data;
  list[at] = put;
  assert_ok(st_save(path, 1, 6, list, 0, NULL));
  dkho_status s = load(&c, "");
  if (!text) {
    assert_ok(s);
    cx_free(c);
    return;
  }
  assert_int_equal(s, DKHO_E_FORMAT);
  assert_null(c);
  if (!strstr(fail_text(), text) || !strstr(fail_text(), path))
    fail_msg("found \"%s\", expected \"%s\"", fail_text(), text);
}

static void hostile_files(void **state) {
  (void)state;
  const double nan_x[] = {0, 0, 1, 0, 0.0 / 0.0, 1, 0, 1}, flat_x[] = {0, 0, 1, 0, 2, 0, 0, 1}, seven[7] = {0};
  const int32_t range[] = {0, 1, 1, 2, 0, 2, 2, 4, 0, 3}, falling[] = {1, 0, 1, 2, 0, 2, 2, 3, 0, 3},
                missing[] = {0, 1, 1, 2, 0, 2, 1, 3, 0, 3}, same[] = {0, 1, 1, 2, 0, 2, 2, 3, 0, 3, 0, 1},
                extra[] = {0, 1, 1, 2, 0, 2, 2, 3, 0, 3, 1, 3}, clockwise[] = {0, 2, 1, 0, 2, 3},
                twice[] = {0, 1, 1, 0, 2, 3}, doubled[] = {0, 1, 2, 2, 0, 1}, bad_label[] = {0, 1, 2, 0};
  const int32_t high[] = {0, 0};
  refuse("other", ST_U8, 1, 0, 0, "", NULL);
  refuse("x", ST_U8, 0, 0, 0, "", "x");
  refuse("x", ST_F32, 2, 3, 2, seven, "x");
  refuse("x", ST_F64, 2, 1, 7, seven, "space dimension: found 7, expected 2 or 3");
  refuse("x", ST_F64, 2, 0, 2, seven, "number of vertices: found 0");
  refuse("x", ST_F64, 2, 3, 2, nan_x, "vertex 2: coordinate");
  refuse("x", ST_F64, 2, 3, 2, seven, "vertex index 3, expected 0 … 2");
  refuse("x", ST_F64, 2, 4, 2, flat_x, "triangle 0 is degenerate");
  refuse("vert1", ST_U8, 0, 0, 0, "", "vert1");
  refuse("vert1", ST_I32, 2, 0, 2, range, "vert1: 0 rows");
  refuse("vert1", ST_I32, 2, 2, 3, range, "vert1");
  refuse("vert1", ST_I32, 2, 5, 2, range, "edge 3: vertex index 4, expected 0 … 3");
  refuse("vert1", ST_I32, 2, 5, 2, falling, "edge 0: vertices 1, 0 are not in ascending order");
  refuse("vert1", ST_I32, 2, 5, 2, missing, "triangle 1: the edge opposite its vertex number 0 is not listed");
  refuse("vert1", ST_I32, 2, 6, 2, same, "edge 5 has the same vertices as edge 0");
  refuse("vert1", ST_I32, 2, 6, 2, extra, "edge 5 belongs to no triangle");
  refuse("vert2", ST_I32, 2, 2, 3, clockwise, "triangle 0 is clockwise");
  refuse("vert2", ST_I32, 2, 2, 3, twice, "triangle 0: vertex 1 is listed twice");
  refuse("vert2", ST_I32, 2, 2, 3, doubled, "triangle 1 has the same vertices as triangle 0");
  refuse("label0", ST_I32, 1, 4, 0, bad_label, "label0: label of vertex 2: found 2, expected 0 … 1");
  refuse("label0", ST_I32, 1, 3, 0, bad_label, "label0");
  refuse("label3", ST_I32, 1, 2, 0, high, "label3: the complex has degree 2");
  refuse("label_names", ST_U8, 1, 8, 0, "interior", "label_names: expected names that end in a zero byte");
  refuse("label_names", ST_U8, 1, 0, 0, "", "label_names");
  refuse("label_names", ST_U8, 0, 0, 0, "", "label0: label of vertex 0");
  refuse("label_names", ST_I8, 1, 2, 0, "a", "label_names");
  char many[5000] = {0};
  refuse("label_names", ST_U8, 1, sizeof many, 0, many, "label_names: more than 4096 names");
  unlink(path);
}

static void long_prefix(void **state) {
  (void)state;
  char prefix[300];
  cx *c;
  memset(prefix, 'p', sizeof prefix);
  prefix[sizeof prefix - 1] = 0;
  assert_ok(cx_torus_grid(&c, 1, 0.4, 3, 3, 0));
  assert_int_equal(save(c, prefix), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "too long for a tensor name"));
  cx_free(c);
}

static void failing_memory(void **state) {
  (void)state;
  cx *c, *back;
  assert_ok(cx_cavity(&c, "smoke"));
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  int64_t n = 0;
  while (s != DKHO_OK) {
    mem_fail_at(++n);
    s = save(c, "");
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), live);
  }
  s = DKHO_E_MEMORY;
  for (n = 0; s != DKHO_OK;) {
    mem_fail_at(++n);
    s = load(&back, "");
    mem_fail_at(0);
    assert_true(s == DKHO_OK || (s == DKHO_E_MEMORY && !back));
    cx_free(back);
    assert_int_equal(mem_live_blocks(), live);
  }
  assert_true(n > 20);
  cx_free(c);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips), cmocka_unit_test(hostile_files),
                                     cmocka_unit_test(long_prefix), cmocka_unit_test(failing_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
