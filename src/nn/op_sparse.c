/* op_sparse.c: fixed sparse maps of rows: y = A x and y = Aᵀ x, both as gathers, each the other's backward. */
#include "la/la.h"
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* The rows of a matrix in `real`. */
static dkho_status copy_half(sparse *m, sparse_half *h, const csr *a) {
  h->rows = a->rows;
  if (!ARENA_NEW(&m->mem, h->ptr, a->rows + 1) || !ARENA_NEW(&m->mem, h->col, a->nnz) ||
      !ARENA_NEW(&m->mem, h->val, a->nnz))
    return DKHO_E_MEMORY;
  for (int64_t i = 0; i <= a->rows; i++) h->ptr[i] = a->ptr[i];
  for (int64_t p = 0; p < a->nnz; p++) {
    h->col[p] = a->col[p];
    h->val[p] = (real)a->val[p];
  }
  return DKHO_OK;
}

dkho_status sparse_create(sparse **out, int64_t rows, int64_t cols, const int64_t *ptr, const int32_t *col,
                          const double *val) {
  csr a = {0}, at = {0};
  sparse *m;
  dkho_status s;
  *out = NULL;
  if (!MEM_NEW(m, 1)) return DKHO_E_MEMORY;
  TRY_GOTO(csr_alloc(&a, rows, cols, ptr[rows]));
  memcpy(a.ptr, ptr, (size_t)(rows + 1) * sizeof *ptr);
  memcpy(a.col, col, (size_t)a.nnz * sizeof *col);
  memcpy(a.val, val, (size_t)a.nnz * sizeof *val);
  for (int64_t p = 0; p < a.nnz; p++) assert(col[p] >= 0 && col[p] < cols);
  TRY_GOTO(csr_transpose(&at, &a));
  TRY_GOTO(copy_half(m, &m->a, &a));
  TRY_GOTO(copy_half(m, &m->at, &at));
  *out = m;
  m = NULL;
done:
  csr_free(&a);
  csr_free(&at);
  sparse_free(m);
  return s;
}

void sparse_free(sparse *m) {
  if (!m) return;
  arena_free(&m->mem);
  mem_free(m);
}

typedef struct {
  const sparse_half *forward, *backward;
} sparse_attr;

/* y_i (+)= Σ_p val[p] x[col[p]] for rows r0 … r1-1 */
static void gather_rows(const lane *l, const sparse_half *h, int64_t ch, int64_t r0, int64_t r1, const real *x, int add,
                        real *y) {
  const kern_csr a = {h->ptr, h->col, h->val};
  l->k->gather(&a, r0, r1, (int)ch, x, add, y);
}

static void rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const sparse_attr *a = o->attr;
  gather_rows(l, a->forward, op_out(o, l, 0)->cols, r0, r1, op_x(o, l, 0), 0, op_y(o, l, 0));
}
static void rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const sparse_attr *a = o->attr;
  gather_rows(l, a->backward, op_out(o, l, 0)->cols, r0, r1, op_gy(o, l, 0), op_adds(o, l, 0), op_gx(o, l, 0));
}
static void sparse_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, rows_forward);
}
static void sparse_backward(const op *o, const lane *l) {
  par_rows(o, l, op_in(o, l, 0)->rows, rows_backward);
}
static const op_kind kind = {"sparse", sparse_forward, sparse_backward, 0, 0};

var op_sparse(tape *t, const sparse *m, int transposed, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  const sparse_half *f = transposed ? &m->at : &m->a, *b = transposed ? &m->a : &m->at;
  assert(t->var[x].rows == b->rows);
  op *o = tape_op(t, &kind, 1, &x, 1, (const int64_t[][2]){{f->rows, t->var[x].cols}}, sizeof(sparse_attr));
  if (!o) return VAR_NONE;
  *(sparse_attr *)o->attr = (sparse_attr){f, b};
  o->fresh = 1;
  return o->out[0];
}
