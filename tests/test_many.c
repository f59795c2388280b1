/* test_many.c: a data set of a thousand small complexes trains in the memory of one, opens at once, and gives the same weights for any
 * number of threads. The sets are made in a child, whose own memory does not count. */
#include "api.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "mesh/generate.h"

#include <sys/wait.h>

enum { MANY = 1000, NU = 25, NV = 10, VERTICES = NU * NV }; /* 250 + 750 + 500 simplices */

static char dir[64], one[128], many[128];

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

static const data_field field[] = {{"f", DATA_INPUT, 0, 1, DATA_SCALE_RMS, 0, 1e-9, 0, 1},
                                   {"u", DATA_TARGET, 0, 1, DATA_SCALE_RMS, 0, 1e-9, 0, 1}};
enum { FIELDS = 2 };

/* A sample per complex, or all of them on the first: u is f, smoothed by hand from its place in the list. */
static dkho_status put_samples(dataset_writer *w, int complexes) {
  float f[VERTICES], u[VERTICES];
  const void *block[] = {f, u};
  for (int i = 0; i < MANY; i++) {
    rng r = rng_open(5, RNG_TEST, (uint64_t)i);
    for (int j = 0; j < VERTICES; j++) f[j] = (float)rng_range(&r, -1, 1);
    for (int j = 0; j < VERTICES; j++) u[j] = (f[j] + f[(j + 1) % VERTICES]) / 2;
    TRY(dataset_append(w, complexes > 1 ? i : 0, 1, block));
  }
  return DKHO_OK;
}

static dkho_status describe_set(dataset_writer *w, const feat_table *table, int complexes, cx **c) {
  data_recipe recipe = {"u", "", 1e-3, 1e-6, 1e-12, 1, 16, 4, 0, "generic"};
  for (int i = 0; i < complexes; i++) {
    TRY(cx_torus_grid(&c[i], 1, 0.3 + 0.0002 * i, NU, NV, 0));
    TRY(dataset_put_cx(w, c[i]));
  }
  for (int i = 0; i < FIELDS; i++) TRY(dataset_put_field(w, &field[i]));
  TRY(dataset_put_table(w, table));
  TRY(dataset_put_recipe(w, &recipe));
  TRY(put_samples(w, complexes));
  return dataset_split_random(w, 1, 120, 20, 20);
}

static dkho_status make_set(const char *path, int complexes) {
  const data_info info = {.problem = "many", .generator = "test", .seed = 1, .params = "{}"};
  static cx *c[MANY];
  arena mem = {0};
  feat_table table;
  dataset_writer *w;
  TRY(feat_generic(&table, &mem, 2, 0, FIELDS, field));
  TRY(dataset_create(&w, path, 1, &info));
  dkho_status s = describe_set(w, &table, complexes, c);
  if (s == DKHO_OK)
    s = dataset_commit(w);
  else
    dataset_abort(w);
  for (int i = 0; i < complexes; i++) cx_free(c[i]);
  arena_free(&mem);
  return s;
}

static int open_world(void **state) {
  int how;
  (void)state;
  scratch_make(dir);
  scratch_path(one, dir, "one.st"), scratch_path(many, dir, "many.st");
  pid_t child = fork();
  if (child == 0) _exit(make_set(one, 1) == DKHO_OK && make_set(many, MANY) == DKHO_OK ? 0 : 1);
  return waitpid(child, &how, 0) == child && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static int close_world(void **state) {
  (void)state;
  api_remove(dir);
  return rmdir(dir);
}

/* One epoch, its validation and its test; gives the most memory that was ever in use. */
static size_t train_on(const char *data, const char *name, int threads) {
  dkho_train_options o;
  char run[160];
  dkho_train_defaults(&o);
  o.epochs = 1, o.batch = 8, o.threads = threads;
  ok(dkho_train(data, scratch_path(run, dir, name), &o));
  return mem_peak_bytes();
}

static void test_memory(void **state) {
  (void)state;
  size_t single = train_on(one, "a", 2), all = train_on(many, "b", 2);
  if (2 * all > 3 * single) fail_msg("%zu bytes on %d complexes, %zu on one", all, MANY, single);
}

static void test_same_bits(void **state) {
  (void)state;
  char a[160], b[160];
  train_on(many, "c", 1);
  snprintf(a, sizeof a, "%s/b/best.st", dir), snprintf(b, sizeof b, "%s/c/best.st", dir);
  assert_true(api_same_file(a, b));
}

static void test_opening(void **state) {
  (void)state;
  dataset *d;
  ok(dataset_open(&d, many));
  assert_int_equal(dataset_complexes(d), MANY);
  dataset_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_same_bits),
                                     cmocka_unit_test(test_opening)};
  return cmocka_run_group_tests(tests, open_world, close_world);
}
