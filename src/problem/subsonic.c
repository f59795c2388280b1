/* subsonic.c: a perfect gas below the speed of sound in a shallow channel with three round posts, compressible potential flow: u closed with
 * given circulations Γ_j round the posts, u = wind + Σ Γ_j h_j + dφ, div(b ρ(|u|) u) = 0 with b the channel's depth, nothing through the
 * posts; along the outer square the velocity is that of wind and circulations (φ = 0). Depth, wind's direction, circulations and Mach number of the
 * stream vary by sample. Targets: velocity on edges, local Mach number on faces. Samples in which the gas comes near the speed of sound are
 * refused, and drawn again. */
#include "problem/closed.h"
#include "problem/locate.h"
#include "problem/problem.h"
#include "problem/sheet.h"

#include <math.h>
#include <string.h>

enum { HOLES = SHEET_HOLES, FREQUENCY = 4 };
static const double SPREAD = 0.25, ROUGHNESS = 1.5; /* of the depth's logarithm */
static const double CIRCULATION = 0.4, MACH[2] = {0.05, 0.35}, LARGEST = 100;

struct problem_state {
  const cx *c;
  closed *s;
  double *winding; /* HOLES × N1 */
  double *vector;  /* HOLES × N2 × 2: the same on faces */
};

typedef struct gas_solver {
  const problem_state *s;
  closed_solver *w;
  double *material; /* N2 × CLOSED_MATERIAL */
  double *start;    /* N1: wind + Σ Γ_j h_j */
  double *phi;      /* N0 */
  double *velocity; /* N2 × 2 */
  double *mach;     /* N2 */
  arena mem;
} gas_solver;

enum { DEPTH, WIND, CIRCULATIONS, STREAM, U, LOCAL }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("depth", 0, 1, DATA_SCALE_MEANSTD),
    PROBLEM_GLOBAL("wind", 2),
    PROBLEM_GLOBAL("circulation", HOLES),
    PROBLEM_GLOBAL("stream", 1),
    PROBLEM_TARGET("u", 1, 1),
    PROBLEM_TARGET("mach", 2, 1),
    PROBLEM_STATIC("step", 1, 2),
    PROBLEM_STATIC("winding", 1, HOLES),
    PROBLEM_STATIC("winding_x", 2, HOLES),
    PROBLEM_STATIC("winding_y", 2, HOLES),
    SHEET_STATICS,
    PROBLEM_STATIC("label1", 1, HOLES + 2),
    PROBLEM_PLANE_STATICS,
};
#define EVERYTHING "broadcast(wind, circulation, stream, mean, rms)"
static const feat_row rows[] = {
    {"depth", 0, FEAT_NATIVE, "depth"},
    {"divergence of the free flow", 0, FEAT_NATIVE, "dt(lift(circulation, winding))"},
    PROBLEM_VERTEX_ROWS(FEAT_BOUNDARY),
    {"heated depth", 0, FEAT_DIFFUSION, "heat(depth, 0.05, 1, 4, 12)"},
    PROBLEM_SUMMARY_ROW(0, EVERYTHING),
    {"wind", 1, FEAT_NATIVE, "lift(wind, step)"},
    {"circulation", 1, FEAT_NATIVE, "lift(circulation, winding)"},
    {"depth difference", 1, FEAT_NATIVE, "d(depth)"},
    {"depth", 1, FEAT_NATIVE, "mean(depth, 1)"},
    PROBLEM_EDGE_ROWS,
    {"boundary label", 1, FEAT_NATIVE, "label1"},
    PROBLEM_MODES_ROW(1),
    {"heated depth difference", 1, FEAT_DIFFUSION, "d(heat(depth, 0.05, 1, 4, 12))"},
    PROBLEM_SUMMARY_ROW(1, EVERYTHING),
    {"circulation along x", 2, FEAT_NATIVE, "lift(circulation, winding_x)"},
    {"circulation along y", 2, FEAT_NATIVE, "lift(circulation, winding_y)"},
    {"depth", 2, FEAT_NATIVE, "mean(depth, 2)"},
    PROBLEM_FACE_ROWS,
    {"heated depth", 2, FEAT_DIFFUSION, "mean(heat(depth, 0.05, 1, 4, 12), 2)"},
    PROBLEM_SUMMARY_ROW(2, EVERYTHING),
};
static const feat_summary summaries[] = {{"wind", "value(wind)"},
                                         {"circulation", "value(circulation)"},
                                         {"stream", "value(stream)"},
                                         {"mean", "average(depth, weight)"},
                                         {"rms", "centred_rms(depth, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("u", 1),
    PROBLEM_RECIPE("mach", 0),
};
static const data_known known[] = {
    {.target = "u",
     .source = KNOWN_GLOBAL,
     .field = "circulation",
     .fixed = "winding",
     .component = -1}, /* its periods */
};

static void subsonic_release(problem_state *s) {
  if (!s) return;
  closed_free(s->s);
  mem_free(s->winding);
  mem_free(s->vector);
  mem_free(s);
}

/* φ is held on the outer square. */
static dkho_status hold_square(problem_state *s) {
  uint8_t *held = mem_alloc((size_t)s->c->n[0], sizeof *held);
  for (int64_t i = 0; held && i < s->c->n[0]; i++) held[i] = s->c->label[0][i] == 1;
  dkho_status st = held ? closed_create(&s->s, s->c, held) : DKHO_E_MEMORY;
  mem_free(held);
  return st;
}

static dkho_status subsonic_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  double centre[HOLES][2];
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  for (int j = 0; j < HOLES; j++) memcpy(centre[j], sheet_hole[j], sizeof centre[j]);
  double *none = mem_alloc((size_t)c->n[0], sizeof *none);
  dkho_status st = none && MEM_NEW(s->winding, HOLES * c->n[1]) && MEM_NEW(s->vector, HOLES * 2 * c->n[2])
                       ? closed_windings(c, HOLES, (const double(*)[2])centre, s->winding)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK) st = hold_square(s);
  for (int j = 0; st == DKHO_OK && j < HOLES; j++)
    closed_vectors(s->s, s->winding + j * c->n[1], none, s->vector + j * 2 * c->n[2]);
  mem_free(none);
  if (st == DKHO_OK)
    *out = s;
  else
    subsonic_release(s);
  return st;
}

static double step_of(const cx *c, int64_t e, int a) {
  return c->x[2 * (int64_t)c->vert[1][2 * e + 1] + a] - c->x[2 * (int64_t)c->vert[1][2 * e] + a];
}

static dkho_status subsonic_fill(const problem_state *s, const char *name, double *out) {
  const cx *c = s->c;
  if (strcmp(name, "step") == 0) {
    for (int64_t i = 0; i < 2 * c->n[1]; i++) out[i] = step_of(c, i / 2, (int)(i % 2));
  } else if (strcmp(name, "winding") == 0) {
    for (int64_t i = 0; i < HOLES * c->n[1]; i++) out[i] = s->winding[i % HOLES * c->n[1] + i / HOLES];
  } else if (strncmp(name, "winding_", 8) == 0) {
    int a = name[8] == 'y';
    for (int64_t i = 0; i < HOLES * c->n[2]; i++) out[i] = s->vector[(i % HOLES * c->n[2] + i / HOLES) * 2 + a];
  } else
    return problem_fill_common(c, name, out);
  return DKHO_OK;
}

static void close_gas(void *work) {
  gas_solver *w = work;
  if (!w) return;
  closed_close(w->w);
  arena_free(&w->mem);
  mem_free(w);
}

static dkho_status open_gas(void **out, const problem_state *s) {
  *out = NULL;
  gas_solver *w;
  const cx *c = s->c;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&w->mem, w->material, CLOSED_MATERIAL * c->n[2]) && ARENA_NEW(&w->mem, w->start, c->n[1]) &&
      ARENA_NEW(&w->mem, w->phi, c->n[0]) && ARENA_NEW(&w->mem, w->velocity, 2 * c->n[2]) &&
      ARENA_NEW(&w->mem, w->mach, c->n[2]))
    st = closed_open(&w->w, s->s);
  if (st == DKHO_OK)
    *out = w;
  else
    close_gas(w);
  return st;
}

static void subsonic_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)work;
  sheet_gaussian(s->c, r, FREQUENCY, ROUGHNESS, one[DEPTH]);
  for (int64_t i = 0; i < s->c->n[0]; i++) one[DEPTH][i] = exp(SPREAD * one[DEPTH][i]);
  double angle = rng_range(r, -M_PI, M_PI);
  one[WIND][0] = cos(angle), one[WIND][1] = sin(angle);
  for (int j = 0; j < HOLES; j++) one[CIRCULATIONS][j] = rng_range(r, -CIRCULATION, CIRCULATION);
  one[STREAM][0] = rng_range(r, MACH[0], MACH[1]);
}

static dkho_status check_parameters(const cx *c, double *const *one) {
  if (!(one[STREAM][0] >= 0 && one[STREAM][0] <= CLOSED_MACH))
    return fail(DKHO_E_INPUT, "subsonic: Mach number %g of the stream, expected 0 … %g", one[STREAM][0], CLOSED_MACH);
  for (int a = 0; a < 2; a++)
    if (!(fabs(one[WIND][a]) <= LARGEST))
      return fail(DKHO_E_INPUT, "subsonic: wind %d is %g, expected at most %g in size", a + 1, one[WIND][a], LARGEST);
  for (int j = 0; j < HOLES; j++)
    if (!(fabs(one[CIRCULATIONS][j]) <= LARGEST))
      return fail(DKHO_E_INPUT, "subsonic: circulation %d is %g, expected at most %g in size", j + 1,
                  one[CIRCULATIONS][j], LARGEST);
  for (int64_t i = 0; i < c->n[0]; i++)
    if (!(one[DEPTH][i] > 0 && isfinite(one[DEPTH][i])))
      return fail(DKHO_E_INPUT, "subsonic: depth at vertex %lld is %g, expected a positive number", (long long)i,
                  one[DEPTH][i]);
  return DKHO_OK;
}

static void set_channel(gas_solver *w, double *const *one) {
  const cx *c = w->s->c;
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    w->material[CLOSED_MATERIAL * f] = (one[DEPTH][v[0]] + one[DEPTH][v[1]] + one[DEPTH][v[2]]) / 3;
    w->material[CLOSED_MATERIAL * f + 1] = one[STREAM][0];
  }
  for (int64_t e = 0; e < c->n[1]; e++) {
    w->start[e] = one[WIND][0] * step_of(c, e, 0) + one[WIND][1] * step_of(c, e, 1);
    for (int j = 0; j < HOLES; j++) w->start[e] += one[CIRCULATIONS][j] * w->s->winding[j * c->n[1] + e];
  }
}

/* Local Mach numbers; a gas that is too fast is none of the law's. */
static dkho_status read_mach(gas_solver *w, double M) {
  double limit = closed_gas_limit(M);
  for (int64_t f = 0; f < w->s->c->n[2]; f++) {
    double h = hypot(w->velocity[2 * f], w->velocity[2 * f + 1]);
    if (h > limit)
      return fail(DKHO_E_NOCONV, "subsonic: with Mach number %g of the stream the gas is faster than Mach %g somewhere",
                  M, CLOSED_MACH);
    w->mach[f] = closed_gas_mach(M, h);
  }
  return DKHO_OK;
}

static dkho_status subsonic_solve_one(const problem_state *s, void *work, double *const *one) {
  gas_solver *w = work;
  newton_report r;
  TRY(check_parameters(s->c, one));
  set_channel(w, one);
  memset(w->phi, 0, (size_t)s->c->n[0] * sizeof *w->phi);
  dkho_status st = closed_solve(w->w, closed_gas, w->material, w->start, w->phi, &r);
  if (st != DKHO_OK) return fail_prefix(st, "subsonic: Mach number %g of the stream", one[STREAM][0]);
  closed_vectors(s->s, w->start, w->phi, w->velocity);
  TRY(read_mach(w, one[STREAM][0]));
  closed_cochain(s->s, w->start, w->phi, one[U]);
  memcpy(one[LOCAL], w->mach, (size_t)s->c->n[2] * sizeof *w->mach);
  return DKHO_OK;
}

static dkho_status subsonic_transfer(const void *work, const cx *to, double *const *one) {
  const gas_solver *w = work;
  locator *l;
  TRY(locator_create(&l, w->s->c));
  dkho_status st = locate_integrals(l, w->velocity, to, one[U]);
  if (st == DKHO_OK) st = locate_numbers(l, w->mach, to, one[LOCAL]);
  locator_free(l);
  return st;
}

const problem problem_subsonic = {
    .name = "subsonic",
    .summary = "gas below the speed of sound round three posts in a channel of random depth: velocity, Mach number",
    SHEET_DOMAIN,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .knowns = sizeof known / sizeof *known,
    .known = known,
    .notes =
        "du = 0 with circulations in [-0.4, 0.4] round three posts, div(b rho u) = 0, rho = (1 + 0.2 M^2 (1 - |u|^2))^2.5; "
        "nothing through the posts, along the square the velocity of wind and circulations; depth b a lognormal field of "
        "median 1, M in [0.05, 0.35], wind of speed 1 from anywhere. Local Mach numbers above 0.95 are refused and drawn "
        "again. P1 potential, Newton. Nonlinear.",
    .prepare = subsonic_prepare,
    .release = subsonic_release,
    .fill = subsonic_fill,
    .open = open_gas,
    .close = close_gas,
    .draw_one = subsonic_draw_one,
    .solve_one = subsonic_solve_one,
    .transfer = subsonic_transfer,
    .demo =
        &(const problem_demo){
            .target = "u", .task = "depth, wind, circulations, Mach number -> velocity; compressible potential flow"},
};
