/* gen_relax.c: interior points of the planar mesher. Points are first added at the centroids of the triangles that are
 * largest against the size field, about twice as many in each round, with some smoothing in between. Then come a fixed
 * number of smoothing rounds, some of which first carry the most crowded points to the emptiest places, and at the end
 * rounds that widen what narrow angles are left. Nothing is random. */
#include "mesh/gen_planar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_GROWING = 2, ROUNDS_FINAL = 30, ROUNDS_WIDENING = 8 };
static const double NARROW = 35 * M_PI / 180;

typedef struct ranked {
  double key;
  int32_t index;
} ranked;

/* Largest key first, then lowest index. */
static int compare_ranked(const void *a, const void *b) {
  const ranked *p = a, *q = b;
  if (p->key != q->key) return p->key > q->key ? -1 : 1;
  return (p->index > q->index) - (p->index < q->index);
}

static double area2(const double *a, const double *b, const double *c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

static void centroid(const double *x, const int32_t *v, double *g) {
  for (int j = 0; j < 2; j++) g[j] = (x[2 * v[0] + j] + x[2 * v[1] + j] + x[2 * v[2] + j]) / 3;
}

static void circumcentre(const double *a, const double *b, const double *c, double *out) {
  double u[2] = {b[0] - a[0], b[1] - a[1]}, v[2] = {c[0] - a[0], c[1] - a[1]};
  double d = 2 * (u[0] * v[1] - u[1] * v[0]), uu = u[0] * u[0] + u[1] * u[1], vv = v[0] * v[0] + v[1] * v[1];
  out[0] = a[0] + (v[1] * uu - u[1] * vv) / d;
  out[1] = a[1] + (u[0] * vv - v[0] * uu) / d;
}

/* Adds `count` points at the centroids of the triangles with the largest area/h². */
static dkho_status insert_points(planar *m, int64_t count) {
  int64_t triangles;
  int32_t *tri;
  ranked *rank = NULL;
  TRY(planar_triangles(m, &triangles, &tri));
  if (!MEM_NEW(rank, triangles)) {
    mem_free(tri);
    return DKHO_E_MEMORY;
  }
  for (int64_t i = 0; i < triangles; i++) {
    const int32_t *v = tri + 3 * i;
    double g[2];
    centroid(m->x, v, g);
    double h = planar_size(m->p, g);
    rank[i] = (ranked){area2(m->x + 2 * v[0], m->x + 2 * v[1], m->x + 2 * v[2]) / (h * h), (int32_t)i};
  }
  qsort(rank, (size_t)triangles, sizeof *rank, compare_ranked);
  for (int64_t i = 0; i < count && i < triangles; i++)
    centroid(m->x, tri + 3 * (int64_t)rank[i].index, m->x + 2 * (m->boundary + m->interior++));
  mem_free(rank);
  mem_free(tri);
  return DKHO_OK;
}

/* Takes away the `count` interior points whose triangles are smallest against h². */
static dkho_status remove_points(planar *m, int64_t count) {
  int64_t triangles, kept = 0;
  int32_t *tri;
  ranked *rank = NULL;
  TRY(planar_triangles(m, &triangles, &tri));
  if (!MEM_NEW(rank, m->interior)) {
    mem_free(tri);
    return DKHO_E_MEMORY;
  }
  double *x = m->x + 2 * m->boundary;
  for (int64_t i = 0; i < m->interior; i++) rank[i].index = (int32_t)i;
  for (int64_t p = 0; p < 3 * triangles; p++) {
    const int32_t *v = tri + p / 3 * 3;
    int64_t i = tri[p] - m->boundary;
    if (i < 0) continue;
    double h = planar_size(m->p, x + 2 * i);
    rank[i].key -= area2(m->x + 2 * v[0], m->x + 2 * v[1], m->x + 2 * v[2]) / (h * h);
  }
  qsort(rank, (size_t)m->interior, sizeof *rank, compare_ranked);
  for (int64_t i = 0; i < count; i++) x[2 * (int64_t)rank[i].index] = NAN;
  for (int64_t i = 0; i < m->interior; i++) {
    if (!isnan(x[2 * i])) memmove(x + 2 * kept++, x + 2 * i, 2 * sizeof *x);
  }
  m->interior = kept;
  mem_free(rank);
  mem_free(tri);
  return DKHO_OK;
}

/* Keeps a moved point clear of the boundary by a third of the local size. */
static void keep_inside(const gen_planar *p, double *x) {
  double gap = planar_size(p, x) / 3;
  for (int i = 0; i < p->holes; i++) {
    double dx = x[0] - p->hole[i][0], dy = x[1] - p->hole[i][1], d = hypot(dx, dy), least = p->hole[i][2] + gap;
    if (d >= least || d == 0) continue;
    x[0] = p->hole[i][0] + dx * least / d;
    x[1] = p->hole[i][1] + dy * least / d;
  }
  for (int j = 0; j < 2; j++) x[j] = fmax(-p->half + gap, fmin(p->half - gap, x[j]));
}

/* One round: each interior point moves to the mean of the circumcentres of its triangles, weighted by area/h⁴ (optimal
 * Delaunay smoothing with a density that asks for triangles of area ∝ h²). A circumcentre outside its triangle by more
 * than the centroid's distance is pulled in, or boundary triangles would throw points out. */
static dkho_status smooth(planar *m, double *sum) {
  int64_t triangles, n = m->boundary + m->interior;
  int32_t *tri;
  TRY(planar_triangles(m, &triangles, &tri));
  memset(sum, 0, (size_t)(3 * n) * sizeof *sum);
  for (int64_t i = 0; i < triangles; i++) {
    const int32_t *v = tri + 3 * i;
    const double *a = m->x + 2 * v[0], *b = m->x + 2 * v[1], *c = m->x + 2 * v[2];
    double g[2], centre[2];
    centroid(m->x, v, g);
    circumcentre(a, b, c, centre);
    double h = planar_size(m->p, g), area = area2(a, b, c), weight = area / (h * h * h * h);
    double reach = hypot(centre[0] - g[0], centre[1] - g[1]), most = sqrt(area) / 2;
    double part = reach > most ? most / reach : 1;
    for (int j = 0; j < 3; j++) {
      for (int q = 0; q < 2; q++) sum[3 * v[j] + q] += weight * (g[q] + part * (centre[q] - g[q]));
      sum[3 * v[j] + 2] += weight;
    }
  }
  mem_free(tri);
  for (int64_t i = m->boundary; i < n; i++) {
    if (!(sum[3 * i + 2] > 0)) continue;
    for (int q = 0; q < 2; q++) m->x[2 * i + q] = sum[3 * i + q] / sum[3 * i + 2];
    keep_inside(m->p, m->x + 2 * i);
  }
  return DKHO_OK;
}

/* Triangles of each vertex, three per triangle: ptr (n + 1), list; both from a. */
static dkho_status vertex_stars(arena *a, int64_t n, int64_t triangles, const int32_t *tri, int64_t **ptr,
                                int32_t **list) {
  if (!ARENA_NEW(a, *ptr, n + 2) || !ARENA_NEW(a, *list, 3 * triangles)) return DKHO_E_MEMORY;
  for (int64_t p = 0; p < 3 * triangles; p++) (*ptr)[tri[p] + 2]++;
  for (int64_t i = 0; i < n; i++) (*ptr)[i + 2] += (*ptr)[i + 1];
  for (int64_t p = 0; p < 3 * triangles; p++) (*list)[(*ptr)[tri[p] + 1]++] = (int32_t)(p / 3);
  return DKHO_OK;
}

/* Smallest angle of the triangles in a star, in radians; negative when one is turned over. */
static double star_angle(const double *x, const int32_t *tri, const int32_t *star, int64_t count) {
  double least = M_PI;
  for (int64_t i = 0; i < count; i++) {
    const int32_t *v = tri + 3 * (int64_t)star[i];
    const double *p[3] = {x + 2 * (int64_t)v[0], x + 2 * (int64_t)v[1], x + 2 * (int64_t)v[2]};
    double turn = area2(p[0], p[1], p[2]);
    for (int j = 0; j < 3; j++) {
      const double *a = p[j], *b = p[(j + 1) % 3], *c = p[(j + 2) % 3];
      least = fmin(least, atan2(turn, (b[0] - a[0]) * (c[0] - a[0]) + (b[1] - a[1]) * (c[1] - a[1])));
    }
  }
  return least;
}

/* Moves vertex i by shrinking steps in eight directions while its star's smallest angle grows. */
static void widen_star(double *x, int64_t i, double step, const int32_t *tri, const int32_t *star, int64_t count) {
  static const double way[8][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
  double best = star_angle(x, tri, star, count);
  for (int halving = 0; halving < 6; halving++, step /= 2) {
    for (int j = 0; j < 8; j++) {
      double old[2] = {x[2 * i], x[2 * i + 1]};
      for (int q = 0; q < 2; q++) x[2 * i + q] += step * way[j][q];
      double now = star_angle(x, tri, star, count);
      if (now > best)
        best = now;
      else
        memcpy(x + 2 * i, old, sizeof old);
    }
  }
}

/* Widens the stars of the interior points of narrow triangles. The Delaunay triangulation taken afterwards has no smaller
 * least angle, because it is the one that maximises it. */
static dkho_status widen(planar *m) {
  int64_t triangles, n = m->boundary + m->interior, *ptr;
  int32_t *tri, *list;
  arena mem = {0};
  TRY(planar_triangles(m, &triangles, &tri));
  dkho_status s = vertex_stars(&mem, n, triangles, tri, &ptr, &list);
  for (int64_t i = m->boundary; s == DKHO_OK && i < n; i++) {
    const int32_t *star = list + ptr[i];
    int64_t count = ptr[i + 1] - ptr[i];
    if (star_angle(m->x, tri, star, count) < NARROW)
      widen_star(m->x, i, 0.2 * planar_size(m->p, m->x + 2 * i), tri, star, count);
  }
  arena_free(&mem);
  mem_free(tri);
  return s;
}

dkho_status planar_relax(planar *m, int64_t target) {
  double *sum;
  dkho_status s = DKHO_OK;
  if (!MEM_NEW(sum, 3 * m->room)) return DKHO_E_MEMORY;
  while (s == DKHO_OK && m->interior < target) {
    int64_t more = m->interior + m->boundary / 2 + 1;
    s = insert_points(m, more < target - m->interior ? more : target - m->interior);
    for (int i = 0; s == DKHO_OK && i < ROUNDS_GROWING; i++) s = smooth(m, sum);
  }
  for (int i = 0; s == DKHO_OK && i < ROUNDS_FINAL; i++) {
    int64_t moved = i % 4 == 0 && i < ROUNDS_FINAL / 2 ? target / 50 : 0;
    if (moved) s = remove_points(m, moved);
    if (moved && s == DKHO_OK) s = insert_points(m, moved);
    if (s == DKHO_OK) s = smooth(m, sum);
  }
  for (int i = 0; s == DKHO_OK && i < ROUNDS_WIDENING; i++) s = widen(m);
  mem_free(sum);
  return s;
}
