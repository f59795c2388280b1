/* calculus.c: d, δ, Laplacian and Dirac applied to fields, and their symmetric matrices. */
#include "dec/dec_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void dec_d(const dec *d, int k, int ch, const double *u, double *out) {
  if (k >= 0 && k < d->c->dim) cx_d(d->c, k, ch, u, out);
}

/* add = 0: out = δ_k u; add = 1: out += δ_k u. */
static void delta(const dec *d, int k, int ch, const double *u, double *out, int add) {
  const cx *c = d->c;
  const double *above = d->star[k], *here = d->star[k - 1];
  for (int64_t i = 0; i < c->n[k - 1]; i++)
    for (int v = 0; v < ch; v++) {
      double sum = 0;
      for (int64_t p = c->coptr[k - 1][i]; p < c->coptr[k - 1][i + 1]; p++) {
        int64_t j = c->coface[k - 1][p];
        sum += c->cosign[k - 1][p] * above[j] * u[j * ch + v];
      }
      double *to = out + i * ch + v;
      *to = (add ? *to : 0) + sum / here[i];
    }
}

void dec_delta(const dec *d, int k, int ch, const double *u, double *out) {
  const cx *c = d->c;
  if (k >= 1 && k <= c->dim) {
    delta(d, k, ch, u, out, 0);
  } else if (k == c->dim + 1) {
    memset(out, 0, (size_t)(c->n[k - 1] * ch) * sizeof *out);
  }
}

dkho_status dec_laplacian(const dec *d, int k, int ch, const double *u, double *out) {
  const cx *c = d->c;
  assert(k >= 0 && k <= c->dim && out != u);
  int64_t below = k > 0 ? c->n[k - 1] : 0, above = k < c->dim ? c->n[k + 1] : 0;
  double *t;
  if (!MEM_NEW(t, (below > above ? below : above) * ch)) return DKHO_E_MEMORY;
  memset(out, 0, (size_t)(c->n[k] * ch) * sizeof *out);
  if (k > 0) {
    delta(d, k, ch, u, t, 0);
    cx_d(c, k - 1, ch, t, out);
  }
  if (k < c->dim) {
    cx_d(c, k, ch, u, t);
    delta(d, k + 1, ch, t, out, 1);
  }
  mem_free(t);
  return DKHO_OK;
}

dkho_status dec_dirac(const dec *d, int ch, const double *const *fields, double *const *out) {
  const cx *c = d->c;
  for (int k = 0; k <= c->dim; k++) {
    if (k > 0)
      cx_d(c, k - 1, ch, fields[k - 1], out[k]);
    else
      memset(out[k], 0, (size_t)(c->n[k] * ch) * sizeof *out[k]);
    if (k < c->dim) delta(d, k + 1, ch, fields[k + 1], out[k], 1);
  }
  return DKHO_OK;
}

double dec_dot(const dec *d, int k, int ch, const double *u, const double *v) {
  double sum = 0;
  for (int64_t i = 0; i < d->c->n[k]; i++) {
    double one = 0;
    for (int j = 0; j < ch; j++) one += u[i * ch + j] * v[i * ch + j];
    sum += d->star[k][i] * one;
  }
  return sum;
}

dkho_status dec_symmetric_d(const dec *d, int k, csr *out) {
  const cx *c = d->c;
  assert(k >= 0 && k < c->dim);
  int64_t w = k + 2, rows = c->n[k + 1];
  TRY(csr_alloc(out, rows, c->n[k], rows * w));
  for (int64_t i = 0; i < rows; i++) {
    out->ptr[i + 1] = (i + 1) * w;
    for (int64_t p = i * w; p < (i + 1) * w; p++) {
      out->col[p] = c->face[k + 1][p];
      out->val[p] = c->sign[k + 1][p] * sqrt(d->star[k + 1][i] / d->star[k][out->col[p]]);
    }
  }
  return DKHO_OK;
}

void dec_to_symmetric(const dec *d, int k, const double *u, double *x) {
  for (int64_t i = 0; i < d->c->n[k]; i++) x[i] = u[i] * sqrt(d->star[k][i]);
}

void dec_from_symmetric(const dec *d, int k, const double *x, double *u) {
  for (int64_t i = 0; i < d->c->n[k]; i++) u[i] = x[i] / sqrt(d->star[k][i]);
}

void dec_fix_sign(int64_t n, double *v) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(v[i]));
  int64_t lead = 0;
  while (lead < n && fabs(v[lead]) < most * (1 - 1e-9)) lead++;
  if (lead == n || v[lead] >= 0) return;
  for (int64_t i = 0; i < n; i++) v[i] = -v[i];
}

/* D Dᵀ (side 0) or Dᵀ D (side 1) of D_k. */
static dkho_status gram_of_side(const dec *d, int k, int side, csr *out) {
  csr a = {0}, at = {0};
  dkho_status s;
  *out = (csr){0};
  TRY_GOTO(dec_symmetric_d(d, k, &a));
  TRY_GOTO(csr_transpose(&at, &a));
  s = side ? csr_multiply(out, &at, &a) : csr_multiply(out, &a, &at);
done:
  csr_free(&a);
  csr_free(&at);
  return s;
}

dkho_status dec_matrix(const dec *d, int k, dec_part want, csr *out) {
  const cx *c = d->c;
  assert(k >= 0 && k <= c->dim && want >= DEC_DOWN && want <= DEC_BOTH);
  csr down = {0}, up = {0};
  dkho_status s;
  *out = (csr){0};
  if (want & DEC_DOWN && k > 0)
    TRY_GOTO(gram_of_side(d, k - 1, 0, &down));
  else
    TRY_GOTO(csr_alloc(&down, c->n[k], c->n[k], 0));
  if (want & DEC_UP && k < c->dim)
    TRY_GOTO(gram_of_side(d, k, 1, &up));
  else
    TRY_GOTO(csr_alloc(&up, c->n[k], c->n[k], 0));
  s = csr_add(out, 1, &down, 1, &up);
done:
  csr_free(&down);
  csr_free(&up);
  return s;
}
