/* test_static.c: geometric arrays by their properties. */
#include "scratch.h"

#include "feature_tables.h"

#include <math.h>

static void test_standardise(void **state) {
  (void)state;
  double v[60];
  rng r = rng_open(1, RNG_TEST, 0);
  for (int i = 0; i < 60; i++) v[i] = i % 3 == 2 ? 4 : 100 + 7 * rng_normal(&r);
  static_standardise(20, 3, v);
  for (int q = 0; q < 3; q++) {
    double mean = 0, square = 0;
    for (int i = 0; i < 20; i++) mean += v[3 * i + q] / 20, square += v[3 * i + q] * v[3 * i + q] / 20;
    assert_true(fabs(mean) < 1e-12);
    assert_true(fabs(square - (q < 2)) < 1e-6); /* a constant column becomes 0 */
  }
}

static void test_directions(void **state) {
  (void)state;
  cx *c;
  assert_int_equal(cx_torus_grid(&c, 1, 0.4, 20, 12, 0), DKHO_OK);
  double *t = NULL, *n = NULL, flux[3] = {0};
  assert_true(MEM_NEW(t, 3 * c->n[1]) && MEM_NEW(n, 3 * c->n[2]));
  static_tangents(c, t), static_normals(c, n);
  for (int64_t e = 0; e < c->n[1]; e++) {
    double length = 0;
    for (int j = 0; j < 3; j++) {
      double step = c->x[3 * c->vert[1][2 * e + 1] + j] - c->x[3 * c->vert[1][2 * e] + j];
      length += t[3 * e + j] * t[3 * e + j];
      assert_true(fabs(step - c->measure[1][e] * t[3 * e + j]) < 1e-14);
    }
    assert_true(fabs(length - 1) < 1e-13);
  }
  for (int64_t f = 0; f < c->n[2]; f++) {
    for (int j = 0; j < 3; j++) { /* orthogonal to its edges, and closed as a whole */
      int64_t e = c->face[2][3 * f + j];
      double dot = 0;
      for (int q = 0; q < 3; q++) dot += n[3 * f + q] * t[3 * e + q];
      assert_true(fabs(dot) < 1e-13);
      flux[j] += c->measure[2][f] * n[3 * f + j];
    }
    assert_true(fabs(n[3 * f] * n[3 * f] + n[3 * f + 1] * n[3 * f + 1] + n[3 * f + 2] * n[3 * f + 2] - 1) < 1e-12);
  }
  for (int j = 0; j < 3; j++) assert_true(fabs(flux[j]) < 1e-12);
  mem_free(t), mem_free(n), cx_free(c);
}

/* Means leave constants alone, and the integral of a linear function by lumped weights is exact on a square. */
static void test_means(void **state) {
  (void)state;
  cx *all[] = {square(4), tetrahedra()};
  for (int i = 0; i < 2; i++) {
    const cx *c = all[i];
    double one[128], out[256], w[64], total = 0, moment = 0;
    for (int j = 0; j < 128; j++) one[j] = 3;
    for (int k = 1; k <= c->dim; k++) {
      static_vertex_mean(c, k, 2, one, out);
      for (int64_t j = 0; j < 2 * c->n[k]; j++) assert_true(fabs(out[j] - 3) < 1e-14);
      assert_int_equal(static_mean_to_vertices(c, k, 1, one, out), DKHO_OK);
      for (int64_t j = 0; j < c->n[0]; j++) assert_true(fabs(out[j] - 3) < 1e-14);
      static_mean_of_cofaces(c, k - 1, 1, one, out);
      for (int64_t j = 0; j < c->n[k - 1]; j++) assert_true(fabs(out[j] - 3) < 1e-14);
    }
    static_lumped(c, w);
    for (int64_t j = 0; j < c->n[0]; j++) total += w[j], moment += w[j] * c->x[c->gdim * j];
    double measure = 0;
    for (int64_t j = 0; j < c->n[c->dim]; j++) measure += c->measure[c->dim][j];
    assert_true(fabs(total - measure) < 1e-13);
    if (i == 0) assert_true(fabs(moment - 0.5) < 1e-13);
  }
  /* two faces at an inner edge: the mean of their numbers */
  const cx *c = all[0];
  double number[64], out[64];
  for (int64_t j = 0; j < c->n[2]; j++) number[j] = (double)(j * j);
  static_mean_of_cofaces(c, 1, 1, number, out);
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t p = c->coptr[1][e], n = c->coptr[1][e + 1] - p;
    double first = number[c->coface[1][p]], last = number[c->coface[1][p + n - 1]];
    assert_true(out[e] == (first + last) / 2);
  }
  cx_free(all[0]), cx_free(all[1]);
}

static void test_labels(void **state) {
  (void)state;
  cx *c = square(3);
  static const char *const names[] = {"interior", "low", "high"};
  int32_t label[16];
  double hot[48], distance[16];
  uint8_t mask[16];
  for (int i = 0; i < 16; i++) label[i] = i < 4 ? 1 : i >= 12 ? 2 : 0, mask[i] = i < 4;
  assert_int_equal(cx_name_labels(c, 3, names), DKHO_OK);
  assert_int_equal(cx_set_labels(c, 0, label), DKHO_OK);
  static_onehot(c, 0, hot);
  for (int i = 0; i < 16; i++)
    for (int q = 0; q < 3; q++) assert_true(hot[3 * i + q] == (label[i] == q));
  static_distance(c, mask, static_diagonal(c), distance);
  for (int i = 0; i < 16; i++) assert_true(fabs(distance[i] - i / 4 / 3.0 / sqrt(2)) < 1e-14);
  cx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_standardise), cmocka_unit_test(test_directions),
                                     cmocka_unit_test(test_means), cmocka_unit_test(test_labels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
