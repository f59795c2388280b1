/* op_affine.c: y = [x_1 | … | x_n] W + b. The inner loops run over strips of 8 columns, a length the compiler knows. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <stdio.h>

enum { STRIP = 8 };
typedef struct {
  int n, bias;
} affine_attr;

/* y[0 … out) = start + Σ_k x[k] w[k][·]; k over `in` rows of w. y may be the start. */
static void row_times(int64_t in, int64_t out, const real *x, const real *w, const real *start, real *y) {
  int64_t j0 = 0;
  for (; j0 + STRIP <= out; j0 += STRIP) {
    real sum[STRIP];
    for (int j = 0; j < STRIP; j++) sum[j] = start ? start[j0 + j] : 0;
    for (int64_t k = 0; k < in; k++)
      for (int j = 0; j < STRIP; j++) sum[j] += x[k] * w[k * out + j0 + j];
    for (int j = 0; j < STRIP; j++) y[j0 + j] = sum[j];
  }
  for (; j0 < out; j0++) {
    real sum = start ? start[j0] : 0;
    for (int64_t k = 0; k < in; k++) sum += x[k] * w[k * out + j0];
    y[j0] = sum;
  }
}

static void affine_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const affine_attr *a = o->attr;
  int64_t out = op_out(o, l, 0)->cols;
  const real *b = a->bias ? op_x(o, l, a->n + 1) : NULL;
  for (int64_t r = r0; r < r1; r++) {
    const real *w = op_x(o, l, a->n);
    real *y = op_y(o, l, 0) + r * out;
    for (int i = 0; i < a->n; i++) {
      int64_t in = op_in(o, l, i)->cols;
      row_times(in, out, op_x(o, l, i) + r * in, w, i == 0 ? b : y, y);
      w += in * out;
    }
  }
}

static void affine_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, affine_rows);
}

static real dot(int64_t n, const real *a, const real *b) {
  real sum[STRIP] = {0}, total = 0;
  int64_t i = 0;
  for (; i + STRIP <= n; i += STRIP)
    for (int j = 0; j < STRIP; j++) sum[j] += a[i + j] * b[i + j];
  for (; i < n; i++) total += a[i] * b[i];
  for (int j = 0; j < STRIP; j++) total += sum[j];
  return total;
}

static void add_multiple(int64_t n, real a, const real *x, real *y) {
  int64_t i = 0;
  for (; i + STRIP <= n; i += STRIP)
    for (int j = 0; j < STRIP; j++) y[i + j] += a * x[i + j];
  for (; i < n; i++) y[i] += a * x[i];
}

/* g_x[k] += Σ_j g_y[j] w[k][j] */
static void back_x(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const affine_attr *a = o->attr;
  int64_t out = op_out(o, l, 0)->cols;
  const real *w = op_x(o, l, a->n);
  for (int i = 0; i < a->n; i++) {
    int64_t in = op_in(o, l, i)->cols;
    real *gx = op_gx(o, l, i);
    for (int64_t r = r0; gx && r < r1; r++)
      for (int64_t k = 0; k < in; k++) gx[r * in + k] += dot(out, op_gy(o, l, 0) + r * out, w + k * out);
    w += in * out;
  }
}

/* g_w[k][j] += x[k] g_y[j], g_b[j] += g_y[j], and g_x on the way. partial: W's shape, then b's. */
static void back_all(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const affine_attr *a = o->attr;
  int64_t out = op_out(o, l, 0)->cols;
  back_x(o, l, r0, r1);
  for (int i = 0; i < a->n; i++) {
    int64_t in = op_in(o, l, i)->cols;
    for (int64_t r = r0; r < r1; r++)
      for (int64_t k = 0; k < in; k++)
        add_multiple(out, op_x(o, l, i)[r * in + k], op_gy(o, l, 0) + r * out, partial + k * out);
    partial += in * out;
  }
  for (int64_t r = r0; a->bias && r < r1; r++) add_multiple(out, 1, op_gy(o, l, 0) + r * out, partial);
}

static void affine_backward(const op *o, const lane *l) {
  const affine_attr *a = o->attr;
  int64_t rows = op_out(o, l, 0)->rows;
  const tape_var *w = op_in(o, l, a->n);
  const sum_to to[2] = {{op_gx(o, l, a->n), w->rows * w->cols}, {a->bias ? op_gx(o, l, a->n + 1) : NULL, w->cols}};
  if (to[0].dst || to[1].dst)
    par_sums(o, l, rows, back_all, 1 + a->bias, to);
  else
    par_rows(o, l, rows, back_x);
}

static const op_kind affine = {"affine", affine_forward, affine_backward, OP_ALL, 0};

var op_affine(tape *t, int n, const var *x, var w, var b) {
  var in[32];
  int64_t width = 0;
  assert(n >= 1 && n <= 30);
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) {
    in[i] = x[i];
    width += t->var[x[i]].cols;
    assert(t->var[x[i]].rows == t->var[x[0]].rows);
  }
  const int64_t rows = t->var[x[0]].rows, out = t->var[w].cols;
  assert(width == t->var[w].rows && (b == VAR_NONE || (t->var[b].rows == 1 && t->var[b].cols == out)));
  in[n] = w;
  in[n + 1] = b;
  int bias = b != VAR_NONE;
  op *o = tape_op(t, &affine, n + 1 + bias, in, 1, (const int64_t[][2]){{rows, out}}, sizeof(affine_attr));
  if (!o) return VAR_NONE;
  *(affine_attr *)o->attr = (affine_attr){n, bias};
  op_reduces(o, rows, (width + bias) * out);
  return o->out[0];
}

var op_mlp(tape *t, const char *name, int n, const var *x) {
  static const char *const part[] = {"lin1.w", "lin1.b", "norm.g", "norm.b", "lin2.w", "lin2.b"};
  var p[6];
  for (int i = 0; i < 6; i++) {
    char full[PARAM_NAME_MAX + 1];
    snprintf(full, sizeof full, "%s.%s", name, part[i]);
    p[i] = tape_param(t, full);
  }
  var y = op_fn(t, FN_GELU, op_affine(t, n, x, p[0], p[1]));
  y = op_norm(t, y, p[2], p[3]);
  return op_affine(t, 1, &y, p[4], p[5]);
}
