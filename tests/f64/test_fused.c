/* The fused network in double: its output is the plain network's, its gradient the differences of the plain network's
 * loss, for every tensor, target degree, metric and odd width. */
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

static cx *torus(void) {
  cx *c;
  assert_int_equal(cx_torus_grid(&c, 1.0, 0.4, 5, 3, 0), DKHO_OK);
  return c;
}

/* Tetrahedra of random points. */
static cx *solid(void) {
  double x[3 * 9];
  rng r = rng_open(5, RNG_TEST, 0);
  for (int i = 0; i < 27; i++) x[i] = rng_uniform(&r);
  int64_t count;
  int32_t *tops;
  cx *c;
  assert_int_equal(delaunay(3, 9, x, &count, &tops), DKHO_OK);
  assert_int_equal(cx_build(&c, 3, 9, x, 3, count, tops, CX_LEX), DKHO_OK);
  mem_free(tops);
  return c;
}

static double plain_loss(const net_case *n, const real *p, int samples) {
  double s = 0;
  for (int i = 0; i < samples; i++) {
    double *y = plain_forward(n, p, &n->sample[i]);
    s += case_value(n, y);
    mem_free(y);
  }
  return s;
}

/* Along `ways` random sparse directions that together touch all parameters. A direction has hundreds of entries of order 1 where content
 * travels, so the differences' own error, of second order in eps, is what one sees first: 4.46e-6, 4.0e-7 and 4.5e-8 with eps
 * 1e-5, 3e-6 and 1e-6 in the worst case, just as eps² says. Hence 1e-6. */
static void check_gradient(const net_case *n, int samples, int ways) {
  real *g = case_gradient(n, &kern_ref, 1, samples, samples), *p = mem_alloc(n->params, sizeof *p);
  rng r = rng_open(6, RNG_TEST, 0);
  double *v = mem_alloc(n->params, sizeof *v), eps = 1e-6;
  for (int w = 0; w < ways; w++) {
    double exact = 0, at[2];
    for (size_t i = 0; i < n->params; i++) {
      v[i] = i % (size_t)ways == (size_t)w ? rng_normal(&r) : 0;
      exact += v[i] * (double)g[i];
    }
    for (int side = 0; side < 2; side++) {
      for (size_t i = 0; i < n->params; i++) p[i] = n->theta[i] + (real)((side ? -eps : eps) * v[i]);
      at[side] = plain_loss(n, p, samples);
    }
    double slope = (at[0] - at[1]) / (2 * eps);
    if (fabs(slope - exact) > 1e-6 * (1 + fabs(exact)))
      fail_msg("way %d: gradient %.12g, differences %.12g", w, exact, slope);
  }
  mem_free(v), mem_free(p), mem_free(g);
}

static void check_output(const net_case *n) {
  for (int i = 0; i < 2; i++) {
    double *y = plain_forward(n, n->theta, &n->sample[i]);
    real *f = case_output(n, &kern_ref, 1, i);
    for (int64_t j = 0; j < n->s.n[n->s.target] * n->s.outputs; j++)
      if (fabs((double)f[j] - y[j]) > 1e-10) fail_msg("output %d is %.12g, plainly %.12g", (int)j, (double)f[j], y[j]);
    mem_free(y), mem_free(f);
  }
}

static void test_each_target(void **state) {
  (void)state;
  for (int target = 0; target < 3; target++)
    for (int weighted = 0; weighted < 2; weighted++) {
      net_case *n = case_make(torus(), 3, 5, 2, 2, 2, target, 1 + target, weighted);
      check_output(n);
      check_gradient(n, 1, 60);
      case_free(n);
    }
}

/* Every relation and start, on each target, in both metrics. */
static void test_variants(void **state) {
  (void)state;
  static const struct {
    fused_relation relation;
    fused_start start;
  } kind[] = {{FUSED_COUPLED, FUSED_CONTENT}, {FUSED_COUPLED, FUSED_COMMON}, {FUSED_ALONE, FUSED_ZERO},
              {FUSED_ALONE, FUSED_CONTENT},   {FUSED_ALONE, FUSED_COMMON},   {FUSED_CARRIER, FUSED_ZERO}};
  for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
    for (int target = 0; target < 3; target++)
      for (int layers = 1; layers <= 3; layers++) {
        net_case *n = case_make(torus(), 3, 5, 2, layers, 2, target, 1, (target + layers) % 2);
        n->s.relation = kind[i].relation, n->s.start = kind[i].start;
        check_output(n);
        check_gradient(n, 1, 12);
        case_free(n);
      }
}

/* Content over links, narrow or not, and low modes, over few slots or many, with coupled phases and with no relation at all. */
static void test_extensions(void **state) {
  (void)state;
  for (int how = 0; how < 8; how++)
    for (int target = 0; target < 3; target++)
      for (int layers = 1; layers <= 3; layers++) {
        net_case *n = case_make(torus(), 3, how % 2 ? 5 : 17, 2, layers, 2, target, 1, (target + layers) % 2);
        n->s.relation = how < 4 ? FUSED_NONE : FUSED_COUPLED;
        n->s.exchange = (how + layers) % 4, n->s.modes = how / 2 % 2 ? CASE_MODES - target : 0;
        n->s.width = layers == 2 ? 3 : 0, n->s.slots = layers == 3 ? 4 + target : 0;
        check_output(n);
        check_gradient(n, 1, 12);
        case_free(n);
      }
}

/* Tetrahedra: more simplices above than below at some degrees, fewer at others. */
static void test_extensions_four_degrees(void **state) {
  (void)state;
  for (int how = 1; how < 8; how++) {
    net_case *n = case_make(solid(), 4, 3, 1, 2, 1, how % 4, 2, how % 2);
    n->s.relation = how < 5 ? FUSED_NONE : FUSED_COUPLED;
    n->s.exchange = 1 + how % 3, n->s.modes = how % 2 ? 2 : 0;
    n->s.width = how % 3 ? 2 : 0, n->s.slots = how > 2 ? 5 : 0;
    check_output(n);
    check_gradient(n, 2, 40);
    case_free(n);
  }
}

static void test_four_degrees(void **state) {
  (void)state;
  for (int relation = FUSED_COUPLED; relation <= FUSED_CARRIER; relation++) {
    net_case *n = case_make(solid(), 4, 3, 1, 2, 1, 3, 2, 1);
    n->s.relation = (fused_relation)relation;
    check_output(n);
    check_gradient(n, 2, 40);
    case_free(n);
  }
}

static void test_deep_and_wide(void **state) {
  (void)state;
  net_case *n = case_make(torus(), 3, 17, 3, 3, 3, 1, 1, 0);
  check_output(n);
  check_gradient(n, 2, 12);
  case_free(n);
  n = case_make(torus(), 3, 4, 1, 1, 1, 2, 1, 0); /* one layer, one substep */
  check_output(n);
  check_gradient(n, 3, 12);
  case_free(n);
}

/* A tensor that cannot reach the output has gradient zero: the last layer's content off the target degree. */
static void test_dead_tensors(void **state) {
  (void)state;
  net_case *n = case_make(torus(), 3, 5, 2, 2, 2, 0, 1, 0);
  real *g = case_gradient(n, &kern_ref, 1, 1, 1);
  for (int k = 1; k < 3; k++)
    for (int i = 0; i < 25; i++) assert_true(g[n->s.layer[1].rank[k].skip + (size_t)i] == 0);
  for (int i = 0; i < 10; i++) assert_true(g[n->s.layer[1].rank[2].drive_w + (size_t)i] == 0);
  assert_true(g[n->s.layer[1].rank[2].gate_w] != 0 && g[n->s.layer[1].rank[1].drive_w] != 0);
  mem_free(g);
  case_free(n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_target),
      cmocka_unit_test(test_variants),
      cmocka_unit_test(test_four_degrees),
      cmocka_unit_test(test_extensions),
      cmocka_unit_test(test_extensions_four_degrees),
      cmocka_unit_test(test_deep_and_wide),
      cmocka_unit_test(test_dead_tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
