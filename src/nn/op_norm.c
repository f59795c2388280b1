/* op_norm.c: layer normalisation over the channels of a row. Mean and deviation are found again in the backward pass. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <tgmath.h>

static const real EPS = (real)1e-5;

/* mean and 1/√(var + eps) of n numbers */
static void moments(int64_t n, const real *x, real *mean, real *inv) {
  real sum = 0, square = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i];
  *mean = sum / (real)n;
  for (int64_t i = 0; i < n; i++) square += (x[i] - *mean) * (x[i] - *mean);
  *inv = 1 / sqrt(square / (real)n + EPS);
}

static void rows_forward(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t n = op_out(o, l, 0)->cols;
  const real *g = op_x(o, l, 1), *b = op_x(o, l, 2);
  for (int64_t r = r0; r < r1; r++) {
    const real *x = op_x(o, l, 0) + r * n;
    real *y = op_y(o, l, 0) + r * n, mean, inv;
    moments(n, x, &mean, &inv);
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * inv * g[i] + b[i];
  }
}

/* With x̂ = (x - mean)·inv and q = g ⊙ g_y:  g_x += inv (q - mean(q) - x̂ mean(q ⊙ x̂)). */
static void row_back_x(int64_t n, const real *x, const real *g, const real *gy, real mean, real inv, real *gx) {
  real q0 = 0, q1 = 0;
  for (int64_t i = 0; i < n; i++) {
    q0 += g[i] * gy[i];
    q1 += g[i] * gy[i] * (x[i] - mean) * inv;
  }
  q0 /= (real)n;
  q1 /= (real)n;
  for (int64_t i = 0; i < n; i++) gx[i] += inv * (g[i] * gy[i] - q0 - (x[i] - mean) * inv * q1);
}

/* partial: Σ g_y ⊙ x̂ (for g), then Σ g_y (for b) */
static void rows_backward(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t n = op_out(o, l, 0)->cols;
  const real *g = op_x(o, l, 1);
  for (int64_t r = r0; r < r1; r++) {
    const real *x = op_x(o, l, 0) + r * n, *gy = op_gy(o, l, 0) + r * n;
    real mean, inv;
    moments(n, x, &mean, &inv);
    for (int64_t i = 0; i < n; i++) {
      partial[i] += gy[i] * (x[i] - mean) * inv;
      partial[n + i] += gy[i];
    }
    if (op_gx(o, l, 0)) row_back_x(n, x, g, gy, mean, inv, op_gx(o, l, 0) + r * n);
  }
}

static void norm_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, rows_forward);
}
static void norm_backward(const op *o, const lane *l) {
  int64_t n = op_out(o, l, 0)->cols;
  const sum_to to[2] = {{op_gx(o, l, 1), n}, {op_gx(o, l, 2), n}};
  par_sums(o, l, op_out(o, l, 0)->rows, rows_backward, 2, to);
}

static const op_kind norm = {"norm", norm_forward, norm_backward, 3, 0};

var op_norm(tape *t, var x, var g, var b) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows, n = t->var[x].cols;
  assert(t->var[g].rows * t->var[g].cols == n && t->var[b].rows * t->var[b].cols == n);
  op *o = tape_op(t, &norm, 3, (const var[]){x, g, b}, 1, (const int64_t[][2]){{rows, n}}, 0);
  if (!o) return VAR_NONE;
  op_reduces(o, rows, 2 * n);
  return o->out[0];
}
