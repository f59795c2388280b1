/* closed_law.c: material laws of closed 1-forms. */
#include "problem/closed.h"
#include "problem/excess.h"

#include <math.h>

closed_response closed_linear(const double *material, double h) {
  (void)material;
  return (closed_response){h * h / 2, 1, 0};
}

/* W = μh²/2 + S(h - ln(1 + h)), ν = μ + S/(1 + h), ν′ = -S/(1 + h)². */
closed_response closed_froehlich(const double *material, double h) {
  double S = material[0], mu = material[1], t = 1 / (1 + h);
  return (closed_response){mu * h * h / 2 + S * log_excess(h), mu + S * t, h > 0 ? -S * t * t / h : 0};
}

/* With r = √(a² + 4bh): ν = 2/(a + r), ν′ = -4b/(r (a + r)²), W = (2/3) h² (2r + a)/(a + r)². */
closed_response closed_forchheimer(const double *material, double h) {
  double a = material[0], b = material[1], r = sqrt(a * a + 4 * b * h), t = 1 / (a + r);
  return (closed_response){2. / 3 * h * h * (2 * r + a) * t * t, 2 * t, h > 0 ? -4 * b * t * t / (r * h) : 0};
}
