/* delaunay.c: Delaunay triangulation by Qhull (reentrant library). Qhull's own errors, which it would print, are caught
 * and become the error text; its memory is its own. Triangles flatter than FLAT are dropped: they appear where collinear
 * points lie on the hull. Flat tetrahedra also appear between cospherical sets, and what is left without them need not
 * fit together, so they are refused. */
#include "mesh/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libqhull_r/qhull_ra.h>

static const double FLAT = 1e-12; /* of (longest edge)^dim */

/* dim! times the signed measure of the simplex v; *scale: its longest edge to the power dim. */
static double signed_measure(int dim, const double *x, const int32_t *v, double *scale) {
  double e[3][3] = {{0}}, longest = 0;
  for (int j = 0; j < dim; j++) {
    for (int a = 0; a < dim; a++) e[j][a] = x[(int64_t)v[j + 1] * dim + a] - x[(int64_t)v[0] * dim + a];
  }
  for (int i = 0; i <= dim; i++) {
    for (int j = 0; j < i; j++) {
      double sum = 0;
      for (int a = 0; a < dim; a++) {
        double d = x[(int64_t)v[i] * dim + a] - x[(int64_t)v[j] * dim + a];
        sum += d * d;
      }
      longest = fmax(longest, sum);
    }
  }
  *scale = dim == 2 ? longest : longest * sqrt(longest);
  if (dim == 2) return e[0][0] * e[1][1] - e[0][1] * e[1][0];
  return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
         e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

/* Puts the smallest vertex first, then the smaller of what an even permutation allows; orientation becomes positive.
 * Returns 0 when the simplex is flat. */
static int normalise_simplex(int dim, const double *x, int32_t *v) {
  double scale;
  for (int i = 1; i <= dim; i++) {
    for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
      int32_t t = v[j];
      v[j] = v[j - 1];
      v[j - 1] = t;
    }
  }
  double m = signed_measure(dim, x, v, &scale);
  if (!(fabs(m) > FLAT * scale)) return 0;
  if (m < 0) {
    int32_t t = v[dim];
    v[dim] = v[dim - 1];
    v[dim - 1] = t;
  }
  return 1;
}

static int compare_tops2(const void *a, const void *b) {
  const int32_t *p = a, *q = b;
  for (int j = 0; j < 3; j++) {
    if (p[j] != q[j]) return p[j] < q[j] ? -1 : 1;
  }
  return 0;
}

static int compare_tops3(const void *a, const void *b) {
  int c = compare_tops2(a, b);
  const int32_t *p = a, *q = b;
  return c ? c : (p[3] > q[3]) - (p[3] < q[3]);
}

/* The lower facets of the lifted hull. With option Qz the point at infinity has number n: facets that hold it are upper
 * ones. */
static dkho_status collect_simplices(qhT *qh, int dim, int64_t n, const double *x, int64_t *count, int32_t **tops) {
  facetT *facet;
  vertexT *vertex, **vertexp;
  int64_t room = 0, at = 0, flat = 0;
  FORALLfacets room += !facet->upperdelaunay;
  int32_t *list = mem_alloc((size_t)room, (size_t)(dim + 1) * sizeof *list);
  if (!list) return DKHO_E_MEMORY;
  FORALLfacets {
    int32_t v[CX_DEGREES];
    int used = 0;
    if (facet->upperdelaunay) continue;
    FOREACHvertex_(facet->vertices) {
      int id = qh_pointid(qh, vertex->point);
      if (used <= dim && id >= 0 && id < n) v[used++] = id;
    }
    if (used != dim + 1) continue;
    if (!normalise_simplex(dim, x, v)) {
      flat++;
      continue;
    }
    memcpy(list + (dim + 1) * at++, v, (size_t)(dim + 1) * sizeof *v);
  }
  if (dim == 3 && flat) {
    mem_free(list);
    return fail(DKHO_E_INPUT, "Delaunay triangulation: %lld flat tetrahedra: points are cospherical or coplanar",
                (long long)flat);
  }
  qsort(list, (size_t)at, (size_t)(dim + 1) * sizeof *list, dim == 2 ? compare_tops2 : compare_tops3);
  *count = at;
  *tops = list;
  return DKHO_OK;
}

/* The first line that Qhull said. */
static dkho_status qhull_failure(int code, FILE *said, char *const *text) {
  fflush(said); /* sets *text */
  return fail(code == qh_ERRmem ? DKHO_E_MEMORY : DKHO_E_INPUT, "Delaunay triangulation: %.*s",
              (int)strcspn(*text, "\r\n"), *text);
}

dkho_status delaunay(int dim, int64_t n, const double *x, int64_t *count, int32_t **tops) {
  *count = 0;
  *tops = NULL;
  if (dim != 2 && dim != 3) return fail(DKHO_E_INPUT, "Delaunay triangulation: dimension %d, expected 2 or 3", dim);
  if (n <= dim || n > INT32_MAX - 1)
    return fail(DKHO_E_INPUT, "Delaunay triangulation: %lld points, expected %d … 2^31-2", (long long)n, dim + 1);
  for (int64_t i = 0; i < n * dim; i++) {
    if (!isfinite(x[i]))
      return fail(DKHO_E_INPUT, "Delaunay triangulation: point %lld: coordinate %g is not finite", (long long)(i / dim),
                  x[i]);
  }
  double *copy;
  char *text = NULL, command[] = "qhull d Qt Qbb Qc Qz Q12";
  size_t length = 0;
  if (!MEM_NEW(copy, n * dim)) return DKHO_E_MEMORY;
  memcpy(copy, x, (size_t)(n * dim) * sizeof *x);
  FILE *said = open_memstream(&text, &length);
  if (!said) {
    mem_free(copy);
    return fail(DKHO_E_MEMORY, "Delaunay triangulation: no memory for messages");
  }
  qhT state, *qh = &state;
  qh_zero(qh, said);
  int code = qh_new_qhull(qh, dim, (int)n, copy, False, command, NULL, said);
  dkho_status s = code ? qhull_failure(code, said, &text) : collect_simplices(qh, dim, n, x, count, tops);
  int kept, bytes;
  qh_freeqhull(qh, !qh_ALL);
  qh_memfreeshort(qh, &kept, &bytes);
  fclose(said);
  free(text);
  mem_free(copy);
  return s;
}
