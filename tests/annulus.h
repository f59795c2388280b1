/* annulus.h: the ring 1 < r < 2 as a planar complex: `rings` layers of triangles, boundaries inscribed in the circles; vertices are moved about
 * so that symmetry helps nobody. */
#ifndef TESTS_ANNULUS_H
#define TESTS_ANNULUS_H

#include "problems.h"

static inline cx *annulus(int rings) {
  int around = 8 * rings;
  arena mem = {0};
  double *x = doubles(&mem, 2 * (int64_t)around * (rings + 1));
  int32_t *t = arena_take(&mem, (size_t)(6 * around * rings), sizeof *t), *put = t;
  assert_non_null(t);
  rng g = rng_open(1, RNG_TEST, (uint64_t)rings);
  for (int i = 0; i <= rings; i++)
    for (int j = 0; j < around; j++) {
      double r = 1 + (i % rings ? i + rng_range(&g, -0.2, 0.2) : i) / rings;
      double a = 2 * M_PI * (j + 0.5 * (i % 2) + rng_range(&g, -0.2, 0.2)) / around;
      x[2 * (i * around + j)] = r * cos(a);
      x[2 * (i * around + j) + 1] = r * sin(a);
    }
  for (int i = 0; i < rings; i++)
    for (int j = 0; j < around; j++) {
      int k = (j + 1) % around, a = i * around + j, b = i * around + k, c = a + around, d = b + around;
      int quad[2][6] = {{a, c, b, b, c, d}, {a, d, b, a, c, d}};
      for (int q = 0; q < 6; q++) *put++ = quad[i % 2][q];
    }
  cx *out;
  assert_ok(cx_build(&out, 2, (int64_t)around * (rings + 1), x, 2, 2 * (int64_t)around * rings, t, CX_APPEARANCE));
  arena_free(&mem);
  return out;
}

static inline double radius(const double *x) {
  return hypot(x[0], x[1]);
}

#endif
