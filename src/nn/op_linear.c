/* op_linear.c: sums, products and scalings of matrices of one shape. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>

/* y = Σ a_i x_i; attributes: the a_i */
static void sum_rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const real *a = o->attr;
  int64_t cols = op_out(o, l, 0)->cols, i0 = r0 * cols, i1 = r1 * cols;
  real *y = op_y(o, l, 0);
  for (int k = 0; k < o->ins; k++) {
    const real *x = op_x(o, l, k);
    for (int64_t i = i0; i < i1; i++) y[i] = (k ? y[i] : 0) + a[k] * x[i];
  }
}
static void sum_rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const real *a = o->attr, *gy = op_gy(o, l, 0);
  int64_t cols = op_out(o, l, 0)->cols;
  for (int k = 0; k < o->ins; k++) {
    real *gx = op_gx(o, l, k);
    for (int64_t i = r0 * cols; gx && i < r1 * cols; i++) gx[i] += a[k] * gy[i];
  }
}
static void sum_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, sum_rows_forward);
}
static void sum_backward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, sum_rows_backward);
}
static const op_kind sum = {"sum", sum_forward, sum_backward, 0, 0};

static int same_shape(const tape *t, var a, var b) {
  return t->var[a].rows == t->var[b].rows && t->var[a].cols == t->var[b].cols;
}

var op_sum(tape *t, int n, const double *a, const var *x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 1; i < n; i++) assert(same_shape(t, x[0], x[i]));
  op *o =
      tape_op(t, &sum, n, x, 1, (const int64_t[][2]){{t->var[x[0]].rows, t->var[x[0]].cols}}, (size_t)n * sizeof(real));
  if (!o) return VAR_NONE;
  for (int i = 0; i < n; i++) ((real *)o->attr)[i] = (real)a[i];
  return o->out[0];
}

static void mul_rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  const real *a = op_x(o, l, 0), *b = op_x(o, l, 1);
  real *y = op_y(o, l, 0);
  for (int64_t i = r0 * cols; i < r1 * cols; i++) y[i] = a[i] * b[i];
}
static void mul_rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  const real *gy = op_gy(o, l, 0);
  for (int k = 0; k < 2; k++) {
    const real *other = op_x(o, l, 1 - k);
    real *gx = op_gx(o, l, k);
    for (int64_t i = r0 * cols; gx && i < r1 * cols; i++) gx[i] += other[i] * gy[i];
  }
}
static void mul_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, mul_rows_forward);
}
static void mul_backward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, mul_rows_backward);
}
static const op_kind mul = {"mul", mul_forward, mul_backward, 3, 0};

var op_mul(tape *t, var a, var b) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(same_shape(t, a, b));
  op *o = tape_op(t, &mul, 2, (const var[]){a, b}, 1, (const int64_t[][2]){{t->var[a].rows, t->var[a].cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}

/* y_ij = s_j x_ij; inputs s, x. A single s serves all columns: stride 0. */
static int64_t scale_stride(const op *o, const lane *l) {
  return op_in(o, l, 0)->cols > 1;
}
static void scale_rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols, stride = scale_stride(o, l);
  const real *s = op_x(o, l, 0), *x = op_x(o, l, 1);
  real *y = op_y(o, l, 0);
  for (int64_t r = r0; r < r1; r++)
    for (int64_t j = 0; j < cols; j++) y[r * cols + j] = s[j * stride] * x[r * cols + j];
}
/* g_x += s g_y; partial: Σ x g_y */
static void scale_back_x(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols, stride = scale_stride(o, l);
  const real *s = op_x(o, l, 0), *gy = op_gy(o, l, 0);
  real *gx = op_gx(o, l, 1);
  for (int64_t r = r0; gx && r < r1; r++)
    for (int64_t j = 0; j < cols; j++) gx[r * cols + j] += s[j * stride] * gy[r * cols + j];
}
static void scale_back_all(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t cols = op_out(o, l, 0)->cols, stride = scale_stride(o, l);
  const real *x = op_x(o, l, 1), *gy = op_gy(o, l, 0);
  scale_back_x(o, l, r0, r1);
  for (int64_t r = r0; r < r1; r++)
    for (int64_t j = 0; j < cols; j++) partial[j * stride] += x[r * cols + j] * gy[r * cols + j];
}
static void scale_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, scale_rows_forward);
}
static void scale_backward(const op *o, const lane *l) {
  const sum_to to = {op_gx(o, l, 0), o->partial};
  if (to.dst)
    par_sums(o, l, op_out(o, l, 0)->rows, scale_back_all, 1, &to);
  else
    par_rows(o, l, op_out(o, l, 0)->rows, scale_back_x);
}
static const op_kind scale = {"scale", scale_forward, scale_backward, 3, 0};

var op_scale(tape *t, var s, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows, cols = t->var[x].cols, width = t->var[s].cols;
  assert(t->var[s].rows == 1 && (width == 1 || width == cols));
  op *o = tape_op(t, &scale, 2, (const var[]){s, x}, 1, (const int64_t[][2]){{rows, cols}}, 0);
  if (!o) return VAR_NONE;
  op_reduces(o, rows, width);
  return o->out[0];
}
