/* test_newton.c: solvers of nonlinear problems: sparse LU and Cholesky for many matrices of one pattern, Newton's method. */
#include "problems.h"

#include "la/newton.h"

enum { M = 20, N = M * M };

/* Five-point grid of upwind transport and diffusion with random coefficients: unsymmetric values on a symmetric pattern. */
static void transport(csr *a, uint64_t seed, double wind) {
  rng r = rng_open(seed, RNG_TEST, 1);
  assert_ok(csr_alloc(a, N, N, 5 * N));
  int64_t put = 0;
  for (int i = 0; i < N; i++) {
    int near[5] = {i - M, i - 1, i, i + 1, i + M}, there[5] = {i >= M, i % M > 0, 1, i % M < M - 1, i < N - M};
    for (int q = 0; q < 5; q++) {
      double value = q == 2 ? 4 + 2 * wind : -1 - (q < 2 ? wind * rng_uniform(&r) : 0);
      if (!there[q]) continue;
      a->col[put] = near[q];
      a->val[put++] = value;
    }
    a->ptr[i + 1] = put;
  }
  a->nnz = put;
}

static void residual_of(const csr *a, const double *x, const double *b, double *worst) {
  static double y[N];
  csr_apply(a, 1, x, y);
  *worst = 0;
  for (int i = 0; i < N; i++) *worst = fmax(*worst, fabs(y[i] - b[i]));
}

static void lu_solves(void **state) {
  (void)state;
  csr a;
  transport(&a, 1, 3);
  static double b[N], x[N];
  static int32_t pairs[N];
  rng r = rng_open(2, RNG_TEST, 2);
  for (int i = 0; i < N; i++) b[i] = rng_normal(&r), pairs[i] = 7 + i / 2;
  for (int grouped = 0; grouped < 2; grouped++) {
    lu_plan *p;
    lu *f;
    double worst;
    assert_ok(lu_plan_make(&p, &a, N, grouped ? pairs : NULL));
    assert_ok(lu_open(&f, p));
    assert_ok(lu_factor(f, &a));
    assert_true(lu_nnz(f) >= a.nnz);
    memcpy(x, b, sizeof x);
    lu_solve(f, x);
    residual_of(&a, x, b, &worst);
    assert_true(worst < 1e-13);
    lu_close(f);
    lu_plan_free(p);
  }
  csr_free(&a);
}

/* Unknowns that only their neighbours determine, as a pressure does: a zero diagonal needs pivots off it, whatever the order. */
static void lu_pivots(void **state) {
  (void)state;
  csr a;
  transport(&a, 1, 0);
  for (int i = 0; i < N; i += 2)
    for (int64_t p = a.ptr[i]; p < a.ptr[i + 1]; p++)
      if (a.col[p] == i) a.val[p] = 0;
  lu_plan *p;
  lu *f;
  static double b[N], x[N];
  double worst;
  for (int i = 0; i < N; i++) x[i] = b[i] = cos(i);
  assert_ok(lu_plan_make(&p, &a, 0, NULL));
  assert_ok(lu_open(&f, p));
  assert_ok(lu_factor(f, &a));
  lu_solve(f, x);
  residual_of(&a, x, b, &worst);
  assert_true(worst < 1e-10);
  lu_close(f);
  lu_plan_free(p);
  csr_free(&a);
}

/* Whatever a factor held before, a matrix gives the same bits. */
static void factors_forget(void **state) {
  (void)state;
  csr one, two, sym[2];
  static double x[3][N];
  transport(&one, 1, 3);
  transport(&two, 9, 0.5);
  lu_plan *p;
  lu *f;
  assert_ok(lu_plan_make(&p, &one, 0, NULL));
  for (int turn = 0; turn < 2; turn++) {
    assert_ok(lu_open(&f, p));
    if (turn) assert_ok(lu_factor(f, &two));
    assert_ok(lu_factor(f, &one));
    for (int i = 0; i < N; i++) x[turn][i] = sin(i);
    lu_solve(f, x[turn]);
    lu_close(f);
  }
  assert_memory_equal(x[0], x[1], sizeof *x);
  lu_plan_free(p);
  for (int i = 0; i < 2; i++) {
    transport(&sym[i], 1, 0);
    for (int64_t q = 0; q < sym[i].nnz; q++) sym[i].val[q] *= i + 1.5;
  }
  chol *analysed, *c, *plain;
  chol_work *w;
  assert_ok(chol_analyse(&analysed, &sym[1]));
  for (int turn = 0; turn < 2; turn++) {
    assert_ok(chol_copy(&c, analysed));
    if (turn) assert_ok(chol_refactor(c, &sym[1]));
    assert_ok(chol_refactor(c, &sym[0]));
    assert_ok(chol_work_new(&w, c, 1));
    for (int i = 0; i < N; i++) x[2][i] = sin(i);
    assert_ok(chol_solve(c, w, 1, x[2], x[turn]));
    chol_work_free(w);
    chol_free(c);
  }
  assert_memory_equal(x[0], x[1], sizeof *x);
  assert_ok(chol_factor(&plain, &sym[0]));
  assert_ok(chol_work_new(&w, plain, 1));
  assert_ok(chol_solve(plain, w, 1, x[2], x[2]));
  for (int i = 0; i < N; i++) assert_true(fabs(x[2][i] - x[0][i]) < 1e-13);
  chol_work_free(w);
  chol_free(plain);
  chol_free(analysed);
  csr_free(&one), csr_free(&two), csr_free(&sym[0]), csr_free(&sym[1]);
}

static void bad_matrices_are_refused(void **state) {
  (void)state;
  csr a;
  transport(&a, 1, 0);
  lu_plan *p;
  lu *f;
  chol *analysed, *c;
  assert_ok(lu_plan_make(&p, &a, 0, NULL));
  assert_ok(lu_open(&f, p));
  assert_ok(chol_analyse(&analysed, &a));
  assert_ok(chol_copy(&c, analysed));
  double kept = a.val[a.ptr[7]];
  a.val[a.ptr[7]] = NAN;
  assert_int_equal(lu_factor(f, &a), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "not a finite number"));
  a.val[a.ptr[7]] = kept;
  for (int64_t q = a.ptr[N / 2]; q < a.ptr[N / 2 + 1]; q++) a.val[q] = 0;
  assert_int_equal(lu_factor(f, &a), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "singular"));
  assert_int_equal(chol_refactor(c, &a), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "not positive definite"));
  csr_free(&a);
  transport(&a, 1, 0); /* and both are fit for use again */
  assert_ok(lu_factor(f, &a));
  assert_ok(chol_refactor(c, &a));
  chol_free(c), chol_free(analysed);
  lu_close(f), lu_plan_free(p);
  csr_free(&a);
}

/* E = ½ xᵀAx + Σ e^x - b·x: convex, Hessian A + diag(e^x). */
typedef struct growth {
  csr a, hessian;
  chol *f;
  chol_work *w;
  const double *b;
} growth;

static void growth_residual(void *ctx, const double *x, double *energy, double *f) {
  growth *g = ctx;
  csr_apply(&g->a, 1, x, f);
  *energy = 0;
  for (int i = 0; i < N; i++) {
    *energy += 0.5 * x[i] * f[i] + exp(x[i]) - g->b[i] * x[i];
    f[i] += exp(x[i]) - g->b[i];
  }
}

static dkho_status growth_step(void *ctx, const double *x, const double *f, double *step) {
  growth *g = ctx;
  for (int i = 0; i < N; i++)
    for (int64_t p = g->a.ptr[i]; p < g->a.ptr[i + 1]; p++)
      g->hessian.val[p] = g->a.val[p] + (g->a.col[p] == i ? exp(x[i]) : 0);
  TRY(chol_refactor(g->f, &g->hessian));
  return chol_solve(g->f, g->w, 1, f, step);
}

static void newton_is_quadratic(void **state) {
  (void)state;
  growth g = {0};
  static double b[N], x[N], room[4 * N];
  newton_report r;
  chol *analysed;
  transport(&g.a, 1, 0);
  transport(&g.hessian, 1, 0);
  assert_ok(chol_analyse(&analysed, &g.a));
  assert_ok(chol_copy(&g.f, analysed));
  assert_ok(chol_work_new(&g.w, g.f, 1));
  for (int i = 0; i < N; i++) b[i] = 30 * (1 + sin(i)), x[i] = 0;
  g.b = b;
  newton_problem p = {N, 1e-10, 1, &g, growth_residual, growth_step, 0};
  assert_int_equal(newton_room(N), sizeof room / sizeof *room);
  assert_ok(newton_solve(&p, x, room, &r));
  assert_in_range(r.steps, 4, 15);
  double ratio = 0;
  for (int k = 0; k < r.steps; k++)
    if (r.history[k] < 1 && r.history[k + 1] > 1e-12) ratio = fmax(ratio, r.history[k + 1] / pow(r.history[k], 2));
  print_message("newton: %d steps to %.1e, r'/r² at most %.2g\n", r.steps, r.residual, ratio);
  assert_true(ratio > 0 && ratio < 1);
  chol_work_free(g.w);
  chol_free(g.f), chol_free(analysed);
  csr_free(&g.a), csr_free(&g.hessian);
}

/* Functions of one number that full steps would not solve. */
typedef enum { HANG, TURN, PARABOLA, HOLE } curve;

static void curve_residual(void *ctx, const double *x, double *energy, double *f) {
  switch (*(curve *)ctx) {
  case HANG: /* E = √(1 + x²): full steps go from x to -x³ */
    *energy = sqrt(1 + *x * *x);
    *f = *x / sqrt(1 + *x * *x);
    break;
  case TURN:
    *f = atan(*x);
    break;
  case PARABOLA:
    *f = 1 + *x * *x;
    break;
  default:
    *f = *x > 0 ? log(*x) : NAN;
  }
}

static dkho_status curve_step(void *ctx, const double *x, const double *f, double *step) {
  double s = 1 + *x * *x;
  switch (*(curve *)ctx) {
  case HANG:
    *step = *f * s * sqrt(s);
    break;
  case TURN:
    *step = *f * s;
    break;
  case PARABOLA:
    *step = *f / (2 * *x);
    break;
  default:
    *step = *f * *x;
  }
  return DKHO_OK;
}

static void line_search_saves(void **state) {
  (void)state;
  static const struct {
    curve c;
    double from, to;
  } good[] = {{HANG, 3, 0}, {HANG, -200, 0}, {TURN, 4, 0}, {TURN, -50, 0}, {HOLE, 40, 1}};
  newton_report r;
  double room[4];
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    curve c = good[i].c;
    double x = good[i].from;
    newton_problem p = {1, 1e-12, c == HANG, &c, curve_residual, curve_step, 0};
    assert_ok(newton_solve(&p, &x, room, &r));
    assert_true(fabs(x - good[i].to) < 1e-11 && r.residual <= 1e-12);
  }
}

static void failures_are_named(void **state) {
  (void)state;
  newton_report r;
  double room[4], x = 3;
  curve c = PARABOLA;
  newton_problem p = {1, 1e-12, 0, &c, curve_residual, curve_step, 0};
  assert_int_equal(newton_solve(&p, &x, room, &r), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "Newton: "));
  assert_non_null(strstr(fail_text(), "expected at most 1e-12"));
  assert_true(r.residual >= 1);
  c = HOLE;
  x = -1;
  assert_int_equal(newton_solve(&p, &x, room, &r), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "not finite at the start"));
}

static dkho_status everything(const csr *a) {
  lu_plan *p = NULL;
  lu *f = NULL;
  chol *analysed = NULL, *c = NULL;
  dkho_status s;
  TRY_GOTO(lu_plan_make(&p, a, 0, NULL));
  TRY_GOTO(lu_open(&f, p));
  TRY_GOTO(lu_factor(f, a));
  TRY_GOTO(chol_analyse(&analysed, a));
  TRY_GOTO(chol_copy(&c, analysed));
  TRY_GOTO(chol_refactor(c, a));
done:
  chol_free(c), chol_free(analysed);
  lu_close(f), lu_plan_free(p);
  return s;
}

static void failing_allocations_leave_nothing(void **state) {
  (void)state;
  csr a;
  transport(&a, 1, 0);
  size_t live = mem_live_blocks();
  int n = 0;
  dkho_status s;
  do {
    mem_fail_at(++n);
    s = everything(&a);
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), live);
    assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
  } while (s != DKHO_OK);
  assert_true(n > 10);
  csr_free(&a);
}

/* E = ⅔|x|^{3/2}: the full step goes from x to -x, where the energy is the same. Whoever takes it goes back and forth for ever; half of it
 * is the minimum. */
static void cycle_residual(void *ctx, const double *x, double *energy, double *f) {
  (void)ctx;
  *energy = 2. / 3 * pow(fabs(*x), 1.5);
  *f = copysign(sqrt(fabs(*x)), *x);
}

static dkho_status cycle_step(void *ctx, const double *x, const double *f, double *step) {
  (void)ctx;
  *step = *f * 2 * sqrt(fabs(*x));
  return DKHO_OK;
}

static void newton_descends(void **state) {
  (void)state;
  newton_problem p = {.n = 1, .tolerance = 1e-12, .convex = 1, .residual = cycle_residual, .step = cycle_step};
  for (double start = -4; start < 5; start += 8) {
    double x = start, room[4];
    newton_report r;
    assert_ok(newton_solve(&p, &x, room, &r));
    assert_true(x == 0 && r.steps == 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lu_solves),
      cmocka_unit_test(newton_descends),
      cmocka_unit_test(lu_pivots),
      cmocka_unit_test(factors_forget),
      cmocka_unit_test(bad_matrices_are_refused),
      cmocka_unit_test(newton_is_quadratic),
      cmocka_unit_test(line_search_saves),
      cmocka_unit_test(failures_are_named),
      cmocka_unit_test(failing_allocations_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
