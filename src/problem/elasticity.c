/* elasticity.c: a rubber plate with three round holes, clamped along its left side and pulled, pushed and sheared along its right one:
 * neo-Hookean, finite deformations, stiffness varying over the plate. A sample varies the stiffness and the traction, a dead load given on the
 * edges of the right side. Targets: displacement vectors on vertices, energy density on faces. Nonlinear in both inputs. */
#include "problem/elastic.h"
#include "problem/problem.h"
#include "problem/sheet.h"

#include <math.h>
#include <string.h>

enum { HOLES = SHEET_HOLES, FREQUENCY = 4, WAVES = 3 };
static const double TRACTION = 0.25, SPREAD = 0.3, ROUGHNESS = 1.5; /* TRACTION: of each wave, over the median of μ */
static const double TRACTION_MAX = 100;                             /* beyond which nobody pulls */

struct problem_state {
  const cx *c;
  elastic *s;
  uint8_t *right; /* N1: edges of the right side */
};

typedef struct plate {
  const problem_state *s;
  elastic_solver *w;
  double *mu;   /* N2 */
  double *load; /* N0 × 2 */
  arena mem;
} plate;

enum { STIFFNESS, PULL, U, ENERGY }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("stiffness", 0, 1, DATA_SCALE_MEANSTD),
    PROBLEM_INPUT("traction", 1, 2, DATA_SCALE_RMS),
    PROBLEM_TARGET("u", 0, 2),
    PROBLEM_TARGET("energy", 2, 1),
    PROBLEM_STATIC("right", 1, 1),
    SHEET_STATICS,
    PROBLEM_PLANE_STATICS,
};
#define EVERYTHING "broadcast(pull, tilt, mean, rms)"
static const feat_row rows[] = {
    {"stiffness", 0, FEAT_NATIVE, "stiffness"},
    {"traction", 0, FEAT_NATIVE, "dt(traction)"},
    PROBLEM_VERTEX_ROWS(FEAT_BOUNDARY),
    {"heated stiffness", 0, FEAT_DIFFUSION, "heat(stiffness, 0.05, 1, 4, 12)"},
    PROBLEM_SUMMARY_ROW(0, EVERYTHING),
    {"traction", 1, FEAT_NATIVE, "traction"},
    {"stiffness difference", 1, FEAT_NATIVE, "d(stiffness)"},
    {"stiffness", 1, FEAT_NATIVE, "mean(stiffness, 1)"},
    {"right side", 1, FEAT_NATIVE, "right"},
    PROBLEM_EDGE_ROWS,
    PROBLEM_MODES_ROW(1),
    PROBLEM_SUMMARY_ROW(1, EVERYTHING),
    {"stiffness integral", 2, FEAT_NATIVE, "integral(stiffness, 2)"},
    {"stiffness", 2, FEAT_NATIVE, "mean(stiffness, 2)"},
    PROBLEM_FACE_ROWS,
    PROBLEM_SUMMARY_ROW(2, EVERYTHING),
};
static const feat_summary summaries[] = {{"pull", "average(traction, right)"},
                                         {"tilt", "moment(traction, right, position1)"},
                                         {"mean", "average(stiffness, weight)"},
                                         {"rms", "centred_rms(stiffness, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("u", 0),
    PROBLEM_RECIPE("energy", 0),
};

static void elasticity_release(problem_state *s) {
  if (!s) return;
  elastic_free(s->s);
  mem_free(s->right);
  mem_free(s);
}

/* The sides of the square are where its outermost vertices are. */
static dkho_status elasticity_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  double left = INFINITY, right = -INFINITY;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  for (int64_t i = 0; i < c->n[0]; i++) left = fmin(left, c->x[2 * i]), right = fmax(right, c->x[2 * i]);
  uint8_t *held = mem_alloc((size_t)(2 * c->n[0]), sizeof *held);
  dkho_status st = held && MEM_NEW(s->right, c->n[1]) ? DKHO_OK : DKHO_E_MEMORY;
  for (int64_t i = 0; st == DKHO_OK && i < 2 * c->n[0]; i++) held[i] = c->x[i / 2 * 2] == left;
  for (int64_t e = 0; st == DKHO_OK && e < c->n[1]; e++)
    s->right[e] = c->x[2 * c->vert[1][2 * e]] == right && c->x[2 * c->vert[1][2 * e + 1]] == right;
  if (st == DKHO_OK) st = elastic_create(&s->s, c, held);
  mem_free(held);
  if (st == DKHO_OK)
    *out = s;
  else
    elasticity_release(s);
  return st;
}

static dkho_status elasticity_fill(const problem_state *s, const char *name, double *out) {
  if (strcmp(name, "right") != 0) return problem_fill_common(s->c, name, out);
  for (int64_t e = 0; e < s->c->n[1]; e++) out[e] = s->right[e] ? s->c->measure[1][e] : 0;
  return DKHO_OK;
}

static void close_plate(void *work) {
  plate *w = work;
  if (!w) return;
  elastic_close(w->w);
  arena_free(&w->mem);
  mem_free(w);
}

static dkho_status open_plate(void **out, const problem_state *s) {
  *out = NULL;
  plate *w;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = ARENA_NEW(&w->mem, w->mu, s->c->n[2]) && ARENA_NEW(&w->mem, w->load, 2 * s->c->n[0])
                       ? elastic_open(&w->w, s->s)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK)
    *out = w;
  else
    close_plate(w);
  return st;
}

/* Each component of the traction is a sum of cosines along the side; the plate is pulled rather than pushed. */
static void elasticity_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)work;
  const cx *c = s->c;
  double wave[2][WAVES];
  sheet_gaussian(c, r, FREQUENCY, ROUGHNESS, one[STIFFNESS]);
  for (int64_t i = 0; i < c->n[0]; i++) one[STIFFNESS][i] = exp(SPREAD * one[STIFFNESS][i]);
  for (int a = 0; a < 2; a++)
    for (int m = 0; m < WAVES; m++) wave[a][m] = TRACTION * rng_range(r, a == 0 && m == 0 ? -0.2 : -1, 1) / (1 + m);
  for (int64_t e = 0; e < c->n[1]; e++)
    for (int a = 0; a < 2; a++) {
      double y = (c->x[2 * c->vert[1][2 * e] + 1] + c->x[2 * c->vert[1][2 * e + 1] + 1]) / 2, sum = 0;
      for (int m = 0; m < WAVES; m++) sum += wave[a][m] * cos(m * M_PI * (y + 1) / 2);
      one[PULL][2 * e + a] = s->right[e] ? sum : 0;
    }
}

/* Half of what acts on an edge goes to each of its ends. */
static dkho_status set_load(plate *w, const double *traction) {
  const cx *c = w->s->c;
  memset(w->load, 0, 2 * (size_t)c->n[0] * sizeof *w->load);
  for (int64_t k = 0; k < 2 * c->n[1]; k++) {
    int64_t e = k / 2;
    if (!(fabs(traction[k]) <= TRACTION_MAX))
      return fail(DKHO_E_INPUT, "elasticity: traction on edge %lld is %g, expected at most %g in size", (long long)e,
                  traction[k], TRACTION_MAX);
    for (int end = 0; end < 2 && w->s->right[e]; end++)
      w->load[2 * (int64_t)c->vert[1][2 * e + end] + k % 2] += traction[k] * c->measure[1][e] / 2;
  }
  return DKHO_OK;
}

/* μ of a face is the mean of its corners'; u minimises the energy under the load. */
static dkho_status elasticity_solve_one(const problem_state *s, void *work, double *const *one) {
  plate *w = work;
  const cx *c = s->c;
  const double *stiffness = one[STIFFNESS];
  newton_report r;
  for (int64_t i = 0; i < c->n[0]; i++)
    if (!(stiffness[i] > 0) || !isfinite(stiffness[i]))
      return fail(DKHO_E_INPUT, "elasticity: stiffness at vertex %lld is %g, expected a positive number", (long long)i,
                  stiffness[i]);
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    w->mu[f] = (stiffness[v[0]] + stiffness[v[1]] + stiffness[v[2]]) / 3;
  }
  TRY(set_load(w, one[PULL]));
  memset(one[U], 0, 2 * (size_t)c->n[0] * sizeof *one[U]);
  dkho_status st = elastic_solve(w->w, w->mu, w->load, one[U], &r);
  if (st != DKHO_OK) return fail_prefix(st, "elasticity");
  elastic_read(s->s, w->mu, one[U], one[ENERGY], NULL);
  return DKHO_OK;
}

const problem problem_elasticity = {
    .name = "elasticity",
    .summary = "a rubber plate with holes, clamped on one side and pulled on the other: displacement, energy",
    SHEET_DOMAIN,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes =
        "Neo-Hookean plate in plane strain, Poisson's ratio 0.3, clamped on its left side, dead traction on its right "
        "one; shear modulus a lognormal field of median 1 per sample. P1 elements, Newton with load steps. Nonlinear.",
    .prepare = elasticity_prepare,
    .release = elasticity_release,
    .fill = elasticity_fill,
    .open = open_plate,
    .close = close_plate,
    .draw_one = elasticity_draw_one,
    .solve_one = elasticity_solve_one,
    .demo = &(const problem_demo){.target = "u", .task = "stiffness and traction -> displacement; rubber, nonlinear"},
};
