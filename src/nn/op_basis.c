/* op_basis.c: coefficients of fields against a fixed basis, c = bᵀ x, and synthesis, y = b c; each is made of the other's
 * two products. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* x[r][j] (+)= Σ_k b[r][k] c[k][j] */
static void expand_in_basis(const lane *l, int64_t rows, int64_t beta, int64_t ch, const real *b, const real *c,
                            int add, real *x) {
  const kern_term term = {b, (size_t)beta, (int)beta, c, (int)ch};
  l->k->row_mm(&(kern_rows){rows, (int)ch, 1, &term, NULL, add, x, (size_t)ch});
}

/* Inputs basis [N × β], x. partial: c[k][j] += Σ_r b[r][k] x[r][j] */
static void coef_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const tape_var *c = op_out(o, l, 0);
  l->k->row_grad(r1 - r0, (int)c->rows, (int)c->cols, op_x(o, l, 0) + r0 * c->rows, (size_t)c->rows,
                 op_x(o, l, 1) + r0 * c->cols, (size_t)c->cols, partial);
}
static void coef_forward(const op *o, const lane *l) {
  const sum_to to = {op_y(o, l, 0), o->partial};
  memset(to.dst, 0, (size_t)o->partial * sizeof(real));
  par_sums(o, l, op_in(o, l, 1)->rows, coef_sums, 1, &to);
}
static void coef_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const tape_var *c = op_out(o, l, 0);
  expand_in_basis(l, r1 - r0, c->rows, c->cols, op_x(o, l, 0) + r0 * c->rows, op_gy(o, l, 0), op_adds(o, l, 1),
                  op_gx(o, l, 1) + r0 * c->cols);
}
static void coef_backward(const op *o, const lane *l) {
  par_rows(o, l, op_in(o, l, 1)->rows, coef_rows);
}
static const op_kind coefficients = {"coefficients", coef_forward, coef_backward, 1, 0};

var op_coefficients(tape *t, var basis, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t n = t->var[x].rows, beta = t->var[basis].cols, ch = t->var[x].cols;
  assert(t->var[basis].kind == VAR_CONST && t->var[basis].rows == n);
  op *o = tape_op(t, &coefficients, 2, (const var[]){basis, x}, 1, (const int64_t[][2]){{beta, ch}}, 0);
  if (!o) return VAR_NONE;
  o->fresh = 2;
  op_reduces(o, n, beta * ch);
  o->work = (double)(n * beta * ch);
  return o->out[0];
}

/* Inputs basis [N × β], c (β·C entries). */
static void synth_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  expand_in_basis(l, r1 - r0, op_in(o, l, 0)->cols, op_out(o, l, 0)->cols, row_x(o, l, 0, r0), op_x(o, l, 1), 0,
                  row_y(o, l, 0, r0));
}
static void synth_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int beta = (int)op_in(o, l, 0)->cols, ch = (int)op_out(o, l, 0)->cols;
  if (partial)
    l->k->row_grad(r1 - r0, beta, ch, row_x(o, l, 0, r0), (size_t)beta, row_gy(o, l, 0, r0), (size_t)ch, partial);
}
static const row_kind synthesis = {{"synthesis", NULL, NULL, 1, 0}, synth_rows, synth_rows_back, NULL};

var op_synthesis(tape *t, var basis, var c, int64_t channels) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t n = t->var[basis].rows, beta = t->var[basis].cols;
  assert(t->var[basis].kind == VAR_CONST && t->var[c].rows * t->var[c].cols == beta * channels);
  op *o = tape_row_op(t, &synthesis, 2, 2, (const var[]){basis, c}, 1, (const int64_t[][2]){{n, channels}}, 0);
  if (!o) return VAR_NONE;
  o->work = (double)(n * beta * channels);
  return o->out[0];
}
