/* closed.h: δ(ν(|u|)u) = 0 for a closed 1-form u in the plane: u = u₀ + dφ with u₀ given, φ held on some vertices and free on the others, where
 * the flux ν u through the boundary vanishes. Saturable magnetics, Forchheimer flow and compressible potential flow are all this, with laws
 * of their own. φ is linear on triangles, so that u is constant on each, and minimises the convex energy Σ_T |T| W_T(|u_T|). */
#ifndef PROBLEM_CLOSED_H
#define PROBLEM_CLOSED_H

#include "la/newton.h"
#include "mesh/cx.h"

enum { CLOSED_MATERIAL = 2 }; /* numbers that describe the material of a triangle */

/* At field strength h ≥ 0: energy density W, ν = W′/h, and bend = ν′/h, so that the flux ν u has the derivative ν I + bend u uᵀ. */
typedef struct closed_response {
  double density, nu, bend;
} closed_response;
typedef closed_response (*closed_law)(const double material[CLOSED_MATERIAL], double h);

closed_response closed_linear(const double *material, double h); /* W = h²/2, whatever the material */
/* Saturating iron by Fröhlich: B = μ h + S h/(1 + h), material (S, μ). */
closed_response closed_froehlich(const double *material, double h);
/* Saturating iron by Brauer: h = B (k₁ exp(k₂B²) + k₃) up to where dB/dh is down to μ, then B = S + μ h; material (S, μ). The three numbers give
 * B the slope S + μ at rest, as Fröhlich's curve has it, and let the two parts meet with one slope. */
closed_response closed_brauer(const double *material, double h);
/* Porous rock by Darcy and Forchheimer: h = a q + b q², flux q = 2h/(a + √(a² + 4bh)), material (a, b). */
closed_response closed_forchheimer(const double *material, double h);
/* A perfect gas (γ = 1.4) in potential flow: u the velocity over that of the stream, ν = b ρ, ρ = (1 + 0.2 M² (1 - h²))^2.5 its density over the
 * stream's; material (b, M), b the depth of a shallow channel, M the stream's Mach number, 0 … CLOSED_MACH. The energy is convex below the speed of
 * sound. Beyond closed_gas_limit, where the Mach number is CLOSED_MACH, the law goes on with the slope it has there, so that Newton's method may
 * pass; a solution that ends there is none of the gas, and who calls must look. */
#define CLOSED_MACH 0.95
closed_response closed_gas(const double *material, double h);
double closed_gas_limit(double M);          /* h; infinite for M = 0 */
double closed_gas_mach(double M, double h); /* the Mach number at h, below the limit of vacuum */

/* What all solves on a complex share; threads may. */
typedef struct closed closed;
/* held: N0 flags, copied; without any, φ of the last vertex is held. c is borrowed. */
dkho_status closed_create(closed **out, const cx *c, const uint8_t *held);
void closed_free(closed *s);

/* One thread's matrix and factor. */
typedef struct closed_solver closed_solver;
dkho_status closed_open(closed_solver **out, const closed *s);
void closed_close(closed_solver *w);
/* material: N2 × CLOSED_MATERIAL. start: closed 1-cochain u₀ (N1), NULL: zero. phi: N0, on entry the held values and a first guess
 * of the others. DKHO_E_NOCONV says how far Newton's method came. */
dkho_status closed_solve(closed_solver *w, closed_law law, const double *material, const double *start, double *phi,
                         newton_report *report);

/* The φ whose u₀ + dφ is nearest to a given 1-cochain, in the plain sum of squares over edges, for Newton's method to begin with. One thread's
 * factor; s is borrowed. */
typedef struct closed_guess closed_guess;
dkho_status closed_guess_create(closed_guess **out, const closed *s);
void closed_guess_free(closed_guess *g);
/* start, u: N1. phi: N0, of which the held values stay. */
dkho_status closed_guess_find(closed_guess *g, const double *start, const double *u, double *phi);

/* u = u₀ + dφ on edges (N1), and as a vector on triangles (N2 × 2); start NULL: zero. */
void closed_cochain(const closed *s, const double *start, const double *phi, double *edge);
void closed_vectors(const closed *s, const double *start, const double *phi, double *face);
/* Line integrals along edges of a vector field that is constant on triangles (N2 × 2), by its area-weighted mean over the triangles of an
 * edge. */
void closed_integrals(const cx *c, const double *face, double *edge);

/* The angle under which an edge is seen from a point, over 2π (N1): closed on triangles that do not contain the point, of period 1 round it. */
void closed_angles(const cx *c, const double *from, double *edge);
/* Closed 1-cochains dual to the holes of a planar complex: column j (out: holes × N1) has period 1
 * round hole j, counter-clockwise, 0 round the others, and is harmonic: δ of it vanishes for linear elements. centre: holes × 2, inside
 * the holes. */
dkho_status closed_windings(const cx *c, int holes, const double (*centre)[2], double *out);

#endif
