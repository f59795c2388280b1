/* taylor.h: stationary incompressible Navier–Stokes flow in the plane, in viscous units: Re (u·∇)u + ∇p - Δu = f, ∇·u = 0, velocity given
 * on the whole boundary; Re = 0 is Stokes flow. Taylor–Hood elements: velocity quadratic (vertices and edge midpoints), pressure linear
 * (vertices). The force is the curl of a scalar field, f = (∂ψ/∂y, -∂ψ/∂x): a gradient would change nothing but the pressure. */
#ifndef PROBLEM_TAYLOR_H
#define PROBLEM_TAYLOR_H

#include "la/la.h"
#include "mesh/cx.h"

/* What all flows on a complex share: numbering, matrix pattern, elimination order. Immutable: shared by threads. */
typedef struct taylor taylor;
dkho_status taylor_create(taylor **out, const cx *c); /* c: planar triangles, borrowed */
void taylor_free(taylor *t);
int64_t taylor_nodes(const taylor *t);    /* N0 + N1: vertices, then midpoints of edges */
int64_t taylor_unknowns(const taylor *t); /* of a Newton step: velocities inside, pressures but one */

/* One thread's matrix and factor. */
typedef struct taylor_solver taylor_solver;
dkho_status taylor_open(taylor_solver **out, const taylor *t);
void taylor_close(taylor_solver *s);

typedef struct taylor_flow {
  double reynolds;
  const double *psi; /* N0, linear on faces */
  double *u;         /* nodes × 2: the boundary's velocities on entry, everywhere on return */
  double *p;         /* N0, mean zero over the domain */
  int guessed;       /* 1: u is a guess inside, too */
  int steps;         /* Newton steps taken, those of lower Reynolds numbers included */
  double reached;    /* the largest Reynolds number solved for on the way */
} taylor_flow;
/* Newton's method from the guess, or, where there is none or it leads nowhere, from the Stokes flow; where that fails, by way of lower Reynolds numbers. DKHO_E_NOCONV names the number that
 * was not reached, and the one that was. */
dkho_status taylor_solve(taylor_solver *s, taylor_flow *f);

/* A velocity at the nodes (nodes × 2, those of the boundary stay) with these line integrals along edges (N1): the mean of the Whitney
 * interpolants of the triangles at a node, midpoints then moved along their edges to fit. */
void taylor_guess(const taylor *t, const double *edge, double *u);

/* The velocity at a point of triangle f with these barycentric coordinates. */
void taylor_velocity(const taylor *t, const double *u, int64_t f, const double bary[3], double out[2]);
/* Line integrals of the velocity along edges (N1), exact for quadratic velocities; circulations round faces (N2), from the curl; fluxes
 * through edges (N1), ∫ u·n with n the tangent turned by -90°: s(head) - s(tail) where u = (∂s/∂y, -∂s/∂x). The fluxes of a face add up to
 * the integral of ∇·u. */
void taylor_line_integrals(const taylor *t, const double *u, double *edge);
void taylor_fluxes(const taylor *t, const double *u, double *edge);
void taylor_circulations(const taylor *t, const double *u, double *face);

#endif
