/* test_bench.c: the measuring calls of dkho.h: figures that belong together, refusals, and nothing left behind in memory or in the
 * directory. How fast the machine is decides nothing here. */
#include "api.h"

#include <jansson.h>
#include <math.h>

static char dir[64];
static int home;

/* The calls keep their data sets in the working directory for a moment: that is to be an empty one. */
static int setup(void **state) {
  (void)state;
  scratch_make(dir);
  home = open(".", O_RDONLY | O_DIRECTORY);
  return home < 0 || chdir(dir);
}

static int teardown(void **state) {
  (void)state;
  int failed = fchdir(home);
  close(home);
  if (!failed) scratch_remove(dir);
  return failed;
}

static double number(const json_t *row, const char *key) {
  const json_t *v = json_object_get(row, key);
  if (!json_is_number(v)) fail_msg("no number '%s'", key);
  return json_number_value(v);
}

static json_t *rows_of(char *text, json_t **whole) {
  *whole = json_loads(text, 0, NULL);
  dkho_text_free(text);
  assert_non_null(*whole);
  return json_object_get(*whole, "rows");
}

static void test_bench(void **state) {
  (void)state;
  static const char *const tasks[] = {"train", "predict1", "predict16"};
  char *text, key[64];
  json_t *whole;
  FINE(dkho_bench("torus", "small", "smoke", 2, 0.01, &text));
  const json_t *rows = rows_of(text, &whole);
  assert_int_equal(json_array_size(rows), 2);
  for (size_t i = 0; i < 2; i++) {
    const json_t *row = json_array_get(rows, i), *one = json_array_get(rows, 0);
    assert_true(number(row, "threads") == (double)i + 1);
    assert_true(number(row, "turns") >= 3 && number(row, "train_bytes") > 0);
    for (int t = 0; t < 3; t++) {
      snprintf(key, sizeof key, "%s_ms", tasks[t]);
      double ms = number(row, key), alone = number(one, key);
      snprintf(key, sizeof key, "%s_best_ms", tasks[t]);
      assert_true(number(row, key) > 0 && number(row, key) <= ms);
      snprintf(key, sizeof key, "%s_speedup", tasks[t]);
      assert_true(fabs(number(row, key) - alone / ms) < 1e-12 * alone / ms);
    }
    double share = number(row, "train_gflops") / number(row, "peak_gflops");
    assert_true(share > 0 && fabs(number(row, "share") - share) < 1e-12 * share);
  }
  json_decref(whole);
  FINE(dkho_bench_model("torus", "fno", "smoke", 1, 0.01, &text));
  rows = rows_of(text, &whole);
  assert_int_equal(json_array_size(rows), 1);
  assert_true(number(json_array_get(rows, 0), "train_ms") > 0);
  json_decref(whole);
  REFUSED(DKHO_E_INPUT, dkho_bench_model("torus", "oracle", "smoke", 1, 0.01, &text), "oracle");
  REFUSED(DKHO_E_INPUT, dkho_bench_ranks("torus", "smoke", 1, 0.01, &text), "found 1 rank, expected at least two");
  REFUSED(DKHO_E_INPUT, dkho_bench("moon", NULL, "smoke", 1, 0.01, &text), "moon");
  REFUSED(DKHO_E_INPUT, dkho_bench("darcy", "huge", "smoke", 1, 0.01, &text), "huge");
  assert_null(text);
  assert_int_equal(scratch_count("."), 0);
}

static void test_scaling(void **state) {
  (void)state;
  char *text;
  json_t *whole;
  FINE(dkho_bench_scaling("small", 2000, 1, 2, "scaling.svg", 0, &text));
  const json_t *rows = rows_of(text, &whole);
  size_t n = json_array_size(rows);
  assert_true(n >= 5);
  for (size_t i = 0; i < n; i++) {
    const json_t *row = json_array_get(rows, i);
    double simplices = number(row, "simplices"), each = number(row, "train_us_per_simplex");
    double wanted = 1000 * pow(2, (double)i / (double)(n - 1));
    assert_true(fabs(simplices - wanted) < 0.1 * wanted);
    assert_true(fabs(each * simplices - 1e3 * number(row, "train_ms")) < 1e-9 * each * simplices);
  }
  json_decref(whole);
  REFUSED(DKHO_E_EXISTS, dkho_bench_scaling("small", 2000, 1, 2, "scaling.svg", 0, &text), "scaling.svg: exists");
  REFUSED(DKHO_E_INPUT, dkho_bench_scaling("small", 2000, 1, 2, "scaling.gif", 0, &text), "ending in .png");
  assert_int_equal(scratch_walk(".", 1), 1); /* the figure alone */
  REFUSED(DKHO_E_INPUT, dkho_bench_scaling("small", 10, 1, 1, NULL, 0, &text), "10 simplices");
  REFUSED(DKHO_E_INPUT, dkho_bench_scaling("small", 2000, 1000, 1, NULL, 0, &text), "1000 turns");
  REFUSED(DKHO_E_INPUT, dkho_bench_scaling("huge", 2000, 1, 1, NULL, 0, &text), "huge");
  assert_null(text);
  assert_int_equal(scratch_count("."), 0);
}

/* Allocations that fail here and there, ever later, until there are not that many. */
static void test_no_memory(void **state) {
  (void)state;
  size_t before = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  int64_t n = 1;
  for (; s != DKHO_OK; n = n * 3 + 1) {
    char *text = NULL;
    mem_fail_at(n);
    s = dkho_bench_scaling("small", 2000, 1, 2, NULL, 0, &text);
    mem_fail_at(0);
    if (s != DKHO_OK) assert_int_equal(s, DKHO_E_MEMORY);
    dkho_text_free(text);
    assert_int_equal(mem_live_blocks(), before);
    assert_int_equal(scratch_count("."), 0);
  }
  assert_true(n > 1000);
}

/* Fontconfig keeps what it found until the process ends; a leak checker is to look at ours. */
DKHO_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libfontconfig";
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bench), cmocka_unit_test(test_scaling),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
