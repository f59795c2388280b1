/* waves.c: sound in a sheet with three windows, p_t = -κ ∇·v, v_t = -∇p, all walls hard: v·n = 0. Pressure on vertices, velocity as line
 * integrals on edges, leapfrog in time: v lives between the steps of p. The diagonal Hodge stars are those of linear elements, lumped mass
 * and cotangents, so the scheme is that of the wave equation with P1 elements and lumped mass. What no step can change: d v, the periods
 * of v round the windows, and ∫ p/κ. A sample varies the first pressure and the bulk modulus κ. Targets: p and v at T. */
#include "problem/fem.h"
#include "problem/problem.h"
#include "problem/sheet.h"

#include "data/static.h"

#include <math.h>
#include <string.h>

enum { G = PROBLEM_GROUP, HOLES = SHEET_HOLES, BLOBS = 4, FREQUENCY = 3 };
static const double T = 0.6, COURANT = 0.9, SPREAD = 0.3, ROUGHNESS = 2, WIDTH[2] = {0.12, 0.3};
static const double STIFFEST = 4; /* largest κ that the time step is made for */

struct problem_state {
  const cx *c;
  double *mass;  /* N0: lumped */
  double *star;  /* N1: -S_ij, what a unit of v along the edge moves between its ends */
  int64_t steps; /* to T */
};

enum { P0, KAPPA, P, V }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("p0", 0, 1, DATA_SCALE_RMS),
    PROBLEM_INPUT("kappa", 0, 1, DATA_SCALE_MEANSTD),
    PROBLEM_TARGET("p", 0, 1),
    PROBLEM_TARGET("v", 1, 1),
    SHEET_STATICS,
    PROBLEM_PLANE_STATICS,
};
static const feat_row rows[] = {
    {"first pressure", 0, FEAT_NATIVE, "p0"},
    {"bulk modulus", 0, FEAT_NATIVE, "kappa"},
    PROBLEM_VERTEX_ROWS(FEAT_BOUNDARY),
    {"heated pressure", 0, FEAT_DIFFUSION, "heat(p0, 0.05, 1, 4, 12)"},
    PROBLEM_SUMMARY_ROW(0, "broadcast(mean, moment, rms, stiffness)"),
    {"pressure difference", 1, FEAT_NATIVE, "d(p0)"},
    {"pressure", 1, FEAT_NATIVE, "mean(p0, 1)"},
    {"bulk modulus", 1, FEAT_NATIVE, "mean(kappa, 1)"},
    PROBLEM_EDGE_ROWS,
    PROBLEM_MODES_ROW(1),
    {"heated pressure difference", 1, FEAT_DIFFUSION, "d(heat(p0, 0.05, 1, 4, 12))"},
    PROBLEM_SUMMARY_ROW(1, "broadcast(mean, moment, rms, stiffness)"),
    {"pressure integral", 2, FEAT_NATIVE, "integral(p0, 2)"},
    {"pressure", 2, FEAT_NATIVE, "mean(p0, 2)"},
    {"bulk modulus", 2, FEAT_NATIVE, "mean(kappa, 2)"},
    PROBLEM_FACE_ROWS,
    PROBLEM_SUMMARY_ROW(2, "broadcast(mean, moment, rms, stiffness)"),
};
static const feat_summary summaries[] = {{"mean", "average(p0, weight)"},
                                         {"moment", "moment(p0, weight, position0)"},
                                         {"rms", "rms(p0, weight, 1e-12, 0)"},
                                         {"stiffness", "average(kappa, weight)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("p", 0),
    PROBLEM_RECIPE("v", 0),
};

static void waves_release(problem_state *s) {
  if (!s) return;
  mem_free(s->mass);
  mem_free(s->star);
  mem_free(s);
}

/* Leapfrog is stable for Δt < 2/√λ, λ the largest eigenvalue of κ M⁻¹S; λ ≤ max κ Σ_j|S_ij|/M_i. */
static void choose_step(problem_state *s, const csr *S) {
  double most = 0;
  for (int64_t i = 0; i < S->rows; i++) {
    double sum = 0;
    for (int64_t p = S->ptr[i]; p < S->ptr[i + 1]; p++) sum += fabs(S->val[p]);
    most = fmax(most, STIFFEST * sum / s->mass[i]);
  }
  s->steps = (int64_t)ceil(T * sqrt(most) / (2 * COURANT));
}

static dkho_status waves_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  csr S = {0};
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = MEM_NEW(s->mass, c->n[0]) && MEM_NEW(s->star, c->n[1]) ? fem_stiffness(&S, c, NULL) : DKHO_E_MEMORY;
  if (st == DKHO_OK) {
    static_lumped(c, s->mass);
    for (int64_t e = 0; e < c->n[1]; e++)
      for (int64_t p = S.ptr[c->vert[1][2 * e]]; p < S.ptr[c->vert[1][2 * e] + 1]; p++)
        if (S.col[p] == c->vert[1][2 * e + 1]) s->star[e] = -S.val[p];
    choose_step(s, &S);
    *out = s;
  } else
    waves_release(s);
  csr_free(&S);
  return st;
}

static size_t waves_work(const problem_state *s) {
  return sizeof(double) * G * (size_t)(3 * s->c->n[0] + s->c->n[1]);
}

/* Four pulses of either sign; κ lognormal of median 1, cut off where the time step was made for. */
static void draw_sample(const cx *c, uint64_t seed, int64_t sample, double *p, double *kappa) {
  rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample);
  for (int64_t i = 0; i < c->n[0]; i++) p[i] = 0;
  for (int b = 0; b < BLOBS; b++) {
    double x = rng_range(&r, -0.9, 0.9), y = rng_range(&r, -0.9, 0.9), width = rng_range(&r, WIDTH[0], WIDTH[1]);
    double height = rng_normal(&r);
    for (int64_t i = 0; i < c->n[0]; i++) {
      double dx = c->x[2 * i] - x, dy = c->x[2 * i + 1] - y;
      p[i] += height * exp(-(dx * dx + dy * dy) / (2 * width * width));
    }
  }
  sheet_gaussian(c, &r, FREQUENCY, ROUGHNESS, kappa);
  for (int64_t i = 0; i < c->n[0]; i++) kappa[i] = fmin(exp(SPREAD * kappa[i]), STIFFEST);
}

static void waves_draw(const problem_state *s, void *bytes, uint64_t seed, int64_t first, double *const *block) {
  (void)bytes;
  for (int k = 0; k < G; k++)
    draw_sample(s->c, seed, first + k, block[P0] + k * s->c->n[0], block[KAPPA] + k * s->c->n[0]);
}

/* v ← v - a d p, all G fields. */
static void push_velocity(const cx *c, double a, const double *p, double *v) {
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *tail = p + G * (int64_t)c->vert[1][2 * e], *head = p + G * (int64_t)c->vert[1][2 * e + 1];
    for (int k = 0; k < G; k++) v[e * G + k] -= a * (head[k] - tail[k]);
  }
}

/* p ← p + a κ M⁻¹ dᵀ(star v): what leaves a vertex along its edges. */
static void push_pressure(const problem_state *s, double a, const double *kappa, const double *v, double *p) {
  const cx *c = s->c;
  for (int64_t i = 0; i < c->n[0]; i++) {
    double sum[G] = {0};
    for (int64_t q = c->coptr[0][i]; q < c->coptr[0][i + 1]; q++) {
      int64_t e = c->coface[0][q];
      double w = c->cosign[0][q] * s->star[e];
      for (int k = 0; k < G; k++) sum[k] += w * v[e * G + k];
    }
    for (int k = 0; k < G; k++) p[i * G + k] += a * kappa[i * G + k] / s->mass[i] * sum[k];
  }
}

/* v starts and ends with half a step, so that both fields are given at the same times. */
static dkho_status waves_solve(const problem_state *s, void *bytes, double *const *block) {
  const cx *c = s->c;
  int64_t n = c->n[0];
  double *p = bytes, *kappa = p + n * G, *v = kappa + n * G, dt = T / (double)s->steps;
  for (int64_t i = 0; i < n * G; i++)
    if (!(block[KAPPA][i] > 0 && block[KAPPA][i] <= STIFFEST))
      return fail(DKHO_E_INPUT, "waves: kappa at vertex %lld is %g, expected a positive number up to %g",
                  (long long)(i % n), block[KAPPA][i], STIFFEST);
  problem_pack(n, block[P0], p);
  problem_pack(n, block[KAPPA], kappa);
  memset(v, 0, (size_t)(c->n[1] * G) * sizeof *v);
  for (int64_t t = 0; t < s->steps; t++) {
    push_velocity(c, t == 0 ? dt / 2 : dt, p, v);
    push_pressure(s, dt, kappa, v, p);
  }
  push_velocity(c, dt / 2, p, v);
  problem_unpack(n, p, block[P]);
  problem_unpack(c->n[1], v, block[V]);
  return DKHO_OK;
}

const problem problem_waves = {
    .name = "waves",
    .summary =
        "sound in a sheet with hard walls and windows, its stiffness varying from sample to sample: pressure, velocity",
    SHEET_DOMAIN,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes =
        "p_t = -kappa div v, v_t = -grad p to T = 0.6, hard walls; kappa a lognormal field of median 1 per sample, four "
        "pulses. Leapfrog with lumped mass and cotangent weights. Linear in the pulses, not in kappa.",
    .prepare = waves_prepare,
    .release = waves_release,
    .work = waves_work,
    .draw = waves_draw,
    .solve = waves_solve,
    .demo = &(const problem_demo){.target = "p", .task = "pulses and stiffness -> pressure at T; acoustic waves"},
};
