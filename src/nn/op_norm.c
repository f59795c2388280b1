/* op_norm.c: layer normalisation over the channels of a row. Mean and deviation are found again in the backward pass. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>

static void norm_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int n = (int)op_out(o, l, 0)->cols;
  l->k->row_norm(r1 - r0, n, row_x(o, l, 0, r0), op_x(o, l, 1), op_x(o, l, 2), row_y(o, l, 0, r0));
}

/* With x̂ = (x - mean)·inv and q = g ⊙ g_y:  g_x += inv (q - mean(q) - x̂ mean(q ⊙ x̂)).
 * partial: Σ g_y ⊙ x̂ (for g), then Σ g_y (for b) */
static void norm_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int n = (int)op_out(o, l, 0)->cols;
  l->k->row_norm_back(r1 - r0, n, row_x(o, l, 0, r0), op_x(o, l, 1), row_gy(o, l, 0, r0), op_adds(o, l, 0),
                      row_gx(o, l, 0, r0), partial);
}

static const row_kind norm = {{"norm", NULL, NULL, 3, 0}, norm_rows, norm_rows_back, NULL};

var op_norm(tape *t, var x, var g, var b) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows, n = t->var[x].cols;
  assert(t->var[g].rows * t->var[g].cols == n && t->var[b].rows * t->var[b].cols == n);
  op *o = tape_row_op(t, &norm, 6, 3, (const var[]){x, g, b}, 1, (const int64_t[][2]){{rows, n}}, 0);
  return o ? o->out[0] : VAR_NONE;
}
