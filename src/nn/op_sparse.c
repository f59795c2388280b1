/* op_sparse.c: fixed sparse maps of rows, y = Σ_i A_i x_i, as gathers; A and Aᵀ are each the other's backward. */
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

enum { SOURCES = 4 };
typedef struct {
  int n;
  int64_t width; /* of the rows that the maps know */
  const sparse_half *forward[SOURCES], *backward[SOURCES];
} gather_attr;

/* y_i (+)= Σ_p val[p] x[col[p]] for rows r0 … r1-1 */
static void gather_rows(const lane *l, const sparse_half *h, int64_t width, int64_t r0, int64_t r1, const real *x,
                        int add, real *y) {
  const kern_csr a = {h->ptr, h->col, h->val};
  l->k->gather(&a, r0, r1, (int)width, x, add, y);
}

static void rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const gather_attr *a = o->attr;
  for (int i = 0; i < a->n; i++) gather_rows(l, a->forward[i], a->width, r0, r1, op_x(o, l, i), i > 0, op_y(o, l, 0));
}
/* Sources may differ in their numbers of rows; the blocks are those of the largest. */
static void rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const gather_attr *a = o->attr;
  for (int i = 0; i < a->n; i++) {
    int64_t end = r1 < a->backward[i]->rows ? r1 : a->backward[i]->rows;
    if (op_gx(o, l, i) && r0 < end)
      gather_rows(l, a->backward[i], a->width, r0, end, op_gy(o, l, 0), op_adds(o, l, i), op_gx(o, l, i));
  }
}
static void gather_forward(const op *o, const lane *l) {
  par_rows(o, l, ((const gather_attr *)o->attr)->forward[0]->rows, rows_forward);
}
static void gather_backward(const op *o, const lane *l) {
  const gather_attr *a = o->attr;
  int64_t rows = 0;
  for (int i = 0; i < a->n; i++)
    if (op_gx(o, l, i) && a->backward[i]->rows > rows) rows = a->backward[i]->rows;
  par_rows(o, l, rows, rows_backward);
}
static const op_kind kind = {"gather", gather_forward, gather_backward, 0, 0};

var op_gather(tape *t, int n, const sparse *const *m, const int *transposed, const var *x, int64_t width,
              int64_t rows) {
  gather_attr a = {.n = n, .width = width};
  assert(n >= 1 && n <= SOURCES);
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) {
    a.forward[i] = transposed[i] ? &m[i]->at : &m[i]->a;
    a.backward[i] = transposed[i] ? &m[i]->a : &m[i]->at;
    assert(t->var[x[i]].rows * t->var[x[i]].cols == a.backward[i]->rows * width);
    assert(a.forward[i]->rows == a.forward[0]->rows && (i == 0 || x[i] != x[i - 1]));
  }
  int64_t cols = a.forward[0]->rows * width / rows;
  assert(cols * rows == a.forward[0]->rows * width);
  op *o = tape_op(t, &kind, n, x, 1, (const int64_t[][2]){{rows, cols}}, sizeof a);
  if (!o) return VAR_NONE;
  *(gather_attr *)o->attr = a;
  o->fresh = (1U << n) - 1;
  return o->out[0];
}

var op_sparse(tape *t, const sparse *m, int transposed, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  const sparse_half *f = transposed ? &m->at : &m->a;
  return op_gather(t, 1, &m, &transposed, &x, t->var[x].cols, f->rows);
}
