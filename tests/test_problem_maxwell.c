/* test_problem_maxwell.c: Whitney masses, and Maxwell's equations against a mode of the cube and what no step may change. */
#include "problems.h"

#include "problem/fem.h"

/* The unit cube, n³ cubes of six tetrahedra each. */
static cx *cube(int n) {
  static const int path[6][3] = {{1, 2, 4}, {1, 4, 2}, {2, 1, 4}, {2, 4, 1}, {4, 1, 2}, {4, 2, 1}};
  arena mem = {0};
  int m = n + 1;
  double *x = doubles(&mem, 3 * (int64_t)m * m * m);
  int32_t *t = arena_take(&mem, (size_t)(24 * n * n * n), sizeof *t), *put = t;
  assert_non_null(t);
  for (int i = 0; i < m * m * m; i++)
    x[3 * i] = (double)(i % m) / n, x[3 * i + 1] = (double)(i / m % m) / n, x[3 * i + 2] = (double)(i / m / m) / n;
  for (int i = 0; i < n * n * n; i++)
    for (int p = 0; p < 6; p++)
      for (int step = 0, corner = 0; step < 4; corner |= step < 3 ? path[p][step] : 0, step++) {
        int a = i % n + (corner & 1), b = i / n % n + (corner >> 1 & 1), c = i / n / n + (corner >> 2);
        *put++ = (c * m + b) * m + a;
      }
  cx *out;
  assert_ok(cx_build(&out, 3, (int64_t)m * m * m, x, 3, 6 * (int64_t)n * n * n, t, CX_LEX));
  arena_free(&mem);
  return out;
}

/* ∫ of an arm of vector v along edge e, and of v through face f. */
static double along(const cx *c, int64_t e, const double v[3]) {
  double sum = 0;
  for (int i = 0; i < 3; i++) sum += v[i] * (c->x[3 * c->vert[1][2 * e + 1] + i] - c->x[3 * c->vert[1][2 * e] + i]);
  return sum;
}
static double through(const cx *c, int64_t f, const double v[3]) {
  double a[3], b[3];
  for (int i = 0; i < 3; i++) {
    a[i] = c->x[3 * c->vert[2][3 * f + 1] + i] - c->x[3 * c->vert[2][3 * f] + i];
    b[i] = c->x[3 * c->vert[2][3 * f + 2] + i] - c->x[3 * c->vert[2][3 * f] + i];
  }
  return (v[0] * (a[1] * b[2] - a[2] * b[1]) + v[1] * (a[2] * b[0] - a[0] * b[2]) +
          v[2] * (a[0] * b[1] - a[1] * b[0])) /
         2;
}

static double energy(const csr *M, const double *u, const double *v, arena *mem) {
  double *image = doubles(mem, M->rows), sum = 0;
  csr_apply(M, 1, u, image);
  for (int64_t i = 0; i < M->rows; i++) sum += v[i] * image[i];
  return sum;
}

/* Constant fields are Whitney forms: the masses integrate their products exactly. */
static void test_masses(void **state) {
  (void)state;
  static const double u[3] = {1, -2, 0.5}, v[3] = {0.3, 1, 2};
  double dot = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
  cx *c;
  assert_ok(problem_maxwell.build(&c, "smoke"));
  arena mem = {0};
  csr M1 = {0}, M2 = {0};
  double *a = doubles(&mem, c->n[1]), *b = doubles(&mem, c->n[1]), *p = doubles(&mem, c->n[2]),
         *q = doubles(&mem, c->n[2]), volume = 0;
  for (int64_t t = 0; t < c->n[3]; t++) volume += c->measure[3][t];
  for (int64_t e = 0; e < c->n[1]; e++) a[e] = along(c, e, u), b[e] = along(c, e, v);
  for (int64_t f = 0; f < c->n[2]; f++) p[f] = through(c, f, u), q[f] = through(c, f, v);
  assert_ok(fem_edge_mass(&M1, c));
  assert_ok(fem_face_mass(&M2, c));
  assert_between(energy(&M1, a, b, &mem) / (volume * dot), 1 - 1e-10, 1 + 1e-10);
  assert_between(energy(&M2, p, q, &mem) / (volume * dot), 1 - 1e-10, 1 + 1e-10);
  csr_free(&M1), csr_free(&M2), cx_free(c), arena_free(&mem);
}

/* E_z = sin πx sin πy cos ωt, ω = π√2: the error of E at T against the amplitude. */
static double mode_error(int n) {
  cx *c = cube(n);
  ready r = ready_on(&problem_maxwell, c);
  double worst = 0, size = 0, T = 1.2;
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *a = c->x + 3 * c->vert[1][2 * e], *b = c->x + 3 * c->vert[1][2 * e + 1];
    for (int q = 0; q <= 4; q++) { /* Boole's rule */
      static const double weight[5] = {7. / 90, 32. / 90, 12. / 90, 32. / 90, 7. / 90};
      double s = q / 4.;
      r.block[0][e] +=
          weight[q] * (b[2] - a[2]) * sin(M_PI * (a[0] + s * (b[0] - a[0]))) * sin(M_PI * (a[1] + s * (b[1] - a[1])));
    }
  }
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  for (int64_t e = 0; e < c->n[1]; e++) {
    double want = r.block[0][e] * cos(M_PI * sqrt(2) * T);
    worst += (r.block[1][e] - want) * (r.block[1][e] - want);
    size += r.block[0][e] * r.block[0][e];
  }
  ready_free(&r);
  return sqrt(worst / size);
}

static void test_mode(void **state) {
  (void)state;
  double coarse = mode_error(3), fine = mode_error(6);
  print_message("maxwell: error %.2e, order %.2f\n", fine, log2(coarse / fine));
  assert_true(fine < 0.1);
  assert_between(log2(coarse / fine), 1.3, 3);
}

/* dB = 0, no tangential E on the conductors, the energy of the start. */
static void test_invariants(void **state) {
  (void)state;
  ready r = ready_make(&problem_maxwell, "smoke");
  const cx *c = r.c;
  csr M1 = {0}, M2 = {0};
  double *d = doubles(&r.mem, c->n[3]);
  assert_ok(fem_edge_mass(&M1, c));
  assert_ok(fem_face_mass(&M2, c));
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    const double *E0 = r.block[0] + k * c->n[1], *E = r.block[1] + k * c->n[1], *B = r.block[2] + k * c->n[2];
    double before = energy(&M1, E0, E0, &r.mem), electric = energy(&M1, E, E, &r.mem),
           magnetic = energy(&M2, B, B, &r.mem);
    assert_between((electric + magnetic) / before, 1 - 1e-10, 1 + 1e-10);
    assert_true(magnetic > 0.01 * before);
    cx_d(c, 2, 1, B, d);
    for (int64_t t = 0; t < c->n[3]; t++) assert_between(d[t], -1e-13, 1e-13);
    for (int64_t e = 0; e < c->n[1]; e++) assert_true(!c->on_boundary[1][e] || E[e] == 0);
  }
  r.block[0][5] = NAN;
  assert_int_equal(problem_solve(r.p, r.s, r.c, r.work, r.block), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "maxwell: E0 on edge 5 is "));
  csr_free(&M1), csr_free(&M2);
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_masses),
      cmocka_unit_test(test_mode),
      cmocka_unit_test(test_invariants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
