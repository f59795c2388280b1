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

/* Brauer's curve h = B (rest + k₁ (exp(k₂B²) - 1)), rest = k₁ + k₃, and its last point. */
typedef struct brauer {
  double rest, k1, k2;
  double last, field; /* B and h */
} brauer;

/* k₂B² = x at the last point, where dh/dB = 1/μ and B = S + μh: with rest = 1/(S + μ) these leave one curve. x = 8 makes k₃/k₁ about 1000 for
 * S = 50μ, as for electrical steel. */
static brauer fit_brauer(double S, double mu) {
  static const double x = 8, tail = 3.3546262790251185e-4; /* exp(-x) */
  double span = 1 + 2 * x - tail, last = (S + mu) * span / (2 * x);
  return (brauer){1 / (S + mu), tail * S / (mu * (S + mu) * span), x / (last * last), last, (last - S) / mu};
}

/* B of h ≥ 0. The curve is convex: from a B that is too large Newton's method comes down to the solution and never passes it, but for
 * rounding, which ends it. */
static double invert_brauer(const brauer *c, double h) {
  double B = fmin(h / c->rest, c->last);
  for (;;) {
    double y = c->k2 * B * B, growth = expm1(y), reluctivity = c->rest + c->k1 * growth;
    double next = B - (B * reluctivity - h) / (reluctivity + 2 * c->k1 * y * (1 + growth));
    if (!(next < B)) return B;
    B = next;
  }
}

/* W = hB - ∫ h dB, and with ρ = h/B: ν = 1/ρ, dB/dh = 1/(ρ + 2k₁yeʸ), y = k₂B². */
static closed_response respond_brauer(const brauer *c, double B) {
  double y = c->k2 * B * B, growth = expm1(y), nu = 1 / (c->rest + c->k1 * growth);
  double bend = 2 * c->k1 * c->k2 * (1 + growth), slope = 1 / (1 / nu + bend * B * B);
  return (closed_response){c->rest * B * B / 2 + c->k1 / (2 * c->k2) * ((2 * y - 1) * growth + y), nu,
                           -bend * nu * nu * nu * slope};
}

closed_response closed_brauer(const double *material, double h) {
  double S = material[0], mu = material[1];
  brauer c = fit_brauer(S, mu);
  if (!(h > c.field)) return respond_brauer(&c, invert_brauer(&c, h));
  double before = respond_brauer(&c, c.last).density;
  return (closed_response){before + (h - c.field) * (S + mu * (h + c.field) / 2), mu + S / h, -S / (h * h * h)};
}

/* With r = √(a² + 4bh): ν = 2/(a + r), ν′ = -4b/(r (a + r)²), W = (2/3) h² (2r + a)/(a + r)². */
closed_response closed_forchheimer(const double *material, double h) {
  double a = material[0], b = material[1], r = sqrt(a * a + 4 * b * h), t = 1 / (a + r);
  return (closed_response){2. / 3 * h * h * (2 * r + a) * t * t, 2 * t, h > 0 ? -4 * b * t * t / (r * h) : 0};
}

/* 1 + 0.2 M² (1 - h²): the temperature over the stream's. */
static double gas_temperature(double M, double h) {
  return 1 + 0.2 * M * M * (1 - h * h);
}

double closed_gas_mach(double M, double h) {
  return M * h / sqrt(gas_temperature(M, h));
}

/* M² h² = m² T(h) */
double closed_gas_limit(double M) {
  return sqrt(gas_temperature(M, 0) / (1 + 0.2 * CLOSED_MACH * CLOSED_MACH)) * CLOSED_MACH / M;
}

/* With T the temperature: ρ = T^2.5, ρ′ = -M² h T^1.5, W = (T(0)^3.5 - T^3.5)/(1.4 M²), here without a difference of large numbers. */
static closed_response respond_gas(double b, double M, double h) {
  double T = gas_temperature(M, h), rest = gas_temperature(M, 0), r = sqrt(T) * T, m2 = M * M;
  double drop = -expm1(3.5 * log1p(-0.2 * m2 * h * h / rest)) / (1.4 * m2);
  return (closed_response){b * pow(rest, 3.5) * drop, b * r * T, -b * m2 * r};
}

/* Beyond the limit the flux is f + s (h - limit). */
closed_response closed_gas(const double *material, double h) {
  double b = material[0], M = material[1], limit = closed_gas_limit(M);
  if (!(M > 0)) return (closed_response){b * h * h / 2, b, 0};
  if (!(h > limit)) return respond_gas(b, M, h);
  closed_response at = respond_gas(b, M, limit);
  double f = at.nu * limit, s = at.nu + at.bend * limit * limit, past = h - limit, nu = (f + s * past) / h;
  return (closed_response){at.density + past * (f + s * past / 2), nu, (s - nu) / (h * h)};
}
