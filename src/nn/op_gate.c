/* op_gate.c: rectifiers and the gated product. Separate from op_unary.c: they are cheap, piecewise or of two operands. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <tgmath.h>

/* y = x where x > 0, slope·x elsewhere; attributes: the slope */
static void relu_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const real slope = *(const real *)o->attr, *x = op_x(o, l, 0);
  int64_t cols = op_out(o, l, 0)->cols;
  real *y = op_y(o, l, 0);
  for (int64_t i = r0 * cols; i < r1 * cols; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
}
/* g_x += (x > 0 ? 1 : slope) g_y */
static void relu_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const real slope = *(const real *)o->attr, *x = op_x(o, l, 0), *gy = op_gy(o, l, 0);
  int64_t cols = op_out(o, l, 0)->cols;
  real *gx = op_gx(o, l, 0);
  for (int64_t i = r0 * cols; i < r1 * cols; i++) gx[i] += x[i] > 0 ? gy[i] : slope * gy[i];
}
static void relu_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, relu_rows);
}
static void relu_backward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, relu_rows_back);
}
static const op_kind relu = {"relu", relu_forward, relu_backward, 1, 0};

var op_relu(tape *t, double slope, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  op *o = tape_op(t, &relu, 1, &x, 1, (const int64_t[][2]){{t->var[x].rows, t->var[x].cols}}, sizeof(real));
  if (!o) return VAR_NONE;
  *(real *)o->attr = (real)slope;
  return o->out[0];
}

static real logistic(real x) {
  real e = exp(-fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/* y = a ⊙ b σ(b) */
static void gate_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  const real *a = op_x(o, l, 0), *b = op_x(o, l, 1);
  real *y = op_y(o, l, 0);
  for (int64_t i = r0 * cols; i < r1 * cols; i++) y[i] = a[i] * b[i] * logistic(b[i]);
}
/* g_a += b σ(b) g_y,  g_b += a (σ(b) + b σ(b)(1 - σ(b))) g_y */
static void gate_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  const real *a = op_x(o, l, 0), *b = op_x(o, l, 1), *gy = op_gy(o, l, 0);
  real *ga = op_gx(o, l, 0), *gb = op_gx(o, l, 1);
  for (int64_t i = r0 * cols; i < r1 * cols; i++) {
    real s = logistic(b[i]);
    if (ga) ga[i] += b[i] * s * gy[i];
    if (gb) gb[i] += a[i] * (s + b[i] * s * (1 - s)) * gy[i];
  }
}
static void gate_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, gate_rows);
}
static void gate_backward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, gate_rows_back);
}
static const op_kind gate = {"gate", gate_forward, gate_backward, 3, 0};

var op_gate(tape *t, var a, var b) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[a].rows, cols = t->var[a].cols;
  assert(t->var[b].rows == rows && t->var[b].cols == cols);
  op *o = tape_op(t, &gate, 2, (const var[]){a, b}, 1, (const int64_t[][2]){{rows, cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}
