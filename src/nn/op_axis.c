/* op_axis.c: a small constant matrix along one axis of an array, y = (I_B ⊗ T ⊗ I_M) x; its backward is the same loop with
 * the matrix turned. */
#include "nn/block.h"
#include "nn/op_grid.h"

#include <assert.h>

enum { STRIP = 8 };
typedef struct {
  int transposed;
  int64_t batches;
} axis_attr;

/* One slab of the output, n numbers: y (+)= Σ_q row[q·step] x[q·stride + ·] */
static void combine_slabs(int64_t q, const real *row, int64_t step, const real *x, int64_t stride, int64_t n, real *y,
                          int add) {
  int64_t j0 = 0;
  for (; j0 + STRIP <= n; j0 += STRIP) {
    real sum[STRIP];
    for (int j = 0; j < STRIP; j++) sum[j] = add ? y[j0 + j] : 0;
    for (int64_t k = 0; k < q; k++)
      for (int j = 0; j < STRIP; j++) sum[j] += row[k * step] * x[k * stride + j0 + j];
    for (int j = 0; j < STRIP; j++) y[j0 + j] = sum[j];
  }
  for (; j0 < n; j0++) {
    real sum = add ? y[j0] : 0;
    for (int64_t k = 0; k < q; k++) sum += row[k * step] * x[k * stride + j0];
    y[j0] = sum;
  }
}

/* Rows r0 … r1-1 of y = (I ⊗ T ⊗ I) x or, turned, Tᵀ; cut where a slab ends. */
static void axis_apply(const tape_var *matrix, const real *m, int turned, int64_t slab, int64_t cols, int64_t r0,
                       int64_t r1, const real *x, real *y, int add) {
  int64_t p = turned ? matrix->cols : matrix->rows, q = turned ? matrix->rows : matrix->cols;
  for (int64_t r = r0; r < r1;) {
    int64_t i = r / slab % p, batch = r / slab / p, from = r % slab, end = r - from + slab;
    if (end > r1) end = r1;
    const real *row = turned ? m + i : m + i * q;
    combine_slabs(q, row, turned ? p : 1, x + (batch * q * slab + from) * cols, slab * cols, (end - r) * cols,
                  y + r * cols, add);
    r = end;
  }
}

static int64_t slab_rows(const op *o, const lane *l) {
  const axis_attr *a = o->attr;
  const tape_var *m = op_in(o, l, 0);
  return op_in(o, l, 1)->rows / a->batches / (a->transposed ? m->rows : m->cols);
}
static void axis_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const axis_attr *a = o->attr;
  axis_apply(op_in(o, l, 0), op_x(o, l, 0), a->transposed, slab_rows(o, l), op_out(o, l, 0)->cols, r0, r1,
             op_x(o, l, 1), op_y(o, l, 0), 0);
}
static void axis_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const axis_attr *a = o->attr;
  axis_apply(op_in(o, l, 0), op_x(o, l, 0), !a->transposed, slab_rows(o, l), op_out(o, l, 0)->cols, r0, r1,
             op_gy(o, l, 0), op_gx(o, l, 1), 1);
}
static void axis_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, axis_rows);
}
static void axis_backward(const op *o, const lane *l) {
  par_rows(o, l, op_in(o, l, 1)->rows, axis_rows_back);
}
static const op_kind axis = {"axis", axis_forward, axis_backward, 1, 0};

var op_axis(tape *t, var matrix, int transposed, int64_t batches, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  const tape_var *m = &t->var[matrix], *v = &t->var[x];
  int64_t p = transposed ? m->cols : m->rows, q = transposed ? m->rows : m->cols;
  assert(m->kind == VAR_CONST && v->rows % (batches * q) == 0);
  op *o = tape_op(t, &axis, 2, (const var[]){matrix, x}, 1, (const int64_t[][2]){{v->rows / q * p, v->cols}},
                  sizeof(axis_attr));
  if (!o) return VAR_NONE;
  *(axis_attr *)o->attr = (axis_attr){transposed, batches};
  return o->out[0];
}
