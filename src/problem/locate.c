/* locate.c: triangles by boxes of a grid. */
#include "problem/locate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct locator {
  const cx *c;
  double low[2], size[2]; /* of the grid, and of a box of it */
  int64_t boxes[2];
  int64_t *start; /* boxes + 1 */
  int32_t *list;  /* triangles whose bounding boxes meet a box */
  arena mem;
};

static int64_t box_of(const locator *l, int axis, double x) {
  int64_t i = (int64_t)floor((x - l->low[axis]) / l->size[axis]);
  return i < 0 ? 0 : i >= l->boxes[axis] ? l->boxes[axis] - 1 : i;
}

/* The boxes that a triangle may meet: from and to, both included, with one more all round for points just outside. */
static void boxes_of(const locator *l, int64_t f, int64_t from[2], int64_t to[2]) {
  const int32_t *v = l->c->vert[2] + 3 * f;
  for (int a = 0; a < 2; a++) {
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < 3; i++) lo = fmin(lo, l->c->x[2 * v[i] + a]), hi = fmax(hi, l->c->x[2 * v[i] + a]);
    from[a] = box_of(l, a, lo - l->size[a]);
    to[a] = box_of(l, a, hi + l->size[a]);
  }
}

/* Lists of the triangles that touch each box, by counting first: start: boxes + 1, list: in the order of triangles. */
static dkho_status fill_boxes(locator *l) {
  int64_t from[2], to[2], count = l->boxes[0] * l->boxes[1];
  if (!ARENA_NEW(&l->mem, l->start, count + 2)) return DKHO_E_MEMORY;
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t f = 0; f < l->c->n[2]; f++) {
      boxes_of(l, f, from, to);
      for (int64_t y = from[1]; y <= to[1]; y++)
        for (int64_t x = from[0]; x <= to[0]; x++) {
          int64_t *at = &l->start[y * l->boxes[0] + x + (pass ? 1 : 2)];
          if (pass) l->list[*at] = (int32_t)f;
          ++*at;
        }
    }
    if (pass) break;
    for (int64_t i = 1; i < count + 1; i++) l->start[i + 1] += l->start[i]; /* shifted by one until they are filled */
    if (!ARENA_NEW(&l->mem, l->list, l->start[count + 1])) return DKHO_E_MEMORY;
  }
  return DKHO_OK;
}

dkho_status locator_create(locator **out, const cx *c) {
  assert(c->dim == 2 && c->gdim == 2);
  *out = NULL;
  locator *l;
  if (!MEM_NEW(l, 1)) return DKHO_E_MEMORY;
  l->c = c;
  int64_t side = 1 + (int64_t)sqrt((double)c->n[2] / 2);
  for (int a = 0; a < 2; a++) {
    double lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < c->n[0]; i++) lo = fmin(lo, c->x[2 * i + a]), hi = fmax(hi, c->x[2 * i + a]);
    l->low[a] = lo;
    l->boxes[a] = side;
    l->size[a] = (hi - lo) / (double)side;
  }
  dkho_status s = fill_boxes(l);
  if (s == DKHO_OK)
    *out = l;
  else
    locator_free(l);
  return s;
}

void locator_free(locator *l) {
  if (!l) return;
  arena_free(&l->mem);
  mem_free(l);
}

/* Areas of the triangles that x makes with the sides, over that of the triangle. */
static double barycentric(const cx *c, int64_t f, const double x[2], double bary[3]) {
  const int32_t *v = c->vert[2] + 3 * f;
  for (int i = 0; i < 3; i++) {
    const double *a = c->x + 2 * v[(i + 1) % 3], *b = c->x + 2 * v[(i + 2) % 3];
    bary[i] = ((a[0] - x[0]) * (b[1] - x[1]) - (a[1] - x[1]) * (b[0] - x[0])) / (2 * c->measure[2][f]);
  }
  return fmin(bary[0], fmin(bary[1], bary[2]));
}

int64_t locator_find(const locator *l, const double x[2], double bary[3]) {
  int64_t box = box_of(l, 1, x[1]) * l->boxes[0] + box_of(l, 0, x[0]), best = -1;
  int64_t first = l->start[box], end = l->start[box + 1];
  double least = -INFINITY, trial[3];
  int all = first == end; /* far outside */
  bary[0] = bary[1] = bary[2] = 0;
  for (int64_t p = all ? 0 : first; p < (all ? l->c->n[2] : end); p++) {
    int64_t f = all ? p : l->list[p];
    double inside = barycentric(l->c, f, x, trial);
    if (inside <= least) continue;
    least = inside;
    best = f;
    memcpy(bary, trial, sizeof trial);
  }
  assert(best >= 0);
  return best;
}

void locate_linear(const locator *l, const double *u, const cx *to, double *out) {
  for (int64_t i = 0; i < to->n[0]; i++) {
    double bary[3];
    const int32_t *v = l->c->vert[2] + 3 * locator_find(l, to->x + 2 * i, bary);
    out[i] = bary[0] * u[v[0]] + bary[1] * u[v[1]] + bary[2] * u[v[2]];
  }
}

/* n fields of N0 × n averages at x. */
static void read_averages(const locator *l, int n, const double *average, const double x[2], double *out) {
  double bary[3];
  const int32_t *v = l->c->vert[2] + 3 * locator_find(l, x, bary);
  for (int q = 0; q < n; q++)
    out[q] = bary[0] * average[v[0] * n + q] + bary[1] * average[v[1] * n + q] + bary[2] * average[v[2] * n + q];
}

/* out (N0 × n, from mem): averages of face values over the triangles of a vertex, weighted by area. */
static dkho_status average_faces(const cx *c, int n, const double *face, arena *mem, double **out) {
  double *area;
  if (!ARENA_NEW(mem, *out, c->n[0] * n) || !ARENA_NEW(mem, area, c->n[0])) return DKHO_E_MEMORY;
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int i = 0; i < 3; i++) {
      int64_t v = c->vert[2][3 * f + i];
      area[v] += c->measure[2][f];
      for (int q = 0; q < n; q++) (*out)[v * n + q] += c->measure[2][f] * face[f * n + q];
    }
  for (int64_t v = 0; v < c->n[0]; v++)
    for (int q = 0; q < n; q++) (*out)[v * n + q] /= area[v];
  return DKHO_OK;
}

dkho_status locate_numbers(const locator *l, const double *face, const cx *to, double *out) {
  arena mem = {0};
  double *average;
  dkho_status s = average_faces(l->c, 1, face, &mem, &average);
  for (int64_t f = 0; s == DKHO_OK && f < to->n[2]; f++) {
    double x[2] = {0};
    for (int i = 0; i < 6; i++) x[i % 2] += to->x[2 * to->vert[2][3 * f + i / 2] + i % 2] / 3;
    read_averages(l, 1, average, x, out + f);
  }
  arena_free(&mem);
  return s;
}

dkho_status locate_integrals(const locator *l, const double *face, const cx *to, double *out) {
  arena mem = {0};
  double *average;
  dkho_status s = average_faces(l->c, 2, face, &mem, &average);
  for (int64_t e = 0; s == DKHO_OK && e < to->n[1]; e++) {
    const double *a = to->x + 2 * to->vert[1][2 * e], *b = to->x + 2 * to->vert[1][2 * e + 1];
    double x[2] = {(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}, u[2];
    read_averages(l, 2, average, x, u);
    out[e] = u[0] * (b[0] - a[0]) + u[1] * (b[1] - a[1]);
  }
  arena_free(&mem);
  return s;
}
