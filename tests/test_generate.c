/* Generators: counts, check figures, quality, determinism, refusals, failing memory. */
#include "base/rng.h"
#include "mesh/gen_planar_impl.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void assert_ok(dkho_status s) {
  if (s != DKHO_OK) fail_msg("status %d: %s", (int)s, fail_text());
}

static void assert_refused(dkho_status s, const char *text) {
  assert_int_equal(s, DKHO_E_INPUT);
  if (!strstr(fail_text(), text)) fail_msg("found \"%s\", expected \"%s\"", fail_text(), text);
}

static void assert_near(double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance)) fail_msg("found %.17g, expected %.17g", found, expected);
}

static void assert_counts(const cx *c, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
  assert_int_equal(c->n[0], n0);
  assert_int_equal(c->n[1], n1);
  assert_int_equal(c->n[2], n2);
  assert_int_equal(c->n[3], n3);
}

static void assert_same_bits(const cx *a, const cx *b) {
  assert_memory_equal(a->n, b->n, sizeof a->n);
  assert_memory_equal(a->x, b->x, (size_t)(a->n[0] * a->gdim) * sizeof(double));
  for (int k = 1; k <= a->dim; k++)
    assert_memory_equal(a->vert[k], b->vert[k], (size_t)(a->n[k] * (k + 1)) * sizeof(int32_t));
}

/* Rank of d_k modulo 2, by elimination on bit rows. */
static int64_t rank_mod2(const cx *c, int k) {
  size_t words = (size_t)c->n[k] / 64 + 1, rows = (size_t)c->n[k + 1];
  uint64_t *bits, **pivot;
  int64_t rank = 0;
  assert_non_null(MEM_NEW(bits, words * rows));
  assert_non_null(MEM_NEW(pivot, c->n[k]));
  for (size_t i = 0; i < rows; i++) {
    uint64_t *row = bits + i * words;
    for (size_t p = i * (size_t)(k + 2); p < (i + 1) * (size_t)(k + 2); p++)
      row[c->face[k + 1][p] / 64] ^= 1ull << c->face[k + 1][p] % 64;
    for (size_t w = 0; w < words; w++) {
      while (row[w]) {
        size_t lead = 64 * w + (size_t)__builtin_ctzll(row[w]);
        if (!pivot[lead]) {
          pivot[lead] = row;
          rank++;
          break;
        }
        for (size_t v = w; v < words; v++) row[v] ^= pivot[lead][v];
      }
      if (row[w]) break;
    }
  }
  mem_free(bits);
  mem_free(pivot);
  return rank;
}

static void assert_betti(const cx *c, const int64_t *expected) {
  int64_t before = 0;
  for (int k = 0; k <= c->dim; k++) {
    int64_t rank = k < c->dim ? rank_mod2(c, k) : 0;
    assert_int_equal(c->n[k] - rank - before, expected[k]);
    before = rank;
  }
}

/* No point lies inside the circumsphere: the lifted determinant, with positive orientation, stays positive. */
static double lifted(int dim, const double *x, const int32_t *v, const double *p) {
  double m[4][4];
  for (int i = 0; i <= dim; i++) {
    m[i][dim] = 0;
    for (int j = 0; j < dim; j++) {
      m[i][j] = x[v[i] * dim + j] - p[j];
      m[i][dim] += m[i][j] * m[i][j];
    }
  }
  double det = 1;
  for (int i = 0; i <= dim; i++) { /* elimination with row pivoting */
    int best = i;
    for (int r = i + 1; r <= dim; r++) best = fabs(m[r][i]) > fabs(m[best][i]) ? r : best;
    for (int j = 0; j <= dim && best != i; j++) {
      double t = m[i][j];
      m[i][j] = m[best][j];
      m[best][j] = t;
    }
    det *= best != i ? -m[i][i] : m[i][i];
    for (int r = i + 1; r <= dim && m[i][i] != 0; r++) {
      double f = m[r][i] / m[i][i];
      for (int j = i; j <= dim; j++) m[r][j] -= f * m[i][j];
    }
  }
  return dim == 2 ? det : -det;
}

static void delaunay_property(void **state) {
  (void)state;
  for (uint64_t trial = 0; trial < 40; trial++) {
    rng r = rng_open(11, RNG_TEST, trial);
    int dim = 2 + (int)(trial % 2);
    int64_t n = 5 + (int64_t)rng_below(&r, 60), count, euler = 0;
    double x[3 * 65];
    int32_t *top;
    cx *c;
    for (int64_t i = 0; i < n * dim; i++) x[i] = rng_range(&r, -1, 1);
    assert_ok(delaunay(dim, n, x, &count, &top));
    for (int64_t i = 0; i < count; i++) {
      for (int64_t p = 0; p < n; p++) {
        /* inside is positive for a positively oriented simplex */
        assert_true(lifted(dim, x, top + i * (dim + 1), x + p * dim) < 1e-10);
      }
    }
    assert_ok(cx_build(&c, dim, n, x, dim, count, top, CX_LEX));
    for (int k = 0; k <= dim; k++) euler += k % 2 ? -c->n[k] : c->n[k];
    assert_int_equal(euler, 1);
    cx_quality q;
    assert_ok(cx_measure(c, &q));
    assert_int_equal(q.oriented, 1);
    assert_int_equal(q.nonmanifold_faces, 0);
    cx_free(c);
    mem_free(top);
  }
}

/* Every square of a grid is cocircular, every side collinear. */
static void delaunay_of_grids(void **state) {
  (void)state;
  double x[200];
  int64_t count, n = 0;
  int32_t *top;
  cx *c;
  cx_quality q;
  for (int i = 0; i < 100; i++, n++) {
    x[2 * n] = i % 10;
    x[2 * n + 1] = i / 10;
  }
  assert_ok(delaunay(2, 100, x, &count, &top));
  assert_int_equal(count, 162);
  assert_ok(cx_build(&c, 2, 100, x, 2, count, top, CX_LEX));
  assert_ok(cx_measure(c, &q));
  assert_near(q.total, 81, 1e-12);
  assert_int_equal(q.boundary_faces, 36);
  cx_free(c);
  mem_free(top);
  for (int i = 0; i < 27; i++) memcpy(x + 3 * i, (double[]){i % 3, i / 3 % 3, i / 9}, 3 * sizeof *x);
  assert_refused(delaunay(3, 27, x, &count, &top), "flat tetrahedra: points are cospherical or coplanar");
}

static void delaunay_refusals(void **state) {
  (void)state;
  double x[20] = {0};
  int64_t count;
  int32_t *top;
  assert_refused(delaunay(4, 10, x, &count, &top), "dimension 4, expected 2 or 3");
  assert_refused(delaunay(2, 2, x, &count, &top), "2 points, expected 3");
  for (int i = 0; i < 10; i++) x[2 * i] = x[2 * i + 1] = i;
  assert_refused(delaunay(2, 10, x, &count, &top), "Delaunay triangulation: QH");
  x[7] = NAN;
  assert_refused(delaunay(2, 10, x, &count, &top), "point 3: coordinate nan is not finite");
  assert_null(top);
}

/* The boundary is the polygons asked for, each labelled; interior edges between boundary vertices keep 0. */
static void assert_planar_labels(const cx *c, int holes, const double (*hole)[3], double half) {
  assert_int_equal(c->labels, holes + 2);
  for (int k = 0; k < 2; k++) {
    for (int64_t i = 0; i < c->n[k]; i++) assert_int_equal(c->label[k][i] != 0, c->on_boundary[k][i]);
  }
  for (int64_t e = 0; e < c->n[1]; e++) {
    int32_t label = c->label[1][e];
    for (int j = 0; label && j < 2; j++) {
      const double *x = c->x + 2 * c->vert[1][2 * e + j];
      assert_int_equal(c->label[0][c->vert[1][2 * e + j]], label);
      if (label == 1)
        assert_near(fmax(fabs(x[0]), fabs(x[1])), half, 0);
      else
        assert_near(hypot(x[0] - hole[label - 2][0], x[1] - hole[label - 2][1]), hole[label - 2][2], 1e-14);
    }
  }
}

static const double darcy_hole[2][3] = {{-0.45, 0.30, 0.22}, {0.35, -0.40, 0.35}};

static void darcy_main(void **state) {
  (void)state;
  cx *c;
  cx_quality q;
  int64_t edges[4] = {0}, vertices[4] = {0}, crowded = 0;
  assert_ok(cx_darcy(&c, "main"));
  assert_counts(c, 5477, 16013, 10535, 0);
  assert_ok(cx_check(c));
  assert_ok(cx_measure(c, &q));
  assert_true(q.min_angle > 30);
  assert_int_equal(q.components, 1);
  assert_int_equal(q.boundary_faces, 421);
  assert_int_equal(q.nonmanifold_faces, 0);
  assert_planar_labels(c, 2, darcy_hole, 1);
  assert_string_equal(c->label_name[0], "interior");
  assert_string_equal(c->label_name[1], "outer");
  assert_string_equal(c->label_name[3], "hole2");
  for (int64_t e = 0; e < c->n[1]; e++) edges[c->label[1][e]]++;
  for (int64_t i = 0; i < c->n[0]; i++) vertices[c->label[0][i]]++;
  const int64_t expected[] = {181, 93, 147};
  assert_memory_equal(edges + 1, expected, sizeof expected);
  assert_memory_equal(vertices + 1, expected, sizeof expected);
  /* area of the square less two regular polygons */
  double area = 4;
  for (int i = 0; i < 2; i++) {
    double m = i ? 147 : 93, r = darcy_hole[i][2];
    area -= m / 2 * r * r * sin(2 * M_PI / m);
  }
  assert_near(q.total, area, 1e-12);
  /* edges follow the size field */
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *a = c->x + 2 * c->vert[1][2 * e], *b = c->x + 2 * c->vert[1][2 * e + 1];
    double d = 10, h;
    for (int i = 0; i < 2; i++)
      d = fmin(d, hypot((a[0] + b[0]) / 2 - darcy_hole[i][0], (a[1] + b[1]) / 2 - darcy_hole[i][1]) - darcy_hole[i][2]);
    h = d < 0.05 ? 0.015 : d > 0.5 ? 0.05 : 0.015 + 0.035 * (d - 0.05) / 0.45;
    assert_in_range(1000 * c->measure[1][e] / h, 450, 1900);
    crowded += c->measure[1][e] < 0.7 * h || c->measure[1][e] > 1.4 * h;
  }
  assert_true(crowded < c->n[1] / 20);
  cx_free(c);
}

static void darcy_smoke(void **state) {
  (void)state;
  cx *c, *again;
  cx_quality q;
  assert_ok(cx_darcy(&c, "smoke"));
  assert_ok(cx_check(c));
  assert_ok(cx_measure(c, &q));
  assert_true(q.min_angle > 30);
  assert_planar_labels(c, 2, darcy_hole, 1);
  assert_betti(c, (const int64_t[]){1, 2, 0});
  assert_ok(cx_darcy(&again, "smoke"));
  assert_same_bits(c, again);
  cx_free(c);
  cx_free(again);
  assert_refused(cx_darcy(&c, "tiny"), "darcy: resolution \"tiny\", expected \"smoke\", \"main\" or \"refine\"");
}

static void other_planar_domains(void **state) {
  (void)state;
  static const double ten[10][3] = {{-.6, -.6, .15}, {-.1, -.7, .1}, {.5, -.6, .2}, {-.7, 0, .12},  {0, -.1, .25},
                                    {.6, .1, .18},   {-.5, .6, .2},  {0, .55, .12}, {.45, .6, .15}, {.85, .85, .08}};
  cx *c;
  cx_quality q;
  for (int holes = 0; holes <= 10; holes++) {
    gen_planar p = {.half = 1, .holes = holes, .hole = ten, .h_near = 0.06, .h_far = 0.2, .near = 0.05, .far = 0.5};
    assert_ok(cx_planar(&c, &p));
    assert_ok(cx_check(c));
    assert_int_equal(c->n[0] - c->n[1] + c->n[2], 1 - holes);
    assert_ok(cx_measure(c, &q));
    assert_int_equal(q.components, 1);
    assert_true(q.min_angle > 30);
    assert_planar_labels(c, holes, ten, 1);
    cx_free(c);
  }
  gen_planar p = {.half = 3, .h_near = 0.5, .h_far = 0.5, .near = 0.1, .far = 1, .interior = 100};
  assert_ok(cx_planar(&c, &p));
  assert_int_equal(c->n[0], 48 + 100);
  cx_free(c);
}

static void planar_refusals(void **state) {
  (void)state;
  const double overlap[][3] = {{-0.2, 0, 0.3}, {0.5, 0.5, 0.1}, {0.3, 0, 0.3}}, outside[][3] = {{0.9, 0, 0.2}},
               touching[][3] = {{0.75, 0, 0.25}}, close[][3] = {{0, 0, 0.2}, {0.41, 0, 0.2}},
               wall[][3] = {{0, 0.79, 0.2}}, small[][3] = {{0, 0, 0.001}}, negative[][3] = {{0, 0, -1}},
               nan_hole[][3] = {{NAN, 0, 0.1}};
  const gen_planar good = {.half = 1, .h_near = 0.05, .h_far = 0.2, .near = 0.05, .far = 0.5};
  gen_planar p;
  cx *c;
#define REFUSE(text, ...)                                                                                              \
  do {                                                                                                                 \
    p = good;                                                                                                          \
    __VA_ARGS__;                                                                                                       \
    assert_refused(cx_planar(&c, &p), text);                                                                           \
    assert_null(c);                                                                                                    \
  } while (0)
  REFUSE("holes 1 and 3 overlap or touch", p.holes = 3, p.hole = overlap);
  REFUSE("hole 1: centre (0.9, 0), radius 0.2: it leaves or touches the square", p.holes = 1, p.hole = outside);
  REFUSE("hole 1: centre (0.75, 0), radius 0.25: it leaves or touches", p.holes = 1, p.hole = touching);
  REFUSE("holes 1 and 2 are 0.01 apart, expected at least h_near = 0.05", p.holes = 2, p.hole = close);
  REFUSE("hole 1 is 0.01 from the side of the square", p.holes = 1, p.hole = wall);
  REFUSE("hole 1: radius 0.001 is too small for h_near = 0.05", p.holes = 1, p.hole = small);
  REFUSE("hole 1: centre (0, 0), radius -1", p.holes = 1, p.hole = negative);
  REFUSE("hole 1: centre (nan, 0)", p.holes = 1, p.hole = nan_hole);
  REFUSE("holes: found -1", p.holes = -1);
  REFUSE("half width of the square: found 0", p.half = 0);
  REFUSE("sizes: h_near = 0, h_far = 0.2", p.h_near = 0);
  REFUSE("sizes: h_near = 0.05, h_far = 0.01", p.h_far = 0.01);
  REFUSE("sizes: h_near = 0.05, h_far = 7", p.h_far = 7);
  REFUSE("distances: near = 0.6, far = 0.5", p.near = 0.6);
  REFUSE("interior vertices: found -3", p.interior = -3);
  REFUSE("interior vertices: found 6000000", p.interior = 6000000);
  REFUSE("ask for", p.h_near = p.h_far = 1e-5);
  REFUSE("expected at most 5000000", p.h_near = p.h_far = 1e-12);
}

/* Distance to the smooth torus of radii 1 and 0.4. */
static double off_torus(const double *x) {
  return fabs(hypot(hypot(x[0], x[1]) - 1, x[2]) - 0.4);
}

static void assert_outward(const cx *c) {
  for (int64_t f = 0; f < c->n[2]; f++) {
    const double *p = c->x + 3 * c->vert[2][3 * f], *q = c->x + 3 * c->vert[2][3 * f + 1],
                 *s = c->x + 3 * c->vert[2][3 * f + 2];
    double u[3], v[3], g[3];
    for (int j = 0; j < 3; j++) {
      u[j] = q[j] - p[j];
      v[j] = s[j] - p[j];
      g[j] = (p[j] + q[j] + s[j]) / 3;
    }
    double ring = hypot(g[0], g[1]), out[3] = {g[0] - g[0] / ring, g[1] - g[1] / ring, g[2]};
    assert_true(out[0] * (u[1] * v[2] - u[2] * v[1]) + out[1] * (u[2] * v[0] - u[0] * v[2]) +
                    out[2] * (u[0] * v[1] - u[1] * v[0]) >
                0);
  }
}

static void torus_main(void **state) {
  (void)state;
  cx *c, *again;
  cx_quality q;
  int32_t seen = 0;
  int64_t regular = 0;
  assert_ok(cx_torus(&c, "main"));
  assert_counts(c, 2499, 7497, 4998, 0);
  assert_ok(cx_check(c));
  assert_ok(cx_measure(c, &q));
  assert_int_equal(q.boundary_faces, 0);
  assert_int_equal(q.nonmanifold_faces, 0);
  assert_int_equal(q.oriented, 1);
  assert_int_equal(q.components, 1);
  assert_true(q.min_angle > 20);
  assert_near(q.total, 4 * M_PI * M_PI * 0.4, 0.03);
  assert_outward(c);
  for (int64_t i = 0; i < c->n[0]; i++) {
    int64_t valence = c->coptr[0][i + 1] - c->coptr[0][i];
    assert_true(off_torus(c->x + 3 * i) < 1e-14);
    assert_in_range(valence, 4, 9);
    regular += valence == 6;
  }
  assert_true(regular < 2300);                /* it is irregular */
  for (int64_t p = 0; p < 3 * c->n[2]; p++) { /* vertices by first appearance */
    assert_true(c->vert[2][p] <= seen);
    seen += c->vert[2][p] == seen;
  }
  assert_ok(cx_torus(&again, "main"));
  assert_same_bits(c, again);
  cx_free(again);
  cx_free(c);
}

static void torus_grids(void **state) {
  (void)state;
  cx *c;
  cx_quality q;
  const int64_t betti[] = {1, 2, 1};
  assert_ok(cx_torus(&c, "smoke"));
  assert_counts(c, 240, 720, 480, 0);
  assert_ok(cx_check(c));
  assert_betti(c, betti);
  assert_outward(c);
  cx_free(c);
  assert_ok(cx_torus_grid(&c, 1, 0.4, 3, 3, 0));
  assert_counts(c, 9, 27, 18, 0);
  assert_ok(cx_check(c));
  assert_betti(c, betti);
  cx_free(c);
  assert_ok(cx_torus_grid(&c, 1, 0.4, 79, 39, 0));
  assert_counts(c, 3081, 9243, 6162, 0);
  const double *x = c->x; /* vertices by appearance: (0,0), (1,1), (1,0) */
  assert_near(x[0], 0, 0);
  assert_near(x[1], 1.4, 1e-15);
  assert_near(x[6], 1.4 * sin(2 * M_PI / 79), 1e-15);
  assert_near(x[7], 1.4 * cos(2 * M_PI / 79), 1e-15);
  assert_near(x[5], 0.4 * sin(2 * M_PI / 39), 1e-15);
  assert_outward(c);
  cx_free(c);
  assert_ok(cx_torus_grid(&c, 1, 0.4, 500, 334, 0)); /* a million simplices */
  assert_counts(c, 167000, 501000, 334000, 0);
  assert_ok(cx_measure(c, &q));
  assert_near(q.total, 4 * M_PI * M_PI * 0.4, 1e-3);
  cx_free(c);
  assert_refused(cx_torus(&c, "large"), "torus: resolution \"large\"");
  assert_refused(cx_torus_grid(&c, 1, 1, 9, 9, 0), "torus: radii 1 and 1, expected major > minor > 0");
  assert_refused(cx_torus_grid(&c, 1, 0.4, 2, 9, 0), "torus: grid 2 × 9");
  assert_refused(cx_torus_grid(&c, 1, 0.4, 100000, 100000, 0), "torus: grid 100000 × 100000");
  assert_refused(cx_torus_grid(&c, 1, 0.4, 9, 9, -1), "torus: -1 collapses, expected 0 … 72");
  assert_refused(cx_torus_grid(&c, 1, 0.4, 9, 9, 72), "of 72 edge collapses keep a sound mesh");
  assert_null(c);
}

static void cavity_main(void **state) {
  (void)state;
  static const struct {
    int node;
    double x[3];
  } check[] = {{0, {-1.2663819605862647, -0.78303102816184911, 0.099025726528951363}},
               {2534, {-0.5430884754151557, -1.3255727748419428, 1.0293671226902052}},
               {2535, {-0.33572174951365635, -0.33214485987602033, 0.060273077389864475}},
               {2776, {-1.665206322216702, 0.56728496564025777, -0.19571739740758218}},
               {3016, {0.011507048008233364, -0.065217645732086035, 1.7220806798152248}}};
  cx *c;
  cx_quality q;
  int64_t layer[3] = {0}, outer = 0, two = 0, most = 0, degree_min = 1000, degree_max = 0;
  double area = 0, smallest = 1;
  assert_ok(cx_cavity(&c, "main"));
  assert_counts(c, 3017, 22344, 38339, 19010);
  for (size_t i = 0; i < sizeof check / sizeof *check; i++) {
    for (int j = 0; j < 3; j++) assert_near(c->x[3 * check[i].node + j], check[i].x[j], 4e-16);
  }
  assert_ok(cx_check(c));
  assert_ok(cx_measure(c, &q));
  assert_int_equal(q.boundary_faces, 638);
  assert_int_equal(q.nonmanifold_faces, 0);
  assert_int_equal(q.oriented, 1);
  assert_int_equal(q.components, 1);
  assert_near(q.total, 23.685, 5e-4);
  assert_near(q.edge_mean, 0.2734, 5e-5);
  assert_near(q.edge_min, 0.0052, 5e-5);
  assert_near(q.edge_max, 1.037, 5e-4);
  for (int64_t i = 0; i < c->n[0]; i++) {
    int64_t degree = c->coptr[0][i + 1] - c->coptr[0][i];
    layer[c->label[0][i]]++;
    degree_min = degree < degree_min ? degree : degree_min;
    degree_max = degree > degree_max ? degree : degree_max;
  }
  assert_int_equal(layer[1], 263);
  assert_int_equal(layer[2], 1168);
  assert_int_equal(degree_min, 5);
  assert_int_equal(degree_max, 31);
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t faces = c->coptr[1][e + 1] - c->coptr[1][e];
    two += faces == 2;
    most = faces > most ? faces : most;
  }
  assert_int_equal(two, 79);
  assert_int_equal(most, 13);
  for (int64_t f = 0; f < c->n[2]; f++) {
    const double *x = c->x + 3 * c->vert[2][3 * f];
    area += c->measure[2][f];
    outer += c->on_boundary[2][f] && sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) > 1;
  }
  assert_int_equal(outer, 530);
  assert_near(area, 1023.26, 5e-3);
  for (int64_t i = 0; i < c->n[3]; i++) smallest = fmin(smallest, c->measure[3][i]);
  assert_near(smallest, 5.3e-8, 5e-10);
  cx_free(c);
}

static void cavity_smoke(void **state) {
  (void)state;
  cx *c, *again;
  assert_ok(cx_cavity(&c, "smoke"));
  assert_ok(cx_check(c));
  assert_betti(c, (const int64_t[]){1, 0, 1, 0});
  assert_ok(cx_cavity(&again, "smoke"));
  assert_same_bits(c, again);
  cx_free(again);
  cx_free(c);
  assert_refused(cx_cavity(&c, ""), "cavity: resolution \"\"");
  assert_refused(cx_shell(&c, 99), "shell: target of 99 points, expected 100");
}

static dkho_status small_planar(cx **out) {
  static const double hole[1][3] = {{0, 0, 0.5}};
  gen_planar p = {.half = 1, .holes = 1, .hole = hole, .h_near = 0.3, .h_far = 0.4, .near = 0.1, .far = 0.5};
  return cx_planar(out, &p);
}

static dkho_status small_torus(cx **out) {
  return cx_torus_grid(out, 1, 0.4, 12, 6, 6);
}

static dkho_status small_shell(cx **out) {
  return cx_shell(out, 100);
}

static double area(const double *x, const int32_t *v) {
  const double *a = x + 2 * v[0], *b = x + 2 * v[1], *c = x + 2 * v[2];
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/* Whether point p lies outside the circle of a triangle, but for rounding. */
static int outside(const double *x, const int32_t *v, int32_t p) {
  double m[3][3], det;
  for (int i = 0; i < 3; i++) {
    m[i][0] = x[2 * v[i]] - x[2 * p], m[i][1] = x[2 * v[i] + 1] - x[2 * p + 1];
    m[i][2] = m[i][0] * m[i][0] + m[i][1] * m[i][1];
  }
  det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
        m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  return det <= 1e-12;
}

/* The sides that two triangles share know each other, also after points have moved and sides were flipped; without twins nothing would
 * be flipped. */
static void twins(void **state) {
  (void)state;
  enum { SIDE = 8, BOUNDARY = 4 * SIDE, INSIDE = 150 };
  gen_planar g = {.half = 1, .h_near = 0.2, .h_far = 0.2, .near = 0.1, .far = 0.5};
  double x[2 * (BOUNDARY + INSIDE)];
  int32_t label[BOUNDARY];
  rng r = rng_open(5, RNG_TEST, 0);
  for (int i = 0; i < BOUNDARY; i++) {
    double t = -1 + 2.0 * (i % SIDE) / SIDE;
    const double corner[4][2] = {{t, -1}, {1, t}, {-t, 1}, {-1, -t}};
    x[2 * i] = corner[i / SIDE][0], x[2 * i + 1] = corner[i / SIDE][1];
    label[i] = 1;
  }
  for (int i = 2 * BOUNDARY; i < 2 * (BOUNDARY + INSIDE); i++) x[i] = rng_range(&r, -0.95, 0.95);
  planar m = {.p = &g, .boundary = BOUNDARY, .interior = INSIDE, .room = BOUNDARY + INSIDE, .x = x, .label = label};
  assert_ok(planar_triangulate(&m));
  for (int turn = 0; turn < 6; turn++) {
    int64_t shared = 0;
    assert_int_equal(m.triangles, 2 * (BOUNDARY + INSIDE) - BOUNDARY - 2); /* Euler */
    for (int64_t h = 0; h < 3 * m.triangles; h++) {
      const int32_t *v = m.tri + h / 3 * 3;
      int32_t a = v[(h + 1) % 3], b = v[(h + 2) % 3], other = m.twin[h]; /* 3·t + j is j mod 3 */
      if (other < 0) {
        assert_true(a < BOUNDARY && b < BOUNDARY);
        continue;
      }
      const int32_t *u = m.tri + other / 3 * 3;
      assert_int_equal(m.twin[other], h);
      assert_true(u[(other + 1) % 3] == b && u[(other + 2) % 3] == a);
      shared++;
    }
    assert_int_equal(shared, 3 * m.triangles - BOUNDARY);
    /* points move a little, which leaves every triangle standing: then the flips must find Delaunay's again */
    for (int i = 2 * BOUNDARY; i < 2 * (BOUNDARY + INSIDE); i++) {
      double old = x[i];
      x[i] += rng_range(&r, -0.02, 0.02);
      for (int64_t t = 0; t < m.triangles; t++)
        if (area(x, m.tri + 3 * t) < 1e-6) x[i] = old;
    }
    planar_flip(&m);
    for (int64_t t = 0; t < m.triangles; t++)
      for (int j = 0; j < 3; j++)
        if (m.twin[3 * t + j] >= 0)
          assert_true(outside(x, m.tri + 3 * t, m.tri[m.twin[3 * t + j] / 3 * 3 + m.twin[3 * t + j] % 3]));
  }
  mem_free(m.tri);
  mem_free(m.twin);
}

static void failing_memory(void **state) {
  (void)state;
  dkho_status (*const make[])(cx **) = {small_planar, small_torus, small_shell};
  size_t live = mem_live_blocks();
  for (int i = 0; i < 3; i++) {
    dkho_status s = DKHO_E_MEMORY;
    int64_t n = 0;
    while (s != DKHO_OK) {
      cx *c;
      mem_fail_at(++n);
      s = make[i](&c);
      mem_fail_at(0);
      if (s != DKHO_OK && (s != DKHO_E_MEMORY || c)) fail_msg("allocation %lld: %s", (long long)n, fail_text());
      cx_free(c);
      assert_int_equal(mem_live_blocks(), live);
    }
    assert_true(n > 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(delaunay_property), cmocka_unit_test(delaunay_of_grids), cmocka_unit_test(delaunay_refusals),
      cmocka_unit_test(darcy_main),        cmocka_unit_test(darcy_smoke),       cmocka_unit_test(other_planar_domains),
      cmocka_unit_test(planar_refusals),   cmocka_unit_test(torus_main),        cmocka_unit_test(torus_grids),
      cmocka_unit_test(cavity_main),       cmocka_unit_test(cavity_smoke),      cmocka_unit_test(twins),
      cmocka_unit_test(failing_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
