/* reaction.c: reaction and diffusion u_t = DΔu + r u(1-u) on a torus (Fisher's equation), the rate r a global of each sample. P1
 * elements with lumped mass; per step the exact logistic map pointwise, half a step before and half after Crank–Nicolson of the
 * diffusion (Strang splitting, second order). Nonlinear in its input. Targets: species on vertices, species mass on faces. */
#include "problem/problem.h"

#include "data/static.h"
#include "mesh/generate.h"
#include "problem/fem.h"

#include <math.h>
#include <string.h>

enum { G = PROBLEM_GROUP, STEPS = 20 };
static const double D = 0.01, DT = 0.02, WIDTH = 0.2;

struct problem_state {
  const cx *c;
  csr half_minus; /* M_L - DΔt/2 S */
  chol_wide *half_plus;
};

/* Places of a sample's fields in a block, in the order of the table. */
enum { FIELD_U0, FIELD_U, FIELD_M, FIELD_RATE };
static const data_field fields[] = {
    PROBLEM_INPUT("u0", 0, 1, DATA_SCALE_RMS),
    PROBLEM_TARGET("u", 0, 1),
    PROBLEM_TARGET("m", 2, 1),
    PROBLEM_GLOBAL("rate", 1),
    PROBLEM_STATIC("weight", 0, 1),
    PROBLEM_POSITIONS(3),
    PROBLEM_STATIC("length", 1, 1),
    PROBLEM_STATIC("area", 2, 1),
    PROBLEM_SPECTRAL,
};
static const feat_row rows[] = {
    {"species", 0, FEAT_NATIVE, "u0"},
    {"position", 0, FEAT_NATIVE, "position0"},
    PROBLEM_MODES_ROW(0),
    {"heated species", 0, FEAT_DIFFUSION, "heat(u0, 0.03, 1, 4)"},
    PROBLEM_SUMMARY_ROW(0, "broadcast(rate, mean, rms)"),
    {"species difference", 1, FEAT_NATIVE, "d(u0)"},
    {"species", 1, FEAT_NATIVE, "mean(u0, 1)"},
    {"position", 1, FEAT_NATIVE, "position1"},
    {"length", 1, FEAT_NATIVE, "length"},
    PROBLEM_MODES_ROW(1),
    PROBLEM_SUMMARY_ROW(1, "broadcast(rate, mean, rms)"),
    {"species mass", 2, FEAT_NATIVE, "integral(u0, 2)"},
    {"species", 2, FEAT_NATIVE, "mean(u0, 2)"},
    PROBLEM_FACE_ROWS,
    {"heated species mass", 2, FEAT_DIFFUSION, "integral(heat(u0, 0.03, 1, 4), 2)"},
    PROBLEM_SUMMARY_ROW(2, "broadcast(rate, mean, rms)"),
};
static const feat_summary summaries[] = {
    {"rate", "value(rate)"}, {"mean", "average(u0, weight)"}, {"rms", "rms(u0, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    {"u", "dkho.tau_range=0.1", 1e-3, 1e-5, 1e-10, 200, 16, 16, 1, "generic"},
    {"m", "dkho.tau_range=0.1", 1e-3, 1e-5, 1e-10, 200, 16, 16, 1, "generic"},
};

static void reaction_release(problem_state *s) {
  if (!s) return;
  csr_free(&s->half_minus);
  chol_wide_free(s->half_plus);
  mem_free(s);
}

/* The lumped mass as a diagonal matrix. */
static dkho_status lumped(csr *out, const cx *c) {
  TRY(csr_alloc(out, c->n[0], c->n[0], c->n[0]));
  static_lumped(c, out->val);
  for (int64_t i = 0; i < c->n[0]; i++) out->col[i] = (int32_t)i, out->ptr[i + 1] = i + 1;
  return DKHO_OK;
}

static dkho_status reaction_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  csr M = {0}, S = {0}, plus = {0};
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = lumped(&M, c);
  if (st == DKHO_OK) st = fem_stiffness(&S, c, NULL);
  if (st == DKHO_OK) st = csr_add(&plus, 1, &M, D * DT / 2, &S);
  if (st == DKHO_OK) st = csr_add(&s->half_minus, 1, &M, -D * DT / 2, &S);
  if (st == DKHO_OK) st = chol_wide_factor(&s->half_plus, &plus);
  csr_free(&M);
  csr_free(&S);
  csr_free(&plus);
  if (st == DKHO_OK)
    *out = s;
  else
    reaction_release(s);
  return st;
}

/* 3 … 8 blobs with values in [0, 1], rate in [2, 8]. */
static void draw_sample(const cx *c, uint64_t seed, int64_t sample, double *u, double *rate) {
  rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample);
  *rate = rng_range(&r, 2, 8);
  int blobs = 3 + (int)rng_below(&r, 6);
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = 0;
  for (int b = 0; b < blobs; b++) {
    const double *centre = c->x + 3 * (int64_t)rng_below(&r, (uint64_t)c->n[0]);
    double height = rng_range(&r, 0.1, 0.6);
    for (int64_t i = 0; i < c->n[0]; i++) {
      double d = 0;
      for (int a = 0; a < 3; a++) d += (c->x[3 * i + a] - centre[a]) * (c->x[3 * i + a] - centre[a]);
      u[i] += height * exp(-d / (2 * WIDTH * WIDTH));
    }
  }
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = fmin(u[i], 1);
}

static void reaction_draw(const problem_state *s, void *bytes, uint64_t seed, int64_t first, double *const *block) {
  (void)bytes;
  for (int k = 0; k < G; k++)
    draw_sample(s->c, seed, first + k, block[FIELD_U0] + k * s->c->n[0], block[FIELD_RATE] + k);
}

/* u ← u e^{rt} / (1 + u (e^{rt} - 1)): u' = r u(1-u) exactly over time t. */
static void react(int64_t n, const double *rate, double t, double *u) {
  for (int k = 0; k < G; k++) {
    double growth = exp(rate[k] * t);
    for (int64_t i = 0; i < n; i++) u[i * G + k] = u[i * G + k] * growth / (1 + u[i * G + k] * (growth - 1));
  }
}

static size_t reaction_work(const problem_state *s) {
  return sizeof(double) * G * 3 * (size_t)s->c->n[0];
}

static dkho_status reaction_solve(const problem_state *s, void *bytes, double *const *block) {
  const cx *c = s->c;
  int64_t n = c->n[0];
  double *u = bytes, *next = u + n * G, *room = next + n * G;
  problem_pack(n, block[FIELD_U0], u);
  for (int t = 0; t < STEPS; t++) {
    react(n, block[FIELD_RATE], DT / 2, u);
    csr_apply(&s->half_minus, G, u, next);
    chol_wide_solve(s->half_plus, next, room);
    react(n, block[FIELD_RATE], DT / 2, next);
    memcpy(u, next, (size_t)(n * G) * sizeof *u);
  }
  problem_unpack(n, u, block[FIELD_U]);
  for (int k = 0; k < G; k++) {
    double *m = block[FIELD_M] + k * c->n[2];
    static_vertex_mean(c, 2, 1, block[FIELD_U] + k * n, m);
    for (int64_t f = 0; f < c->n[2]; f++) m[f] *= c->measure[2][f];
  }
  return DKHO_OK;
}

const problem problem_reaction = {
    .name = "reaction",
    .summary = "Fisher's reaction and diffusion on a torus: species, species mass",
    .sizes = {1600, 200, 200},
    .smoke_sizes = {64, 16, 32},
    PROBLEM_ON_TORUS,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes = "u_t = 0.01 Laplace(u) + r u (1 - u) to T = 0.4, r in [2, 8] per sample; P1 elements with lumped "
             "mass, Strang splitting with the exact logistic map. Nonlinear.",
    .prepare = reaction_prepare,
    .release = reaction_release,
    .work = reaction_work,
    .draw = reaction_draw,
    .solve = reaction_solve,
    .quick = &(const problem_budget){"main", 480, 40, 4},
    .demo =
        &(const problem_demo){.target = "u",
                              .task =
                                  "u(0) and a growth rate -> u(T); u' = 0.01 Lap u + r u (1 - u) on a torus, nonlinear",
                              .budget = {"main", 160, 30, 4}},
};
