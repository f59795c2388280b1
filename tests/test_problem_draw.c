/* test_problem_draw.c: what the problems draw, said a second time: the formulas of docs/PROBLEMS.md and of the problems' heads, point by point,
 * from the same random stream. Physics cannot notice a wrong amplitude; stored data depend on each. */
#include "problems.h"

enum { SEED = 42, SAMPLE = 3 };
static const double TINY = 1e-12;

static double square(double x) {
  return x * x;
}

static double distance2(int dim, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < dim; i++) sum += square(a[i] - b[i]);
  return sum;
}

static void assert_near(const char *what, int64_t at, double is, double expected) {
  if (!(fabs(is - expected) <= TINY * (1 + fabs(expected))))
    fail_msg("%s, element %lld: %.15g, expected %.15g", what, (long long)at, is, expected);
}

static rng sample_stream(void) {
  return rng_open(SEED, RNG_SAMPLE, SAMPLE);
}

/* A problem of groups with its inputs drawn. */
static ready drawn_group(const problem *p) {
  ready r = ready_make(p, "smoke");
  p->draw(r.s, r.work, SEED, 0, r.block);
  return r;
}

/* A sample's part of block j, each of n numbers. */
static const double *part(const ready *r, int j, int64_t n) {
  return r->block[j] + SAMPLE * n;
}

/* Darcy: Σ over (m, n) ≠ 0, |m|, |n| ≤ 3 of 0.6/(1+m²+n²)·(a cos π(mx+ny) + b sin π(mx+ny)); two rims in [0.5, 1.5). */
static void test_darcy(void **state) {
  (void)state;
  ready r = drawn_group(&problem_darcy);
  const double *f = part(&r, 0, r.c->n[0]), *g = part(&r, 4, 2);
  double a[7][7] = {{0}}, b[7][7] = {{0}};
  rng s = sample_stream();
  for (int m = -3; m <= 3; m++)
    for (int n = -3; n <= 3; n++)
      if (m || n) a[m + 3][n + 3] = rng_normal(&s), b[m + 3][n + 3] = rng_normal(&s);
  for (int64_t i = 0; i < r.c->n[0]; i++) {
    double sum = 0;
    for (int m = -3; m <= 3; m++)
      for (int n = -3; n <= 3; n++) {
        double t = M_PI * (m * r.c->x[2 * i] + n * r.c->x[2 * i + 1]);
        sum += 0.6 / (1 + m * m + n * n) * (a[m + 3][n + 3] * cos(t) + b[m + 3][n + 3] * sin(t));
      }
    assert_near("darcy f", i, f[i], sum);
  }
  for (int j = 0; j < 2; j++) assert_near("darcy g", j, g[j], 0.5 + rng_uniform(&s));
  /* K = 4ttᵀ + nnᵀ with t at a random angle in each face */
  const double *K = ready_static(&r, "K2");
  rng material = rng_open(42, RNG_MATERIAL, 0);
  for (int64_t i = 0; i < r.c->n[2]; i++) {
    double angle = M_PI * rng_uniform(&material), t[2] = {cos(angle), sin(angle)};
    for (int k = 0; k < 4; k++)
      assert_near("darcy K", 4 * i + k, K[4 * i + k], 3 * t[k / 2] * t[k % 2] + (k / 2 == k % 2));
  }
  ready_free(&r);
}

/* Torus: an offset in [-1, 1) and 5 … 11 blobs of width 0.15 at vertices, heights in [0.5, 2). */
static void test_torus(void **state) {
  (void)state;
  ready r = drawn_group(&problem_torus);
  const double *u = part(&r, 0, r.c->n[0]);
  rng s = sample_stream();
  double offset = 2 * rng_uniform(&s) - 1, height[11];
  int64_t at[11], blobs = 5 + (int64_t)rng_below(&s, 7);
  for (int64_t b = 0; b < blobs; b++)
    at[b] = (int64_t)rng_below(&s, (uint64_t)r.c->n[0]), height[b] = 0.5 + 1.5 * rng_uniform(&s);
  for (int64_t i = 0; i < r.c->n[0]; i++) {
    double sum = offset;
    for (int64_t b = 0; b < blobs; b++)
      sum += height[b] * exp(-distance2(3, r.c->x + 3 * i, r.c->x + 3 * at[b]) / (2 * 0.15 * 0.15));
    assert_near("torus u0", i, u[i], sum);
  }
  ready_free(&r);
}

/* Reaction: a rate in [2, 8), 3 … 8 blobs of width 0.2, heights in [0.1, 0.6), never above 1. */
static void test_reaction(void **state) {
  (void)state;
  ready r = drawn_group(&problem_reaction);
  const double *u = part(&r, 0, r.c->n[0]);
  rng s = sample_stream();
  assert_near("reaction rate", 0, *part(&r, 3, 1), 2 + 6 * rng_uniform(&s));
  double height[8];
  int64_t at[8], blobs = 3 + (int64_t)rng_below(&s, 6);
  for (int64_t b = 0; b < blobs; b++)
    at[b] = (int64_t)rng_below(&s, (uint64_t)r.c->n[0]), height[b] = 0.1 + 0.5 * rng_uniform(&s);
  for (int64_t i = 0; i < r.c->n[0]; i++) {
    double sum = 0;
    for (int64_t b = 0; b < blobs; b++)
      sum += height[b] * exp(-distance2(3, r.c->x + 3 * i, r.c->x + 3 * at[b]) / (2 * 0.2 * 0.2));
    assert_near("reaction u0", i, u[i], sum < 1 ? sum : 1);
  }
  ready_free(&r);
}

/* Heat: a mean in [-0.5, 0.5) and Σ_{m,n=0…3} a/(1+m²+n²) cos(πmx+φ) cos(πny+ψ); three rims in [-1, 1). */
static void test_heat(void **state) {
  (void)state;
  ready r = drawn_group(&problem_heat);
  const double *u = part(&r, 0, r.c->n[0]), *rim = part(&r, 3, 3);
  rng s = sample_stream();
  double mean = rng_uniform(&s) - 0.5, a[16], phi[16], psi[16];
  for (int k = 0; k < 16; k++)
    a[k] = rng_normal(&s), phi[k] = 2 * M_PI * rng_uniform(&s), psi[k] = 2 * M_PI * rng_uniform(&s);
  for (int64_t i = 0; i < r.c->n[0]; i++) {
    double sum = mean, x = r.c->x[2 * i], y = r.c->x[2 * i + 1];
    for (int k = 0, m, n; m = k / 4, n = k % 4, k < 16; k++)
      sum += a[k] / (1 + m * m + n * n) * cos(M_PI * m * x + phi[k]) * cos(M_PI * n * y + psi[k]);
    assert_near("heat u0", i, u[i], sum);
  }
  for (int j = 0; j < 3; j++) assert_near("heat rim", j, rim[j], 2 * rng_uniform(&s) - 1);
  ready_free(&r);
}

static double window(double r, double centre, double width) {
  return exp(-square((r - centre) / width));
}

static void unit_normals(rng *s, double e[3]) {
  for (int i = 0; i < 3; i++) e[i] = rng_normal(s);
  double size = sqrt(square(e[0]) + square(e[1]) + square(e[2]));
  for (int i = 0; i < 3; i++) e[i] /= size;
}

static double along(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

typedef struct cavity_source {
  double weight[5], k[4][3], phase[4];
  int blobs;
  double centre[9][3], width[9], strength[9], q, p, h, e[3], e1[3], e2[3];
} cavity_source;

/* In the order of the stream: weights, waves, blobs in spherical coordinates, multipoles. */
static cavity_source draw_cavity(void) {
  cavity_source c;
  rng s = sample_stream();
  double sum = 0;
  for (int j = 0; j < 5; j++) sum += c.weight[j] = exp(rng_normal(&s));
  for (int j = 0; j < 5; j++) c.weight[j] /= sum;
  for (int w = 0; w < 4; w++) {
    for (int i = 0; i < 3; i++) c.k[w][i] = (0.3 + 1.2 * rng_uniform(&s)) * M_PI / 2;
    c.phase[w] = 0;
    for (int i = 0; i < 3; i++) c.phase[w] += 2 * M_PI * rng_uniform(&s);
  }
  c.blobs = 4 + (int)rng_below(&s, 6);
  for (int b = 0; b < c.blobs; b++) {
    double radius = 0.52 + (1.7 - 0.52) * rng_uniform(&s), polar = M_PI * rng_uniform(&s);
    double azimuth = 2 * M_PI * rng_uniform(&s);
    c.width[b] = 0.5 + 0.7 * rng_uniform(&s);
    c.strength[b] = 1 + rng_uniform(&s);
    if (!rng_below(&s, 2)) c.strength[b] = -c.strength[b];
    c.centre[b][0] = radius * sin(polar) * cos(azimuth), c.centre[b][1] = radius * sin(polar) * sin(azimuth);
    c.centre[b][2] = radius * cos(polar);
  }
  c.q = 3 * rng_uniform(&s) - 1.5, c.p = 2 * rng_uniform(&s) - 1, c.h = rng_uniform(&s) - 0.5;
  unit_normals(&s, c.e), unit_normals(&s, c.e1), unit_normals(&s, c.e2);
  double overlap = along(c.e1, c.e2);
  for (int i = 0; i < 3; i++) c.e2[i] -= overlap * c.e1[i];
  double size = sqrt(along(c.e2, c.e2));
  for (int i = 0; i < 3; i++) c.e2[i] /= size;
  return c;
}

static double cavity_at(const cavity_source *c, const double *x) {
  double r = sqrt(along(x, x)), sum = 0, inner = window(r, 0.6, 0.2), c1 = along(x, c->e1) / r,
         c2 = along(x, c->e2) / r;
  for (int w = 0; w < 4; w++) sum += c->weight[0] * sin(along(c->k[w], x) + c->phase[w]);
  for (int b = 0; b < c->blobs; b++)
    sum += c->weight[1] * c->strength[b] * exp(-distance2(3, x, c->centre[b]) / (2 * square(c->width[b])));
  sum += c->weight[2] * c->q * inner + c->weight[3] * c->p * inner * along(x, c->e) / r;
  return sum + c->weight[4] * c->h * (3 * c1 * c1 - 1 + c1 * c2) * (inner + 0.3 * window(r, 1.4, 0.6));
}

/* Cavity: five families with softmax weights, scaled and bent by tanh(1.5 F/max|F|). */
static void test_cavity(void **state) {
  (void)state;
  ready r = drawn_group(&problem_cavity);
  const double *rho = part(&r, 0, r.c->n[0]);
  cavity_source c = draw_cavity();
  double largest = 0;
  for (int64_t i = 0; i < r.c->n[0]; i++) largest = fmax(largest, fabs(cavity_at(&c, r.c->x + 3 * i)));
  for (int64_t i = 0; i < r.c->n[0]; i++)
    assert_near("cavity rho", i, rho[i], tanh(1.5 * cavity_at(&c, r.c->x + 3 * i) / largest));
  ready_free(&r);
}

/* Maxwell: six plane waves, faded by (r - 0.4)(2 - r), along an edge by Simpson's rule; none on the conductors. */
static void test_maxwell(void **state) {
  (void)state;
  ready r = drawn_group(&problem_maxwell);
  const double *out = part(&r, 0, r.c->n[1]);
  double k[6][3], a[6][3], phase[6];
  rng s = sample_stream();
  for (int w = 0; w < 6; w++) {
    for (int i = 0; i < 3; i++) k[w][i] = 5 * rng_uniform(&s) - 2.5, a[w][i] = rng_normal(&s);
    phase[w] = 2 * M_PI * rng_uniform(&s);
  }
  for (int64_t e = 0; e < r.c->n[1]; e++) {
    const double *tail = r.c->x + 3 * (int64_t)r.c->vert[1][2 * e],
                 *head = r.c->x + 3 * (int64_t)r.c->vert[1][2 * e + 1];
    double value[3] = {0}, t[3] = {head[0] - tail[0], head[1] - tail[1], head[2] - tail[2]};
    for (int q = 0; q < 3; q++) {
      double x[3] = {tail[0] + q * t[0] / 2, tail[1] + q * t[1] / 2, tail[2] + q * t[2] / 2}, size = sqrt(along(x, x));
      for (int w = 0; w < 6; w++)
        value[q] += (size - 0.4) * (2 - size) * sin(along(k[w], x) + phase[w]) * along(a[w], t);
    }
    assert_near("maxwell E0", e, out[e], r.c->on_boundary[1][e] ? 0 : (value[0] + 4 * value[1] + value[2]) / 6);
  }
  ready_free(&r);
}

/* Σ over half the frequencies up to F of a cos + b sin, a, b of variance ∝ (1+m²+n²)^-decay that sum to 1: sheet.h. */
static void expect_gaussian(const cx *c, rng *s, int frequency, double decay, double *out) {
  double total = 0;
  for (int m = -frequency; m <= frequency; m++)
    for (int n = -frequency; n <= frequency; n++)
      if (m || n) total += pow(1 + m * m + n * n, -decay) / 2;
  memset(out, 0, (size_t)c->n[0] * sizeof *out);
  for (int m = 0; m <= frequency; m++)
    for (int n = m ? -frequency : 1; n <= frequency; n++) {
      double size = sqrt(pow(1 + m * m + n * n, -decay) / total), a = rng_normal(s), b = rng_normal(s);
      for (int64_t i = 0; i < c->n[0]; i++) {
        double t = M_PI * (m * c->x[2 * i] + n * c->x[2 * i + 1]);
        out[i] += size * (a * cos(t) + b * sin(t));
      }
    }
}

/* Waves: four pulses of normal height, widths in [0.12, 0.3), and κ = min(exp(0.3 g), 4). */
static void test_waves(void **state) {
  (void)state;
  ready r = drawn_group(&problem_waves);
  int64_t n = r.c->n[0];
  const double *p = part(&r, 0, n), *kappa = part(&r, 1, n);
  double blob[4][4], *g = doubles(&r.mem, n);
  rng s = sample_stream();
  for (int b = 0; b < 4; b++) {
    for (int i = 0; i < 2; i++) blob[b][i] = 1.8 * rng_uniform(&s) - 0.9;
    blob[b][2] = 0.12 + 0.18 * rng_uniform(&s), blob[b][3] = rng_normal(&s);
  }
  expect_gaussian(r.c, &s, 3, 2, g);
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int b = 0; b < 4; b++)
      sum += blob[b][3] * exp(-distance2(2, r.c->x + 2 * i, blob[b]) / (2 * square(blob[b][2])));
    assert_near("waves p0", i, p[i], sum);
    assert_near("waves kappa", i, kappa[i], fmin(exp(0.3 * g[i]), 4));
  }
  ready_free(&r);
}

/* Problems that draw sample by sample; g: room for a Gaussian field. */
static ready drawn_one(const problem *p, rng *s, double **g) {
  ready r = ready_make(p, "smoke");
  rng own = *s = sample_stream();
  p->draw_one(r.s, r.work, &own, r.block);
  *g = doubles(&r.mem, r.c->n[0]);
  return r;
}

static void test_wells(void **state) {
  (void)state;
  double *g;
  rng s;
  ready r = drawn_one(&problem_wells, &s, &g);
  expect_gaussian(r.c, &s, 4, 1.5, g);
  for (int64_t i = 0; i < r.c->n[0]; i++) assert_near("wells logk", i, r.block[0][i], g[i]);
  for (int j = 0; j < 3; j++) assert_near("wells rim", j, r.block[1][j], 4 * rng_uniform(&s) - 2);
  ready_free(&r);
}

static void test_flow(void **state) {
  (void)state;
  double *g;
  rng s;
  ready r = drawn_one(&problem_flow, &s, &g);
  expect_gaussian(r.c, &s, 5, 1.5, g);
  for (int64_t i = 0; i < r.c->n[0]; i++) assert_near("flow psi", i, r.block[0][i], 8 * g[i]);
  for (int j = 0; j < 3; j++) assert_near("flow speeds", j, r.block[1][j], 2 * rng_uniform(&s) - 1);
  assert_near("flow Re", 0, r.block[2][0], 20 * pow(10, rng_uniform(&s)));
  ready_free(&r);
}

static void test_subsonic(void **state) {
  (void)state;
  double *g, angle;
  rng s;
  ready r = drawn_one(&problem_subsonic, &s, &g);
  expect_gaussian(r.c, &s, 4, 1.5, g);
  for (int64_t i = 0; i < r.c->n[0]; i++) assert_near("subsonic depth", i, r.block[0][i], exp(0.25 * g[i]));
  angle = 2 * M_PI * rng_uniform(&s) - M_PI;
  assert_near("subsonic wind", 0, r.block[1][0], cos(angle));
  assert_near("subsonic wind", 1, r.block[1][1], sin(angle));
  for (int j = 0; j < 3; j++) assert_near("subsonic circulation", j, r.block[2][j], 0.8 * rng_uniform(&s) - 0.4);
  assert_near("subsonic Mach number", 0, r.block[3][0], 0.05 + 0.3 * rng_uniform(&s));
  ready_free(&r);
}

/* Elasticity: stiffness exp(0.3 g); on the right side three cosines of each component, 0.25·U[-1, 1)/(1+m), the pull itself from -0.2. */
static void test_elasticity(void **state) {
  (void)state;
  double *g, wave[2][3];
  rng s;
  ready r = drawn_one(&problem_elasticity, &s, &g);
  expect_gaussian(r.c, &s, 4, 1.5, g);
  for (int64_t i = 0; i < r.c->n[0]; i++) assert_near("elasticity stiffness", i, r.block[0][i], exp(0.3 * g[i]));
  for (int a = 0; a < 2; a++)
    for (int m = 0; m < 3; m++) {
      double least = a + m ? -1 : -0.2;
      wave[a][m] = 0.25 * (least + (1 - least) * rng_uniform(&s)) / (1 + m);
    }
  int64_t pulled = 0;
  for (int64_t e = 0; e < r.c->n[1]; e++) {
    const double *from = r.c->x + 2 * (int64_t)r.c->vert[1][2 * e], *to = r.c->x + 2 * (int64_t)r.c->vert[1][2 * e + 1];
    int right = from[0] > 1 - 1e-9 && to[0] > 1 - 1e-9;
    pulled += right;
    for (int a = 0; a < 2; a++) {
      double t = M_PI * ((from[1] + to[1]) / 2 + 1) / 2,
             sum = wave[a][0] + wave[a][1] * cos(t) + wave[a][2] * cos(2 * t);
      assert_near("elasticity pull", 2 * e + a, r.block[1][2 * e + a], right ? sum : 0);
    }
  }
  assert_true(pulled > 3);
  ready_free(&r);
}

/* Iron: saturation exp(0.3 g); currents in [-8, 8), or amplitude and phase of two harmonics about a mean. */
static void test_iron(void **state) {
  (void)state;
  double *g;
  rng s;
  ready r = drawn_one(&problem_lamination, &s, &g);
  expect_gaussian(r.c, &s, 4, 1.5, g);
  for (int64_t i = 0; i < r.c->n[0]; i++) assert_near("lamination saturation", i, r.block[0][i], exp(0.3 * g[i]));
  for (int j = 0; j < 3; j++) assert_near("lamination current", j, r.block[1][j], 16 * rng_uniform(&s) - 8);
  ready_free(&r);
  r = drawn_one(&problem_ironloss, &s, &g);
  expect_gaussian(r.c, &s, 4, 1.5, g);
  for (int64_t i = 0; i < r.c->n[0]; i++) assert_near("ironloss saturation", i, r.block[0][i], exp(0.3 * g[i]));
  for (int j = 0; j < 3; j++) {
    double draw[5];
    for (int i = 0; i < 5; i++) draw[i] = rng_uniform(&s);
    double first = 6 * draw[0], phase = 2 * M_PI * draw[1], third = 1.5 * draw[2], shift = 2 * M_PI * draw[3];
    const double expected[] = {4 * draw[4] - 2, first * cos(phase), first * sin(phase), third * cos(shift),
                               third * sin(shift)};
    for (int i = 0; i < 5; i++) assert_near("ironloss current", j, r.block[1 + i][j], expected[i]);
  }
  ready_free(&r);
}

/* Wires: J_c = exp(0.25 g) inside, 0 in the air; currents of 0.3 to 0.7 of π r² and a field up to 0.12, each with a phase. */
static void test_hts(void **state) {
  (void)state;
  static const double radius[] = {0.24, 0.26, 0.22};
  double *g;
  rng s;
  ready r = drawn_one(&problem_hts, &s, &g);
  expect_gaussian(r.c, &s, 4, 1.5, g);
  for (int64_t i = 0; i < r.c->n[0]; i++)
    assert_near("hts jc", i, r.block[0][i], r.c->label[0][i] >= 2 ? exp(0.25 * g[i]) : 0);
  for (int j = 0; j < 3; j++) {
    double size = (0.3 + 0.4 * rng_uniform(&s)) * M_PI * radius[j] * radius[j], phase = 2 * M_PI * rng_uniform(&s);
    assert_near("hts current, cos", j, r.block[1][j], size * cos(phase));
    assert_near("hts current, sin", j, r.block[2][j], size * sin(phase));
  }
  double size = 0.12 * rng_uniform(&s), angle = 2 * M_PI * rng_uniform(&s), phase = 2 * M_PI * rng_uniform(&s);
  for (int a = 0; a < 2; a++) {
    double along = size * (a ? sin(angle) : cos(angle));
    assert_near("hts field, cos", a, r.block[1][3 + a], along * cos(phase));
    assert_near("hts field, sin", a, r.block[2][3 + a], along * sin(phase));
  }
  ready_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_darcy),    cmocka_unit_test(test_torus),      cmocka_unit_test(test_reaction),
      cmocka_unit_test(test_heat),     cmocka_unit_test(test_cavity),     cmocka_unit_test(test_maxwell),
      cmocka_unit_test(test_waves),    cmocka_unit_test(test_wells),      cmocka_unit_test(test_flow),
      cmocka_unit_test(test_subsonic), cmocka_unit_test(test_elasticity), cmocka_unit_test(test_iron),
      cmocka_unit_test(test_hts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
