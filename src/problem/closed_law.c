/* closed_law.c: material laws of closed 1-forms. */
#include "problem/closed.h"

#include <math.h>

closed_response closed_linear(const double *material, double h) {
  (void)material;
  return (closed_response){h * h / 2, 1, 0};
}

/* h - ln(1 + h), which would cancel for small h: h²/2 - h³/3 + … there. */
static double above_log(double h) {
  if (h > 0.01) return h - log1p(h);
  double sum = 0;
  for (int k = 9; k >= 2; k--) sum = 1. / k - h * sum;
  return h * h * sum;
}

/* W = μh²/2 + S(h - ln(1 + h)), ν = μ + S/(1 + h), ν′ = -S/(1 + h)². */
closed_response closed_froehlich(const double *material, double h) {
  double S = material[0], mu = material[1], t = 1 / (1 + h);
  return (closed_response){mu * h * h / 2 + S * above_log(h), mu + S * t, h > 0 ? -S * t * t / h : 0};
}

/* With r = √(a² + 4bh): ν = 2/(a + r), ν′ = -4b/(r (a + r)²), W = (2/3) h² (2r + a)/(a + r)². */
closed_response closed_forchheimer(const double *material, double h) {
  double a = material[0], b = material[1], r = sqrt(a * a + 4 * b * h), t = 1 / (a + r);
  return (closed_response){2. / 3 * h * h * (2 * r + a) * t * t, 2 * t, h > 0 ? -4 * b * t * t / (r * h) : 0};
}
