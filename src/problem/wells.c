/* wells.c: Darcy–Forchheimer flow in rock of random permeability k between three wells and the rim of a field: a q + b|q|q = -∇p, a = 1/k,
 * b = ½√a, ∇·q = 0; p given at the wells, 0 on the outer square. Targets: pressure on vertices, flux along edges. Nonlinear in both its
 * inputs; a single solve is quick. */
#include "problem/closed.h"
#include "problem/locate.h"
#include "problem/problem.h"
#include "problem/sheet.h"

#include <math.h>
#include <string.h>

enum { HOLES = SHEET_HOLES, FREQUENCY = 4 };
static const double PRESSURE = 2, SPREAD = 1, ROUGHNESS = 1.5, INERTIA = 0.5; /* PRESSURE: largest; SPREAD: of ln k */

struct problem_state {
  const cx *c;
  closed *s;
};

typedef struct well_solver {
  const problem_state *s;
  closed_solver *w;
  double *material; /* N2 × CLOSED_MATERIAL */
  double *flux;     /* N2 × 2 */
  double *p;        /* N0 */
  arena mem;
} well_solver;

enum { LOGK, RIM, P, Q }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("logk", 0, 1, DATA_SCALE_RMS),
    PROBLEM_GLOBAL("pressure", HOLES),
    PROBLEM_TARGET("p", 0, 1),
    PROBLEM_TARGET("q", 1, 1),
    PROBLEM_STATIC("holes", 0, HOLES),
    SHEET_STATICS,
    PROBLEM_STATIC("label1", 1, HOLES + 2),
    PROBLEM_PLANE_STATICS,
};
static const feat_row rows[] = {
    {"log permeability", 0, FEAT_NATIVE, "logk"},
    {"well pressure", 0, FEAT_NATIVE, "lift(pressure, holes)"},
    PROBLEM_VERTEX_ROWS(FEAT_NATIVE),
    {"heated log permeability", 0, FEAT_DIFFUSION, "heat(logk, 0.05, 1, 4, 12)"},
    {"heated well pressure", 0, FEAT_DIFFUSION, "heat(lift(pressure, holes), 0.05, 4, 12, 36)"},
    PROBLEM_SUMMARY_ROW(0, "broadcast(pressure, mean, rms)"),
    {"log permeability difference", 1, FEAT_NATIVE, "d(logk)"},
    {"log permeability", 1, FEAT_NATIVE, "mean(logk, 1)"},
    {"well pressure difference", 1, FEAT_NATIVE, "d(lift(pressure, holes))"},
    PROBLEM_EDGE_ROWS,
    {"boundary label", 1, FEAT_NATIVE, "label1"},
    PROBLEM_MODES_ROW(1),
    {"heated log permeability difference", 1, FEAT_DIFFUSION, "d(heat(logk, 0.05, 1, 4, 12))"},
    {"heated well pressure difference", 1, FEAT_DIFFUSION, "d(heat(lift(pressure, holes), 0.05, 4, 12, 36))"},
    PROBLEM_SUMMARY_ROW(1, "broadcast(pressure, mean, rms)"),
    {"log permeability integral", 2, FEAT_NATIVE, "integral(logk, 2)"},
    {"log permeability", 2, FEAT_NATIVE, "mean(logk, 2)"},
    {"well pressure", 2, FEAT_NATIVE, "mean(lift(pressure, holes), 2)"},
    PROBLEM_FACE_ROWS,
    PROBLEM_SUMMARY_ROW(2, "broadcast(pressure, mean, rms)"),
};
static const feat_summary summaries[] = {
    {"pressure", "value(pressure)"}, {"mean", "average(logk, weight)"}, {"rms", "rms(logk, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("p", 0),
    PROBLEM_RECIPE("q", 1),
};
static const data_known known[] = {
    {.target = "p", SHEET_BOUNDARY, .source = KNOWN_GLOBAL, .field = "pressure", .fixed = "holes", .component = -1},
};

static void wells_release(problem_state *s) {
  if (!s) return;
  closed_free(s->s);
  mem_free(s);
}

static dkho_status wells_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  uint8_t *held = mem_alloc((size_t)c->n[0], sizeof *held);
  for (int64_t i = 0; held && i < c->n[0]; i++) held[i] = c->label[0][i] > 0;
  dkho_status st = held ? closed_create(&s->s, c, held) : DKHO_E_MEMORY;
  mem_free(held);
  if (st == DKHO_OK)
    *out = s;
  else
    wells_release(s);
  return st;
}

static dkho_status wells_fill(const problem_state *s, const char *name, double *out) {
  if (strcmp(name, "holes") != 0) return problem_fill_common(s->c, name, out);
  problem_fill_holes(s->c, HOLES, out);
  return DKHO_OK;
}

static void close_wells(void *work) {
  well_solver *w = work;
  if (!w) return;
  closed_close(w->w);
  arena_free(&w->mem);
  mem_free(w);
}

static dkho_status open_wells(void **out, const problem_state *s) {
  *out = NULL;
  well_solver *w;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = ARENA_NEW(&w->mem, w->material, CLOSED_MATERIAL * s->c->n[2]) &&
                           ARENA_NEW(&w->mem, w->flux, 2 * s->c->n[2]) && ARENA_NEW(&w->mem, w->p, s->c->n[0])
                       ? closed_open(&w->w, s->s)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK)
    *out = w;
  else
    close_wells(w);
  return st;
}

static void wells_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)work;
  sheet_gaussian(s->c, r, FREQUENCY, ROUGHNESS, one[LOGK]);
  for (int64_t i = 0; i < s->c->n[0]; i++) one[LOGK][i] *= SPREAD;
  for (int j = 0; j < HOLES; j++) one[RIM][j] = rng_range(r, -PRESSURE, PRESSURE);
}

/* k of a face is the geometric mean of its corners'. */
static dkho_status set_rock(well_solver *w, const double *logk) {
  const cx *c = w->s->c;
  for (int64_t i = 0; i < c->n[0]; i++)
    if (!(fabs(logk[i]) <= 50))
      return fail(DKHO_E_INPUT, "wells: logk at vertex %lld is %g, expected -50 … 50", (long long)i, logk[i]);
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    double a = exp(-(logk[v[0]] + logk[v[1]] + logk[v[2]]) / 3);
    w->material[CLOSED_MATERIAL * f] = a;
    w->material[CLOSED_MATERIAL * f + 1] = INERTIA * sqrt(a);
  }
  return DKHO_OK;
}

static dkho_status wells_solve_from(const problem_state *s, void *work, problem_start *start, double *const *one) {
  well_solver *w = work;
  const cx *c = s->c;
  const double *rim = one[RIM];
  newton_report report;
  for (int j = 0; j < HOLES; j++)
    if (!(fabs(rim[j]) <= 1e6))
      return fail(DKHO_E_INPUT, "wells: pressure %d is %g, expected at most 1e6 in size", j + 1, rim[j]);
  TRY(set_rock(w, one[LOGK]));
  for (int64_t i = 0; i < c->n[0]; i++) {
    int label = c->label[0][i];
    one[P][i] = label >= 2 ? rim[label - 2] : label == 0 && start->guess ? start->guess[i] : 0;
  }
  dkho_status st = closed_solve(w->w, closed_forchheimer, w->material, NULL, one[P], &report);
  start->steps = report.steps;
  if (st != DKHO_OK) return fail_prefix(st, "wells: pressures %g, %g, %g", rim[0], rim[1], rim[2]);
  closed_vectors(s->s, NULL, one[P], w->flux);
  for (int64_t f = 0; f < c->n[2]; f++) {
    double *u = w->flux + 2 * f;
    double nu = closed_forchheimer(w->material + CLOSED_MATERIAL * f, sqrt(u[0] * u[0] + u[1] * u[1])).nu;
    u[0] *= -nu, u[1] *= -nu;
  }
  closed_integrals(c, w->flux, one[Q]);
  memcpy(w->p, one[P], (size_t)c->n[0] * sizeof *w->p);
  return DKHO_OK;
}

static dkho_status wells_solve_one(const problem_state *s, void *work, double *const *one) {
  return wells_solve_from(s, work, &(problem_start){0}, one);
}

static dkho_status wells_transfer(const void *work, const cx *to, double *const *one) {
  const well_solver *w = work;
  locator *l;
  TRY(locator_create(&l, w->s->c));
  locate_linear(l, w->p, to, one[P]);
  dkho_status st = locate_integrals(l, w->flux, to, one[Q]);
  locator_free(l);
  return st;
}

const problem problem_wells = {
    .name = "wells",
    .summary = "Darcy-Forchheimer flow between wells in rock of random permeability: pressure, flux",
    SHEET_DOMAIN,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .knowns = sizeof known / sizeof *known,
    .known = known,
    .notes =
        "q/k + 0.5 |q| q/sqrt(k) = -grad p, div q = 0; ln k a Gaussian field of variance 1 per sample, p in [-2, 2] "
        "at three wells, 0 on the outer square. P1 elements, Newton; a single solve is quick. Nonlinear.",
    .prepare = wells_prepare,
    .release = wells_release,
    .fill = wells_fill,
    .open = open_wells,
    .close = close_wells,
    .draw_one = wells_draw_one,
    .solve_one = wells_solve_one,
    .guessed = "p",
    .solve_from = wells_solve_from,
    .transfer = wells_transfer,
    .demo = &(const problem_demo){.target = "p",
                                  .task = "permeability and well pressures -> pressure; Darcy-Forchheimer, nonlinear"},
};
