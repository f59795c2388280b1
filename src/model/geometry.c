/* geometry.c: see geometry.h. */
#include "model/geometry.h"

#include <assert.h>

/* d_{k-1} is stored by rows already: k+1 faces per simplex. */
static dkho_status make_d(sparse **out, const cx *c, int k) {
  int64_t n = c->n[k], *ptr = NULL;
  double *val = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (MEM_NEW(ptr, n + 1) && MEM_NEW(val, n * (k + 1))) {
    for (int64_t i = 0; i <= n; i++) ptr[i] = i * (k + 1);
    for (int64_t p = 0; p < n * (k + 1); p++) val[p] = c->sign[k][p];
    s = sparse_create(out, n, c->n[k - 1], ptr, c->face[k], val);
  }
  mem_free(ptr);
  mem_free(val);
  return s;
}

/* δ_k = M_{k-1}⁻¹ d_{k-1}ᵀ M_k from the coface lists. */
static dkho_status make_delta(sparse **out, const dec *d, int k) {
  const cx *c = d->c;
  int64_t n = c->n[k - 1];
  const int64_t *ptr = c->coptr[k - 1];
  double *val;
  if (!MEM_NEW(val, ptr[n])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    for (int64_t p = ptr[i]; p < ptr[i + 1]; p++)
      val[p] = c->cosign[k - 1][p] * d->star[k][c->coface[k - 1][p]] / d->star[k - 1][i];
  dkho_status s = sparse_create(out, n, c->n[k], ptr, c->coface[k - 1], val);
  mem_free(val);
  return s;
}

static dkho_status copy_basis(geometry *g, const dec *d, int degree, const dec_basis *b) {
  g->beta = b->count;
  g->degree = degree;
  assert(b->n == g->n[degree]);
  if (!ARENA_NEW(&g->mem, g->h, b->n * b->count) || !ARENA_NEW(&g->mem, g->mh, b->n * b->count)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < b->n; i++)
    for (int64_t j = 0; j < b->count; j++) {
      double h = b->vec[j * b->n + i], m = d->metric == DEC_UNIT ? 1 : d->star[degree][i];
      g->h[i * b->count + j] = (real)h;
      g->mh[i * b->count + j] = (real)(m * h);
    }
  return DKHO_OK;
}

static dkho_status geometry_fill(geometry *g, const dec *d, int top, int degree, const dec_basis *basis) {
  g->dim = d->c->dim;
  g->metric = d->metric;
  for (int k = 0; k < CX_DEGREES; k++) g->n[k] = d->c->n[k];
  for (int k = 1; k <= top; k++) {
    TRY(make_d(&g->d[k - 1], d->c, k));
    if (d->metric != DEC_UNIT) TRY(make_delta(&g->delta[k], d, k));
  }
  return basis && basis->count ? copy_basis(g, d, degree, basis) : DKHO_OK;
}

dkho_status geometry_create(geometry **out, const dec *d, int top, int degree, const dec_basis *basis) {
  geometry *g;
  *out = NULL;
  assert(top <= d->c->dim && degree <= d->c->dim);
  if (!MEM_NEW(g, 1)) return DKHO_E_MEMORY;
  dkho_status s = geometry_fill(g, d, top, degree, basis);
  if (s != DKHO_OK) {
    geometry_free(g);
    return s;
  }
  *out = g;
  return DKHO_OK;
}

/* Row i of the result is row rows[i], column j of the input column place[j]. */
static dkho_status renumber_map(sparse **out, const sparse *m, const int32_t *rows, const int32_t *place) {
  const sparse_half *a = &m->a;
  int64_t *ptr = NULL, at = 0;
  int32_t *col = NULL;
  double *val = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (MEM_NEW(ptr, a->rows + 1) && MEM_NEW(col, a->ptr[a->rows]) && MEM_NEW(val, a->ptr[a->rows])) {
    for (int64_t i = 0; i < a->rows; i++) {
      for (int64_t p = a->ptr[rows[i]]; p < a->ptr[rows[i] + 1]; p++, at++)
        col[at] = place[a->col[p]], val[at] = (double)a->val[p];
      ptr[i + 1] = at;
    }
    s = sparse_create(out, a->rows, m->at.rows, ptr, col, val);
  }
  mem_free(ptr);
  mem_free(col);
  mem_free(val);
  return s;
}

dkho_status geometry_renumber(geometry **out, const geometry *g, int degrees, int32_t *const *order,
                              int32_t *const *place) {
  geometry *r;
  dkho_status s = DKHO_OK;
  *out = NULL;
  if (!MEM_NEW(r, 1)) return DKHO_E_MEMORY;
  r->dim = g->dim, r->metric = g->metric;
  for (int k = 0; k < CX_DEGREES; k++) r->n[k] = g->n[k];
  for (int k = 1; s == DKHO_OK && k < degrees; k++) {
    s = renumber_map(&r->d[k - 1], g->d[k - 1], order[k], place[k - 1]);
    if (s == DKHO_OK && g->delta[k]) s = renumber_map(&r->delta[k], g->delta[k], order[k - 1], place[k]);
  }
  if (s == DKHO_OK)
    *out = r;
  else
    geometry_free(r);
  return s;
}

void geometry_free(geometry *g) {
  if (!g) return;
  for (int k = 0; k < CX_DEGREES; k++) {
    sparse_free(g->d[k]);
    sparse_free(g->delta[k]);
  }
  arena_free(&g->mem);
  mem_free(g);
}

var geometry_d(const geometry *g, tape *t, int k, var x) {
  return x == VAR_NONE ? VAR_NONE : op_sparse(t, g->d[k], 0, x);
}

var geometry_delta(const geometry *g, tape *t, int k, var x) {
  if (x == VAR_NONE) return VAR_NONE;
  return g->delta[k] ? op_sparse(t, g->delta[k], 0, x) : op_sparse(t, g->d[k - 1], 1, x);
}

dkho_status geometry_keep_periods(geometry *g, int degree, int64_t periods, const double *basis) {
  int64_t count = g->n[degree] * periods;
  if (!periods) return DKHO_OK;
  if (!ARENA_NEW(&g->mem, g->q, count)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < count; i++) g->q[i] = (real)basis[i];
  g->periods = periods;
  return DKHO_OK;
}

static var impose_periods(const geometry *g, tape *t, var x, var *values) {
  int64_t rows = t->var[x].rows, cols = t->var[x].cols;
  var q = tape_const(t, rows, g->periods, g->q);
  *values = tape_input(t, rows, cols);
  return op_axpy(t, 1, op_axpy(t, -1, op_synthesis(t, q, op_coefficients(t, q, x), cols), x), *values);
}

var geometry_impose(const geometry *g, tape *t, var x, var *values) {
  *values = VAR_NONE;
  if (t->status == DKHO_OK && g && g->periods) return impose_periods(g, t, x, values);
  if (t->status != DKHO_OK || !g || !g->givens) return x;
  int64_t rows = t->var[x].rows, cols = t->var[x].cols;
  real *mask;
  if (!ARENA_NEW(&t->mem, mask, rows * cols)) return t->status = DKHO_E_MEMORY, VAR_NONE;
  for (int64_t i = 0; i < rows * cols; i++) mask[i] = 1;
  for (int64_t j = 0; j < g->givens; j++)
    for (int64_t c = 0; c < cols; c++) mask[g->given[j] * cols + c] = 0;
  *values = tape_input(t, rows, cols);
  return op_axpy(t, 1, op_mul(t, x, tape_const(t, rows, cols, mask)), *values);
}
