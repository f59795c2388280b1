/* test_dataset.c: data sets: what is written is read, scaling and splits, nothing of the test split or of the targets
 * where it does not belong, scores over several complexes. What is refused is in test_dataset_bad.c. */
#include "dataset_feed.h"

#include "run/score.h"

#include <math.h>

static void test_round_trip(void **state) {
  (void)state;
  place p = place_make();
  const dataset *d = p.set;
  assert_int_equal(scratch_count(p.dir), 1);
  assert_int_equal(dataset_samples(d), S);
  assert_int_equal(dataset_complexes(d), 2);
  assert_string_equal(dataset_info(d)->problem, "darcy");
  assert_true(dataset_info(d)->seed == info.seed);
  assert_string_equal(dataset_info(d)->params, "{\"h\":0.10000000000000001}");
  assert_int_equal(strlen(dataset_mesh_hash(d, 0)), 32);
  assert_string_not_equal(dataset_mesh_hash(d, 0), dataset_mesh_hash(d, 1));
  for (int64_t s = 0; s < S; s++) {
    int ci;
    int64_t row;
    const float *in[1];
    const double *global[1];
    dataset_locate(d, s, &ci, &row);
    assert_int_equal(ci, s >= 7);
    assert_int_equal(row, s >= 7 ? s - 7 : s);
    int64_t n0 = dataset_count(d, ci, 0), n1 = 2 * dataset_count(d, ci, 1);
    dataset_inputs(d, s, in, global);
    assert_memory_equal(in[0], p.d.f[ci] + row * n0, (size_t)n0 * 4);
    assert_memory_equal(global[0], p.d.g + 2 * s, 16);
    assert_memory_equal(dataset_value(d, 3, s), p.d.p[ci] + row * n0, (size_t)n0 * 4);
    assert_memory_equal(dataset_value(d, 4, s), p.d.q[ci] + row * n1, (size_t)n1 * 4);
  }
  for (int i = 0; i < 2; i++) {
    int64_t count;
    cx *c;
    assert_int_equal(dataset_load_cx(d, i, &c), DKHO_OK);
    assert_memory_equal(c->x, p.d.c[i]->x, (size_t)p.d.c[i]->n[0] * 16);
    cx_free(c);
    assert_true(dataset_static(d, 5, i)[7] == 7 + i);
    assert_non_null(dataset_harmonic(d, i, 0, &count));
    assert_int_equal(count, 1);
    assert_null(dataset_harmonic(d, i, 1, &count));
  }
  const data_recipe *r = dataset_recipe(d, "q");
  assert_true(strcmp(r->options, "dkho.tau_range=0.1") == 0 && r->weight_decay == 1e-5 && r->loss_eps == 1e-10 &&
              r->epochs == 300);
  assert_true(r->modes == 2 && !r->harmonic);
  assert_string_equal(r->metrics, "generic");
  assert_null(dataset_recipe(d, "f"));
  assert_int_equal(dataset_role_count(d, DATA_TARGET), 2);
  int t;
  assert_int_equal(dataset_need_target(d, "q", &t), DKHO_OK);
  assert_int_equal(dataset_need_target(d, "f", &t), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "expected one of p, q"));
  place_free(&p);
}

/* Same input, same bytes. */
static void test_deterministic(void **state) {
  (void)state;
  place p = place_make();
  char other[128], a[33], b[33];
  dataset *again;
  scratch_path(other, p.dir, "e.st");
  assert_int_equal(make(other, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&again, other), DKHO_OK);
  st_hash(dataset_file(p.set), a), st_hash(dataset_file(again), b);
  assert_string_equal(a, b);
  dataset_free(again);
  place_free(&p);
}

static void test_splits(void **state) {
  (void)state;
  place p = place_make();
  int seen[S] = {0};
  static const int64_t sizes[] = {6, 2, 3};
  for (data_split s = 0; s < DATA_SPLITS; s++) {
    int64_t n;
    const int64_t *v = dataset_split(p.set, s, &n);
    assert_int_equal(n, sizes[s]);
    for (int64_t i = 0; i < n; i++) {
      seen[v[i]]++;
      assert_true(i == 0 || v[i] > v[i - 1]);
    }
  }
  for (int i = 0; i < S; i++) assert_int_equal(seen[i], 1);
  place_free(&p);
}

/* The numbers of a field over train, or train and val, found again the slow way. */
static void scaling(const dataset *d, int field, int with_val, double *mean, double *std, double *most) {
  const data_field *f = &dataset_field(d)[field];
  double sum[3] = {0}, peak = 0;
  for (int pass = 0; pass < 2; pass++)
    for (data_split s = 0; s <= (with_val ? DATA_VAL : DATA_TRAIN); s++) {
      int64_t n;
      const int64_t *v = dataset_split(d, s, &n);
      for (int64_t i = 0; i < n; i++) {
        int ci;
        int64_t row;
        dataset_locate(d, v[i], &ci, &row);
        int64_t count = f->role == DATA_GLOBAL ? f->channels : dataset_count(d, ci, f->degree) * f->channels;
        for (int64_t j = 0; j < count; j++) {
          double x =
              f->role == DATA_GLOBAL ? dataset_global(d, field, v[i])[j] : (double)dataset_value(d, field, v[i])[j];
          if (pass == 0) sum[0] += x, sum[1] += 1;
          if (pass == 1) sum[2] += (x - sum[0] / sum[1]) * (x - sum[0] / sum[1]);
          peak = fmax(peak, fabs(x));
        }
      }
    }
  *mean = sum[0] / sum[1], *std = sqrt(sum[2] / sum[1]), *most = peak;
}

static void test_scaling(void **state) {
  (void)state;
  place p = place_make();
  double mean, std, most;
  const data_field *f = dataset_field(p.set);
  scaling(p.set, 0, 0, &mean, &std, &most);
  assert_true(fabs(f[0].shift - mean) < 1e-14 && fabs(f[0].scale - std - 1e-6) < 1e-14);
  scaling(p.set, 2, 0, &mean, &std, &most); /* one pair for both globals */
  assert_true(fabs(f[2].shift - mean) < 1e-14 && fabs(f[2].scale - std - 1e-6) < 1e-14);
  scaling(p.set, 3, 0, &mean, &std, &most);
  assert_true(f[3].shift == 0 && f[3].scale == most + 1e-8);
  scaling(p.set, 4, 1, &mean, &std, &most);
  assert_true(f[4].shift == 0 && fabs(f[4].scale - sqrt(mean * mean + std * std) - 1e-9) < 1e-14);
  assert_true(f[1].shift == 0 && f[1].scale == 1);
  place_free(&p);
}

/* Multiplies the samples of a split by a thousand. */
static void disturb(place *p, data_split s) {
  int64_t n;
  const int64_t *v = dataset_split(p->set, s, &n);
  for (int64_t i = 0; i < n; i++) {
    int ci;
    int64_t row;
    dataset_locate(p->set, v[i], &ci, &row);
    int64_t n0 = p->d.c[ci]->n[0], n1 = 2 * p->d.c[ci]->n[1];
    for (int64_t j = 0; j < n0; j++) p->d.f[ci][row * n0 + j] *= 1000, p->d.p[ci][row * n0 + j] *= 1000;
    for (int64_t j = 0; j < n1; j++) p->d.q[ci][row * n1 + j] *= 1000;
    p->d.g[2 * v[i]] *= 1000;
  }
}

static void test_scaling_ignores(void **state) {
  (void)state;
  for (data_split s = DATA_VAL; s <= DATA_TEST; s++) {
    place p = place_make();
    dataset *other;
    char path[128];
    disturb(&p, s);
    scratch_path(path, p.dir, "e.st");
    assert_int_equal(make(path, &p.d), DKHO_OK);
    assert_int_equal(dataset_open(&other, path), DKHO_OK);
    for (int i = 0; i < FIELDS; i++) {
      const data_field *a = &dataset_field(p.set)[i], *b = &dataset_field(other)[i];
      int same = a->shift == b->shift && a->scale == b->scale;
      assert_int_equal(same, !(s == DATA_VAL && i == 4)); /* q alone looks at val */
    }
    dataset_free(other);
    place_free(&p);
  }
}

/* The descriptors of sample 0 of a set, n0 × 5 + n1 + n2 × 3 numbers. */
static void describe(const dataset *d, real *out) {
  features *f;
  const float *in[1];
  const double *global[1];
  real sum[3], *work;
  const cx *c = dataset_cx(d, 0);
  assert_int_equal(dataset_features(&f, d, FEAT_SUMMARY, 2), DKHO_OK);
  assert_int_equal(features_width(f, 0), 5);
  assert_non_null(MEM_NEW(work, features_work_size(f)));
  real *at[] = {out, out + 5 * c->n[0], out + 5 * c->n[0] + c->n[1]};
  dataset_inputs(d, 0, in, global);
  features_eval(f, in, global, work, at, sum);
  mem_free(work);
  features_free(f);
}

/* Other targets, the same descriptors, to the bit. */
static void test_targets_do_not_leak(void **state) {
  (void)state;
  place p = place_make();
  real a[256] = {0}, b[256] = {0};
  dataset *other;
  char path[128];
  describe(p.set, a);
  for (int i = 0; i < 2; i++) {
    for (int64_t j = 0; j < p.d.c[i]->n[0] * share[i]; j++) p.d.p[i][j] = (float)j;
    for (int64_t j = 0; j < p.d.c[i]->n[1] * share[i] * 2; j++) p.d.q[i][j] = 3 - (float)j;
  }
  scratch_path(path, p.dir, "e.st");
  assert_int_equal(make(path, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&other, path), DKHO_OK);
  describe(other, b);
  assert_memory_equal(a, b, sizeof a);
  assert_true(dataset_field(other)[3].scale != dataset_field(p.set)[3].scale);
  dataset_free(other);
  place_free(&p);
}

/* One row of figures for samples on both complexes; refused when they cannot be judged by the same metrics. */
static void test_scores_on_both(void **state) {
  (void)state;
  place p = place_make();
  static const int64_t sample[2] = {6, 8};
  double mean = 0;
  scorer *s;
  score_result found;
  assert_int_equal(scorer_create(&s, p.set, dataset_find(p.set, "p"), "darcy", 2, NULL), DKHO_OK);
  for (int i = 0; i < 2; i++) {
    double a = 0, b = 0;
    float guess[16] = {0};
    int64_t n = scorer_extent(s, i);
    const float *y = dataset_value(p.set, dataset_find(p.set, "p"), sample[i]);
    assert_int_equal(n, p.d.c[i]->n[0]);
    for (int64_t j = 0; j < n; j++) {
      guess[j] = y[j] + (float)(i + 1) * 0.5F;
      a += ((double)guess[j] - (double)y[j]) * ((double)guess[j] - (double)y[j]), b += (double)y[j] * (double)y[j];
    }
    mean += sqrt(a / b) / 2;
    assert_int_equal(scorer_take(s, i, 1, &sample[i], guess), DKHO_OK);
  }
  assert_int_equal(scorer_result(s, &found), DKHO_OK);
  double got = found.value[metrics_find(scorer_metrics(s), "rel_l2")];
  assert_true(fabs(got - mean) < 1e-12);
  score_free(&found);
  scorer_free(s);
  dataset_free(p.set);
  static const char *const names[] = {"interior", "rim"};
  static const int32_t rim[16] = {1};
  assert_int_equal(cx_name_labels(p.d.c[1], 2, names), DKHO_OK);
  assert_int_equal(cx_set_labels(p.d.c[1], 0, rim), DKHO_OK);
  assert_int_equal(make(p.path, &p.d), DKHO_OK);
  assert_int_equal(dataset_open(&p.set, p.path), DKHO_OK);
  assert_int_equal(scorer_create(&s, p.set, dataset_find(p.set, "p"), "darcy", 2, NULL), DKHO_E_INPUT);
  assert_non_null(
      strstr(fail_text(), "d.st: complex 1 and complex 0 differ in having labels or a harmonic basis of degree 0"));
  place_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_deterministic),
                                     cmocka_unit_test(test_splits),          cmocka_unit_test(test_scaling),
                                     cmocka_unit_test(test_scaling_ignores), cmocka_unit_test(test_targets_do_not_leak),
                                     cmocka_unit_test(test_scores_on_both)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
