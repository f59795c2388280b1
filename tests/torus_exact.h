/* torus_exact.h: heat flow on the smooth torus of radii 1 and 0.4. For u = F(v) cos(mθ), v the angle round the tube, F_t = (w F')'/(r² w)
 * - m² F/w² with w = R + r cos v: one periodic dimension, solved by Fourier collocation. */
#ifndef TESTS_TORUS_EXACT_H
#define TESTS_TORUS_EXACT_H

#include "problems.h"

#include "data/static.h"
#include "la/la.h"

enum { POINTS = 63 }; /* odd */
static const double MAJOR = 1, MINOR = 0.4;

/* exp(time·L) f at the points v_i = 2πi/POINTS. With D the Fourier derivative (skew), W^½ L W^-½ = W^-½ D W D W^-½/r² - m²/w² is
 * symmetric. */
static inline void heat_flow(int m, double time, double *f) {
  enum { N = POINTS };
  static double D[N * N], A[N * N];
  double lambda[N], root[N], modal[N];
  for (int i = 0; i < N; i++) root[i] = sqrt(MAJOR + MINOR * cos(2 * M_PI * i / N));
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) D[i + N * j] = i == j ? 0 : ((i - j) % 2 ? -0.5 : 0.5) / sin(M_PI * (i - j) / N);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int k = 0; k < N; k++) sum += D[i + N * k] * root[k] * root[k] * D[k + N * j];
      A[i + N * j] = sum / (root[i] * root[j] * MINOR * MINOR);
      if (i == j) A[i + N * j] -= m * m / (root[i] * root[i] * root[i] * root[i]);
    }
  assert_ok(dense_eig(N, A, lambda));
  for (int k = 0; k < N; k++) {
    modal[k] = 0;
    for (int i = 0; i < N; i++) modal[k] += A[i + N * k] * root[i] * f[i];
    modal[k] *= exp(time * lambda[k]);
  }
  for (int i = 0; i < N; i++) {
    f[i] = 0;
    for (int k = 0; k < N; k++) f[i] += A[i + N * k] * modal[k] / root[i];
  }
}

/* The trigonometric polynomial through f at the angle v. */
static inline double interpolate(const double *f, double v) {
  double sum = 0;
  for (int i = 0; i < POINTS; i++) {
    double a = v - 2 * M_PI * i / POINTS, s = sin(a / 2);
    sum += f[i] * (fabs(s) < 1e-12 ? 1 : sin(POINTS * a / 2) / (POINTS * s));
  }
  return sum;
}

/* One initial state per member of a group, F_k(v) cos(m_k θ). */
static inline double profile(int k, double v) {
  return exp(1.5 * cos(v - 0.7 * k));
}
static inline int winding(int k) {
  return k % 4;
}

/* Solves a problem whose first input and first target are vertex fields from these states; the relative L2 error against heat flow to
 * `time` turned by `turn`, the worst of the group. */
static inline double exact_error(ready *r, double time, double turn) {
  const cx *c = r->c;
  int64_t n = c->n[0];
  double worst = 0, *weight = doubles(&r->mem, n), *tube = doubles(&r->mem, n), *angle = doubles(&r->mem, n);
  static_lumped(c, weight);
  for (int64_t i = 0; i < n; i++) {
    const double *x = c->x + 3 * i;
    tube[i] = atan2(x[2], hypot(x[0], x[1]) - MAJOR);
    angle[i] = atan2(x[1], x[0]);
    for (int k = 0; k < GROUP; k++) r->block[0][k * n + i] = profile(k, tube[i]) * cos(winding(k) * angle[i]);
  }
  assert_ok(r->p->solve(r->s, r->work, r->block));
  for (int k = 0; k < GROUP; k++) {
    double f[POINTS], gap = 0, size = 0;
    for (int i = 0; i < POINTS; i++) f[i] = profile(k, 2 * M_PI * i / POINTS);
    heat_flow(winding(k), time, f);
    for (int64_t i = 0; i < n; i++) {
      double want = interpolate(f, tube[i]) * cos(winding(k) * (angle[i] - turn)), e = r->block[1][k * n + i] - want;
      gap += weight[i] * e * e;
      size += weight[i] * want * want;
    }
    worst = fmax(worst, sqrt(gap / size));
  }
  return worst;
}

#endif
