/* op_axis.c: a small constant matrix along one axis of an array, y = (I_B ⊗ T ⊗ I_M) x; its backward is the same with the matrix
 * turned. */
#include "nn/block.h"
#include "nn/op_grid.h"

#include <assert.h>

enum { ENTRIES = 1024 }; /* of a matrix, at most */
typedef struct {
  int transposed;
  int64_t batches;
} axis_attr;

/* Batches b0 … b1-1 of y = (I ⊗ T ⊗ I) x or, turned, with Tᵀ: T times the slabs of a batch, which are the rows of a matrix. */
static void axis_apply(const lane *l, const tape_var *matrix, const real *m, int turned, int64_t width, int64_t b0,
                       int64_t b1, const real *x, real *y, int add) {
  int64_t p = turned ? matrix->cols : matrix->rows, q = turned ? matrix->rows : matrix->cols;
  real flipped[ENTRIES];
  for (int64_t i = 0; turned && i < p; i++)
    for (int64_t j = 0; j < q; j++) flipped[i * q + j] = m[j * p + i];
  for (int64_t b = b0; b < b1; b++) {
    const kern_term term = {turned ? flipped : m, (size_t)q, (int)q, x + b * q * width, (int)width};
    l->k->row_mm(&(kern_rows){p, (int)width, 1, &term, NULL, add, y + b * p * width, (size_t)width});
  }
}

/* Numbers in a slab. */
static int64_t slab_width(const op *o, const lane *l) {
  const axis_attr *a = o->attr;
  const tape_var *m = op_in(o, l, 0), *x = op_in(o, l, 1);
  return x->rows / a->batches / (a->transposed ? m->rows : m->cols) * x->cols;
}
static void axis_batches(const op *o, const lane *l, int64_t b0, int64_t b1) {
  const axis_attr *a = o->attr;
  axis_apply(l, op_in(o, l, 0), op_x(o, l, 0), a->transposed, slab_width(o, l), b0, b1, op_x(o, l, 1), op_y(o, l, 0),
             0);
}
static void axis_batches_back(const op *o, const lane *l, int64_t b0, int64_t b1) {
  const axis_attr *a = o->attr;
  axis_apply(l, op_in(o, l, 0), op_x(o, l, 0), !a->transposed, slab_width(o, l), b0, b1, op_gy(o, l, 0), op_gx(o, l, 1),
             op_adds(o, l, 1));
}
static void axis_forward(const op *o, const lane *l) {
  par_rows(o, l, ((const axis_attr *)o->attr)->batches, axis_batches);
}
static void axis_backward(const op *o, const lane *l) {
  par_rows(o, l, ((const axis_attr *)o->attr)->batches, axis_batches_back);
}
static const op_kind axis = {"axis", axis_forward, axis_backward, 1, 0};

var op_axis(tape *t, var matrix, int transposed, int64_t batches, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  const tape_var *m = &t->var[matrix], *v = &t->var[x];
  int64_t p = transposed ? m->cols : m->rows, q = transposed ? m->rows : m->cols;
  assert(m->kind == VAR_CONST && v->rows % (batches * q) == 0 && p * q <= ENTRIES);
  op *o = tape_op(t, &axis, 2, (const var[]){matrix, x}, 1, (const int64_t[][2]){{v->rows / q * p, v->cols}},
                  sizeof(axis_attr));
  if (!o) return VAR_NONE;
  *(axis_attr *)o->attr = (axis_attr){transposed, batches};
  o->fresh = 2;
  o->work = (double)(v->rows * p * v->cols);
  return o->out[0];
}
