/* chol.c: sparse Cholesky by CHOLMOD. The ordering is CHOLMOD's own choice between AMD and METIS, the factor simplicial
 * or supernodal, whichever its flop count favours. CHOLMOD's and METIS's own allocations do not pass through mem.h. */
#include "la/chol_impl.h"
#include "la/lanes.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* CHOLMOD keeps scratch in its common block, so a thread that solves owns one. y and e are kept between solves. */
struct chol_work {
  cholmod_common common;
  cholmod_dense *y, *e;
  int64_t n, max_rhs;
};

/* Flops per entry of L from which a factor is supernodal. CHOLMOD's own 40 is meant for factoring; we mostly solve, one
 * vector at a time, where dense blocks pay later. */
static const double SUPERNODAL = 120;
static const double ROUNDING = 1e-13; /* of a factor, relative to its largest entries: ε times the terms of a sum */

/* METIS draws from the C library's rand() after seeding it: two analyses at once would disturb each other's stream and
 * with it the ordering. */
cholmod_factor *chol_analysis(cholmod_sparse *m, cholmod_common *c) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&one);
  cholmod_factor *found = cholmod_analyze(m, c);
  pthread_mutex_unlock(&one);
  return found;
}

void chol_start(cholmod_common *c) {
  cholmod_start(c);
  c->print = 0;
  c->error_handler = NULL;
  c->final_ll = 1; /* L Lᵀ: an L D Lᵀ would accept a negative pivot */
  c->quick_return_if_not_posdef = 1;
}

cholmod_sparse *chol_half(const csr *a, cholmod_common *c) {
  int64_t nnz = 0;
  for (int64_t r = 0; r < a->rows; r++)
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1] && a->col[p] <= r; p++) nnz++;
  if (nnz > INT_MAX) return NULL;
  size_t n = (size_t)a->rows;
  cholmod_sparse *m = cholmod_allocate_sparse(n, n, (size_t)nnz, 1, 1, 1, CHOLMOD_REAL, c);
  if (!m) return NULL;
  int *ptr = m->p, *row = m->i, put = 0;
  double *val = m->x;
  for (int64_t r = 0; r < a->rows; r++) {
    ptr[r] = put;
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1] && a->col[p] <= r; p++) {
      row[put] = a->col[p];
      val[put++] = a->val[p];
    }
  }
  ptr[a->rows] = put;
  return m;
}

static dkho_status factor(chol **out, const csr *a, int method) {
  assert(a->rows == a->cols);
  *out = NULL;
  chol *f;
  TRY(blas_ready());
  if (!MEM_NEW(f, 1)) return DKHO_E_MEMORY;
  chol_start(&f->common);
  f->common.supernodal = method;
  f->common.supernodal_switch = SUPERNODAL;
  f->n = a->rows;
  dkho_status s = DKHO_OK;
  cholmod_sparse *m = chol_half(a, &f->common);
  if (m) f->factor = chol_analysis(m, &f->common);
  if (!f->factor || !cholmod_factorize(m, f->factor, &f->common)) {
    s = fail(DKHO_E_MEMORY, "sparse Cholesky of %lld rows: CHOLMOD gave up (status %d)", (long long)a->rows,
             f->common.status);
  } else if (f->factor->minor < f->factor->n) {
    s = fail(DKHO_E_NOCONV, "sparse Cholesky: the matrix is not positive definite (row %d of %lld)",
             ((int *)f->factor->Perm)[f->factor->minor], (long long)a->rows);
  }
  cholmod_free_sparse(&m, &f->common);
  if (s != DKHO_OK) {
    chol_free(f);
    return s;
  }
  *out = f;
  return DKHO_OK;
}

dkho_status chol_factor(chol **out, const csr *a) {
  return factor(out, a, CHOLMOD_AUTO);
}

void chol_free(chol *f) {
  if (!f) return;
  cholmod_free_factor(&f->factor, &f->common);
  cholmod_finish(&f->common);
  mem_free(f);
}

int64_t chol_nnz(const chol *f) {
  if (f->factor->is_super) return (int64_t)f->factor->xsize;
  const int *count = f->factor->nz;
  int64_t nnz = 0;
  for (int64_t i = 0; i < f->n; i++) nnz += count[i];
  return nnz;
}

dkho_status chol_work_new(chol_work **out, const chol *f, int64_t max_rhs) {
  assert(max_rhs >= 1);
  *out = NULL;
  chol_work *w;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  chol_start(&w->common);
  w->n = f->n;
  w->max_rhs = max_rhs;
  *out = w;
  return DKHO_OK;
}

void chol_work_free(chol_work *w) {
  if (!w) return;
  cholmod_free_dense(&w->y, &w->common);
  cholmod_free_dense(&w->e, &w->common);
  cholmod_finish(&w->common);
  mem_free(w);
}

/* A dense header over the caller's array. CHOLMOD declares its inputs without const; it only reads b. */
static cholmod_dense view(int64_t n, int64_t nv, const double *x) {
  void *place;
  memcpy(&place, &x, sizeof place);
  return (cholmod_dense){.nrow = (size_t)n,
                         .ncol = (size_t)nv,
                         .nzmax = (size_t)(n * nv),
                         .d = (size_t)n,
                         .x = place,
                         .xtype = CHOLMOD_REAL,
                         .dtype = CHOLMOD_DOUBLE};
}

dkho_status chol_solve(const chol *f, chol_work *w, int64_t nv, const double *b, double *x) {
  assert(w->n == f->n && nv >= 0);
  for (int64_t done = 0; done < nv; done += w->max_rhs) {
    int64_t now = nv - done < w->max_rhs ? nv - done : w->max_rhs;
    /* B is permuted into y before anything is written to X, block by block: x may be b. */
    cholmod_dense in = view(f->n, now, b + done * f->n), to = view(f->n, now, x + done * f->n), *out = &to;
    if (!cholmod_solve2(CHOLMOD_A, f->factor, &in, NULL, &out, NULL, &w->y, &w->e, &w->common))
      return fail(DKHO_E_MEMORY, "sparse solve of %lld rows: CHOLMOD gave up (status %d)", (long long)f->n,
                  w->common.status);
    assert(out == &to);
  }
  return DKHO_OK;
}

/* Negative pivots, and the largest entry of |L||D||L|ᵀ: the rounding errors of the factorisation are ε times that. */
static int64_t negative_pivots(const cholmod_factor *l, double *most) {
  const int *ptr = l->p, *count = l->nz;
  const double *val = l->x;
  int64_t negative = 0;
  *most = 0;
  for (size_t j = 0; j < l->n; j++) {
    double d = fabs(val[ptr[j]]);
    negative += val[ptr[j]] < 0;
    *most = fmax(*most, d);
    for (int p = ptr[j] + 1; p < ptr[j] + count[j]; p++) *most = fmax(*most, val[p] * val[p] * d);
  }
  return negative;
}

dkho_status chol_count_below(const chol *f, const csr *a, double sigma, double safety, int64_t *below) {
  *below = -1;
  if (f->factor->is_super) return DKHO_OK; /* much fill: CHOLMOD has no quick L D Lᵀ */
  cholmod_common c;
  chol_start(&c);
  c.final_ll = 0;
  c.quick_return_if_not_posdef = 0;
  c.supernodal = CHOLMOD_SIMPLICIAL;
  c.nmethods = 1;
  c.method[0].ordering = CHOLMOD_GIVEN;
  c.postorder = 0; /* the given one is postordered */
  double shift[2] = {-sigma, 0}, most;
  cholmod_sparse *m = chol_half(a, &c);
  cholmod_factor *l = m ? cholmod_analyze_p(m, f->factor->Perm, NULL, 0, &c) : NULL;
  dkho_status s = DKHO_OK;
  if (!l || !cholmod_factorize_p(m, shift, NULL, 0, l, &c))
    s = fail(DKHO_E_MEMORY, "sparse LDLᵀ of %lld rows: CHOLMOD gave up (status %d)", (long long)a->rows, c.status);
  else if (l->minor == l->n) {
    int64_t negative = negative_pivots(l, &most);
    if (ROUNDING * most < safety) *below = negative;
  }
  cholmod_free_factor(&l, &c);
  cholmod_free_sparse(&m, &c);
  cholmod_finish(&c);
  return s;
}

struct chol_wide {
  int64_t n;
  int32_t *perm;    /* row i of the factor is row perm[i] of A */
  double *diagonal; /* 1/L_ii */
  csr rows, cols;   /* L below its diagonal, and its transpose */
  arena mem;
};

/* Entries of L below the diagonal by columns, from CHOLMOD's packed simplicial factor (the diagonal comes first). */
static dkho_status take_factor(chol_wide *w, const cholmod_factor *l) {
  const int *ptr = l->p, *row = l->i, *perm = l->Perm;
  const double *val = l->x;
  TRY(csr_alloc(&w->cols, w->n, w->n, ptr[w->n] - w->n));
  if (!ARENA_NEW(&w->mem, w->perm, w->n) || !ARENA_NEW(&w->mem, w->diagonal, w->n)) return DKHO_E_MEMORY;
  int64_t put = 0;
  for (int64_t j = 0; j < w->n; j++) {
    w->perm[j] = perm[j];
    w->diagonal[j] = 1 / val[ptr[j]];
    for (int p = ptr[j] + 1; p < ptr[j + 1]; p++, put++) w->cols.col[put] = row[p], w->cols.val[put] = val[p];
    w->cols.ptr[j + 1] = put;
  }
  return csr_transpose(&w->rows, &w->cols);
}

dkho_status chol_wide_factor(chol_wide **out, const csr *a) {
  chol *f = NULL;
  chol_wide *w;
  *out = NULL;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->n = a->rows;
  dkho_status s = factor(&f, a, CHOLMOD_SIMPLICIAL);
  if (s == DKHO_OK && !cholmod_change_factor(CHOLMOD_REAL, 1, 0, 1, 1, f->factor, &f->common))
    s = fail(DKHO_E_MEMORY, "sparse Cholesky of %lld rows: CHOLMOD gave up (status %d)", (long long)a->rows,
             f->common.status);
  if (s == DKHO_OK) s = take_factor(w, f->factor);
  chol_free(f);
  if (s == DKHO_OK)
    *out = w;
  else
    chol_wide_free(w);
  return s;
}

void chol_wide_free(chol_wide *f) {
  if (!f) return;
  csr_free(&f->rows);
  csr_free(&f->cols);
  arena_free(&f->mem);
  mem_free(f);
}

/* x_i ← (x_i - Σ_p a_p x_col(p))·diagonal for the entries p of row i. */
static LANES_INLINE void eliminate_wide(const csr *a, int64_t i, double diagonal, lanes_half *x) {
  lanes_half low = x[2 * i], high = x[2 * i + 1];
  for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++) {
    const lanes_half *at = x + 2 * (int64_t)a->col[p];
    low -= a->val[p] * at[0];
    high -= a->val[p] * at[1];
  }
  x[2 * i] = low * diagonal;
  x[2 * i + 1] = high * diagonal;
}

static LANES_CLONES void solve_wide(const chol_wide *f, double *x, double *room) {
  lanes *out = (lanes *)x, *y = (lanes *)room;
  for (int64_t i = 0; i < f->n; i++) y[i] = out[f->perm[i]];
  for (int64_t i = 0; i < f->n; i++) eliminate_wide(&f->rows, i, f->diagonal[i], (lanes_half *)y);
  for (int64_t i = f->n - 1; i >= 0; i--) eliminate_wide(&f->cols, i, f->diagonal[i], (lanes_half *)y);
  for (int64_t i = 0; i < f->n; i++) out[f->perm[i]] = y[i];
}

/* Clones are exported whatever their visibility, unless static. */
void chol_wide_solve(const chol_wide *f, double *x, double *room) {
  solve_wide(f, x, room);
}
