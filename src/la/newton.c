/* newton.c: Newton's method with a line search, on a convex energy or on a residual. Matrices are the caller's business. */
#include "la/newton.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { HALVINGS = 30 };
static const double DECREASE = 1e-4; /* of what the slope promises, to be kept at least */
static const double FLAT = 1e-12; /* energies this near, relatively, count as equal: only rounding tells them apart */
static const double STEEP = 0.9;  /* of the first slope, that the slope at the end of a step may at most have */

static double norm(int64_t n, const double *v) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
  return sqrt(sum);
}

static double sum_products(int64_t n, const double *a, const double *b) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

typedef struct state {
  double energy, size; /* size: ‖F‖ */
} state;

static state evaluate_residual(const newton_problem *p, const double *x, double *f) {
  state s = {.energy = 0};
  p->residual(p->ctx, x, p->convex ? &s.energy : NULL, f);
  s.size = norm(p->n, f);
  return s;
}

/* Whether the step of length t down the slope is good enough. For an energy: Armijo's rule; or, where energies differ by rounding
 * alone, that the slope has not turned too far upwards. For a residual: that it shrinks. */
static int accept(const newton_problem *p, const state *from, const state *to, double t, double slope, double end) {
  if (!isfinite(to->size) || !isfinite(to->energy)) return 0;
  if (!p->convex) return to->size <= (1 - DECREASE * t) * from->size;
  if (to->energy <= from->energy + DECREASE * t * slope) return 1;
  return to->energy <= from->energy + FLAT * fabs(from->energy) && end <= -STEEP * slope;
}

/* x ← x - t·step with the first t = 1, ½, ¼, … that is accepted; 0: none is. */
static int search_line(const newton_problem *p, double *x, state *s, double *f, const double *step, double *trial) {
  double slope = -sum_products(p->n, f, step), t = 1;
  for (int k = 0; k < HALVINGS; k++, t /= 2) {
    for (int64_t i = 0; i < p->n; i++) trial[i] = x[i] - t * step[i];
    double *fresh = trial + p->n;
    state to = evaluate_residual(p, trial, fresh);
    if (!accept(p, s, &to, t, slope, -sum_products(p->n, fresh, step))) continue;
    memcpy(x, trial, (size_t)p->n * sizeof *x);
    memcpy(f, fresh, (size_t)p->n * sizeof *f);
    *s = to;
    return 1;
  }
  return 0;
}

dkho_status newton_solve(const newton_problem *p, double *x, double *room, newton_report *out) {
  double *f = room, *step = room + p->n, *trial = room + 2 * p->n;
  *out = (newton_report){0};
  state s = evaluate_residual(p, x, f);
  int most = p->steps ? p->steps : NEWTON_STEPS_MAX;
  assert(most <= NEWTON_STEPS_MAX);
  for (;; out->steps++) {
    out->residual = s.size;
    out->history[out->steps] = s.size;
    if (!isfinite(s.size)) return fail(DKHO_E_NOCONV, "Newton: the residual is not finite at the start");
    if (s.size <= p->tolerance) return DKHO_OK;
    if (out->steps == most)
      return fail(DKHO_E_NOCONV, "Newton: residual %.3g after %d steps, expected at most %.3g", s.size, out->steps,
                  p->tolerance);
    TRY(p->step(p->ctx, x, f, step));
    if (!search_line(p, x, &s, f, step, trial))
      return fail(DKHO_E_NOCONV, "Newton: no way down from residual %.3g at step %d, expected at most %.3g", s.size,
                  out->steps + 1, p->tolerance);
  }
}
