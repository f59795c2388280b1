/* excess.h: h - ln(1 + h) without the cancellation, for energies of small fields and small strains. */
#ifndef PROBLEM_EXCESS_H
#define PROBLEM_EXCESS_H

#include <math.h>

/* h²/2 - h³/3 + … where the difference would cancel; h > -1. */
static inline double log_excess(double h) {
  if (fabs(h) > 0.01) return h - log1p(h);
  double sum = 0;
  for (int k = 9; k >= 2; k--) sum = 1. / k - h * sum;
  return h * h * sum;
}

#endif
