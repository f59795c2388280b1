/* zoo.h: the shapes of shapes.h with their Betti numbers over the rationals, absolute and relative to the boundary. */
#ifndef TESTS_ZOO_H
#define TESTS_ZOO_H

#include "shapes.h"

typedef struct zoo_entry {
  const char *name;
  cx *(*make)(void);
  int64_t betti[CX_DEGREES], relative[CX_DEGREES];
} zoo_entry;

static inline cx *zoo_disk(void) {
  return shape_planar(5, 4, 0, NULL, 0.2);
}
static inline cx *zoo_annulus(void) {
  return shape_planar(5, 5, 1, (const int[][2]){{2, 2}}, 0.2);
}
static inline cx *zoo_two_holes(void) {
  return shape_planar(7, 4, 2, (const int[][2]){{1, 1}, {4, 2}}, 0.2);
}
static inline cx *zoo_ten_holes(void) {
  return shape_planar(
      12, 5, 10, (const int[][2]){{1, 1}, {3, 1}, {5, 1}, {7, 1}, {9, 1}, {1, 3}, {3, 3}, {5, 3}, {7, 3}, {9, 3}}, 0.2);
}
static inline cx *zoo_sphere(void) {
  return shape_sphere(3);
}
static inline cx *zoo_torus(void) {
  return shape_torus(7, 5);
}
static inline cx *zoo_double_torus(void) {
  return shape_double_torus(6, 5);
}
static inline cx *zoo_klein(void) {
  return shape_klein(6, 5);
}

static inline cx *zoo_moebius(void) {
  shape s = shape_new(3, 2);
  enum { N = 9 };
  for (int i = 0; i < N; i++)
    for (int side = -1; side <= 1; side += 2) {
      double u = 2 * SHAPE_PI * i / N, w = 2 + 0.5 * side * cos(u / 2);
      shape_vertex(&s, w * cos(u), w * sin(u), 0.5 * side * sin(u / 2));
    }
  for (int32_t i = 0; i < N; i++) {
    int32_t a = 2 * i, b = a + 1, c = i + 1 < N ? a + 2 : 1, d = i + 1 < N ? a + 3 : 0;
    shape_top(&s, a, c, d, 0);
    shape_top(&s, a, d, b, 0);
  }
  return shape_finish(&s);
}

static inline int zoo_all(int x, int y, int z) {
  (void)x, (void)y, (void)z;
  return 1;
}
static inline int zoo_not_middle(int x, int y, int z) {
  return !(x == 1 && y == 1 && z == 1);
}
static inline int zoo_ring(int x, int y, int z) {
  (void)z;
  return !(x == 1 && y == 1);
}
static inline cx *zoo_ball(void) {
  return shape_cubes(2, 2, 2, zoo_all, 0.15);
}
static inline cx *zoo_shell(void) {
  return shape_cubes(3, 3, 3, zoo_not_middle, 0.15);
}
static inline cx *zoo_solid_torus(void) {
  return shape_cubes(3, 3, 1, zoo_ring, 0.15);
}

static inline cx *zoo_two_components(void) { /* a disk and, apart from it, an annulus */
  shape s = shape_new(2, 2);
  for (int i = 0; i < 12; i++) {
    double r = i % 2 ? 2 : 1, a = SHAPE_PI * (i / 2) / 3;
    shape_vertex(&s, r * cos(a), r * sin(a), 0);
  }
  for (int32_t i = 0; i < 6; i++) {
    int32_t a = 2 * i, b = a + 1, c = (a + 2) % 12, d = (a + 3) % 12;
    shape_top(&s, a, b, d, 0);
    shape_top(&s, a, d, c, 0);
  }
  int32_t p = shape_vertex(&s, 10, 0, 0), q = shape_vertex(&s, 11, 0, 0), r = shape_vertex(&s, 10.3, 1, 0);
  int32_t t = shape_vertex(&s, 11.2, 0.9, 0);
  shape_top(&s, p, q, r, 0);
  shape_top(&s, q, t, r, 0);
  return shape_finish(&s);
}

static inline cx *zoo_book(void) { /* three pages on one spine: not a manifold */
  shape s = shape_new(3, 2);
  int32_t a = shape_vertex(&s, 0, 0, 0), b = shape_vertex(&s, 0, 0, 1);
  for (int i = 0; i < 3; i++) shape_top(&s, a, b, shape_vertex(&s, cos(2.0 * i), sin(2.0 * i), 0.4), 0);
  return shape_finish(&s);
}

static inline cx *zoo_wedge(void) { /* two tetrahedral spheres that share a vertex */
  shape s = shape_new(3, 2);
  int32_t o = shape_vertex(&s, 0, 0, 0);
  for (int side = -1; side <= 1; side += 2) {
    int32_t a = shape_vertex(&s, side, 0.2, 0), b = shape_vertex(&s, side, 1, 0.1), c = shape_vertex(&s, side, 0, 1);
    shape_top(&s, o, a, b, 0);
    shape_top(&s, o, b, c, 0);
    shape_top(&s, o, c, a, 0);
    shape_top(&s, a, c, b, 0);
  }
  return shape_finish(&s);
}

static inline cx *zoo_three_sphere(void) { /* the border of a 4-simplex, immersed */
  shape s = shape_new(3, 3);
  rng r = rng_open(7, RNG_TEST, 0);
  for (int i = 0; i < 5; i++) {
    double x = rng_normal(&r), y = rng_normal(&r);
    shape_vertex(&s, x, y, rng_normal(&r));
  }
  for (int32_t skip = 0; skip < 5; skip++) {
    int32_t v[4], put = 0;
    for (int32_t i = 0; i < 5; i++)
      if (i != skip) v[put++] = i;
    shape_top(&s, v[0], v[1], v[2], v[3]);
  }
  return shape_finish(&s);
}

static inline cx *zoo_theta(void) { /* a graph: two nodes, three paths */
  shape s = shape_new(2, 1);
  int32_t a = shape_vertex(&s, 0, 0, 0), b = shape_vertex(&s, 3, 0, 0);
  for (int i = -1; i <= 1; i++) {
    int32_t m = shape_vertex(&s, 1, i, 0), w = shape_vertex(&s, 2, 1.5 * i, 0);
    shape_top(&s, a, m, 0, 0);
    shape_top(&s, m, w, 0, 0);
    shape_top(&s, w, b, 0, 0);
  }
  return shape_finish(&s);
}

static inline cx *zoo_path(void) {
  shape s = shape_new(2, 1);
  for (int32_t i = 0; i < 5; i++) {
    shape_vertex(&s, i, 0.1 * i * i, 0);
    if (i) shape_top(&s, i, i - 1, 0, 0);
  }
  return shape_finish(&s);
}

static inline cx *zoo_points(void) {
  shape s = shape_new(2, 0);
  for (int32_t i = 0; i < 3; i++) shape_top(&s, shape_vertex(&s, i, 0, 0), 0, 0, 0);
  return shape_finish(&s);
}

/* Relative numbers by Lefschetz duality where the shape is an oriented manifold, by the long exact sequence elsewhere. */
static const zoo_entry ZOO[] = {
    {"disk", zoo_disk, {1}, {0, 0, 1}},
    {"annulus", zoo_annulus, {1, 1}, {0, 1, 1}},
    {"two holes", zoo_two_holes, {1, 2}, {0, 2, 1}},
    {"ten holes", zoo_ten_holes, {1, 10}, {0, 10, 1}},
    {"sphere", zoo_sphere, {1, 0, 1}, {1, 0, 1}},
    {"torus", zoo_torus, {1, 2, 1}, {1, 2, 1}},
    {"double torus", zoo_double_torus, {1, 4, 1}, {1, 4, 1}},
    {"Klein bottle", zoo_klein, {1, 1}, {1, 1}},
    {"projective plane", shape_projective_plane, {1}, {1}},
    {"Möbius band", zoo_moebius, {1, 1}, {0}},
    {"ball", zoo_ball, {1}, {0, 0, 0, 1}},
    {"shell", zoo_shell, {1, 0, 1}, {0, 1, 0, 1}},
    {"solid torus", zoo_solid_torus, {1, 1}, {0, 0, 1, 1}},
    {"two components", zoo_two_components, {2, 1}, {0, 1, 2}},
    {"book", zoo_book, {1}, {0, 0, 2}},
    {"wedge of spheres", zoo_wedge, {1, 0, 2}, {1, 0, 2}},
    {"three-sphere", zoo_three_sphere, {1, 0, 0, 1}, {1, 0, 0, 1}},
    {"theta graph", zoo_theta, {1, 2}, {1, 2}},
    {"path", zoo_path, {1}, {0, 1}},
    {"points", zoo_points, {3}, {3}},
};
enum { ZOO_COUNT = sizeof ZOO / sizeof *ZOO };

#endif
