/* test_problem_darcy.c: the Darcy data: convergence of the elements to a known solution, linearity, what is kept in the file,
 * statistics of the benchmark. The solve itself is compared with SciPy by tests/sh_oracle.sh. */
#include "problems.h"

#include "mesh/generate.h"
#include "problem/fem.h"

/* A smooth permeability and p = sin(2x+1) cos(1.5y). */
static void tensor(const double *x, double K[4]) {
  K[0] = 2 + 0.5 * x[0];
  K[1] = K[2] = 0.3 * x[0] * x[1];
  K[3] = 1.5 + 0.4 * x[1] * x[1];
}
static double potential(const double *x) {
  return sin(2 * x[0] + 1) * cos(1.5 * x[1]);
}
static void slope(const double *x, double g[2]) {
  g[0] = 2 * cos(2 * x[0] + 1) * cos(1.5 * x[1]);
  g[1] = -1.5 * sin(2 * x[0] + 1) * sin(1.5 * x[1]);
}
/* f = -∇·(K∇p) by the product rule. */
static double source(const double *x) {
  double K[4], g[2], mixed = -3 * cos(2 * x[0] + 1) * sin(1.5 * x[1]);
  tensor(x, K);
  slope(x, g);
  return 4 * K[0] * potential(x) + 2.25 * K[3] * potential(x) - 2 * K[1] * mixed - (0.5 + 0.3 * x[0]) * g[0] -
         (0.3 * x[1] + 0.8 * x[1]) * g[1];
}

/* The discrete p of the manufactured problem, exact values on the boundary. */
static void solve_manufactured(const cx *c, arena *mem, double *K, double *p) {
  csr A = {0}, M = {0}, inner = {0};
  chol *factor;
  chol_work *work;
  int64_t n = c->n[0], inside = 0;
  double *load = doubles(mem, n), *f = doubles(mem, n), *rhs = doubles(mem, n), *centre = doubles(mem, 2 * c->n[2]);
  int32_t *unknown = arena_take(mem, (size_t)n, sizeof *unknown);
  assert_non_null(unknown);
  cx_centroids(c, 2, centre);
  for (int64_t t = 0; t < c->n[2]; t++) tensor(centre + 2 * t, K + 4 * t);
  assert_ok(fem_stiffness(&A, c, K));
  assert_ok(fem_mass(&M, c));
  for (int64_t i = 0; i < n; i++) {
    f[i] = source(c->x + 2 * i);
    p[i] = c->on_boundary[0][i] ? potential(c->x + 2 * i) : 0;
    if (!c->on_boundary[0][i]) unknown[inside++] = (int32_t)i;
  }
  csr_apply(&M, 1, f, load);
  csr_apply(&A, 1, p, f);
  for (int64_t i = 0; i < inside; i++) rhs[i] = load[unknown[i]] - f[unknown[i]];
  assert_ok(csr_select(&inner, &A, inside, unknown, inside, unknown));
  assert_ok(chol_factor(&factor, &inner));
  assert_ok(chol_work_new(&work, factor, 1));
  assert_ok(chol_solve(factor, work, 1, rhs, rhs));
  for (int64_t i = 0; i < inside; i++) p[unknown[i]] = rhs[i];
  chol_work_free(work);
  chol_free(factor);
  csr_free(&A);
  csr_free(&M);
  csr_free(&inner);
}

/* L2 errors of p and of K∇p, by the rule that takes the midpoints of the sides. */
static void manufactured_errors(double h, double *faces, double error[2]) {
  static const double hole[1][3] = {{0.1, -0.2, 0.35}};
  gen_planar g = {.half = 1, .holes = 1, .hole = hole, .h_near = h, .h_far = h, .near = 0.1, .far = 0.5};
  arena mem = {0};
  cx *c;
  double sum[2] = {0};
  assert_ok(cx_planar(&c, &g));
  double *K = doubles(&mem, 4 * c->n[2]), *p = doubles(&mem, c->n[0]);
  solve_manufactured(c, &mem, K, p);
  for (int64_t t = 0; t < c->n[2]; t++) {
    double hat[6], d[2] = {0}, *k = K + 4 * t;
    fem_gradients(c, t, hat);
    for (int j = 0; j < 3; j++)
      for (int a = 0; a < 2; a++) d[a] += hat[2 * j + a] * p[c->vert[2][3 * t + j]];
    for (int j = 0; j < 3; j++) {
      int64_t a = c->vert[2][3 * t + j], b = c->vert[2][3 * t + (j + 1) % 3];
      double x[2] = {(c->x[2 * a] + c->x[2 * b]) / 2, (c->x[2 * a + 1] + c->x[2 * b + 1]) / 2}, T[4], s[2];
      double gap = (p[a] + p[b]) / 2 - potential(x);
      tensor(x, T);
      slope(x, s);
      double u = k[0] * d[0] + k[1] * d[1] - T[0] * s[0] - T[1] * s[1];
      double v = k[2] * d[0] + k[3] * d[1] - T[2] * s[0] - T[3] * s[1];
      sum[0] += c->measure[2][t] / 3 * gap * gap;
      sum[1] += c->measure[2][t] / 3 * (u * u + v * v);
    }
  }
  *faces = (double)c->n[2];
  error[0] = sqrt(sum[0]);
  error[1] = sqrt(sum[1]);
  arena_free(&mem);
  cx_free(c);
}

static void test_converges(void **state) {
  (void)state;
  double size[3] = {0.16, 0.08, 0.04}, faces[3], error[3][2];
  int last = SLOW ? 1 : 2;
  for (int i = 0; i <= last; i++) manufactured_errors(size[i], &faces[i], error[i]);
  double halvings = log(faces[last] / faces[0]) / 2;
  double order[2] = {log(error[0][0] / error[last][0]) / halvings, log(error[0][1] / error[last][1]) / halvings};
  print_message("manufactured solution: order %.3f in potential, %.3f in flux\n", order[0], order[1]);
  assert_between(order[0], 1.9, 2.1);
  assert_between(order[1], 0.9, 1.1);
}

/* Samples 0 and 1 are drawn; 2 is their sum, 3 is 2.5 times the first, 4 has no data. */
static void test_superposition(void **state) {
  (void)state;
  ready r = ready_make(&problem_darcy, "smoke");
  int64_t n = r.c->n[0], edges = r.c->n[1], faces = r.c->n[2];
  double *f = r.block[0], *p = r.block[1], *q = r.block[2], *w = r.block[3], *g = r.block[4];
  r.p->draw(r.s, r.work, 42, 0, r.block);
  for (int64_t i = 0; i < n; i++) f[2 * n + i] = f[i] + f[n + i], f[3 * n + i] = 2.5 * f[i], f[4 * n + i] = 0;
  for (int j = 0; j < 2; j++) g[4 + j] = g[j] + g[2 + j], g[6 + j] = 2.5 * g[j], g[8 + j] = 0;
  assert_ok(r.p->solve(r.s, r.work, r.block));
  double largest = 0;
  for (int64_t i = 0; i < 3 * edges; i++) largest = fmax(largest, fabs(q[i]));
  for (int64_t i = 0; i < n; i++) {
    assert_between(p[2 * n + i] - p[i] - p[n + i], -1e-12, 1e-12);
    assert_between(p[3 * n + i] - 2.5 * p[i], -1e-12, 1e-12);
    assert_true(p[4 * n + i] == 0);
  }
  /* q is kept in float, and w = d q */
  for (int64_t e = 0; e < edges; e++)
    assert_between(q[2 * edges + e] - q[e] - q[edges + e], -1.5e-7 * largest, 1.5e-7 * largest);
  for (int64_t t = 0; t < faces; t++)
    assert_between(w[2 * faces + t] - w[t] - w[faces + t], -5e-7 * largest, 5e-7 * largest);
  ready_free(&r);
}

/* 0 on the outer square, the drawn values on the rims, to the bit. */
static void test_boundary_values(void **state) {
  (void)state;
  ready r = ready_make(&problem_darcy, "smoke");
  int64_t n = r.c->n[0];
  ready_group(&r, 16);
  for (int k = 0; k < GROUP; k++) {
    const double *g = r.block[4] + 2 * k;
    assert_between(g[0], 0.5, 1.5);
    assert_between(g[1], 0.5, 1.5);
    for (int64_t i = 0; i < n; i++) {
      int32_t label = r.c->label[0][i];
      if (label) assert_true(r.block[1][k * n + i] == (label == 1 ? 0 : g[label - 2]));
    }
  }
  ready_free(&r);
}

/* K has principal values 4 and 1 in every triangle, in any direction; its invariants on edges keep the trace. */
static void test_permeability(void **state) {
  (void)state;
  ready r = ready_make(&problem_darcy, SLOW ? "smoke" : "main");
  const double *K = ready_static(&r, "K2"), *along = ready_static(&r, "K1");
  double twist[2] = {0}, bound = 5 / sqrt((double)r.c->n[2]);
  for (int64_t t = 0; t < r.c->n[2]; t++) {
    assert_between(K[4 * t] + K[4 * t + 3], 5 - 1e-14, 5 + 1e-14);
    assert_between(K[4 * t] * K[4 * t + 3] - K[4 * t + 1] * K[4 * t + 2], 4 - 1e-13, 4 + 1e-13);
    twist[0] += (K[4 * t] - 2.5) / 1.5 / (double)r.c->n[2];
    twist[1] += K[4 * t + 1] / 1.5 / (double)r.c->n[2];
  }
  assert_between(twist[0], -bound, bound);
  assert_between(twist[1], -bound, bound);
  for (int64_t e = 0; e < r.c->n[1]; e++) assert_between(along[3 * e] + along[3 * e + 1], 5 - 1e-13, 5 + 1e-13);
  ready_free(&r);
}

static void test_kept_circulation(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  dataset *d = smoke_file(&problem_darcy, scratch_path(path, dir, "darcy.st"), 24, 2);
  const cx *c = dataset_cx(d, 0);
  double *q = malloc((size_t)c->n[1] * sizeof *q), *w = malloc((size_t)c->n[2] * sizeof *w);
  for (int64_t s = 0; s < dataset_samples(d); s++) {
    const float *flux = dataset_value(d, dataset_find(d, "q"), s), *kept = dataset_value(d, dataset_find(d, "w"), s);
    for (int64_t e = 0; e < c->n[1]; e++) q[e] = flux[e];
    cx_d(c, 1, 1, q, w);
    for (int64_t t = 0; t < c->n[2]; t++) assert_true(kept[t] == (float)w[t]);
  }
  free(q);
  free(w);
  dataset_free(d);
  scratch_remove(dir);
}

/* The magnitudes that the published errors imply, and the variance of the source. */
static void test_statistics(void **state) {
  (void)state;
  if (SLOW) skip();
  enum { GROUPS = 50 };
  double mean[4] = {0};
  ready r = ready_make(&problem_darcy, "main");
  for (int i = 0; i < GROUPS; i++) {
    ready_group(&r, i * GROUP);
    for (int j = 0; j < 4; j++) mean[j] += mean_square(GROUP * r.c->n[r.p->field[j].degree], r.block[j]) / GROUPS;
  }
  print_message("mean squares over %d samples: f %.4f, p %.4f, q %.6f, w %.6f\n", GROUPS * GROUP, mean[0], mean[1],
                mean[2], mean[3]);
  assert_between(mean[0], 0.95 * 0.73226, 1.05 * 0.73226);
  assert_between(mean[1], 0.45, 0.53);
  assert_between(mean[2], 0.0068, 0.0083);
  assert_between(mean[3], 0.0020, 0.0025);
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_converges),        cmocka_unit_test(test_superposition),
      cmocka_unit_test(test_boundary_values),  cmocka_unit_test(test_permeability),
      cmocka_unit_test(test_kept_circulation), cmocka_unit_test(test_statistics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
