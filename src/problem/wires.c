/* wires.c: meshes of round wires in air, and the fields of their currents. */
#include "problem/wires.h"

#include "mesh/generate.h"
#include "problem/closed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double TURN = 2.399963229728653; /* golden angle: rings do not line up */

/* Points and triangles of the whole, as they are gathered. */
typedef struct gathered {
  double *x;      /* points × 2 */
  int32_t *top;   /* tops × 3 */
  int32_t *label; /* points */
  int64_t points, tops;
  arena mem;
} gathered;

static int ring_count(double radius, double near) {
  return (int)ceil(radius / (0.87 * near));
}

/* Of ring k of m round a centre, 0 the outermost; the last one is the centre itself. */
static int ring_points(double radius, double near, int k, int m) {
  int around = (int)floor(2 * M_PI * radius * (m - k) / m / near + 0.5);
  return k == m ? 1 : around > 6 ? around : 6;
}

/* The rim's vertices (there already) and rings of points inside, to x; index: their numbers in the whole. Returns how many. */
static int64_t place_disc(gathered *g, const double wire[3], int32_t label, double near, double *x, int32_t *index) {
  int64_t n = 0, outside = g->points;
  int m = ring_count(wire[2], near);
  for (int64_t i = 0; i < outside; i++)
    if (g->label[i] == label) index[n++] = (int32_t)i;
  for (int k = 1; k <= m; k++)
    for (int i = 0, count = ring_points(wire[2], near, k, m); i < count; i++) {
      double r = wire[2] * (m - k) / m, angle = TURN * k + 2 * M_PI * i / count;
      g->x[2 * g->points] = wire[0] + r * cos(angle);
      g->x[2 * g->points + 1] = wire[1] + r * sin(angle);
      g->label[g->points] = label;
      index[n++] = (int32_t)g->points++;
    }
  for (int64_t i = 0; i < n; i++) memcpy(x + 2 * i, g->x + 2 * index[i], 2 * sizeof *x);
  return n;
}

/* A disc is convex: Delaunay's triangles of its points fill it. */
static dkho_status fill_disc(gathered *g, const double wire[3], int32_t label, double near, double *x, int32_t *index) {
  int64_t count, n = place_disc(g, wire, label, near, x, index);
  int32_t *top;
  TRY(delaunay(2, n, x, &count, &top));
  for (int64_t k = 0; k < 3 * count; k++) g->top[3 * g->tops + k] = index[top[k]];
  g->tops += count;
  mem_free(top);
  return DKHO_OK;
}

/* Labels of edges: those that both ends have in common, on the square only where it is the boundary. */
static dkho_status label_wires(cx *c, int wires, const int32_t *label) {
  const char *names[CX_LABELS_MAX] = {"interior", "outer"};
  char text[CX_LABELS_MAX][16];
  for (int j = 0; j < wires; j++) {
    snprintf(text[j], sizeof text[j], "wire%d", j + 1);
    names[j + 2] = text[j];
  }
  TRY(cx_name_labels(c, wires + 2, names));
  TRY(cx_set_labels(c, 0, label));
  int32_t *edge = mem_alloc((size_t)c->n[1], sizeof *edge);
  if (!edge) return DKHO_E_MEMORY;
  for (int64_t e = 0; e < c->n[1]; e++) {
    int32_t a = label[c->vert[1][2 * e]], b = label[c->vert[1][2 * e + 1]];
    edge[e] = a == b && (a != 1 || c->on_boundary[1][e]) ? a : 0;
  }
  dkho_status st = cx_set_labels(c, 1, edge);
  mem_free(edge);
  return st;
}

/* air: the complex outside the wires, whose rims have the labels 2, 3, … */
static dkho_status join_discs(gathered *g, const cx *air, int wires, const double (*wire)[3], double near) {
  int64_t points = air->n[0];
  for (int j = 0; j < wires; j++)
    for (int k = 0, m = ring_count(wire[j][2], near); k <= m; k++) points += ring_points(wire[j][2], near, k, m);
  double *x;
  int32_t *index;
  if (!ARENA_NEW(&g->mem, g->x, 2 * points) || !ARENA_NEW(&g->mem, g->label, points) ||
      !ARENA_NEW(&g->mem, g->top, 6 * points) || !ARENA_NEW(&g->mem, x, 2 * points) ||
      !ARENA_NEW(&g->mem, index, points))
    return DKHO_E_MEMORY;
  memcpy(g->x, air->x, (size_t)(2 * air->n[0]) * sizeof *g->x);
  memcpy(g->label, air->label[0], (size_t)air->n[0] * sizeof *g->label);
  memcpy(g->top, air->vert[2], (size_t)(3 * air->n[2]) * sizeof *g->top);
  g->points = air->n[0], g->tops = air->n[2];
  for (int j = 0; j < wires; j++) TRY(fill_disc(g, wire[j], 2 + j, near, x, index));
  return DKHO_OK;
}

dkho_status wires_build(cx **out, int wires, const double (*wire)[3], double near, double far) {
  gathered g = {0};
  cx *air;
  *out = NULL;
  gen_planar p = {.half = 1, .holes = wires, .hole = wire, .h_near = near, .h_far = far, .near = near, .far = 3 * far};
  TRY(cx_planar(&air, &p));
  dkho_status st = join_discs(&g, air, wires, wire, near);
  if (st == DKHO_OK) st = cx_build(out, 2, g.points, g.x, 2, g.tops, g.top, CX_APPEARANCE);
  if (st == DKHO_OK) st = label_wires(*out, wires, g.label);
  if (st != DKHO_OK) {
    cx_free(*out);
    *out = NULL;
  }
  arena_free(&g.mem);
  cx_free(air);
  return st;
}

/* A face whose corners all have the label of one wire lies in it: chords of a circle do. */
void wires_of_faces(const cx *c, int32_t *wire) {
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f, *label = c->label[0];
    wire[f] = label[v[0]] >= 2 && label[v[0]] == label[v[1]] && label[v[0]] == label[v[2]] ? label[v[0]] - 2 : -1;
  }
}

/* Area and centroid of wire j. */
static double measure_wire(const cx *c, const int32_t *wire, int j, double centre[2]) {
  double area = 0;
  centre[0] = centre[1] = 0;
  for (int64_t f = 0; f < c->n[2]; f++) {
    if (wire[f] != j) continue;
    area += c->measure[2][f];
    for (int i = 0; i < 6; i++) centre[i % 2] += c->measure[2][f] / 3 * c->x[2 * c->vert[2][3 * f + i / 2] + i % 2];
  }
  for (int a = 0; a < 2; a++) centre[a] /= area;
  return area;
}

/* Inside, the current within a radius grows like the area that it sweeps: ∫ r²dθ/2A along an edge. */
void wires_winding(const cx *c, const int32_t *wire, int j, double *out) {
  double o[2], area = measure_wire(c, wire, j, o);
  closed_angles(c, o, out);
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *a = c->x + 2 * (int64_t)c->vert[1][2 * e], *b = c->x + 2 * (int64_t)c->vert[1][2 * e + 1];
    int inside = 1;
    for (int64_t p = c->coptr[1][e]; p < c->coptr[1][e + 1]; p++) inside &= wire[c->coface[1][p]] == j;
    if (inside) out[e] = ((a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])) / (2 * area);
  }
}

/* average, weight: N0, zero on entry; weight stays zero in the air. */
static void average_wires(const cx *c, const int32_t *wire, const double *face, double *average, double *weight) {
  for (int64_t k = 0; k < 3 * c->n[2]; k++) {
    if (wire[k / 3] < 0) continue;
    weight[c->vert[2][k]] += c->measure[2][k / 3];
    average[c->vert[2][k]] += c->measure[2][k / 3] * face[k / 3];
  }
  for (int64_t i = 0; i < c->n[0]; i++)
    if (weight[i] > 0) average[i] /= weight[i];
}

/* The average at x, of the corners in wires alone. */
static double read_wires(const locator *l, const cx *c, const double *average, const double *weight,
                         const double x[2]) {
  double bary[3], sum = 0, all = 0;
  const int32_t *v = c->vert[2] + 3 * locator_find(l, x, bary);
  for (int i = 0; i < 3; i++) {
    double part = weight[v[i]] > 0 ? fmax(bary[i], 0) : 0;
    sum += part * average[v[i]];
    all += part;
  }
  return all > 0 ? sum / all : 0;
}

dkho_status wires_numbers(const locator *l, const cx *c, const int32_t *wire, const double *face, const cx *to,
                          double *out) {
  arena mem = {0};
  double *average, *weight, *x;
  int32_t *inside;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&mem, average, c->n[0]) && ARENA_NEW(&mem, weight, c->n[0]) && ARENA_NEW(&mem, x, 2 * to->n[2]) &&
      ARENA_NEW(&mem, inside, to->n[2])) {
    average_wires(c, wire, face, average, weight);
    cx_centroids(to, 2, x);
    wires_of_faces(to, inside);
    for (int64_t f = 0; f < to->n[2]; f++) out[f] = inside[f] >= 0 ? read_wires(l, c, average, weight, x + 2 * f) : 0;
    st = DKHO_OK;
  }
  arena_free(&mem);
  return st;
}
