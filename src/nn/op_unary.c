/* op_unary.c: y = a·f(x) + b entrywise. */
#include "nn/block.h"
#include "nn/op.h"

typedef struct {
  kern_fn f;
  real a, b;
} unary_attr;

static void unary_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const unary_attr *a = o->attr;
  size_t n = (size_t)((r1 - r0) * op_out(o, l, 0)->cols);
  l->k->unary(a->f, n, a->a, a->b, row_x(o, l, 0, r0), row_y(o, l, 0, r0));
}

/* g_x += a f'(x) ⊙ g_y */
static void unary_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const unary_attr *a = o->attr;
  size_t n = (size_t)((r1 - r0) * op_out(o, l, 0)->cols);
  (void)partial;
  l->k->unary_back(a->f, n, a->a, row_x(o, l, 0, r0), row_gy(o, l, 0, r0), op_adds(o, l, 0), row_gx(o, l, 0, r0));
}

static const row_kind unary = {{"unary", NULL, NULL, 1, 0}, unary_rows, unary_rows_back, NULL};

var op_unary(tape *t, unary_fn f, double a, double b, var x) {
  static const kern_fn kernel[] = {
      [FN_GELU] = KERN_GELU, [FN_TANH] = KERN_TANH,         [FN_SIGMOID] = KERN_SIGMOID, [FN_SIN] = KERN_SIN,
      [FN_COS] = KERN_COS,   [FN_SOFTPLUS] = KERN_SOFTPLUS, [FN_SILU] = KERN_SILU,
  };
  if (t->status != DKHO_OK) return VAR_NONE;
  op *o =
      tape_row_op(t, &unary, 0, 1, &x, 1, (const int64_t[][2]){{t->var[x].rows, t->var[x].cols}}, sizeof(unary_attr));
  if (!o) return VAR_NONE;
  *(unary_attr *)o->attr = (unary_attr){kernel[f], (real)a, (real)b};
  return o->out[0];
}
