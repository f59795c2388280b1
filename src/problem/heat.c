/* heat.c: heat flow u_t = κΔu on a perforated square, insulated outside, the rim of each hole kept at its own temperature.
 * Crank–Nicolson after two steps of backward Euler (which damp what the jump at the rims starts). Targets: temperature at T and
 * the line-integrated heat flux -κ d0 u. Its domain is none of the paper's: three holes, Betti numbers (1, 3, 0). */
#include "problem/problem.h"

#include "mesh/generate.h"
#include "problem/fem.h"

#include <math.h>
#include <string.h>

enum { G = PROBLEM_GROUP, HOLES = 3, SMOOTH = 2, STEPS = 20, WAVES = 3 };
static const double KAPPA = 0.05, DT = 0.01;

struct problem_state {
  const cx *c;
  int64_t inside;
  int32_t *unknown;
  csr euler_right, crank_right; /* rows of the unknowns: M, and M - κΔt/2 S */
  csr euler_rim, crank_rim;     /* the same rows of M + κΔt S and M + κΔt/2 S, for the rims' columns */
  chol_wide *euler, *crank;
};

/* Places of a sample's fields in a block, in the order of the table. */
enum { FIELD_U0, FIELD_U, FIELD_Q, FIELD_RIM };
static const data_field fields[] = {
    PROBLEM_INPUT("u0", 0, 1, DATA_SCALE_RMS),
    PROBLEM_TARGET("u", 0, 1),
    PROBLEM_TARGET("q", 1, 1),
    PROBLEM_GLOBAL("rim", HOLES),
    PROBLEM_STATIC("holes", 0, HOLES),
    PROBLEM_STATIC("weight", 0, 1),
    PROBLEM_POSITIONS(2),
    PROBLEM_PLANE_STATICS,
};
static const feat_row rows[] = {
    {"temperature", 0, FEAT_NATIVE, "u0"},
    {"rim temperature", 0, FEAT_NATIVE, "lift(rim, holes)"},
    {"position", 0, FEAT_NATIVE, "position0"},
    PROBLEM_MODES_ROW(0),
    {"heated temperature", 0, FEAT_DIFFUSION, "heat(u0, 0.05, 1, 4, 12)"},
    PROBLEM_SUMMARY_ROW(0, "broadcast(rim, mean, rms)"),
    {"temperature difference", 1, FEAT_NATIVE, "d(u0)"},
    {"temperature", 1, FEAT_NATIVE, "mean(u0, 1)"},
    {"rim temperature difference", 1, FEAT_NATIVE, "d(lift(rim, holes))"},
    {"rim temperature", 1, FEAT_NATIVE, "mean(lift(rim, holes), 1)"},
    PROBLEM_EDGE_ROWS,
    PROBLEM_MODES_ROW(1),
    {"heated temperature difference", 1, FEAT_DIFFUSION, "d(heat(u0, 0.05, 1, 4, 12))"},
    PROBLEM_SUMMARY_ROW(1, "broadcast(rim, mean, rms)"),
    {"heat content", 2, FEAT_NATIVE, "integral(u0, 2)"},
    {"temperature", 2, FEAT_NATIVE, "mean(u0, 2)"},
    {"rim temperature", 2, FEAT_NATIVE, "mean(lift(rim, holes), 2)"},
    PROBLEM_FACE_ROWS,
    PROBLEM_SUMMARY_ROW(2, "broadcast(rim, mean, rms)"),
};
static const feat_summary summaries[] = {
    {"rim", "value(rim)"}, {"mean", "average(u0, weight)"}, {"rms", "rms(u0, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("u", 0),
    PROBLEM_RECIPE("q", 1),
};

static dkho_status heat_build(cx **out, const char *resolution) {
  static const double hole[HOLES][3] = {{-0.5, -0.4, 0.2}, {0.45, -0.25, 0.25}, {0.0, 0.5, 0.22}};
  int smoke = strcmp(resolution, "smoke") == 0;
  if (!smoke && strcmp(resolution, "main") != 0)
    return fail(DKHO_E_INPUT, "heat: unknown resolution '%s'; there are smoke, main", resolution);
  gen_planar p = {.half = 1,
                  .holes = HOLES,
                  .hole = hole,
                  .h_near = smoke ? 0.09 : 0.025,
                  .h_far = smoke ? 0.25 : 0.06,
                  .near = 0.05,
                  .far = 0.5};
  return cx_planar(out, &p);
}

static void heat_release(problem_state *s) {
  if (!s) return;
  mem_free(s->unknown);
  csr_free(&s->euler_right);
  csr_free(&s->crank_right);
  csr_free(&s->euler_rim);
  csr_free(&s->crank_rim);
  chol_wide_free(s->euler);
  chol_wide_free(s->crank);
  mem_free(s);
}

/* M + θκΔt S on the unknowns is factored; its rows are kept for the rim values; M - (1-θ)κΔt S acts on the old state. */
static dkho_status scheme(const problem_state *s, const csr *M, const csr *S, double theta, csr *right, csr *rim,
                          chol_wide **factor) {
  csr left = {0}, old = {0}, inner = {0};
  const cx *c = s->c;
  int32_t *all = mem_alloc((size_t)c->n[0], sizeof *all);
  dkho_status st = all ? csr_add(&left, 1, M, theta * KAPPA * DT, S) : DKHO_E_MEMORY;
  for (int64_t i = 0; all && i < c->n[0]; i++) all[i] = (int32_t)i;
  if (st == DKHO_OK) st = csr_add(&old, 1, M, -(1 - theta) * KAPPA * DT, S);
  if (st == DKHO_OK) st = csr_select(right, &old, s->inside, s->unknown, c->n[0], all);
  if (st == DKHO_OK) st = csr_select(rim, &left, s->inside, s->unknown, c->n[0], all);
  if (st == DKHO_OK) st = csr_select(&inner, &left, s->inside, s->unknown, s->inside, s->unknown);
  if (st == DKHO_OK) st = chol_wide_factor(factor, &inner);
  csr_free(&left);
  csr_free(&old);
  csr_free(&inner);
  mem_free(all);
  return st;
}

static dkho_status heat_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  csr M = {0}, S = {0};
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = MEM_NEW(s->unknown, c->n[0]) ? fem_mass(&M, c) : DKHO_E_MEMORY;
  for (int64_t i = 0; st == DKHO_OK && i < c->n[0]; i++)
    if (c->label[0][i] < 2) s->unknown[s->inside++] = (int32_t)i;
  if (st == DKHO_OK) st = fem_stiffness(&S, c, NULL);
  if (st == DKHO_OK) st = scheme(s, &M, &S, 1.0, &s->euler_right, &s->euler_rim, &s->euler);
  if (st == DKHO_OK) st = scheme(s, &M, &S, 0.5, &s->crank_right, &s->crank_rim, &s->crank);
  csr_free(&M);
  csr_free(&S);
  if (st == DKHO_OK)
    *out = s;
  else
    heat_release(s);
  return st;
}

static dkho_status heat_fill(const problem_state *s, const char *name, double *out) {
  if (strcmp(name, "holes") != 0) return problem_fill_common(s->c, name, out);
  problem_fill_holes(s->c, HOLES, out);
  return DKHO_OK;
}

/* A random mean and Σ_{m,n ≤ 3} a cos(πmx + φ) cos(πny + ψ), a ~ N(0,1)/(1+m²+n²), φ, ψ uniform; rims ~ U[-1,1). */
static void draw_sample(const cx *c, uint64_t seed, int64_t sample, double *u, double *rim) {
  rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample);
  double mean = rng_range(&r, -0.5, 0.5);
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = mean;
  for (int m = 0; m <= WAVES; m++)
    for (int n = 0; n <= WAVES; n++) {
      double a = rng_normal(&r) / (1 + m * m + n * n), px = rng_range(&r, 0, 2 * M_PI), py = rng_range(&r, 0, 2 * M_PI);
      for (int64_t i = 0; i < c->n[0]; i++)
        u[i] += a * cos(M_PI * m * c->x[2 * i] + px) * cos(M_PI * n * c->x[2 * i + 1] + py);
    }
  for (int j = 0; j < HOLES; j++) rim[j] = rng_range(&r, -1, 1);
}

static void heat_draw(const problem_state *s, void *bytes, uint64_t seed, int64_t first, double *const *block) {
  (void)bytes;
  for (int k = 0; k < G; k++)
    draw_sample(s->c, seed, first + k, block[FIELD_U0] + k * s->c->n[0], block[FIELD_RIM] + k * HOLES);
}

static size_t heat_work(const problem_state *s) {
  return sizeof(double) * G * (size_t)(2 * s->c->n[0] + 3 * s->inside);
}

/* One step of all G fields (N0 × G), the rims' values kept in `held`; load, shift, room: unknowns × G. */
static void step(const problem_state *s, const csr *right, const csr *rim, const chol_wide *factor, double *u,
                 const double *held, double *load) {
  int64_t n = s->inside;
  double *shift = load + n * G, *room = shift + n * G;
  csr_apply(right, G, u, load);
  csr_apply(rim, G, held, shift);
  for (int64_t i = 0; i < n * G; i++) load[i] -= shift[i];
  chol_wide_solve(factor, load, room);
  for (int64_t i = 0; i < n; i++) memcpy(u + G * s->unknown[i], load + G * i, G * sizeof *u);
}

/* G fields side by side; rims keep their values from the first step on. q = -κ d u. */
static dkho_status heat_solve(const problem_state *s, void *bytes, double *const *block) {
  const cx *c = s->c;
  int64_t n = c->n[0];
  double *u = bytes, *held = u + n * G, *load = held + n * G;
  problem_pack(n, block[FIELD_U0], u);
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < G; k++) {
      int32_t l = c->label[0][i];
      held[i * G + k] = l >= 2 ? block[FIELD_RIM][k * HOLES + l - 2] : 0;
      if (l >= 2) u[i * G + k] = held[i * G + k];
    }
  for (int t = 0; t < STEPS; t++)
    if (t < SMOOTH)
      step(s, &s->euler_right, &s->euler_rim, s->euler, u, held, load);
    else
      step(s, &s->crank_right, &s->crank_rim, s->crank, u, held, load);
  problem_unpack(n, u, block[FIELD_U]);
  for (int k = 0; k < G; k++) {
    double *q = block[FIELD_Q] + k * c->n[1];
    cx_d(c, 0, 1, block[FIELD_U] + k * n, q);
    for (int64_t e = 0; e < c->n[1]; e++) q[e] *= -KAPPA;
  }
  return DKHO_OK;
}

const problem problem_heat = {
    .name = "heat",
    .summary = "heat flow on a square with three holes held at their own temperatures: temperature, heat flux",
    .sizes = {1600, 200, 200},
    .smoke_sizes = {64, 16, 32},
    .dim = 2,
    .gdim = 2,
    .labels = 5,
    .betti = {1, 3, 0},
    .counts = {3103, 8998, 5893},
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes = "u_t = 0.05 Laplace(u) to T = 0.2, insulated outer square, rims at given temperatures; P1 elements, "
             "two steps of backward Euler, then Crank-Nicolson. The map (u0, rim) to (u, q) is linear.",
    .build = heat_build,
    .prepare = heat_prepare,
    .release = heat_release,
    .fill = heat_fill,
    .work = heat_work,
    .draw = heat_draw,
    .solve = heat_solve,
    .quick = &(const problem_budget){"main", 400, 40, 4},
    .demo = &(const problem_demo){.target = "u", .task = "u(0) and temperatures of three holes -> u(T), linear"},
};
