/* eig.c: smallest eigenpairs of a sparse symmetric matrix by shift-invert Lanczos (ARPACK on a CHOLMOD factor), or by
 * LAPACK where that is cheaper or Lanczos has no room. */
#include "la/la.h"
#include "base/rng.h"

#include <arpack/arpack.h>
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { DENSE_ROWS = 300, BASIS_MIN = 24, RESTARTS = 1000 };

/* dsaupd and its callees hold SAVEd variables across the reverse communication. */
static pthread_mutex_t arpack = PTHREAD_MUTEX_INITIALIZER;

/* The operator y = Q P (A + shift·I)⁻¹ x, with Q taking out the locked vectors. */
typedef struct {
  const eig_problem *p;
  chol *factor;
  chol_work *work;
  int64_t n, locked;
  const double *lock; /* n × locked, orthonormal */
} inverse;

static double dot(int64_t n, const double *x, const double *y) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static void axpy(int64_t n, double c, const double *x, double *y) {
  for (int64_t i = 0; i < n; i++) y[i] += c * x[i];
}

static dkho_status restrict_vector(const inverse *op, double *v) {
  if (op->p->project) TRY(op->p->project(op->p->ctx, v));
  for (int64_t j = 0; j < op->locked; j++) axpy(op->n, -dot(op->n, op->lock + j * op->n, v), op->lock + j * op->n, v);
  return DKHO_OK;
}

static dkho_status inverse_apply(const inverse *op, const double *x, double *y) {
  TRY(chol_solve(op->factor, op->work, 1, x, y));
  return restrict_vector(op, y);
}

/* The nev largest eigenpairs of the operator: values descending in theta, vectors n × nev (NULL: values only). */
static dkho_status lanczos(const inverse *op, int nev, double tol, double *theta, double *vectors) {
  int64_t room = op->p->space - op->locked;
  int n = (int)op->n, ncv = 2 * nev + 1 > BASIS_MIN ? 2 * nev + 1 : BASIS_MIN, ido = 0, info = 1;
  if (ncv > room) ncv = (int)room;
  assert(nev < ncv);
  int lworkl = ncv * (ncv + 8), iparam[11] = {1, 0, RESTARTS, 1, 0, 0, 1}, ipntr[11] = {0}, *select = NULL;
  double *v = NULL, *workd = NULL, *workl = NULL, *resid = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(v, (int64_t)n * ncv) || !MEM_NEW(workd, 3 * (int64_t)n) || !MEM_NEW(workl, lworkl) ||
      !MEM_NEW(resid, n) || !MEM_NEW(select, ncv))
    goto done;
  rng start = rng_open(0, RNG_SOLVER, (uint64_t)op->locked);
  for (int i = 0; i < n; i++) resid[i] = rng_normal(&start);
  TRY_GOTO(restrict_vector(op, resid));
  for (;;) {
    dsaupd_c(&ido, "I", n, "LA", nev, tol, resid, ncv, v, n, iparam, ipntr, workd, workl, lworkl, &info);
    if (ido != 1 && ido != -1) break;
    TRY_GOTO(inverse_apply(op, workd + ipntr[0] - 1, workd + ipntr[1] - 1));
  }
  int found = iparam[4];
  if (info == 0) {
    dseupd_c(vectors != NULL, "A", select, theta, vectors, n, 0.0, "I", n, "LA", nev, tol, resid, ncv, v, n, iparam,
             ipntr, workd, workl, lworkl, &info);
  }
  if (info != 0 || found < nev)
    s = fail(DKHO_E_NOCONV, "eigensolver: %d of %d pairs converged on %d rows (ARPACK info %d)", found, nev, n, info);
done:
  mem_free(v);
  mem_free(workd);
  mem_free(workl);
  mem_free(resid);
  mem_free(select);
  return s;
}

/* Pairs that Lanczos missed show up as the leading pair of the deflated operator: θ' above the smallest θ held. Each
 * one found replaces the worst held. */
static dkho_status recover_missed(inverse *op, int nev, double *theta, double *vectors) {
  op->lock = vectors;
  op->locked = nev;
  for (int round = 0; round < nev && op->p->space > nev + 1; round++) {
    int worst = 0;
    for (int j = 1; j < nev; j++)
      if (theta[j] < theta[worst]) worst = j;
    double *place = vectors + worst * op->n, next, *fresh;
    TRY(lanczos(op, 1, 1e-6, &next, NULL));
    if (next <= theta[worst] * (1 + 1e-8)) break;
    if (!MEM_NEW(fresh, op->n)) return DKHO_E_MEMORY;
    dkho_status s = lanczos(op, 1, 0, &next, fresh);
    if (s == DKHO_OK) {
      memcpy(place, fresh, (size_t)op->n * sizeof *place);
      theta[worst] = next;
    }
    mem_free(fresh);
    TRY(s);
  }
  return DKHO_OK;
}

static dkho_status solve_sparse(const eig_problem *p, int nev, double *theta, double *vectors) {
  inverse op = {.p = p, .n = p->a->rows};
  csr eye = {0}, shifted = {0};
  dkho_status s;
  TRY_GOTO(csr_alloc(&eye, op.n, op.n, op.n));
  for (int64_t i = 0; i < op.n; i++) {
    eye.ptr[i + 1] = i + 1;
    eye.col[i] = (int32_t)i;
    eye.val[i] = 1;
  }
  TRY_GOTO(csr_add(&shifted, 1, p->a, p->shift, &eye));
  TRY_GOTO(chol_factor(&op.factor, &shifted));
  csr_free(&shifted);
  TRY_GOTO(chol_work_new(&op.work, op.factor, 1));
  pthread_mutex_lock(&arpack);
  s = lanczos(&op, nev, 0, theta, vectors);
  if (s == DKHO_OK) s = recover_missed(&op, nev, theta, vectors);
  pthread_mutex_unlock(&arpack);
done:
  csr_free(&eye);
  csr_free(&shifted);
  chol_work_free(op.work);
  chol_free(op.factor);
  return s;
}

static double norm1(const csr *a) { /* rows for columns: A is symmetric */
  double most = 0;
  for (int64_t r = 0; r < a->rows; r++) {
    double sum = 0;
    for (int64_t q = a->ptr[r]; q < a->ptr[r + 1]; q++) sum += fabs(a->val[q]);
    most = fmax(most, sum);
  }
  return most;
}

/* A + τ(I - P) with τ above A's spectrum has the subspace's pairs first. */
static dkho_status solve_dense(const eig_problem *p, int64_t count, double *vectors) {
  int64_t n = p->a->rows;
  double tau = 2 * norm1(p->a) + 1, *full, *lambda = NULL, *column = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(full, n * n) || !MEM_NEW(lambda, n) || !MEM_NEW(column, n)) goto done;
  for (int64_t r = 0; r < n; r++)
    for (int64_t q = p->a->ptr[r]; q < p->a->ptr[r + 1]; q++) full[p->a->col[q] * n + r] = p->a->val[q];
  for (int64_t j = 0; p->project && j < n; j++) {
    memset(column, 0, (size_t)n * sizeof *column);
    column[j] = 1;
    TRY_GOTO(p->project(p->ctx, column));
    for (int64_t i = 0; i < n; i++) full[j * n + i] += tau * ((i == j) - column[i]);
  }
  TRY_GOTO(dense_eig(n, full, lambda));
  memcpy(vectors, full, (size_t)(n * count) * sizeof *vectors);
done:
  mem_free(full);
  mem_free(lambda);
  mem_free(column);
  return s;
}

/* Swaps columns into ascending λ; count is small. */
static void sort_pairs(int64_t n, int64_t count, double *lambda, double *vectors) {
  for (int64_t i = 1; i < count; i++)
    for (int64_t j = i; j > 0 && lambda[j] < lambda[j - 1]; j--) {
      double t = lambda[j], *a = vectors + j * n, *b = a - n;
      lambda[j] = lambda[j - 1];
      lambda[j - 1] = t;
      for (int64_t r = 0; r < n; r++) {
        t = a[r];
        a[r] = b[r];
        b[r] = t;
      }
    }
}

/* λ_j = v_jᵀ A v_j and the residual check. */
static dkho_status certify(const csr *a, int64_t count, double tol, double *lambda, const double *vectors) {
  double *av, limit = tol * norm1(a), worst = 0;
  if (!MEM_NEW(av, a->rows)) return DKHO_E_MEMORY;
  for (int64_t j = 0; j < count; j++) {
    const double *v = vectors + j * a->rows;
    csr_apply(a, 1, v, av);
    lambda[j] = dot(a->rows, v, av);
    axpy(a->rows, -lambda[j], v, av);
    worst = fmax(worst, sqrt(dot(a->rows, av, av)));
  }
  mem_free(av);
  if (worst <= limit) return DKHO_OK; /* also refuses NaN */
  return fail(DKHO_E_NOCONV, "eigensolver: residual %.3g exceeds %.3g", worst, limit);
}

dkho_status eig_smallest(const eig_problem *p, int64_t count, double tol, double *lambda, double *vectors) {
  int64_t n = p->a->rows;
  assert(p->a->cols == n && count >= 0 && count <= p->space && p->space <= n && n <= INT_MAX && p->shift > 0);
  if (count == 0) return DKHO_OK;
  if (n <= DENSE_ROWS || p->space < 4 * count + 2 * BASIS_MIN) {
    TRY(solve_dense(p, count, vectors));
  } else {
    double *theta;
    if (!MEM_NEW(theta, count)) return DKHO_E_MEMORY;
    dkho_status s = solve_sparse(p, (int)count, theta, vectors);
    mem_free(theta);
    TRY(s);
  }
  TRY(certify(p->a, count, tol, lambda, vectors)); /* for the order of the values */
  sort_pairs(n, count, lambda, vectors);
  TRY(dense_qr(n, count, vectors));
  return certify(p->a, count, tol, lambda, vectors);
}
