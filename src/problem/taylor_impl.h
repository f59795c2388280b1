/* taylor_impl.h: what the files of the Taylor–Hood solver share: numbering (taylor.c), element integrals (taylor_element.c), solving
 * (taylor_solve.c). */
#ifndef PROBLEM_TAYLOR_IMPL_H
#define PROBLEM_TAYLOR_IMPL_H

#include "problem/assembly.h"
#include "problem/taylor.h"

/* Of a triangle: velocity nodes (corners, then the midpoints opposite them), pressure nodes, and unknowns in the order u_x u_y of each
 * node, then p of each corner. */
enum { TAYLOR_NODES = 6, TAYLOR_CORNERS = 3, TAYLOR_LOCAL = 2 * TAYLOR_NODES + TAYLOR_CORNERS };

struct taylor {
  const cx *c;
  int64_t nodes, n;
  int32_t *node;    /* N2 × TAYLOR_NODES */
  int32_t *unknown; /* nodes: unknown of u_x, that of u_y follows; -1: given */
  int32_t *level;   /* N0: unknown of the pressure; -1: held at zero */
  assembly matrix;
  lu_plan *plan;
  double
      scale; /* a pressure is its unknown times this, and so is its equation: entries of all kinds are then alike in size, and
                   pivots stay on the diagonal */
  arena mem;
};

/* Unknowns of a triangle, -1 where a value is given. */
void taylor_local_unknowns(const taylor *t, int64_t f, int32_t out[TAYLOR_LOCAL]);

/* Values of an element: velocities, pressures and ψ at its nodes. */
typedef struct taylor_values {
  double u[TAYLOR_NODES][2], p[TAYLOR_CORNERS], psi[TAYLOR_CORNERS];
} taylor_values;

/* Residual of the momentum and continuity equations tested with the element's functions, and its derivative (row-major); K may be
 * NULL. */
void taylor_element(const cx *c, int64_t t, double reynolds, const taylor_values *v, double F[TAYLOR_LOCAL],
                    double (*K)[TAYLOR_LOCAL]);

#endif
