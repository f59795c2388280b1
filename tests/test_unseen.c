/* test_unseen.c: no test sample enters training or selection. The index sets are disjoint for every benchmark; a run on data whose
 * test samples are spoilt gives the same weights, history and selection to the last bit, while one changed training or
 * validation sample shows; a validation error that is not a number selects nothing. */
#include "api.h"

#include "base/st.h"

#include <float.h>

static const char *const problems[] = {"darcy", "torus", "cavity", "heat", "reaction"};
static const char *const splits[] = {"train", "val", "test"};

static void index_sets(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  scratch_path(path, dir, "data.st");
  for (int p = 0; p < 5; p++) {
    dkho_dataset *d;
    dkho_generate_options g = {.resolution = "smoke", .samples = 23, .seed = 42, .threads = 1, .force = 1};
    FINE(dkho_dataset_generate(problems[p], path, &g));
    FINE(dkho_dataset_open(&d, path));
    int seen[23] = {0};
    for (int s = 0; s < 3; s++) {
      int64_t n;
      const int64_t *v = dkho_dataset_split(d, splits[s], &n);
      assert_true(n > 0);
      for (int64_t i = 0; i < n; i++) assert_int_equal(seen[v[i]]++, 0);
    }
    for (int i = 0; i < 23; i++) assert_int_equal(seen[i], 1);
    dkho_dataset_free(d);
  }
  scratch_remove(dir);
}

/* Rewrites the values of sample `i` in every tensor that holds samples: to the largest float, with which nothing can be computed
 * (doubles of globals to 1e9), or by a small factor. */
static void spoil(st_file *f, char *bytes, int64_t i, double factor) {
  for (int t = 0; t < st_count(f); t++) {
    const st_tensor *x = st_at(f, t);
    int global = strncmp(x->name, "global/", 7) == 0;
    if (!global && strncmp(x->name, "c0/in/", 6) != 0 && strncmp(x->name, "c0/target/", 10) != 0) continue;
    uint64_t each = x->count / x->shape[0];
    char *at = bytes + ((const char *)x->data - bytes) + (uint64_t)i * each * st_dtype_size(x->dtype);
    for (uint64_t k = 0; k < each; k++)
      if (global)
        ((double *)(void *)at)[k] = factor > 0 ? factor * ((double *)(void *)at)[k] : 1e9;
      else
        ((float *)(void *)at)[k] = factor > 0 ? (float)factor * ((float *)(void *)at)[k] : FLT_MAX;
  }
}

/* The world's data with one sample of a split changed (factor > 0) or all of them spoilt, as DIR/other.st. */
static void change(const world *w, const char *split, double factor, char path[128]) {
  size_t size;
  char *bytes = api_bytes(w->data, &size);
  st_file *f;
  dkho_dataset *d;
  int64_t n;
  FINE(dkho_dataset_open(&d, w->data));
  FINE(st_open_memory(&f, bytes, size, "copy"));
  const int64_t *sample = dkho_dataset_split(d, split, &n);
  for (int64_t i = 0; i < (factor > 0 ? 1 : n); i++) spoil(f, bytes, sample[i], factor);
  st_close(f);
  dkho_dataset_free(d);
  FILE *out = fopen(scratch_path(path, w->dir, "other.st"), "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes, 1, size, out), size);
  fclose(out);
  free(bytes);
}

/* Rows of metrics.csv without the clock. */
static void history(const char *run, char *out, size_t room) {
  char path[192], line[256];
  snprintf(path, sizeof path, "%s/metrics.csv", run);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  out[0] = 0;
  while (fgets(line, sizeof line, f)) {
    *strrchr(line, ',') = 0;
    assert_true(strlen(out) + strlen(line) + 2 < room);
    strcat(strcat(out, line), "\n");
  }
  fclose(f);
}

/* Trains on changed data; reports which of the weights and the history stayed the same. */
static void retrain(const world *w, const char *target, const char *data, int *weights, int *rows) {
  char run[128], mine[192], theirs[192], a[2048], b[2048];
  dkho_train_options o = api_options();
  o.target = target;
  scratch_path(run, w->dir, "again");
  dkho_status s = dkho_train(data, run, &o); /* spoilt test samples may end it, after the last epoch */
  assert_true(s == DKHO_OK || s == DKHO_E_NONFINITE);
  snprintf(mine, sizeof mine, "%s/best.st", run);
  snprintf(theirs, sizeof theirs, "%s/best.st", w->run);
  *weights = api_same_file(mine, theirs);
  history(run, a, sizeof a);
  history(w->run, b, sizeof b);
  *rows = strcmp(a, b) == 0 && strchr(a, '\n') != NULL;
  api_remove(run);
  rmdir(run);
}

static void training_never_sees_them(void **state) {
  (void)state;
  static const char *const target[] = {"q", "u"};
  for (int p = 0; p < 2; p++) {
    world w;
    char other[128];
    int weights, rows;
    world_make(&w, problems[p], target[p]);
    change(&w, "test", 0, other);
    retrain(&w, target[p], other, &weights, &rows);
    assert_true(weights && rows);
    change(&w, "train", 1.01, other);
    retrain(&w, target[p], other, &weights, &rows);
    assert_false(weights);
    change(&w, "val", 1.01, other);
    retrain(&w, target[p], other, &weights, &rows);
    assert_false(rows);
    world_remove(&w);
  }
}

/* A validation error that is not finite selects nothing: it ends the run, or (when asked to go on) no epoch is the best. */
static void nothing_is_selected_by_nan(void **state) {
  (void)state;
  world w;
  char other[128], run[128], best[192], rows[2048];
  world_make(&w, "torus", "u");
  change(&w, "val", 0, other);
  scratch_path(run, w.dir, "again");
  snprintf(best, sizeof best, "%s/best.st", run);
  for (int skip = 0; skip < 2; skip++) {
    dkho_train_options o = api_options();
    o.target = "u", o.skip_nonfinite = skip;
    assert_int_equal(dkho_train(other, run, &o), DKHO_E_NONFINITE);
    assert_non_null(
        strstr(dkho_error(), skip ? "no epoch had a finite validation error" : "after epoch 1: prediction of"));
    assert_int_equal(access(best, F_OK), -1);
    if (skip) {
      history(run, rows, sizeof rows);
      for (const char *at = strstr(rows, "\n"); at[1]; at = strchr(at + 1, '\n'))
        assert_memory_equal(strchr(at + 1, '\n') - 3, "nan", 3);
    }
    api_remove(run);
    rmdir(run);
  }
  world_remove(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(index_sets), cmocka_unit_test(training_never_sees_them),
                                     cmocka_unit_test(nothing_is_selected_by_nan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
