/* test_problem_magnetostatics.c: a uniform field, the field of a flux alone, and what every sample keeps: no sources of B, and its flux. */
#include "problems.h"

#include "mesh/vec3.h"

enum { LOGMU, SOURCE, TOTAL, FIELD };

/* A uniform T = c in a uniform material: B = c, which the elements hold exactly. The flux of c through a face is its area vector times c. */
static void test_uniform(void **state) {
  (void)state;
  ready r = ready_make(&problem_magnetostatics, "smoke");
  static const double c[3] = {0.3, -0.7, 0.5};
  double *want = doubles(&r.mem, r.c->n[2]);
  for (int64_t i = 0; i < r.c->n[0]; i++) r.block[LOGMU][i] = log(2.5);
  for (int64_t e = 0; e < r.c->n[1]; e++) {
    const int32_t *v = r.c->vert[1] + 2 * e;
    r.block[SOURCE][e] = 0;
    for (int k = 0; k < 3; k++) r.block[SOURCE][e] += c[k] * (r.c->x[3 * v[1] + k] - r.c->x[3 * v[0] + k]) / 2.5;
  }
  r.block[TOTAL][0] = 0;
  for (int64_t f = 0; f < r.c->n[2]; f++) {
    double e[2][3], normal[3];
    for (int i = 0; i < 2; i++)
      for (int k = 0; k < 3; k++)
        e[i][k] = r.c->x[3 * r.c->vert[2][3 * f + i + 1] + k] - r.c->x[3 * r.c->vert[2][3 * f] + k];
    vec3_cross(e[0], e[1], normal);
    want[f] = vec3_dot(c, normal) / 2;
  }
  assert_ok(r.p->solve_one(r.s, r.work, r.block));
  assert_between(relative_distance(r.c->n[2], r.block[FIELD], want), 0, 1e-10);
  ready_free(&r);
}

/* A flux and nothing else, in any material that depends on the radius alone: B = Φ r/4πr³, first order. */
static double radial_error(const char *resolution) {
  ready r = ready_make(&problem_magnetostatics, resolution);
  double *want = ready_static(&r, "radial");
  for (int64_t i = 0; i < r.c->n[0]; i++) {
    const double *x = r.c->x + 3 * i;
    r.block[LOGMU][i] = 0.5 * sin(2 * sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]));
  }
  r.block[TOTAL][0] = 3;
  assert_ok(r.p->solve_one(r.s, r.work, r.block));
  for (int64_t f = 0; f < r.c->n[2]; f++) want[f] *= 3;
  double error = relative_distance(r.c->n[2], r.block[FIELD], want);
  ready_free(&r);
  return error;
}

static void test_radial(void **state) {
  (void)state;
  double coarse = radial_error("smoke");
  assert_between(coarse, 0, 0.35);
  if (SLOW) return;
  double fine = radial_error("main");
  if (!(fine < 0.6 * coarse)) fail_msg("error %g on the coarse mesh, %g on the fine one", coarse, fine);
}

static const double *corner_of(const cx *c, int64_t f) {
  return c->x + 3 * (int64_t)c->vert[2][3 * f];
}

/* 1 where the orientation of a boundary face points into the domain, -1 where it points out of it. */
static int points_inside(const cx *c, int64_t f) {
  const int32_t *v = c->vert[2] + 3 * f, *t = c->vert[3] + 4 * (int64_t)c->coface[2][c->coptr[2][f]];
  double e[2][3], normal[3], inside[3] = {0, 0, 0};
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 2; i++) e[i][k] = c->x[3 * v[i + 1] + k] - c->x[3 * v[0] + k];
    for (int i = 0; i < 4; i++) inside[k] += c->x[3 * t[i] + k] - c->x[3 * v[0] + k];
  }
  vec3_cross(e[0], e[1], normal);
  return vec3_dot(normal, inside) > 0 ? 1 : -1;
}

/* Every tetrahedron lets out what it lets in, the inner sphere its flux. */
static void test_closed(void **state) {
  (void)state;
  ready r = ready_make(&problem_magnetostatics, "smoke");
  double *sum = doubles(&r.mem, r.c->n[3]);
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    const double *field = r.block[FIELD] + k * r.c->n[2];
    double total = 0, size = sqrt(mean_square(r.c->n[2], field));
    cx_d(r.c, 2, 1, field, sum);
    for (int64_t t = 0; t < r.c->n[3]; t++) assert_between(sum[t] / size, -1e-10, 1e-10);
    for (int64_t f = 0; f < r.c->n[2]; f++)
      if (r.c->on_boundary[2][f] && vec3_dot(corner_of(r.c, f), corner_of(r.c, f)) < 1.2 * 1.2)
        total += points_inside(r.c, f) * field[f];
    assert_between(total - r.block[TOTAL][k], -1e-9, 1e-9);
    assert_between(fabs(r.block[TOTAL][k]), 0, 4);
  }
  ready_free(&r);
}

static void test_refused(void **state) {
  (void)state;
  ready r = ready_make(&problem_magnetostatics, "smoke");
  ready_group(&r, 0);
  r.block[LOGMU][3] = 60;
  assert_int_equal(r.p->solve_one(r.s, r.work, r.block), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "logmu at vertex 3"));
  r.block[LOGMU][3] = 0, r.block[TOTAL][0] = NAN;
  assert_int_equal(r.p->solve_one(r.s, r.work, r.block), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "flux"));
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_uniform), cmocka_unit_test(test_radial),
                                     cmocka_unit_test(test_closed), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
