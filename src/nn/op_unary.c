/* op_unary.c: y = a·f(x) + b entrywise; one table of functions and derivatives. */
#include "nn/block.h"
#include "nn/op.h"

#include <tgmath.h>

typedef struct {
  unary_fn f;
  real a, b;
} unary_attr;

typedef real (*scalar_fn)(real x);

static const real SQRT_HALF = (real)0.70710678118654752440;
static const real INV_SQRT_2PI = (real)0.39894228040143267794;

static real normal_cdf(real x) {
  return (real)0.5 * (1 + erf(x * SQRT_HALF));
}
static real gelu(real x) {
  return x * normal_cdf(x);
}
static real gelu_d(real x) {
  return normal_cdf(x) + x * INV_SQRT_2PI * exp((real)-0.5 * x * x);
}
static real tanh_f(real x) {
  return tanh(x);
}
static real tanh_d(real x) {
  real y = tanh(x);
  return 1 - y * y;
}
static real sigmoid(real x) {
  real e = exp(-fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
static real sigmoid_d(real x) {
  real y = sigmoid(x);
  return y * (1 - y);
}
static real sin_f(real x) {
  return sin(x);
}
static real cos_f(real x) {
  return cos(x);
}
static real cos_d(real x) {
  return -sin(x);
}
static real softplus(real x) {
  return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static const struct {
  scalar_fn f, d;
} table[] = {
    [FN_GELU] = {gelu, gelu_d}, [FN_TANH] = {tanh_f, tanh_d}, [FN_SIGMOID] = {sigmoid, sigmoid_d},
    [FN_SIN] = {sin_f, cos_f},  [FN_COS] = {cos_f, cos_d},    [FN_SOFTPLUS] = {softplus, sigmoid},
};

static void rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const unary_attr *a = o->attr;
  int64_t cols = op_out(o, l, 0)->cols;
  const real *x = op_x(o, l, 0);
  real *y = op_y(o, l, 0);
  scalar_fn f = table[a->f].f;
  for (int64_t i = r0 * cols; i < r1 * cols; i++) y[i] = a->a * f(x[i]) + a->b;
}

/* g_x += a f'(x) ⊙ g_y */
static void rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const unary_attr *a = o->attr;
  int64_t cols = op_out(o, l, 0)->cols;
  const real *x = op_x(o, l, 0), *gy = op_gy(o, l, 0);
  real *gx = op_gx(o, l, 0);
  scalar_fn d = table[a->f].d;
  for (int64_t i = r0 * cols; i < r1 * cols; i++) gx[i] += a->a * d(x[i]) * gy[i];
}

static void unary_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, rows_forward);
}
static void unary_backward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, rows_backward);
}

static const op_kind unary = {"unary", unary_forward, unary_backward, 1, 0};

var op_unary(tape *t, unary_fn f, double a, double b, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  op *o = tape_op(t, &unary, 1, &x, 1, (const int64_t[][2]){{t->var[x].rows, t->var[x].cols}}, sizeof(unary_attr));
  if (!o) return VAR_NONE;
  *(unary_attr *)o->attr = (unary_attr){f, (real)a, (real)b};
  return o->out[0];
}
