/* kuramoto.h: the simplicial Kuramoto flow of one degree, the reference model behind the relation dynamics, in double:
 *   θ' = ω - σ↑ δ_{k+1} sin(d_k θ) - σ↓ d_{k-1} sin(δ_k θ)
 *   E(θ) = 1ᵀ M_{k+1} (1 - cos d_k θ) + 1ᵀ M_{k-1} (1 - cos δ_k θ)
 * For ω = 0 and σ↑ = σ↓ it is the gradient flow of E in the metric M_k, so E never rises; for small θ it is Hodge
 * relaxation, θ' = -σ Δ_k θ. Terms of degrees that the complex has not got vanish. */
#ifndef MODEL_DKHO_KURAMOTO_H
#define MODEL_DKHO_KURAMOTO_H

#include "dec/dec.h"

typedef struct kuramoto {
  const dec *d; /* borrowed */
  int k, channels;
  double sigma_up, sigma_down;
  double *work[CX_DEGREES], *back; /* owned */
} kuramoto;
dkho_status kuramoto_create(kuramoto **out, const dec *d, int k, int channels, double sigma_up, double sigma_down);
void kuramoto_free(kuramoto *m);

double kuramoto_energy(kuramoto *m, const double *theta);
/* rate ← the right side of the flow at theta; omega NULL means 0. All n[k] × channels. */
void kuramoto_rate(kuramoto *m, const double *omega, const double *theta, double *rate);
/* `steps` explicit Euler steps of length tau, in place. */
dkho_status kuramoto_flow(kuramoto *m, const double *omega, double tau, int64_t steps, double *theta);

#endif
