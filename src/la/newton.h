/* newton.h: F(x) = 0 by Newton's method with a line search. F is the gradient of a convex energy, which the search lowers, or any
 * residual, whose norm it lowers. Derivatives are assembled, factored and solved by the caller's step(). */
#ifndef LA_NEWTON_H
#define LA_NEWTON_H

#include "la/la.h"

enum { NEWTON_STEPS_MAX = 40 };

typedef struct newton_problem {
  int64_t n;
  double tolerance; /* absolute, on ‖F‖₂ */
  int convex;       /* 1: F is the gradient of a convex energy */
  void *ctx;
  /* f ← F(x), *energy ← E(x) (NULL when not convex). Numbers that are not finite say that x lies outside the domain. */
  void (*residual)(void *ctx, const double *x, double *energy, double *f);
  /* step ← F′(x)⁻¹ f */
  dkho_status (*step)(void *ctx, const double *x, const double *f, double *step);
  int steps; /* at most; 0: NEWTON_STEPS_MAX */
} newton_problem;

typedef struct newton_report {
  int steps;
  double residual;                      /* the last ‖F‖ */
  double history[NEWTON_STEPS_MAX + 1]; /* ‖F‖ before each step and at the end */
} newton_report;

/* Doubles of scratch. */
static inline size_t newton_room(int64_t n) {
  return 4 * (size_t)n;
}
/* From x to x. DKHO_E_NOCONV names residual and step; x is then the last point reached. */
dkho_status newton_solve(const newton_problem *p, double *x, double *room, newton_report *out);

#endif
