/* calculus.c: exterior calculus of the public header. */
#include "api/api.h"
#include "model/dkho/kuramoto.h"

#include <string.h>

dkho_status dkho_calculus_create(dkho_calculus **out, const dkho_complex *c, dkho_metric metric) {
  *out = NULL;
  if (metric != DKHO_UNIT && metric != DKHO_HODGE)
    return fail(DKHO_E_INPUT, "metric %d: expected DKHO_UNIT (%d) or DKHO_HODGE (%d)", (int)metric, DKHO_UNIT,
                DKHO_HODGE);
  dkho_calculus *a;
  if (!MEM_NEW(a, 1)) return DKHO_E_MEMORY;
  dkho_status s = dec_create(&a->d, c->c, metric == DKHO_HODGE ? DEC_HODGE : DEC_UNIT);
  if (s == DKHO_OK)
    *out = a;
  else
    mem_free(a);
  return s;
}

void dkho_calculus_free(dkho_calculus *a) {
  if (!a) return;
  dec_free(a->d);
  mem_free(a);
}

static dkho_status check(const dkho_calculus *a, int k, int channels) {
  if (k < 0 || k > a->d->c->dim) return fail(DKHO_E_INPUT, "degree %d: expected 0 … %d", k, a->d->c->dim);
  if (channels < 1) return fail(DKHO_E_INPUT, "channels %d: expected at least 1", channels);
  return DKHO_OK;
}

const double *dkho_calculus_star(const dkho_calculus *a, int k) {
  return k < 0 || k > a->d->c->dim ? NULL : a->d->star[k];
}

dkho_status dkho_calculus_d(const dkho_calculus *a, int k, int channels, const double *u, double *out) {
  TRY(check(a, k, channels));
  if (k == a->d->c->dim) return fail(DKHO_E_INPUT, "d of degree %d: the complex has no degree %d", k, k + 1);
  dec_d(a->d, k, channels, u, out);
  return DKHO_OK;
}

dkho_status dkho_calculus_delta(const dkho_calculus *a, int k, int channels, const double *u, double *out) {
  TRY(check(a, k, channels));
  if (k == 0) return fail(DKHO_E_INPUT, "the codifferential of degree 0 has no degree to map to");
  dec_delta(a->d, k, channels, u, out);
  return DKHO_OK;
}

dkho_status dkho_calculus_laplacian(const dkho_calculus *a, int k, int channels, const double *u, double *out) {
  TRY(check(a, k, channels));
  if (out == u) return fail(DKHO_E_INPUT, "the Laplacian cannot be taken in place: out is u");
  return dec_laplacian(a->d, k, channels, u, out);
}

dkho_status dkho_calculus_decompose(const dkho_calculus *a, int k, int channels, const double *u, double *exact,
                                    double *harmonic, double *coexact) {
  TRY(check(a, k, channels));
  return dec_decompose(a->d, k, channels, u, exact, harmonic, coexact);
}

dkho_status dkho_calculus_harmonic(const dkho_calculus *a, int k, int64_t room, double *basis, int64_t *count,
                                   double certificate[2]) {
  TRY(check(a, k, 1));
  if (!basis) {
    int64_t betti[CX_DEGREES];
    TRY(dec_betti(a->d->c, betti));
    *count = betti[k];
    return DKHO_OK;
  }
  dec_basis b = {0};
  TRY(dec_harmonic(a->d, k, &b));
  *count = b.count;
  dkho_status s = DKHO_OK;
  if (b.count > room)
    s = fail(DKHO_E_INPUT, "room for %lld harmonic fields, but there are %lld", (long long)room, (long long)b.count);
  else if (b.count)
    memcpy(basis, b.vec, (size_t)(b.n * b.count) * sizeof *basis);
  if (certificate) certificate[0] = b.closed, certificate[1] = b.coclosed;
  dec_basis_free(&b);
  return s;
}

dkho_status dkho_calculus_spectrum(const dkho_calculus *a, int k, int count, double *lambda, double *vectors,
                                   int64_t *found) {
  TRY(check(a, k, 1));
  if (count < 1) return fail(DKHO_E_INPUT, "%d eigenpairs asked for: expected at least 1", count);
  dec_basis b[CX_DEGREES] = {0};
  dkho_status s = dec_spectrum(a->d, k, count, b);
  if (s == DKHO_OK) {
    *found = b[k].count;
    if (b[k].count) {
      memcpy(lambda, b[k].lambda, (size_t)b[k].count * sizeof *lambda);
      memcpy(vectors, b[k].vec, (size_t)(b[k].n * b[k].count) * sizeof *vectors);
    }
  }
  for (int j = 0; j < CX_DEGREES; j++) dec_basis_free(&b[j]);
  return s;
}

dkho_status dkho_kuramoto(const dkho_calculus *a, int k, int channels, double sigma, const double *omega, double tau,
                          int64_t steps, double *theta, double *energy) {
  TRY(check(a, k, channels));
  if (!(sigma > 0) || !(tau > 0) || steps < 0)
    return fail(DKHO_E_INPUT, "sigma %g, tau %g, steps %lld: expected positive numbers", sigma, tau, (long long)steps);
  kuramoto *m = NULL;
  TRY(kuramoto_create(&m, a->d, k, channels, sigma, sigma));
  dkho_status s = DKHO_OK;
  if (energy) energy[0] = kuramoto_energy(m, theta);
  for (int64_t i = 0; s == DKHO_OK && i < steps; i++) {
    s = kuramoto_flow(m, omega, tau, 1, theta);
    if (energy) energy[i + 1] = kuramoto_energy(m, theta);
  }
  kuramoto_free(m);
  return s;
}
