/* maxwell.c: electromagnetic fields between two conducting spheres, E_t = curl B, B_t = -curl E in units of the speed of light, E × n = 0 on
 * both. E as line integrals on edges, B as fluxes through faces, Whitney masses; the midpoint rule in time, which the slivers of a Delaunay
 * mesh do not force to small steps. No step can change d B, the flux through the inner sphere, or, but for rounding, the energy
 * ½(E·M₁E + B·M₂B). A sample varies the first E; B starts from zero. Targets: E and B at T. The map is linear. */
#include "problem/problem.h"

#include "mesh/generate.h"
#include "problem/fem.h"

#include <math.h>
#include <string.h>

enum { G = PROBLEM_GROUP, WAVES = 6, STEPS = 24 };
static const double T = 1.2, R_IN = 0.4, R_OUT = 2.0;

struct problem_state {
  const cx *c;
  int64_t inside;
  int32_t *unknown;  /* edges inside */
  csr mass;          /* M₁: rows and columns of the unknowns */
  csr induce;        /* unknowns × N2: dᵀ M₂ */
  chol_wide *factor; /* M₁ + Δt²/4 dᵀM₂d */
};

enum { E0, E, B }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    {"E0", DATA_INPUT, 1, 1, DATA_SCALE_RMS, 0, 1e-8, 0, 1},
    PROBLEM_TARGET("E", 1, 1),
    PROBLEM_TARGET("B", 2, 1),
    PROBLEM_POSITIONS(3),
    PROBLEM_STATIC("label0", 0, 3),
    PROBLEM_SPACE_STATICS,
    PROBLEM_SPECTRAL,
};
static const feat_row rows[] = {
    {"divergence", 0, FEAT_NATIVE, "dt(E0)"},
    PROBLEM_VERTEX_ROWS(FEAT_BOUNDARY),
    PROBLEM_SUMMARY_ROW(0, "broadcast(moment, rms)"),
    {"first field", 1, FEAT_NATIVE, "E0"},
    {"curl of the curl", 1, FEAT_NATIVE, "dt(d(E0))"},
    PROBLEM_EDGE_ROWS,
    PROBLEM_MODES_ROW(1),
    PROBLEM_SUMMARY_ROW(1, "broadcast(moment, rms)"),
    {"curl", 2, FEAT_NATIVE, "d(E0)"},
    {"position", 2, FEAT_NATIVE, "position2"},
    {"normal", 2, FEAT_NATIVE, "normal"},
    {"area", 2, FEAT_NATIVE, "area"},
    PROBLEM_MODES_ROW(2),
    PROBLEM_SUMMARY_ROW(2, "broadcast(moment, rms)"),
};
static const feat_summary summaries[] = {{"moment", "moment(E0, 1, tangent)"}, {"rms", "rms(E0, 1, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("E", 0),
    PROBLEM_RECIPE("B", 1),
};

static void maxwell_release(problem_state *s) {
  if (!s) return;
  mem_free(s->unknown);
  csr_free(&s->mass);
  csr_free(&s->induce);
  chol_wide_free(s->factor);
  mem_free(s);
}

/* d₁ as a matrix, the columns of the unknowns: N2 × unknowns. */
static dkho_status curl_matrix(const problem_state *s, csr *out) {
  const cx *c = s->c;
  int32_t *place = mem_alloc((size_t)c->n[1], sizeof *place);
  dkho_status st = place ? csr_alloc(out, c->n[2], s->inside, 3 * c->n[2]) : DKHO_E_MEMORY;
  if (st == DKHO_OK) {
    int64_t put = 0;
    for (int64_t e = 0; e < c->n[1]; e++) place[e] = -1;
    for (int64_t i = 0; i < s->inside; i++) place[s->unknown[i]] = (int32_t)i;
    for (int64_t f = 0; f < c->n[2]; f++) {
      for (int j = 0; j < 3; j++)
        if (place[c->face[2][3 * f + j]] >= 0) {
          out->col[put] = place[c->face[2][3 * f + j]]; /* faces are listed in ascending order, and so are unknowns */
          out->val[put++] = c->sign[2][3 * f + j];
        }
      out->ptr[f + 1] = put;
    }
    out->nnz = put;
  }
  mem_free(place);
  return st;
}

/* M₁, dᵀM₂ and the factor of M₁ + Δt²/4 dᵀM₂d, on the edges inside. */
static dkho_status assemble_midpoint(problem_state *s) {
  csr M1 = {0}, M2 = {0}, curl = {0}, turned = {0}, stiff = {0}, left = {0};
  double dt = T / STEPS;
  dkho_status st = fem_edge_mass(&M1, s->c);
  if (st == DKHO_OK) st = csr_select(&s->mass, &M1, s->inside, s->unknown, s->inside, s->unknown);
  if (st == DKHO_OK) st = fem_face_mass(&M2, s->c);
  if (st == DKHO_OK) st = curl_matrix(s, &curl);
  if (st == DKHO_OK) st = csr_transpose(&turned, &curl);
  if (st == DKHO_OK) st = csr_multiply(&s->induce, &turned, &M2);
  if (st == DKHO_OK) st = csr_multiply(&stiff, &s->induce, &curl);
  if (st == DKHO_OK) st = csr_add(&left, 1, &s->mass, dt * dt / 4, &stiff);
  if (st == DKHO_OK) st = chol_wide_factor(&s->factor, &left);
  csr_free(&M1), csr_free(&M2), csr_free(&curl), csr_free(&turned), csr_free(&stiff), csr_free(&left);
  return st;
}

static dkho_status maxwell_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = DKHO_E_MEMORY;
  if (MEM_NEW(s->unknown, c->n[1])) {
    for (int64_t e = 0; e < c->n[1]; e++)
      if (!c->on_boundary[1][e]) s->unknown[s->inside++] = (int32_t)e;
    st = assemble_midpoint(s);
  }
  if (st == DKHO_OK)
    *out = s;
  else
    maxwell_release(s);
  return st;
}

static size_t maxwell_work(const problem_state *s) {
  return sizeof(double) * G * (size_t)(4 * s->inside + s->c->n[1] + 2 * s->c->n[2]);
}

/* A sum of plane waves a sin(k·x + φ), fading towards both conductors; Simpson's rule along edges. */
static void draw_sample(const problem_state *s, uint64_t seed, int64_t sample, double *out) {
  rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample);
  const cx *c = s->c;
  double k[WAVES][3], a[WAVES][3], phase[WAVES];
  for (int w = 0; w < WAVES; w++) {
    for (int i = 0; i < 3; i++) k[w][i] = rng_range(&r, -2.5, 2.5), a[w][i] = rng_normal(&r);
    phase[w] = rng_range(&r, 0, 2 * M_PI);
  }
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *tail = c->x + 3 * (int64_t)c->vert[1][2 * e], *head = c->x + 3 * (int64_t)c->vert[1][2 * e + 1];
    out[e] = 0;
    for (int q = 0; q <= 2 && !c->on_boundary[1][e]; q++) {
      double x[3], field = 0;
      for (int i = 0; i < 3; i++) x[i] = tail[i] + 0.5 * q * (head[i] - tail[i]);
      double radius = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), fade = (radius - R_IN) * (R_OUT - radius);
      for (int w = 0; w < WAVES; w++) {
        double wave = sin(k[w][0] * x[0] + k[w][1] * x[1] + k[w][2] * x[2] + phase[w]);
        for (int i = 0; i < 3; i++) field += wave * a[w][i] * (head[i] - tail[i]);
      }
      out[e] += (q == 1 ? 4 : 1) / 6. * fade * field;
    }
  }
}

static void maxwell_draw(const problem_state *s, void *bytes, uint64_t seed, int64_t first, double *const *block) {
  (void)bytes;
  for (int k = 0; k < G; k++) draw_sample(s, seed, first + k, block[E0] + k * s->c->n[1]);
}

/* b ← b - a d e, all G fields. */
static void push_flux(const cx *c, double a, const double *e, double *b) {
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int j = 0; j < 3; j++) {
      const double *side = e + G * (int64_t)c->face[2][3 * f + j];
      double w = a * c->sign[2][3 * f + j];
      for (int k = 0; k < G; k++) b[f * G + k] -= w * side[k];
    }
}

/* With Ē the mean of E before and after a step: (M₁ + Δt²/4 dᵀM₂d) Ē = M₁E + Δt/2 dᵀM₂B, then E ← 2Ē - E, B ← B - Δt dĒ. */
static dkho_status maxwell_solve(const problem_state *s, void *bytes, double *const *block) {
  const cx *c = s->c;
  int64_t n = s->inside;
  double *now = bytes, *mean = now + n * G, *load = mean + n * G, *room = load + n * G, *all = room + n * G;
  double *flux = all + c->n[1] * G, dt = T / STEPS;
  problem_pack(c->n[1], block[E0], all);
  for (int64_t e = 0; e < c->n[1]; e++)
    for (int k = 0; k < G; k++) {
      if (!isfinite(all[e * G + k]))
        return fail(DKHO_E_INPUT, "maxwell: E0 on edge %lld is %g, expected a finite number", (long long)e,
                    all[e * G + k]);
      if (c->on_boundary[1][e]) all[e * G + k] = 0;
    }
  for (int64_t i = 0; i < n; i++) memcpy(now + i * G, all + G * (int64_t)s->unknown[i], G * sizeof *now);
  memset(flux, 0, (size_t)(c->n[2] * G) * sizeof *flux);
  for (int t = 0; t < STEPS; t++) {
    csr_apply(&s->mass, G, now, mean);
    csr_apply(&s->induce, G, flux, load);
    for (int64_t i = 0; i < n * G; i++) mean[i] += dt / 2 * load[i];
    chol_wide_solve(s->factor, mean, room);
    for (int64_t i = 0; i < n; i++) memcpy(all + G * (int64_t)s->unknown[i], mean + i * G, G * sizeof *mean);
    push_flux(c, dt, all, flux);
    for (int64_t i = 0; i < n * G; i++) now[i] = 2 * mean[i] - now[i];
  }
  for (int64_t i = 0; i < n; i++) memcpy(all + G * (int64_t)s->unknown[i], now + i * G, G * sizeof *now);
  problem_unpack(c->n[1], all, block[E]);
  problem_unpack(c->n[2], flux, block[B]);
  return DKHO_OK;
}

const problem problem_maxwell = {
    .name = "maxwell",
    .summary = "electromagnetic fields between two conducting spheres: E on edges, magnetic flux through faces",
    .sizes = {800, 100, 100},
    .smoke_sizes = {64, 16, 32},
    PROBLEM_ON_SHELL,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes =
        "E_t = curl B, B_t = -curl E to T = 1.2 between conducting spheres, B = 0 at first; Whitney masses, 24 steps of "
        "the midpoint rule. The map E0 to (E, B) is linear.",
    .prepare = maxwell_prepare,
    .release = maxwell_release,
    .work = maxwell_work,
    .draw = maxwell_draw,
    .solve = maxwell_solve,
    .demo = &(const problem_demo){.target = "B", .task = "first E -> magnetic flux at T; Maxwell's equations, linear"},
};
