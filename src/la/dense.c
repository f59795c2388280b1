/* dense.c: small dense algebra on column-major arrays by LAPACK. */
#include "la/la.h"
#include "la/blas_impl.h"

#include <assert.h>
#include <limits.h>

static int narrow(int64_t n) {
  assert(n >= 0 && n <= INT_MAX);
  return (int)n;
}

dkho_status dense_qr(int64_t n, int64_t k, double *a) {
  assert(n >= k);
  if (k == 0) return DKHO_OK;
  TRY(blas_ready());
  int m = narrow(n), c = narrow(k), lwork = narrow(64 * k), info = 0;
  double *tau, *r = NULL, *work = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(tau, k) || !MEM_NEW(r, k) || !MEM_NEW(work, lwork)) goto done;
  dgeqrf_(&m, &c, a, &m, tau, work, &lwork, &info);
  assert(info == 0);
  for (int64_t j = 0; j < k; j++) r[j] = a[j * n + j];
  dorgqr_(&m, &c, &c, a, &m, tau, work, &lwork, &info);
  assert(info == 0);
  for (int64_t j = 0; j < k; j++)
    if (r[j] < 0)
      for (int64_t i = 0; i < n; i++) a[j * n + i] = -a[j * n + i];
  s = DKHO_OK;
done:
  mem_free(tau);
  mem_free(r);
  mem_free(work);
  return s;
}

dkho_status dense_eig(int64_t n, double *a, double *lambda) {
  if (n == 0) return DKHO_OK;
  TRY(blas_ready());
  int m = narrow(n), lwork = narrow(1 + 6 * n + 2 * n * n), liwork = narrow(3 + 5 * n), info = 0;
  double *work;
  int *iwork = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(work, lwork) || !MEM_NEW(iwork, liwork)) goto done;
  dsyevd_("V", "L", &m, a, &m, lambda, work, &lwork, iwork, &liwork, &info, 1, 1);
  assert(info >= 0);
  s = info ? fail(DKHO_E_NOCONV, "dense eigensolver: %d of %d values did not converge", info, m) : DKHO_OK;
done:
  mem_free(work);
  mem_free(iwork);
  return s;
}

dkho_status dense_solve_spd(int64_t n, int64_t nv, double *a, double *b) {
  if (n == 0 || nv == 0) return DKHO_OK;
  TRY(blas_ready());
  int m = narrow(n), c = narrow(nv), info = 0;
  dposv_("L", &m, &c, a, &m, b, &m, &info, 1);
  assert(info >= 0);
  if (info) return fail(DKHO_E_NOCONV, "dense Cholesky: the matrix is not positive definite (pivot %d of %d)", info, m);
  return DKHO_OK;
}

void dense_gemm(int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  blas_one_thread();
  int im = narrow(m), in = narrow(n), ik = narrow(k), ia = narrow(lda), ib = narrow(ldb), ic = narrow(ldc);
  dgemm_(ta ? "T" : "N", tb ? "T" : "N", &im, &in, &ik, &alpha, a, &ia, b, &ib, &beta, c, &ic, 1, 1);
}
