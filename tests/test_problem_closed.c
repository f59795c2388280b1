/* test_problem_closed.c: closed 1-forms with nonlinear laws against exact solutions, and the problems made of them: lamination, ironloss,
 * wells, subsonic. */
#include "annulus.h"

#include "mesh/generate.h"
#include "problem/closed.h"
#include "problem/iron.h"
#include "problem/sheet.h"

/* Laws of the iron, and problems under them. */
static const char *const iron_laws[] = {"froehlich", "brauer"};

static const problem *under(const problem *p, int law) {
  assert_ok(problem_find_law(p, iron_laws[law], &p));
  return p;
}

static int find_block(const ready *r, const char *name) {
  for (int i = 0, j = 0; i < r->p->fields; i++) {
    if (strcmp(r->p->field[i].name, name) == 0) return j;
    j += r->p->field[i].role != DATA_STATIC;
  }
  fail_msg("no field %s", name);
  return -1;
}

/* W′ = ν h, ν′ = bend h by differences; the flux grows with the field. */
static void test_laws(void **state) {
  (void)state;
  static const closed_law laws[] = {closed_linear, closed_froehlich, closed_forchheimer, closed_brauer, closed_gas};
  static const double material[][2] = {{1, 0.02}, {3, 0.5}, {0.2, 1e-9}, {40, 7}};
  for (int l = 0; l < 5; l++)
    for (int m = 0; m < 4; m++)
      for (double h = 1e-8; h < 2e3; h *= 3.7) {
        double e = 1e-5 * h;
        closed_response at = laws[l](material[m], h), up = laws[l](material[m], h + e),
                        down = laws[l](material[m], h - e);
        assert_between((up.density - down.density) / (2 * e) / (at.nu * h), 1 - 1e-6, 1 + 1e-6);
        assert_between((up.nu - down.nu) / (2 * e) - at.bend * h, -1e-6 * at.nu / h, 1e-6 * at.nu / h);
        assert_true(at.nu + at.bend * h * h > 0);
      }
  assert_true(closed_froehlich(material[0], 0).nu == 1.02 && closed_forchheimer(material[0], 0).nu == 1);
  double q = closed_forchheimer(material[3], 5).nu * 5;
  assert_between(40 * q + 7 * q * q, 5 - 1e-12, 5 + 1e-12);
}

/* The gas at rest relative to its stream, at the stream's speed, and where it is stopped: the flux has its largest value at the speed of sound. */
static void test_gas(void **state) {
  (void)state;
  for (double M = 0.05; M < CLOSED_MACH; M += 0.1) {
    double material[2] = {3, M}, limit = closed_gas_limit(M), T = 1 + 0.2 * M * M;
    assert_between(closed_gas(material, 1).nu, 3 - 1e-14, 3 + 1e-14);
    assert_between(closed_gas(material, 0).nu / 3, pow(T, 2.5) - 1e-14, pow(T, 2.5) + 1e-14);
    assert_between(closed_gas_mach(M, 1), M - 1e-15, M + 1e-15);
    assert_between(closed_gas_mach(M, limit), CLOSED_MACH - 1e-14, CLOSED_MACH + 1e-14);
    /* Bernoulli: half the square of the speed and the enthalpy add up to that of the stream */
    double h = 0.7 * limit, rho = closed_gas(material, h).nu / 3;
    assert_between(h * h / 2 + (pow(rho, 0.4) - 1) / (0.4 * M * M), 0.5 - 1e-11 / (M * M), 0.5 + 1e-11 / (M * M));
    assert_true(closed_gas(material, 2 * limit).nu * 2 > closed_gas(material, limit).nu);
  }
  assert_true(closed_gas((const double[]){2, 0}, 5).nu == 2 && isinf(closed_gas_limit(0)));
}

/* Brauer's curve from its own equations: B goes back to h to rounding, grows with it, has the slope of Fröhlich's at rest, and its polarisation
 * B - μh stays below S and is S from the end on. */
static void test_brauer(void **state) {
  (void)state;
  static const double material[][2] = {{1, 0.02}, {0.2, 0.02}, {5, 0.02}, {3, 0.5}};
  for (int m = 0; m < 4; m++) {
    double S = material[m][0], mu = material[m][1], rest = 1 / (S + mu), before = 0;
    double top = (1 / mu - rest) / (17 - exp(-8)), k1 = top * exp(-8), k3 = rest - k1, last = S / (1 - mu * (top + k3)),
           k2 = 8 / (last * last), end = last * (top + k3);
    if (m == 0) assert_between(k3 / k1, 900, 1100);
    assert_between(closed_brauer(material[m], 0).nu * rest, 1 - 1e-15, 1 + 1e-15);
    for (double h = 1e-12; h < 1e6; h *= 1.07) {
      double B = closed_brauer(material[m], h).nu * h, polarisation = B - mu * h;
      double back = h < end ? B * (k1 * exp(k2 * B * B) + k3) : (B - S) / mu;
      double worst = 4e-14 * (h < end ? h : h + S / mu); /* the curve's end enlarges a rounding of B by 1 + 2·8 */
      assert_between(back - h, -worst, worst);
      assert_true(B > before);
      assert_true(polarisation <= S + 1e-15 * B && (h < end || polarisation >= S - 1e-15 * B));
      before = B;
    }
  }
}

/* A current I through the ring's window: H = I/2πr whatever the law, even one that varies with r. Relative error of H on edges. */
static double ring_error(closed_law law, int rings, int varies, double current, newton_report *report) {
  cx *c = annulus(rings);
  closed *s;
  closed_solver *w;
  arena mem = {0};
  double *winding = doubles(&mem, c->n[1]), *phi = doubles(&mem, c->n[0]), *H = doubles(&mem, c->n[1]),
         *want = doubles(&mem, c->n[1]), *material = doubles(&mem, CLOSED_MATERIAL * c->n[2]);
  static const double centre[1][2] = {{0, 0}};
  assert_ok(closed_windings(c, 1, centre, winding));
  assert_ok(closed_create(&s, c, NULL));
  assert_ok(closed_open(&w, s));
  for (int64_t f = 0; f < c->n[2]; f++) {
    double x[2] = {0};
    for (int i = 0; i < 6; i++) x[i % 2] += c->x[2 * c->vert[2][3 * f + i / 2] + i % 2] / 3;
    material[2 * f] = varies ? exp(3 * radius(x)) : 1;
    material[2 * f + 1] = 0.02;
  }
  for (int64_t e = 0; e < c->n[1]; e++) winding[e] *= current;
  assert_ok(closed_solve(w, law, material, winding, phi, report));
  closed_cochain(s, winding, phi, H);
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *a = c->x + 2 * c->vert[1][2 * e], *b = c->x + 2 * c->vert[1][2 * e + 1];
    want[e] = current / (2 * M_PI) * atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]);
  }
  double error = relative_distance(c->n[1], H, want);
  closed_close(w), closed_free(s), cx_free(c), arena_free(&mem);
  return error;
}

static void test_ring(void **state) {
  (void)state;
  static const closed_law laws[] = {closed_brauer, closed_froehlich};
  newton_report r;
  for (int i = 0; i < 4; i++) {
    double coarse = ring_error(laws[i / 2], 6, i % 2, 20, &r), fine = ring_error(laws[i / 2], 12, i % 2, 20, &r),
           order = log2(coarse / fine);
    print_message("ring: error %.2e, order %.2f, %d Newton steps\n", fine, order, r.steps);
    assert_true(fine < 1e-2);
    assert_between(order, 0.9, 2.5); /* the field of linear elements is of first order at least */
  }
  double pace = 0;
  for (int k = 0; k + 1 <= r.steps; k++)
    if (r.history[k] < 1e-2 * r.history[0] && r.history[k + 1] > 1e-11 * r.history[0])
      pace = fmax(pace, r.history[0] * r.history[k + 1] / pow(r.history[k], 2));
  assert_true(pace < 100); /* quadratic: the relative residual is at most squared, times this */
}

/* Flow to a well of radius 0.3: q = Q/2πr, p = -a Q/2π ln r + b (Q/2π)²/r + constant, given on the rim and on the square. */
static double well_error(double h) {
  static const double hole[1][3] = {{0.1, -0.2, 0.3}};
  gen_planar g = {.half = 1, .holes = 1, .hole = hole, .h_near = h, .h_far = h, .near = 0.1, .far = 0.5};
  double a = 2, b = 3, rate = 0.7, worst = 0;
  cx *c;
  assert_ok(cx_planar(&c, &g));
  arena mem = {0};
  double *p = doubles(&mem, c->n[0]), *want = doubles(&mem, c->n[0]),
         *material = doubles(&mem, CLOSED_MATERIAL * c->n[2]);
  closed *s;
  closed_solver *w;
  newton_report r;
  for (int64_t f = 0; f < c->n[2]; f++) material[2 * f] = a, material[2 * f + 1] = b;
  for (int64_t i = 0; i < c->n[0]; i++) {
    double d = hypot(c->x[2 * i] - 0.1, c->x[2 * i + 1] + 0.2);
    want[i] = -a * rate * log(d) + b * rate * rate / d;
    p[i] = c->on_boundary[0][i] ? want[i] : 0;
  }
  assert_ok(closed_create(&s, c, c->on_boundary[0]));
  assert_ok(closed_open(&w, s));
  assert_ok(closed_solve(w, closed_forchheimer, material, NULL, p, &r));
  for (int64_t i = 0; i < c->n[0]; i++) worst = fmax(worst, fabs(p[i] - want[i]));
  closed_close(w), closed_free(s), cx_free(c), arena_free(&mem);
  return worst;
}

/* Gas that flows out of the circle r = 1, Mach number `mach` there, through a layer of depth 1: ρ h r is constant. φ = ∫ h dr is given on both
 * rims, by Simpson's rule. Largest error of φ over its range. */
static double source_error(int rings, double mach) {
  enum { STEPS = 400 };
  cx *c = annulus(rings);
  arena mem = {0};
  double *phi = doubles(&mem, c->n[0]), *want = doubles(&mem, c->n[0]),
         *material = doubles(&mem, CLOSED_MATERIAL * c->n[2]);
  double M = 0.3, top = mach / M * sqrt((1 + 0.2 * M * M) / (1 + 0.2 * mach * mach)), gas[2] = {1, M}, worst = 0;
  double speed[2 * STEPS + 1], path[STEPS + 1] = {0};
  for (int k = 0; k <= 2 * STEPS; k++) {
    double h = k ? speed[k - 1] : top, r = 1 + 0.5 * k / STEPS;
    for (int i = 0; i < 40; i++) { /* Newton: ρ h r = ρ h at r = 1 */
      closed_response at = closed_gas(gas, h);
      h -= (at.nu * h - closed_gas(gas, top).nu * top / r) / (at.nu + at.bend * h * h);
    }
    speed[k] = h;
  }
  for (int k = 0; k < STEPS; k++)
    path[k + 1] = path[k] + (speed[2 * k] + 4 * speed[2 * k + 1] + speed[2 * k + 2]) / (6 * STEPS);
  for (int64_t f = 0; f < c->n[2]; f++) material[2 * f] = 1, material[2 * f + 1] = M;
  for (int64_t i = 0; i < c->n[0]; i++) {
    double at = fmin(fmax(radius(c->x + 2 * i) - 1, 0), 1) * STEPS;
    int k = at < STEPS ? (int)at : STEPS - 1;
    double s = at - k, mean = speed[2 * k] + s * (speed[2 * k + 2] - speed[2 * k]) / 2;
    want[i] = path[k] + s / STEPS * mean;
    phi[i] = c->on_boundary[0][i] ? want[i] : 0;
  }
  closed *s;
  closed_solver *w;
  newton_report r;
  assert_ok(closed_create(&s, c, c->on_boundary[0]));
  assert_ok(closed_open(&w, s));
  assert_ok(closed_solve(w, closed_gas, material, NULL, phi, &r));
  for (int64_t i = 0; i < c->n[0]; i++) worst = fmax(worst, fabs(phi[i] - want[i]) / path[STEPS]);
  closed_close(w), closed_free(s), cx_free(c), arena_free(&mem);
  return worst;
}

static void test_gas_source(void **state) {
  (void)state;
  double coarse = source_error(6, 0.9), fine = source_error(12, 0.9), order = log2(coarse / fine);
  print_message("source of gas at Mach 0.9: error %.2e, order %.2f\n", fine, order);
  assert_between(order, 1.6, 2.5);
  assert_true(fine < 0.01);
}

/* φ = x-stream past the circle r = 1, to first order in M² (Janzen, Rayleigh): φ₀ + M² φ₁. */
static double rayleigh(const double *x, int order) {
  double r = radius(x), a = atan2(x[1], x[0]), r3 = r * r * r;
  if (!order) return (r + 1 / r) * cos(a);
  return (13 / (12 * r) - 1 / (2 * r3) + 1 / (12 * r3 * r * r)) * cos(a) + (1 / (12 * r3) - 1 / (4 * r)) * cos(3 * a);
}

/* Given on r = 2, nothing through r = 1. */
static void solve_cylinder(const cx *c, double M, double *phi) {
  uint8_t *held = mem_alloc((size_t)c->n[0], 1);
  double *material = mem_alloc((size_t)c->n[2] * 2, sizeof *material);
  closed *s;
  closed_solver *w;
  newton_report r;
  for (int64_t f = 0; f < c->n[2]; f++) material[2 * f] = 1, material[2 * f + 1] = M;
  for (int64_t i = 0; i < c->n[0]; i++) {
    held[i] = c->on_boundary[0][i] && radius(c->x + 2 * i) > 1.5;
    phi[i] = held[i] ? rayleigh(c->x + 2 * i, 0) + M * M * rayleigh(c->x + 2 * i, 1) : 0;
  }
  assert_ok(closed_create(&s, c, held));
  assert_ok(closed_open(&w, s));
  assert_ok(closed_solve(w, closed_gas, material, NULL, phi, &r));
  closed_close(w), closed_free(s);
  mem_free(held), mem_free(material);
}

/* Slow gas does not feel that it can be compressed, and the first effect of that is Rayleigh's. */
static void test_gas_cylinder(void **state) {
  (void)state;
  double first[2], slow[2];
  for (int k = 0; k < 2; k++) {
    cx *c = annulus(8 << k);
    arena mem = {0};
    double *rest = doubles(&mem, c->n[0]), *phi = doubles(&mem, c->n[0]), *want = doubles(&mem, c->n[0]), M = 0.1;
    solve_cylinder(c, 0, rest);
    solve_cylinder(c, M, phi);
    for (int64_t i = 0; i < c->n[0]; i++) phi[i] = (phi[i] - rest[i]) / (M * M), want[i] = rayleigh(c->x + 2 * i, 1);
    first[k] = relative_distance(c->n[0], phi, want);
    for (int64_t i = 0; i < c->n[0]; i++) want[i] = rayleigh(c->x + 2 * i, 0);
    slow[k] = relative_distance(c->n[0], rest, want);
    cx_free(c), arena_free(&mem);
  }
  print_message("cylinder: incompressible %.1e, first order in M^2 %.1e of itself\n", slow[1], first[1]);
  assert_true(slow[1] < 0.3 * slow[0] && slow[1] < 5e-3);
  assert_true(first[1] < first[0] && first[1] < 0.05);
}

static void test_radial_well(void **state) {
  (void)state;
  double coarse = well_error(0.1), fine = well_error(0.05), order = log2(coarse / fine);
  print_message("radial well: error %.2e, order %.2f\n", fine, order);
  assert_between(order, 1.6, 2.5);
  assert_true(fine < 0.02);
}

/* ∮ of a 1-cochain round window j, counter-clockwise: the rim's edges, turned so that the window's centre lies to their left. */
static double period(const cx *c, int j, const double *u) {
  double sum = 0;
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *a = c->x + 2 * c->vert[1][2 * e], *b = c->x + 2 * c->vert[1][2 * e + 1], *o = sheet_hole[j];
    if (c->label[1][e] != 2 + j) continue;
    sum += (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]) > 0 ? u[e] : -u[e];
  }
  return sum;
}

/* H is closed, its periods are the currents, and reversing all currents reverses it: to rounding. */
static void check_field(const problem *p) {
  ready r = ready_make(p, "smoke");
  ready_group(&r, 0);
  int64_t edges = r.c->n[1], faces = r.c->n[2];
  double *curl = doubles(&r.mem, faces), *H = doubles(&r.mem, edges * GROUP), *B = doubles(&r.mem, faces * GROUP);
  double *current = r.block[find_block(&r, "current")], *now = r.block[find_block(&r, "H")],
         *density = r.block[find_block(&r, "B")];
  for (int k = 0; k < GROUP; k++) {
    cx_d(r.c, 1, 1, now + k * edges, curl);
    for (int64_t f = 0; f < faces; f++) assert_between(curl[f], -1e-14, 1e-14);
    for (int j = 0; j < SHEET_HOLES; j++) {
      double I = current[k * SHEET_HOLES + j];
      assert_between(period(r.c, j, now + k * edges) - I, -1e-13, 1e-13);
    }
  }
  memcpy(H, now, (size_t)(edges * GROUP) * sizeof *H);
  memcpy(B, density, (size_t)(faces * GROUP) * sizeof *B);
  for (int i = 0; i < GROUP * SHEET_HOLES; i++) current[i] *= -1;
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  for (int64_t e = 0; e < edges * GROUP; e++) assert_between(now[e] + H[e], -1e-11, 1e-11);
  for (int64_t f = 0; f < faces * GROUP; f++) assert_between(density[f] - B[f], -1e-11, 1e-11);
  ready_free(&r);
}

static void test_lamination_field(void **state) {
  (void)state;
  for (int law = 0; law < 2; law++) check_field(under(&problem_lamination, law));
}

/* Weak currents do not saturate: H tends to the free field when the saturation is uniform. */
static void test_lamination_linear(void **state) {
  (void)state;
  ready r = ready_make(&problem_lamination, "smoke");
  double *winding = ready_static(&r, "winding"), *free_field = doubles(&r.mem, r.c->n[1]);
  double *H = r.block[find_block(&r, "H")], *current = r.block[find_block(&r, "current")];
  for (int64_t i = 0; i < GROUP * r.c->n[0]; i++) r.block[0][i] = 1;
  for (int k = 0; k < GROUP; k++)
    for (int j = 0; j < SHEET_HOLES; j++) current[k * SHEET_HOLES + j] = pow(10, -k) * (1 + j);
  assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  double before = 1;
  for (int k = 0; k < GROUP; k++) {
    for (int64_t e = 0; e < r.c->n[1]; e++) {
      free_field[e] = 0;
      for (int j = 0; j < SHEET_HOLES; j++) free_field[e] += pow(10, -k) * (1 + j) * winding[e * SHEET_HOLES + j];
    }
    double gap = relative_distance(r.c->n[1], H + k * r.c->n[1], free_field);
    assert_true(gap < before);
    if (k > 2) assert_between(gap / before, 0.05, 0.2);
    before = gap;
  }
  ready_free(&r);
}

/* What the state of sample 0 says under these currents: the co-energy Σ |T| ∫ B dH, and the flux linkages Σ |T| B·h_j. */
static double link_fluxes(ready *r, const double current[SHEET_HOLES], double linkage[SHEET_HOLES]) {
  iron *w = r->work;
  double coenergy = 0;
  for (int64_t i = 0; i < r->c->n[0]; i++) w->phi[i] = 0;
  assert_ok(iron_set_material(w, "lamination", r->block[0]));
  assert_ok(iron_solve(w, "lamination", current, w->phi));
  for (int j = 0; j < SHEET_HOLES; j++) linkage[j] = 0;
  for (int64_t f = 0; f < r->c->n[2]; f++) {
    double B[2], area = r->c->measure[2][f];
    closed_response at;
    iron_flux(w, f, B, &at);
    coenergy += area * at.density;
    for (int j = 0; j < SHEET_HOLES; j++) {
      const double *h = r->s->vector + (j * r->c->n[2] + f) * 2;
      linkage[j] += area * (B[0] * h[0] + B[1] * h[1]);
    }
  }
  return coenergy;
}

/* Linkages are the slopes of the co-energy by the currents; theirs, the differential inductances, are symmetric and positive definite. */
static void check_inductance(const problem *p) {
  ready r = ready_make(p, "smoke");
  ready_group(&r, 0);
  double current[SHEET_HOLES] = {3, -2, 5}, linkage[3], up[3], down[3], L[3][3], e = 1e-3;
  double coenergy = link_fluxes(&r, current, linkage);
  assert_true(coenergy > 0);
  for (int j = 0; j < 3; j++) {
    double rise, kept = current[j];
    current[j] = kept + e, rise = link_fluxes(&r, current, up);
    current[j] = kept - e, rise -= link_fluxes(&r, current, down);
    current[j] = kept;
    assert_between(rise / (2 * e) - linkage[j], -1e-6 * coenergy, 1e-6 * coenergy);
    for (int k = 0; k < 3; k++) L[j][k] = (up[k] - down[k]) / (2 * e);
  }
  for (int j = 0; j < 3; j++)
    for (int k = 0; k < 3; k++) assert_between(L[j][k] - L[k][j], -1e-6 * L[0][0], 1e-6 * L[0][0]);
  double minor = L[0][0] * L[1][1] - L[0][1] * L[1][0];
  double det = L[0][0] * (L[1][1] * L[2][2] - L[1][2] * L[2][1]) - L[0][1] * (L[1][0] * L[2][2] - L[1][2] * L[2][0]) +
               L[0][2] * (L[1][0] * L[2][1] - L[1][1] * L[2][0]);
  assert_true(L[0][0] > 0 && minor > 1e-6 * L[0][0] * L[1][1] && det > 1e-6 * L[0][0] * L[1][1] * L[2][2]);
  ready_free(&r);
}

static void test_inductance(void **state) {
  (void)state;
  for (int law = 0; law < 2; law++) check_inductance(under(&problem_lamination, law));
}

/* Currents that stand still: the cycle's states are one state of lamination, and hysteresis is the only loss. Turning ones: the peak is no
 * less than the state at the start of the cycle. */
static void check_cycle(const problem *cycle, const problem *one) {
  ready r = ready_make(cycle, "smoke"), still = ready_make(one, "smoke");
  int64_t faces = r.c->n[2];
  ready_group(&r, 0);
  double *peak = r.block[find_block(&r, "peak")], *loss = r.block[find_block(&r, "loss")];
  double *B = still.block[find_block(&still, "B")], *current = still.block[find_block(&still, "current")];
  for (int turning = 1; turning >= 0; turning--) {
    memcpy(still.block[0], r.block[0], (size_t)(GROUP * r.c->n[0]) * sizeof(double));
    for (int i = 0; i < GROUP * SHEET_HOLES; i++) current[i] = r.block[1][i] + r.block[2][i] + r.block[4][i];
    assert_ok(problem_solve(still.p, still.s, still.c, still.work, still.block));
    for (int64_t f = 0; f < GROUP * faces; f++) {
      assert_true(peak[f] > B[f] - 1e-9);
      if (!turning) assert_between(peak[f] - B[f], -1e-9, 1e-9);
      double extra = loss[f] - pow(peak[f], 1.6);
      assert_true(turning ? extra > 1e-6 : fabs(extra) < 1e-9);
    }
    for (int j = 2; j < 6; j++) memset(r.block[j], 0, GROUP * SHEET_HOLES * sizeof(double));
    assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
  }
  ready_free(&still);
  ready_free(&r);
}

static void test_cycle(void **state) {
  (void)state;
  for (int law = 0; law < 2; law++) check_cycle(under(&problem_ironloss, law), under(&problem_lamination, law));
}

/* Currents of any strength have a solution, up to the end of the curve. */
static void test_strong_currents(void **state) {
  (void)state;
  for (int law = 0; law < 2; law++) {
    ready r = ready_make(under(&problem_lamination, law), "smoke");
    ready_group(&r, 0);
    double *current = r.block[find_block(&r, "current")];
    for (int k = 0; k < GROUP; k++)
      for (int j = 0; j < SHEET_HOLES; j++) current[k * SHEET_HOLES + j] *= pow(10, k % 6 - 3) / 8;
    for (int j = 0; j < SHEET_HOLES; j++) current[j] = j == 1 ? -1000 : 1000;
    assert_ok(problem_solve(r.p, r.s, r.c, r.work, r.block));
    ready_free(&r);
  }
}

/* A data set says which law made it, where that is not the first, and is solved again under that law. */
static void test_law_of_data(void **state) {
  (void)state;
  char dir[64], path[128];
  scratch_make(dir);
  for (int law = 0; law < 2; law++) {
    const problem *p = under(&problem_lamination, law), *found;
    dataset *d = smoke_file(p, scratch_path(path, dir, "data.st"), GROUP, 1);
    assert_int_equal(strstr(dataset_info(d)->params, "\"law\":\"brauer\"") != NULL, law);
    assert_ok(problem_of_data(dataset_info(d), &found));
    assert_ptr_equal(found, p);
    ready r = ready_make(found, "smoke");
    ready_group(&r, 0);
    const float *B = dataset_value(d, 3, 0);
    for (int64_t f = 0; f < r.c->n[2]; f++) assert_true(B[f] == (float)r.block[3][f]);
    ready_free(&r);
    dataset_free(d);
  }
  scratch_remove(dir);
}

static void refuse_law(const problem *p, const char *params, const char *text) {
  data_info info = {p->name, "dkho data", 1, params};
  assert_int_equal(problem_of_data(&info, &p), DKHO_E_INPUT);
  if (!strstr(fail_text(), text)) fail_msg("\"%s\", expected \"%s\"", fail_text(), text);
}

static void test_bad_laws(void **state) {
  (void)state;
  const problem *p;
  refuse_law(&problem_lamination, "{\"law\": \"Brauer\"}", "unknown law 'Brauer'; lamination has froehlich, brauer");
  refuse_law(&problem_ironloss, "{\"law\": \"\"}", "unknown law ''; ironloss has froehlich, brauer");
  refuse_law(&problem_wells, "{\"law\": \"brauer\"}", "unknown law 'brauer'; wells has no choice of laws");
  assert_ok(problem_of_data(&(data_info){"lamination", "dkho import", 1, "{\"law\": \"mine\"}"}, &p));
  assert_null(p); /* somebody else's */
  assert_ok(problem_of_data(&(data_info){"plate", "dkho data", 1, "{}"}, &p));
  assert_null(p);
  assert_ok(problem_of_data(&(data_info){"lamination", "dkho data", 1, "{}"}, &p));
  assert_ptr_equal(p, &problem_lamination);
}

/* Pressures stay between those of the wells and the square; what the wells take in, the square gives. */
static void test_wells(void **state) {
  (void)state;
  ready r = ready_make(&problem_wells, "smoke");
  int64_t n = r.c->n[0];
  ready_group(&r, 0);
  for (int k = 0; k < GROUP; k++) {
    const double *rim = r.block[1] + SHEET_HOLES * k, *p = r.block[2] + k * n;
    double lo = 0, hi = 0;
    for (int j = 0; j < SHEET_HOLES; j++) lo = fmin(lo, rim[j]), hi = fmax(hi, rim[j]);
    for (int64_t i = 0; i < n; i++) {
      int32_t l = r.c->label[0][i];
      assert_between(p[i], lo - 0.02 * (hi - lo), hi + 0.02 * (hi - lo));
      if (l) assert_true(p[i] == (l > 1 ? rim[l - 2] : 0));
    }
  }
  ready_free(&r);
}

static void refuse(ready *r, const char *text) {
  assert_int_equal(problem_solve(r->p, r->s, r->c, r->work, r->block), DKHO_E_INPUT);
  if (!strstr(fail_text(), text)) fail_msg("\"%s\", expected \"%s\"", fail_text(), text);
}

/* u is closed, its circulations are the given ones, along the square it is that of wind and circulations; twice the depth changes nothing;
 * a fluid that cannot be compressed (M = 0) answers linearly to wind and circulations, a gas does not. */
static void test_subsonic(void **state) {
  (void)state;
  ready r = ready_make(&problem_subsonic, "smoke");
  const cx *c = r.c;
  double *step = ready_static(&r, "step"), *winding = ready_static(&r, "winding"), *curl = doubles(&r.mem, c->n[2]);
  ready_group(&r, 0);
  double *depth = r.block[0], *wind = r.block[1], *turn = r.block[2], *M = r.block[3], *u = r.block[4];
  for (int k = 0; k < GROUP; k++) {
    cx_d(c, 1, 1, u + k * c->n[1], curl);
    for (int64_t f = 0; f < c->n[2]; f++) {
      assert_between(curl[f], -1e-13, 1e-13);
      assert_between(r.block[5][k * c->n[2] + f], 1e-6, CLOSED_MACH);
    }
    for (int j = 0; j < SHEET_HOLES; j++)
      assert_between(period(c, j, u + k * c->n[1]) - turn[3 * k + j], -1e-13, 1e-13);
    for (int64_t e = 0; e < c->n[1]; e++) {
      double want = wind[2 * k] * step[2 * e] + wind[2 * k + 1] * step[2 * e + 1];
      for (int j = 0; j < SHEET_HOLES; j++) want += turn[3 * k + j] * winding[3 * e + j];
      if (c->label[1][e] == 1) assert_between(u[k * c->n[1] + e] - want, -1e-14, 1e-14);
    }
  }
  for (int moving = 0; moving < 2; moving++) {
    double gap[3];
    for (int k = 0; k < 3; k++) { /* the first sample; twice the depth; half of all that drives it */
      for (int64_t i = 0; i < c->n[0]; i++) depth[k * c->n[0] + i] = (k == 1 ? 2 : 1) * depth[i];
      for (int a = 0; a < 2; a++) wind[2 * k + a] = (k == 2 ? 0.5 : 1) * wind[a];
      for (int j = 0; j < 3; j++) turn[3 * k + j] = (k == 2 ? 0.5 : 1) * turn[j];
      M[k] = moving ? 0.3 : 0;
    }
    assert_ok(problem_solve(r.p, r.s, c, r.work, r.block));
    for (int64_t e = 0; e < c->n[1]; e++) u[2 * c->n[1] + e] *= 2;
    for (int k = 1; k < 3; k++) gap[k] = relative_distance(c->n[1], u + k * c->n[1], u);
    assert_true(gap[1] < 1e-10);
    assert_true(moving ? gap[2] > 1e-3 : gap[2] < 1e-10);
  }
  ready_free(&r);
}

static void refuse_iron(const problem *p) {
  ready r = ready_make(p, "smoke");
  ready_group(&r, 0);
  double kept = r.block[1][1];
  r.block[1][1] = 1e9;
  refuse(&r, "lamination: current 2 is 1e+09; the curve of the iron ends at 1000");
  r.block[1][1] = NAN;
  refuse(&r, "lamination: current 2 is ");
  r.block[1][1] = kept;
  r.block[0][5] = -1;
  refuse(&r, "lamination: saturation at vertex 5 is -1, expected a positive number");
  ready_free(&r);
}

static void test_bad_parameters(void **state) {
  (void)state;
  for (int law = 0; law < 2; law++) refuse_iron(under(&problem_lamination, law));
  ready r = ready_make(&problem_wells, "smoke");
  ready_group(&r, 0);
  r.block[1][0] = INFINITY;
  refuse(&r, "wells: pressure 1 is inf");
  r.block[1][0] = 1;
  r.block[0][3] = NAN;
  refuse(&r, "wells: logk at vertex 3 is ");
  ready_free(&r);
  r = ready_make(&problem_subsonic, "smoke");
  ready_group(&r, 0);
  r.block[3][0] = 1.2;
  refuse(&r, "subsonic: Mach number 1.2 of the stream, expected 0 … 0.95");
  r.block[3][0] = 0.7; /* fine far away, too fast between the posts */
  assert_int_equal(problem_solve(r.p, r.s, r.c, r.work, r.block), DKHO_E_NOCONV);
  assert_non_null(strstr(fail_text(), "subsonic: with Mach number 0.7 of the stream the gas is faster than Mach 0.95"));
  r.block[3][0] = 0.1, r.block[2][1] = NAN;
  refuse(&r, "subsonic: circulation 2 is ");
  r.block[2][1] = 0, r.block[1][0] = INFINITY;
  refuse(&r, "subsonic: wind 1 is inf");
  r.block[1][0] = 1, r.block[0][2] = 0;
  refuse(&r, "subsonic: depth at vertex 2 is 0, expected a positive number");
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_laws),
      cmocka_unit_test(test_brauer),
      cmocka_unit_test(test_ring),
      cmocka_unit_test(test_radial_well),
      cmocka_unit_test(test_gas),
      cmocka_unit_test(test_gas_source),
      cmocka_unit_test(test_gas_cylinder),
      cmocka_unit_test(test_lamination_field),
      cmocka_unit_test(test_lamination_linear),
      cmocka_unit_test(test_inductance),
      cmocka_unit_test(test_cycle),
      cmocka_unit_test(test_strong_currents),
      cmocka_unit_test(test_law_of_data),
      cmocka_unit_test(test_bad_laws),
      cmocka_unit_test(test_wells),
      cmocka_unit_test(test_subsonic),
      cmocka_unit_test(test_bad_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
