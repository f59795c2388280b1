/* test_problem_start.c: Newton's method from a guess: fewer steps from a good one, the same solution from any. */
#include "problems.h"

/* The index of the guessed target among the fields that vary. */
static int guessed_block(const problem *p, int64_t *n, const cx *c) {
  int j = 0;
  for (int i = 0; i < p->fields; i++) {
    if (p->field[i].role == DATA_STATIC) continue;
    *n = c->n[p->field[i].degree] * p->field[i].channels;
    if (strcmp(p->field[i].name, p->guessed) == 0) return j;
    j++;
  }
  fail_msg("%s: has no target %s", p->name, p->guessed);
  return -1;
}

static int solve_steps(ready *r, const double *guess) {
  problem_start start = {.guess = guess};
  assert_ok(r->p->solve_from(r->s, r->work, &start, r->block));
  return start.steps;
}

/* The solution itself as the guess, and that with so much noise on it that it is worth nothing. */
static void check_starts(const problem *p) {
  ready r =
      ready_make(p, "coarse"); /* velocities at nodes are found from line integrals to the mesh's own accuracy only */
  int64_t n;
  int j = guessed_block(p, &n, r.c), own = 0, near = 0;
  double *exact = doubles(&r.mem, n), *guess = doubles(&r.mem, n);
  for (uint64_t sample = 0; sample < 2; sample++) {
    rng draw = rng_open(42, RNG_SAMPLE, sample), noise = rng_open(1, RNG_TEST, sample);
    p->draw_one(r.s, r.work, &draw, r.block);
    own += solve_steps(&r, NULL);
    memcpy(exact, r.block[j], (size_t)n * sizeof *exact);
    memcpy(guess, exact, (size_t)n * sizeof *exact);
    near += solve_steps(&r, guess);
    assert_between(relative_distance(n, r.block[j], exact), 0, 1e-9);
    for (int64_t i = 0; i < n; i++) guess[i] += rng_normal(&noise) * sqrt(mean_square(n, exact));
    solve_steps(&r, guess);
    assert_between(relative_distance(n, r.block[j], exact), 0, 1e-9);
  }
  if (!(near < own)) fail_msg("%s: %d steps from the solution, %d from the solver's own start", p->name, near, own);
  ready_free(&r);
}

static void test_starts(void **state) {
  (void)state;
  int seen = 0;
  for (int i = 0; i < problem_count(); i++)
    if (problem_at(i)->solve_from) check_starts(problem_at(i)), seen++;
  assert_int_equal(seen, 3);
}

/* H of a sample is exact but for its periods: its potential comes back to rounding, so there is next to nothing to solve. */
static void test_potential(void **state) {
  (void)state;
  ready r = ready_make(&problem_lamination, "smoke");
  int64_t n;
  int j = guessed_block(r.p, &n, r.c);
  double *exact = doubles(&r.mem, n);
  ready_group(&r, 0);
  assert_ok(r.p->solve_one(r.s, r.work, r.block));
  memcpy(exact, r.block[j], (size_t)n * sizeof *exact);
  assert_between(solve_steps(&r, exact), 0, 1);
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_starts), cmocka_unit_test(test_potential)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
