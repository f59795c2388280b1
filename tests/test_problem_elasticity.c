/* test_problem_elasticity.c: finite deformations against the patch test, simple tension and the plate with a hole. */
#include "problems.h"

#include "mesh/generate.h"
#include "problem/elastic.h"

typedef struct body {
  cx *c;
  elastic *s;
  elastic_solver *w;
  arena mem;
  double *mu, *load, *u, *stress;
  uint8_t *held;
} body;

static body body_make(double h, int holes) {
  static const double hole[1][3] = {{0, 0, 0.12}};
  gen_planar g = {
      .half = 1, .holes = holes, .hole = hole, .h_near = holes ? h / 4 : h, .h_far = h, .near = 0.1, .far = 0.6};
  body b = {0};
  assert_ok(cx_planar(&b.c, &g));
  b.mu = doubles(&b.mem, b.c->n[2]);
  b.load = doubles(&b.mem, 2 * b.c->n[0]);
  b.u = doubles(&b.mem, 2 * b.c->n[0]);
  b.stress = doubles(&b.mem, 4 * b.c->n[2]);
  b.held = arena_take(&b.mem, (size_t)(2 * b.c->n[0]), 1);
  assert_non_null(b.held);
  for (int64_t f = 0; f < b.c->n[2]; f++) b.mu[f] = 2;
  return b;
}

static newton_report body_solve(body *b) {
  newton_report r;
  assert_ok(elastic_create(&b->s, b->c, b->held));
  assert_ok(elastic_open(&b->w, b->s));
  assert_ok(elastic_solve(b->w, b->mu, b->load, b->u, &r));
  elastic_read(b->s, b->mu, b->u, NULL, b->stress);
  return r;
}

static void body_free(body *b) {
  elastic_close(b->w), elastic_free(b->s), cx_free(b->c), arena_free(&b->mem);
}

/* An affine displacement given on the boundary continues inside, whatever its size. */
static void test_patch(void **state) {
  (void)state;
  static const double A[2][2] = {{0.4, 0.3}, {-0.2, 0.1}};
  body b = body_make(0.25, 0);
  for (int64_t i = 0; i < 2 * b.c->n[0]; i++) {
    const double *x = b.c->x + i / 2 * 2;
    b.held[i] = b.c->on_boundary[0][i / 2];
    if (b.held[i]) b.u[i] = A[i % 2][0] * x[0] + A[i % 2][1] * x[1];
  }
  body_solve(&b);
  for (int64_t i = 0; i < 2 * b.c->n[0]; i++) {
    const double *x = b.c->x + i / 2 * 2;
    assert_between(b.u[i] - A[i % 2][0] * x[0] - A[i % 2][1] * x[1], -1e-9, 1e-9);
  }
  body_free(&b);
}

/* Pulls the sides x = ±1 with traction t; the rest is free but for rigid motions. */
static void pull(body *b, double t) {
  const cx *c = b->c;
  int64_t corner = 0;
  for (int64_t i = 0; i < c->n[0]; i++) {
    b->held[2 * i] = c->x[2 * i] == -1;
    if (c->x[2 * i] == -1 && c->x[2 * i + 1] == -1) corner = i;
  }
  b->held[2 * corner + 1] = 1;
  for (int64_t e = 0; e < c->n[1]; e++)
    for (int end = 0; end < 2; end++) {
      const int32_t *v = c->vert[1] + 2 * e;
      if (c->x[2 * v[0]] == 1 && c->x[2 * v[1]] == 1) b->load[2 * v[end]] += t * c->measure[1][e] / 2;
    }
}

/* Simple tension: stretches a, b with μ(a - 1/a) + λ ln(ab)/a = t and μ(b - 1/b) + λ ln(ab)/b = 0, the same everywhere. */
static void test_tension(void **state) {
  (void)state;
  body b = body_make(0.25, 0);
  double t = 1.5, mu = 2, lambda = 3, along = 1, across = 1;
  pull(&b, t);
  newton_report r = body_solve(&b);
  for (int k = 0; k < 2000; k++) { /* a slow iteration of its own */
    along += 0.05 * (t - mu * (along - 1 / along) - lambda * log(along * across) / along);
    across += 0.05 * (-mu * (across - 1 / across) - lambda * log(along * across) / across);
  }
  for (int64_t i = 0; i < b.c->n[0]; i++) {
    assert_between(b.u[2 * i] - (along - 1) * (b.c->x[2 * i] + 1), -1e-9, 1e-9);
    assert_between(b.u[2 * i + 1] - (across - 1) * (b.c->x[2 * i + 1] + 1), -1e-9, 1e-9);
  }
  for (int64_t f = 0; f < b.c->n[2]; f++) {
    assert_between(b.stress[4 * f] - t, -1e-9, 1e-9);
    for (int k = 1; k < 4; k++) assert_between(b.stress[4 * f + k], -1e-9, 1e-9);
  }
  double pace = 0;
  for (int k = 0; k < r.steps; k++)
    if (r.history[k] < 0.1 * r.history[0] && r.history[k + 1] > 1e-10 * r.history[0])
      pace = fmax(pace, r.history[0] * r.history[k + 1] / pow(r.history[k], 2));
  assert_true(along > 1.1 && r.steps < 10 && pace < 50);
  body_free(&b);
}

/* A small hole in a plate under a small pull: Kirsch's stress along the pull, 3t at the sides of the hole, -t at its front, on the way there
 * t/2 (2 + q + 3q²), q = (radius/distance)². */
static void test_hole(void **state) {
  (void)state;
  body b = body_make(0.08, 1);
  double t = 1e-4, most = 0, worst = 0;
  pull(&b, t);
  body_solve(&b);
  for (int64_t f = 0; f < b.c->n[2]; f++) {
    double x[2] = {0};
    for (int i = 0; i < 6; i++) x[i % 2] += b.c->x[2 * b.c->vert[2][3 * f + i / 2] + i % 2] / 3;
    most = fmax(most, b.stress[4 * f] / t);
    if (fabs(x[0]) > 0.02 || hypot(x[0], x[1]) < 0.15 || hypot(x[0], x[1]) > 0.5) continue;
    double q = 0.12 * 0.12 / (x[0] * x[0] + x[1] * x[1]);
    worst = fmax(worst, fabs(b.stress[4 * f] / t - (2 + q + 3 * q * q) / 2));
  }
  print_message("hole: stress up to %.2f of the pull, off Kirsch's by %.3f along the way\n", most, worst);
  assert_between(most, 2.6, 3.3);
  assert_true(worst > 0 && worst < 0.15);
  body_free(&b);
}

/* The clamped side stays, no load moves nothing, the loads of the problem do, and errors are named. */
static void test_problem(void **state) {
  (void)state;
  ready r = ready_make(&problem_elasticity, "smoke");
  int64_t n = r.c->n[0];
  ready_group(&r, 0);
  double largest = 0;
  for (int k = 0; k < GROUP; k++)
    for (int64_t i = 0; i < n; i++) {
      const double *u = r.block[2] + 2 * (k * n + i);
      if (r.c->x[2 * i] == -1) assert_true(u[0] == 0 && u[1] == 0);
      largest = fmax(largest, hypot(u[0], u[1]));
    }
  assert_between(largest, 0.2, 3);
  memset(r.block[1], 0, (size_t)(2 * GROUP * r.c->n[1]) * sizeof(double));
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  assert_true(mean_square(2 * n * GROUP, r.block[2]) == 0);
  r.block[0][2] = 0;
  assert_int_equal(problem_solve(r.p, r.s, r.c, r.work, r.block), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "elasticity: stiffness at vertex 2 is 0, expected a positive number"));
  r.block[0][2] = 1;
  for (int64_t e = 0; e < r.c->n[1]; e++) r.block[1][2 * e] = -50;
  assert_int_equal(problem_solve(r.p, r.s, r.c, r.work, r.block), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "elasticity: no equilibrium found beyond "));
  r.block[1][7] = 1e9;
  assert_int_equal(problem_solve(r.p, r.s, r.c, r.work, r.block), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "elasticity: traction on edge 3 is 1e+09, expected at most 100 in size"));
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_patch),
      cmocka_unit_test(test_tension),
      cmocka_unit_test(test_hole),
      cmocka_unit_test(test_problem),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
