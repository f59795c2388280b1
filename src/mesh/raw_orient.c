/* raw_orient.c: which way round the top simplices go. Planar triangles are left to cx_build. */
#include "mesh/raw.h"

#include <stdlib.h>

static void swap_corners(int32_t *v, int a, int b) {
  int32_t t = v[a];
  v[a] = v[b];
  v[b] = t;
}

/* Six times the signed volume. */
static double volume6(const double *x, const int32_t *v) {
  double e[3][3];
  for (int i = 0; i < 3; i++)
    for (int c = 0; c < 3; c++) e[i][c] = x[3 * (int64_t)v[i + 1] + c] - x[3 * (int64_t)v[0] + c];
  return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) + e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
         e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

int raw_orient_tet(const double *x, int32_t *v) {
  if (volume6(x, v) >= 0) return 0;
  swap_corners(v, 2, 3);
  return 1;
}

void raw_orient_tets(raw *m) {
  for (int64_t i = 0; i < m->part[3].n; i++)
    m->report->count[MESH_TURNED] += raw_orient_tet(m->x, m->part[3].vert + 4 * i);
}

/* A side of a triangle: its edge, ascending, and whether the triangle runs along it. */
typedef struct {
  int32_t a, b, triangle;
  int8_t along;
} side;

static int by_edge(const void *p, const void *q) {
  const side *s = p, *t = q;
  if (s->a != t->a) return s->a < t->a ? -1 : 1;
  if (s->b != t->b) return s->b < t->b ? -1 : 1;
  return (s->triangle > t->triangle) - (s->triangle < t->triangle);
}

typedef struct {
  int64_t n;
  int32_t *next; /* n × 3 neighbours across edges of exactly two triangles, -1: none */
  int8_t *same;  /* n × 3: 1 when the neighbour runs along the shared edge the other way, as it should */
  int8_t *flip;  /* n: -1 not reached, 0 stays, 1 turns */
  int32_t *queue;
} surface;

static void link_sides(surface *f, const side *s, int64_t sides) {
  int8_t *filled = f->flip; /* borrowed as a counter: neighbours of each triangle so far */
  for (int64_t i = 0, run; i < sides; i += run) {
    for (run = 1; i + run < sides && s[i + run].a == s[i].a && s[i + run].b == s[i].b;) run++;
    if (run != 2) continue;
    int32_t t[2] = {s[i].triangle, s[i + 1].triangle};
    for (int e = 0; e < 2; e++) {
      int64_t at = 3 * (int64_t)t[e] + filled[t[e]]++;
      f->next[at] = t[!e];
      f->same[at] = s[i].along != s[i + 1].along;
    }
  }
  for (int64_t i = 0; i < f->n; i++)
    for (int e = (uint8_t)filled[i]; e < 3; e++) f->next[3 * i + e] = -1;
}

/* Breadth first from `seed`: flip of the whole component, turned round if more than half would turn. Number of
 * triangles turned, -1 when the component cannot be oriented: then it stays as it was given. */
static int64_t spread_orientation(surface *f, int32_t seed) {
  int64_t head = 0, tail = 0, turned = 0;
  int clash = 0;
  f->flip[seed] = 0;
  f->queue[tail++] = seed;
  while (head < tail) {
    int32_t t = f->queue[head++];
    for (int e = 0; e < 3 && f->next[3 * (int64_t)t + e] >= 0; e++) {
      int32_t o = f->next[3 * (int64_t)t + e];
      int8_t want = f->same[3 * (int64_t)t + e] ? f->flip[t] : (int8_t)!f->flip[t];
      if (f->flip[o] < 0) {
        f->flip[o] = want;
        f->queue[tail++] = o;
      }
      clash |= f->flip[o] != want;
    }
  }
  for (int64_t i = 0; i < tail; i++) turned += f->flip[f->queue[i]];
  int invert = 2 * turned > tail;
  for (int64_t i = 0; i < tail; i++) f->flip[f->queue[i]] = (int8_t)(!clash && f->flip[f->queue[i]] != invert);
  return clash ? -1 : invert ? tail - turned : turned;
}

static void gather_sides(const raw *m, side *s) {
  for (int64_t i = 0; i < 3 * m->part[2].n; i++) {
    const int32_t *v = m->part[2].vert + i / 3 * 3;
    int32_t a = v[i % 3], b = v[(i + 1) % 3];
    s[i] = (side){a < b ? a : b, a < b ? b : a, (int32_t)(i / 3), a < b};
  }
}

dkho_status raw_orient_surface(raw *m) {
  int64_t n = m->part[2].n, turned = 0, twisted = 0;
  surface f = {.n = n};
  side *sides = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(sides, 3 * n) || !MEM_NEW(f.next, 3 * n) || !MEM_NEW(f.same, 3 * n) || !MEM_NEW(f.flip, n) ||
      !MEM_NEW(f.queue, n))
    goto done;
  gather_sides(m, sides);
  qsort(sides, (size_t)(3 * n), sizeof *sides, by_edge);
  link_sides(&f, sides, 3 * n);
  for (int64_t i = 0; i < n; i++) f.flip[i] = -1;
  for (int64_t i = 0; i < n; i++) {
    int64_t count = f.flip[i] < 0 ? spread_orientation(&f, (int32_t)i) : 0;
    twisted += count < 0;
    turned += count > 0 ? count : 0;
  }
  for (int64_t i = 0; i < n; i++)
    if (f.flip[i]) swap_corners(m->part[2].vert + 3 * i, 1, 2);
  m->report->count[MESH_TURNED] += turned;
  m->report->count[MESH_TWISTED] += twisted;
  s = DKHO_OK;
done:
  mem_free(sides);
  mem_free(f.next);
  mem_free(f.same);
  mem_free(f.flip);
  mem_free(f.queue);
  return s;
}
