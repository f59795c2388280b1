/* iron.h: what the problems of a saturable iron sheet share: the field H = Σ I_j h_j + dφ that currents through the windows drive, B along a
 * normal curve, Fröhlich's or Brauer's, and descriptors of a current's field. */
#ifndef PROBLEM_IRON_H
#define PROBLEM_IRON_H

#include "problem/closed.h"
#include "problem/problem.h"
#include "problem/sheet.h"

/* Currents are in units that put the knee of the curve at H = 1; the measured part of a curve does not go further than IRON_CURRENT_MAX. */
#define IRON_CURRENT_MAX 1000.0

/* The curve of Brauer in the notes of its data. */
#define IRON_BRAUER                                                                                                    \
  "H = (k1 exp(k2 |B|^2) + k3) B by Brauer up to where d|H|/d|B| = 1/0.02, from there |B| = S + 0.02 |H|; "            \
  "1/(k1 + k3) = S + 0.02, k2 |B|^2 = 8 where the two meet"

struct problem_state {
  const cx *c;
  closed *s;
  closed_law law;
  double *winding; /* SHEET_HOLES × N1 */
  double *vector;  /* SHEET_HOLES × N2 × 2: the same on faces */
};

/* One thread's solver. */
typedef struct iron {
  const problem_state *s;
  closed_solver *w;
  double *material;         /* N2 × CLOSED_MATERIAL */
  double *start;            /* N1: Σ I_j h_j */
  double *phi, *old, *next; /* N0 */
  double *field;            /* N2 × 2: H */
  closed_guess *guess;      /* NULL until one is asked for */
  int steps;                /* of Newton's method, in the last solve */
  double *cycle;            /* as many B as a cycle has steps, N2 × 2 each; NULL for a single state */
  arena mem;
} iron;

/* With the curve of Fröhlich, or that of Brauer. */
dkho_status iron_prepare(problem_state **out, const cx *c, uint64_t seed);
dkho_status iron_prepare_brauer(problem_state **out, const cx *c, uint64_t seed);
void iron_release(problem_state *s);
/* Statics winding (N1 × holes), winding_x and winding_y (N2 × holes), and the common ones. */
dkho_status iron_fill(const problem_state *s, const char *name, double *out);
dkho_status iron_open(iron **out, const problem_state *s, int steps);
void iron_close(void *w);

/* A lognormal saturation of median 1. */
void iron_draw_saturation(const problem_state *s, rng *r, double *saturation);
/* The material of faces, from the saturation at vertices; refuses one that is not positive. */
dkho_status iron_set_material(iron *w, const char *who, const double *saturation);
/* φ ← the potential of these currents from the guess in φ, w->start and w->field with it. Refuses currents beyond the curve. */
dkho_status iron_solve(iron *w, const char *who, const double current[SHEET_HOLES], double *phi);
/* φ ← the potential of a guess of H (N1) under these currents. */
dkho_status iron_guess(iron *w, const double current[SHEET_HOLES], const double *field, double *phi);
/* B of a face, from H. */
void iron_flux(const iron *w, int64_t f, double B[2], closed_response *r);

#endif
