/* op_batch.c: normalisation over all rows of all samples of a batch. It is a chain of small operations: the moments of each
 * sample, the barrier that makes them those of the batch (and moves the running ones), and an affine map of the columns. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double EPS = 1e-5, MOMENTUM = 0.1;

/* Input x [N × C]; output [2 × C]: mean = Σ x_r / N, and M = Σ (x_r - mean)². */
static void mean_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t n = op_in(o, l, 0)->rows, ch = op_in(o, l, 0)->cols;
  l->k->col_sum(r1 - r0, (int)ch, (real)(1.0 / (double)n), op_x(o, l, 0) + r0 * ch, partial);
}
static void square_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t ch = op_in(o, l, 0)->cols;
  l->k->col_dot(r1 - r0, (int)ch, op_x(o, l, 0) + r0 * ch, op_y(o, l, 0), NULL, partial);
}
static void moments_forward(const op *o, const lane *l) {
  int64_t n = op_in(o, l, 0)->rows, ch = op_in(o, l, 0)->cols;
  real *y = op_y(o, l, 0);
  memset(y, 0, (size_t)(2 * ch) * sizeof *y);
  par_sums(o, l, n, mean_sums, 1, &(sum_to){y, ch});
  par_sums(o, l, n, square_sums, 1, &(sum_to){y + ch, ch});
}
/* g_x_r += 2 (x_r - mean) g_M + g_mean / N; scratch: the factors */
static void moments_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t ch = op_in(o, l, 0)->cols;
  const real *scale = op_scratch(o, l);
  l->k->col_affine(r1 - r0, (int)ch, op_x(o, l, 0) + r0 * ch, l->val[o->out[0]], scale, scale + ch, op_adds(o, l, 0),
                   op_gx(o, l, 0) + r0 * ch);
}
static void moments_backward(const op *o, const lane *l) {
  int64_t n = op_in(o, l, 0)->rows, ch = op_in(o, l, 0)->cols;
  const real *gy = op_gy(o, l, 0);
  real *scale = op_scratch(o, l);
  for (int64_t c = 0; c < ch; c++) {
    scale[c] = 2 * gy[ch + c];
    scale[ch + c] = gy[c] / (real)n;
  }
  par_rows(o, l, n, moments_rows_back);
}
static const op_kind moments = {"moments", moments_forward, moments_backward, 1, 1};

/* The barrier. Inputs: the samples' moments, the running mean and variance (states); outputs mean and 1/√(var + eps), [1 × C].
 * Attribute: rows n of a sample. With B samples, N = B n:  mean = Σ mean_s / B,  M = Σ (M_s + n (mean_s - mean)²),
 * var = M / N. The running moments move towards mean and M / (N - 1) by the momentum. */
static void pooled(int64_t count, const op *o, const lane *l, int64_t c, double *mean, double *square) {
  double n = (double)*(const int64_t *)o->attr;
  int64_t ch = op_out(o, l, 0)->cols;
  *mean = *square = 0;
  for (int64_t i = 0; i < count; i++) *mean += (double)op_x(o, &l[i], 0)[c] / (double)count;
  for (int64_t i = 0; i < count; i++) {
    const real *m = op_x(o, &l[i], 0);
    *square += (double)m[ch + c] + n * ((double)m[c] - *mean) * ((double)m[c] - *mean);
  }
}
/* Per channel over all rows of all samples: y_0 = mean, y_1 = (var + eps)^(-1/2). Running statistics move by MOMENTUM towards mean and the
 * unbiased variance; they are state, so what is added goes where gradients go. */
static void pool_forward(const op *o, int64_t count, const lane *l) {
  double all = (double)(count * *(const int64_t *)o->attr), mean, square;
  for (int64_t c = 0; c < op_out(o, l, 0)->cols; c++) {
    pooled(count, o, l, c, &mean, &square);
    for (int64_t i = 0; i < count; i++) {
      op_y(o, &l[i], 0)[c] = (real)mean;
      op_y(o, &l[i], 1)[c] = (real)(1 / sqrt(square / all + EPS));
    }
    op_gx(o, l, 1)[c] += (real)(MOMENTUM * (mean - (double)op_x(o, l, 1)[c]));
    op_gx(o, l, 2)[c] += (real)(MOMENTUM * (square / fmax(all - 1, 1) - (double)op_x(o, l, 2)[c]));
  }
}
/* With G the cotangents summed over the samples and G_var = -½ (var + eps)^(-3/2) G_rstd:
 * g_mean_s += G_mean / B + 2 G_var (mean_s - mean) / B,  g_M_s += G_var / N. */
static void pool_backward(const op *o, int64_t count, const lane *l) {
  int64_t ch = op_out(o, l, 0)->cols;
  double all = (double)(count * *(const int64_t *)o->attr), each = 1 / (double)count;
  for (int64_t c = 0; c < ch; c++) {
    double mean = (double)l->val[o->out[0]][c], rstd = (double)l->val[o->out[1]][c], g_mean = 0, g_rstd = 0;
    for (int64_t i = 0; i < count; i++) {
      g_mean += (double)op_gy(o, &l[i], 0)[c];
      g_rstd += (double)op_gy(o, &l[i], 1)[c];
    }
    double g_var = -0.5 * rstd * rstd * rstd * g_rstd;
    for (int64_t i = 0; op_gx(o, l, 0) && i < count; i++) {
      real *g = op_gx(o, &l[i], 0);
      g[c] += (real)(each * (g_mean + 2 * g_var * ((double)op_x(o, &l[i], 0)[c] - mean)));
      g[ch + c] += (real)(g_var / all);
    }
  }
}
static void running_forward(const op *o, const lane *l) {
  for (int64_t c = 0; c < op_out(o, l, 0)->cols; c++) {
    op_y(o, l, 0)[c] = op_x(o, l, 1)[c];
    op_y(o, l, 1)[c] = (real)(1 / sqrt((double)op_x(o, l, 2)[c] + EPS));
  }
}
static const mix_kind pool_moments = {{"pool_moments", running_forward, NULL, 1, 3}, 6, pool_forward, pool_backward};

/* Inputs b, mean, scale [1 × C]; y = b - (mean - m) scale, where m is the mean once more, counted as fixed: the value is b,
 * the derivative by the mean is there. */
static void shift_forward(const op *o, const lane *l) {
  memcpy(op_y(o, l, 0), op_x(o, l, 0), (size_t)op_out(o, l, 0)->cols * sizeof(real));
}
static void shift_backward(const op *o, const lane *l) {
  const real *gy = op_gy(o, l, 0);
  for (int64_t c = 0; c < op_out(o, l, 0)->cols; c++) {
    if (op_gx(o, l, 0)) op_gx(o, l, 0)[c] += gy[c];
    if (op_gx(o, l, 1)) op_gx(o, l, 1)[c] -= op_x(o, l, 2)[c] * gy[c];
  }
}
static const op_kind shift_kind = {"batch_shift", shift_forward, shift_backward, 4, 0};

/* Inputs x, m, scale, shift; y = (x - m) ⊙ scale + shift by rows; m counts as fixed. */
static void centred_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  l->k->col_affine(r1 - r0, (int)op_out(o, l, 0)->cols, row_x(o, l, 0, r0), op_x(o, l, 1), op_x(o, l, 2), op_x(o, l, 3),
                   0, row_y(o, l, 0, r0));
}
/* g_x += scale ⊙ g_y; partial: nothing for m, Σ (x - m) ⊙ g_y, Σ g_y */
static void centred_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int ch = (int)op_out(o, l, 0)->cols;
  const real *gy = row_gy(o, l, 0, r0);
  real *gx = row_gx(o, l, 0, r0);
  if (gx) l->k->col_scale(r1 - r0, ch, op_x(o, l, 2), gy, op_adds(o, l, 0), gx);
  if (!partial) return;
  l->k->col_dot(r1 - r0, ch, row_x(o, l, 0, r0), op_x(o, l, 1), gy, partial + ch);
  l->k->col_sum(r1 - r0, ch, 1, gy, partial + 2 * ch);
}
static const row_kind centred = {{"centred", NULL, NULL, 7, 0}, centred_rows, centred_rows_back, NULL};

static var tensor_of(tape *t, const char *name, const char *part) {
  char full[PARAM_NAME_MAX + 1];
  snprintf(full, sizeof full, "%s.%s", name, part);
  return tape_param(t, full);
}

var op_batch_norm(tape *t, const char *name, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows, ch = t->var[x].cols;
  const int64_t two[][2] = {{2, ch}}, ones[][2] = {{1, ch}, {1, ch}}, all[][2] = {{rows, ch}};
  var g = tensor_of(t, name, "g"), b = tensor_of(t, name, "b");
  const var run[2] = {tensor_of(t, name, "mean"), tensor_of(t, name, "var")};
  op *o = tape_op(t, &moments, 1, &x, 1, two, 0);
  if (!o) return VAR_NONE;
  assert(t->var[x].level == LEVEL_SAMPLE && t->var[g].cols == ch);
  o->fresh = 1;
  o->scratch = 2 * ch;
  op_reduces(o, rows, ch);
  o = tape_mix_op(t, &pool_moments, 3, (const var[]){o->out[0], run[0], run[1]}, 2, ones, sizeof(int64_t));
  if (!o) return VAR_NONE;
  *(int64_t *)o->attr = rows;
  var mean = o->out[0], scale = op_mul(t, g, o->out[1]);
  o = tape_op(t, &shift_kind, 3, (const var[]){b, mean, scale}, 1, ones, 0);
  if (!o) return VAR_NONE;
  o = tape_row_op(t, &centred, 14, 4, (const var[]){x, mean, scale, o->out[0]}, 1, all, 0);
  return o ? o->out[0] : VAR_NONE;
}
