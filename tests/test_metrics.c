/* Properties of the metrics: what a perfect, a flipped and a shifted prediction score; thresholds come from the reference;
 * what a list does not have is refused with what it has. */
#include "base/rng.h"
#include "mesh/generate.h"
#include "run/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

typedef struct list_case {
  const char *list;
  int degree, channels;
} list_case;

static const list_case cases[] = {{"darcy", 0, 1},  {"darcy", 1, 1},   {"darcy", 2, 1},
                                  {"torus", 0, 1},  {"torus", 1, 1},   {"torus", 2, 1},
                                  {"cavity", 0, 3}, {"generic", 1, 1}, {"generic", 2, 2}};
enum { CASES = sizeof cases / sizeof *cases, METRICS_MAX = 32 };

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

static void build(cx **c, const char *list) {
  if (strcmp(list, "cavity") == 0)
    ok(cx_cavity(c, "smoke"));
  else if (strcmp(list, "torus") == 0)
    ok(cx_torus(c, "smoke"));
  else
    ok(cx_darcy(c, "smoke"));
}

/* A complex, its list and a random reference. */
typedef struct bench {
  cx *c;
  metrics *m;
  int64_t n;
  double *y, *p, *work;
} bench;

static void open_bench(bench *b, const list_case *k) {
  build(&b->c, k->list);
  ok(metrics_create(&b->m, b->c, k->list, k->degree, k->channels, NULL));
  b->n = b->c->n[k->degree] * k->channels;
  b->y = mem_alloc((size_t)b->n, sizeof *b->y);
  b->p = mem_alloc((size_t)b->n, sizeof *b->p);
  b->work = mem_alloc(metrics_work(b->m), sizeof *b->work);
  rng r = rng_open(7, RNG_TEST, 0);
  for (int64_t i = 0; i < b->n; i++) b->y[i] = rng_normal(&r);
}

static void close_bench(bench *b) {
  mem_free(b->y);
  mem_free(b->p);
  mem_free(b->work);
  metrics_free(b->m);
  cx_free(b->c);
}

/* The joined value of a metric for the one sample (p, y). */
static double value(const bench *b, const char *key) {
  double v[METRICS_MAX], joined[METRICS_MAX];
  int i = metrics_find(b->m, key);
  if (i < 0) fail_msg("no metric %s", key);
  metrics_sample(b->m, b->p, b->y, b->work, v);
  metrics_reduce(b->m, 1, v, joined, NULL);
  return joined[i];
}

static void perfect(void **state) {
  (void)state;
  for (int k = 0; k < CASES; k++) {
    bench b;
    open_bench(&b, &cases[k]);
    memcpy(b.p, b.y, (size_t)b.n * sizeof *b.p);
    for (int i = 0; i < metrics_count(b.m); i++) {
      const metric_info *info = metrics_at(b.m, i);
      double v = value(&b, info->key), best = info->better > 0 ? 1 : 0;
      if (!(fabs(v - best) < 1e-9))
        fail_msg("%s C%d: %s of a perfect field is %g", cases[k].list, cases[k].degree, info->key, v);
    }
    close_bench(&b);
  }
}

/* A worse prediction never scores better: noise of size 0.1, then 1. */
static void monotone(void **state) {
  (void)state;
  for (int k = 0; k < CASES; k++) {
    bench b;
    open_bench(&b, &cases[k]);
    double seen[2][METRICS_MAX];
    for (int pass = 0; pass < 2; pass++) {
      rng r = rng_open(7, RNG_TEST, 1);
      for (int64_t i = 0; i < b.n; i++) b.p[i] = b.y[i] + (pass ? 1 : 0.01) * rng_normal(&r);
      for (int i = 0; i < metrics_count(b.m); i++) seen[pass][i] = value(&b, metrics_at(b.m, i)->key);
    }
    for (int i = 0; i < metrics_count(b.m); i++)
      if (!((seen[0][i] - seen[1][i]) * metrics_at(b.m, i)->better > 0))
        fail_msg("%s C%d: %s goes from %g to %g as noise grows", cases[k].list, cases[k].degree,
                 metrics_at(b.m, i)->key, seen[0][i], seen[1][i]);
    close_bench(&b);
  }
}

/* -y has the opposite derivative: fidelity 0; scale does not matter to it; energy and norms know. */
static void flipped(void **state) {
  (void)state;
  static const struct {
    list_case where;
    const char *key[3];
  } rows[] = {{{"darcy", 0, 1}, {"grad_fid"}},
              {{"darcy", 1, 1}, {"codiff_fid", "curl_fid"}},
              {{"darcy", 2, 1}, {"coboundary_fid"}},
              {{"torus", 0, 1}, {"grad_fid"}},
              {{"cavity", 0, 3}, {"vort_fid", "div_cosine"}}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    bench b;
    open_bench(&b, &rows[k].where);
    for (int i = 0; i < 3 && rows[k].key[i]; i++) {
      for (int64_t j = 0; j < b.n; j++) b.p[j] = -b.y[j];
      assert_true(fabs(value(&b, rows[k].key[i]) - 0) < 1e-9);
      for (int64_t j = 0; j < b.n; j++) b.p[j] = 3 * b.y[j];
      assert_true(fabs(value(&b, rows[k].key[i]) - 1) < 1e-9);
    }
    assert_true(fabs(value(&b, "rel_l2") - 2) < 1e-9);
    close_bench(&b);
  }
}

/* Halving a reference with minimum 0 empties its upper level sets; were thresholds taken from the prediction, it would not show. */
static void thresholds(void **state) {
  (void)state;
  const list_case where = {"darcy", 0, 1};
  bench b;
  open_bench(&b, &where);
  for (int64_t i = 0; i < b.n; i++)
    b.y[i] = i == 0 ? 0 : 0.1 + 0.9 * (double)i / (double)(b.n - 1), b.p[i] = 0.5 * b.y[i];
  double plain = value(&b, "iou_plain");
  assert_true(plain < 0.5);
  assert_true(fabs(value(&b, "iou") - sqrt(plain)) < 1e-12);
  /* a prediction above everything covers all: every mask is full */
  for (int64_t i = 0; i < b.n; i++) b.p[i] = 5;
  double share = 0, total = 0;
  for (int64_t i = 0; i < b.n; i++) total += b.c->dual[0][i];
  for (int64_t i = 0; i < b.n; i++)
    for (int l = 0; l < 3; l++)
      if (b.y[i] >= (double[]){0.2, 0.5, 0.8}[l]) share += b.c->dual[0][i] / total / 3;
  assert_true(fabs(value(&b, "iou_plain") - share) < 1e-9);
  close_bench(&b);
}

/* Whether the metric has a value for (p, y). */
static int there(const bench *b, const char *key) {
  double v = value(b, key);
  assert_true(isnan(v) || isfinite(v));
  return !isnan(v);
}

/* A gradient kept in float has no curl beyond rounding, a constant no gradient and no levels, zero nothing at all: what is measured
 * relative to them is absent, the rest is there. A curl of a thousandth is no rounding. */
static void vanishing(void **state) {
  (void)state;
  bench b;
  open_bench(&b, &(list_case){"darcy", 1, 1});
  double *u = mem_alloc((size_t)b.c->n[0], sizeof *u);
  rng r = rng_open(7, RNG_TEST, 2);
  for (int64_t i = 0; i < b.c->n[0]; i++) u[i] = rng_normal(&r);
  cx_d(b.c, 0, 1, u, b.y);
  for (int64_t i = 0; i < b.n; i++) b.y[i] = (double)(float)b.y[i], b.p[i] = b.y[i] + 0.1 * rng_normal(&r);
  assert_false(there(&b, "curl_fid") || there(&b, "curl_rel_l2"));
  assert_true(there(&b, "codiff_fid") && there(&b, "rel_l2") && there(&b, "mse") && there(&b, "energy_fid"));
  b.y[0] += 1e-3;
  assert_true(there(&b, "curl_fid") && there(&b, "curl_rel_l2"));
  memset(b.y, 0, (size_t)b.n * sizeof *b.y);
  assert_false(there(&b, "rel_l2") || there(&b, "rel_l1") || there(&b, "codiff_fid") || there(&b, "energy_fid"));
  assert_true(there(&b, "mse"));
  mem_free(u);
  close_bench(&b);

  open_bench(&b, &(list_case){"torus", 0, 1});
  for (int64_t i = 0; i < b.n; i++) b.p[i] = b.y[i], b.y[i] = 3;
  assert_false(there(&b, "grad_fid") || there(&b, "s_beta0") || there(&b, "iou") || there(&b, "iou_plain"));
  assert_true(there(&b, "rel_l2") && there(&b, "mse"));
  close_bench(&b);
}

/* A mode that the reference has not: nothing to be relative to. */
static void no_harmonic(void **state) {
  (void)state;
  bench b;
  open_bench(&b, &(list_case){"torus", 0, 1});
  metrics_free(b.m);
  double *mode = mem_alloc((size_t)b.n, sizeof *mode), sum = 0;
  for (int64_t i = 0; i < b.n; i++) mode[i] = 1 / sqrt((double)b.n), sum += b.y[i];
  metrics_given given = {1, mode};
  ok(metrics_create(&b.m, b.c, "generic", 0, 1, &given));
  for (int64_t i = 0; i < b.n; i++) b.p[i] = b.y[i] + 1;
  assert_true(there(&b, "harmonic_rel_l2"));
  for (int64_t i = 0; i < b.n; i++) b.y[i] -= sum / (double)b.n;
  assert_false(there(&b, "harmonic_rel_l2"));
  mem_free(mode);
  close_bench(&b);
}

/* Samples without a value are left out of the mean; with none left there is none. */
static void joined(void **state) {
  (void)state;
  bench b;
  open_bench(&b, &(list_case){"darcy", 0, 1});
  int n = metrics_count(b.m), i = metrics_find(b.m, "rel_l2");
  double v[3][METRICS_MAX] = {{0}}, flat[3 * METRICS_MAX], out[METRICS_MAX];
  v[0][i] = 0.25, v[1][i] = NAN, v[2][i] = 0.75;
  for (int s = 0; s < 3; s++) memcpy(flat + s * n, v[s], (size_t)n * sizeof *flat);
  int64_t counted[METRICS_MAX];
  metrics_reduce(b.m, 3, flat, out, counted);
  assert_true(out[i] == 0.5);
  for (int k = 0; k < n; k++) assert_int_equal(counted[k], k == i ? 2 : 3);
  metrics_reduce(b.m, 1, flat + n, out, counted);
  assert_int_equal(counted[i], 0);
  assert_true(isnan(out[i]) && !isnan(out[0]));
  close_bench(&b);
}

static void components(void **state) {
  (void)state;
  /* a path of five vertices: the middle one off leaves two pieces */
  const int32_t path[] = {0, 1, 1, 2, 2, 3, 3, 4};
  int32_t parent[5];
  assert_int_equal(metric_components(5, (const uint8_t[]){1, 1, 0, 1, 1}, 4, path, parent), 2);
  assert_int_equal(metric_components(5, (const uint8_t[]){1, 1, 1, 1, 1}, 4, path, parent), 1);
  assert_int_equal(metric_components(5, (const uint8_t[]){0, 0, 0, 0, 0}, 4, path, parent), 0);
  assert_int_equal(metric_components(5, (const uint8_t[]){1, 0, 1, 0, 1}, 4, path, parent), 3);
}

static void refused(void **state) {
  (void)state;
  cx *c;
  metrics *m;
  build(&c, "darcy");
  assert_int_equal(metrics_create(&m, c, "stokes", 0, 1, NULL), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "there are generic, soft, edge_flux"));
  assert_int_equal(metrics_create(&m, c, "cavity", 0, 1, NULL), DKHO_E_INPUT);
  assert_int_equal(metrics_create(&m, c, "darcy", 3, 1, NULL), DKHO_E_INPUT);
  ok(metrics_create(&m, c, "darcy", 1, 1, NULL));
  assert_int_equal(metrics_find(m, "s_beta0"), -1);
  assert_true(metrics_find(m, "curl_fid") >= 0);
  metrics_free(m);
  cx_free(c);
}

static void no_memory(void **state) {
  (void)state;
  cx *c;
  metrics *m = NULL;
  build(&c, "torus");
  size_t before = mem_live_blocks();
  for (int n = 1;; n++) {
    mem_fail_at(n);
    dkho_status s = metrics_create(&m, c, "torus", 2, 1, NULL);
    mem_fail_at(0);
    if (s == DKHO_OK) break;
    assert_int_equal(s, DKHO_E_MEMORY);
    assert_int_equal(mem_live_blocks(), before);
    assert_true(n < 50);
  }
  metrics_free(m);
  assert_int_equal(mem_live_blocks(), before);
  cx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(perfect),   cmocka_unit_test(monotone),
                                     cmocka_unit_test(flipped),   cmocka_unit_test(thresholds),
                                     cmocka_unit_test(vanishing), cmocka_unit_test(no_harmonic),
                                     cmocka_unit_test(joined),    cmocka_unit_test(components),
                                     cmocka_unit_test(refused),   cmocka_unit_test(no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
