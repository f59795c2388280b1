/* gen_relax.c: interior points of the planar mesher. Points are first added at the centroids of the triangles that are
 * largest against the size field, about twice as many in each round, with some smoothing in between; then they are
 * smoothed for a fixed number of rounds. Nothing is random. */
#include "mesh/gen_planar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_GROWING = 4, ROUNDS_FINAL = 60 };

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

dkho_status planar_relax(planar *m, int64_t target) {
  double *sum;
  dkho_status s = DKHO_OK;
  if (!MEM_NEW(sum, 3 * m->room)) return DKHO_E_MEMORY;
  while (s == DKHO_OK && m->interior < target) {
    int64_t more = m->interior + m->boundary / 2 + 1;
    s = insert_points(m, more < target - m->interior ? more : target - m->interior);
    for (int i = 0; s == DKHO_OK && i < ROUNDS_GROWING; i++) s = smooth(m, sum);
  }
  for (int i = 0; s == DKHO_OK && i < ROUNDS_FINAL; i++) s = smooth(m, sum);
  mem_free(sum);
  return s;
}
