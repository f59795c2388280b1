/* op_linear.c: sums, products and scalings of matrices of one shape. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>

static int64_t count_of(const op *o, const lane *l, int64_t r0, int64_t r1) {
  return (r1 - r0) * op_out(o, l, 0)->cols;
}

/* y (+)= a x */
static void scale_into(const lane *l, int64_t n, real a, const real *x, int add, real *y) {
  if (add)
    l->k->axpy((size_t)n, a, x, y);
  else
    l->k->combine((size_t)n, 1, &a, &x, y);
}

/* y = Σ a_i x_i; attributes: the a_i */
static void sum_rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const real *x[32];
  for (int i = 0; i < o->ins; i++) x[i] = row_x(o, l, i, r0);
  l->k->combine((size_t)count_of(o, l, r0, r1), o->ins, o->attr, x, row_y(o, l, 0, r0));
}
static void sum_rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const real *a = o->attr;
  (void)partial;
  for (int i = 0; i < o->ins; i++) {
    real *gx = row_gx(o, l, i, r0);
    if (gx) scale_into(l, count_of(o, l, r0, r1), a[i], row_gy(o, l, 0, r0), op_adds(o, l, i), gx);
  }
}
static const row_kind sum = {{"sum", NULL, NULL, 0, 0}, sum_rows_forward, sum_rows_backward, NULL};

static int same_shape(const tape *t, var a, var b) {
  return t->var[a].rows == t->var[b].rows && t->var[a].cols == t->var[b].cols;
}

var op_sum(tape *t, int n, const double *a, const var *x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 1; i < n; i++) assert(same_shape(t, x[0], x[i]));
  op *o = tape_row_op(t, &sum, 0, n, x, 1, (const int64_t[][2]){{t->var[x[0]].rows, t->var[x[0]].cols}},
                      (size_t)n * sizeof(real));
  if (!o) return VAR_NONE;
  for (int i = 0; i < n; i++) ((real *)o->attr)[i] = (real)a[i];
  return o->out[0];
}

static void mul_rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  l->k->mul((size_t)count_of(o, l, r0, r1), row_x(o, l, 0, r0), row_x(o, l, 1, r0), 0, row_y(o, l, 0, r0));
}
static void mul_rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  (void)partial;
  for (int i = 0; i < 2; i++) {
    real *gx = row_gx(o, l, i, r0);
    if (gx)
      l->k->mul((size_t)count_of(o, l, r0, r1), row_x(o, l, 1 - i, r0), row_gy(o, l, 0, r0), op_adds(o, l, i), gx);
  }
}
static const row_kind mul = {{"mul", NULL, NULL, 3, 0}, mul_rows_forward, mul_rows_backward, NULL};

var op_mul(tape *t, var a, var b) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(same_shape(t, a, b));
  const int64_t shape[][2] = {{t->var[a].rows, t->var[a].cols}};
  op *o = tape_row_op(t, &mul, 0, 2, (const var[]){a, b}, 1, shape, 0);
  return o ? o->out[0] : VAR_NONE;
}

/* y_ij = s_j x_ij, or s x_ij for a single s; inputs s, x */
static void scale_rows(const op *o, const lane *l, int64_t r0, int64_t r1, const real *x, int add, real *y) {
  const real *s = op_x(o, l, 0);
  if (op_in(o, l, 0)->cols == 1)
    scale_into(l, count_of(o, l, r0, r1), *s, x, add, y);
  else
    l->k->col_scale(r1 - r0, (int)op_out(o, l, 0)->cols, s, x, add, y);
}
static void scale_rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  scale_rows(o, l, r0, r1, row_x(o, l, 1, r0), 0, row_y(o, l, 0, r0));
}
/* g_x += s g_y; partial: Σ x g_y */
static void scale_rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const real *x = row_x(o, l, 1, r0), *gy = row_gy(o, l, 0, r0);
  int64_t n = count_of(o, l, r0, r1);
  real *gx = row_gx(o, l, 1, r0);
  if (gx) scale_rows(o, l, r0, r1, gy, op_adds(o, l, 1), gx);
  if (!partial) return;
  if (op_in(o, l, 0)->cols == 1)
    l->k->col_dot(n, 1, x, NULL, gy, partial);
  else
    l->k->col_dot(r1 - r0, (int)op_out(o, l, 0)->cols, x, NULL, gy, partial);
}
static const row_kind scale = {{"scale", NULL, NULL, 3, 0}, scale_rows_forward, scale_rows_backward, NULL};

var op_scale(tape *t, var s, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows, cols = t->var[x].cols, width = t->var[s].cols;
  assert(t->var[s].rows == 1 && (width == 1 || width == cols));
  op *o = tape_row_op(t, &scale, 1, 2, (const var[]){s, x}, 1, (const int64_t[][2]){{rows, cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}
