/* magnetostatics.c: the magnetic field between two spheres of infinitely permeable iron, around currents J = curl T and in a material of random
 * permeability μ: div B = 0, curl(B/μ - T) = 0, the tangential part of B/μ - T vanishes on both spheres, and a given flux Φ leaves the
 * inner one. No vector potential has that flux: it is the part of B that H² holds. B as fluxes through faces, Raviart–Thomas elements,
 * which minimise ½∫|B|²/μ - ∫T·B; a multiplier λ on every face holds the tetrahedra together:
 *   in a tetrahedron   M b + λ - p 1 = t,  1ᵀ b = 0,   b outward fluxes, M_ij = ∫ w_i·w_j/μ, t_i = ∫ T·w_i, w_i = (x - x_i)/3|K|
 *   hence b = P(t - λ), P = M⁻¹ - M⁻¹11ᵀM⁻¹/1ᵀM⁻¹1, and Σ P λ = Σ P t on faces inside: symmetric, positive definite.
 * λ is 0 on the outer sphere and the constant that gives Φ on the inner one. Nonlinear in μ. */
#include "problem/assembly.h"
#include "problem/fem.h"
#include "problem/problem.h"

#include "mesh/generate.h"
#include "mesh/vec3.h"

#include <math.h>
#include <string.h>

enum { WAVES = 6, CORNERS = 4 };
static const double R_IN = 0.4, R_OUT = 2.0, FLUX = 4, SPREAD = 0.7; /* FLUX: largest; SPREAD: of ln μ */

struct problem_state {
  const cx *c;
  int32_t *unknown; /* N2; -1: outer sphere, -2: inner */
  double *kernel;   /* N3 × 16: P at μ = 1 */
  double *outward;  /* N3 × 4: 1, or -1 where a face's orientation points into the tetrahedron */
  int64_t n;
  assembly matrix;
};

typedef struct magnet_solver {
  const problem_state *s;
  assembled m;
  double *mu, *source; /* N3; N3 × 4: P t */
  double *x, *none;    /* unknowns: λ; zeros */
  double *flux;        /* N2: B of λ = 1 on the inner sphere alone */
  arena mem;
} magnet_solver;

enum { LOGMU, SOURCE, TOTAL, B }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("logmu", 0, 1, DATA_SCALE_RMS),
    PROBLEM_INPUT("T", 1, 1, DATA_SCALE_RMS),
    PROBLEM_GLOBAL("flux", 1),
    PROBLEM_TARGET("B", 2, 1),
    PROBLEM_STATIC("radial", 2, 1),
    PROBLEM_STATIC("weight", 0, 1),
    PROBLEM_POSITIONS(3),
    PROBLEM_STATIC("label0", 0, 3),
    PROBLEM_SPACE_STATICS,
    PROBLEM_SPECTRAL,
};
#define EVERYTHING "broadcast(flux, moment, mean, rms)"
static const feat_row rows[] = {
    {"log permeability", 0, FEAT_NATIVE, "logmu"},
    {"divergence of the source", 0, FEAT_NATIVE, "dt(T)"},
    PROBLEM_VERTEX_ROWS(FEAT_BOUNDARY),
    PROBLEM_SUMMARY_ROW(0, EVERYTHING),
    {"source", 1, FEAT_NATIVE, "T"},
    {"log permeability", 1, FEAT_NATIVE, "mean(logmu, 1)"},
    {"log permeability difference", 1, FEAT_NATIVE, "d(logmu)"},
    PROBLEM_EDGE_ROWS,
    PROBLEM_MODES_ROW(1),
    PROBLEM_SUMMARY_ROW(1, EVERYTHING),
    {"current", 2, FEAT_NATIVE, "d(T)"},
    {"flux in a uniform material", 2, FEAT_NATIVE, "lift(flux, radial)"},
    {"log permeability", 2, FEAT_NATIVE, "mean(logmu, 2)"},
    {"position", 2, FEAT_NATIVE, "position2"},
    {"normal", 2, FEAT_NATIVE, "normal"},
    {"area", 2, FEAT_NATIVE, "area"},
    PROBLEM_MODES_ROW(2),
    PROBLEM_SUMMARY_ROW(2, EVERYTHING),
};
static const feat_summary summaries[] = {{"flux", "value(flux)"},
                                         {"moment", "moment(T, 1, tangent)"},
                                         {"mean", "average(logmu, weight)"},
                                         {"rms", "rms(T, 1, 1e-12, 0)"}};
static const data_recipe recipes[] = {PROBLEM_RECIPE("B", 1)};
static const data_known known[] = {
    {.target = "B", .source = KNOWN_GLOBAL, .field = "flux", .fixed = "radial", .component = -1}, /* its periods */
};

/* The corner of tetrahedron t that its face j lacks. */
static int corner_opposite(const cx *c, int64_t t, int j) {
  const int32_t *v = c->vert[3] + 4 * t, *f = c->vert[2] + 3 * (int64_t)c->face[3][4 * t + j];
  for (int i = 0; i < CORNERS; i++)
    if (v[i] != f[0] && v[i] != f[1] && v[i] != f[2]) return i;
  return -1;
}

static const double *corner_at(const cx *c, int64_t t, int i) {
  return c->x + 3 * (int64_t)c->vert[3][4 * t + i];
}

/* ∫ f·(x - x_i) over tetrahedron t, f linear with these values at the corners: ∫ λ_a λ_b = |K|(1 + δ_ab)/20. */
static double linear_moment(const cx *c, int64_t t, const double f[CORNERS][3], int i) {
  double sum = 0;
  for (int a = 0; a < CORNERS; a++)
    for (int b = 0; b < CORNERS; b++) {
      double arm[3];
      for (int k = 0; k < 3; k++) arm[k] = corner_at(c, t, a)[k] - corner_at(c, t, i)[k];
      sum += (a == b ? 2 : 1) * vec3_dot(f[b], arm);
    }
  return c->measure[3][t] * sum / 20;
}

/* P of tetrahedron t at μ = 1, by faces. */
static dkho_status find_kernel(const cx *c, int64_t t, double P[16]) {
  double M[16], inverse[16] = {0}, row[CORNERS] = {0}, total = 0, volume = c->measure[3][t];
  for (int i = 0; i < CORNERS; i++) {
    double f[CORNERS][3];
    int from = corner_opposite(c, t, i);
    for (int a = 0; a < CORNERS; a++)
      for (int k = 0; k < 3; k++) f[a][k] = corner_at(c, t, a)[k] - corner_at(c, t, from)[k];
    for (int j = 0; j < CORNERS; j++)
      M[4 * i + j] = linear_moment(c, t, (const double(*)[3])f, corner_opposite(c, t, j)) / (9 * volume * volume);
    inverse[5 * i] = 1;
  }
  TRY(dense_solve_spd(CORNERS, CORNERS, M, inverse));
  for (int i = 0; i < 16; i++) row[i / 4] += inverse[i], total += inverse[i];
  for (int i = 0; i < 16; i++) P[i] = inverse[i] - row[i / 4] * row[i % 4] / total;
  return DKHO_OK;
}

/* Which way faces point: the incidence of a tetrahedron whose corners are in right-handed order tells. */
static void find_outward(problem_state *s) {
  const cx *c = s->c;
  for (int64_t t = 0; t < c->n[3]; t++) {
    double e[3][3], cross[3];
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++) e[i][k] = corner_at(c, t, i + 1)[k] - corner_at(c, t, 0)[k];
    vec3_cross(e[0], e[1], cross);
    for (int j = 0; j < CORNERS; j++)
      s->outward[4 * t + j] = (vec3_dot(cross, e[2]) > 0 ? 1 : -1) * c->sign[3][4 * t + j];
  }
}

static int is_inner(const cx *c, int64_t f) {
  const double *x = c->x + 3 * (int64_t)c->vert[2][3 * f];
  return sqrt(vec3_dot(x, x)) < (R_IN + R_OUT) / 2;
}

static void magnet_release(problem_state *s) {
  if (!s) return;
  assembly_free(&s->matrix);
  mem_free(s->unknown);
  mem_free(s->kernel);
  mem_free(s->outward);
  mem_free(s);
}

static dkho_status number_faces(problem_state *s) {
  const cx *c = s->c;
  int32_t *own = mem_alloc((size_t)(4 * c->n[3]), sizeof *own);
  if (!own) return DKHO_E_MEMORY;
  for (int64_t f = 0; f < c->n[2]; f++)
    s->unknown[f] = c->on_boundary[2][f] ? (is_inner(c, f) ? -2 : -1) : (int32_t)s->n++;
  for (int64_t k = 0; k < 4 * c->n[3]; k++) own[k] = s->unknown[c->face[3][k]] < 0 ? -1 : s->unknown[c->face[3][k]];
  dkho_status st = assembly_make(&s->matrix, c->n[3], CORNERS, s->n, own);
  mem_free(own);
  return st == DKHO_OK ? assembly_analyse(&s->matrix) : st;
}

static dkho_status magnet_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = MEM_NEW(s->unknown, c->n[2]) && MEM_NEW(s->kernel, 16 * c->n[3]) && MEM_NEW(s->outward, 4 * c->n[3])
                       ? number_faces(s)
                       : DKHO_E_MEMORY;
  for (int64_t t = 0; st == DKHO_OK && t < c->n[3]; t++) st = find_kernel(c, t, s->kernel + 16 * t);
  if (st == DKHO_OK) {
    find_outward(s);
    *out = s;
  } else
    magnet_release(s);
  return st;
}

/* The share of all directions from the centre that a face covers (van Oosterom, Strackee): its flux of r/4πr³. */
static double solid_share(const cx *c, int64_t f) {
  const double *x[3];
  double r[3], cross[3];
  for (int i = 0; i < 3; i++) x[i] = c->x + 3 * (int64_t)c->vert[2][3 * f + i], r[i] = sqrt(vec3_dot(x[i], x[i]));
  vec3_cross(x[0], x[1], cross);
  double below =
      r[0] * r[1] * r[2] + vec3_dot(x[0], x[1]) * r[2] + vec3_dot(x[0], x[2]) * r[1] + vec3_dot(x[1], x[2]) * r[0];
  return 2 * atan2(vec3_dot(cross, x[2]), below) / (4 * M_PI);
}

static dkho_status magnet_fill(const problem_state *s, const char *name, double *out) {
  if (strcmp(name, "radial") != 0) return problem_fill_common(s->c, name, out);
  for (int64_t f = 0; f < s->c->n[2]; f++) out[f] = solid_share(s->c, f);
  return DKHO_OK;
}

static void magnet_close(void *work) {
  magnet_solver *w = work;
  if (!w) return;
  assembled_close(&w->m);
  arena_free(&w->mem);
  mem_free(w);
}

static dkho_status magnet_open(void **out, const problem_state *s) {
  *out = NULL;
  magnet_solver *w;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = ARENA_NEW(&w->mem, w->mu, s->c->n[3]) && ARENA_NEW(&w->mem, w->source, 4 * s->c->n[3]) &&
                           ARENA_NEW(&w->mem, w->x, s->n) && ARENA_NEW(&w->mem, w->none, s->n) &&
                           ARENA_NEW(&w->mem, w->flux, s->c->n[2])
                       ? assembled_open(&w->m, &s->matrix)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK)
    *out = w;
  else
    magnet_close(w);
  return st;
}

/* Plane waves a sin(k·x + φ): one amplitude for ln μ, three for T, which fades towards both spheres. */
static void magnet_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  const cx *c = s->c;
  double k[2 * WAVES][3], a[2 * WAVES][3], phase[2 * WAVES];
  (void)work;
  for (int w = 0; w < 2 * WAVES; w++) {
    for (int i = 0; i < 3; i++) k[w][i] = rng_range(r, -2.5, 2.5), a[w][i] = rng_normal(r);
    phase[w] = rng_range(r, 0, 2 * M_PI);
  }
  one[TOTAL][0] = rng_range(r, -FLUX, FLUX);
  for (int64_t i = 0; i < c->n[0]; i++) {
    one[LOGMU][i] = 0;
    for (int w = 0; w < WAVES; w++)
      one[LOGMU][i] += SPREAD * sqrt(2. / WAVES) * a[w][0] * sin(vec3_dot(k[w], c->x + 3 * i) + phase[w]);
  }
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *tail = c->x + 3 * (int64_t)c->vert[1][2 * e], *head = c->x + 3 * (int64_t)c->vert[1][2 * e + 1];
    double x[3], along[3];
    for (int i = 0; i < 3; i++) x[i] = (tail[i] + head[i]) / 2, along[i] = head[i] - tail[i];
    double radius = sqrt(vec3_dot(x, x));
    one[SOURCE][e] = 0;
    for (int w = WAVES; w < 2 * WAVES; w++)
      one[SOURCE][e] += (radius - R_IN) * (R_OUT - radius) * sin(vec3_dot(k[w], x) + phase[w]) * vec3_dot(a[w], along);
  }
}

/* T at the corners of a tetrahedron, from its Whitney form: Σ_b T_ab ∇λ_b at corner a. */
static void source_corners(const cx *c, int64_t t, const double *T, double f[CORNERS][3]) {
  double grad[CORNERS * 3];
  fem_gradients(c, t, grad);
  memset(f, 0, CORNERS * sizeof *f);
  for (int j = 0; j < CORNERS; j++)
    for (int e = 0; e < 3; e++) { /* an edge lies in two faces: each brings half */
      int64_t edge = c->face[2][3 * (int64_t)c->face[3][4 * t + j] + e];
      int end[2] = {0, 0};
      for (int k = 0; k < 2; k++)
        while (c->vert[3][4 * t + end[k]] != c->vert[1][2 * edge + k]) end[k]++;
      for (int k = 0; k < 3; k++) {
        f[end[0]][k] += T[edge] * grad[3 * end[1] + k] / 2;
        f[end[1]][k] -= T[edge] * grad[3 * end[0] + k] / 2;
      }
    }
}

/* μ of tetrahedra, geometric means of their corners', and P t. */
static dkho_status set_material(magnet_solver *w, double *const *one) {
  const cx *c = w->s->c;
  for (int64_t i = 0; i < c->n[0]; i++)
    if (!(fabs(one[LOGMU][i]) <= 50))
      return fail(DKHO_E_INPUT, "magnetostatics: logmu at vertex %lld is %g, expected -50 … 50", (long long)i,
                  one[LOGMU][i]);
  for (int64_t e = 0; e < c->n[1]; e++)
    if (!isfinite(one[SOURCE][e]))
      return fail(DKHO_E_INPUT, "magnetostatics: T on edge %lld is %g, expected a finite number", (long long)e,
                  one[SOURCE][e]);
  if (!isfinite(one[TOTAL][0]))
    return fail(DKHO_E_INPUT, "magnetostatics: flux is %g, expected a finite number", one[TOTAL][0]);
  for (int64_t t = 0; t < c->n[3]; t++) {
    double f[CORNERS][3], load[CORNERS], sum = 0;
    for (int i = 0; i < CORNERS; i++) sum += one[LOGMU][c->vert[3][4 * t + i]] / CORNERS;
    w->mu[t] = exp(sum);
    source_corners(c, t, one[SOURCE], f);
    for (int j = 0; j < CORNERS; j++)
      load[j] = linear_moment(c, t, (const double(*)[3])f, corner_opposite(c, t, j)) / (3 * c->measure[3][t]);
    for (int j = 0; j < CORNERS; j++) {
      w->source[4 * t + j] = 0;
      for (int k = 0; k < CORNERS; k++) w->source[4 * t + j] += w->mu[t] * w->s->kernel[16 * t + 4 * j + k] * load[k];
    }
  }
  return DKHO_OK;
}

static dkho_status factor_faces(magnet_solver *w) {
  assembled_clear(&w->m);
  for (int64_t t = 0; t < w->s->c->n[3]; t++) {
    double K[16];
    for (int i = 0; i < 16; i++) K[i] = w->mu[t] * w->s->kernel[16 * t + i];
    assembly_add(&w->s->matrix, t, K, &w->m.matrix);
  }
  return chol_refactor(w->m.factor, &w->m.matrix);
}

/* λ of face f of a solution x with this value on the inner sphere. */
static double multiplier_at(const problem_state *s, int64_t f, const double *x, double inner) {
  return s->unknown[f] >= 0 ? x[s->unknown[f]] : s->unknown[f] == -2 ? inner : 0;
}

/* b of tetrahedron t: source (NULL: none) less P λ. */
static void element_fluxes(const magnet_solver *w, int64_t t, const double *source, const double *x, double inner,
                           double b[CORNERS]) {
  const problem_state *s = w->s;
  for (int j = 0; j < CORNERS; j++) {
    b[j] = source ? source[4 * t + j] : 0;
    for (int k = 0; k < CORNERS; k++)
      b[j] -= w->mu[t] * s->kernel[16 * t + 4 * j + k] * multiplier_at(s, s->c->face[3][4 * t + k], x, inner);
  }
}

/* x ← λ, and flux ← B, of these sources and this λ on the inner sphere. Returns the flux that leaves the inner sphere in *total. */
static dkho_status solve_faces(magnet_solver *w, const double *source, double inner, double *x, double *flux,
                               double *total) {
  const problem_state *s = w->s;
  const cx *c = s->c;
  memset(x, 0, (size_t)s->n * sizeof *x);
  for (int64_t t = 0; t < c->n[3]; t++) { /* with λ = 0 inside, what continuity lacks */
    double b[CORNERS];
    element_fluxes(w, t, source, w->none, inner, b);
    for (int j = 0; j < CORNERS; j++)
      if (s->unknown[c->face[3][4 * t + j]] >= 0) x[s->unknown[c->face[3][4 * t + j]]] += b[j];
  }
  TRY(chol_solve(w->m.factor, w->m.work, 1, x, x));
  *total = 0;
  for (int64_t t = 0; t < c->n[3]; t++) {
    double b[CORNERS];
    element_fluxes(w, t, source, x, inner, b);
    for (int j = 0; j < CORNERS; j++) {
      int64_t f = c->face[3][4 * t + j];
      flux[f] = s->outward[4 * t + j] * b[j];
      if (s->unknown[f] == -2) *total -= b[j];
    }
  }
  return DKHO_OK;
}

static dkho_status magnet_solve_one(const problem_state *s, void *work, double *const *one) {
  magnet_solver *w = work;
  double own, unit;
  TRY(set_material(w, one));
  TRY(factor_faces(w));
  TRY(solve_faces(w, NULL, 1, w->x, w->flux, &unit));
  TRY(solve_faces(w, w->source, 0, w->x, one[B], &own));
  for (int64_t f = 0; f < s->c->n[2]; f++) one[B][f] += (one[TOTAL][0] - own) / unit * w->flux[f];
  return DKHO_OK;
}

const problem problem_magnetostatics = {
    .name = "magnetostatics",
    .summary = "magnetic flux around currents between two spheres, in a material of random permeability",
    .sizes = {800, 100, 100},
    .smoke_sizes = {64, 16, 32},
    PROBLEM_ON_SHELL,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .knowns = 1,
    .known = known,
    .notes = "div B = 0, curl(B/mu - T) = 0, (B/mu - T) x n = 0 on both spheres, a flux in [-4, 4] from the inner one; "
             "ln mu and T sums of six plane waves per sample. Raviart-Thomas elements. Nonlinear in mu.",
    .prepare = magnet_prepare,
    .release = magnet_release,
    .fill = magnet_fill,
    .open = magnet_open,
    .close = magnet_close,
    .draw_one = magnet_draw_one,
    .solve_one = magnet_solve_one,
    .demo = &(const problem_demo){.target = "B",
                                  .task = "permeability, currents, net flux -> flux through faces; nonlinear"},
};
