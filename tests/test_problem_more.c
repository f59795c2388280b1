/* test_problem_more.c: widths of the input descriptors of every problem; the physics of heat flow and of reaction and diffusion. */
#include "torus_exact.h"

#include "mesh/generate.h"

typedef struct widths {
  const problem *p;
  feat_profile profile;
  int modes, width[3], summary;
} widths;
static const widths table[] = {
    {&problem_darcy, FEAT_NATIVE, 16, {12, 14, 12}, 6},       {&problem_darcy, FEAT_SPECTRAL, 16, {28, 30, 28}, 6},
    {&problem_darcy, FEAT_DIFFUSION, 16, {31, 33, 31}, 6},    {&problem_darcy, FEAT_SUMMARY, 16, {37, 39, 37}, 6},
    {&problem_torus, FEAT_NATIVE, 16, {7, 6, 10}, 12},        {&problem_torus, FEAT_SPECTRAL, 8, {15, 14, 18}, 12},
    {&problem_torus, FEAT_SPECTRAL, 16, {23, 22, 26}, 12},    {&problem_torus, FEAT_DIFFUSION, 16, {25, 22, 26}, 12},
    {&problem_torus, FEAT_SUMMARY, 8, {27, 24, 28}, 12},      {&problem_torus, FEAT_SUMMARY, 16, {35, 32, 36}, 12},
    {&problem_cavity, FEAT_NATIVE, 16, {5, 8, 8}, 4},         {&problem_cavity, FEAT_BOUNDARY, 16, {12, 15, 15}, 4},
    {&problem_cavity, FEAT_SPECTRAL, 16, {28, 31, 31}, 4},    {&problem_cavity, FEAT_DIFFUSION, 16, {32, 35, 35}, 4},
    {&problem_cavity, FEAT_SUMMARY, 16, {36, 39, 39}, 4},     {&problem_heat, FEAT_NATIVE, 16, {4, 9, 6}, 5},
    {&problem_heat, FEAT_SUMMARY, 16, {28, 33, 27}, 5},       {&problem_reaction, FEAT_NATIVE, 16, {4, 6, 6}, 3},
    {&problem_reaction, FEAT_SUMMARY, 16, {25, 25, 27}, 3},   {&problem_lamination, FEAT_NATIVE, 16, {4, 8, 7}, 5},
    {&problem_lamination, FEAT_SUMMARY, 16, {33, 32, 31}, 5}, {&problem_ironloss, FEAT_NATIVE, 16, {3, 12, 15}, 17},
    {&problem_wells, FEAT_NATIVE, 16, {9, 13, 6}, 5},         {&problem_flow, FEAT_NATIVE, 16, {10, 13, 6}, 8},
    {&problem_hts, FEAT_NATIVE, 16, {8, 13, 13}, 11},         {&problem_subsonic, FEAT_NATIVE, 16, {4, 14, 6}, 8},
};

static void test_widths(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const problem *p = table[i].p;
    int width[CX_DEGREES], summary;
    assert_ok(feat_widths(&p->table, p->dim, p->fields, p->field, table[i].profile, table[i].modes, width, &summary));
    for (int k = 0; k < 3; k++)
      if (width[k] != table[i].width[k])
        fail_msg("%s, %s, degree %d: %d columns, expected %d", p->name, feat_profile_name(table[i].profile), k,
                 width[k], table[i].width[k]);
    assert_int_equal(summary, table[i].summary);
  }
}

/* What networks on vertices read: natively the varying field, conditioned all that is known of it. */
static void test_reader_widths(void **state) {
  (void)state;
  static const struct {
    const problem *p;
    const char *reader;
    int native, conditioned;
  } expected[] = {{&problem_darcy, "vertex", 12, 37},
                  {&problem_darcy, "point", 12, 37},
                  {&problem_torus, "point", 1, 35},
                  {&problem_torus, "vertex", 4, 32},
                  {&problem_cavity, "point", 1, 32}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const problem *p = expected[i].p;
    int width[2][CX_DEGREES], common[CX_DEGREES], summary;
    for (int full = 0; full < 2; full++)
      assert_ok(feat_widths_for(&p->table, expected[i].reader, p->dim, p->fields, p->field,
                                full ? FEAT_SUMMARY : FEAT_NATIVE, 16, width[full], &summary));
    assert_ok(feat_widths(&p->table, p->dim, p->fields, p->field, FEAT_SUMMARY, 16, common, &summary));
    assert_int_equal(width[0][0], expected[i].native);
    assert_int_equal(width[1][0], expected[i].conditioned);
    assert_int_equal(width[1][1], common[1]);
  }
}

/* The training modes of a recipe: 8 for the torus's vertex target alone. */
static void test_recipes(void **state) {
  (void)state;
  for (int i = 0; i < problem_count(); i++) {
    const problem *p = problem_at(i);
    for (int j = 0; j < p->recipes; j++)
      assert_int_equal(p->recipe[j].modes, p == &problem_torus && strcmp(p->recipe[j].target, "u") == 0 ? 8 : 16);
    for (int k = 0; k < 3; k++) {
      int at = problem_target(p, k), found = -1;
      for (int j = 0; j < p->fields; j++)
        if (p->field[j].role == DATA_TARGET && p->field[j].degree == k && found < 0) found = j;
      assert_int_equal(at < 0, found < 0);
      if (at >= 0) assert_string_equal(p->recipe[at].target, p->field[found].name);
    }
  }
}

/* On the insulated square without holes cos(mπ(x+1)/2) cos(nπ(y+1)/2) only decays, and heat is kept. */
static double neumann_error(double h) {
  gen_planar g = {.half = 1, .h_near = h, .h_far = h, .near = 0.1, .far = 0.5};
  cx *c;
  assert_ok(cx_planar(&c, &g));
  ready r = ready_on(&problem_heat, c);
  int64_t n = c->n[0];
  double *weight = doubles(&r.mem, n), worst = 0;
  static_lumped(c, weight);
  for (int k = 0; k < GROUP; k++)
    for (int64_t i = 0; i < n; i++)
      r.block[0][k * n + i] =
          cos((1 + k % 3) * M_PI * (c->x[2 * i] + 1) / 2) * cos(k / 3 * M_PI * (c->x[2 * i + 1] + 1) / 2);
  assert_ok(r.p->solve(r.s, r.work, r.block));
  for (int k = 0; k < GROUP; k++) {
    int m = 1 + k % 3, l = k / 3;
    double decay = exp(-0.05 * 0.2 * M_PI * M_PI / 4 * (m * m + l * l)), gap = 0, size = 0, before = 0, after = 0;
    for (int64_t i = 0; i < n; i++) {
      double u0 = r.block[0][k * n + i], u = r.block[1][k * n + i];
      gap += weight[i] * (u - decay * u0) * (u - decay * u0);
      size += weight[i] * decay * decay * u0 * u0;
      before += weight[i] * u0;
      after += weight[i] * u;
    }
    assert_between(after - before, -1e-12, 1e-12);
    worst = fmax(worst, sqrt(gap / size));
  }
  ready_free(&r);
  return worst;
}

static void test_heat_converges(void **state) {
  (void)state;
  double coarse = neumann_error(0.2), fine = neumann_error(0.1), order = log2(coarse / fine);
  print_message("heat: error %.2e at h = 0.1, order %.2f\n", fine, order);
  assert_between(order, 1.8, 2.2);
}

/* Equal rims: the constant stays, and any state comes nearer to it; heat flux is -κ du. */
static void test_heat_steady(void **state) {
  (void)state;
  ready r = ready_make(&problem_heat, "smoke");
  int64_t n = r.c->n[0], edges = r.c->n[1];
  double far[GROUP], *d = doubles(&r.mem, edges);
  r.p->draw(r.s, r.work, 42, 0, r.block);
  for (int k = 0; k < GROUP; k++) {
    far[k] = INFINITY;
    for (int j = 0; j < 3; j++) r.block[3][3 * k + j] = 0.7;
  }
  for (int64_t i = 0; i < n; i++) r.block[0][i] = 0.7;
  for (int t = 0; t < 5; t++) {
    assert_ok(r.p->solve(r.s, r.work, r.block));
    for (int k = 0; k < GROUP; k++) {
      double now = 0;
      for (int64_t i = 0; i < n; i++) now = fmax(now, fabs(r.block[1][k * n + i] - 0.7));
      assert_true(k == 0 ? now < 1e-13 : now < far[k]);
      far[k] = now;
    }
    memcpy(r.block[0], r.block[1], (size_t)(n * GROUP) * sizeof(double));
  }
  for (int k = 0; k < GROUP; k++) {
    cx_d(r.c, 0, 1, r.block[1] + k * n, d);
    for (int64_t e = 0; e < edges; e++) assert_true(r.block[2][k * edges + e] == -0.05 * d[e]);
  }
  ready_free(&r);
}

/* Nothing grows hotter or colder than what it started from and the rims; consistent mass allows a little at the jump. */
static void test_heat_bounds(void **state) {
  (void)state;
  ready r = ready_make(&problem_heat, "smoke");
  int64_t n = r.c->n[0];
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    const double *u0 = r.block[0] + k * n, *u = r.block[1] + k * n, *rim = r.block[3] + 3 * k;
    double lo = fmin(rim[0], fmin(rim[1], rim[2])), hi = fmax(rim[0], fmax(rim[1], rim[2]));
    for (int64_t i = 0; i < n; i++) lo = fmin(lo, u0[i]), hi = fmax(hi, u0[i]);
    for (int64_t i = 0; i < n; i++) {
      int32_t label = r.c->label[0][i];
      assert_between(u[i], lo - 0.01 * (hi - lo), hi + 0.01 * (hi - lo));
      if (label >= 2) assert_true(u[i] == rim[label - 2]);
    }
  }
  ready_free(&r);
}

/* Uniform data follow the logistic curve. */
static void test_reaction_logistic(void **state) {
  (void)state;
  ready r = ready_make(&problem_reaction, "smoke");
  int64_t n = r.c->n[0];
  for (int k = 0; k < GROUP; k++) {
    r.block[3][k] = 1 + k;
    for (int64_t i = 0; i < n; i++) r.block[0][k * n + i] = 0.1 * k;
  }
  assert_ok(r.p->solve(r.s, r.work, r.block));
  for (int k = 0; k < GROUP; k++) {
    double growth = exp((1 + k) * 0.4), want = 0.1 * k * growth / (1 + 0.1 * k * (growth - 1));
    for (int64_t i = 0; i < n; i++) assert_between(r.block[1][k * n + i] - want, -1e-12, 1e-12);
  }
  ready_free(&r);
}

/* Without reaction: heat flow to time 0.004 on the torus, at order 2, mass kept; with it the species stays between 0 and 1. */
static void test_reaction_diffuses(void **state) {
  (void)state;
  double error[2];
  for (int l = 0; l < 2; l++) {
    cx *c;
    assert_ok(cx_torus_grid(&c, MAJOR, MINOR, 40 << l, 20 << l, 0));
    ready r = ready_on(&problem_reaction, c);
    error[l] = exact_error(&r, 0.004, 0);
    int64_t n = c->n[0];
    double before = 0, after = 0, *weight = doubles(&r.mem, n);
    static_lumped(c, weight);
    for (int64_t i = 0; i < n; i++) before += weight[i] * r.block[0][i], after += weight[i] * r.block[1][i];
    assert_between(after / before - 1, -1e-12, 1e-12);
    ready_free(&r);
  }
  print_message("reaction: diffusion error %.2e, order %.2f\n", error[1], log2(error[0] / error[1]));
  assert_between(log2(error[0] / error[1]), 1.7, 2.3);
}

static void test_reaction_bounds(void **state) {
  (void)state;
  ready r = ready_make(&problem_reaction, "smoke");
  int64_t n = r.c->n[0], faces = r.c->n[2];
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    double mass = 0, sum = 0, *weight = doubles(&r.mem, n);
    static_lumped(r.c, weight);
    assert_between(r.block[3][k], 2, 8);
    for (int64_t i = 0; i < n; i++) {
      assert_between(r.block[1][k * n + i], -1e-3, 1 + 1e-3);
      mass += weight[i] * r.block[1][k * n + i];
    }
    for (int64_t t = 0; t < faces; t++) sum += r.block[2][k * faces + t];
    assert_between(sum / mass - 1, -1e-12, 1e-12);
  }
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_widths),
      cmocka_unit_test(test_reader_widths),
      cmocka_unit_test(test_recipes),
      cmocka_unit_test(test_heat_converges),
      cmocka_unit_test(test_heat_steady),
      cmocka_unit_test(test_heat_bounds),
      cmocka_unit_test(test_reaction_logistic),
      cmocka_unit_test(test_reaction_diffuses),
      cmocka_unit_test(test_reaction_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
