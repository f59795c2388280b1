/* test_problem_torus.c: the torus data against the exact answer: on the smooth torus v is a rigid rotation, so the solution is the heat
 * flow of the initial state to time κT = 0.003, turned by +0.3 rad (torus_exact.h). Mass, direction, statistics of the benchmark. */
#include "torus_exact.h"

#include "mesh/generate.h"
#include "problem/fem.h"

static const double TURN = 0.3, HEAT = 0.003;

static double march_error(cx *c) {
  ready r = ready_on(&problem_torus, c);
  double error = exact_error(&r, HEAT, TURN);
  ready_free(&r);
  return error;
}

static void test_converges(void **state) {
  (void)state;
  int levels = SLOW ? 2 : 3;
  double error[3], order;
  for (int l = 0; l < levels; l++) {
    cx *c;
    assert_ok(cx_torus_grid(&c, MAJOR, MINOR, 40 << l, 20 << l, 0));
    error[l] = march_error(c);
  }
  order = log2(error[levels - 2] / error[levels - 1]);
  print_message("grids: error %.2e at 40 × 20, last halving order %.2f\n", error[0], order);
  assert_between(order, 1.7, 2.3);
}

/* The mesh of the benchmark, made irregular by collapses, and a refined relative of it. */
static void test_irregular(void **state) {
  (void)state;
  if (SLOW) skip();
  cx *c;
  assert_ok(cx_torus(&c, "main"));
  double coarse = march_error(c);
  assert_ok(cx_torus_grid(&c, MAJOR, MINOR, 158, 78, 4 * 582));
  double fine = march_error(c), order = log2(coarse / fine);
  print_message("benchmark mesh: error %.2e, refined %.2e, order %.2f\n", coarse, fine, order);
  assert_between(coarse, 0, 0.01);
  assert_between(order, 1.7, 2.3);
}

/* The initial state of a benchmark sample, an offset and blobs round vertices of c, at any points of space. */
static void blobs_at(const cx *c, int64_t sample, int64_t count, const double *x, double *u) {
  rng r = rng_open(42, RNG_SAMPLE, (uint64_t)sample);
  double offset = rng_range(&r, -1, 1);
  int blobs = 5 + (int)rng_below(&r, 7);
  for (int64_t i = 0; i < count; i++) u[i] = offset;
  for (int b = 0; b < blobs; b++) {
    const double *at = c->x + 3 * (int64_t)rng_below(&r, (uint64_t)c->n[0]);
    double amplitude = rng_range(&r, 0.5, 2);
    for (int64_t i = 0; i < count; i++) {
      double d = 0;
      for (int a = 0; a < 3; a++) d += (x[3 * i + a] - at[a]) * (x[3 * i + a] - at[a]);
      u[i] += amplitude * exp(-d / (2 * 0.15 * 0.15));
    }
  }
}

enum { WAVES = 64, ROUND = 2 * WAVES + 1 }; /* round the axis: the blobs have nothing beyond */

/* The values of a sample on a grid of the smooth torus, POINTS round the tube × ROUND round the axis. */
static void smooth_state(const cx *c, int64_t sample, double *u) {
  static double x[3 * POINTS * ROUND];
  for (int i = 0; i < POINTS; i++)
    for (int j = 0; j < ROUND; j++) {
      double v = 2 * M_PI * i / POINTS, theta = 2 * M_PI * j / ROUND, away = MAJOR + MINOR * cos(v);
      double *at = x + 3 * (i * ROUND + j);
      at[0] = away * cos(theta), at[1] = away * sin(theta), at[2] = MINOR * sin(v);
    }
  blobs_at(c, sample, POINTS * ROUND, x, u);
}

/* What the trigonometric polynomials that are 1 at one of the POINTS have at the vertices: n × POINTS. */
static double *tube_weights(ready *r) {
  double *weight = doubles(&r->mem, r->c->n[0] * POINTS);
  for (int64_t k = 0; k < r->c->n[0] * POINTS; k++) {
    const double *x = r->c->x + 3 * (k / POINTS);
    double unit[POINTS] = {0};
    unit[k % POINTS] = 1;
    weight[k] = interpolate(unit, atan2(x[2], hypot(x[0], x[1]) - MAJOR));
  }
  return weight;
}

/* out ← the exact answer at the vertices: each wave round the axis flows by itself and is turned. */
static void exact_state(const cx *c, const double *weight, int64_t sample, double *out) {
  static double u[POINTS * ROUND];
  smooth_state(c, sample, u);
  memset(out, 0, (size_t)c->n[0] * sizeof *out);
  for (int m = 0; m <= WAVES; m++)
    for (int part = 0; part < (m ? 2 : 1); part++) {
      double f[POINTS] = {0}, shift = part * M_PI / 2; /* cos(x - π/2) = sin x */
      for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < ROUND; j++)
          f[i] += (m ? 2.0 : 1.0) / ROUND * u[i * ROUND + j] * cos(2 * M_PI * m * j / ROUND - shift);
      heat_flow(m, HEAT, f);
      for (int64_t k = 0; k < c->n[0]; k++) {
        double value = 0;
        for (int i = 0; i < POINTS; i++) value += weight[k * POINTS + i] * f[i];
        out[k] += value * cos(m * (atan2(c->x[3 * k + 1], c->x[3 * k]) - TURN) - shift);
      }
    }
}

/* The discretisation error of the benchmark itself: targets u of its own samples on its own mesh against the exact answer; printed as
 * results/torus.json has it. The mean. */
static double own_error(const char *resolution) {
  enum { LOOKED_AT = 8 };
  ready r = ready_make(&problem_torus, resolution);
  int64_t n = r.c->n[0];
  double *exact = doubles(&r.mem, n), mean = 0, least = INFINITY, most = 0, *weight = tube_weights(&r);
  ready_group(&r, 0);
  for (int k = 0; k < LOOKED_AT; k++) {
    blobs_at(r.c, k, n, r.c->x, exact);
    assert_between(relative_distance(n, exact, r.block[0] + k * n), 0, 1e-7); /* stored as floats */
    exact_state(r.c, weight, k, exact);
    double error = relative_distance(n, r.block[1] + k * n, exact);
    mean += error / LOOKED_AT, least = fmin(least, error), most = fmax(most, error);
  }
  print_message("\"%s\": {\"samples\": %d, \"mean\": %.5f, \"least\": %.5f, \"most\": %.5f}\n", resolution, LOOKED_AT,
                mean, least, most);
  ready_free(&r);
  return mean;
}

static void test_own_error(void **state) {
  (void)state;
  if (SLOW) skip();
  assert_between(own_error("main"), 0.005, 0.02);
  assert_between(own_error("smoke"), 0.02, 0.2);
}

/* Σ M u for consistent M is Σ of the lumped weights times u. */
static void test_mass(void **state) {
  (void)state;
  ready r = ready_make(&problem_torus, SLOW ? "smoke" : "main");
  int64_t n = r.c->n[0];
  double *weight = doubles(&r.mem, n);
  static_lumped(r.c, weight);
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    double before = 0, after = 0, size = 0, faces = 0;
    for (int64_t i = 0; i < n; i++) {
      before += weight[i] * r.block[0][k * n + i];
      after += weight[i] * r.block[1][k * n + i];
      size += weight[i] * fabs(r.block[0][k * n + i]);
    }
    for (int64_t t = 0; t < r.c->n[2]; t++) faces += r.block[3][k * r.c->n[2] + t];
    assert_between(after - before, -1e-12 * size, 1e-12 * size);
    assert_between(faces - after, -1e-12 * size, 1e-12 * size);
  }
  ready_free(&r);
}

/* A blob on the outer equator turns with +v. */
static void test_turns(void **state) {
  (void)state;
  if (SLOW) skip();
  ready r = ready_make(&problem_torus, "main");
  int64_t n = r.c->n[0];
  double *weight = doubles(&r.mem, n), turn;
  static_lumped(r.c, weight);
  for (int64_t i = 0; i < n; i++) {
    const double *x = r.c->x + 3 * i;
    r.block[0][i] = exp(-((x[0] - 1.4) * (x[0] - 1.4) + x[1] * x[1] + x[2] * x[2]) / (2 * 0.15 * 0.15));
  }
  assert_ok(r.p->solve(r.s, r.work, r.block));
  double at[2][2] = {{0}};
  for (int t = 0; t < 2; t++)
    for (int64_t i = 0; i < n; i++)
      for (int a = 0; a < 2; a++) at[t][a] += weight[i] * r.block[t][i] * r.c->x[3 * i + a];
  turn = atan2(at[1][1], at[1][0]) - atan2(at[0][1], at[0][0]);
  print_message("a blob turns by %.5f rad\n", turn);
  assert_between(turn, 0.98 * TURN, 1.02 * TURN);
  ready_free(&r);
}

/* q and m by their formulas from u, with v the rotation made tangent. */
static void test_observed(void **state) {
  (void)state;
  ready r = ready_make(&problem_torus, "smoke");
  const cx *c = r.c;
  const double *speed = ready_static(&r, "speed"), *u = r.block[1], *q = r.block[2];
  ready_group(&r, 0);
  for (int64_t i = 0; i < c->n[0]; i++) {
    double axis = hypot(c->x[3 * i], c->x[3 * i + 1]);
    assert_between(speed[i], 0.97 * axis, axis * (1 + 1e-12));
  }
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1];
    const double *x = c->x + 3 * a, *y = c->x + 3 * b;
    double along = 0.5 * (-(x[1] + y[1]) * (y[0] - x[0]) + (x[0] + y[0]) * (y[1] - x[1]));
    double want = 0.5 * (u[a] + u[b]) * along - 0.01 * (u[b] - u[a]), scale = 0.05 * (fabs(u[a]) + fabs(u[b]));
    assert_between(q[e] - want, -scale * c->measure[1][e], scale * c->measure[1][e]);
  }
  ready_free(&r);
}

/* Population figures of the benchmark: rms and non-constant variance of u0 and u, largest values, predict-the-mean error. */
static void test_statistics(void **state) {
  (void)state;
  if (SLOW) skip();
  enum { GROUPS = 25 };
  ready r = ready_make(&problem_torus, "main");
  int64_t n = r.c->n[0];
  double square[2] = {0}, variance[2] = {0}, largest[2] = {0}, centre = 0;
  for (int64_t i = 0; i < n; i++) centre += hypot(r.c->x[3 * i], r.c->x[3 * i + 1]) / (double)n;
  assert_between(centre, 1.026405, 1.026415); /* of the tube, for the Fourier moments; as docs/MODEL.md says */
  for (int g = 0; g < GROUPS; g++) {
    ready_group(&r, g * GROUP);
    for (int t = 0; t < 2; t++)
      for (int k = 0; k < GROUP; k++) {
        const double *u = r.block[t] + k * n;
        double mean = 0, all = mean_square(n, u);
        for (int64_t i = 0; i < n; i++) mean += u[i] / (double)n, largest[t] = fmax(largest[t], fabs(u[i]));
        square[t] += all / (GROUPS * GROUP);
        variance[t] += (all - mean * mean) / (GROUPS * GROUP);
      }
  }
  print_message("%d samples: rms %.3f → %.3f, variance %.4f → %.4f, largest %.2f → %.2f\n", GROUPS * GROUP,
                sqrt(square[0]), sqrt(square[1]), variance[0], variance[1], largest[0], largest[1]);
  assert_between(sqrt(square[0]), 0.9 * 0.68, 1.1 * 0.68);
  assert_between(sqrt(square[1]), 0.9 * 0.67, 1.1 * 0.67);
  assert_between(variance[0], 0.9 * 0.073, 1.1 * 0.073);
  assert_between(variance[1], 0.9 * 0.058, 1.1 * 0.058);
  assert_between(largest[0], 0.85 * 4.07, 1.15 * 4.07);
  assert_between(largest[1], 0.85 * 3.48, 1.15 * 3.48);
  ready_free(&r);
}

/* The assembly by itself, where the velocity has no direction of its own: for linear q and constant v, Σ_i q_i (A 1)_i = -∫ v·∇q, and the test functions
 * sum to one, so that every column of A sums to zero. */
static void test_advection(void **state) {
  (void)state;
  static const double v[3] = {1, -2, 3}, slope[3] = {0.3, 0.7, -1.1};
  cx *c;
  csr a;
  assert_ok(cx_cavity(&c, "smoke"));
  int64_t n = c->n[0];
  double *speed = calloc((size_t)n * 3, sizeof *speed), *one = calloc((size_t)n, sizeof *one),
         *y = calloc((size_t)n, sizeof *y);
  assert_true(speed && one && y);
  double volume = 0, found = 0, sum = 0, expected = 0;
  for (int64_t i = 0; i < 3 * n; i++) speed[i] = v[i % 3];
  for (int64_t i = 0; i < n; i++) one[i] = 1;
  for (int64_t t = 0; t < c->n[3]; t++) volume += c->measure[3][t];
  for (int k = 0; k < 3; k++) expected -= v[k] * slope[k] * volume;
  assert_ok(fem_advection(&a, c, speed));
  csr_apply(&a, 1, one, y);
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) found += slope[k] * c->x[3 * i + k] * y[i];
  for (int64_t i = 0; i < n; i++) one[i] = sin((double)i);
  csr_apply(&a, 1, one, y);
  for (int64_t i = 0; i < n; i++) sum += y[i];
  assert_between(found / expected, 1 - 1e-12, 1 + 1e-12);
  assert_between(sum / volume, -1e-12, 1e-12);
  csr_free(&a);
  cx_free(c);
  free(speed), free(one), free(y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_converges),  cmocka_unit_test(test_irregular), cmocka_unit_test(test_own_error),
      cmocka_unit_test(test_mass),       cmocka_unit_test(test_turns),     cmocka_unit_test(test_observed),
      cmocka_unit_test(test_statistics), cmocka_unit_test(test_advection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
