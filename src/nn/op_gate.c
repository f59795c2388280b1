/* op_gate.c: rectifiers and the gated product. Separate from op_unary.c: they are cheap, piecewise or of two operands. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>

static size_t entries_of(const op *o, const lane *l, int64_t r0, int64_t r1) {
  return (size_t)((r1 - r0) * op_out(o, l, 0)->cols);
}

/* y = x where x > 0, slope·x elsewhere; attributes: the slope */
static void relu_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  l->k->relu(entries_of(o, l, r0, r1), *(const real *)o->attr, row_x(o, l, 0, r0), row_y(o, l, 0, r0));
}
/* g_x += (x > 0 ? 1 : slope) g_y */
static void relu_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  (void)partial;
  l->k->relu_back(entries_of(o, l, r0, r1), *(const real *)o->attr, row_x(o, l, 0, r0), row_gy(o, l, 0, r0),
                  op_adds(o, l, 0), row_gx(o, l, 0, r0));
}
static const row_kind relu = {{"relu", NULL, NULL, 1, 0}, relu_rows, relu_rows_back, NULL};

var op_relu(tape *t, double slope, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  op *o = tape_row_op(t, &relu, 0, 1, &x, 1, (const int64_t[][2]){{t->var[x].rows, t->var[x].cols}}, sizeof(real));
  if (!o) return VAR_NONE;
  *(real *)o->attr = (real)slope;
  return o->out[0];
}

/* y = a ⊙ b σ(b) */
static void gate_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  l->k->gate(entries_of(o, l, r0, r1), row_x(o, l, 0, r0), row_x(o, l, 1, r0), row_y(o, l, 0, r0));
}
/* g_a += b σ(b) g_y,  g_b += a (σ(b) + b σ(b)(1 - σ(b))) g_y */
static void gate_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  (void)partial;
  l->k->gate_back(entries_of(o, l, r0, r1), row_x(o, l, 0, r0), row_x(o, l, 1, r0), row_gy(o, l, 0, r0),
                  op_adds(o, l, 0), row_gx(o, l, 0, r0), op_adds(o, l, 1), row_gx(o, l, 1, r0));
}
static const row_kind gate = {{"gate", NULL, NULL, 3, 0}, gate_rows, gate_rows_back, NULL};

var op_gate(tape *t, var a, var b) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[a].rows, cols = t->var[a].cols;
  assert(t->var[b].rows == rows && t->var[b].cols == cols);
  op *o = tape_row_op(t, &gate, 0, 2, (const var[]){a, b}, 1, (const int64_t[][2]){{rows, cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}
