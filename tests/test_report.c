/* Tests of the report floor: every figure in every format, odd values, refusals, failing allocations. */
#include "scratch.h"
#include "shapes.h"

#include "base/mem.h"
#include "mesh/generate.h"
#include "report/figure.h"
#include "report/scene.h"

static const char *const formats[3] = {"png", "svg", "pdf"};

typedef struct {
  unsigned char *bytes;
  size_t size;
} blob;

static blob slurp(const char *path) {
  file_map m;
  if (file_map_open(&m, path) != DKHO_OK) fail_msg("%s", fail_text());
  blob b = {malloc(m.size + 1), m.size};
  memcpy(b.bytes, m.bytes, m.size);
  b.bytes[m.size] = 0;
  file_map_close(&m);
  return b;
}

static uint32_t big_endian(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Is this a file of its format, with something in it? PNG pages are two pixels a point and neither tiny nor huge. */
static void check_file(const char *path, const char *format) {
  blob b = slurp(path);
  assert_true(b.size > 4000);
  if (strcmp(format, "png") == 0) {
    assert_memory_equal(b.bytes, "\x89PNG\r\n\x1a\n", 8);
    uint32_t w = big_endian(b.bytes + 16), h = big_endian(b.bytes + 20);
    assert_in_range(w, 400, 4000);
    assert_in_range(h, 300, 3000);
    assert_memory_equal(b.bytes + b.size - 8, "IEND", 4);
  } else if (strcmp(format, "svg") == 0) {
    assert_non_null(strstr((char *)b.bytes, "<svg"));
    assert_non_null(strstr((char *)b.bytes, "</svg>"));
  } else {
    assert_memory_equal(b.bytes, "%PDF-", 5);
    assert_non_null(strstr((char *)b.bytes + b.size - 16, "%%EOF"));
  }
  free(b.bytes);
}

/* Small complexes and one field of each degree, by a formula, or filled with odd values. */
typedef enum { SMOOTH, CONSTANT, ZERO, NOT_FINITE, MIXED, ENORMOUS, FILLS } fill;

static double fill_value(fill how, int64_t i) {
  switch (how) {
  case CONSTANT:
    return 3;
  case ZERO:
    return 0;
  case NOT_FINITE:
    return i % 2 ? NAN : INFINITY;
  case MIXED:
    return i % 3 == 0 ? NAN : i % 3 == 1 ? -INFINITY : sin((double)i);
  case ENORMOUS:
    return i % 2 ? 1e308 : -1e308;
  default:
    return sin(0.1 * (double)i) * 1e-4;
  }
}

typedef struct {
  cx *c[3]; /* plane, surface, solid */
  double *value[3][CX_DEGREES], *vector[3];
  uint8_t *mask[3][CX_DEGREES];
  int small; /* figures with as little as possible, for tests that draw many */
} world;

static void world_fill(world *w, fill how) {
  for (int m = 0; m < 3; m++) {
    for (int k = 0; k <= w->c[m]->dim; k++)
      for (int64_t i = 0; i < w->c[m]->n[k]; i++) w->value[m][k][i] = fill_value(how, i);
    for (int64_t i = 0; i < w->c[m]->n[0] * w->c[m]->gdim; i++) w->vector[m][i] = fill_value(how, i);
  }
}

static int hollow(int x, int y, int z) {
  return x != 1 || y != 1 || z != 1;
}

static void world_open(world *w, int smoke) {
  w->small = !smoke;
  if (smoke) {
    assert_int_equal(cx_darcy(&w->c[0], "smoke"), DKHO_OK);
    assert_int_equal(cx_torus(&w->c[1], "smoke"), DKHO_OK);
    assert_int_equal(cx_cavity(&w->c[2], "smoke"), DKHO_OK);
  } else {
    w->c[0] = shape_planar(3, 2, 1, (const int[1][2]){{1, 0}}, 0.1);
    w->c[1] = shape_torus(6, 4);
    w->c[2] = shape_cubes(3, 3, 3, hollow, 0);
  }
  for (int m = 0; m < 3; m++) {
    w->vector[m] = malloc((size_t)w->c[m]->n[0] * 3 * sizeof(double));
    for (int k = 0; k <= w->c[m]->dim; k++) {
      w->value[m][k] = malloc((size_t)w->c[m]->n[k] * sizeof(double));
      w->mask[m][k] = malloc((size_t)w->c[m]->n[k]);
      for (int64_t i = 0; i < w->c[m]->n[k]; i++) w->mask[m][k][i] = (uint8_t)(i % 8);
    }
  }
  world_fill(w, SMOOTH);
}

static void world_close(world *w) {
  for (int m = 0; m < 3; m++) {
    free(w->vector[m]);
    for (int k = 0; k <= w->c[m]->dim; k++) {
      free(w->value[m][k]);
      free(w->mask[m][k]);
    }
    cx_free(w->c[m]);
  }
}

/* The figures, all of them, by number. */
enum { COMPLEXES, FIELDS, FIELDS_SHARED, CHARTS, BARS, PHASE, FIGURES };

static dkho_status draw_complexes(const world *w, const char *path, int force) {
  static const int64_t betti[3][4] = {{1, 2, 0, 0}, {1, 2, 1, 0}, {1, 0, 1, 0}};
  figure_complex item[3] = {{w->c[0], "plane", betti[0]},
                            {w->c[1], "surface", NULL},
                            {w->c[2], "solid, with a long title for its room", betti[2]}};
  return figure_complexes(path, force, w->small ? 1 : 3, item + 2 * w->small);
}

static dkho_status draw_fields(const world *w, const char *path, int force) {
  figure_sample row[3] = {
      {"edges",
       "a note",
       w->c[0],
       {"f", 2, 1, w->value[0][2]},
       {"u", 1, 1, w->value[0][1]},
       {"u", 1, 1, w->value[0][1]}},
      {"vertices", NULL, w->c[1], {0}, {"u", 0, 1, w->value[1][0]}, {"u", 0, 1, w->value[1][0]}},
      {"cells", NULL, w->c[2], {"f", 1, 1, w->value[2][1]}, {"u", 3, 1, w->value[2][3]}, {"u", 3, 1, w->value[2][3]}},
  };
  return figure_fields(path, force, 0, w->small ? 1 : 3, row + w->small);
}

static dkho_status draw_shared(const world *w, const char *path, int force) {
  mesh_field none = {0}, b = {"B", 0, 3, w->vector[2]}, f = {"f", 2, 1, w->value[2][2]};
  figure_sample row[2] = {{"vectors", NULL, w->c[2], none, b, b}, {"faces", NULL, w->c[2], none, f, f}};
  return figure_fields(path, force, 1, w->small ? 1 : 2, row);
}

static dkho_status draw_charts(const world *w, const char *path, int force) {
  static const char *const label[4] = {"one", "two", NULL, "a longer label"};
  static const double x[4] = {1, 10, 1000, 2000};
  int64_t n = w->c[0]->n[0];
  chart_series line[2] = {{"training", n, w->value[0][0], w->value[0][0], 0, 1, 0, 1, 0, NULL},
                          {"validation", n, w->value[0][0], w->vector[0], 1, 1, 1, 0, 0, NULL}};
  chart_series dots[1] = {{"points", 4, x, w->value[0][0], 2, 0, 0, 0, 1, label}},
               none[1] = {{NULL, 0, NULL, NULL, 0, 1, 0, 0, 0, NULL}};
  chart panel[4] = {{"lines", "epoch", "error", 0, 1, 2, line},
                    {"linear", "epoch", "error", 0, 0, 2, line},
                    {NULL, "parameters", NULL, 1, 1, 1, dots},
                    {"empty", NULL, NULL, 1, 0, 1, none}};
  return figure_charts(path, force, 4, panel);
}

static dkho_status draw_bars(const world *w, const char *path, int force) {
  static const char *const group[3] = {"full", "without the harmonic part", "x"}, *const name[2] = {"small", "large"};
  bars panel[2] = {{"ablations", "RelL2", 0, 3, 2, group, name, w->value[0][0]},
                   {NULL, "RelL2", 1, 3, 1, group, NULL, w->value[0][0]}};
  return figure_bars(path, force, 2, panel);
}

static dkho_status draw_phase(const world *w, const char *path, int force) {
  phase_panel panel[3] = {{"(a) faces", w->c[0], 2, w->value[0][2], w->mask[0][2], 0.524, 2.18, 1.47},
                          {"(b) edges", w->c[1], 1, w->value[1][1], w->mask[1][1], 0.7, NAN, 2.98},
                          {"(c) vertices", w->c[2], 0, w->value[2][0], w->mask[2][0], 0.523, 2.91, 2.02}};
  return figure_phase(path, force, 1, w->small ? 1 : 3, panel + 2 * w->small);
}

static dkho_status draw(int figure, const world *w, const char *path, int force) {
  static dkho_status (*const call[FIGURES])(const world *, const char *, int) = {
      draw_complexes, draw_fields, draw_shared, draw_charts, draw_bars, draw_phase};
  return call[figure](w, path, force);
}

static void test_every_figure_in_every_format(void **state) {
  (void)state;
  char dir[64], path[128], name[32];
  world w;
  scratch_make(dir);
  world_open(&w, 1);
  for (int figure = 0; figure < FIGURES; figure++)
    for (int k = 0; k < 3; k++) {
      snprintf(name, sizeof name, "f%d.%s", figure, formats[k]);
      w.small = k > 0;
      if (draw(figure, &w, scratch_path(path, dir, name), 0) != DKHO_OK) fail_msg("%s: %s", name, fail_text());
      check_file(path, formats[k]);
    }
  assert_int_equal(scratch_count(dir), 3 * FIGURES);
  world_close(&w);
  scratch_remove(dir);
}

/* Fields of every degree on every complex in a tiny panel, with arrows and marks; -1 when one of them failed. */
static int draw_scenes(const world *w, canvas *page) {
  for (int m = 0; m < 3; m++)
    for (int k = 0; k <= w->c[m]->dim; k++) {
      range r = {0};
      range_add(&r, w->c[m]->n[k], w->value[m][k]);
      colour_scale map;
      colour_scale_set(&map, COLOUR_ERROR, k % 2 ? scale_log(&r, 3) : scale_linear(&r));
      scene sc;
      if (scene_open(&sc, page, w->c[m], 24, 20) != DKHO_OK) return -1;
      scene_field(&sc, &(mesh_field){"u", k, 1, w->value[m][k]}, &map);
      dkho_status s = scene_arrows(&sc, 0, w->vector[m], 5);
      if (k < 3) scene_mark(&sc, &(mark){k, w->mask[m][k], 2, 1, {1, 0, 0}, 0.5, 0.1});
      scene_place(&sc, 10 * k, 10 * m);
      scene_close(&sc);
      if (s != DKHO_OK) return -1;
    }
  return 0;
}

static void test_odd_values(void **state) {
  (void)state;
  char dir[64], path[128];
  world w;
  canvas page = {0};
  scratch_make(dir);
  world_open(&w, 0);
  assert_int_equal(canvas_open(&page, scratch_path(path, dir, "scenes.png"), 0, 300, 200), DKHO_OK);
  for (fill how = CONSTANT; how < FILLS; how++) {
    world_fill(&w, how);
    assert_int_equal(draw_scenes(&w, &page), 0);
    for (int figure = FIELDS_SHARED; figure < FIGURES; figure++) {
      if (draw(figure, &w, scratch_path(path, dir, "odd.png"), 1) != DKHO_OK)
        fail_msg("figure %d, fill %d: %s", figure, (int)how, fail_text());
      check_file(path, "png");
    }
  }
  assert_int_equal(canvas_commit(&page), DKHO_OK);
  assert_int_equal(scratch_count(dir), 2);
  world_close(&w);
  scratch_remove(dir);
}

static void test_same_bytes(void **state) {
  (void)state;
  char dir[64], path[2][128];
  world w;
  scratch_make(dir);
  world_open(&w, 0);
  scratch_path(path[0], dir, "a.png");
  scratch_path(path[1], dir, "b.png");
  for (int figure = 0; figure < FIGURES; figure++) {
    for (int i = 0; i < 2; i++) assert_int_equal(draw(figure, &w, path[i], 1), DKHO_OK);
    blob a = slurp(path[0]), b = slurp(path[1]);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    free(a.bytes);
    free(b.bytes);
  }
  world_close(&w);
  scratch_remove(dir);
}

static void test_refusals(void **state) {
  (void)state;
  char dir[64], path[128];
  static const char *const bad[4] = {"a.jpg", "png", "a.png.bak", "a."};
  world w;
  scratch_make(dir);
  world_open(&w, 0);
  for (int figure = 0; figure < FIGURES; figure++) {
    for (int i = 0; i < 4; i++) assert_int_equal(draw(figure, &w, scratch_path(path, dir, bad[i]), 0), DKHO_E_INPUT);
    assert_int_equal(draw(figure, &w, "no-such-directory/a.png", 0), DKHO_E_IO);
    assert_int_equal(scratch_count(dir), 0);
  }
  FILE *f = fopen(scratch_path(path, dir, "kept.PNG"), "w");
  fputs("kept", f);
  fclose(f);
  for (int figure = 0; figure < FIGURES; figure++) {
    assert_int_equal(draw(figure, &w, path, 0), DKHO_E_EXISTS);
    blob b = slurp(path);
    assert_string_equal((char *)b.bytes, "kept");
    free(b.bytes);
    assert_int_equal(scratch_count(dir), 1);
  }
  assert_int_equal(draw(CHARTS, &w, path, 1), DKHO_OK);
  check_file(path, "png");
  assert_int_equal(figure_complexes(path, 1, 0, NULL), DKHO_E_INPUT);
  assert_int_equal(figure_charts(path, 1, 0, NULL), DKHO_E_INPUT);
  assert_int_equal(figure_bars(path, 1, 1, &(bars){0}), DKHO_E_INPUT);
  assert_int_equal(figure_fields(path, 1, 0, 0, NULL), DKHO_E_INPUT);
  assert_int_equal(figure_phase(path, 1, 0, 1, NULL), DKHO_E_INPUT);
  world_close(&w);
  scratch_remove(dir);
}

/* A figure whose n-th allocation fails says so and leaves neither file nor memory. */
static void test_no_memory(void **state) {
  (void)state;
  char dir[64], path[128];
  world w;
  scratch_make(dir);
  world_open(&w, 0);
  scratch_path(path, dir, "a.png");
  size_t before = mem_live_blocks();
  for (int figure = 0; figure < FIGURES; figure++) {
    if (figure == FIELDS) continue; /* the shared one takes the same way, and arrows */
    dkho_status s = DKHO_E_MEMORY;
    for (int n = 1; s != DKHO_OK; n++) {
      mem_fail_at(n);
      s = draw(figure, &w, path, 0);
      mem_fail_at(0);
      assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
      assert_int_equal(mem_live_blocks(), before);
      assert_int_equal(scratch_count(dir), s == DKHO_OK);
      if (s == DKHO_OK) assert_true(n > 3);
    }
    unlink(path);
  }
  world_close(&w);
  scratch_remove(dir);
}

/* Fontconfig keeps what it found until the process ends; a leak checker is to look at ours. */
DKHO_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libfontconfig";
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_figure_in_every_format),
      cmocka_unit_test(test_odd_values),
      cmocka_unit_test(test_same_bytes),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
