/* kuramoto.c: see kuramoto.h. */
#include "model/dkho/kuramoto.h"

#include <assert.h>
#include <math.h>

dkho_status kuramoto_create(kuramoto **out, const dec *d, int k, int channels, double sigma_up, double sigma_down) {
  kuramoto *m;
  *out = NULL;
  assert(k >= 0 && k <= d->c->dim && channels > 0);
  if (!MEM_NEW(m, 1)) return DKHO_E_MEMORY;
  m->d = d;
  m->k = k;
  m->channels = channels;
  m->sigma_up = sigma_up;
  m->sigma_down = sigma_down;
  int ok = MEM_NEW(m->back, d->c->n[k] * channels) != NULL;
  for (int j = k - 1; ok && j <= k + 1; j += 2)
    if (j >= 0 && j <= d->c->dim) ok = MEM_NEW(m->work[j], d->c->n[j] * channels) != NULL;
  if (!ok) {
    kuramoto_free(m);
    return DKHO_E_MEMORY;
  }
  *out = m;
  return DKHO_OK;
}

void kuramoto_free(kuramoto *m) {
  if (!m) return;
  for (int k = 0; k < CX_DEGREES; k++) mem_free(m->work[k]);
  mem_free(m->back);
  mem_free(m);
}

/* Degree k+1 (up) or k-1 beside the flow's own; its work array holds d_k θ or δ_k θ. NULL: no such degree. */
static double *transport(kuramoto *m, int up, const double *theta, int *degree) {
  *degree = m->k + (up ? 1 : -1);
  if (*degree < 0 || *degree > m->d->c->dim) return NULL;
  if (up)
    dec_d(m->d, m->k, m->channels, theta, m->work[*degree]);
  else
    dec_delta(m->d, m->k, m->channels, theta, m->work[*degree]);
  return m->work[*degree];
}

double kuramoto_energy(kuramoto *m, const double *theta) {
  double energy = 0;
  for (int up = 0; up < 2; up++) {
    int j;
    const double *x = transport(m, up, theta, &j);
    for (int64_t i = 0; x && i < m->d->c->n[j]; i++)
      for (int c = 0; c < m->channels; c++) {
        double half = sin(x[i * m->channels + c] / 2); /* 1 - cos x = 2 sin²(x/2), without cancellation */
        energy += m->d->star[j][i] * 2 * half * half;
      }
  }
  return energy;
}

void kuramoto_rate(kuramoto *m, const double *omega, const double *theta, double *rate) {
  int64_t n = m->d->c->n[m->k] * m->channels;
  for (int64_t i = 0; i < n; i++) rate[i] = omega ? omega[i] : 0;
  for (int up = 0; up < 2; up++) {
    int j;
    double *x = transport(m, up, theta, &j), sigma = up ? m->sigma_up : m->sigma_down;
    if (!x) continue;
    for (int64_t i = 0; i < m->d->c->n[j] * m->channels; i++) x[i] = sin(x[i]);
    if (up)
      dec_delta(m->d, j, m->channels, x, m->back);
    else
      dec_d(m->d, j, m->channels, x, m->back);
    for (int64_t i = 0; i < n; i++) rate[i] -= sigma * m->back[i];
  }
}

dkho_status kuramoto_flow(kuramoto *m, const double *omega, double tau, int64_t steps, double *theta) {
  int64_t n = m->d->c->n[m->k] * m->channels;
  double *rate;
  if (!MEM_NEW(rate, n)) return DKHO_E_MEMORY;
  for (int64_t s = 0; s < steps; s++) {
    kuramoto_rate(m, omega, theta, rate);
    for (int64_t i = 0; i < n; i++) theta[i] += tau * rate[i];
  }
  mem_free(rate);
  return DKHO_OK;
}
