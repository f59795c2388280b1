/* cx_geom.c: measures, barycentric duals and the boundary of a complex.
 *
 * The dual cell of a k-simplex s is the union, over flags s = s_k < s_{k+1} < … < s_dim, of the simplices spanned by the
 * centroids of s_k, …, s_dim. So with m = dim - k: m = 0 gives 1; m = 1 sums distances of centroids; m = 2 sums areas
 * of triangles of centroids; the dual of a vertex has 1/(dim+1) of every top simplex round it. */
#include "mesh/cx_impl.h"
#include "mesh/vec3.h"

#include <math.h>
#include <string.h>

double cx_area2(const double *a, const double *b, const double *p) {
  return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
}

static double point_distance(int gdim, const double *a, const double *b) {
  double sum = 0;
  for (int j = 0; j < gdim; j++) sum += (b[j] - a[j]) * (b[j] - a[j]);
  return sqrt(sum);
}

static void minus(const double *a, const double *b, double *out) {
  for (int j = 0; j < 3; j++) out[j] = a[j] - b[j];
}

static double area(int gdim, const double *a, const double *b, const double *p) {
  if (gdim == 2) return fabs(cx_area2(a, b, p)) / 2;
  double u[3], v[3], w[3];
  minus(b, a, u);
  minus(p, a, v);
  vec3_cross(u, v, w);
  return sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) / 2;
}

double cx_simplex_measure(const cx *c, int k, const int32_t *v) {
  const double *p[CX_DEGREES];
  for (int j = 0; j <= k; j++) p[j] = c->x + (int64_t)v[j] * c->gdim;
  if (k == 0) return 1;
  if (k == 1) return point_distance(c->gdim, p[0], p[1]);
  if (k == 2) return area(c->gdim, p[0], p[1], p[2]);
  double e[3][3], w[3];
  for (int j = 0; j < 3; j++) minus(p[j + 1], p[0], e[j]);
  vec3_cross(e[0], e[1], w);
  return fabs(w[0] * e[2][0] + w[1] * e[2][1] + w[2] * e[2][2]) / 6;
}

static double longest_edge(const cx *c, int k, const int32_t *v) {
  double longest = 0;
  for (int i = 0; i <= k; i++)
    for (int j = 0; j < i; j++)
      longest = fmax(longest, point_distance(c->gdim, c->x + (int64_t)v[i] * c->gdim, c->x + (int64_t)v[j] * c->gdim));
  return longest;
}

/* An edge is too short beside the mean of all, a simplex too flat beside its own longest edge: elements of very different sizes
 * may meet in a mesh. */
double cx_least_measure(const cx *c, int k, const int32_t *v, double mean) {
  double scale = k == 1 ? mean : longest_edge(c, k, v), least = 1e-14;
  for (int j = 0; j < k; j++) least *= scale;
  return least;
}

static dkho_status check_extent(const cx *c, int k, int64_t i, double mean) {
  const int32_t *v = c->vert[k] + i * (k + 1);
  if (c->measure[k][i] > cx_least_measure(c, k, v, mean)) return DKHO_OK;
  return fail(DKHO_E_INPUT, "%s %lld is degenerate: measure %g where %s is %g", cx_noun(k), (long long)i,
              c->measure[k][i], k == 1 ? "the mean" : "its longest edge", k == 1 ? mean : longest_edge(c, k, v));
}

static dkho_status fill_measure(cx *c, int k) {
  double sum = 0;
  if (!ARENA_NEW(&c->mem, c->measure[k], c->n[k])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < c->n[k]; i++) {
    double m = cx_simplex_measure(c, k, c->vert[k] + i * (k + 1));
    if (!isfinite(m))
      return fail(DKHO_E_INPUT, "%s %lld: its measure overflows; scale the coordinates", cx_noun(k), (long long)i);
    c->measure[k][i] = m;
    sum += m / (double)c->n[k];
  }
  for (int64_t i = 0; i < c->n[k]; i++) TRY(check_extent(c, k, i, sum));
  return DKHO_OK;
}

/* Duals of the triangles and edges of tetrahedron i, and of its share of vertices. */
static void add_tet_duals(cx *c, int64_t i) {
  double mid[3], centre[3], inner[3];
  cx_mean(c, 3, c->vert[3] + 4 * i, inner);
  for (int64_t p = 4 * i; p < 4 * i + 4; p++) {
    int64_t f = c->face[3][p];
    cx_mean(c, 2, c->vert[2] + 3 * f, centre);
    c->dual[2][f] += point_distance(3, centre, inner);
    for (int64_t q = 3 * f; q < 3 * f + 3; q++) {
      int64_t e = c->face[2][q];
      cx_mean(c, 1, c->vert[1] + 2 * e, mid);
      c->dual[1][e] += area(3, mid, centre, inner);
    }
  }
}

static void add_triangle_duals(cx *c, int64_t i) {
  double mid[3], centre[3];
  cx_mean(c, 2, c->vert[2] + 3 * i, centre);
  for (int64_t p = 3 * i; p < 3 * i + 3; p++) {
    int64_t e = c->face[2][p];
    cx_mean(c, 1, c->vert[1] + 2 * e, mid);
    c->dual[1][e] += point_distance(c->gdim, mid, centre);
  }
}

static dkho_status fill_duals(cx *c) {
  int dim = c->dim;
  for (int k = 0; k <= dim; k++) {
    if (!ARENA_NEW(&c->mem, c->dual[k], c->n[k])) return DKHO_E_MEMORY;
  }
  for (int64_t i = 0; i < c->n[dim]; i++) {
    c->dual[dim][i] = 1;
    for (int j = 0; dim && j <= dim; j++) c->dual[0][c->vert[dim][i * (dim + 1) + j]] += c->measure[dim][i] / (dim + 1);
    if (dim == 2) add_triangle_duals(c, i);
    if (dim == 3) add_tet_duals(c, i);
  }
  return DKHO_OK;
}

static dkho_status fill_boundary(cx *c) {
  for (int k = c->dim - 1; k >= 0; k--) {
    if (!ARENA_NEW(&c->mem, c->on_boundary[k], c->n[k])) return DKHO_E_MEMORY;
    if (k == c->dim - 1) {
      for (int64_t i = 0; i < c->n[k]; i++) c->on_boundary[k][i] = c->coptr[k][i + 1] - c->coptr[k][i] == 1;
    } else {
      for (int64_t p = 0; p < c->n[k + 1] * (k + 2); p++)
        c->on_boundary[k][c->face[k + 1][p]] |= c->on_boundary[k + 1][p / (k + 2)];
    }
  }
  return DKHO_OK;
}

dkho_status cx_geometry(cx *c) {
  for (int k = 1; k <= c->dim; k++) TRY(fill_measure(c, k));
  TRY(fill_duals(c));
  return fill_boundary(c);
}
