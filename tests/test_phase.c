/* The statistics of the phase diagnostic against NumPy and SciPy (tools/make_phase_fixtures.py), and by properties. */
#include "base/rng.h"
#include "mesh/generate.h"
#include "run/alignment.h"
#include "scratch.h"

#include <jansson.h>
#include <math.h>

static void ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("%s", fail_text());
}

static void near(const char *where, double found, double want) {
  if (!(fabs(found - want) <= 1e-9 * fmax(fabs(want), 1)))
    fail_msg("%s: found %.17g, expected %.17g", where, found, want);
}

static double item(const json_t *j, const char *key, size_t i) {
  return json_number_value(json_array_get(json_object_get(j, key), i));
}

static void check_population(const json_t *want, const align_summary *a) {
  near("rho", a->rho[0], item(want, "rho", 0));
  near("rho deviation", a->rho[1], item(want, "rho", 1));
  near("dice", a->dice[0], item(want, "dice", 0));
  near("dice deviation", a->dice[1], item(want, "dice", 1));
  near("lift", a->lift[0], item(want, "lift", 0));
  near("enrichment", a->enrichment[0], item(want, "enrichment", 0));
  near("enrichment deviation", a->enrichment[1], item(want, "enrichment", 1));
  near("permuted dice", a->permuted_dice, json_number_value(json_object_get(want, "permuted_dice")));
  near("permuted enrichment", a->permuted_enrichment, json_number_value(json_object_get(want, "permuted_enrichment")));
  near("above chance", a->above_chance, json_number_value(json_object_get(want, "above_chance")));
}

static void compare_all(const st_file *f, const csr *smoother, double q, const json_t *expected) {
  const st_tensor *phase, *pde, *permutation, *error;
  int64_t n = smoother->rows, any[2] = {-1, n};
  ok(st_need(f, "phase", ST_F64, 2, any, &phase));
  ok(st_need(f, "pde", ST_F64, 2, any, &pde));
  ok(st_need(f, "permutation", ST_I64, 2, any, &permutation));
  ok(st_need(f, "error", ST_F64, 1, any, &error));
  int64_t count = (int64_t)phase->shape[0];
  arena mem = {0};
  align_work w;
  ok(align_work_take(&w, &mem, n));
  alignment *each = arena_take(&mem, (size_t)count, sizeof *each);
  const json_t *instances = json_object_get(expected, "instances"),
               *population = json_object_get(expected, "population");
  for (int64_t i = 0; i < count; i++) {
    double a[4096], b[4096];
    assert_true(n <= 4096);
    memcpy(a, (const double *)phase->data + i * n, (size_t)n * sizeof *a);
    memcpy(b, (const double *)pde->data + i * n, (size_t)n * sizeof *b);
    memcpy(w.permutation, (const int64_t *)permutation->data + i * n, (size_t)n * sizeof(int64_t));
    align_compare(smoother, q, a, b, &w, &each[i]);
    each[i].error = ((const double *)error->data)[i];
    near("dice of an instance", each[i].dice, item(instances, "dice", (size_t)i));
    near("rho of an instance", each[i].rho, item(instances, "rho", (size_t)i));
    near("enrichment of an instance", each[i].enrichment, item(instances, "enrichment", (size_t)i));
  }
  align_summary all;
  align_summarise(count, each, q, &all);
  check_population(population, &all);
  int64_t chosen[3];
  int found;
  ok(align_cases(count, each, 3, chosen, &found));
  assert_int_equal(found, json_array_size(json_object_get(population, "cases")));
  for (int i = 0; i < found; i++) assert_int_equal(chosen[i], (int64_t)item(population, "cases", (size_t)i));
  arena_free(&mem);
}

static void oracle(void **state) {
  static const char *const names[] = {"faces", "edges", "nodes"};
  (void)state;
  for (int k = 0; k < 3; k++) {
    char path[512];
    const char *degree, *q, *text;
    st_file *f;
    cx *c;
    csr smoother;
    snprintf(path, sizeof path, "%s/phase/%s.st", TEST_DATA, names[k]);
    ok(st_open(&f, path));
    ok(cx_get(&c, f, ""));
    ok(st_need_meta(f, "degree", &degree));
    ok(st_need_meta(f, "q", &q));
    ok(st_need_meta(f, "expected", &text));
    json_t *expected = json_loads(text, 0, NULL);
    ok(align_smoother(&smoother, c, degree[0] - '0', 0));
    compare_all(f, &smoother, strtod(q, NULL), expected);
    json_decref(expected);
    csr_free(&smoother);
    cx_free(c);
    st_close(f);
  }
}

/* The weights written out in words: self weights with and without the diagonal; rows sum to one. */
static void weights(void **state) {
  (void)state;
  cx *c;
  csr s;
  ok(cx_torus(&c, "smoke"));
  for (int zero = 0; zero < 2; zero++)
    for (int degree = 0; degree <= 2; degree++) {
      ok(align_smoother(&s, c, degree, zero));
      for (int64_t i = 0; i < s.rows; i++) {
        double sum = 0, self = 0, others = 0;
        int64_t valence = degree == 0 ? c->coptr[0][i + 1] - c->coptr[0][i] : 0;
        for (int64_t p = s.ptr[i]; p < s.ptr[i + 1]; p++) {
          sum += s.val[p];
          if (s.col[p] == i) self = s.val[p];
        }
        others = degree == 0 ? (double)valence : degree == 2 ? 3 : 0;
        if (degree == 1) {
          for (int e = 0; e < 2; e++) {
            int64_t v = c->vert[1][2 * i + e];
            others += (double)(c->coptr[0][v + 1] - c->coptr[0][v] - 1);
          }
          others += 4;
        }
        double own = zero ? 1 : degree == 0 ? (double)valence + 1 : degree == 1 ? 5 : 4;
        near("row sum", sum, 1);
        near("self weight", self, own / (own + others));
      }
      csr_free(&s);
    }
  cx_free(c);
}

/* A score agrees with itself wholly, with its opposite not at all, with a shuffled copy by chance. */
static void extremes(void **state) {
  (void)state;
  enum { N = 1000 };
  csr s;
  arena mem = {0};
  align_work w;
  alignment a;
  double x[N], y[N];
  ok(csr_alloc(&s, N, N, N));
  for (int i = 0; i < N; i++) s.ptr[i + 1] = i + 1, s.col[i] = i, s.val[i] = 1;
  ok(align_work_take(&w, &mem, N));
  rng r = rng_open(0, RNG_PERMUTE, 0);
  rng_permute(&r, w.permutation, N);
  for (int i = 0; i < N; i++) x[i] = y[i] = i + 1;
  align_compare(&s, 0.2, x, y, &w, &a);
  near("dice with itself", a.dice, 1);
  near("rho with itself", a.rho, 1);
  near("lift with itself", a.lift, 5);
  near("enrichment with itself", a.enrichment, 900.5 / 500.5);
  assert_true(fabs(a.permuted_dice - 0.2) < 0.1 && fabs(a.permuted_enrichment - 1) < 0.15);
  for (int i = 0; i < N; i++) y[i] = N - i;
  align_compare(&s, 0.2, x, y, &w, &a);
  near("dice with the opposite", a.dice, 0);
  near("rho with the opposite", a.rho, -1);
  csr_free(&s);
  arena_free(&mem);
}

static void ranks_and_quantiles(void **state) {
  (void)state;
  const double v[] = {3, 1, 3, 2, 3};
  double rank[5], scratch[5];
  int64_t order[5];
  align_ranks(5, v, rank, order);
  for (int i = 0; i < 5; i++) near("rank", rank[i], (double[]){4, 1, 4, 2, 4}[i]);
  near("median", align_quantile(5, v, 0.5, scratch), 3);
  near("lower", align_quantile(5, v, 0.125, scratch), 1.5);
  near("least", align_quantile(5, v, 0, scratch), 1);
  near("largest", align_quantile(5, v, 1, scratch), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(oracle), cmocka_unit_test(weights), cmocka_unit_test(extremes),
                                     cmocka_unit_test(ranks_and_quantiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
