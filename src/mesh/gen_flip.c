/* gen_flip.c: the triangulation under the planar mesher's moving points. Qhull makes it, flips of sides keep it Delaunay
 * while points move: that is much cheaper than a new triangulation and never loses the boundary. */
#include "mesh/cx_impl.h"
#include "mesh/gen_planar_impl.h"

#include <math.h>
#include <string.h>

enum { SWEEPS_MAX = 50 };

dkho_status planar_stars(const planar *m, arena *a, int64_t **ptr, int32_t **list) {
  int64_t n = m->boundary + m->interior, corners = 3 * m->triangles;
  if (!ARENA_NEW(a, *ptr, n + 2) || !ARENA_NEW(a, *list, corners)) return DKHO_E_MEMORY;
  /* counts two places on, so that filling leaves the starts where they belong */
  for (int64_t p = 0; p < corners; p++) (*ptr)[m->tri[p] + 2]++;
  for (int64_t i = 0; i < n; i++) (*ptr)[i + 2] += (*ptr)[i + 1];
  for (int64_t p = 0; p < corners; p++) (*list)[(*ptr)[m->tri[p] + 1]++] = (int32_t)(p / 3);
  return DKHO_OK;
}

/* The side that runs from b to a, among the triangles of b; -1 when there is none. */
static int32_t find_side(const planar *m, int32_t b, int32_t a, const int64_t *ptr, const int32_t *list) {
  for (int64_t p = ptr[b]; p < ptr[b + 1]; p++) {
    for (int j = 0; j < 3; j++) {
      const int32_t *v = m->tri + 3 * (int64_t)list[p];
      if (v[(j + 1) % 3] == b && v[(j + 2) % 3] == a) return 3 * list[p] + j;
    }
  }
  return -1;
}

/* Holes are convex: a triangle lies in one exactly when its three vertices are on it. */
static int in_hole(const planar *m, const int32_t *v) {
  for (int j = 0; j < 3; j++) {
    if (v[j] >= m->boundary || m->label[v[j]] < 2 || m->label[v[j]] != m->label[v[0]]) return 0;
  }
  return 1;
}

dkho_status planar_triangulate(planar *m) {
  int64_t count, kept = 0, *ptr;
  int32_t *list;
  mem_free(m->tri);
  mem_free(m->twin);
  m->tri = m->twin = NULL;
  TRY(delaunay(2, m->boundary + m->interior, m->x, &count, &m->tri));
  for (int64_t i = 0; i < count; i++) {
    if (!in_hole(m, m->tri + 3 * i)) memmove(m->tri + 3 * kept++, m->tri + 3 * i, 3 * sizeof *m->tri);
  }
  m->triangles = kept;
  arena mem = {0};
  dkho_status s = MEM_NEW(m->twin, 3 * kept) ? planar_stars(m, &mem, &ptr, &list) : DKHO_E_MEMORY;
  for (int64_t h = 0; s == DKHO_OK && h < 3 * kept; h++) {
    const int32_t *v = m->tri + h / 3 * 3;
    m->twin[h] = find_side(m, v[(h + 2) % 3], v[(h + 1) % 3], ptr, list);
  }
  arena_free(&mem);
  return s;
}

/* The sine of the sum of the angles at p and q that see the side ab, up to a positive factor: negative when q lies inside
 * the circle through p, a, b. */
static double angle_sum_sine(const double *p, const double *q, const double *a, const double *b) {
  double sine_p = cx_area2(p, a, b), sine_q = cx_area2(q, b, a);
  double cosine_p = (a[0] - p[0]) * (b[0] - p[0]) + (a[1] - p[1]) * (b[1] - p[1]);
  double cosine_q = (a[0] - q[0]) * (b[0] - q[0]) + (a[1] - q[1]) * (b[1] - q[1]);
  double one = sine_p * cosine_q, two = cosine_p * sine_q;
  return fabs(one + two) > 1e-10 * (fabs(one) + fabs(two)) ? one + two : 0;
}

static void pair_sides(planar *m, int64_t side, int32_t other) {
  m->twin[side] = other;
  if (other >= 0) m->twin[other] = (int32_t)side;
}

/* Triangles t = (p, a, b) and u = (q, b, a) become (p, a, q) and (q, b, p) when that makes the pair Delaunay. */
static int flip_side(planar *m, int64_t h) {
  int64_t g = m->twin[h];
  if (g < h) return 0; /* each side once; -1 is the boundary */
  int64_t t = h / 3 * 3, u = g / 3 * 3;
  int i = (int)(h % 3), j = (int)(g % 3);
  int32_t p = m->tri[h], a = m->tri[t + (i + 1) % 3], b = m->tri[t + (i + 2) % 3], q = m->tri[g];
  const double *x = m->x, *xp = x + 2 * (int64_t)p, *xq = x + 2 * (int64_t)q, *xa = x + 2 * (int64_t)a,
               *xb = x + 2 * (int64_t)b;
  if (angle_sum_sine(xp, xq, xa, xb) >= 0 || cx_area2(xp, xa, xq) <= 0 || cx_area2(xq, xb, xp) <= 0) return 0;
  int32_t bp = m->twin[t + (i + 1) % 3], pa = m->twin[t + (i + 2) % 3];
  int32_t aq = m->twin[u + (j + 1) % 3], qb = m->twin[u + (j + 2) % 3];
  memcpy(m->tri + t, (int32_t[]){p, a, q}, 3 * sizeof p);
  memcpy(m->tri + u, (int32_t[]){q, b, p}, 3 * sizeof p);
  pair_sides(m, t, aq);
  pair_sides(m, t + 1, (int32_t)(u + 1));
  pair_sides(m, t + 2, pa);
  pair_sides(m, u, bp);
  pair_sides(m, u + 2, qb);
  return 1;
}

void planar_flip(planar *m) {
  int flips = 1;
  for (int sweep = 0; flips && sweep < SWEEPS_MAX; sweep++) {
    flips = 0;
    for (int64_t h = 0; h < 3 * m->triangles; h++) flips |= flip_side(m, h);
  }
}
