/* op_contract.c: the product of a branch and a trunk, and rows read as another shape. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* Inputs: branch [1 × O·D], trunk [N × O·D], bias [1 × O]. y_no = Σ_d branch_od trunk_nod + bias_o */
static void contract_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int width = (int)op_in(o, l, 1)->cols, out = (int)op_out(o, l, 0)->cols, d = width / out;
  for (int c = 0; c < out; c++) {
    const kern_term term = {row_x(o, l, 1, r0) + c * d, (size_t)width, d, op_x(o, l, 0) + c * d, 1};
    l->k->row_mm(&(kern_rows){r1 - r0, 1, 1, &term, op_x(o, l, 2) + c, 0, row_y(o, l, 0, r0) + c, (size_t)out});
  }
}
/* g_trunk_nod += g_y_no branch_od; partial: g_branch_od = Σ_n g_y_no trunk_nod, then g_bias_o = Σ_n g_y_no */
static void contract_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int width = (int)op_in(o, l, 1)->cols, out = (int)op_out(o, l, 0)->cols, d = width / out;
  const real *gy = row_gy(o, l, 0, r0);
  real *g_trunk = row_gx(o, l, 1, r0);
  for (int c = 0; c < out; c++) {
    const kern_term term = {gy + c, (size_t)out, 1, op_x(o, l, 0) + c * d, d};
    if (g_trunk)
      l->k->row_mm(&(kern_rows){r1 - r0, d, 1, &term, NULL, op_adds(o, l, 1), g_trunk + c * d, (size_t)width});
    if (partial)
      l->k->row_grad(r1 - r0, 1, d, gy + c, (size_t)out, row_x(o, l, 1, r0) + c * d, (size_t)width, partial + c * d);
  }
  if (partial) l->k->col_sum(r1 - r0, out, 1, gy, partial + width);
}
static const row_kind contract = {{"contract", NULL, NULL, 3, 0}, contract_rows, contract_rows_back, NULL};

var op_contract(tape *t, var branch, var trunk, var bias) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[trunk].rows, width = t->var[trunk].cols, out = t->var[bias].cols;
  assert(t->var[branch].rows == 1 && t->var[branch].cols == width && t->var[bias].rows == 1 && width % out == 0);
  op *o = tape_row_op(t, &contract, 5, 3, (const var[]){branch, trunk, bias}, 1, (const int64_t[][2]){{rows, out}}, 0);
  if (!o) return VAR_NONE;
  o->work = (double)(rows * width);
  return o->out[0];
}

static void reshape_forward(const op *o, const lane *l) {
  const tape_var *y = op_out(o, l, 0);
  memcpy(op_y(o, l, 0), op_x(o, l, 0), (size_t)(y->rows * y->cols) * sizeof(real));
}
static void reshape_backward(const op *o, const lane *l) {
  int64_t n = op_out(o, l, 0)->rows * op_out(o, l, 0)->cols;
  if (op_adds(o, l, 0))
    l->k->axpy((size_t)n, 1, op_gy(o, l, 0), op_gx(o, l, 0));
  else
    memcpy(op_gx(o, l, 0), op_gy(o, l, 0), (size_t)n * sizeof(real));
}
static const op_kind reshape = {"reshape", reshape_forward, reshape_backward, 0, 0};

var op_reshape(tape *t, var x, int64_t rows, int64_t cols) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(t->var[x].rows * t->var[x].cols == rows * cols);
  op *o = tape_op(t, &reshape, 1, &x, 1, (const int64_t[][2]){{rows, cols}}, 0);
  if (!o) return VAR_NONE;
  o->fresh = 1;
  return o->out[0];
}
