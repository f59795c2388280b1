/* hsd_bases.c: see hsd_impl.h. In double, rounded at the end. */
#include "model/hsd_impl.h"

#include <math.h>
#include <string.h>

enum { DEGREES = 3 };

/* Columns first … first+count-1 of the row-major n × modes array from a column-major basis. */
static void place_columns(int64_t n, int modes, int first, int64_t count, const double *vec, double *rows) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < count && first + j < modes; j++) rows[i * modes + first + j] = vec[j * n + i];
}

/* Kernel, then the lowest positive modes, of every degree: canonical bases of dec.h. */
static dkho_status plain_bases(const dec *d, int modes, double *const *rows) {
  dec_bases b;
  TRY(dec_bases_find(&b, d->c, DEC_UNIT, DEGREES - 1, modes));
  for (int k = 0; k < DEGREES; k++) {
    int64_t n = d->c->n[k], kernel = b.harmonic[k].count;
    place_columns(n, modes, 0, kernel, b.harmonic[k].vec, rows[k]);
    place_columns(n, modes, (int)kernel, b.spectral[k].count, b.spectral[k].vec, rows[k]);
  }
  dec_bases_free(&b);
  return DKHO_OK;
}

/* The entry of largest modulus, the first within 1e-9 of it, becomes positive. */
static void fix_sign(int64_t n, double *v) {
  double most = 0;
  int64_t i = 0;
  for (int64_t j = 0; j < n; j++) most = fmax(most, fabs(v[j]));
  while (i < n && fabs(v[i]) < most * (1 - 1e-9)) i++;
  if (v[i] > 0) return;
  for (int64_t j = 0; j < n; j++) v[j] = -v[j];
}

static dkho_status normalise_laplacian(csr *a) {
  double *root;
  if (!MEM_NEW(root, a->rows)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++)
      if (a->col[p] == i) root[i] = a->val[p] > 1e-10 ? 1 / sqrt(a->val[p]) : 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++) a->val[p] *= root[i] * root[a->col[p]];
  mem_free(root);
  return DKHO_OK;
}

static dkho_status normalised_basis(const dec *d, int k, int modes, double *rows) {
  csr a = {0};
  int64_t n = d->c->n[k], count = modes < n ? modes : n;
  double *vec = NULL, *lambda = NULL;
  dkho_status s;
  TRY_GOTO(dec_matrix(d, k, DEC_BOTH, &a));
  TRY_GOTO(normalise_laplacian(&a));
  if (!MEM_NEW(vec, n * count) || !MEM_NEW(lambda, count)) {
    s = DKHO_E_MEMORY;
    goto done;
  }
  TRY_GOTO(eig_smallest(&(eig_problem){.a = &a, .space = n, .shift = 1e-4}, count, 1e-10, lambda, vec));
  for (int64_t j = 0; j < count; j++) fix_sign(n, vec + j * n);
  place_columns(n, modes, 0, count, vec, rows);
done:
  csr_free(&a);
  mem_free(vec);
  mem_free(lambda);
  return s;
}

static var keep_rows(tape *t, int64_t rows, int64_t cols, const double *x) {
  real *to;
  if (t->status != DKHO_OK) return VAR_NONE;
  if (!ARENA_NEW(&t->mem, to, rows * cols)) {
    t->status = DKHO_E_MEMORY;
    return VAR_NONE;
  }
  for (int64_t i = 0; i < rows * cols; i++) to[i] = (real)x[i];
  return tape_const(t, rows, cols, to);
}

/* M = Φ_{k+1}ᵀ d_k Φ_k as the two matrices that act on rows, and for k = 0 d_0ᵀ Φ_1; work: n[0] or n[k+1] rows of modes. */
static void keep_transfer(hsd_bases *b, tape *t, const dec *d, int k, double *const *rows, double *work, double *m) {
  int modes = b->modes;
  if (k == 0) {
    dec_delta(d, 1, modes, rows[1], work);
    b->gradient = keep_rows(t, d->c->n[0], modes, work);
  }
  dec_d(d, k, modes, rows[k], work);
  memset(m, 0, (size_t)(modes * modes) * sizeof *m);
  for (int64_t r = 0; r < d->c->n[k + 1]; r++)
    for (int i = 0; i < modes; i++)
      for (int j = 0; j < modes; j++) m[i * modes + j] += rows[k + 1][r * modes + i] * work[r * modes + j];
  b->down[k] = keep_rows(t, modes, modes, m);
  for (int i = 0; i < modes; i++)
    for (int j = 0; j < i; j++) {
      double x = m[i * modes + j];
      m[i * modes + j] = m[j * modes + i];
      m[j * modes + i] = x;
    }
  b->up[k] = keep_rows(t, modes, modes, m);
}

static dkho_status fill_bases(hsd_bases *b, tape *t, const dec *d, int normalised, arena *mem) {
  double *rows[DEGREES], *work, *m;
  int64_t most = 0;
  for (int k = 0; k < DEGREES; k++) {
    if (!ARENA_NEW(mem, rows[k], d->c->n[k] * b->modes)) return DKHO_E_MEMORY;
    if (d->c->n[k] > most) most = d->c->n[k];
  }
  if (!ARENA_NEW(mem, work, most * b->modes) || !ARENA_NEW(mem, m, b->modes * b->modes)) return DKHO_E_MEMORY;
  if (!normalised) TRY(plain_bases(d, b->modes, rows));
  for (int k = 0; normalised && k < DEGREES; k++) TRY(normalised_basis(d, k, b->modes, rows[k]));
  for (int k = 0; k < DEGREES; k++) b->basis[k] = keep_rows(t, d->c->n[k], b->modes, rows[k]);
  for (int k = 0; k + 1 < DEGREES; k++) keep_transfer(b, t, d, k, rows, work, m);
  return t->status;
}

dkho_status hsd_bases_make(hsd_bases *out, tape *t, const cx *c, int modes, int normalised) {
  dec *d = NULL;
  arena mem = {0};
  *out = (hsd_bases){.modes = modes};
  TRY(dec_create(&d, c, DEC_UNIT));
  dkho_status s = fill_bases(out, t, d, normalised, &mem);
  arena_free(&mem);
  dec_free(d);
  return s;
}
