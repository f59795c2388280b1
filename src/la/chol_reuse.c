/* chol_reuse.c: sparse Cholesky of many matrices with one pattern: the analysis is made once, each thread refactors a copy of its own.
 * Also the elimination order that CHOLMOD finds for a pattern, for solvers that have none as good. */
#include "la/chol_impl.h"

#include <assert.h>
#include <string.h>

/* CHOLMOD's supernodal loops ask OpenMP for four threads each time, whoever calls: beside our own threads they only wait for one another.
 * The setting belongs to the calling thread. */
void omp_set_max_active_levels(int levels) __attribute__((weak));

static dkho_status gave_up(const char *what, const cholmod_common *c, int64_t rows) {
  return fail(DKHO_E_MEMORY, "%s of %lld rows: CHOLMOD gave up (status %d)", what, (long long)rows, c->status);
}

static dkho_status open_factor(chol **out, int64_t n) {
  *out = NULL;
  chol *f;
  TRY(blas_ready());
  if (!MEM_NEW(f, 1)) return DKHO_E_MEMORY;
  chol_start(&f->common);
  f->n = n;
  *out = f;
  return DKHO_OK;
}

dkho_status chol_analyse(chol **out, const csr *a) {
  assert(a->rows == a->cols);
  TRY(open_factor(out, a->rows));
  chol *f = *out;
  cholmod_sparse *m = chol_half(a, &f->common);
  if (m) f->factor = chol_analysis(m, &f->common);
  cholmod_free_sparse(&m, &f->common);
  if (f->factor) return DKHO_OK;
  dkho_status s = gave_up("analysis", &f->common, a->rows);
  chol_free(f);
  *out = NULL;
  return s;
}

dkho_status chol_copy(chol **out, const chol *analysed) {
  assert(analysed->factor->xtype == CHOLMOD_PATTERN);
  TRY(open_factor(out, analysed->n));
  chol *f = *out;
  f->factor = cholmod_copy_factor(analysed->factor, &f->common);
  if (f->factor) return DKHO_OK;
  dkho_status s = gave_up("copy of an analysis", &f->common, f->n);
  chol_free(f);
  *out = NULL;
  return s;
}

dkho_status chol_refactor(chol *f, const csr *a) {
  assert(a->rows == f->n && a->cols == f->n);
  TRY(blas_ready());
  if (omp_set_max_active_levels) omp_set_max_active_levels(0);
  cholmod_sparse *m = chol_half(a, &f->common);
  dkho_status s = DKHO_OK;
  if (!m || !cholmod_factorize(m, f->factor, &f->common))
    s = gave_up("sparse Cholesky", &f->common, f->n);
  else if (f->factor->minor < f->factor->n)
    s = fail(DKHO_E_NOCONV, "sparse Cholesky: the matrix is not positive definite (row %d of %lld)",
             ((int *)f->factor->Perm)[f->factor->minor], (long long)f->n);
  cholmod_free_sparse(&m, &f->common);
  return s;
}

dkho_status chol_order(const csr *pattern, int32_t *order) {
  cholmod_common c;
  chol_start(&c);
  c.nmethods = 1;
  c.method[0].ordering = CHOLMOD_METIS;
  cholmod_sparse *m = chol_half(pattern, &c);
  cholmod_factor *l = m ? chol_analysis(m, &c) : NULL;
  dkho_status s = l ? DKHO_OK : gave_up("ordering", &c, pattern->rows);
  if (l) memcpy(order, l->Perm, (size_t)pattern->rows * sizeof *order);
  cholmod_free_factor(&l, &c);
  cholmod_free_sparse(&m, &c);
  cholmod_finish(&c);
  return s;
}
