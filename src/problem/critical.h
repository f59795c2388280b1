/* critical.h: currents along superconducting wires, seen in cross-section. h is a 1-cochain of Whitney elements, j = dh on faces the current through
 * them. Inside wires the field E = E_c (|j|/J_c)^n, along j, drives it; in the air dh = 0: h = source + dφ there, where the source is
 * closed and has the net currents as its periods round the wires, and φ = 0 on the boundary of the complex. Faraday's law h_t = -curl E, by
 * implicit Euler: every step minimises the convex energy ½‖h - h_old‖²/Δt + Σ_T |T| W(j_T), W′ = E, over edges inside wires and φ. */
#ifndef PROBLEM_CRITICAL_H
#define PROBLEM_CRITICAL_H

#include "mesh/cx.h"

typedef struct critical_law {
  double field, power; /* E_c, n ≥ 1 */
} critical_law;

/* What all solves on a complex share; threads may. */
typedef struct critical critical;
/* conducts: N2 flags, copied. c is planar and borrowed; its air reaches from every wire to the boundary. */
dkho_status critical_create(critical **out, const cx *c, const uint8_t *conducts);
void critical_free(critical *s);

/* One thread's state, matrix and factor. */
typedef struct critical_solver critical_solver;
dkho_status critical_open(critical_solver **out, const critical *s);
void critical_close(critical_solver *w);
/* h = 0 everywhere. jc: N2, positive where faces conduct, borrowed until the last step. */
void critical_begin(critical_solver *w, critical_law law, const double *jc);
/* One step of length dt to the source (N1) at its end; *solves grows by the linear systems it took. DKHO_E_NOCONV says how far Newton's method came; the state is then lost. */
dkho_status critical_step(critical_solver *w, double dt, const double *source, int *solves);
/* h after the last step (N1), and of each face j and the heat E j per area and time (N2 each). */
const double *critical_field(const critical_solver *w);
void critical_read(const critical_solver *w, double *j, double *heat);

#endif
