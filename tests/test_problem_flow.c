/* test_problem_flow.c: Taylor–Hood elements against exact Navier–Stokes flows, and the problem made of them. */
#include "annulus.h"

#include "data/static.h"
#include "mesh/generate.h"
#include "problem/sheet.h"
#include "problem/taylor_impl.h"

/* The element's matrix is the derivative of its residual. */
static void test_element(void **state) {
  (void)state;
  cx *c = annulus(2);
  rng r = rng_open(1, RNG_TEST, 3);
  for (int64_t f = 0; f < c->n[2]; f += 7) {
    taylor_values v, up, down;
    double F[TAYLOR_LOCAL], high[TAYLOR_LOCAL], low[TAYLOR_LOCAL], K[TAYLOR_LOCAL][TAYLOR_LOCAL], e = 1e-4;
    for (int i = 0; i < 12; i++) v.u[i / 2][i % 2] = rng_normal(&r);
    for (int i = 0; i < 3; i++) v.p[i] = rng_normal(&r), v.psi[i] = rng_normal(&r);
    taylor_element(c, f, 7, &v, F, K);
    for (int b = 0; b < TAYLOR_LOCAL; b++) {
      up = down = v;
      *(b < 12 ? &up.u[b / 2][b % 2] : &up.p[b - 12]) += e;
      *(b < 12 ? &down.u[b / 2][b % 2] : &down.p[b - 12]) -= e;
      taylor_element(c, f, 7, &up, high, NULL);
      taylor_element(c, f, 7, &down, low, NULL);
      for (int a = 0; a < TAYLOR_LOCAL; a++) /* quadratic: central differences are exact */
        assert_between((high[a] - low[a]) / (2 * e) - K[a][b], -1e-9, 1e-9);
    }
  }
  cx_free(c);
}

/* s: the stream function, u = (∂s/∂y, -∂s/∂x). */
typedef void (*exact_flow)(const double *x, double reynolds, double u[2], double *p, double *s);

/* Kovasznay's flow behind a grid; pressure in viscous units. */
static void kovasznay(const double *x, double reynolds, double u[2], double *p, double *s) {
  double l = reynolds / 2 - sqrt(reynolds * reynolds / 4 + 4 * M_PI * M_PI), e = exp(l * x[0]);
  u[0] = 1 - e * cos(2 * M_PI * x[1]);
  u[1] = l / (2 * M_PI) * e * sin(2 * M_PI * x[1]);
  *p = -reynolds * e * e / 2;
  *s = x[1] - e * sin(2 * M_PI * x[1]) / (2 * M_PI);
}

/* Between the circle r = 1, which turns with speed 1, and r = 2 at rest: u = Ar + B/r. */
static void couette(const double *x, double reynolds, double u[2], double *p, double *s) {
  double r = radius(x), A = -1. / 3, B = 4. / 3, speed = A * r + B / r;
  u[0] = -speed * x[1] / r;
  u[1] = speed * x[0] / r;
  *p = reynolds * (A * A * r * r / 2 + 2 * A * B * log(r) - B * B / (2 * r * r));
  *s = -A * r * r / 2 - B * log(r);
}

typedef struct flow_error {
  double u, p, flux; /* relative, velocities at nodes, pressures at vertices, fluxes through edges */
  int steps;
} flow_error;

static void node_position(const cx *c, int64_t i, double x[2]) {
  const int32_t *end = i < c->n[0] ? NULL : c->vert[1] + 2 * (i - c->n[0]);
  for (int a = 0; a < 2; a++) x[a] = end ? (c->x[2 * end[0] + a] + c->x[2 * end[1] + a]) / 2 : c->x[2 * i + a];
}

/* Takes the complex over. Velocities of the boundary are exact at vertices; those of midpoints too, or means of the ends where a wall is
 * curved. */
static flow_error measure(cx *c, exact_flow exact, double reynolds, int curved) {
  taylor *t;
  taylor_solver *s;
  arena mem = {0};
  assert_ok(taylor_create(&t, c));
  assert_ok(taylor_open(&s, t));
  int64_t nodes = taylor_nodes(t), n = c->n[0];
  double *u = doubles(&mem, 2 * nodes), *want = doubles(&mem, 2 * nodes), *p = doubles(&mem, n),
         *level = doubles(&mem, n), *weight = doubles(&mem, n), *psi = doubles(&mem, n), *stream = doubles(&mem, nodes),
         *flux = doubles(&mem, c->n[1]), *through = doubles(&mem, c->n[1]), mean = 0, area = 0, unused;
  static_lumped(c, weight);
  for (int64_t i = 0; i < nodes; i++) {
    double x[2];
    node_position(c, i, x);
    exact(x, reynolds, want + 2 * i, i < n ? &level[i] : &unused, &stream[i]);
    if (i < n) mean += weight[i] * level[i], area += weight[i];
    int rim = i < n ? c->on_boundary[0][i] : c->on_boundary[1][i - n];
    for (int a = 0; a < 2 && rim; a++) {
      const int32_t *end = c->vert[1] + 2 * (i - n);
      u[2 * i + a] = i < n || !curved ? want[2 * i + a] : (u[2 * end[0] + a] + u[2 * end[1] + a]) / 2;
    }
  }
  for (int64_t i = 0; i < n; i++) level[i] -= mean / area;
  taylor_flow f = {.reynolds = reynolds, .psi = psi, .u = u, .p = p};
  assert_ok(taylor_solve(s, &f));
  assert_true(f.reached == reynolds);
  taylor_fluxes(t, u, flux);
  cx_d(c, 0, 1, stream, through);
  flow_error e = {relative_distance(2 * nodes, u, want), relative_distance(n, p, level),
                  relative_distance(c->n[1], flux, through), f.steps};
  taylor_close(s), taylor_free(t), cx_free(c), arena_free(&mem);
  return e;
}

static cx *square(double h) {
  gen_planar g = {.half = 0.5, .h_near = h, .h_far = h, .near = 0.1, .far = 0.5};
  cx *c;
  assert_ok(cx_planar(&c, &g));
  return c;
}

static void test_kovasznay(void **state) {
  (void)state;
  flow_error coarse = measure(square(0.1), kovasznay, 40, 0), fine = measure(square(0.05), kovasznay, 40, 0);
  double u = log2(coarse.u / fine.u), p = log2(coarse.p / fine.p), flux = log2(coarse.flux / fine.flux);
  print_message("Kovasznay: u %.1e order %.2f, p %.1e order %.2f, flux %.1e order %.2f, %d steps\n", fine.u, u, fine.p,
                p, fine.flux, flux, fine.steps);
  assert_true(fine.u < 1e-4 && fine.p < 1e-2 && fine.flux < 1e-4 && fine.steps < 8);
  assert_between(u, 2.7, 4);
  assert_between(flux, 2.7, 4.5);
  assert_between(p, 1.7, 4);
}

static void test_couette(void **state) {
  (void)state;
  flow_error coarse = measure(annulus(4), couette, 50, 1), fine = measure(annulus(8), couette, 50, 1);
  double u = log2(coarse.u / fine.u), p = log2(coarse.p / fine.p), flux = log2(coarse.flux / fine.flux);
  print_message("Couette: u %.1e order %.2f, p %.1e order %.2f, flux %.1e order %.2f\n", fine.u, u, fine.p, p,
                fine.flux, flux);
  assert_true(fine.u < 5e-3 && fine.p < 5e-2 && fine.flux < 5e-3);
  assert_between(flux, 1.7, 4);
  assert_between(u, 1.7, 4); /* the polygon in place of the circle costs an order */
  assert_between(p, 1.5, 4);
}

/* Fluxes of a face's three edges add up to the integral of ∇·u, which the continuity equation tested with 1 is, for any velocity. */
static void test_divergence(void **state) {
  (void)state;
  cx *c = annulus(2);
  taylor *t;
  arena mem = {0};
  rng r = rng_open(1, RNG_TEST, 4);
  assert_ok(taylor_create(&t, c));
  double *u = doubles(&mem, 2 * taylor_nodes(t)), *flux = doubles(&mem, c->n[1]), *sum = doubles(&mem, c->n[2]);
  for (int64_t i = 0; i < 2 * taylor_nodes(t); i++) u[i] = rng_normal(&r);
  taylor_fluxes(t, u, flux);
  cx_d(c, 1, 1, flux, sum);
  for (int64_t f = 0; f < c->n[2]; f++) {
    taylor_values v = {0};
    double F[TAYLOR_LOCAL];
    for (int i = 0; i < 12; i++) v.u[i / 2][i % 2] = u[2 * (int64_t)t->node[f * TAYLOR_NODES + i / 2] + i % 2];
    taylor_element(c, f, 0, &v, F, NULL);
    assert_between(sum[f] + F[12] + F[13] + F[14], -1e-13, 1e-13);
  }
  taylor_free(t), cx_free(c), arena_free(&mem);
}

/* Circulations are d of the line integrals; walls decide the periods and let nothing through; pressures have mean zero: to rounding. */
static void test_identities(void **state) {
  (void)state;
  ready r = ready_make(&problem_flow, "smoke");
  const cx *c = r.c;
  double *rims = ready_static(&r, "rims"), *weight = ready_static(&r, "weight"), *d = doubles(&r.mem, c->n[2]);
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    const double *u = r.block[3] + k * c->n[1], *w = r.block[4] + k * c->n[2], *p = r.block[5] + k * c->n[0],
                 *flux = r.block[6] + k * c->n[1];
    cx_d(c, 1, 1, u, d);
    for (int64_t f = 0; f < c->n[2]; f++) assert_between(d[f] - w[f], -1e-14, 1e-14);
    for (int64_t e = 0; e < c->n[1]; e++) {
      double want = 0;
      for (int j = 0; j < SHEET_HOLES; j++) want += r.block[1][k * SHEET_HOLES + j] * rims[e * SHEET_HOLES + j];
      if (!c->on_boundary[1][e]) continue;
      assert_between(u[e] - want, -1e-15, 1e-15);
      assert_between(flux[e], -1e-15, 1e-15);
    }
    double mean = 0;
    for (int64_t i = 0; i < c->n[0]; i++) mean += weight[i] * p[i];
    assert_between(mean, -1e-10, 1e-10);
  }
  ready_free(&r);
}

/* Slow flow is linear; fast flow is not. */
static void test_linearity(void **state) {
  (void)state;
  ready r = ready_make(&problem_flow, "smoke");
  int64_t n = r.c->n[0], edges = r.c->n[1];
  for (int creeping = 1; creeping >= 0; creeping--) {
    ready_group(&r, 0);
    for (int k = 0; k < 2; k++) {
      r.block[2][k] = creeping ? 0 : 100;
      for (int j = 0; j < SHEET_HOLES; j++) r.block[1][k * SHEET_HOLES + j] = (k + 1) * r.block[1][j];
      for (int64_t i = 0; i < n; i++) r.block[0][k * n + i] = (k + 1) * r.block[0][i];
    }
    for (int k = 2; k < GROUP; k++) r.block[2][k] = 0;
    assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
    for (int64_t e = 0; e < edges; e++) r.block[3][e] *= 2;
    double gap = relative_distance(edges, r.block[3] + edges, r.block[3]);
    assert_true(creeping ? gap < 1e-10 : gap > 0.05);
  }
  ready_free(&r);
}

static void refuse(ready *r, dkho_status want, const char *text) {
  assert_int_equal(problem_solve(r->p, r->s, r->c, r->work, r->block), want);
  if (!strstr(fail_text(), text)) fail_msg("\"%s\", expected \"%s\"", fail_text(), text);
}

static void test_bad_parameters(void **state) {
  (void)state;
  ready r = ready_make(&problem_flow, "smoke");
  ready_group(&r, 0);
  r.block[2][0] = 1e6;
  refuse(&r, DKHO_E_INPUT, "flow: Reynolds number 1e+06, expected 0 … 100000");
  r.block[2][0] = -1;
  refuse(&r, DKHO_E_INPUT, "flow: Reynolds number -1, expected 0 … 100000");
  r.block[2][0] = 1e5; /* there may be a flow, but no way to it on this mesh */
  refuse(&r, DKHO_E_NOCONV, "flow: Reynolds number 100000: no flow found beyond ");
  r.block[2][0] = 10;
  r.block[1][2] = NAN;
  refuse(&r, DKHO_E_INPUT, "flow: speed 3 is ");
  r.block[1][2] = 0;
  r.block[0][4] = INFINITY;
  refuse(&r, DKHO_E_INPUT, "flow: psi at vertex 4 is inf");
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_element),        cmocka_unit_test(test_kovasznay),  cmocka_unit_test(test_couette),
      cmocka_unit_test(test_divergence),     cmocka_unit_test(test_identities), cmocka_unit_test(test_linearity),
      cmocka_unit_test(test_bad_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
