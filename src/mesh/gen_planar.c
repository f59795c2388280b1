/* gen_planar.c: a square with round holes: parameters, boundary points, and the labelled complex at the end. Interior
 * points are the business of gen_relax.c. Boundary vertices come first: outer sides counter-clockwise from the lower
 * left corner, then hole after hole from its rightmost point. */
#include "mesh/gen_planar_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 4096, GRID = 512, POINTS_MAX = 5000000, HOLES_MAX = CX_LABELS_MAX - 2 };

double planar_size(const gen_planar *p, const double *x) {
  double d = INFINITY;
  for (int i = 0; i < p->holes; i++)
    d = fmin(d, fabs(hypot(x[0] - p->hole[i][0], x[1] - p->hole[i][1]) - p->hole[i][2]));
  if (d <= p->near) return p->h_near;
  if (d >= p->far) return p->h_far;
  return p->h_near + (p->h_far - p->h_near) * (d - p->near) / (p->far - p->near);
}

static dkho_status check_hole(const gen_planar *p, int i) {
  const double *a = p->hole[i];
  if (!isfinite(a[0]) || !isfinite(a[1]) || !(a[2] > 0 && isfinite(a[2])))
    return fail(DKHO_E_INPUT, "hole %d: centre (%g, %g), radius %g: expected finite numbers and a positive radius",
                i + 1, a[0], a[1], a[2]);
  double wall = p->half - fmax(fabs(a[0]), fabs(a[1])) - a[2];
  if (wall <= 0)
    return fail(DKHO_E_INPUT, "hole %d: centre (%g, %g), radius %g: it leaves or touches the square [-%g, %g]²", i + 1,
                a[0], a[1], a[2], p->half, p->half);
  if (wall < p->h_near)
    return fail(DKHO_E_INPUT, "hole %d is %g from the side of the square, expected at least h_near = %g", i + 1, wall,
                p->h_near);
  if (2 * M_PI * a[2] < 8 * p->h_near)
    return fail(DKHO_E_INPUT, "hole %d: radius %g is too small for h_near = %g, expected at least %g", i + 1, a[2],
                p->h_near, 8 * p->h_near / (2 * M_PI));
  for (int j = 0; j < i; j++) {
    const double *b = p->hole[j];
    double gap = hypot(a[0] - b[0], a[1] - b[1]) - a[2] - b[2];
    if (gap <= 0)
      return fail(DKHO_E_INPUT, "holes %d and %d overlap or touch: centres (%g, %g) and (%g, %g), radii %g and %g",
                  j + 1, i + 1, b[0], b[1], a[0], a[1], b[2], a[2]);
    if (gap < p->h_near)
      return fail(DKHO_E_INPUT, "holes %d and %d are %g apart, expected at least h_near = %g", j + 1, i + 1, gap,
                  p->h_near);
  }
  return DKHO_OK;
}

static dkho_status check_parameters(const gen_planar *p) {
  if (!(p->half > 0 && isfinite(p->half)))
    return fail(DKHO_E_INPUT, "half width of the square: found %g, expected a positive number", p->half);
  if (!(p->h_near > 0 && p->h_far >= p->h_near && p->h_far <= p->half))
    return fail(DKHO_E_INPUT, "sizes: h_near = %g, h_far = %g, expected 0 < h_near ≤ h_far ≤ %g", p->h_near, p->h_far,
                p->half);
  if (!(p->near >= 0 && p->far > p->near && isfinite(p->far)))
    return fail(DKHO_E_INPUT, "distances: near = %g, far = %g, expected 0 ≤ near < far", p->near, p->far);
  if (p->holes < 0 || p->holes > HOLES_MAX)
    return fail(DKHO_E_INPUT, "holes: found %d, expected 0 … %d", p->holes, HOLES_MAX);
  if (p->interior < 0 || p->interior > POINTS_MAX)
    return fail(DKHO_E_INPUT, "interior vertices: found %lld, expected 0 … %d", (long long)p->interior, POINTS_MAX);
  for (int i = 0; i < p->holes; i++) TRY(check_hole(p, i));
  return DKHO_OK;
}

/* A side of the square: t in [0, 1] from corner `side` to the next one. */
static void side_point(const gen_planar *p, int side, double t, double *x) {
  double run = p->half * (2 * t - 1);
  const double at[4][2] = {{run, -p->half}, {p->half, run}, {-run, p->half}, {-p->half, -run}};
  memcpy(x, at[side], 2 * sizeof *x);
}

/* cumulative[i] = ∫ ds/h from the start of the side to t = i/STEPS, by the midpoint rule. */
static void side_integral(const gen_planar *p, int side, double *cumulative) {
  cumulative[0] = 0;
  for (int i = 0; i < STEPS; i++) {
    double x[2];
    side_point(p, side, (i + 0.5) / STEPS, x);
    cumulative[i + 1] = cumulative[i] + 2 * p->half / STEPS / planar_size(p, x);
  }
}

/* ⌈I⌉ segments, an integral that misses an integer by rounding alone counting as that integer. */
static double segments(double integral) {
  return ceil(integral - 1e-9);
}

static void put_point(planar *m, double x, double y, int32_t label) {
  m->x[2 * m->boundary] = x;
  m->x[2 * m->boundary + 1] = y;
  m->label[m->boundary++] = label;
}

static void place_side(planar *m, int side, const double *cumulative) {
  double count = segments(cumulative[STEPS]), x[2];
  int at = 0;
  for (int i = 0; i < (int)count; i++) {
    double goal = cumulative[STEPS] * i / count;
    while (at < STEPS - 1 && cumulative[at + 1] <= goal) at++;
    double part = (goal - cumulative[at]) / (cumulative[at + 1] - cumulative[at]);
    side_point(m->p, side, (at + part) / STEPS, x);
    put_point(m, x[0], x[1], 1);
  }
}

/* On a hole the size is h_near throughout. */
static void place_hole(planar *m, int i) {
  const double *hole = m->p->hole[i];
  int count = (int)segments(2 * M_PI * hole[2] / m->p->h_near);
  for (int j = 0; j < count; j++) {
    double angle = 2 * M_PI * j / count;
    put_point(m, hole[0] + hole[2] * cos(angle), hole[1] + hole[2] * sin(angle), i + 2);
  }
}

/* Interior vertices that the size field asks for: F = 1.05 ∫ dA / (√3/4 h²) triangles, 5 % more than equilateral ones
 * would need because few are, and F = 2 V - b - 2 χ. */
static double ideal_interior(const gen_planar *p, double boundary) {
  double sum = 0, cell = 2 * p->half / GRID;
  for (int i = 0; i < GRID; i++) {
    for (int j = 0; j < GRID; j++) {
      double x[2] = {-p->half + (i + 0.5) * cell, -p->half + (j + 0.5) * cell};
      int inside = 1;
      for (int k = 0; k < p->holes; k++) inside &= hypot(x[0] - p->hole[k][0], x[1] - p->hole[k][1]) > p->hole[k][2];
      double h = planar_size(p, x);
      if (inside) sum += cell * cell / (h * h);
    }
  }
  return fmax(0, floor((1.05 * sum * 4 / sqrt(3) - boundary + 2 * (1 - p->holes)) / 2));
}

/* Labels; the boundary of the complex must be the polygons that were asked for. */
static dkho_status label_boundary(const planar *m, cx *c) {
  char text[HOLES_MAX + 2][16];
  const char *names[HOLES_MAX + 2] = {"interior", "outer"};
  int32_t *label;
  int64_t found = 0;
  for (int i = 0; i < m->p->holes; i++) {
    snprintf(text[i], sizeof text[i], "hole%d", i + 1);
    names[i + 2] = text[i];
  }
  TRY(cx_name_labels(c, m->p->holes + 2, names));
  if (!MEM_NEW(label, c->n[0] > c->n[1] ? c->n[0] : c->n[1])) return DKHO_E_MEMORY;
  memcpy(label, m->label, (size_t)m->boundary * sizeof *label);
  dkho_status s = cx_set_labels(c, 0, label);
  memset(label, 0, (size_t)m->boundary * sizeof *label);
  for (int64_t e = 0; e < c->n[1]; e++) {
    const int32_t *v = c->vert[1] + 2 * e;
    if (!c->on_boundary[1][e]) continue;
    found += v[1] < m->boundary && m->label[v[0]] == m->label[v[1]];
    label[e] = c->label[0] ? c->label[0][v[0]] : 0;
  }
  if (s == DKHO_OK) s = cx_set_labels(c, 1, label);
  mem_free(label);
  if (s == DKHO_OK && (found != m->boundary || c->n[0] - c->n[1] + c->n[2] != 1 - m->p->holes))
    s = fail(DKHO_E_NOCONV, "planar mesh: %lld of %lld boundary segments recovered, Euler number %lld, expected %d",
             (long long)found, (long long)m->boundary, (long long)(c->n[0] - c->n[1] + c->n[2]), 1 - m->p->holes);
  return s;
}

/* With the boundary counted: room for all points, boundary points, interior points, complex. */
static dkho_status make_planar(planar *m, const double *cumulative, double boundary, cx **out) {
  const gen_planar *p = m->p;
  int64_t target = p->interior;
  double ideal = ideal_interior(p, boundary);
  if (boundary + ideal > POINTS_MAX)
    return fail(DKHO_E_INPUT, "planar mesh: sizes %g and %g ask for %.3g vertices, expected at most %d", p->h_near,
                p->h_far, boundary + ideal, POINTS_MAX);
  if (target == 0) target = (int64_t)ideal;
  m->room = (int64_t)boundary + target;
  if (!MEM_NEW(m->x, 2 * m->room) || !MEM_NEW(m->label, m->room)) return DKHO_E_MEMORY;
  for (int side = 0; side < 4; side++) place_side(m, side, cumulative + side * (STEPS + 1));
  for (int i = 0; i < p->holes; i++) place_hole(m, i);
  TRY(planar_relax(m, target));
  TRY(planar_triangulate(m));
  TRY(cx_build(out, 2, m->room, m->x, 2, m->triangles, m->tri, CX_APPEARANCE));
  return label_boundary(m, *out);
}

dkho_status cx_planar(cx **out, const gen_planar *p) {
  planar m = {.p = p};
  double *cumulative, boundary = 0;
  *out = NULL;
  TRY(check_parameters(p));
  if (!MEM_NEW(cumulative, 4 * (STEPS + 1))) return DKHO_E_MEMORY;
  for (int side = 0; side < 4; side++) {
    side_integral(p, side, cumulative + side * (STEPS + 1));
    boundary += segments(cumulative[side * (STEPS + 1) + STEPS]);
  }
  for (int i = 0; i < p->holes; i++) boundary += segments(2 * M_PI * p->hole[i][2] / p->h_near);
  dkho_status s = make_planar(&m, cumulative, boundary, out);
  if (s != DKHO_OK) {
    cx_free(*out);
    *out = NULL;
  }
  mem_free(m.twin);
  mem_free(m.tri);
  mem_free(m.label);
  mem_free(m.x);
  mem_free(cumulative);
  return s;
}

dkho_status cx_darcy(cx **out, const char *resolution) {
  static const double hole[2][3] = {{-0.45, 0.30, 0.22}, {0.35, -0.40, 0.35}};
  static const struct {
    const char *name;
    double h_near, h_far;
    int64_t interior;
  } known[] = {{"smoke", 0.08, 0.30, 0}, {"main", 0.015, 0.05, 5056}, {"refine", 0.008, 0.03, 0}};
  gen_planar p = {.half = 1, .holes = 2, .hole = hole, .near = 0.05, .far = 0.5};
  *out = NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(resolution, known[i].name) != 0) continue;
    p.h_near = known[i].h_near;
    p.h_far = known[i].h_far;
    p.interior = known[i].interior;
    return cx_planar(out, &p);
  }
  return fail(DKHO_E_INPUT, "darcy: resolution \"%s\", expected \"smoke\", \"main\" or \"refine\"", resolution);
}
