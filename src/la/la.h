/* la.h: sparse matrices and the solvers behind them: CHOLMOD, SuperLU, ARPACK, LAPACK. Double throughout. */
#ifndef LA_LA_H
#define LA_LA_H

#include "base/mem.h"
#include "base/pool.h"

/* Compressed rows; columns ascending within a row, no duplicates. */
typedef struct csr {
  int64_t rows, cols, nnz;
  int64_t *ptr; /* rows + 1 */
  int32_t *col; /* nnz */
  double *val;  /* nnz */
} csr;

dkho_status csr_alloc(csr *a, int64_t rows, int64_t cols, int64_t nnz); /* zeroed arrays to fill */
void csr_free(csr *a);
/* From triplets in any order; duplicates add up in the order given. */
dkho_status csr_from_triplets(csr *a, int64_t rows, int64_t cols, int64_t count, const int32_t *i, const int32_t *j,
                              const double *v);
dkho_status csr_transpose(csr *at, const csr *a);
dkho_status csr_multiply(csr *c, const csr *a, const csr *b);                       /* C = A B */
dkho_status csr_add(csr *c, double alpha, const csr *a, double beta, const csr *b); /* C = αA + βB */
/* Y = A X, X: cols × nv, Y: rows × nv, row-major. Serial. */
void csr_apply(const csr *a, int nv, const double *x, double *y);
dkho_status csr_select(csr *s, const csr *a, int64_t nr, const int32_t *rows, int64_t nc,
                       const int32_t *cols); /* A[rows, cols] */

/* Sparse Cholesky of a symmetric positive definite matrix (both halves stored): factor once, solve often. Solving is
 * thread-safe: each thread brings its own workspace. */
typedef struct chol chol;
typedef struct chol_work chol_work;
dkho_status chol_factor(chol **out, const csr *a); /* DKHO_E_NOCONV when not positive definite, with the pivot */
void chol_free(chol *f);
int64_t chol_nnz(const chol *f);
dkho_status chol_work_new(chol_work **out, const chol *f, int64_t max_rhs);
void chol_work_free(chol_work *w);
/* A X = B for nv right-hand sides, column-major (n × nv); x and b may be the same array. */
dkho_status chol_solve(const chol *f, chol_work *w, int64_t nv, const double *b, double *x);

/* For many matrices of one pattern: chol_analyse looks at the pattern alone, chol_copy opens a factor of one's own on that analysis (one
 * per thread), chol_refactor fills it with numbers. What a factor held before leaves no trace in the bits. */
dkho_status chol_analyse(chol **out, const csr *a);
dkho_status chol_copy(chol **out, const chol *analysed);
dkho_status chol_refactor(chol *f, const csr *a);
/* A fill-reducing elimination order of a symmetric pattern: order[i] is the row eliminated as the i-th. */
dkho_status chol_order(const csr *pattern, int32_t *order);

/* Sparse LU with threshold pivoting for many unsymmetric matrices of one structurally symmetric pattern (SuperLU). The plan, which
 * threads share, orders groups of unknowns; unknowns of a group stay together, ascending. group[i] in 0 … groups-1 names the group of
 * unknown i, empty groups do no harm; NULL: each unknown for itself. */
typedef struct lu_plan lu_plan;
dkho_status lu_plan_make(lu_plan **out, const csr *pattern, int64_t groups, const int32_t *group);
void lu_plan_free(lu_plan *p);
/* One thread's factor. Pivots follow from the matrix at hand alone. DKHO_E_NOCONV: singular, or an entry that is not finite. */
typedef struct lu lu;
dkho_status lu_open(lu **out, const lu_plan *p); /* p borrowed */
void lu_close(lu *f);
dkho_status lu_factor(lu *f, const csr *a);
void lu_solve(lu *f, double *x); /* A x = b in place, after lu_factor has succeeded */
int64_t lu_nnz(const lu *f);     /* entries of L and U */

/* How many eigenvalues of A, which has the pattern of the factored matrix, lie below sigma: the negative pivots of A - σI
 * (Sylvester). -1 when rounding errors could have moved one by `safety`, or counting would cost too much. */
dkho_status chol_count_below(const chol *f, const csr *a, double sigma, double safety, int64_t *below);

/* Solving for eight right-hand sides side by side, as data sets are made: the factor by rows and by columns, and loops whose
 * sums stay in registers. The bits do not depend on the processor. */
enum { CHOL_WIDE = 8 };
typedef struct chol_wide chol_wide;
dkho_status chol_wide_factor(chol_wide **out, const csr *a);
void chol_wide_free(chol_wide *f);
/* A X = B in place; x: n × CHOL_WIDE row-major, room: as many doubles. Thread-safe, cannot fail. */
void chol_wide_solve(const chol_wide *f, double *x, double *room);

/* Eigenpairs A v = λ v of a symmetric positive semidefinite matrix inside a subspace that A leaves invariant. */
typedef struct eig_problem {
  const csr *a;
  /* The orthogonal projector onto the subspace, in place, commuting with A; NULL: the whole space. */
  dkho_status (*project)(void *ctx, double *v);
  void *ctx;
  int64_t space; /* dimension of the subspace; n when project is NULL */
  int kernel;    /* 1: A vanishes outside the subspace */
  double shift;  /* > 0 and well below the λ sought: A + shift·I is what gets factored */
} eig_problem;
/* The `count` ≤ space smallest pairs, ascending; vectors orthonormal, column-major n × count. Large problems: ARPACK on
 * (A + shift·I)⁻¹ from a fixed start vector; then the eigenvalues below the last are counted (chol_count_below), or Lanczos
 * runs again with the pairs found taken out, to catch copies of a multiple value that it overlooked or spoiled. Small ones: LAPACK. Residuals ‖Av - λv‖ ≤ tol·‖A‖₁ are checked, else
 * DKHO_E_NOCONV. ARPACK keeps state between calls, so concurrent calls take turns. */
dkho_status eig_smallest(const eig_problem *p, int64_t count, double tol, double *lambda, double *vectors);

/* Dense, column-major, by LAPACK. */
dkho_status dense_qr(int64_t n, int64_t k, double *a);       /* A ← Q of its thin QR, R's diagonal positive */
dkho_status dense_eig(int64_t n, double *a, double *lambda); /* symmetric: A ← eigenvectors, λ ascending */
dkho_status dense_solve_spd(int64_t n, int64_t nv, double *a, double *b); /* A X = B by Cholesky, B ← X, A destroyed */
const char *dense_library(void); /* OpenBLAS in its own words, version and kernels; "unknown": another BLAS */
/* Room for dense_gemm in as many threads at once (blas_threads.h): call it before, where a status can be returned. */
dkho_status dense_ready(int threads);
void dense_gemm(int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

#endif
