/* The fused network in float: every instruction set against the plain network and against ref; the same bits for any
 * number of threads, over samples or over chunks; failing allocations leave nothing behind. */
#include "base/mem.h"
#include "base/rng.h"
#include "model/dkho/fused.h"
#include "mesh/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fused_case.h"

static cx *torus(int nu, int nv) {
  cx *c;
  assert_int_equal(cx_torus_grid(&c, 1.0, 0.4, nu, nv, 0), DKHO_OK);
  return c;
}

static double relative(size_t n, const real *x, const real *y) {
  double d = 0, s = 0;
  for (size_t i = 0; i < n; i++) {
    d += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    s += (double)y[i] * (double)y[i];
  }
  return sqrt(d / s);
}

static void check_case(net_case *n) {
  int64_t outs = n->s.n[n->s.target] * n->s.outputs;
  double *plain = plain_forward(n, n->theta, &n->sample[1]);
  real *truth = mem_alloc((size_t)outs, sizeof *truth), *g_ref = case_gradient(n, &kern_ref, 1, 2, 2);
  for (int64_t i = 0; i < outs; i++) truth[i] = (real)plain[i];
  for (int i = 0; kern_isa(i); i++) {
    const kern *k = kern_find(kern_isa(i));
    if (!k) continue;
    real *y = case_output(n, k, 1, 1), *g = case_gradient(n, k, 1, 2, 2);
    double ey = relative((size_t)outs, y, truth), eg = relative(n->params, g, g_ref);
    if (!(ey < 2e-5)) fail_msg("output on %s is off by %.3g", k->name, ey);
    if (!(eg < 1e-4)) fail_msg("gradient on %s is off by %.3g", k->name, eg);
    mem_free(y), mem_free(g);
  }
  mem_free(plain), mem_free(truth), mem_free(g_ref);
  case_free(n);
}

static void test_against_plain(void **state) {
  (void)state;
  check_case(case_make(torus(9, 7), 3, 32, 2, 4, 2, 1, 1, 0));
  check_case(case_make(torus(8, 4), 3, 64, 4, 2, 2, 0, 3, 1));
  check_case(case_make(torus(7, 5), 3, 19, 3, 2, 1, 2, 2, 0));
}

static void test_variants_against_plain(void **state) {
  (void)state;
  for (int relation = FUSED_COUPLED; relation <= FUSED_CARRIER; relation++)
    for (int start = FUSED_ZERO; start <= (relation == FUSED_CARRIER ? FUSED_ZERO : FUSED_COMMON); start++) {
      net_case *n = case_make(torus(9, 7), 3, 32, 2 + start, 3, 2, start, 1, start == 1);
      n->s.relation = (fused_relation)relation, n->s.start = (fused_start)start;
      check_case(n);
    }
  net_case *n = case_make(torus(9, 7), 3, 3, 40, 2, 1, 1, 1, 0); /* more relation than content */
  n->s.start = FUSED_CONTENT;
  check_case(n);
}

/* Links and low modes, on widths with and without tails. */
static void test_extensions_against_plain(void **state) {
  (void)state;
  static const int width[] = {32, 64, 19, 8, 16, 33};
  for (int how = 0; how < 6; how++) {
    net_case *n = case_make(torus(9, 7), 3, width[how], 2, 3, 2, how % 3, 1, how == 4);
    n->s.relation = how % 2 ? FUSED_COUPLED : FUSED_NONE;
    n->s.exchange = how < 3 ? FUSED_SIGNED | FUSED_UNSIGNED : how - 3, n->s.modes = how % 3 ? CASE_MODES : 0;
    check_case(n);
  }
}

/* Narrow maps between modes, as dkho-x has them, and narrow content on the links. */
static void test_narrow_against_plain(void **state) {
  (void)state;
  enum { ALL = 3 * CASE_MODES };
  static const struct {
    int h, slots, width, exchange, coupled;
  } narrow[] = {{32, 4, 0, 3, 0},  {32, 1, 16, 3, 1},   {64, ALL - 1, 32, 3, 0}, {19, 7, 5, 1, 1},
                {33, 9, 17, 2, 0}, {16, ALL, 16, 3, 1}, {8, 3, 1, 3, 0},         {32, 8, 31, 0, 1}};
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
    net_case *n = case_make(torus(9, 7), 3, narrow[i].h, 2, 3, 2, (int)i % 3, 1, i == 4);
    n->s.relation = narrow[i].coupled ? FUSED_COUPLED : FUSED_NONE;
    n->s.exchange = narrow[i].exchange, n->s.width = narrow[i].width;
    n->s.modes = CASE_MODES, n->s.slots = narrow[i].slots;
    check_case(n);
  }
}

/* Work is counted where it is done: alone, the other degrees cost nothing; a hop spares the degree out of its reach. */
static void test_work(void **state) {
  (void)state;
  double work[3], own = 0;
  net_case *n = case_make(torus(9, 7), 3, 8, 2, 2, 2, 0, 1, 0);
  for (int relation = FUSED_COUPLED; relation <= FUSED_CARRIER; relation++) {
    fused *f;
    n->s.relation = (fused_relation)relation;
    assert_int_equal(fused_create(&f, &kern_ref, &n->s, &n->mesh, (const real *const *)n->fixed), DKHO_OK);
    work[relation] = fused_work_forward(f);
    fused_free(f);
  }
  double h = 8, c = 2, maps = 3 * h * c, update = (h + 2 * c) * h + 2 * h * h, n0 = 63, n1 = 189, n2 = 126;
  own = n0 * (h * 2 + h * h + 2 * (maps + update) + (h + 2 * c) * h + h);
  assert_true(work[FUSED_ALONE] == own);
  assert_true(work[FUSED_CARRIER] ==
              own + n0 * maps + n1 * (h * 7 + h * h + 2 * maps + update) + n2 * (h * 2 + h * h + maps));
  assert_true(work[FUSED_COUPLED] ==
              own + n1 * (h * 7 + h * h + 2 * maps + update) + n2 * (h * 2 + h * h + 2 * maps + update));
  n->s.relation = FUSED_NONE, n->s.exchange = FUSED_SIGNED | FUSED_UNSIGNED;
  fused *f;
  assert_int_equal(fused_create(&f, &kern_ref, &n->s, &n->mesh, (const real *const *)n->fixed), DKHO_OK);
  update = 3 * h * h; /* maps stand at vertices, both ways, and at faces, which reach nobody in time */
  assert_true(fused_work_forward(f) == n0 * (h * 2 + h * h + 2 * update + 2 * 2 * h * h + h * h + h) +
                                           n1 * (h * 7 + h * h + update) + n2 * (h * 2 + h * h) +
                                           (n0 + n2) * 2 * h * h);
  fused_free(f);
  case_free(n);
}

/* Enough simplices for several chunks of each degree. */
static void check_bits(fused_relation relation, fused_start start, int extended) {
  const kern *k;
  assert_int_equal(kern_get(&k), DKHO_OK);
  net_case *n = case_make(torus(41, 27), 3, 8, 2, 2, 2, 1, 1, 0);
  n->s.relation = relation, n->s.start = start;
  if (extended) n->s.exchange = FUSED_SIGNED | FUSED_UNSIGNED, n->s.modes = CASE_MODES;
  if (extended == 2) n->s.slots = 4, n->s.width = 3;
  real *g = case_gradient(n, k, 1, 4, CASE_SAMPLES);
  static const int ways[][2] = {{1, 1}, {2, 1},  {3, 1}, {2, 2},
                                {3, 5}, {2, 16}, {7, 2}}; /* threads, samples at a time */
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    real *other = case_gradient(n, k, ways[i][0], ways[i][1], CASE_SAMPLES);
    assert_memory_equal(g, other, n->params * sizeof *g);
    mem_free(other);
  }
  real *one = case_output(n, k, 1, 2), *three = case_output(n, k, 3, 2);
  assert_memory_equal(one, three, (size_t)n->s.n[1] * sizeof *one);
  mem_free(one), mem_free(three), mem_free(g);
  case_free(n);
}

static void test_same_bits(void **state) {
  (void)state;
  check_bits(FUSED_COUPLED, FUSED_ZERO, 0);
  check_bits(FUSED_COUPLED, FUSED_CONTENT, 0);
  check_bits(FUSED_ALONE, FUSED_COMMON, 0);
  check_bits(FUSED_CARRIER, FUSED_ZERO, 0);
  check_bits(FUSED_NONE, FUSED_ZERO, 0);
  check_bits(FUSED_NONE, FUSED_ZERO, 1);
  check_bits(FUSED_NONE, FUSED_ZERO, 2);
  check_bits(FUSED_COUPLED, FUSED_ZERO, 1);
}

static dkho_status failing_loss(void *ctx, int sample, const real *y, real *g_y) {
  (void)ctx, (void)y, (void)g_y;
  return sample == 1 ? (fail)(DKHO_E_NONFINITE, "sample 1 went wrong") : DKHO_OK;
}

static void check_failures(fused_relation relation, fused_start start, int extended) {
  net_case *n = case_make(torus(4, 3), 3, 4, 1, 2, 1, 0, 1, 1);
  n->s.relation = relation, n->s.start = start;
  if (extended) n->s.exchange = FUSED_SIGNED | FUSED_UNSIGNED, n->s.modes = 2;
  if (extended == 2) n->s.slots = 1, n->s.width = 2;
  size_t before = mem_live_blocks();
  fused *f = NULL;
  fused_team *t = NULL;
  int tries = 0;
  for (dkho_status s = DKHO_E_MEMORY; s != DKHO_OK; tries++) {
    mem_fail_at(tries + 1);
    s = fused_create(&f, &kern_ref, &n->s, &n->mesh, (const real *const *)n->fixed);
    if (s == DKHO_OK) s = fused_team_create(&t, f, NULL, 2);
    mem_fail_at(0);
    if (s == DKHO_OK) break;
    assert_int_equal(s, DKHO_E_MEMORY);
    fused_free(f);
    assert_int_equal(mem_live_blocks(), before);
    assert_true(tries < 1000);
  }
  assert_true(tries > 2);
  real *packed = mem_alloc(fused_grads(f), sizeof *packed);
  fused_prepare(f, NULL, n->theta);
  assert_int_equal(fused_train(t, 3, n->sample, failing_loss, NULL, packed), DKHO_E_NONFINITE);
  assert_non_null(strstr(fail_text(), "sample 1"));
  fused_team_free(t);
  pool *p; /* nobody waits for a sample that failed */
  assert_int_equal(pool_create(&p, 3), DKHO_OK);
  assert_int_equal(fused_team_create(&t, f, p, 4), DKHO_OK);
  for (int i = 0; i < 50; i++)
    assert_int_equal(fused_train(t, 2 + i % 2, n->sample, failing_loss, NULL, packed), DKHO_E_NONFINITE);
  mem_free(packed);
  fused_team_free(t);
  pool_free(p);
  fused_free(f);
  assert_int_equal(mem_live_blocks(), before);
  case_free(n);
}

static void test_failures(void **state) {
  (void)state;
  check_failures(FUSED_COUPLED, FUSED_ZERO, 0);
  check_failures(FUSED_ALONE, FUSED_CONTENT, 0);
  check_failures(FUSED_CARRIER, FUSED_ZERO, 0);
  check_failures(FUSED_NONE, FUSED_ZERO, 1);
  check_failures(FUSED_NONE, FUSED_ZERO, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_plain),
      cmocka_unit_test(test_variants_against_plain),
      cmocka_unit_test(test_extensions_against_plain),
      cmocka_unit_test(test_narrow_against_plain),
      cmocka_unit_test(test_work),
      cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
