/* test_problem_hts.c: superconducting wires in cross-section: one step against Bessel functions, direct current, Norris's loss of a round wire, the
 * balance of energy, and the problem made of it. */
#include "problems.h"

#include "problem/critical.h"
#include "problem/wires.h"

static const double ONE[1][3] = {{0, 0, 0.5}};

/* One wire in the middle of the square, driven by a current. */
typedef struct bench {
  cx *c;
  critical *s;
  critical_solver *w;
  int32_t *wire;
  double *winding, *source, *jc, *j, *heat, area;
  arena mem;
} bench;

static bench bench_make(double near, double far) {
  bench b = {0};
  assert_ok(wires_build(&b.c, 1, ONE, near, far));
  int64_t edges = b.c->n[1], faces = b.c->n[2];
  uint8_t *conducts = arena_take(&b.mem, (size_t)faces, sizeof *conducts);
  b.wire = arena_take(&b.mem, (size_t)faces, sizeof *b.wire);
  assert_true(conducts && b.wire);
  b.winding = doubles(&b.mem, edges), b.source = doubles(&b.mem, edges);
  b.jc = doubles(&b.mem, faces), b.j = doubles(&b.mem, faces), b.heat = doubles(&b.mem, faces);
  wires_of_faces(b.c, b.wire);
  wires_winding(b.c, b.wire, 0, b.winding);
  for (int64_t f = 0; f < faces; f++) {
    conducts[f] = b.wire[f] == 0;
    b.jc[f] = 1;
    if (conducts[f]) b.area += b.c->measure[2][f];
  }
  assert_ok(critical_create(&b.s, b.c, conducts));
  assert_ok(critical_open(&b.w, b.s));
  return b;
}

static void bench_free(bench *b) {
  critical_close(b->w), critical_free(b->s), cx_free(b->c), arena_free(&b->mem);
}

/* One step to a current; returns the heat per time at its end. */
static double bench_step(bench *b, double dt, double current) {
  int solves = 0;
  double sum = 0;
  for (int64_t e = 0; e < b->c->n[1]; e++) b->source[e] = current * b->winding[e];
  assert_ok(critical_step(b->w, dt, b->source, &solves));
  critical_read(b->w, b->j, b->heat);
  for (int64_t f = 0; f < b->c->n[2]; f++) sum += b->c->measure[2][f] * b->heat[f];
  return sum;
}

static double circle_distance(const double *x, const double *circle) {
  return hypot(x[0] - circle[0], x[1] - circle[1]) - circle[2];
}

/* Air and wires fill the square; the rims are lines of the mesh; labels say where a simplex is; triangles are decent. */
static void test_mesh(void **state) {
  (void)state;
  static const double wire[2][3] = {{-0.4, 0.1, 0.3}, {0.35, -0.2, 0.25}};
  cx *c;
  cx_quality q;
  assert_ok(wires_build(&c, 2, wire, 0.05, 0.2));
  assert_ok(cx_check(c));
  assert_ok(cx_measure(c, &q));
  assert_between(q.total, 4 - 1e-12, 4 + 1e-12);
  assert_true(q.min_angle > 20 && q.components == 1 && q.nonmanifold_faces == 0);
  assert_int_equal(c->n[0] - c->n[1] + c->n[2], 1);
  for (int64_t i = 0; i < c->n[0]; i++) {
    double out[2] = {circle_distance(c->x + 2 * i, wire[0]), circle_distance(c->x + 2 * i, wire[1])};
    int label = out[0] < 1e-12 ? 2 : out[1] < 1e-12 ? 3 : c->on_boundary[0][i] ? 1 : 0;
    assert_int_equal(c->label[0][i], label);
  }
  int32_t *of = mem_alloc((size_t)c->n[2], sizeof *of);
  double area[2] = {0}, rim[2] = {0};
  wires_of_faces(c, of);
  for (int64_t f = 0; f < c->n[2]; f++)
    if (of[f] >= 0) area[of[f]] += c->measure[2][f];
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t p = c->coptr[1][e];
    if (c->coptr[1][e + 1] - p == 2 && of[c->coface[1][p]] != of[c->coface[1][p + 1]])
      rim[c->label[1][e] - 2] += c->measure[1][e];
  }
  for (int j = 0; j < 2; j++) {
    assert_between(area[j] / (M_PI * wire[j][2] * wire[j][2]), 0.985, 1);
    assert_between(rim[j] / (2 * M_PI * wire[j][2]), 0.99, 1);
  }
  mem_free(of);
  cx_free(c);
}

/* I₁ by its series. */
static double bessel(double x) {
  double term = x / 2, sum = 0;
  for (int m = 1; m < 60; m++) sum += term, term *= x * x / (4. * m * (m + 1));
  return sum;
}

/* n = 1 is Ohm's law with resistivity ρ: the first step has h = I/2πR I₁(κr)/I₁(κR) inside, κ² = 1/ρΔt, I/2πr outside. Relative error of
 * h on edges. */
static double ohmic_error(double near) {
  bench b = bench_make(near, 2 * near);
  double dt = 0.5, rho = 0.04, kappa = 1 / sqrt(rho * dt), R = 0.5;
  critical_begin(b.w, (critical_law){rho, 1}, b.jc);
  bench_step(&b, dt, 1);
  double *want = doubles(&b.mem, b.c->n[1]);
  for (int64_t e = 0; e < b.c->n[1]; e++) {
    const double *p = b.c->x + 2 * b.c->vert[1][2 * e], *q = b.c->x + 2 * b.c->vert[1][2 * e + 1];
    for (int k = 0; k < 16; k++) {
      double t = (k + 0.5) / 16, x = p[0] + t * (q[0] - p[0]), y = p[1] + t * (q[1] - p[1]), r = hypot(x, y);
      double h = r < R ? bessel(kappa * r) / bessel(kappa * R) / (2 * M_PI * R) : 1 / (2 * M_PI * r);
      want[e] += h * (x * (q[1] - p[1]) - y * (q[0] - p[0])) / r / 16;
    }
  }
  double error = relative_distance(b.c->n[1], critical_field(b.w), want);
  bench_free(&b);
  return error;
}

static void test_ohmic_step(void **state) {
  (void)state;
  double coarse = ohmic_error(0.1), fine = ohmic_error(0.05), order = log2(coarse / fine);
  print_message("one ohmic step: error %.2e, order %.2f\n", fine, order);
  assert_true(fine < 0.02);
  assert_between(order, 0.9, 2.5);
}

/* A current that stands long spreads so that E is the same all over the wire: j follows J_c, whatever n, on any mesh. */
static void test_direct_current(void **state) {
  (void)state;
  bench b = bench_make(0.1, 0.3);
  double bears = 0;
  for (int64_t f = 0; f < b.c->n[2]; f++) {
    b.jc[f] = 1 + 0.5 * sin(7 * (double)f);
    if (b.wire[f] == 0) bears += b.c->measure[2][f] * b.jc[f];
  }
  critical_begin(b.w, (critical_law){0.01, 20}, b.jc);
  for (int k = 0; k < 4; k++) bench_step(&b, 1e9, 0.8 * bears);
  for (int64_t f = 0; f < b.c->n[2]; f++)
    assert_between(b.j[f] / b.jc[f], b.wire[f] == 0 ? 0.8 - 1e-8 : 0, b.wire[f] == 0 ? 0.8 + 1e-8 : 0);
  bench_free(&b);
}

/* Loss of a cycle of I = F I_c sin t, from its second peak on. */
static double cycle_loss(bench *b, double share, double power, int steps) {
  double loss = 0;
  critical_begin(b->w, (critical_law){0.01, power}, b->jc);
  for (int k = 1; k <= steps * 5 / 4; k++) {
    double heat = bench_step(b, 1. / steps, share * b->area * sin(2 * M_PI * k / steps));
    if (k > steps * 3 / 4) loss += 2 * heat / steps;
  }
  return loss;
}

/* Norris: I_c²/π ((1 - F) ln(1 - F) + (2 - F) F/2) in the limit n → ∞. */
static void test_norris(void **state) {
  (void)state;
  if (SLOW) return;
  bench b = bench_make(0.05, 0.3);
  static const double share[] = {0.6, 0.9}, power[] = {50, 400};
  for (int i = 0; i < 2; i++) {
    double F = share[i], off[2];
    double want = b.area * b.area / M_PI * ((1 - F) * log(1 - F) + (2 - F) * F / 2);
    for (int k = 0; k < 2; k++) off[k] = cycle_loss(&b, F, power[k], 160) / want - 1;
    print_message("Norris, F = %g: off by %.2f %% with n = 50, by %.2f %% with n = 400\n", F, 100 * off[0],
                  100 * off[1]);
    assert_true(fabs(off[1]) < 0.03);
    if (i == 0) assert_true(fabs(off[1]) < 0.5 * fabs(off[0]));
  }
  bench_free(&b);
}

static void test_time_order(void **state) {
  (void)state;
  bench b = bench_make(0.1, 0.3);
  double loss[3];
  for (int k = 0; k < 3; k++) loss[k] = cycle_loss(&b, 0.6, 20, 80 << k);
  double order = log2((loss[1] - loss[0]) / (loss[2] - loss[1]));
  print_message("loss of a cycle %.5g, order %.2f in time\n", loss[2], order);
  assert_between(order, 0.8, 1.2);
  bench_free(&b);
}

/* ∫ u·v of two cochains by the middles of sides, which is exact, and the force ∫ w_e·v on each edge. */
static double product_forces(const cx *c, const double *u, const double *v, double *force) {
  double sum = 0;
  memset(force, 0, (size_t)c->n[1] * sizeof *force);
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int m = 0; m < 3; m++) {
      const int32_t *t = c->vert[2] + 3 * f, *edge = c->face[2] + 3 * f;
      double base[3][2], at[2][2] = {{0}}, twice = 2 * c->measure[2][f];
      for (int i = 0; i < 3; i++) {
        int a = 0, b = 0;
        while (t[a] != c->vert[1][2 * edge[i]]) a++;
        while (t[b] != c->vert[1][2 * edge[i] + 1]) b++;
        for (int x = 0; x < 2; x++) { /* ∇λ_k is the side opposite k, turned, over twice the area */
          double grad[2];
          for (int k = 0; k < 2; k++) {
            int o = k ? b : a, p = t[(o + 1) % 3], q = t[(o + 2) % 3];
            grad[k] = (x ? c->x[2 * q] - c->x[2 * p] : c->x[2 * p + 1] - c->x[2 * q + 1]) / twice;
          }
          base[i][x] = (a == m ? 0 : 0.5) * grad[1] - (b == m ? 0 : 0.5) * grad[0];
          at[0][x] += u[edge[i]] * base[i][x], at[1][x] += v[edge[i]] * base[i][x];
        }
      }
      double weight = c->measure[2][f] / 3;
      sum += weight * (at[0][0] * at[1][0] + at[0][1] * at[1][1]);
      for (int i = 0; i < 3; i++) force[edge[i]] += weight * (base[i][0] * at[1][0] + base[i][1] * at[1][1]);
    }
  return sum;
}

/* Σ over steps: what the source puts in, (M Δh/Δt + dᵀE)·source Δt, less heat, less the energy stored at the end. Implicit Euler loses
 * Σ ½‖Δh‖², which is returned. */
static double balance_gap(bench *b, int steps) {
  const cx *c = b->c;
  double *old = doubles(&b->mem, c->n[1]), *gap = doubles(&b->mem, c->n[1]), *force = doubles(&b->mem, c->n[1]),
         *E = doubles(&b->mem, c->n[2]), *pull = doubles(&b->mem, c->n[1]);
  double in = 0, heat = 0, lost = 0, dt = 1. / steps;
  critical_begin(b->w, (critical_law){0.01, 20}, b->jc);
  for (int k = 1; k <= steps / 2; k++) {
    memcpy(old, critical_field(b->w), (size_t)c->n[1] * sizeof *old);
    heat += dt * bench_step(b, dt, 0.6 * b->area * sin(2 * M_PI * k / steps));
    for (int64_t e = 0; e < c->n[1]; e++) gap[e] = critical_field(b->w)[e] - old[e];
    lost += 0.5 * product_forces(c, gap, gap, force);
    for (int64_t f = 0; f < c->n[2]; f++) E[f] = b->j[f] == 0 ? 0 : b->heat[f] / b->j[f];
    cx_dt(c, 1, 1, E, pull);
    for (int64_t e = 0; e < c->n[1]; e++) in += (force[e] + dt * pull[e]) * b->source[e];
  }
  double stored = 0.5 * product_forces(c, critical_field(b->w), critical_field(b->w), force);
  assert_between((in - heat - stored - lost) / in, -1e-8, 1e-8);
  return lost;
}

static void test_energy(void **state) {
  (void)state;
  bench b = bench_make(0.1, 0.3);
  double coarse = balance_gap(&b, 40), fine = balance_gap(&b, 80);
  print_message("energy: %.2e is lost to the time step, %.2e to half of it\n", coarse, fine);
  assert_between(coarse / fine, 1.7, 2.3);
  bench_free(&b);
}

enum { WIRES = 3, DRIVES = 5, COS = 1, SIN, H, PEAK, LOSS };

/* At the end, a quarter of a cycle past the second, I_j is the drive's sine part: the sum of dh over wire j, to rounding; dh = 0 in the air.
 * Heat comes from wires alone. */
static void test_currents(void **state) {
  (void)state;
  ready r = ready_make(&problem_hts, "smoke");
  int64_t edges = r.c->n[1], faces = r.c->n[2];
  int32_t *wire = arena_take(&r.mem, (size_t)faces, sizeof *wire);
  double *curl = doubles(&r.mem, faces);
  wires_of_faces(r.c, wire);
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    double current[WIRES] = {0};
    const double *peak = r.block[PEAK] + k * faces, *loss = r.block[LOSS] + k * faces;
    cx_d(r.c, 1, 1, r.block[H] + k * edges, curl);
    for (int64_t f = 0; f < faces; f++) {
      if (wire[f] >= 0) {
        current[wire[f]] += curl[f];
        assert_true(loss[f] > 0 && fabs(curl[f]) <= (peak[f] + 1e-12) * r.c->measure[2][f]);
      } else {
        assert_between(curl[f], -1e-14, 1e-14);
        assert_true(peak[f] == 0 && loss[f] == 0);
      }
    }
    for (int j = 0; j < WIRES; j++) assert_between(current[j] - r.block[SIN][k * DRIVES + j], -1e-13, 1e-13);
  }
  ready_free(&r);
}

/* All drives reversed: h turns round, losses stay. None: nothing happens. */
static void test_symmetry(void **state) {
  (void)state;
  ready r = ready_make(&problem_hts, "smoke");
  int64_t edges = r.c->n[1] * GROUP, faces = r.c->n[2] * GROUP;
  double *h = doubles(&r.mem, edges), *loss = doubles(&r.mem, faces);
  ready_group(&r, 0);
  memcpy(h, r.block[H], (size_t)edges * sizeof *h);
  memcpy(loss, r.block[LOSS], (size_t)faces * sizeof *loss);
  for (int i = 0; i < GROUP * DRIVES; i++) r.block[COS][i] *= -1, r.block[SIN][i] *= -1;
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  for (int64_t e = 0; e < edges; e++) assert_between(h[e] + r.block[H][e], -1e-9, 1e-9);
  assert_true(relative_distance(faces, r.block[LOSS], loss) < 1e-8);
  for (int i = 0; i < GROUP * DRIVES; i++) r.block[COS][i] = r.block[SIN][i] = 0;
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  for (int64_t e = 0; e < edges; e++) assert_true(r.block[H][e] == 0);
  for (int64_t f = 0; f < faces; f++) assert_true(r.block[LOSS][f] == 0);
  ready_free(&r);
}

static void refuse(ready *r, const char *text) {
  assert_int_equal(problem_solve(r->p, r->s, r->c, r->work, r->block), DKHO_E_INPUT);
  if (!strstr(fail_text(), text)) fail_msg("\"%s\", expected \"%s\"", fail_text(), text);
}

static void test_bad_parameters(void **state) {
  (void)state;
  ready r = ready_make(&problem_hts, "smoke");
  ready_group(&r, 0);
  int64_t inside = r.c->n[0] - 1; /* wires come last */
  double kept = r.block[SIN][1];
  r.block[SIN][1] = 1;
  refuse(&r, "hts: current 2 has amplitude 1");
  r.block[SIN][1] = NAN;
  refuse(&r, "hts: current 2 has amplitude ");
  r.block[SIN][1] = kept;
  r.block[COS][4] = 1e9;
  refuse(&r, "hts: the applied field along y has amplitude 1e+09, expected at most 1");
  r.block[COS][4] = 0;
  r.block[0][inside] = 0;
  refuse(&r, " of a wire is 0, expected 0.001 … 1000");
  ready_free(&r);
  cx *c;
  problem_state *s;
  assert_ok(wires_build(&c, 2, (const double[2][3]){{-0.4, 0.1, 0.3}, {0.35, -0.2, 0.25}}, 0.1, 0.3));
  assert_int_equal(problem_prepare(&s, &problem_hts, c, 42), DKHO_E_INPUT);
  assert_int_equal(problem_hts.prepare(&s, c, 42), DKHO_E_INPUT);
  assert_non_null(strstr(fail_text(), "no face has three vertices of label 4"));
  cx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mesh),     cmocka_unit_test(test_ohmic_step), cmocka_unit_test(test_direct_current),
      cmocka_unit_test(test_norris),   cmocka_unit_test(test_time_order), cmocka_unit_test(test_energy),
      cmocka_unit_test(test_currents), cmocka_unit_test(test_symmetry),   cmocka_unit_test(test_bad_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
