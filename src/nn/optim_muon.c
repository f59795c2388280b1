/* optim_muon.c: momentum, made orthogonal. Left out: the second moment, which the orthogonal update has no use for. */
#include "nn/optim_impl.h"

#include "la/la.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 5 };

int64_t optim_orthogonal_room(int64_t rows, int64_t cols) {
  int64_t k = rows < cols ? rows : cols;
  return rows * cols + 2 * k * k;
}

/* X ← X/‖X‖, then five times X ← aX + (bP + cP²)X with P = X Xᵀ, of the shorter side. The quintic's slope at 0 is large, so
 * small singular values grow quickly; it does not settle at 1 but stays within about 0.7 … 1.2, which is enough here. */
void optim_orthogonalise(int64_t rows, int64_t cols, double *x, double *room) {
  const double a = 3.4445, b = -4.7750, c = 2.0315;
  int64_t n = rows * cols, k = rows < cols ? rows : cols;
  double *y = room, *p = y + n, *w = p + k * k, sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  double scale = 1 / (sqrt(sum) + 1e-7);
  for (int64_t i = 0; i < n; i++) x[i] *= scale;
  int left = rows <= cols;
  for (int round = 0; round < ROUNDS; round++) {
    dense_gemm(!left, left, k, k, left ? cols : rows, 1, x, rows, x, rows, 0, p, k);
    memcpy(w, p, (size_t)(k * k) * sizeof *w);
    dense_gemm(0, 0, k, k, k, c, p, k, p, k, b, w, k);
    memcpy(y, x, (size_t)n * sizeof *y);
    if (left)
      dense_gemm(0, 0, rows, cols, k, 1, w, k, y, rows, a, x, rows);
    else
      dense_gemm(0, 0, rows, cols, k, 1, y, rows, w, k, a, x, rows);
  }
}

dkho_status muon_create(optim *o) {
  for (int i = 0; i < o->p->count; i++) {
    const param *q = &o->p->list[i];
    int64_t n = optim_is_matrix(&o->cfg, q) ? q->count + optim_orthogonal_room(q->cols, q->rows) : 0;
    if (n > o->room_each) o->room_each = n;
  }
  return DKHO_OK;
}

/* m ← μm + g; U = orthogonal(g + μm); θ ← θ(1 - lr·decay) - lr · 0.2 √max(rows, cols) · U. An orthogonal U has a mean square
 * entry of 1/max(rows, cols), so the factor gives every matrix the step size that Adam's updates typically have. */
void muon_step(const optim_stride *s, const param *q, double *u) {
  const optim *o = s->o;
  double mu = o->cfg.momentum;
  for (int64_t i = 0; i < q->count; i++) {
    double gi = s->factor * (double)s->g[q->offset + i];
    real *m = &o->m[q->offset + i];
    *m = (real)(mu * (double)*m + gi);
    u[i] = gi + mu * (double)*m;
  }
  optim_orthogonalise(q->cols, q->rows, u, u + q->count);
  double keep = 1 - s->lr * o->cfg.decay, rate = s->lr * 0.2 * sqrt((double)(q->rows > q->cols ? q->rows : q->cols));
  for (int64_t i = 0; i < q->count; i++) {
    real *x = &s->value[q->offset + i];
    *x = (real)(keep * (double)*x - rate * u[i]);
  }
}
