/* test_stars.c: circumcentric stars against cotangents, totals and replacements, and the order at which the 0-Laplacian
 * of the Hodge metric converges. */
#include "dec/dec.h"
#include "zoo.h"

#include <stdio.h>

static dec *hodge(const cx *c) {
  dec *d;
  if (dec_create(&d, c, DEC_HODGE) != DKHO_OK) fail_msg("%s", fail_text());
  return d;
}

static int64_t replaced(const dec *d) {
  return d->replaced[0] + d->replaced[1] + d->replaced[2] + d->replaced[3];
}

static double cotangent(const cx *c, int64_t t, int32_t a, int32_t b) { /* of the angle opposite edge ab */
  const int32_t *v = c->vert[2] + 3 * t;
  int32_t o = v[0] != a && v[0] != b ? v[0] : v[1] != a && v[1] != b ? v[1] : v[2];
  double p[3] = {0}, q[3] = {0};
  for (int j = 0; j < c->gdim; j++) {
    p[j] = c->x[a * c->gdim + j] - c->x[o * c->gdim + j];
    q[j] = c->x[b * c->gdim + j] - c->x[o * c->gdim + j];
  }
  double x = p[1] * q[2] - p[2] * q[1], y = p[2] * q[0] - p[0] * q[2], z = p[0] * q[1] - p[1] * q[0];
  return (p[0] * q[0] + p[1] * q[1] + p[2] * q[2]) / sqrt(x * x + y * y + z * z);
}

/* Edge stars are half the sum of cotangents where that is positive, barycentric where it is not; both occur. */
static void edge_stars_are_cotangents(void **state) {
  (void)state;
  cx *shapes[] = {shape_planar(8, 7, 0, NULL, 0.3), shape_torus(12, 9), shape_sphere(4)};
  int64_t counted = 0;
  for (int t = 0; t < 3; t++) {
    const cx *c = shapes[t];
    dec *d = hodge(c);
    int64_t negative = 0;
    for (int64_t e = 0; e < c->n[1]; e++) {
      double sum = 0, plain = c->dual[1][e] / c->measure[1][e];
      for (int64_t p = c->coptr[1][e]; p < c->coptr[1][e + 1]; p++)
        sum += cotangent(c, c->coface[1][p], c->vert[1][2 * e], c->vert[1][2 * e + 1]) / 2;
      negative += sum < 1e-3 * plain;
      assert_true(fabs(d->star[1][e] - (sum < 1e-3 * plain ? plain : sum)) < 1e-12);
    }
    assert_int_equal(d->replaced[1], negative);
    counted += negative;
    dec_free(d);
    cx_free(shapes[t]);
  }
  assert_true(counted > 0);
}

/* Σ |s|·|*s| over the simplices of degree k is binom(dim, k) times the total measure; |s|·|*s| = M_k |s|² / t^(dim-2k),
 * where t is the scale. */
static void check_totals(const cx *c) {
  static const double binom[4][4] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}};
  dec *d = hodge(c);
  assert_int_equal(replaced(d), 0);
  double total = 0, edges = 0;
  for (int64_t i = 0; i < c->n[c->dim]; i++) total += c->measure[c->dim][i];
  for (int64_t i = 0; i < c->n[1]; i++) edges += c->measure[1][i];
  assert_true(fabs(d->scale * edges / (double)c->n[1] - 1) < 1e-13);
  for (int k = 0; k <= c->dim; k++) {
    double sum = 0;
    for (int64_t i = 0; i < c->n[k]; i++)
      sum += d->star[k][i] * (k ? c->measure[k][i] * c->measure[k][i] : 1) / pow(d->scale, c->dim - 2 * k);
    assert_true(fabs(sum / (binom[c->dim][k] * total) - 1) < 1e-12);
  }
  dec_free(d);
}

/* A row-wise lattice of equilateral triangles on [0,1] × [0, √3/2]; the rows' ends are right triangles, whose circumcentre
 * lies on the hypotenuse, so every star is positive. n columns and n rows, n even. */
static cx *equilateral(int n) {
  shape s = shape_new(2, 2);
  double w = 1.0 / n, h = sqrt(3.0) / 2 / n;
  int32_t *row[2] = {malloc((size_t)(n + 2) * sizeof(int32_t)), malloc((size_t)(n + 2) * sizeof(int32_t))};
  for (int y = 0; y <= n; y++) {
    int32_t *now = row[y % 2], *before = row[(y + 1) % 2];
    int odd = y % 2, count = n + 1 + odd; /* odd rows: 0, ½, 1½, …, n */
    for (int i = 0; i < count; i++) now[i] = shape_vertex(&s, fmin(fmax((i - 0.5 * odd) * w, 0), 1), y * h, 0);
    int32_t *wide = odd ? now : before, *narrow = odd ? before : now; /* n + 2 and n + 1 points */
    for (int i = 0; y && i <= n; i++) {
      shape_top(&s, wide[i], wide[i + 1], narrow[i], 0);
      if (i < n) shape_top(&s, narrow[i], narrow[i + 1], wide[i + 1], 0);
    }
  }
  free(row[0]);
  free(row[1]);
  return shape_finish(&s);
}

/* Torus of revolution by rows shifted half a step against each other: acute triangles for radii 2 and ½. */
/* Rows of nu vertices, each row half a step on from the last, closed both ways. */
static void staggered_tops(shape *s, int nv, int nu) {
  for (int j = 0; j < nv; j++)
    for (int i = 0; i < nu; i++) {
      int j1 = (j + 1) % nv, i1 = (i + 1) % nu, shift = j % 2;
      int32_t a = (int32_t)(j * nu + i), b = (int32_t)(j * nu + i1);
      int32_t p = (int32_t)(j1 * nu + (shift ? i1 : i)), q = (int32_t)(j1 * nu + (shift ? i : (i + nu - 1) % nu));
      shape_top(s, a, b, p, 0);
      shape_top(s, a, p, q, 0);
    }
}

static cx *staggered_torus(int nv) {
  int nu = 3 * nv;
  shape s = shape_new(3, 2);
  for (int j = 0; j < nv; j++)
    for (int i = 0; i < nu; i++) {
      double u = 2 * SHAPE_PI * (i + 0.5 * (j % 2)) / nu, v = 2 * SHAPE_PI * j / nv, w = 2 + 0.5 * cos(v);
      shape_vertex(&s, w * cos(u), w * sin(u), 0.5 * sin(v));
    }
  staggered_tops(&s, nv, nu);
  return shape_finish(&s);
}

/* A flat torus of circumferences 3 and 3·√3/2, nv even. Equilateral triangles wound into an antiprism tube, which is flat at every
 * vertex; the second half of the rows runs back over the first. Lengths are all that the stars see. */
static cx *flat_torus(int nv) {
  double side = 3.0 / nv, radius = side / (2 * sin(SHAPE_PI / nv)), skew = 2 * radius * sin(SHAPE_PI / (2 * nv));
  double rise = sqrt(side * side - skew * skew);
  shape s = shape_new(3, 2);
  for (int j = 0; j < nv; j++)
    for (int i = 0; i < nv; i++) {
      double u = 2 * SHAPE_PI * (i + 0.5 * (j % 2)) / nv;
      shape_vertex(&s, radius * cos(u), radius * sin(u), rise * (j < nv - j ? j : nv - j));
    }
  staggered_tops(&s, nv, nv);
  return shape_finish(&s);
}

static cx *icosahedral_ball(void) { /* the icosahedron coned to its centre: twenty well-centred tetrahedra */
  cx *skin = shape_sphere(1);
  shape s = shape_new(3, 3);
  for (int64_t v = 0; v < skin->n[0]; v++) shape_vertex(&s, skin->x[3 * v], skin->x[3 * v + 1], skin->x[3 * v + 2]);
  int32_t o = shape_vertex(&s, 0, 0, 0);
  for (int64_t t = 0; t < skin->n[2]; t++)
    shape_top(&s, o, skin->vert[2][3 * t], skin->vert[2][3 * t + 1], skin->vert[2][3 * t + 2]);
  cx_free(skin);
  return shape_finish(&s);
}

static void totals_are_area_and_volume(void **state) {
  (void)state;
  cx *shapes[] = {equilateral(6), shape_sphere(5), staggered_torus(10), icosahedral_ball(), zoo_theta()};
  for (int i = 0; i < 5; i++) {
    check_totals(shapes[i]);
    cx_free(shapes[i]);
  }
}

static void stars_do_not_see_units(void **state) {
  (void)state;
  cx *a = shape_cubes(2, 2, 2, zoo_all, 0.15), *b;
  double *x = mem_alloc((size_t)(3 * a->n[0]), sizeof *x);
  for (int64_t i = 0; i < 3 * a->n[0]; i++) x[i] = 37 * a->x[i];
  assert_int_equal(cx_build(&b, 3, a->n[0], x, 3, a->n[3], a->vert[3], CX_APPEARANCE), DKHO_OK);
  dec *da = hodge(a), *db = hodge(b);
  assert_true(replaced(da) > 0 && replaced(da) == replaced(db));
  for (int k = 0; k <= 3; k++)
    for (int64_t i = 0; i < a->n[k]; i++) assert_true(fabs(da->star[k][i] / db->star[k][i] - 1) < 1e-12);
  dec_free(da);
  dec_free(db);
  cx_free(a);
  cx_free(b);
  mem_free(x);
}

/* Eigenvalues of degree 0 in the mesh's own units against `count` exact ones; returns the largest relative error. */
static double spectral_error(cx *c, int count, const double *exact) {
  dec *d = hodge(c);
  assert_int_equal(replaced(d), 0);
  dec_basis b[1];
  if (dec_spectrum(d, 0, count, b) != DKHO_OK) fail_msg("%s", fail_text());
  assert_int_equal(b[0].count, count);
  double worst = 0;
  for (int j = 0; j < count; j++) worst = fmax(worst, fabs(b[0].lambda[j] * d->scale * d->scale / exact[j] - 1));
  dec_basis_free(b);
  dec_free(d);
  cx_free(c);
  return worst;
}

static void check_order(const char *name, double coarse, double fine) {
  double order = log2(coarse / fine);
  printf("%s: error %.2e, then %.2e with half the edge: order %.2f\n", name, coarse, fine, order);
  assert_true(fabs(order - 2) <= 0.2);
}

static void rectangle_converges(void **state) {
  (void)state;
  double p = SHAPE_PI * SHAPE_PI, q = p / 0.75; /* height² = 3/4 */
  double exact[6] = {p, q, p + q, 4 * p, 4 * p + q, 4 * q};
  check_order("rectangle", spectral_error(equilateral(12), 6, exact), spectral_error(equilateral(24), 6, exact));
}

static void sphere_converges(void **state) {
  (void)state;
  double exact[8] = {2, 2, 2, 6, 6, 6, 6, 6};
  check_order("sphere", spectral_error(shape_sphere(6), 8, exact), spectral_error(shape_sphere(12), 8, exact));
}

/* Torus of revolution, W = 2 + ½cos v: f(v)e^{imu} has -(W f')'/(r²W) + m²f/W² = λf. Galerkin for g = f√W in cosines and
 * sines, which makes the mass matrix the identity; the periodic trapezoidal rule is spectrally accurate. */
static void torus_reference(int m, double *lambda, int count) {
  enum { HALF = 16, N = 2 * HALF + 1, POINTS = 256 };
  static double a[N * N], all[N];
  memset(a, 0, sizeof a);
  for (int p = 0; p < POINTS; p++) {
    double v = 2 * SHAPE_PI * p / POINTS, w = 2 + 0.5 * cos(v), dw = -0.5 * sin(v), f[N], df[N];
    for (int i = 0; i < N; i++) {
      int k = (i + 1) / 2, odd = i % 2; /* 1, cos v, sin v, cos 2v, … */
      double scale = k ? sqrt(1 / SHAPE_PI) : sqrt(0.5 / SHAPE_PI), g = odd || !k ? cos(k * v) : sin(k * v);
      double dg = odd || !k ? -k * sin(k * v) : k * cos(k * v);
      f[i] = scale * g / sqrt(w);
      df[i] = scale * (dg / sqrt(w) - g * dw / (2 * w * sqrt(w)));
    }
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        a[i * N + j] += 2 * SHAPE_PI / POINTS * (w * df[i] * df[j] / 0.25 + m * m * f[i] * f[j] / w);
  }
  assert_int_equal(dense_eig(N, a, all), DKHO_OK);
  memcpy(lambda, all, (size_t)count * sizeof *lambda);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void torus_converges(void **state) {
  (void)state;
  double all[60], one[4];
  int put = 0;
  for (int m = 0; m <= 8; m++) {
    torus_reference(m, one, 3);
    for (int j = 0; j < 3; j++)
      for (int copy = 0; copy < (m ? 2 : 1); copy++) all[put++] = one[j];
  }
  qsort(all, (size_t)put, sizeof *all, ascending);
  assert_true(fabs(all[0]) < 1e-12); /* constants */
  check_order("torus", spectral_error(staggered_torus(12), 8, all + 1),
              spectral_error(staggered_torus(24), 8, all + 1));
}

/* 4π²(p²/A² + q²/B²) */
static void flat_torus_converges(void **state) {
  (void)state;
  double all[25], a = 3, b = 3 * sqrt(3) / 2;
  int put = 0;
  for (int p = -2; p <= 2; p++)
    for (int q = -2; q <= 2; q++) all[put++] = 4 * SHAPE_PI * SHAPE_PI * (p * p / (a * a) + q * q / (b * b));
  qsort(all, (size_t)put, sizeof *all, ascending);
  check_order("flat torus", spectral_error(flat_torus(12), 8, all + 1), spectral_error(flat_torus(24), 8, all + 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edge_stars_are_cotangents), cmocka_unit_test(totals_are_area_and_volume),
      cmocka_unit_test(stars_do_not_see_units),    cmocka_unit_test(rectangle_converges),
      cmocka_unit_test(sphere_converges),          cmocka_unit_test(torus_converges),
      cmocka_unit_test(flat_torus_converges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
