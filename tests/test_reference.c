/* Rows to compare with: linear regression finds a linear map, trivial predictors score what they must, carrying a field round
 * is exact for what it can represent, and nothing leaks when memory runs out. */
#include "base/rng.h"
#include "mesh/generate.h"
#include "run/pcanet.h"
#include "run/rotation.h"
#include "run/result_json.h"
#include "run/ridge.h"
#include "scratch.h"

#include <math.h>

enum { SAMPLES = 300, TRAIN = 240, VAL = 30, TEST = 30, FEW = 40 };
#define ANGLE 0.30

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

/* A sample's smooth state at (x, y, z): a few waves about the axis. */
static double wave(uint64_t sample, double x, double y, double z, double angle) {
  rng r = rng_open(3, RNG_TEST, sample);
  double phi = atan2(y, x) - angle, v = 1;
  for (int m = 1; m <= 2; m++) v += rng_normal(&r) * cos(m * phi) + rng_normal(&r) * sin(m * phi) + rng_normal(&r) * z;
  return v;
}

/* Fields: u0 (C0), its rotation u (C0), a global pair g, and a linear response w = d0 u0 + g0 + g1·length on edges. */
static const data_field fields[] = {{"u0", DATA_INPUT, 0, 1, DATA_SCALE_MEANSTD, 0, 1e-8, 0, 1},
                                    {"g", DATA_GLOBAL, 0, 2, DATA_SCALE_MEANSTD, 0, 1e-8, 0, 1},
                                    {"u", DATA_TARGET, 0, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
                                    {"w", DATA_TARGET, 1, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1}};
static const feat_row row = {"state", 0, FEAT_NATIVE, "u0"};
static const feat_table features_of = {1, 0, &row, NULL};

static void append(dataset_writer *w, const cx *c) {
  int64_t n = c->n[0], m = c->n[1];
  float *u0 = mem_alloc((size_t)n, sizeof *u0), *u = mem_alloc((size_t)n, sizeof *u),
        *y = mem_alloc((size_t)m, sizeof *y);
  double g[2];
  for (uint64_t s = 0; s < SAMPLES; s++) {
    rng r = rng_open(4, RNG_TEST, s);
    g[0] = rng_normal(&r), g[1] = rng_normal(&r);
    for (int64_t i = 0; i < n; i++) {
      const double *x = c->x + 3 * i;
      u0[i] = (float)(wave(s, x[0], x[1], x[2], 0) + 0.1 * rng_normal(&r));
      u[i] = (float)wave(s, x[0], x[1], x[2], ANGLE);
    }
    for (int64_t e = 0; e < m; e++)
      y[e] =
          (float)((double)u0[c->vert[1][2 * e + 1]] - (double)u0[c->vert[1][2 * e]] + g[0] + g[1] * c->measure[1][e]);
    ok(dataset_append(w, 0, 1, (const void *const[]){u0, g, u, y}));
  }
  mem_free(u0);
  mem_free(u);
  mem_free(y);
}

static void write_data(const char *path, const char *problem) {
  cx *c;
  dataset_writer *w;
  data_info info = {problem, "a test", 1, "{}"};
  ok(cx_torus_grid(&c, 1, 0.4, 14, 7, 0));
  ok(dataset_create(&w, path, 0, &info));
  ok(dataset_put_cx(w, c));
  for (int i = 0; i < 4; i++) ok(dataset_put_field(w, &fields[i]));
  ok(dataset_put_table(w, &features_of));
  append(w, c);
  ok(dataset_split_random(w, 1, TRAIN, VAL, TEST));
  ok(dataset_commit(w));
  cx_free(c);
}

static const json_t *find_row(const json_t *rows, const char *name) {
  for (size_t i = 0; i < json_array_size(rows); i++)
    if (strcmp(json_string_value(json_object_get(json_array_get(rows, i), "name")), name) == 0)
      return json_array_get(rows, i);
  return NULL;
}

static double metric(const json_t *rows, const char *name, const char *key) {
  const json_t *found = find_row(rows, name), *v = json_object_get(json_object_get(found, "metrics"), key);
  if (!v) fail_msg("no %s of row %s", key, name);
  return json_number_value(v);
}

typedef struct shared {
  char dir[64], path[128];
  dataset *d;
} shared;

static int set_up(void **state) {
  static shared s;
  scratch_make(s.dir);
  write_data(scratch_path(s.path, s.dir, "data.st"), "torus");
  ok(dataset_open(&s.d, s.path));
  *state = &s;
  return 0;
}

/* The rows as JSON, a new reference. */
static dkho_status rows_json(const dataset *d, int target, const char *list, int64_t train_samples, data_split split,
                             double turn, json_t **rows) {
  references found;
  dkho_status st = reference_rows(d, target, list, train_samples, split, turn, NULL, &found);
  if (st != DKHO_OK) return st;
  *rows = references_json(&found);
  references_free(&found);
  return DKHO_OK;
}

static int tear_down(void **state) {
  shared *s = *state;
  dataset_free(s->d);
  scratch_remove(s->dir);
  return 0;
}

/* 240 samples of 100 inputs: the regression has nothing left to guess but rounding. */
static void ridge_recovers(void **state) {
  shared *s = *state;
  json_t *rows;
  ok(rows_json(s->d, dataset_find(s->d, "w"), "generic", 0, DATA_TEST, 0, &rows));
  assert_true(metric(rows, "ridge", "rel_l2") < 1e-4);
  assert_int_equal(json_integer_value(json_object_get(find_row(rows, "ridge"), "inputs")), 14 * 7 + 2);
  assert_true(metric(rows, "zero", "rel_l2") == 1);
  assert_null(find_row(rows, "copy"));
  json_decref(rows);
  /* fewer samples than inputs: worse, but better than the mean */
  ok(rows_json(s->d, dataset_find(s->d, "w"), "generic", 20, DATA_TEST, 0, &rows));
  double few = metric(rows, "ridge", "rel_l2");
  assert_true(few > 1e-2 && few < metric(rows, "mean", "rel_l2"));
  json_decref(rows);
}

/* Numbers of samples about the size of a tile of the Gram matrix: none may be left out, none counted twice. */
static void ridge_sizes(void **state) {
  shared *s = *state;
  enum { MANY = 150 };
  ridge *r;
  ridge_fit fit;
  int target = dataset_find(s->d, "w");
  int64_t all[MANY], vals, trains, n = dataset_cx(s->d, 0)->n[1];
  const int64_t *train = dataset_split(s->d, DATA_TRAIN, &trains), *val = dataset_split(s->d, DATA_VAL, &vals);
  for (int64_t few = 126; few <= 131; few++) {
    ok(ridge_create(&r, s->d, few, train, NULL));
    ok(ridge_choose(r, target, RIDGE_LINEAR, vals, val, &fit));
    if (!(fit.error < 1e-4)) fail_msg("%lld samples: %g", (long long)few, fit.error);
    ridge_free(r);
  }
  /* more samples to predict than a tile has: each as when it is predicted alone */
  float *many = mem_alloc((size_t)(MANY * n), sizeof *many), *one = mem_alloc((size_t)n, sizeof *one);
  for (int64_t i = 0; i < MANY; i++) all[i] = i;
  ok(ridge_create(&r, s->d, trains, train, NULL));
  ok(ridge_predict(r, target, &fit, MANY, all, many));
  for (int64_t i = 0; i < MANY; i += 7) {
    ok(ridge_predict(r, target, &fit, 1, all + i, one));
    for (int64_t k = 0; k < n; k++) assert_true(fabs((double)(one[k] - many[i * n + k])) < 1e-4);
  }
  ridge_free(r);
  mem_free(many);
  mem_free(one);
}

static void trivial_rows(void **state) {
  shared *s = *state;
  json_t *rows;
  int target = dataset_find(s->d, "u"), start = dataset_find(s->d, "u0");
  ok(rows_json(s->d, target, "torus", FEW, DATA_TEST, 0.30, &rows));
  int64_t count, trains, n = dataset_cx(s->d, 0)->n[0];
  const int64_t *test = dataset_split(s->d, DATA_TEST, &count), *train = dataset_split(s->d, DATA_TRAIN, &trains);
  trains = FEW;
  double copied = 0, averaged = 0;
  for (int64_t k = 0; k < count; k++) {
    const float *y = dataset_value(s->d, target, test[k]), *x = dataset_value(s->d, start, test[k]);
    for (int64_t i = 0; i < n; i++) {
      double m = 0;
      for (int64_t t = 0; t < trains; t++) m += (double)dataset_value(s->d, target, train[t])[i] / (double)trains;
      copied += pow((double)x[i] - (double)y[i], 2) / (double)(n * count);
      averaged += pow(m - (double)y[i], 2) / (double)(n * count);
    }
  }
  assert_true(fabs(metric(rows, "copy", "mse") - copied) < 1e-6 * copied);
  assert_true(fabs(metric(rows, "mean", "mse") - averaged) < 1e-5 * averaged);
  assert_true(metric(rows, "rotated", "rel_l2") < 0.6 * metric(rows, "copy", "rel_l2"));
  json_decref(rows);
}

/* Only the torus benchmark is known to turn by that angle. */
static void other_problems(void **state) {
  shared *s = *state;
  char path[128];
  dataset *d;
  json_t *rows;
  write_data(scratch_path(path, s->dir, "other.st"), "heat");
  ok(dataset_open(&d, path));
  ok(rows_json(d, dataset_find(d, "u"), "generic", FEW, DATA_TEST, 0, &rows));
  assert_non_null(find_row(rows, "copy"));
  assert_null(find_row(rows, "rotated"));
  json_decref(rows);
  dataset_free(d);
}

static void carried(void **state) {
  (void)state;
  cx *c;
  rotation *k;
  float *u, *v;
  double error = 0, size = 0;
  ok(cx_torus(&c, "main"));
  ok(rotation_create(&k, c, ANGLE));
  u = mem_alloc((size_t)c->n[0], sizeof *u), v = mem_alloc((size_t)c->n[0], sizeof *v);
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = (float)wave(0, c->x[3 * i], c->x[3 * i + 1], c->x[3 * i + 2], 0);
  rotation_apply(k, u, v);
  for (int64_t i = 0; i < c->n[0]; i++) {
    double want = wave(0, c->x[3 * i], c->x[3 * i + 1], c->x[3 * i + 2], ANGLE);
    error += pow((double)v[i] - want, 2), size += want * want;
  }
  assert_true(sqrt(error / size) < 5e-3);
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = 2;
  rotation_apply(k, u, v);
  for (int64_t i = 0; i < c->n[0]; i++) assert_true(fabs((double)v[i] - 2) < 1e-6);
  rotation_free(k);
  ok(rotation_create(&k, c, 0)); /* no turn: every vertex is its own source */
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = (float)i;
  rotation_apply(k, u, v);
  for (int64_t i = 0; i < c->n[0]; i++) assert_true(fabs((double)v[i] - (double)u[i]) < 1e-3);
  rotation_free(k);
  mem_free(u);
  mem_free(v);
  cx_free(c);
}

/* A kernel whose matrix has full rank reproduces the samples it was fitted to, at a penalty near zero; the more of it, the nearer the
 * prediction is to the mean. */
static void kernels(void **state) {
  shared *s = *state;
  int target = dataset_find(s->d, "u");
  int64_t trains, n = dataset_cx(s->d, 0)->n[0];
  const int64_t *train = dataset_split(s->d, DATA_TRAIN, &trains);
  float *p = mem_alloc((size_t)(trains * n), sizeof *p);
  ridge *r;
  ok(ridge_create(&r, s->d, trains, train, NULL));
  for (int k = RIDGE_QUADRATIC; k < RIDGE_KERNELS; k++) {
    double before = 0;
    for (int e = 0; e < 3; e++) {
      const double lambda[] = {1e-9, 1e-2, 1e4};
      ridge_fit fit = {(ridge_kernel)k, 1, lambda[e], 0};
      double error = 0;
      ok(ridge_predict(r, target, &fit, trains, train, p));
      for (int64_t i = 0; i < trains; i++)
        error += metric_field_error(n, p + i * n, dataset_value(s->d, target, train[i])) / (double)trains;
      if (e == 0 && !(error < 1e-4)) fail_msg("kernel %d: %g on its own samples", k, error);
      assert_true(error > before);
      before = error;
    }
  }
  ridge_free(r);
  mem_free(p);
}

/* Same bits for any number of threads. */
static void threads(void **state) {
  shared *s = *state;
  int64_t trains, count, n = dataset_cx(s->d, 0)->n[1];
  const int64_t *train = dataset_split(s->d, DATA_TRAIN, &trains), *test = dataset_split(s->d, DATA_TEST, &count);
  float *one = mem_alloc((size_t)(count * n), sizeof *one), *many = mem_alloc((size_t)(count * n), sizeof *many);
  for (int pass = 0; pass < 2; pass++) {
    pool *p;
    ridge *r;
    ok(pool_create(&p, pass ? 3 : 1));
    ok(ridge_create(&r, s->d, trains, train, p));
    ridge_fit fit = {RIDGE_MATERN, 2, 1e-3, 0};
    ok(ridge_predict(r, dataset_find(s->d, "w"), &fit, count, test, pass ? many : one));
    ridge_free(r);
    pool_free(p);
  }
  assert_memory_equal(one, many, (size_t)(count * n) * sizeof *one);
  mem_free(one);
  mem_free(many);
}

/* A Λ known in advance, in a basis drawn at random: λ_k = 2^-k. */
static void leading_pairs(void **state) {
  (void)state;
  enum { N = 60, LEAD = 8 };
  double q[N * N], scaled[N * N], a[N * N], lambda[LEAD], v[N * LEAD], av[N * LEAD];
  rng r = rng_open(5, RNG_TEST, 0);
  for (int i = 0; i < N * N; i++) q[i] = rng_normal(&r);
  ok(dense_qr(N, N, q));
  for (int i = 0; i < N * N; i++) scaled[i] = q[i] * pow(2, -i / N);
  dense_gemm(0, 1, N, N, N, 1, scaled, N, q, N, 0, a, N);
  ok(pcanet_leading(N, a, LEAD, lambda, v));
  dense_gemm(0, 0, N, LEAD, N, 1, a, N, v, N, 0, av, N);
  for (int k = 0; k < LEAD; k++) {
    assert_true(fabs(lambda[k] - pow(2, -k)) < 1e-9);
    for (int i = 0; i < N; i++) assert_true(fabs(av[k * N + i] - lambda[k] * v[k * N + i]) < 1e-6);
  }
}

/* A rotation of five waves: few components carry it, the network finds it, and threads do not change a bit. */
static void pcanet_learns(void **state) {
  shared *s = *state;
  int target = dataset_find(s->d, "u");
  int64_t trains, vals, count, n = dataset_cx(s->d, 0)->n[0];
  const int64_t *train = dataset_split(s->d, DATA_TRAIN, &trains), *val = dataset_split(s->d, DATA_VAL, &vals),
                *test = dataset_split(s->d, DATA_TEST, &count);
  float *out[2] = {mem_alloc((size_t)(count * n), sizeof *out[0]), mem_alloc((size_t)(count * n), sizeof *out[0])};
  double error = 0;
  pcanet_fit fit = {0};
  for (int pass = 0; pass < 2; pass++) {
    pool *p;
    ridge *r;
    ok(pool_create(&p, pass ? 3 : 1));
    ok(ridge_create(&r, s->d, 2 * FEW, train, p));
    ok(pcanet_predict(r, target, vals, val, count, test, out[pass], &fit));
    ridge_free(r);
    pool_free(p);
  }
  assert_memory_equal(out[0], out[1], (size_t)(count * n) * sizeof *out[0]);
  for (int64_t i = 0; i < count; i++)
    error += metric_field_error(n, out[0] + i * n, dataset_value(s->d, target, test[i])) / (double)count;
  if (!(error < 0.05 && fabs(error - fit.error) < 0.02)) fail_msg("error %g, on validation %g", error, fit.error);
  assert_true(fit.outputs <= 7);
  mem_free(out[0]);
  mem_free(out[1]);
}

static void no_memory(void **state) {
  shared *s = *state;
  size_t before = mem_live_blocks();
  json_t *rows = NULL;
  for (int n = 1;; n++) {
    mem_fail_at(n);
    dkho_status st = rows_json(s->d, dataset_find(s->d, "u"), "torus", 16, DATA_VAL, 0.30, &rows);
    mem_fail_at(0);
    if (st == DKHO_OK) break;
    assert_int_equal(st, DKHO_E_MEMORY);
    assert_int_equal(mem_live_blocks(), before);
    assert_true(n < 2000);
  }
  json_decref(rows);
  assert_int_equal(mem_live_blocks(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ridge_recovers), cmocka_unit_test(ridge_sizes),
                                     cmocka_unit_test(trivial_rows),   cmocka_unit_test(other_problems),
                                     cmocka_unit_test(carried),        cmocka_unit_test(kernels),
                                     cmocka_unit_test(threads),        cmocka_unit_test(leading_pairs),
                                     cmocka_unit_test(pcanet_learns),  cmocka_unit_test(no_memory)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
