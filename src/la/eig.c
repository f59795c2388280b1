/* eig.c: smallest eigenpairs of a sparse symmetric matrix by shift-invert Lanczos (ARPACK on a CHOLMOD factor), or by
 * LAPACK where that is cheaper or Lanczos has no room. */
#include "la/la.h"
#include "la/blas_impl.h"
#include "base/rng.h"

#include <arpack/arpack.h>
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { DENSE_ROWS = 300, DENSE_MAX = 32766, BASIS_EXTRA = 12, RESTARTS = 1000 }; /* DENSE_MAX: LAPACK counts in int */
static const double RITZ = 1e-13;                                                /* relative accuracy asked of ARPACK */
static const double NARROW = 1e-7; /* relative gap in which no count is tried */

/* dsaupd and its callees hold SAVEd variables across the reverse communication. */
static pthread_mutex_t arpack = PTHREAD_MUTEX_INITIALIZER;

/* The operator R (A + shift·I)⁻¹ R, where R projects onto the subspace and takes out the locked vectors. R on the input
 * matters: a kernel of A would come out of the solve multiplied by 1/shift, and with it the solve's errors. */
typedef struct {
  const eig_problem *p;
  chol *factor;
  chol_work *work;
  int64_t n, locked;
  double *lock;  /* n × locked, orthonormal */
  double *share; /* locked: work */
} inverse;

/* Four partial sums: a fixed order that the compiler can keep in flight. */
static double sum_products_by_four(int64_t n, const double *x, const double *y) {
  double sum[4] = {0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int q = 0; q < 4; q++) sum[q] += x[i + q] * y[i + q];
  for (; i < n; i++) sum[0] += x[i] * y[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void axpy(int64_t n, double c, const double *x, double *y) {
  for (int64_t i = 0; i < n; i++) y[i] += c * x[i];
}

/* v ← P v, then v ← v - Q Qᵀ v with Q the locked vectors. */
static dkho_status restrict_vector(const inverse *op, double *v) {
  if (op->p->project) TRY(op->p->project(op->p->ctx, v));
  if (op->locked == 0) return DKHO_OK;
  int n = (int)op->n, m = (int)op->locked, one = 1;
  double zero = 0, plus = 1, minus = -1;
  dgemv_("T", &n, &m, &plus, op->lock, &n, v, &one, &zero, op->share, &one, 1);
  dgemv_("N", &n, &m, &minus, op->lock, &n, op->share, &one, &plus, v, &one, 1);
  return DKHO_OK;
}

static dkho_status inverse_apply(const inverse *op, const double *x, double *y) {
  memcpy(y, x, (size_t)op->n * sizeof *y);
  TRY(restrict_vector(op, y));
  TRY(chol_solve(op->factor, op->work, 1, y, y));
  return restrict_vector(op, y);
}

/* The nev largest eigenpairs of the operator: values descending in theta, vectors n × nev (NULL: values only). */
static dkho_status lanczos(const inverse *op, int nev, double tol, double *theta, double *vectors) {
  int64_t room = op->p->space - op->locked;
  int n = (int)op->n, ncv = nev + nev / 2 + BASIS_EXTRA, ido = 0, info = 1;
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

static double norm1(const csr *a) { /* rows for columns: A is symmetric */
  double most = 0;
  for (int64_t r = 0; r < a->rows; r++) {
    double sum = 0;
    for (int64_t q = a->ptr[r]; q < a->ptr[r + 1]; q++) sum += fabs(a->val[q]);
    most = fmax(most, sum);
  }
  return most;
}

/* λ = vᵀ A v and ‖A v - λ v‖. av: n. */
static double rayleigh(const csr *a, const double *v, double *lambda, double *av) {
  csr_apply(a, 1, v, av);
  *lambda = sum_products_by_four(a->rows, v, av);
  axpy(a->rows, -*lambda, v, av);
  return sqrt(sum_products_by_four(a->rows, av, av));
}

/* Runs Lanczos beside the locked vectors for `want` more and locks those whose true residual is within the bound.
 * Where Lanczos comes close to an invariant subspace, which multiple values bring about, it divides by little: its
 * vectors pick up parts outside the subspace and its own estimates are too good. fresh: n × want, av: n. */
static dkho_status lock_more(inverse *op, int want, double bound, double *theta, double *fresh, double *av) {
  int64_t n = op->n, before = op->locked;
  TRY(lanczos(op, want, RITZ, theta + before, fresh));
  for (int j = 0; j < want; j++) {
    double *v = fresh + j * n, lambda;
    for (int pass = 0; pass < 2; pass++) {
      TRY(restrict_vector(op, v));
      double size = sqrt(sum_products_by_four(n, v, v));
      for (int64_t i = 0; size > 0 && i < n; i++) v[i] /= size;
    }
    if (!(rayleigh(op->p->a, v, &lambda, av) <= bound)) continue;
    memcpy(op->lock + op->locked * n, v, (size_t)n * sizeof *v);
    theta[op->locked++] = 1 / (lambda + op->p->shift);
  }
  if (op->locked == before)
    return fail(DKHO_E_NOCONV, "eigensolver: no residual within %.3g on %lld rows", bound, (long long)n);
  return DKHO_OK;
}

/* Proves that no eigenvalue below the last of the nev held was overlooked: between the last and the one before lie as many
 * as are held and the kernel. *proved stays 0 where the gap is too narrow to tell or something is missing. */
static dkho_status count_held(const inverse *op, int nev, const double *theta, int *proved) {
  const eig_problem *p = op->p;
  double last = INFINITY, before = INFINITY;
  for (int j = 0; j < nev; j++) {
    before = fmin(before, fmax(last, theta[j]));
    last = fmin(last, theta[j]);
  }
  double low = 1 / before - p->shift, high = 1 / last - p->shift;
  int64_t below;
  *proved = 0;
  if ((p->project && !p->kernel) || !(high - low > NARROW * high)) return DKHO_OK;
  TRY(chol_count_below(op->factor, p->a, (low + high) / 2, (high - low) / 4, &below));
  *proved = below == nev - 1 + p->a->rows - p->space;
  return DKHO_OK;
}

/* Locks nev pairs, then looks at the leading pair of what is left: a copy of a multiple value that Lanczos overlooked
 * shows as θ' above the smallest θ held, which then gives way. */
static dkho_status lock_all(inverse *op, int nev, double bound, double *theta, double *fresh, double *av) {
  for (int round = 0; round < 4 * nev + 4; round++) {
    if (op->locked < nev) {
      TRY(lock_more(op, nev - (int)op->locked, bound, theta, fresh, av));
      continue;
    }
    if (op->p->space <= nev + 1) return DKHO_OK;
    int worst = 0, proved;
    double next;
    TRY(count_held(op, nev, theta, &proved));
    if (proved) return DKHO_OK;
    for (int j = 1; j < nev; j++)
      if (theta[j] < theta[worst]) worst = j;
    TRY(lanczos(op, 1, 1e-6, &next, NULL));
    if (next <= theta[worst] * (1 + 1e-8)) return DKHO_OK;
    op->locked--;
    theta[worst] = theta[nev - 1];
    memmove(op->lock + worst * op->n, op->lock + op->locked * op->n, (size_t)op->n * sizeof *op->lock);
  }
  return fail(DKHO_E_NOCONV, "eigensolver: multiple values of %lld rows did not separate", (long long)op->n);
}

/* One pair more than asked for is found: the gap before it is where eigenvalues can be counted. */
static dkho_status solve_sparse(const eig_problem *p, int count, double bound, double *vectors) {
  inverse op = {.p = p, .n = p->a->rows};
  int nev = count + 1;
  csr eye = {0}, shifted = {0};
  double *theta = NULL, *fresh = NULL, *av = NULL;
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
  if (!MEM_NEW(op.lock, op.n * nev) || !MEM_NEW(theta, nev) || !MEM_NEW(fresh, op.n * nev) || !MEM_NEW(av, op.n) ||
      !MEM_NEW(op.share, nev)) {
    s = DKHO_E_MEMORY;
    goto done;
  }
  pthread_mutex_lock(&arpack);
  s = lock_all(&op, nev, bound, theta, fresh, av);
  pthread_mutex_unlock(&arpack);
  if (s != DKHO_OK) goto done;
  int last = 0;
  for (int j = 1; j < nev; j++)
    if (theta[j] < theta[last]) last = j;
  for (int j = 0; j < nev; j++)
    if (j != last) memcpy(vectors + (j - (j > last)) * op.n, op.lock + j * op.n, (size_t)op.n * sizeof *vectors);
done:
  mem_free(op.lock);
  mem_free(theta);
  mem_free(fresh);
  mem_free(av);
  mem_free(op.share);
  csr_free(&eye);
  csr_free(&shifted);
  chol_work_free(op.work);
  chol_free(op.factor);
  return s;
}

/* A + τ(I - P) with τ above A's spectrum has the subspace's pairs first. */
static dkho_status solve_dense(const eig_problem *p, int64_t count, double *vectors) {
  int64_t n = p->a->rows;
  double tau = 2 * norm1(p->a) + 1, *full, *lambda = NULL, *column = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (n > DENSE_MAX)
    return fail(DKHO_E_INPUT,
                "eigensolver: %lld pairs of a matrix with %lld rows need it dense; at most %d rows are possible",
                (long long)count, (long long)n, DENSE_MAX);
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

static dkho_status certify_pairs(const csr *a, int64_t count, double limit, double *lambda, const double *vectors) {
  double *av, worst = 0;
  if (!MEM_NEW(av, a->rows)) return DKHO_E_MEMORY;
  for (int64_t j = 0; j < count; j++) {
    double size = rayleigh(a, vectors + j * a->rows, &lambda[j], av);
    if (!(size <= worst)) worst = size; /* a NaN stays */
  }
  mem_free(av);
  if (worst <= limit) return DKHO_OK;
  return fail(DKHO_E_NOCONV, "eigensolver: residual %.3g exceeds %.3g", worst, limit);
}

dkho_status eig_smallest(const eig_problem *p, int64_t count, double tol, double *lambda, double *vectors) {
  int64_t n = p->a->rows;
  assert(p->a->cols == n && count >= 0 && count <= p->space && p->space <= n && n <= INT_MAX && p->shift > 0);
  if (count == 0) return DKHO_OK;
  double limit = tol * norm1(p->a);
  if (n <= DENSE_ROWS || p->space < 4 * count + 2 * BASIS_EXTRA)
    TRY(solve_dense(p, count, vectors));
  else
    TRY(solve_sparse(p, (int)count, limit / 4, vectors));
  TRY(certify_pairs(p->a, count, limit, lambda, vectors)); /* for the order of the values */
  sort_pairs(n, count, lambda, vectors);
  TRY(dense_qr(n, count, vectors));
  TRY(certify_pairs(p->a, count, limit, lambda, vectors));
  sort_pairs(n, count, lambda, vectors); /* equal values may have changed places by rounding */
  return DKHO_OK;
}
