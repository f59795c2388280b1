/* raw_merge.c: points at the same place. A hash of cells as wide as the tolerance holds the points kept so far; a point within
 * the tolerance of kept ones becomes the first of them. The result depends on the order of the points alone. */
#include "mesh/raw.h"

#include <math.h>
#include <string.h>

typedef struct {
  const double *x;
  double tolerance;
  uint64_t mask;        /* buckets - 1 */
  int32_t *head, *next; /* chains of kept points, -1 ends one */
} grid;

/* The cell of a point: for tolerance 0 the place itself (one zero, not two). */
static void cell_of(const grid *g, const double *x, double *cell) {
  for (int c = 0; c < 3; c++) cell[c] = g->tolerance > 0 ? floor(x[c] / g->tolerance) : x[c] + 0.0;
}

static uint64_t bucket_of(const grid *g, const double *cell) {
  uint64_t h = 0;
  for (int c = 0; c < 3; c++) {
    uint64_t bits;
    memcpy(&bits, &cell[c], sizeof bits);
    h = (h ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
  }
  return h & g->mask;
}

static int is_near(const grid *g, const double *p, const double *q) {
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += (p[c] - q[c]) * (p[c] - q[c]);
  return g->tolerance > 0 ? sqrt(sum) <= g->tolerance : p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
}

/* The first kept point within the tolerance of point i, -1: none. */
static int32_t find_kept(const grid *g, const double *cell, int64_t i) {
  int32_t best = -1;
  int reach = g->tolerance > 0;
  for (int step = 0; step < (reach ? 27 : 1); step++) {
    const int away[3] = {step % 3 - 1, step / 3 % 3 - 1, step / 9 - 1};
    double near[3];
    for (int c = 0; c < 3; c++) near[c] = cell[c] + (reach ? away[c] : 0); /* 0 for -0, which hashes differently */
    for (int32_t j = g->head[bucket_of(g, near)]; j >= 0; j = g->next[j])
      if ((best < 0 || j < best) && is_near(g, g->x + 3 * (int64_t)j, g->x + 3 * i)) best = j;
  }
  return best;
}

/* to[i]: the point that i becomes, itself if kept. *count: how many become another. */
static dkho_status find_twins(const raw *m, double tolerance, int32_t *to, int64_t *count) {
  grid g = {.x = m->x, .tolerance = tolerance, .mask = 1};
  while (g.mask < 2 * (uint64_t)m->points) g.mask *= 2;
  *count = 0;
  if (!MEM_NEW(g.head, g.mask) || !MEM_NEW(g.next, m->points)) {
    mem_free(g.head);
    return DKHO_E_MEMORY;
  }
  memset(g.head, 0xff, g.mask * sizeof *g.head);
  g.mask--;
  for (int64_t i = 0; i < m->points; i++) {
    double cell[3];
    cell_of(&g, m->x + 3 * i, cell);
    int32_t twin = find_kept(&g, cell, i);
    to[i] = twin < 0 ? (int32_t)i : twin;
    *count += twin >= 0;
    if (twin >= 0) continue;
    uint64_t b = bucket_of(&g, cell);
    g.next[i] = g.head[b];
    g.head[b] = (int32_t)i;
  }
  mem_free(g.head);
  mem_free(g.next);
  return DKHO_OK;
}

/* Cells must be told apart in double precision. */
static dkho_status check_tolerance(const raw *m, double tolerance) {
  if (!(tolerance >= 0 && isfinite(tolerance)))
    return fail(DKHO_E_INPUT, "%s: tolerance of merging: found %g, expected a number of at least 0", m->file,
                tolerance);
  for (int64_t i = 0; tolerance > 0 && i < 3 * m->points; i++)
    if (!(fabs(m->x[i]) / tolerance < 0x1p50))
      return fail(DKHO_E_INPUT,
                  "%s: tolerance of merging: %g is too small beside a coordinate of %g (0 merges exactly)", m->file,
                  tolerance, m->x[i]);
  return DKHO_OK;
}

dkho_status raw_merge(raw *m, double tolerance) {
  int32_t *to;
  TRY(check_tolerance(m, tolerance));
  if (!MEM_NEW(to, m->points)) return DKHO_E_MEMORY;
  dkho_status s = find_twins(m, tolerance, to, &m->report->count[MESH_MERGED]);
  for (int64_t i = 0; s == DKHO_OK && i < m->verts; i++)
    if (m->vert[i] >= 0 && m->vert[i] < m->points) m->vert[i] = to[m->vert[i]];
  mem_free(to);
  return s;
}

dkho_status raw_coincident(const raw *m, int64_t *count) {
  int32_t *to;
  if (!MEM_NEW(to, m->points)) return DKHO_E_MEMORY;
  dkho_status s = find_twins(m, 0, to, count);
  mem_free(to);
  return s;
}
