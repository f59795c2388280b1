/* op_attend.c: what attention needs beside affine maps: weights that sum to one along rows or columns, the product of two fields summed
 * over their rows, and small matrices turned or divided row by row. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* y_rj = e^{x_rj - m_r} / Σ_j, m_r the largest of the row */
static void softmax_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols, rows = r1 - r0;
  const real *x = row_x(o, l, 0, r0);
  real *y = row_y(o, l, 0, r0);
  for (int64_t r = 0; r < rows; r++) {
    real most = x[r * cols];
    for (int64_t j = 1; j < cols; j++) most = x[r * cols + j] > most ? x[r * cols + j] : most;
    for (int64_t j = 0; j < cols; j++) y[r * cols + j] = x[r * cols + j] - most;
  }
  l->k->map(KERN_EXP, (size_t)(rows * cols), y, y);
  for (int64_t r = 0; r < rows; r++) {
    real sum = 0;
    for (int64_t j = 0; j < cols; j++) sum += y[r * cols + j];
    sum = 1 / sum;
    for (int64_t j = 0; j < cols; j++) y[r * cols + j] *= sum;
  }
}
/* g_x_j += y_j (g_j - Σ_i y_i g_i) */
static void softmax_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t cols = op_out(o, l, 0)->cols;
  int add = op_adds(o, l, 0);
  (void)partial;
  for (int64_t r = 0; r < r1 - r0; r++) {
    const real *y = row_y(o, l, 0, r0) + r * cols, *g = row_gy(o, l, 0, r0) + r * cols;
    real *gx = row_gx(o, l, 0, r0) + r * cols, dot = 0;
    for (int64_t j = 0; j < cols; j++) dot += y[j] * g[j];
    for (int64_t j = 0; j < cols; j++) gx[j] = (add ? gx[j] : 0) + y[j] * (g[j] - dot);
  }
}
static const row_kind softmax = {{"softmax", NULL, NULL, 0, 1}, softmax_rows, softmax_rows_back, NULL};

var op_softmax(tape *t, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  op *o = tape_row_op(t, &softmax, 0, 1, &x, 1, (const int64_t[][2]){{t->var[x].rows, t->var[x].cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}

/* The same along columns. The largest entries and the sums are found in one thread, row after row. */
static void columns_forward(const op *o, const lane *l) {
  int64_t rows = op_out(o, l, 0)->rows, cols = op_out(o, l, 0)->cols;
  const real *x = op_x(o, l, 0);
  real *y = op_y(o, l, 0), *most = op_y(o, l, 1), *sum = most + cols;
  memcpy(most, x, (size_t)cols * sizeof *most);
  memset(sum, 0, (size_t)cols * sizeof *sum);
  for (int64_t r = 1; r < rows; r++)
    for (int64_t j = 0; j < cols; j++) most[j] = x[r * cols + j] > most[j] ? x[r * cols + j] : most[j];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < cols; j++) y[r * cols + j] = x[r * cols + j] - most[j];
  l->k->map(KERN_EXP, (size_t)(rows * cols), y, y);
  l->k->col_sum(rows, (int)cols, 1, y, sum);
  for (int64_t j = 0; j < cols; j++) sum[j] = 1 / sum[j];
  l->k->col_scale(rows, (int)cols, sum, y, 0, y);
}
/* partial: Σ_r y_rj g_rj, which ends in the first row of the second output's buffer */
static void columns_backward(const op *o, const lane *l) {
  int64_t rows = op_out(o, l, 0)->rows, cols = op_out(o, l, 0)->cols;
  const real *y = l->val[o->out[0]], *g = op_gy(o, l, 0);
  real *gx = op_gx(o, l, 0), *dot = l->out[o->out[1]];
  memset(dot, 0, (size_t)cols * sizeof *dot);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < cols; j++) dot[j] += y[r * cols + j] * g[r * cols + j];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < cols; j++) gx[r * cols + j] += y[r * cols + j] * (g[r * cols + j] - dot[j]);
}
static const op_kind columns = {"softmax_columns", columns_forward, columns_backward, 0, 3};

var op_softmax_columns(tape *t, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows, cols = t->var[x].cols;
  op *o = tape_op(t, &columns, 1, &x, 1 + 1, (const int64_t[][2]){{rows, cols}, {2, cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}

/* c_ij = Σ_r a_ri b_rj */
static void gram_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int p = (int)op_in(o, l, 0)->cols, q = (int)op_in(o, l, 1)->cols;
  l->k->row_grad(r1 - r0, p, q, op_x(o, l, 0) + r0 * p, (size_t)p, op_x(o, l, 1) + r0 * q, (size_t)q, partial);
}
static void gram_forward(const op *o, const lane *l) {
  const sum_to to = {op_y(o, l, 0), o->partial};
  memset(to.dst, 0, (size_t)o->partial * sizeof(real));
  par_sums(o, l, op_in(o, l, 0)->rows, gram_sums, 1, &to);
}
/* g_a += b gᵀ,  g_b += a g; scratch: gᵀ */
static void gram_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int p = (int)op_in(o, l, 0)->cols, q = (int)op_in(o, l, 1)->cols;
  const kern_term to_a = {op_x(o, l, 1) + r0 * q, (size_t)q, q, op_scratch(o, l), p},
                  to_b = {op_x(o, l, 0) + r0 * p, (size_t)p, p, op_gy(o, l, 0), q};
  real *ga = op_gx(o, l, 0), *gb = op_gx(o, l, 1);
  if (ga) l->k->row_mm(&(kern_rows){r1 - r0, p, 1, &to_a, NULL, op_adds(o, l, 0), ga + r0 * p, (size_t)p});
  if (gb) l->k->row_mm(&(kern_rows){r1 - r0, q, 1, &to_b, NULL, op_adds(o, l, 1), gb + r0 * q, (size_t)q});
}
static void gram_backward(const op *o, const lane *l) {
  int64_t p = op_in(o, l, 0)->cols, q = op_in(o, l, 1)->cols;
  for (int64_t i = 0; i < p; i++)
    for (int64_t j = 0; j < q; j++) op_scratch(o, l)[j * p + i] = op_gy(o, l, 0)[i * q + j];
  par_rows(o, l, op_in(o, l, 0)->rows, gram_rows_back);
}
static const op_kind gram = {"gram", gram_forward, gram_backward, 3, 0};

var op_gram(tape *t, var a, var b) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[a].rows, p = t->var[a].cols, q = t->var[b].cols;
  assert(t->var[b].rows == rows);
  op *o = tape_op(t, &gram, 2, (const var[]){a, b}, 1, (const int64_t[][2]){{p, q}}, 0);
  if (!o) return VAR_NONE;
  op_reduces(o, rows, p * q);
  o->work = (double)(rows * p * q);
  o->scratch = p * q;
  if (a != b) o->fresh = 3;
  return o->out[0];
}

static void turn_forward(const op *o, const lane *l) {
  int64_t p = op_in(o, l, 0)->rows, q = op_in(o, l, 0)->cols;
  for (int64_t i = 0; i < p; i++)
    for (int64_t j = 0; j < q; j++) op_y(o, l, 0)[j * p + i] = op_x(o, l, 0)[i * q + j];
}
static void turn_backward(const op *o, const lane *l) {
  int64_t p = op_in(o, l, 0)->rows, q = op_in(o, l, 0)->cols;
  for (int64_t i = 0; i < p; i++)
    for (int64_t j = 0; j < q; j++) op_gx(o, l, 0)[i * q + j] += op_gy(o, l, 0)[j * p + i];
}
static const op_kind turn = {"turn", turn_forward, turn_backward, 0, 0};

var op_turn(tape *t, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  op *o = tape_op(t, &turn, 1, &x, 1, (const int64_t[][2]){{t->var[x].cols, t->var[x].rows}}, 0);
  return o ? o->out[0] : VAR_NONE;
}

/* Inputs x [M × C], total [1 × M]; y_mj = x_mj / (total_m + eps) */
static void divide_forward(const op *o, const lane *l) {
  int64_t rows = op_out(o, l, 0)->rows, cols = op_out(o, l, 0)->cols;
  const real eps = *(const real *)o->attr;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < cols; j++)
      op_y(o, l, 0)[r * cols + j] = op_x(o, l, 0)[r * cols + j] / (op_x(o, l, 1)[r] + eps);
}
/* g_x += g_y / (total + eps),  g_total_m -= Σ_j g_y_mj y_mj / (total_m + eps) */
static void divide_backward(const op *o, const lane *l) {
  int64_t rows = op_out(o, l, 0)->rows, cols = op_out(o, l, 0)->cols;
  const real eps = *(const real *)o->attr, *y = l->val[o->out[0]], *g = op_gy(o, l, 0);
  real *gx = op_gx(o, l, 0), *gt = op_gx(o, l, 1);
  for (int64_t r = 0; r < rows; r++) {
    real inverse = 1 / (op_x(o, l, 1)[r] + eps), dot = 0;
    for (int64_t j = r * cols; j < (r + 1) * cols; j++) {
      if (gx) gx[j] += g[j] * inverse;
      dot += g[j] * y[j];
    }
    if (gt) gt[r] -= dot * inverse;
  }
}
static const op_kind divide = {"divide", divide_forward, divide_backward, 2, 1};

var op_divide_rows(tape *t, var x, var total, double eps) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(t->var[total].rows == 1 && t->var[total].cols == t->var[x].rows);
  op *o = tape_op(t, &divide, 2, (const var[]){x, total}, 1, (const int64_t[][2]){{t->var[x].rows, t->var[x].cols}},
                  sizeof(real));
  if (!o) return VAR_NONE;
  *(real *)o->attr = (real)eps;
  return o->out[0];
}
