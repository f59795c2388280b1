/* cx_quality.c: the figures that tell a good mesh from a bad one. Betti numbers need linear algebra and live in dec/. */
#include "mesh/cx_impl.h"

#include <math.h>

static double inner_product(int n, const double *a, const double *b) {
  double sum = 0;
  for (int j = 0; j < n; j++) sum += a[j] * b[j];
  return sum;
}

/* The angle in degrees between u and v, vectors of n = 2 or 3 entries, both first freed of their part along the unit
 * vector `along` (or NULL). atan2 keeps thin angles exact where acos would lose them. */
static double angle(int n, double *u, double *v, const double *along) {
  if (along) {
    double pu = inner_product(n, u, along), pv = inner_product(n, v, along);
    for (int j = 0; j < n; j++) {
      u[j] -= pu * along[j];
      v[j] -= pv * along[j];
    }
  }
  double w[3] = {0, 0, u[0] * v[1] - u[1] * v[0]};
  if (n == 3) {
    w[0] = u[1] * v[2] - u[2] * v[1];
    w[1] = u[2] * v[0] - u[0] * v[2];
  }
  return atan2(sqrt(inner_product(3, w, w)), inner_product(n, u, v)) * (180 / M_PI);
}

static void note_angle(cx_quality *q, double a) {
  q->min_angle = fmin(q->min_angle, a);
  q->max_angle = fmax(q->max_angle, a);
}

/* u = x_b - x_a; its length. */
static double edge_vector(const cx *c, int32_t a, int32_t b, double *u) {
  for (int j = 0; j < c->gdim; j++) u[j] = c->x[(int64_t)b * c->gdim + j] - c->x[(int64_t)a * c->gdim + j];
  return sqrt(inner_product(c->gdim, u, u));
}

/* Aspect: longest edge over shortest altitude 2A/L, times √3/2. */
static void measure_triangle(const cx *c, int64_t i, cx_quality *q) {
  const int32_t *v = c->vert[2] + 3 * i;
  double longest = 0, u[3] = {0}, w[3] = {0};
  for (int j = 0; j < 3; j++) {
    edge_vector(c, v[j], v[(j + 2) % 3], w);
    longest = fmax(longest, edge_vector(c, v[j], v[(j + 1) % 3], u));
    note_angle(q, angle(c->gdim, u, w, NULL));
  }
  q->worst_aspect = fmax(q->worst_aspect, longest * longest * sqrt(3) / (4 * c->measure[2][i]));
}

/* Aspect: longest edge over shortest altitude 3V/A, times √(2/3). */
static void measure_tet(const cx *c, int64_t i, cx_quality *q) {
  const int32_t *v = c->vert[3] + 4 * i;
  double longest = 0, largest = 0, along[3] = {0}, u[3] = {0}, w[3] = {0};
  for (int a = 0; a < 4; a++) {
    largest = fmax(largest, c->measure[2][c->face[3][4 * i + a]]);
    for (int b = a + 1; b < 4; b++) {
      int p = 0;
      while (p == a || p == b) p++;
      double length = edge_vector(c, v[a], v[b], along);
      for (int j = 0; j < 3; j++) along[j] /= length;
      edge_vector(c, v[a], v[p], u);
      edge_vector(c, v[a], v[6 - a - b - p], w);
      note_angle(q, angle(3, u, w, along));
      longest = fmax(longest, length);
    }
  }
  q->worst_aspect = fmax(q->worst_aspect, sqrt(2.0 / 3) * longest * largest / (3 * c->measure[3][i]));
}

static int32_t find_root(int32_t *parent, int32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static dkho_status count_components(const cx *c, int *components) {
  int32_t *parent;
  int64_t count = c->n[0];
  if (!MEM_NEW(parent, c->n[0])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < c->n[0]; i++) parent[i] = (int32_t)i;
  for (int64_t e = 0; e < c->n[1]; e++) {
    int32_t a = find_root(parent, c->vert[1][2 * e]), b = find_root(parent, c->vert[1][2 * e + 1]);
    if (a == b) continue;
    parent[a > b ? a : b] = a > b ? b : a;
    count--;
  }
  mem_free(parent);
  *components = (int)count;
  return DKHO_OK;
}

/* Two top simplices agree across their common face when it carries opposite signs in their boundaries. */
static void inspect_faces(const cx *c, cx_quality *q) {
  int k = c->dim - 1;
  for (int64_t i = 0; k >= 0 && i < c->n[k]; i++) {
    int64_t p = c->coptr[k][i], cofaces = c->coptr[k][i + 1] - p;
    q->boundary_faces += cofaces == 1;
    q->nonmanifold_faces += cofaces > 2;
    if (cofaces == 2 && c->cosign[k][p] == c->cosign[k][p + 1]) q->oriented = 0;
  }
}

dkho_status cx_measure(const cx *c, cx_quality *q) {
  *q = (cx_quality){.worst_aspect = 1, .oriented = 1};
  if (c->dim >= 2) q->min_angle = 180;
  if (c->dim >= 1) q->edge_min = q->edge_max = c->measure[1][0];
  for (int64_t e = 0; e < c->n[1]; e++) {
    q->edge_min = fmin(q->edge_min, c->measure[1][e]);
    q->edge_max = fmax(q->edge_max, c->measure[1][e]);
    q->edge_mean += c->measure[1][e] / (double)c->n[1];
  }
  for (int64_t i = 0; i < c->n[c->dim]; i++) {
    q->total += c->dim ? c->measure[c->dim][i] : 1;
    if (c->dim == 2) measure_triangle(c, i, q);
    if (c->dim == 3) measure_tet(c, i, q);
  }
  inspect_faces(c, q);
  return count_components(c, &q->components);
}
