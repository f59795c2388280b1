/* test_problem_locate.c: fields of one mesh read on another. */
#include "problems.h"

#include "problem/locate.h"
#include "problem/sheet.h"

static double plane(const double *x) {
  return 3 - 2 * x[0] + 5 * x[1];
}

/* Every point is found, with coordinates that give it back; inside the complex none is negative. */
static void test_points(void **state) {
  (void)state;
  cx *coarse, *fine;
  locator *l;
  assert_ok(sheet_build(&coarse, "smoke"));
  assert_ok(sheet_build(&fine, "coarse"));
  assert_ok(locator_create(&l, coarse));
  rng r = rng_open(1, RNG_TEST, 9);
  for (int k = 0; k < 2000; k++) {
    int64_t f = (int64_t)rng_below(&r, (uint64_t)coarse->n[2]);
    double a = rng_uniform(&r), b = rng_range(&r, 0, 1 - a), want[3] = {1 - a - b, a, b}, x[2] = {0}, bary[3],
           back[2] = {0};
    for (int i = 0; i < 6; i++) x[i % 2] += want[i / 2] * coarse->x[2 * coarse->vert[2][3 * f + i / 2] + i % 2];
    int64_t found = locator_find(l, x, bary);
    for (int i = 0; i < 6; i++) back[i % 2] += bary[i / 2] * coarse->x[2 * coarse->vert[2][3 * found + i / 2] + i % 2];
    assert_true(fabs(back[0] - x[0]) < 1e-13 && fabs(back[1] - x[1]) < 1e-13);
    assert_true(fmin(bary[0], fmin(bary[1], bary[2])) > -1e-12);
    if (fmin(want[0], fmin(want[1], want[2])) > 1e-9) assert_int_equal(found, f);
  }
  double far[2] = {50, -70}, bary[3];
  assert_in_range(locator_find(l, far, bary), 0, coarse->n[2] - 1);
  locator_free(l), cx_free(coarse), cx_free(fine);
}

/* Linear fields and constant vectors come across exactly, even where the fine mesh fills the circles better. */
static void test_exact(void **state) {
  (void)state;
  cx *coarse, *fine;
  locator *l;
  arena mem = {0};
  assert_ok(sheet_build(&coarse, "smoke"));
  assert_ok(sheet_build(&fine, "coarse"));
  assert_ok(locator_create(&l, coarse));
  double *u = doubles(&mem, coarse->n[0]), *v = doubles(&mem, fine->n[0]), *face = doubles(&mem, 2 * coarse->n[2]),
         *edge = doubles(&mem, fine->n[1]), *number = doubles(&mem, fine->n[2]);
  for (int64_t i = 0; i < coarse->n[0]; i++) u[i] = plane(coarse->x + 2 * i);
  locate_linear(l, u, fine, v);
  for (int64_t i = 0; i < fine->n[0]; i++) assert_between(v[i] - plane(fine->x + 2 * i), -1e-12, 1e-12);
  for (int64_t f = 0; f < coarse->n[2]; f++) face[2 * f] = -2, face[2 * f + 1] = 5;
  assert_ok(locate_integrals(l, face, fine, edge));
  for (int64_t e = 0; e < fine->n[1]; e++)
    assert_between(edge[e] - v[fine->vert[1][2 * e + 1]] + v[fine->vert[1][2 * e]], -1e-12, 1e-12);
  for (int64_t f = 0; f < coarse->n[2]; f++) face[f] = 7;
  assert_ok(locate_numbers(l, face, fine, number));
  for (int64_t f = 0; f < fine->n[2]; f++) assert_between(number[f], 7 - 1e-12, 7 + 1e-12);
  locator_free(l), cx_free(coarse), cx_free(fine), arena_free(&mem);
}

/* The first target of the first sample, solved at a resolution and carried to r's mesh; its distance from r's own solution. */
static double carried_error(ready *r, const char *resolution, const char *target) {
  ready from = ready_make(r->p, resolution);
  double *one[PROBLEM_FIELDS_MAX], error = -1;
  rng g = rng_open(42, RNG_SAMPLE, 0);
  from.p->draw_one(from.s, from.work, &g, from.block);
  assert_ok(from.p->solve_one(from.s, from.work, from.block));
  for (int i = 0, j = 0; i < r->p->fields; i++)
    if (r->p->field[i].role != DATA_STATIC) one[j++] = doubles(&from.mem, 3 * r->c->n[1]);
  assert_ok(r->p->transfer(from.work, r->c, one));
  for (int i = 0, j = 0; i < r->p->fields; i++) {
    const data_field *f = &r->p->field[i];
    if (f->role == DATA_STATIC) continue;
    if (strcmp(f->name, target) == 0) error = relative_distance(r->c->n[f->degree], one[j], r->block[j]);
    j++;
  }
  ready_free(&from);
  return error;
}

/* Finer meshes are worth more; what needs no averaging comes back to its own mesh as it was. */
static void test_transfer(void **state) {
  (void)state;
  static const struct {
    const problem *p;
    const char *target;
    int exact;
  } cases[] = {{&problem_flow, "u", 1},       {&problem_flow, "flux", 1},    {&problem_flow, "w", 1},
               {&problem_flow, "p", 1},       {&problem_wells, "p", 1},      {&problem_wells, "q", 0},
               {&problem_lamination, "H", 0}, {&problem_lamination, "B", 0}, {&problem_ironloss, "loss", 0},
               {&problem_hts, "h", 0},        {&problem_subsonic, "u", 0},   {&problem_subsonic, "mach", 0},
               {&problem_hts, "loss", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ready r = ready_make(cases[i].p, "coarse");
    rng g = rng_open(42, RNG_SAMPLE, 0);
    r.p->draw_one(r.s, r.work, &g, r.block);
    assert_ok(r.p->solve_one(r.s, r.work, r.block));
    double poor = carried_error(&r, "smoke", cases[i].target), own = carried_error(&r, "coarse", cases[i].target);
    assert_between(poor, 1e-3, 0.6);
    assert_true(cases[i].exact ? own < 1e-11 : own < poor);
    ready_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_points),
      cmocka_unit_test(test_exact),
      cmocka_unit_test(test_transfer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
