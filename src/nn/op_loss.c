/* op_loss.c: relative L2 error of one sample. Sums in double, in storage order. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <math.h>

/* ‖p - y‖ and max(‖y‖, eps) */
static void norms(const op *o, const lane *l, double *residual, double *scale) {
  const real *p = op_x(o, l, 0), *y = op_x(o, l, 1);
  double eps = *(const double *)o->attr, r = 0, s = 0;
  int64_t n = op_in(o, l, 0)->rows * op_in(o, l, 0)->cols;
  for (int64_t i = 0; i < n; i++) {
    double e = (double)p[i] - (double)y[i];
    r += e * e;
    s += (double)y[i] * (double)y[i];
  }
  *residual = sqrt(r);
  *scale = sqrt(s) > eps ? sqrt(s) : eps;
}

static void loss_forward(const op *o, const lane *l) {
  double residual, scale;
  norms(o, l, &residual, &scale);
  op_y(o, l, 0)[0] = (real)(residual / scale);
}

/* g_p += g (p - y) / (‖p - y‖ max(‖y‖, eps)) */
static void loss_backward(const op *o, const lane *l) {
  const real *p = op_x(o, l, 0), *y = op_x(o, l, 1);
  int64_t n = op_in(o, l, 0)->rows * op_in(o, l, 0)->cols;
  double residual, scale;
  norms(o, l, &residual, &scale);
  if (residual == 0 || !op_gx(o, l, 0)) return;
  double a = (double)op_gy(o, l, 0)[0] / (residual * scale);
  for (int64_t i = 0; i < n; i++) op_gx(o, l, 0)[i] += (real)(a * ((double)p[i] - (double)y[i]));
}

static const op_kind rel_l2 = {"rel_l2", loss_forward, loss_backward, 3, 0};

var op_rel_l2(tape *t, var p, var y, double eps) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(t->var[p].rows == t->var[y].rows && t->var[p].cols == t->var[y].cols && eps > 0);
  op *o = tape_op(t, &rel_l2, 2, (const var[]){p, y}, 1, (const int64_t[][2]){{1, 1}}, sizeof(double));
  if (!o) return VAR_NONE;
  *(double *)o->attr = eps;
  return o->out[0];
}
