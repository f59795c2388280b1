/* test_problem_waves.c: acoustics against modes of the square, and what no step may change. */
#include "problems.h"

#include "data/static.h"
#include "mesh/generate.h"
#include "problem/fem.h"
#include "problem/sheet.h"

/* p = cos(mπ(x+1)/2) cos(nπ(y+1)/2) cos ωt, ω = √κ π/2 √(m² + n²), v = -∫∇p dt. Relative errors of p and v, the worst of eight modes. */
static void mode_errors(double h, double *worst_p, double *worst_v) {
  gen_planar g = {.half = 1, .h_near = h, .h_far = h, .near = 0.1, .far = 0.5};
  cx *c;
  assert_ok(cx_planar(&c, &g));
  ready r = ready_on(&problem_waves, c);
  int64_t n = c->n[0];
  double *want = doubles(&r.mem, n), *flow = doubles(&r.mem, c->n[1]), T = 0.6;
  for (int k = 0; k < GROUP; k++)
    for (int64_t i = 0; i < n; i++) {
      r.block[0][k * n + i] =
          cos((1 + k % 3) * M_PI * (c->x[2 * i] + 1) / 2) * cos(k / 3 * M_PI * (c->x[2 * i + 1] + 1) / 2);
      r.block[1][k * n + i] = 1 + 0.25 * k;
    }
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  *worst_p = *worst_v = 0;
  for (int k = 0; k < GROUP; k++) {
    int m = 1 + k % 3, l = k / 3;
    double w = sqrt(1 + 0.25 * k) * M_PI / 2 * sqrt(m * m + l * l), size = sqrt(mean_square(n, r.block[0] + k * n));
    for (int64_t i = 0; i < n; i++) want[i] = r.block[0][k * n + i] * cos(w * T) - r.block[2][k * n + i];
    *worst_p = fmax(*worst_p, sqrt(mean_square(n, want)) / size);
    cx_d(c, 0, 1, r.block[0] + k * n, flow);
    size = sqrt(mean_square(c->n[1], flow)) / w;
    for (int64_t e = 0; e < c->n[1]; e++) flow[e] = -flow[e] * sin(w * T) / w - r.block[3][k * c->n[1] + e];
    *worst_v = fmax(*worst_v, sqrt(mean_square(c->n[1], flow)) / size);
  }
  ready_free(&r);
}

static void test_modes(void **state) {
  (void)state;
  double p[2], v[2];
  mode_errors(0.1, &p[0], &v[0]);
  mode_errors(0.05, &p[1], &v[1]);
  print_message("waves: p %.1e order %.2f, v %.1e order %.2f\n", p[1], log2(p[0] / p[1]), v[1], log2(v[0] / v[1]));
  assert_between(log2(p[0] / p[1]), 1.7, 2.4);
  assert_between(log2(v[0] / v[1]), 1.2, 2.4);
}

/* Velocities stay closed and without periods, ∫ p/κ is kept: to rounding. */
static void test_invariants(void **state) {
  (void)state;
  ready r = ready_make(&problem_waves, "smoke");
  const cx *c = r.c;
  int64_t n = c->n[0];
  double *mass = doubles(&r.mem, n), *curl = doubles(&r.mem, c->n[2]), *star = doubles(&r.mem, c->n[1]);
  csr S = {0};
  static_lumped(c, mass);
  assert_ok(fem_stiffness(&S, c, NULL));
  for (int64_t e = 0; e < c->n[1]; e++)
    for (int64_t q = S.ptr[c->vert[1][2 * e]]; q < S.ptr[c->vert[1][2 * e] + 1]; q++)
      if (S.col[q] == c->vert[1][2 * e + 1]) star[e] = -S.val[q];
  csr_free(&S);
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    const double *p0 = r.block[0] + k * n, *kappa = r.block[1] + k * n, *p = r.block[2] + k * n,
                 *v = r.block[3] + k * c->n[1];
    double before = 0, after = 0, energy[2] = {0};
    for (int64_t i = 0; i < n; i++) before += mass[i] * p0[i] / kappa[i], after += mass[i] * p[i] / kappa[i];
    assert_between(after - before, -1e-12, 1e-12);
    for (int64_t i = 0; i < n; i++)
      energy[0] += mass[i] * p0[i] * p0[i] / kappa[i], energy[1] += mass[i] * p[i] * p[i] / kappa[i];
    for (int64_t e = 0; e < c->n[1]; e++) energy[1] += star[e] * v[e] * v[e];
    assert_between(energy[1] / energy[0], 0.95, 1.05); /* leapfrog keeps it up to its own error */
    cx_d(c, 1, 1, v, curl);
    for (int64_t f = 0; f < c->n[2]; f++) assert_between(curl[f], -1e-12, 1e-12);
    for (int j = 0; j < SHEET_HOLES; j++) {
      double period = 0;
      for (int64_t e = 0; e < c->n[1]; e++) {
        const double *a = c->x + 2 * c->vert[1][2 * e], *b = c->x + 2 * c->vert[1][2 * e + 1], *o = sheet_hole[j];
        if (c->label[1][e] == 2 + j)
          period += (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]) > 0 ? v[e] : -v[e];
      }
      assert_between(period, -1e-12, 1e-12);
    }
  }
  ready_free(&r);
}

/* Doubling the pulses doubles everything; a stiffness that the time step was not made for is refused. */
static void test_linear(void **state) {
  (void)state;
  ready r = ready_make(&problem_waves, "smoke");
  int64_t n = r.c->n[0], edges = r.c->n[1];
  ready_group(&r, 0);
  for (int64_t i = 0; i < n; i++) r.block[0][n + i] = 2 * r.block[0][i], r.block[1][n + i] = r.block[1][i];
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  for (int64_t i = 0; i < n; i++) assert_true(r.block[2][n + i] == 2 * r.block[2][i]);
  for (int64_t e = 0; e < edges; e++) assert_true(r.block[3][edges + e] == 2 * r.block[3][e]);
  r.block[1][3] = 5;
  assert_int_equal(problem_solve(r.p, r.s, r.c, r.work, r.block), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "waves: kappa at vertex 3 is 5, expected a positive number up to 4"));
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_invariants),
      cmocka_unit_test(test_linear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
