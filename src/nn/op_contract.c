/* op_contract.c: the product of a branch and a trunk, and rows read as another shape. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* Inputs: branch [1 × O·D], trunk [N × O·D], bias [1 × O]. y_no = Σ_d branch_od trunk_nod + bias_o */
static void contract_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t width = op_in(o, l, 1)->cols, out = op_out(o, l, 0)->cols, d = width / out;
  const real *branch = op_x(o, l, 0), *bias = op_x(o, l, 2);
  for (int64_t r = r0; r < r1; r++)
    for (int64_t c = 0; c < out; c++) {
      const real *b = branch + c * d, *t = op_x(o, l, 1) + r * width + c * d;
      real sum = 0;
      for (int64_t i = 0; i < d; i++) sum += b[i] * t[i];
      op_y(o, l, 0)[r * out + c] = sum + bias[c];
    }
}
static void contract_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, contract_rows);
}
/* g_trunk_nod += g_y_no branch_od; partial: g_branch_od = Σ_n g_y_no trunk_nod, then g_bias_o = Σ_n g_y_no */
static void contract_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t width = op_in(o, l, 1)->cols, out = op_out(o, l, 0)->cols, d = width / out;
  const real *branch = op_x(o, l, 0), *trunk = op_x(o, l, 1), *gy = op_gy(o, l, 0);
  real *g_trunk = op_gx(o, l, 1);
  for (int64_t r = r0; r < r1; r++)
    for (int64_t c = 0; c < out; c++) {
      real g = gy[r * out + c];
      partial[width + c] += g;
      for (int64_t i = c * d; i < (c + 1) * d; i++) partial[i] += g * trunk[r * width + i];
      for (int64_t i = c * d; g_trunk && i < (c + 1) * d; i++) g_trunk[r * width + i] += g * branch[i];
    }
}
static void contract_backward(const op *o, const lane *l) {
  const sum_to to[2] = {{op_gx(o, l, 0), op_in(o, l, 0)->cols}, {op_gx(o, l, 2), op_in(o, l, 2)->cols}};
  par_sums(o, l, op_out(o, l, 0)->rows, contract_rows_back, 2, to);
}
static const op_kind contract = {"contract", contract_forward, contract_backward, 3, 0};

var op_contract(tape *t, var branch, var trunk, var bias) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[trunk].rows, width = t->var[trunk].cols, out = t->var[bias].cols;
  assert(t->var[branch].rows == 1 && t->var[branch].cols == width && t->var[bias].rows == 1 && width % out == 0);
  op *o = tape_op(t, &contract, 3, (const var[]){branch, trunk, bias}, 1, (const int64_t[][2]){{rows, out}}, 0);
  if (!o) return VAR_NONE;
  op_reduces(o, rows, width + out);
  return o->out[0];
}

static void reshape_forward(const op *o, const lane *l) {
  const tape_var *y = op_out(o, l, 0);
  memcpy(op_y(o, l, 0), op_x(o, l, 0), (size_t)(y->rows * y->cols) * sizeof(real));
}
static void reshape_backward(const op *o, const lane *l) {
  int64_t n = op_out(o, l, 0)->rows * op_out(o, l, 0)->cols;
  for (int64_t i = 0; i < n; i++) op_gx(o, l, 0)[i] += op_gy(o, l, 0)[i];
}
static const op_kind reshape = {"reshape", reshape_forward, reshape_backward, 0, 0};

var op_reshape(tape *t, var x, int64_t rows, int64_t cols) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(t->var[x].rows * t->var[x].cols == rows * cols);
  op *o = tape_op(t, &reshape, 1, &x, 1, (const int64_t[][2]){{rows, cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}
