/* elastic.h: finite deformations of a plane body of neo-Hookean material in plane strain, linear elements. The displacement u minimises
 * Σ_T |T| W(F) - f·u, F = I + ∇u, W = μ/2 (|F|² - 2 - 2 ln J) + λ/2 (ln J)², J = det F, with λ = 1.5 μ (Poisson's ratio 0.3). */
#ifndef PROBLEM_ELASTIC_H
#define PROBLEM_ELASTIC_H

#include "la/newton.h"
#include "mesh/cx.h"

/* What all bodies on a complex share; threads may. */
typedef struct elastic elastic;
/* held: N0 × 2 flags of displacements that are given, copied. c is borrowed. */
dkho_status elastic_create(elastic **out, const cx *c, const uint8_t *held);
void elastic_free(elastic *s);

/* One thread's matrix and factor. */
typedef struct elastic_solver elastic_solver;
dkho_status elastic_open(elastic_solver **out, const elastic *s);
void elastic_close(elastic_solver *w);
/* mu: N2. load: forces on vertices, N0 × 2. u: N0 × 2, on entry the held displacements and zeros elsewhere. The load, and with it what is
 * held, grows from nothing, in one step where that succeeds. DKHO_E_NOCONV says which share of it found its equilibrium. */
dkho_status elastic_solve(elastic_solver *w, const double *mu, const double *load, double *u, newton_report *last);

/* Energy density W of triangles (N2), and first Piola–Kirchhoff stresses P = ∂W/∂F (N2 × 2 × 2); either may be NULL. */
void elastic_read(const elastic *s, const double *mu, const double *u, double *density, double *stress);

#endif
