/* op_affine.c: y = [x_1 | … | x_n] W + b. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <stdio.h>

enum { TERMS = 30 };
typedef struct {
  int n, bias;
} affine_attr;

/* y = Σ_i x_i W_i + b for the rows r0 … r1-1; the W_i stand below one another in one tensor. */
static void affine_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const affine_attr *a = o->attr;
  kern_term term[TERMS];
  int out = (int)op_out(o, l, 0)->cols;
  const real *w = op_x(o, l, a->n);
  for (int i = 0; i < a->n; i++) {
    int in = (int)op_in(o, l, i)->cols;
    term[i] = (kern_term){row_x(o, l, i, r0), (size_t)in, in, w, out};
    w += in * out;
  }
  l->k->row_mm(&(kern_rows){r1 - r0, out, a->n, term, a->bias ? op_x(o, l, a->n + 1) : NULL, 0, row_y(o, l, 0, r0),
                            (size_t)out});
}

static int wants_inputs(const op *o, const lane *l) {
  const affine_attr *a = o->attr;
  for (int i = 0; i < a->n; i++)
    if (row_gx(o, l, i, 0)) return 1;
  return 0;
}

/* Wᵀ, for the products with rows of g_y. */
static void affine_prepare(const op *o, const lane *l) {
  const tape_var *w = op_in(o, l, ((const affine_attr *)o->attr)->n);
  const real *from = op_x(o, l, ((const affine_attr *)o->attr)->n);
  real *to = op_scratch(o, l);
  if (!wants_inputs(o, l)) return;
  for (int64_t j = 0; j < w->cols; j++)
    for (int64_t i = 0; i < w->rows; i++) to[j * w->rows + i] = from[i * w->cols + j];
}

/* g_x[k] += Σ_j g_y[j] w[k][j];  partial: g_w[k][j] += x[k] g_y[j], then g_b[j] += g_y[j] */
static void affine_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const affine_attr *a = o->attr;
  int out = (int)op_out(o, l, 0)->cols, width = (int)op_in(o, l, a->n)->rows;
  const real *gy = row_gy(o, l, 0, r0), *wt = op_scratch(o, l);
  for (int i = 0; i < a->n; i++) {
    int in = (int)op_in(o, l, i)->cols;
    real *gx = row_gx(o, l, i, r0);
    const kern_term term = {gy, (size_t)out, out, wt, width};
    if (gx) l->k->row_mm(&(kern_rows){r1 - r0, in, 1, &term, NULL, op_adds(o, l, i), gx, (size_t)in});
    wt += in;
    if (!partial) continue;
    l->k->row_grad(r1 - r0, in, out, row_x(o, l, i, r0), (size_t)in, gy, (size_t)out, partial);
    partial += in * out;
  }
  if (partial && a->bias) l->k->col_sum(r1 - r0, out, 1, gy, partial);
}

static const row_kind affine = {{"affine", NULL, NULL, OP_ALL, 0}, affine_rows, affine_rows_back, affine_prepare};

var op_affine(tape *t, int n, const var *x, var w, var b) {
  var in[32];
  int64_t width = 0;
  assert(n >= 1 && n <= TERMS);
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) {
    in[i] = x[i];
    width += t->var[x[i]].cols;
  }
  const int64_t rows = t->var[x[0]].rows, out = t->var[w].cols;
  assert(width == t->var[w].rows && (b == VAR_NONE || (t->var[b].rows == 1 && t->var[b].cols == out)));
  in[n] = w;
  in[n + 1] = b;
  int bias = b != VAR_NONE;
  uint32_t whole = (bias ? 3U : 1U) << n;
  op *o = tape_row_op(t, &affine, whole, n + 1 + bias, in, 1, (const int64_t[][2]){{rows, out}}, sizeof(affine_attr));
  if (!o) return VAR_NONE;
  *(affine_attr *)o->attr = (affine_attr){n, bias};
  o->scratch = width * out;
  o->work = (double)(rows * width * out);
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
