/* The complex: contract, identities, duals, quality, labels, refusals, failing memory. */
#include "base/rng.h"
#include "mesh/cx.h"
#include "mesh/generate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const double corner_x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const double square_x[] = {0, 0, 1, 0, 1, 1, 0, 1};

static void assert_ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("status %d: %s", (int)s, fail_text());
}

static void assert_refused(dkho_status s, dkho_status expected, const char *text) {
  assert_int_equal(s, expected);
  if (!strstr(fail_text(), text)) fail_msg("found \"%s\", expected \"%s\"", fail_text(), text);
}

static void assert_near(double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance)) fail_msg("found %.17g, expected %.17g", found, expected);
}

static void one_tetrahedron(void **state) {
  (void)state;
  const int32_t top[] = {0, 1, 2, 3};
  cx *c;
  assert_ok(cx_build(&c, 3, 4, corner_x, 3, 1, top, CX_LEX));
  assert_ok(cx_check(c));
  assert_int_equal(c->n[1], 6);
  assert_int_equal(c->n[2], 4);
  assert_near(c->measure[3][0], 1.0 / 6, 1e-15);
  const int32_t edge[] = {1, 3}, tri[] = {0, 2, 3}, none[] = {0, 1, 4}, vertex = 2, beyond = 4;
  assert_int_equal(cx_find(c, 1, edge), 4);
  assert_int_equal(cx_find(c, 2, tri), 2);
  assert_int_equal(cx_find(c, 2, none), -1);
  assert_int_equal(cx_find(c, 3, top), 0);
  assert_int_equal(cx_find(c, 0, &vertex), 2);
  assert_int_equal(cx_find(c, 0, &beyond), -1);
  const int8_t signs[] = {-1, 1, -1, 1}; /* faces (012), (013), (023), (123) omit vertices 3, 2, 1, 0 */
  assert_memory_equal(c->sign[3], signs, sizeof signs);
  double centre[3];
  cx_centroids(c, 3, centre);
  for (int j = 0; j < 3; j++) assert_near(centre[j], 0.25, 1e-15);
  cx_free(c);
}

static void order_of_appearance(void **state) {
  (void)state;
  const int32_t top[] = {0, 2, 1, 3, 0, 2}; /* the first is clockwise and gets turned to (0,1,2) */
  const int32_t edges[] = {0, 1, 1, 2, 0, 2, 0, 3, 2, 3}, faces[] = {0, 1, 2, 2, 3, 4};
  const int8_t signs[] = {1, 1, -1, 1, -1, 1}; /* (3,0,2): 3→0 against, 0→2 along, 2→3 along */
  cx *c;
  assert_ok(cx_build(&c, 2, 4, square_x, 2, 2, top, CX_APPEARANCE));
  assert_ok(cx_check(c));
  assert_int_equal(c->n[1], 5);
  assert_memory_equal(c->vert[1], edges, sizeof edges);
  assert_memory_equal(c->face[2], faces, sizeof faces);
  assert_memory_equal(c->sign[2], signs, sizeof signs);
  const uint8_t boundary[] = {1, 1, 0, 1, 1};
  assert_memory_equal(c->on_boundary[1], boundary, sizeof boundary);
  cx_free(c);
}

/* dd = 0 and ⟨d u, w⟩ = ⟨u, dᵀ w⟩, both exact because all numbers are small integers. */
static void check_identities(const cx *c, rng *r) {
  enum { CH = 2 };
  for (int k = 0; k < c->dim; k++) {
    double *u, *w, *du, *dtw, *ddu, left = 0, right = 0;
    assert_non_null(MEM_NEW(u, CH * c->n[k]));
    assert_non_null(MEM_NEW(du, CH * c->n[k + 1]));
    assert_non_null(MEM_NEW(w, CH * c->n[k + 1]));
    assert_non_null(MEM_NEW(dtw, CH * c->n[k]));
    for (int64_t i = 0; i < CH * c->n[k]; i++) u[i] = (double)rng_below(r, 2001) - 1000;
    for (int64_t i = 0; i < CH * c->n[k + 1]; i++) w[i] = (double)rng_below(r, 2001) - 1000;
    cx_d(c, k, CH, u, du);
    cx_dt(c, k, CH, w, dtw);
    for (int64_t i = 0; i < CH * c->n[k]; i++) left += u[i] * dtw[i];
    for (int64_t i = 0; i < CH * c->n[k + 1]; i++) right += du[i] * w[i];
    assert_true(left == right);
    if (k + 1 < c->dim) {
      assert_non_null(MEM_NEW(ddu, CH * c->n[k + 2]));
      cx_d(c, k + 1, CH, du, ddu);
      for (int64_t i = 0; i < CH * c->n[k + 2]; i++) assert_true(ddu[i] == 0);
      mem_free(ddu);
    }
    mem_free(u);
    mem_free(du);
    mem_free(w);
    mem_free(dtw);
  }
}

/* Dual cells of vertices fill the complex; for 0 < k < dim the joins of primal and dual do too, and a join is at most
 * its product, with equality when the two are orthogonal. */
static void check_duals(const cx *c) {
  static const double choose[4][4] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}};
  double total = 0;
  for (int64_t i = 0; i < c->n[c->dim]; i++) total += c->dim ? c->measure[c->dim][i] : 1;
  for (int k = 0; k <= c->dim; k++) {
    double sum = 0;
    for (int64_t i = 0; i < c->n[k]; i++) sum += (k ? c->measure[k][i] : 1) * c->dual[k][i] / choose[c->dim][k];
    if (k == 0 || k == c->dim)
      assert_near(sum / total, 1, 1e-12);
    else
      assert_true(sum >= total * (1 - 1e-12));
  }
}

/* Renumbers the vertices that the tops use; returns their number. */
static int64_t compact(int64_t n, int64_t entries, int32_t *top, double *x, int gdim) {
  int32_t id[512];
  int64_t used = 0;
  memset(id, -1, sizeof id);
  for (int64_t p = 0; p < entries; p++) id[top[p]] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (id[i] < 0) continue;
    memmove(x + used * gdim, x + i * gdim, (size_t)gdim * sizeof *x);
    id[i] = (int32_t)used++;
  }
  for (int64_t p = 0; p < entries; p++) top[p] = id[top[p]];
  return used;
}

/* A random set of distinct simplices on n vertices, of degree dim, as a list; returns how many. */
static int64_t random_tops(rng *r, int dim, int64_t n, int64_t wanted, int32_t *top) {
  int64_t count = 0;
  for (int64_t tries = 0; tries < wanted; tries++) {
    int32_t v[4];
    int64_t perm[64];
    int fresh = 1;
    rng_permute(r, perm, n);
    for (int j = 0; j <= dim; j++) v[j] = (int32_t)perm[j];
    for (int64_t i = 0; i < count && fresh; i++) {
      int same = 0;
      for (int a = 0; a <= dim; a++) {
        for (int b = 0; b <= dim; b++) same += top[i * (dim + 1) + a] == v[b];
      }
      fresh = same <= dim;
    }
    if (fresh) memcpy(top + (dim + 1) * count++, v, sizeof(int32_t) * (size_t)(dim + 1));
  }
  return count;
}

/* Abstract complexes, most of them no manifolds: any simplices on up to 15 points in general position. */
static int64_t random_abstract(rng *r, int dim, int gdim, double *x, int64_t *n0, int32_t *top) {
  int64_t n = dim + 1 + (int64_t)rng_below(r, 12);
  for (int64_t i = 0; i < n * gdim; i++) x[i] = rng_range(r, -1, 1);
  int64_t count = random_tops(r, dim, n, 1 + (int64_t)rng_below(r, 30), top);
  *n0 = compact(n, count * (dim + 1), top, x, gdim);
  return count;
}

/* Random parts of Delaunay triangulations, turned at random. */
static int64_t random_delaunay(rng *r, int dim, double *x, int64_t *n0, int32_t *top) {
  int64_t n = 8 + (int64_t)rng_below(r, 40), count, kept = 0;
  int32_t *all;
  for (int64_t i = 0; i < n * dim; i++) x[i] = rng_range(r, -1, 1);
  assert_ok(delaunay(dim, n, x, &count, &all));
  for (int64_t i = 0; i < count; i++) {
    if (kept && rng_below(r, 3) == 0) continue;
    int32_t *v = top + (dim + 1) * kept++;
    memcpy(v, all + i * (dim + 1), sizeof *v * (size_t)(dim + 1));
    int32_t swap = v[0];
    if (rng_below(r, 2)) {
      v[0] = v[1];
      v[1] = swap;
    }
  }
  mem_free(all);
  *n0 = compact(n, kept * (dim + 1), top, x, dim);
  return kept;
}

static void random_complexes(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 1000; i++) {
    rng r = rng_open(7, RNG_TEST, i);
    double x[3 * 64];
    int32_t top[4 * 512];
    int64_t n0, count;
    int abstract = i % 2 == 0, gdim, dim;
    if (abstract) {
      dim = 1 + (int)rng_below(&r, 3);
      gdim = dim == 3 ? 3 : 2 + (int)rng_below(&r, 2);
      count = random_abstract(&r, dim, gdim, x, &n0, top);
    } else {
      gdim = dim = 2 + (int)rng_below(&r, 2);
      count = random_delaunay(&r, dim, x, &n0, top);
    }
    cx *c;
    assert_ok(cx_build(&c, gdim, n0, x, dim, count, top, rng_below(&r, 2) ? CX_LEX : CX_APPEARANCE));
    assert_ok(cx_check(c));
    check_identities(c, &r);
    check_duals(c);
    cx_free(c);
  }
}

static void points_and_paths(void **state) {
  (void)state;
  const int32_t points[] = {2, 0, 1, 3}, path[] = {1, 0, 1, 2, 3, 2};
  cx *c;
  cx_quality q;
  assert_ok(cx_build(&c, 2, 4, square_x, 0, 4, points, CX_LEX));
  assert_ok(cx_check(c));
  check_duals(c);
  assert_ok(cx_measure(c, &q));
  assert_int_equal(q.components, 4);
  assert_near(q.total, 4, 0);
  cx_free(c);
  assert_ok(cx_build(&c, 2, 4, square_x, 1, 3, path, CX_LEX));
  assert_ok(cx_check(c));
  check_duals(c);
  const double half[] = {0.5, 1, 1, 0.5};
  const uint8_t ends[] = {1, 0, 0, 1};
  for (int i = 0; i < 4; i++) assert_near(c->dual[0][i], half[i], 1e-15);
  assert_memory_equal(c->on_boundary[0], ends, sizeof ends);
  assert_ok(cx_measure(c, &q));
  assert_int_equal(q.components, 1);
  assert_int_equal(q.boundary_faces, 2);
  assert_int_equal(q.oriented, 1);
  cx_free(c);
}

/* On regular simplices barycentric and circumcentric duals agree, so primal × dual / (dim over k) adds up exactly. */
static void regular_simplices(void **state) {
  (void)state;
  const double tet_x[] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1}, root3 = sqrt(3);
  const double tri_x[] = {0, 0, 1, 0, 0.5, root3 / 2};
  const int32_t top[] = {0, 1, 2, 3};
  cx *c;
  cx_quality q;
  assert_ok(cx_build(&c, 3, 4, tet_x, 3, 1, top, CX_LEX));
  double edges = 0, faces = 0, volume = c->measure[3][0];
  for (int i = 0; i < 6; i++) edges += c->measure[1][i] * c->dual[1][i] / 3;
  for (int i = 0; i < 4; i++) faces += c->measure[2][i] * c->dual[2][i] / 3;
  assert_near(edges, volume, 1e-14);
  assert_near(faces, volume, 1e-14);
  assert_ok(cx_measure(c, &q));
  assert_near(q.worst_aspect, 1, 1e-14);
  assert_near(q.min_angle, acos(1.0 / 3) * 180 / M_PI, 1e-12);
  assert_near(q.max_angle, q.min_angle, 1e-12);
  cx_free(c);
  assert_ok(cx_build(&c, 2, 3, tri_x, 2, 1, top, CX_LEX));
  for (int i = 0; i < 3; i++) assert_near(c->dual[1][i], root3 / 6, 1e-15);
  assert_ok(cx_measure(c, &q));
  assert_near(q.worst_aspect, 1, 1e-14);
  assert_near(q.min_angle, 60, 1e-12);
  cx_free(c);
}

static void quality_of_odd_surfaces(void **state) {
  (void)state;
  double x[18];
  cx *c;
  cx_quality q;
  for (int i = 0; i < 6; i++) {
    x[3 * i] = cos(i * M_PI / 3) * (1 + 0.1 * (i % 2));
    x[3 * i + 1] = sin(i * M_PI / 3);
    x[3 * i + 2] = 0.3 * (i % 2);
  }
  const int32_t moebius[] = {0, 1, 2, 1, 3, 2, 2, 3, 4, 3, 5, 4, 4, 5, 1, 5, 0, 1}; /* closed with a twist */
  assert_ok(cx_build(&c, 3, 6, x, 2, 6, moebius, CX_APPEARANCE));
  assert_ok(cx_check(c));
  assert_ok(cx_measure(c, &q));
  assert_int_equal(q.oriented, 0);
  cx_free(c);
  const int32_t fins[] = {0, 1, 2, 0, 1, 3, 0, 1, 4}; /* three triangles on one edge */
  assert_ok(cx_build(&c, 3, 5, x, 2, 3, fins, CX_APPEARANCE));
  assert_ok(cx_measure(c, &q));
  assert_int_equal(q.nonmanifold_faces, 1);
  assert_int_equal(q.boundary_faces, 6);
  assert_int_equal(q.components, 1);
  cx_free(c);
  const int32_t apart[] = {0, 1, 2, 3, 4, 5};
  assert_ok(cx_build(&c, 3, 6, x, 2, 2, apart, CX_APPEARANCE));
  assert_ok(cx_measure(c, &q));
  assert_int_equal(q.components, 2);
  cx_free(c);
  const int32_t right[] = {0, 1, 2, 0, 2, 3};
  assert_ok(cx_build(&c, 2, 4, square_x, 2, 2, right, CX_APPEARANCE));
  assert_ok(cx_measure(c, &q));
  assert_near(q.min_angle, 45, 1e-12);
  assert_near(q.max_angle, 90, 1e-12);
  assert_near(q.edge_max, sqrt(2), 1e-15);
  assert_near(q.edge_mean, (4 + sqrt(2)) / 5, 1e-15);
  assert_int_equal(q.oriented, 1);
  cx_free(c);
}

static void numbering_does_not_depend_on_input_order(void **state) {
  (void)state;
  double x[60];
  rng r = rng_open(3, RNG_TEST, 0);
  int64_t count, perm[512];
  int32_t *top, shuffled[4 * 512];
  for (int i = 0; i < 60; i++) x[i] = rng_uniform(&r);
  assert_ok(delaunay(3, 20, x, &count, &top));
  rng_permute(&r, perm, count);
  for (int64_t i = 0; i < count; i++) memcpy(shuffled + 4 * i, top + 4 * perm[i], 4 * sizeof *top);
  cx *a, *b;
  assert_ok(cx_build(&a, 3, 20, x, 3, count, top, CX_LEX));
  assert_ok(cx_build(&b, 3, 20, x, 3, count, shuffled, CX_LEX));
  for (int k = 1; k < 3; k++) {
    assert_int_equal(a->n[k], b->n[k]);
    assert_memory_equal(a->vert[k], b->vert[k], (size_t)(a->n[k] * (k + 1)) * sizeof(int32_t));
    for (int64_t i = 1; i < a->n[k]; i++) { /* lexicographic */
      const int32_t *p = a->vert[k] + (i - 1) * (k + 1), *q = p + k + 1;
      int j = 0;
      while (j < k && p[j] == q[j]) j++;
      assert_true(p[j] < q[j]);
    }
  }
  cx_free(a);
  cx_free(b);
  mem_free(top);
}

static void refusals(void **state) {
  (void)state;
  const int32_t good[] = {0, 1, 2, 0, 2, 3}, range[] = {0, 1, 4}, below[] = {0, -1, 2}, twice[] = {0, 2, 2},
                same[] = {0, 1, 2, 2, 0, 1}, unused[] = {0, 1, 3}, point[] = {0, 1, 1, 2}, flat[] = {0, 1, 2, 1, 2, 3};
  const double bad[] = {0, 0, 1, 0, NAN, 1, 0, 1}, line[] = {0, 0, 1, 0, 2, 0, 0, 1},
               huge[] = {0, 0, 1e300, 0, 0, 1e300};
  const dkho_status e = DKHO_E_INPUT;
  cx *c;
  assert_refused(cx_build(&c, 4, 4, square_x, 2, 2, good, CX_LEX), e, "space dimension: found 4, expected 2 or 3");
  assert_refused(cx_build(&c, 2, 4, square_x, 3, 1, good, CX_LEX), e, "top simplices: found 3, expected 0 … 2");
  assert_refused(cx_build(&c, 2, 0, square_x, 2, 2, good, CX_LEX), e, "number of vertices: found 0");
  assert_refused(cx_build(&c, 2, 1LL << 31, square_x, 2, 2, good, CX_LEX), e, "vertices: found 2147483648, expected 1");
  assert_refused(cx_build(&c, 2, 4, square_x, 2, 0, good, CX_LEX), e, "number of top simplices: found 0");
  assert_refused(cx_build(&c, 2, 4, square_x, 2, 1, range, CX_LEX), e, "triangle 0: vertex index 4, expected 0 … 3");
  assert_refused(cx_build(&c, 2, 4, square_x, 2, 1, below, CX_LEX), e, "triangle 0: vertex index -1");
  assert_refused(cx_build(&c, 2, 4, square_x, 2, 1, twice, CX_LEX), e, "triangle 0: vertex 2 is listed twice");
  assert_refused(cx_build(&c, 2, 3, square_x, 2, 2, same, CX_LEX), e, "triangle 1 has the same vertices as triangle 0");
  assert_refused(cx_build(&c, 2, 4, square_x, 2, 1, unused, CX_LEX), e, "vertex 2 belongs to no edge");
  assert_refused(cx_build(&c, 2, 4, bad, 2, 2, good, CX_LEX), e, "vertex 2: coordinate nan is not finite");
  assert_refused(cx_build(&c, 2, 4, line, 2, 2, flat, CX_LEX), e, "triangle 0 is degenerate: measure 0");
  assert_refused(cx_build(&c, 2, 3, huge, 2, 1, good, CX_LEX), e, "overflows");
  /* four points of a plane, flat but for rounding; beside it any number of small sound ones */
  const double plane[] = {0.1, 0.2, 0.3, 0.7, 0.3, 0.1, 0.4, 0.9, 0.2, 0.4, 1.4 / 3, 0.2};
  assert_refused(cx_build(&c, 3, 4, plane, 3, 1, (const int32_t[]){0, 1, 2, 3}, CX_LEX), e,
                 "tetrahedron 0 is degenerate");
  assert_refused(cx_build(&c, 2, 4, square_x, 0, 4, point, CX_LEX), e, "point 2: vertex 1 is listed before");
  assert_refused(cx_build(&c, 2, 4, square_x, 0, 3, point, CX_LEX), e, "3 points listed for 4 vertices");
  assert_null(c);
  /* elements of very different sizes are no fault */
  const double sizes[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5, 0, 0, 5 + 1e-6, 0, 0, 5, 1e-6, 0, 5, 0, 1e-6};
  assert_int_equal(cx_build(&c, 3, 8, sizes, 3, 2, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, CX_LEX), DKHO_OK);
  cx_free(c);
}

static void labels(void **state) {
  (void)state;
  const int32_t top[] = {0, 1, 2, 0, 2, 3}, some[] = {0, 1, 2, 1}, beyond[] = {0, 1, 3, 1};
  const char *const names[] = {"interior", "left", "right"};
  cx *c;
  assert_ok(cx_build(&c, 2, 4, square_x, 2, 2, top, CX_LEX));
  assert_refused(cx_set_labels(c, 0, some), DKHO_E_INPUT, "label of vertex 0: found 0, expected 0 … -1");
  assert_refused(cx_name_labels(c, 0, names), DKHO_E_INPUT, "label names: found 0");
  assert_ok(cx_name_labels(c, 3, names));
  assert_ok(cx_set_labels(c, 0, some));
  assert_refused(cx_set_labels(c, 0, beyond), DKHO_E_INPUT, "label of vertex 2: found 3, expected 0 … 2");
  assert_memory_equal(c->label[0], some, sizeof some);
  assert_refused(cx_name_labels(c, 2, names), DKHO_E_INPUT, "2 given, but vertex 2 has label 2");
  assert_string_equal(c->label_name[2], "right");
  assert_ok(cx_check(c));
  cx_free(c);
}

/* Each line breaks one clause of the contract; the check must name it, and be content again once it is mended. */
#define BREAK(place, value, text)                                                                                      \
  do {                                                                                                                 \
    __typeof__(place) kept = (place);                                                                                  \
    (place) = (value);                                                                                                 \
    assert_refused(cx_check(c), DKHO_E_INTERNAL, text);                                                                \
    (place) = kept;                                                                                                    \
    assert_ok(cx_check(c));                                                                                            \
  } while (0)

static void check_sees_everything(void **state) {
  (void)state;
  const double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  const int32_t top[] = {0, 1, 2, 3, 4, 2, 1, 3}, label[] = {0, 0, 1, 0, 1};
  const char *const names[] = {"interior", "part"};
  cx *c;
  assert_ok(cx_build(&c, 3, 5, x, 3, 2, top, CX_LEX));
  assert_ok(cx_name_labels(c, 2, names));
  assert_ok(cx_set_labels(c, 0, label));
  BREAK(c->gdim, 4, "gdim");
  BREAK(c->dim, -1, "dim");
  BREAK(c->n[2], 0, "n[2]");
  BREAK(c->x[4], INFINITY, "vertex 1: coordinate inf");
  BREAK(c->coface[1], NULL, "degree 1: an array is missing");
  BREAK(c->vert[2][4], 9, "triangle 1: vertex index 9");
  BREAK(c->vert[3][1], 0, "tetrahedron 0: vertex 0 twice");
  BREAK(c->vert[1][0], 3, "edge 0 is not ascending");
  BREAK(c->face[3][0], 77, "tetrahedron 0: face index 77");
  BREAK(c->face[3][2], 0, "tetrahedron 0: faces not ascending");
  BREAK(c->sign[2][4], (int8_t)-c->sign[2][4], "is wrong");
  BREAK(c->coptr[0][0], 1, "coptr[0]");
  BREAK(c->coptr[0][1], c->coptr[0][2], "vertex 0: cofaces not ascending");
  BREAK(c->coptr[0][1], 1000, "vertex 0 has no coface, or too many");
  BREAK(c->coface[1][1], 0, "edge 0: cofaces not ascending");
  BREAK(c->cosign[2][0], (int8_t)-c->cosign[2][0], "triangle 0: coface 0 does not answer");
  BREAK(c->measure[3][1], -1, "tetrahedron 1: measure -1");
  BREAK(c->dual[1][3], 0, "edge 3: dual measure 0");
  BREAK(c->dual[3][0], 2, "tetrahedron 0: dual measure 2");
  BREAK(c->on_boundary[1][0], 0, "edge 0: on_boundary is 0");
  BREAK(c->on_boundary[2][0], 0, "on_boundary");
  BREAK(c->label[0][1], 2, "vertex 1: label 2, expected 0 … 1");
  BREAK(c->label_name[1], NULL, "label 1 has no name");
  cx_free(c);
}

static void failing_memory(void **state) {
  (void)state;
  const double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  const int32_t top[] = {0, 1, 2, 3, 4, 2, 1, 3}, points[] = {0, 1, 2, 3, 4}, label[] = {0, 0, 1, 0, 1};
  const char *const names[] = {"interior", "part"};
  size_t live = mem_live_blocks();
  for (int dim = 0; dim <= 3; dim += 3) {
    int64_t n = 0;
    for (dkho_status s = DKHO_E_MEMORY; s != DKHO_OK;) {
      cx *c;
      cx_quality q;
      mem_fail_at(++n);
      s = cx_build(&c, 3, 5, x, dim, dim ? 2 : 5, dim ? top : points, CX_APPEARANCE);
      assert_true(s == DKHO_OK || !c);
      if (s == DKHO_OK) s = cx_name_labels(c, 2, names);
      if (s == DKHO_OK) s = cx_set_labels(c, 0, label);
      if (s == DKHO_OK) s = cx_measure(c, &q);
      mem_fail_at(0);
      assert_true(s == DKHO_OK || s == DKHO_E_MEMORY);
      cx_free(c);
      assert_int_equal(mem_live_blocks(), live);
    }
    assert_true(n > 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_tetrahedron),
                                     cmocka_unit_test(order_of_appearance),
                                     cmocka_unit_test(random_complexes),
                                     cmocka_unit_test(points_and_paths),
                                     cmocka_unit_test(regular_simplices),
                                     cmocka_unit_test(quality_of_odd_surfaces),
                                     cmocka_unit_test(numbering_does_not_depend_on_input_order),
                                     cmocka_unit_test(refusals),
                                     cmocka_unit_test(labels),
                                     cmocka_unit_test(check_sees_everything),
                                     cmocka_unit_test(failing_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
