/* gen_relax.c: interior points of the planar mesher. Points are first added at the centroids of the triangles that are
 * largest against the size field, about twice as many in each round, with some smoothing in between. Then come a fixed
 * number of smoothing rounds, some of which first carry the most crowded points to the emptiest places, and at the end
 * rounds that widen what narrow angles are left. Nothing is random. */
#include "mesh/cx_impl.h"
#include "mesh/gen_planar_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_GROWING = 4, ROUNDS_FINAL = 60, ROUNDS_WIDENING = 12 };
static const double NARROW = 36 * M_PI / 180;

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

static double triangle_area2(const planar *m, int64_t i) {
  const int32_t *v = m->tri + 3 * i;
  return cx_area2(m->x + 2 * (int64_t)v[0], m->x + 2 * (int64_t)v[1], m->x + 2 * (int64_t)v[2]);
}

static void centroid(const planar *m, int64_t i, double *g) {
  const int32_t *v = m->tri + 3 * i;
  for (int j = 0; j < 2; j++)
    g[j] = (m->x[2 * (int64_t)v[0] + j] + m->x[2 * (int64_t)v[1] + j] + m->x[2 * (int64_t)v[2] + j]) / 3;
}

static void triangle_circumcentre(const double *a, const double *b, const double *c, double *out) {
  double u[2] = {b[0] - a[0], b[1] - a[1]}, v[2] = {c[0] - a[0], c[1] - a[1]};
  double d = 2 * (u[0] * v[1] - u[1] * v[0]), uu = u[0] * u[0] + u[1] * u[1], vv = v[0] * v[0] + v[1] * v[1];
  out[0] = a[0] + (v[1] * uu - u[1] * vv) / d;
  out[1] = a[1] + (u[0] * vv - v[0] * uu) / d;
}

/* Triangles by area/h², largest first; owned by the caller. */
static dkho_status rank_triangles(const planar *m, ranked **out) {
  if (!(*out = mem_alloc((size_t)m->triangles, sizeof **out))) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < m->triangles; i++) {
    double g[2];
    centroid(m, i, g);
    double h = planar_size(m->p, g);
    (*out)[i] = (ranked){triangle_area2(m, i) / (h * h), (int32_t)i};
  }
  qsort(*out, (size_t)m->triangles, sizeof **out, compare_ranked);
  return DKHO_OK;
}

/* Interior points (numbered from 0) by the area/h² of the triangles round them, smallest first; owned by the caller. */
static dkho_status rank_points(const planar *m, ranked **out) {
  if (!(*out = mem_alloc((size_t)m->interior, sizeof **out))) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < m->interior; i++) (*out)[i].index = (int32_t)i;
  for (int64_t p = 0; p < 3 * m->triangles; p++) {
    int64_t i = m->tri[p] - m->boundary;
    if (i < 0) continue;
    double h = planar_size(m->p, m->x + 2 * (int64_t)m->tri[p]);
    (*out)[i].key -= triangle_area2(m, p / 3) / (h * h);
  }
  qsort(*out, (size_t)m->interior, sizeof **out, compare_ranked);
  return DKHO_OK;
}

/* Adds up to `count` points at the centroids of the largest triangles. */
static dkho_status insert_points(planar *m, int64_t count) {
  ranked *large;
  TRY(rank_triangles(m, &large));
  for (int64_t i = 0; i < count && i < m->triangles; i++)
    centroid(m, large[i].index, m->x + 2 * (m->boundary + m->interior++));
  mem_free(large);
  return planar_triangulate(m);
}

/* Carries the `count` most crowded points to the centroids of the largest triangles. */
static dkho_status move_crowded_points(planar *m, int64_t count) {
  ranked *large = NULL, *crowded = NULL;
  double *place = NULL;
  dkho_status s = rank_triangles(m, &large);
  if (s == DKHO_OK) s = rank_points(m, &crowded);
  if (s == DKHO_OK && !MEM_NEW(place, 2 * count)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) {
    for (int64_t i = 0; i < count; i++) centroid(m, large[i].index, place + 2 * i);
    for (int64_t i = 0; i < count; i++)
      memcpy(m->x + 2 * (m->boundary + crowded[i].index), place + 2 * i, 2 * sizeof *place);
  }
  mem_free(place);
  mem_free(crowded);
  mem_free(large);
  return s == DKHO_OK ? planar_triangulate(m) : s;
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

/* Takes moves back, from old, until no triangle is turned over. */
static void undo_folds(planar *m, const double *old) {
  for (int undone = 1; undone;) {
    undone = 0;
    for (int64_t p = 0; p < 3 * m->triangles; p++) {
      double *x = m->x + 2 * (int64_t)m->tri[p];
      const double *was = old + 2 * (int64_t)m->tri[p];
      if (triangle_area2(m, p / 3) > 0 || (x[0] == was[0] && x[1] == was[1])) continue;
      memcpy(x, was, 2 * sizeof *x);
      undone = 1;
    }
  }
}

/* One round: each interior point moves to the mean of the circumcentres of its triangles, weighted by area/h⁴ (optimal
 * Delaunay smoothing with a density that asks for triangles of area ∝ h²). A circumcentre far from its centroid is pulled
 * in, or the triangles at the boundary would throw points out. work: room × 5. */
static void smooth_points(planar *m, double *work) {
  int64_t n = m->boundary + m->interior;
  double *sum = work, *old = work + 3 * m->room;
  memset(sum, 0, (size_t)(3 * n) * sizeof *sum);
  memcpy(old, m->x, (size_t)(2 * n) * sizeof *old);
  for (int64_t i = 0; i < m->triangles; i++) {
    const int32_t *v = m->tri + 3 * i;
    double g[2], centre[2];
    centroid(m, i, g);
    triangle_circumcentre(m->x + 2 * (int64_t)v[0], m->x + 2 * (int64_t)v[1], m->x + 2 * (int64_t)v[2], centre);
    double h = planar_size(m->p, g), area = triangle_area2(m, i), weight = area / (h * h * h * h);
    double reach = hypot(centre[0] - g[0], centre[1] - g[1]), most = sqrt(area) / 2;
    double part = reach > most ? most / reach : 1;
    for (int j = 0; j < 3; j++) {
      double *to = sum + 3 * (int64_t)v[j];
      for (int q = 0; q < 2; q++) to[q] += weight * (g[q] + part * (centre[q] - g[q]));
      to[2] += weight;
    }
  }
  for (int64_t i = m->boundary; i < n; i++) {
    if (!(sum[3 * i + 2] > 0)) continue;
    for (int q = 0; q < 2; q++) m->x[2 * i + q] = sum[3 * i + q] / sum[3 * i + 2];
    keep_inside(m->p, m->x + 2 * i);
  }
  undo_folds(m, old);
  planar_flip(m);
}

/* Smallest angle of the triangles in a star, in radians; negative when one is turned over. */
static double star_angle(const planar *m, const int32_t *star, int64_t count) {
  double least = M_PI;
  for (int64_t i = 0; i < count; i++) {
    const int32_t *v = m->tri + 3 * (int64_t)star[i];
    double turn = triangle_area2(m, star[i]);
    for (int j = 0; j < 3; j++) {
      const double *a = m->x + 2 * (int64_t)v[j], *b = m->x + 2 * (int64_t)v[(j + 1) % 3],
                   *c = m->x + 2 * (int64_t)v[(j + 2) % 3];
      least = fmin(least, atan2(turn, (b[0] - a[0]) * (c[0] - a[0]) + (b[1] - a[1]) * (c[1] - a[1])));
    }
  }
  return least;
}

/* Moves point x by shrinking steps in eight directions while its star's smallest angle grows. */
static void widen_star(const planar *m, double *x, const int32_t *star, int64_t count) {
  static const double way[8][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
  double best = star_angle(m, star, count), step = 0.2 * planar_size(m->p, x);
  for (int halving = 0; halving < 6 && best < NARROW; halving++, step /= 2) {
    for (int j = 0; j < 8; j++) {
      double old[2] = {x[0], x[1]};
      for (int q = 0; q < 2; q++) x[q] += step * way[j][q];
      double now = star_angle(m, star, count);
      if (now > best)
        best = now;
      else
        memcpy(x, old, sizeof old);
    }
  }
}

/* Widens the stars of the interior points of narrow triangles. Going back to Delaunay afterwards makes no angle smaller
 * than the least, because of all triangulations that one maximises it. */
static dkho_status widen(planar *m) {
  int64_t *ptr;
  int32_t *list;
  arena mem = {0};
  dkho_status s = planar_stars(m, &mem, &ptr, &list);
  for (int64_t i = m->boundary; s == DKHO_OK && i < m->boundary + m->interior; i++)
    widen_star(m, m->x + 2 * i, list + ptr[i], ptr[i + 1] - ptr[i]);
  arena_free(&mem);
  if (s == DKHO_OK) planar_flip(m);
  return s;
}

dkho_status planar_relax(planar *m, int64_t target) {
  double *work;
  if (!MEM_NEW(work, 5 * m->room)) return DKHO_E_MEMORY;
  dkho_status s = planar_triangulate(m);
  while (s == DKHO_OK && m->interior < target) {
    int64_t more = m->interior + m->boundary / 2 + 1;
    s = insert_points(m, more < target - m->interior ? more : target - m->interior);
    for (int i = 0; s == DKHO_OK && i < ROUNDS_GROWING; i++) smooth_points(m, work);
  }
  for (int i = 0; s == DKHO_OK && i < ROUNDS_FINAL; i++) {
    if (i % 8 == 0 && i < ROUNDS_FINAL / 2) s = move_crowded_points(m, target / 50);
    if (s == DKHO_OK) smooth_points(m, work);
  }
  for (int i = 0; s == DKHO_OK && i < ROUNDS_WIDENING; i++) s = widen(m);
  mem_free(work);
  return s;
}
