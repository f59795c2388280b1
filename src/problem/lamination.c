/* lamination.c: a saturable iron sheet magnetised by currents through its three windows. H is closed with the currents as its periods round
 * the windows, H = Σ I_j h_j + dφ; B = μ(|H|)H saturates where a random field says, by the curve of Fröhlich or of Brauer; div B = 0, and no flux
 * leaves the sheet. No function on vertices has this H as its gradient: φ alone would jump round every window. Targets: H on edges, |B| and
 * the magnetic energy density on faces. */
#include "problem/iron.h"
#include "problem/locate.h"

#include <math.h>

enum { HOLES = SHEET_HOLES };
static const double CURRENT = 8; /* largest */

enum { SATURATION, CURRENTS, H, B, ENERGY }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("saturation", 0, 1, DATA_SCALE_MEANSTD),
    PROBLEM_GLOBAL("current", HOLES),
    PROBLEM_TARGET("H", 1, 1),
    PROBLEM_TARGET("B", 2, 1),
    PROBLEM_TARGET("energy", 2, 1),
    PROBLEM_STATIC("winding", 1, HOLES),
    PROBLEM_STATIC("winding_x", 2, HOLES),
    PROBLEM_STATIC("winding_y", 2, HOLES),
    SHEET_STATICS,
    PROBLEM_PLANE_STATICS,
};
static const feat_row rows[] = {
    {"saturation", 0, FEAT_NATIVE, "saturation"},
    {"divergence of the free field", 0, FEAT_NATIVE, "dt(lift(current, winding))"},
    PROBLEM_VERTEX_ROWS(FEAT_BOUNDARY),
    {"heated saturation", 0, FEAT_DIFFUSION, "heat(saturation, 0.05, 1, 4, 12)"},
    PROBLEM_SUMMARY_ROW(0, "broadcast(current, mean, rms)"),
    {"free field", 1, FEAT_NATIVE, "lift(current, winding)"},
    {"saturation difference", 1, FEAT_NATIVE, "d(saturation)"},
    {"saturation", 1, FEAT_NATIVE, "mean(saturation, 1)"},
    PROBLEM_EDGE_ROWS,
    PROBLEM_MODES_ROW(1),
    {"heated saturation difference", 1, FEAT_DIFFUSION, "d(heat(saturation, 0.05, 1, 4, 12))"},
    PROBLEM_SUMMARY_ROW(1, "broadcast(current, mean, rms)"),
    {"free field along x", 2, FEAT_NATIVE, "lift(current, winding_x)"},
    {"free field along y", 2, FEAT_NATIVE, "lift(current, winding_y)"},
    {"saturation integral", 2, FEAT_NATIVE, "integral(saturation, 2)"},
    {"saturation", 2, FEAT_NATIVE, "mean(saturation, 2)"},
    PROBLEM_FACE_ROWS,
    {"heated saturation", 2, FEAT_DIFFUSION, "mean(heat(saturation, 0.05, 1, 4, 12), 2)"},
    PROBLEM_SUMMARY_ROW(2, "broadcast(current, mean, rms)"),
};
static const feat_summary summaries[] = {{"current", "value(current)"},
                                         {"mean", "average(saturation, weight)"},
                                         {"rms", "centred_rms(saturation, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("H", 1),
    PROBLEM_RECIPE("B", 0),
    PROBLEM_RECIPE("energy", 0),
};

static const data_known known[] = {
    {.target = "H", .source = KNOWN_GLOBAL, .field = "current", .fixed = "winding", .component = -1}, /* its periods */
};

static dkho_status open_single(void **out, const problem_state *s) {
  iron *w = NULL;
  dkho_status st = iron_open(&w, s, 0);
  *out = w;
  return st;
}

static void lamination_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)work;
  iron_draw_saturation(s, r, one[SATURATION]);
  for (int j = 0; j < HOLES; j++) one[CURRENTS][j] = rng_range(r, -CURRENT, CURRENT);
}

/* |B| and energy density of faces. The energy of a magnetisation is ∫ H dB = H·B - ∫ B dH. */
static void read_faces(const iron *w, double *density, double *energy) {
  for (int64_t f = 0; f < w->s->c->n[2]; f++) {
    double flux[2];
    closed_response r;
    iron_flux(w, f, flux, &r);
    density[f] = sqrt(flux[0] * flux[0] + flux[1] * flux[1]);
    energy[f] = flux[0] * w->field[2 * f] + flux[1] * w->field[2 * f + 1] - r.density;
  }
}

static dkho_status lamination_solve_from(const problem_state *s, void *work, problem_start *start, double *const *one) {
  iron *w = work;
  TRY(iron_set_material(w, "lamination", one[SATURATION]));
  for (int64_t i = 0; i < s->c->n[0]; i++) w->phi[i] = 0;
  if (start->guess) TRY(iron_guess(w, one[CURRENTS], start->guess, w->phi));
  TRY(iron_solve(w, "lamination", one[CURRENTS], w->phi));
  start->steps = w->steps;
  closed_cochain(s->s, w->start, w->phi, one[H]);
  read_faces(w, one[B], one[ENERGY]);
  return DKHO_OK;
}

static dkho_status lamination_solve_one(const problem_state *s, void *work, double *const *one) {
  return lamination_solve_from(s, work, &(problem_start){0}, one);
}

static dkho_status lamination_transfer(const void *work, const cx *to, double *const *one) {
  const iron *w = work;
  arena mem = {0};
  double *density, *energy;
  locator *l = NULL;
  dkho_status st = ARENA_NEW(&mem, density, w->s->c->n[2]) && ARENA_NEW(&mem, energy, w->s->c->n[2])
                       ? locator_create(&l, w->s->c)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK) {
    read_faces(w, density, energy);
    st = locate_integrals(l, w->field, to, one[H]);
  }
  if (st == DKHO_OK) st = locate_numbers(l, density, to, one[B]);
  if (st == DKHO_OK) st = locate_numbers(l, energy, to, one[ENERGY]);
  locator_free(l);
  arena_free(&mem);
  return st;
}

#define LAMINATION                                                                                                     \
  .name = "lamination",                                                                                                \
  .summary =                                                                                                           \
      "a saturable iron sheet magnetised by currents through its windows: field strength, flux density, energy",       \
  SHEET_DOMAIN, PROBLEM_TABLES(fields, recipes, rows, summaries), .knowns = 1, .known = known,                         \
  .release = iron_release, .fill = iron_fill, .open = open_single, .close = iron_close,                                \
  .draw_one = lamination_draw_one, .solve_one = lamination_solve_one, .guessed = "H",                                  \
  .solve_from = lamination_solve_from, .transfer = lamination_transfer

static const problem by_brauer = {
    LAMINATION,
    .law = "brauer",
    .notes = "dH = 0 with periods I in [-8, 8] round three windows, " IRON_BRAUER ", div B = 0, B.n = 0; S a lognormal "
             "field of median 1 per sample. P1 potential, Newton. Nonlinear.",
    .prepare = iron_prepare_brauer,
};

const problem problem_lamination = {
    LAMINATION,
    .law = "froehlich",
    .other = &by_brauer,
    .notes =
        "dH = 0 with periods I in [-8, 8] round three windows, B = (0.02 + S/(1 + |H|)) H, div B = 0, B.n = 0; S a "
        "lognormal field of median 1 per sample. P1 potential, Newton. Nonlinear.",
    .prepare = iron_prepare,
    .demo =
        &(const problem_demo){
            .target = "H", .task = "currents and saturation -> field strength on the edges; saturable iron, nonlinear"},
};
