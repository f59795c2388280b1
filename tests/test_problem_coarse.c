/* test_problem_coarse.c: what a coarser mesh knows as inputs: the same samples beside it, solutions that get better with the mesh, the same bits
 * for any number of threads, and what is refused. */
#include "problems.h"

#include "problem/coarse.h"

static char dir[64], path[128], other[128];

static int set_up(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(path, dir, "data.st");
  scratch_path(other, dir, "other.st");
  return 0;
}
static int tear_down(void **state) {
  (void)state;
  scratch_remove(dir);
  return 0;
}

static dataset *make_data(const problem *p, const char *lower, int threads, const char *to) {
  problem_request r = {
      .resolution = "coarse", .coarse = lower, .samples = 4, .seed = 7, .threads = threads, .force = 1};
  dataset *d;
  assert_ok(problem_generate(p, &r, to));
  assert_ok(dataset_open(&d, to));
  return d;
}

/* Fields, inputs and targets of the problem itself do not change; one more input stands behind for each target, near it but not equal. */
static void test_inputs(void **state) {
  (void)state;
  static const problem *const of[] = {&problem_lamination, &problem_wells, &problem_flow, &problem_ironloss};
  for (int i = 0; i < (SLOW ? 2 : 4); i++) {
    dataset *plain = make_data(of[i], NULL, 1, path), *more = make_data(of[i], "smoke", 2, other);
    int added = dataset_fields(plain);
    for (int f = 0; f < dataset_fields(plain); f++) {
      const data_field *a = &dataset_field(plain)[f], *b = &dataset_field(more)[f];
      int64_t n = dataset_count(plain, 0, a->degree) * a->channels;
      assert_string_equal(a->name, b->name);
      for (int64_t s = 0; s < 4 && (a->role == DATA_INPUT || a->role == DATA_TARGET); s++)
        assert_memory_equal(dataset_value(plain, f, s), dataset_value(more, f, s), (size_t)n * sizeof(float));
      if (a->role != DATA_TARGET) continue;
      const data_field *low = &dataset_field(more)[added];
      char name[64];
      snprintf(name, sizeof name, "coarse_%s", a->name);
      assert_string_equal(low->name, name);
      assert_true(low->role == DATA_INPUT && low->degree == a->degree && low->channels == a->channels);
      double gap = 0, size = 0;
      for (int64_t s = 0; s < 4; s++)
        for (int64_t k = 0; k < n; k++) {
          double y = (double)dataset_value(more, f, s)[k], x = (double)dataset_value(more, added, s)[k];
          gap += (x - y) * (x - y), size += y * y;
        }
      assert_between(sqrt(gap / size), 1e-3, 0.6);
      added++;
    }
    assert_int_equal(dataset_fields(more), added);
    dataset_free(plain), dataset_free(more);
  }
}

static void test_threads(void **state) {
  (void)state;
  char hash[2][33];
  for (int t = 0; t < 2; t++) {
    st_file *f;
    dataset_free(make_data(&problem_wells, "smoke", t ? 3 : 1, path));
    assert_ok(st_open(&f, path));
    st_hash(f, hash[t]);
    st_close(f);
  }
  assert_string_equal(hash[0], hash[1]);
}

/* Targets as a mesh of this resolution knows them against the fine ones; the driver's blocks hold the same. */
static double coarse_error(ready *r, const char *resolution) {
  coarse *low;
  coarse_solver *s;
  double *block[PROBLEM_FIELDS_MAX];
  void *work;
  assert_ok(coarse_create(&low, r->p, r->c, resolution, 42));
  assert_ok(coarse_open(&s, low));
  const problem *q = coarse_problem(low);
  assert_ok(problem_room(q, r->s, r->c, &r->mem, block, &work));
  assert_ok(problem_group(q, r->s, r->c, work, 42, 0, block));
  assert_ok(coarse_solve_group(s, block));
  int64_t n = r->c->n[1];
  double error =
      relative_distance(PROBLEM_GROUP * n, block[5], block[2]); /* coarse_H after saturation, current, H, B, energy */
  problem_leave(q, work);
  coarse_close(s);
  coarse_free(low);
  return error;
}

static void test_refined(void **state) {
  (void)state;
  ready r = ready_make(&problem_lamination, "medium");
  double poor = coarse_error(&r, "smoke"), better = coarse_error(&r, "coarse");
  assert_between(better / poor, 0.2, 0.8);
  ready_free(&r);
}

static void expect_refusal(const problem *p, const char *resolution, const char *lower, const char *word) {
  problem_request r = {.resolution = resolution, .coarse = lower, .samples = 4, .seed = 7, .threads = 1, .force = 1};
  assert_int_equal(problem_generate(p, &r, path), DKHO_E_INPUT);
  if (!strstr(fail_text(), word)) fail_msg("'%s' does not say '%s'", fail_text(), word);
  assert_int_not_equal(access(path, F_OK), 0);
}

static void test_refusals(void **state) {
  (void)state;
  unlink(path);
  expect_refusal(&problem_darcy, "smoke", "smoke", "darcy");
  expect_refusal(&problem_lamination, "smoke", "smoke", "expected fewer");
  expect_refusal(&problem_lamination, "smoke", "medium", "expected fewer");
  expect_refusal(&problem_lamination, "coarse", "rough", "rough");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_inputs), cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_refined), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
