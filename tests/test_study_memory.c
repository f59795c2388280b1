/* test_study_memory.c: whole studies, pairs of runs and measurements with the n-th allocation failing (memory.h). A study is taken
 * in stages, each with what comes before it done, for it goes on where it was: so late allocations are reached in little time. What
 * the stages leave out, timing, has its own sweep with dkho_honesty. After all failures the same call finishes the study. */
#include "memory.h"

static char lower[128], upper[128], study[128];

static dkho_status reproduce(void) {
  const dkho_reproduce_options o = {
      .budget = "smoke", .target = "w", .samples = 10, .epochs = 1, .seed = 42, .threads = 1, .figures = "training"};
  return dkho_reproduce("darcy", study, &o, &text);
}

static void remove_parts(const char *const *part) {
  char path[512];
  for (; *part; part++) {
    snprintf(path, sizeof path, "%s/%s", study, *part);
    struct stat s;
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) api_remove(path);
    remove(path);
  }
}

static void no_study(void) {
  api_remove(study);
}
static void no_judgement(void) {
  remove_parts((const char *const[]){"darcy/honest-w.json", "darcy/phase-w-small.json", "darcy/pair-small.json",
                                     "darcy/result.json", NULL});
}
static void no_training(void) {
  remove_parts((const char *const[]){"darcy/runs/w-small", NULL});
}
static void no_temporary(void) {
  assert_int_equal(temporary_files(study), 0);
}

/* The first `dense` allocations and then 4, 16, … times that, up to `last`. */
static void failures(const trial *t, int64_t dense, int64_t last) {
  for (int64_t n = 1; n <= last; n = n < dense * memory_effort() ? n + 1 : 4 * n)
    if (attempt(t, n)) fail_msg("%s succeeds although allocation %lld failed", t->name, (long long)n);
}

static void test_reproduce(void **state) {
  (void)state;
  failures(&(trial){"study from nothing", reproduce, no_study, no_temporary, 0}, 200, 200);
  FINE(reproduce());
  dkho_text_free(text);
  text = NULL;
  sweep(&(trial){"tables and figures", reproduce, NULL, no_temporary, 0}, 60);
  sweep(&(trial){"judging", reproduce, no_judgement, no_temporary, 0}, 8);
  failures(&(trial){"training", reproduce, no_training, no_temporary, 0}, 1, 256);
  FINE(reproduce());
  dkho_text_free(text);
  text = NULL;
}

static dkho_status compatibility(void) {
  double out;
  return dkho_compatibility(lower, upper, NULL, "test", 1, &out);
}
static dkho_status bench(void) {
  return dkho_bench("torus", "small", "smoke", 1, 1e-6, &text);
}

static void test_pair(void **state) {
  (void)state;
  sweep(&(trial){"compatibility", compatibility, NULL, NULL, 0}, 200);
}

static void test_bench(void **state) {
  (void)state;
  sweep(&(trial){"bench", bench, NULL, NULL, 0}, 200);
}

static int setup(void **state) {
  (void)state;
  world_make(&w, "darcy", "q");
  snprintf(lower, sizeof lower, "%s", w.run);
  scratch_path(upper, w.dir, "upper");
  scratch_path(study, w.dir, "study");
  dkho_train_options o = api_options();
  o.target = "w";
  FINE(dkho_train(w.data, upper, &o));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  tell_failures();
  world_remove(&w);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pair), cmocka_unit_test(test_bench),
                                     cmocka_unit_test(test_reproduce)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
