/* op_basis.c: coefficients of fields against a fixed basis, c = bᵀ x, and synthesis, y = b c; each is made of the other's
 * two loops. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* c[k][j] += Σ_r b[r][k] x[r][j] */
static void analyse(int64_t r0, int64_t r1, int64_t beta, int64_t ch, const real *b, const real *x, real *c) {
  for (int64_t r = r0; r < r1; r++)
    for (int64_t k = 0; k < beta; k++)
      for (int64_t j = 0; j < ch; j++) c[k * ch + j] += b[r * beta + k] * x[r * ch + j];
}
/* x[r][j] += Σ_k b[r][k] c[k][j] */
static void synthesise(int64_t r0, int64_t r1, int64_t beta, int64_t ch, const real *b, const real *c, real *x) {
  for (int64_t r = r0; r < r1; r++)
    for (int64_t k = 0; k < beta; k++)
      for (int64_t j = 0; j < ch; j++) x[r * ch + j] += b[r * beta + k] * c[k * ch + j];
}

/* Inputs basis [N × β], x. */
static void coef_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const tape_var *c = op_out(o, l, 0);
  analyse(r0, r1, c->rows, c->cols, op_x(o, l, 0), op_x(o, l, 1), partial);
}
static void coef_forward(const op *o, const lane *l) {
  const sum_to to = {op_y(o, l, 0), o->partial};
  memset(to.dst, 0, (size_t)o->partial * sizeof(real));
  par_sums(o, l, op_in(o, l, 1)->rows, coef_sums, 1, &to);
}
static void coef_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const tape_var *c = op_out(o, l, 0);
  synthesise(r0, r1, c->rows, c->cols, op_x(o, l, 0), op_gy(o, l, 0), op_gx(o, l, 1));
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
  op_reduces(o, n, beta * ch);
  return o->out[0];
}

/* Inputs basis [N × β], c (β·C entries). */
static void synth_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t beta = op_in(o, l, 0)->cols, ch = op_out(o, l, 0)->cols;
  memset(op_y(o, l, 0) + r0 * ch, 0, (size_t)((r1 - r0) * ch) * sizeof(real));
  synthesise(r0, r1, beta, ch, op_x(o, l, 0), op_x(o, l, 1), op_y(o, l, 0));
}
static void synth_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, synth_rows);
}
static void synth_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  analyse(r0, r1, op_in(o, l, 0)->cols, op_out(o, l, 0)->cols, op_x(o, l, 0), op_gy(o, l, 0), partial);
}
static void synth_backward(const op *o, const lane *l) {
  const sum_to to = {op_gx(o, l, 1), o->partial};
  par_sums(o, l, op_out(o, l, 0)->rows, synth_sums, 1, &to);
}
static const op_kind synthesis = {"synthesis", synth_forward, synth_backward, 1, 0};

var op_synthesis(tape *t, var basis, var c, int64_t channels) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t n = t->var[basis].rows, beta = t->var[basis].cols;
  assert(t->var[basis].kind == VAR_CONST && t->var[c].rows * t->var[c].cols == beta * channels);
  op *o = tape_op(t, &synthesis, 2, (const var[]){basis, c}, 1, (const int64_t[][2]){{n, channels}}, 0);
  if (!o) return VAR_NONE;
  op_reduces(o, n, beta * channels);
  return o->out[0];
}
