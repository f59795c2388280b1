/* proof.c: arrays of a data set that can be checked against what they claim to be. Whatever passes is harmless, not true: a
 * static field may hold any numbers of a sensible size. */
#include "data/proof.h"
#include "base/seal.h"

#include <math.h>

static const double PROOF = 1e-8; /* how far a stored basis may be from harmonic and orthonormal */

dkho_status data_prove_static(const st_file *f, const st_tensor *t) {
  const double *v = t->data;
  TRY(st_need_finite(f, t));
  for (uint64_t i = 0; i < t->count; i++)
    if (fabs(v[i]) > DATA_STATIC_MAX)
      return fail(DKHO_E_FORMAT, "%s: %s: element %llu is %g, expected at most %g: its square must fit a float",
                  st_path(f), t->name, (unsigned long long)i, v[i], DATA_STATIC_MAX);
  return DKHO_OK;
}

/* ‖Δh‖ of one field, Δ = dᵀd + ddᵀ; room: N_{k-1} + N_k + N_{k+1}. */
static double laplacian_norm(const cx *c, int k, const double *h, double *room) {
  double *y = room, *side = room + c->n[k], sum = 0;
  for (int64_t i = 0; i < c->n[k]; i++) y[i] = 0;
  for (int up = 0; up < 2; up++) {
    if (up ? k == c->dim : k == 0) continue;
    double *back = side + c->n[up ? k + 1 : k - 1];
    if (up) {
      cx_d(c, k, 1, h, side);
      cx_dt(c, k, 1, side, back);
    } else {
      cx_dt(c, k - 1, 1, h, side);
      cx_d(c, k - 1, 1, side, back);
    }
    for (int64_t i = 0; i < c->n[k]; i++) y[i] += back[i];
  }
  for (int64_t i = 0; i < c->n[k]; i++) sum += y[i] * y[i];
  return sqrt(sum);
}

static double column_gap(int64_t n, int64_t columns, const double *rows, int64_t a, int64_t b) {
  double sum = a == b ? -1 : 0;
  for (int64_t i = 0; i < n; i++) sum += rows[i * columns + a] * rows[i * columns + b];
  return fabs(sum);
}

dkho_status data_prove_harmonic(const st_file *f, const st_tensor *t, const cx *c, int k) {
  int64_t n = c->n[k], columns = (int64_t)t->shape[1], most = 0;
  const double *rows = t->data;
  double *h;
  TRY(st_need_finite(f, t));
  if (columns > n)
    return fail(DKHO_E_FORMAT, "%s: %s: %lld columns of %lld entries", st_path(f), t->name, (long long)columns,
                (long long)n);
  for (int i = 0; i <= c->dim; i++) most = c->n[i] > most ? c->n[i] : most;
  if (!MEM_NEW(h, 2 * n + most + n)) return DKHO_E_MEMORY;
  dkho_status s = DKHO_OK;
  for (int64_t j = 0; s == DKHO_OK && j < columns; j++) {
    for (int64_t i = 0; i < n; i++) h[i] = rows[i * columns + j];
    double residual = laplacian_norm(c, k, h, h + n), off = 0;
    for (int64_t i = 0; i <= j; i++) off = fmax(off, column_gap(n, columns, rows, i, j));
    if (!(residual <= PROOF && off <= PROOF))
      s = fail(DKHO_E_FORMAT,
               "%s: %s: column %lld belongs to another complex or is damaged (residual %.2g, norm off by %.2g)",
               st_path(f), t->name, (long long)j, residual, off);
  }
  mem_free(h);
  return s;
}
