/* shapes.h: small complexes with known topology for tests. Coordinates of surfaces that do not fit into space are
 * arbitrary: topology is combinatorial, and any positive metric will do for identities. */
#ifndef TESTS_SHAPES_H
#define TESTS_SHAPES_H

#include "base/rng.h"
#include "mesh/cx.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SHAPE_PI 3.14159265358979323846
enum { SHAPE_MAX = 1 << 16 };

/* Vertices and top simplices under construction; unused vertices are dropped at the end. */
typedef struct shape {
  int gdim, dim;
  int64_t n0, tops;
  double *x;    /* SHAPE_MAX × 3 */
  int32_t *top; /* SHAPE_MAX × 4 */
} shape;

static inline shape shape_new(int gdim, int dim) {
  shape s = {.gdim = gdim, .dim = dim};
  s.x = malloc(3 * SHAPE_MAX * sizeof *s.x);
  s.top = malloc(4 * SHAPE_MAX * sizeof *s.top);
  assert_true(s.x && s.top);
  return s;
}

static inline int32_t shape_vertex(shape *s, double x, double y, double z) {
  double p[3] = {x, y, z};
  assert_true(s->n0 < SHAPE_MAX);
  memcpy(s->x + s->n0 * s->gdim, p, (size_t)s->gdim * sizeof *p);
  return (int32_t)s->n0++;
}

static inline void shape_top(shape *s, int32_t a, int32_t b, int32_t c, int32_t d) {
  int32_t v[4] = {a, b, c, d};
  assert_true(s->tops < SHAPE_MAX);
  memcpy(s->top + s->tops++ * (s->dim + 1), v, (size_t)(s->dim + 1) * sizeof *v);
}

static inline cx *shape_finish(shape *s) {
  int32_t *name = malloc((size_t)(s->n0 + 1) * sizeof *name), used = 0;
  memset(name, -1, (size_t)(s->n0 + 1) * sizeof *name);
  for (int64_t p = 0; p < s->tops * (s->dim + 1); p++) name[s->top[p]] = 0;
  for (int64_t v = 0; v < s->n0; v++) {
    if (name[v] < 0) continue;
    memmove(s->x + used * s->gdim, s->x + v * s->gdim, (size_t)s->gdim * sizeof *s->x);
    name[v] = used++;
  }
  for (int64_t p = 0; p < s->tops * (s->dim + 1); p++) s->top[p] = name[s->top[p]];
  cx *c = NULL;
  if (cx_build(&c, s->gdim, used, s->x, s->dim, s->tops, s->top, CX_APPEARANCE) != DKHO_OK) fail_msg("%s", fail_text());
  free(name);
  free(s->x);
  free(s->top);
  return c;
}

/* nx × ny unit squares, each cut in two; squares listed in holes (x, y pairs) are left out. Vertices are moved by up to
 * `jitter` inside. */
static inline cx *shape_planar(int nx, int ny, int holes, const int (*hole)[2], double jitter) {
  shape s = shape_new(2, 2);
  rng r = rng_open(3, RNG_TEST, 100);
  for (int y = 0; y <= ny; y++)
    for (int x = 0; x <= nx; x++) {
      double dx = rng_range(&r, -jitter, jitter), dy = rng_range(&r, -jitter, jitter);
      shape_vertex(&s, x + dx * (x > 0 && x < nx), y + dy * (y > 0 && y < ny), 0);
    }
  for (int y = 0; y < ny; y++)
    for (int x = 0; x < nx; x++) {
      int skip = 0;
      for (int h = 0; h < holes; h++) skip |= hole[h][0] == x && hole[h][1] == y;
      int32_t a = (int32_t)(y * (nx + 1) + x), b = a + 1, c = a + nx + 1, d = c + 1;
      if (skip) continue;
      shape_top(&s, a, b, d, 0);
      shape_top(&s, a, d, c, 0);
    }
  return shape_finish(&s);
}

/* Adds a periodic nu × nv grid (both ≥ 3); with flip the second direction closes with a reversal (Klein bottle). Its
 * first `skip` triangles are left out. Returns the first vertex. */
static inline int32_t shape_add_periodic(shape *s, int nu, int nv, double major, double minor, double shift, int flip,
                                         int skip) {
  int32_t first = (int32_t)s->n0;
  rng r = rng_open(4, RNG_TEST, (uint64_t)(nu * nv + flip));
  for (int j = 0; j < nv; j++)
    for (int i = 0; i < nu; i++) {
      double u = 2 * SHAPE_PI * i / nu, v = 2 * SHAPE_PI * j / nv, w = major + minor * cos(v);
      if (flip)
        shape_vertex(s, rng_normal(&r), rng_normal(&r), rng_normal(&r));
      else
        shape_vertex(s, shift + w * cos(u), w * sin(u), minor * sin(v));
    }
  for (int j = 0; j < nv; j++)
    for (int i = 0; i < nu; i++) {
      int i1 = (i + 1) % nu, j1 = (j + 1) % nv, back = flip && j1 == 0;
      int32_t a = (int32_t)(first + j * nu + i), b = (int32_t)(first + j * nu + i1);
      int32_t c = (int32_t)(first + j1 * nu + (back ? (nu - i) % nu : i));
      int32_t d = (int32_t)(first + j1 * nu + (back ? (nu - i1) % nu : i1));
      if (skip-- <= 0) shape_top(s, a, b, d, 0);
      if (skip-- <= 0) shape_top(s, a, d, c, 0);
    }
  return first;
}

static inline cx *shape_torus(int nu, int nv) {
  shape s = shape_new(3, 2);
  shape_add_periodic(&s, nu, nv, 2, 0.7, 0, 0, 0);
  return shape_finish(&s);
}

static inline cx *shape_klein(int nu, int nv) {
  shape s = shape_new(3, 2);
  shape_add_periodic(&s, nu, nv, 0, 0, 0, 1, 0);
  return shape_finish(&s);
}

/* Two tori without their first triangle (a, b, d), glued along its border with the orders reversed so that the surface
 * stays oriented. */
static inline cx *shape_double_torus(int nu, int nv) {
  shape s = shape_new(3, 2);
  int32_t a = shape_add_periodic(&s, nu, nv, 2, 0.7, 0, 0, 1);
  int64_t border = s.tops;
  int32_t b = shape_add_periodic(&s, nu, nv, 2, 0.7, 6, 0, 1);
  int32_t from[3] = {b, b + 1, b + nu + 1}, to[3] = {a + 1, a, a + nu + 1};
  for (int64_t p = 3 * border; p < 3 * s.tops; p++)
    for (int q = 0; q < 3; q++)
      if (s.top[p] == from[q]) {
        s.top[p] = to[q];
        break;
      }
  return shape_finish(&s);
}

static inline cx *shape_projective_plane(void) { /* six vertices, ten triangles: half an icosahedron */
  static const int32_t t[10][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 5}, {0, 5, 1},
                                   {1, 2, 4}, {2, 3, 5}, {3, 4, 1}, {4, 5, 2}, {5, 1, 3}};
  shape s = shape_new(3, 2);
  rng r = rng_open(5, RNG_TEST, 0);
  for (int i = 0; i < 6; i++) {
    double x = rng_normal(&r), y = rng_normal(&r);
    shape_vertex(&s, x, y, rng_normal(&r));
  }
  for (int i = 0; i < 10; i++) shape_top(&s, t[i][0], t[i][1], t[i][2], 0);
  return shape_finish(&s);
}

/* Unit icosahedron with every triangle cut into n² and pushed out to the sphere. */
static inline cx *shape_sphere(int n) {
  const double g = (1 + sqrt(5.0)) / 2;
  const double v[12][3] = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                           {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  static const int t[20][3] = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                               {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                               {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  shape s = shape_new(3, 2);
  int32_t *grid = malloc((size_t)((n + 1) * (n + 1)) * sizeof *grid);
  for (int f = 0; f < 20; f++) {
    for (int i = 0; i <= n; i++)
      for (int j = 0; i + j <= n; j++) {
        double p[3], len = 0;
        for (int q = 0; q < 3; q++) {
          p[q] = ((n - i - j) * v[t[f][0]][q] + i * v[t[f][1]][q] + j * v[t[f][2]][q]) / n;
          len += p[q] * p[q];
        }
        for (int q = 0; q < 3; q++) p[q] /= sqrt(len);
        int32_t at = -1; /* shared with an earlier face? */
        int edge = i == 0 || j == 0 || i + j == n;
        for (int64_t w = 0; edge && w < s.n0 && at < 0; w++)
          if (fabs(s.x[3 * w] - p[0]) + fabs(s.x[3 * w + 1] - p[1]) + fabs(s.x[3 * w + 2] - p[2]) < 1e-9)
            at = (int32_t)w;
        grid[i * (n + 1) + j] = at >= 0 ? at : shape_vertex(&s, p[0], p[1], p[2]);
      }
    for (int i = 0; i < n; i++)
      for (int j = 0; i + j < n; j++) {
        int32_t a = grid[i * (n + 1) + j], b = grid[(i + 1) * (n + 1) + j], c = grid[i * (n + 1) + j + 1];
        shape_top(&s, a, b, c, 0);
        if (i + j < n - 1) shape_top(&s, b, grid[(i + 1) * (n + 1) + j + 1], c, 0);
      }
  }
  free(grid);
  return shape_finish(&s);
}

/* The cubes of an nx × ny × nz block for which keep(x, y, z) holds, each cut into six tetrahedra along its diagonal. */
static inline cx *shape_cubes(int nx, int ny, int nz, int (*keep)(int, int, int), double jitter) {
  static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  shape s = shape_new(3, 3);
  rng r = rng_open(6, RNG_TEST, 0);
  for (int z = 0; z <= nz; z++)
    for (int y = 0; y <= ny; y++)
      for (int x = 0; x <= nx; x++) {
        double dx = rng_range(&r, -jitter, jitter), dy = rng_range(&r, -jitter, jitter);
        shape_vertex(&s, x + dx, y + dy, z + rng_range(&r, -jitter, jitter));
      }
  int step[3] = {1, nx + 1, (nx + 1) * (ny + 1)};
  for (int z = 0; z < nz; z++)
    for (int y = 0; y < ny; y++)
      for (int x = 0; x < nx; x++)
        for (int q = 0; keep(x, y, z) && q < 6; q++) {
          int32_t v[4] = {(int32_t)(x * step[0] + y * step[1] + z * step[2])};
          for (int i = 0; i < 3; i++) v[i + 1] = v[i] + step[order[q][i]];
          shape_top(&s, v[0], v[1], v[2], v[3]);
        }
  return shape_finish(&s);
}

#endif
