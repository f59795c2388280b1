/* ironloss.c: iron losses of the saturable sheet of lamination.c over a cycle of its currents, I_j(t) = bias + first and third harmonic. STEPS
 * magnetic states make a cycle; a state starts from the two before it. Targets on faces: the largest |B|, and the loss density after
 * Bertotti, hysteresis + classical eddy currents + excess: max|B|^1.6 + mean|dB/dt|² + ½ mean|dB/dt|^1.5, t the phase of the first harmonic. */
#include "problem/iron.h"
#include "problem/locate.h"

#include <math.h>
#include <string.h>

enum { HOLES = SHEET_HOLES, STEPS = 40 };
static const double BIAS = 2, FIRST = 6, THIRD = 1.5; /* largest amplitudes */

enum { SATURATION, MEAN, COS1, SIN1, COS3, SIN3, PEAK, LOSS }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("saturation", 0, 1, DATA_SCALE_MEANSTD),
    PROBLEM_GLOBAL("bias", HOLES),
    PROBLEM_GLOBAL("cos1", HOLES),
    PROBLEM_GLOBAL("sin1", HOLES),
    PROBLEM_GLOBAL("cos3", HOLES),
    PROBLEM_GLOBAL("sin3", HOLES),
    PROBLEM_TARGET("peak", 2, 1),
    PROBLEM_TARGET("loss", 2, 1),
    PROBLEM_STATIC("winding", 1, HOLES),
    PROBLEM_STATIC("winding_x", 2, HOLES),
    PROBLEM_STATIC("winding_y", 2, HOLES),
    SHEET_STATICS,
    PROBLEM_PLANE_STATICS,
};
#define ON_EDGES(wave)                                                                                                 \
  { "free field, " wave, 1, FEAT_NATIVE, "lift(" wave ", winding)" }
#define ON_FACES(wave)                                                                                                 \
  {"free field along x, " wave, 2, FEAT_NATIVE, "lift(" wave ", winding_x)"}, {                                        \
    "free field along y, " wave, 2, FEAT_NATIVE, "lift(" wave ", winding_y)"                                           \
  }
#define EVERYTHING "broadcast(bias, cos1, sin1, cos3, sin3, mean, rms)"
static const feat_row rows[] = {
    {"saturation", 0, FEAT_NATIVE, "saturation"},
    PROBLEM_VERTEX_ROWS(FEAT_BOUNDARY),
    {"heated saturation", 0, FEAT_DIFFUSION, "heat(saturation, 0.05, 1, 4, 12)"},
    PROBLEM_SUMMARY_ROW(0, EVERYTHING),
    ON_EDGES("bias"),
    ON_EDGES("cos1"),
    ON_EDGES("sin1"),
    ON_EDGES("cos3"),
    ON_EDGES("sin3"),
    {"saturation difference", 1, FEAT_NATIVE, "d(saturation)"},
    {"saturation", 1, FEAT_NATIVE, "mean(saturation, 1)"},
    PROBLEM_EDGE_ROWS,
    PROBLEM_MODES_ROW(1),
    PROBLEM_SUMMARY_ROW(1, EVERYTHING),
    ON_FACES("bias"),
    ON_FACES("cos1"),
    ON_FACES("sin1"),
    ON_FACES("cos3"),
    ON_FACES("sin3"),
    {"saturation integral", 2, FEAT_NATIVE, "integral(saturation, 2)"},
    {"saturation", 2, FEAT_NATIVE, "mean(saturation, 2)"},
    PROBLEM_FACE_ROWS,
    {"heated saturation", 2, FEAT_DIFFUSION, "mean(heat(saturation, 0.05, 1, 4, 12), 2)"},
    PROBLEM_SUMMARY_ROW(2, EVERYTHING),
};
static const feat_summary summaries[] = {{"bias", "value(bias)"},
                                         {"cos1", "value(cos1)"},
                                         {"sin1", "value(sin1)"},
                                         {"cos3", "value(cos3)"},
                                         {"sin3", "value(sin3)"},
                                         {"mean", "average(saturation, weight)"},
                                         {"rms", "centred_rms(saturation, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("peak", 0),
    PROBLEM_RECIPE("loss", 0),
};

static dkho_status open_cycle(void **out, const problem_state *s) {
  iron *w = NULL;
  dkho_status st = iron_open(&w, s, STEPS);
  *out = w;
  return st;
}

/* Amplitude and phase of each window and harmonic, as cosine and sine parts. */
static void ironloss_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)work;
  iron_draw_saturation(s, r, one[SATURATION]);
  for (int j = 0; j < HOLES; j++) {
    double first = rng_range(r, 0, FIRST), phase = rng_range(r, 0, 2 * M_PI);
    double third = rng_range(r, 0, THIRD), shift = rng_range(r, 0, 2 * M_PI);
    one[MEAN][j] = rng_range(r, -BIAS, BIAS);
    one[COS1][j] = first * cos(phase), one[SIN1][j] = first * sin(phase);
    one[COS3][j] = third * cos(shift), one[SIN3][j] = third * sin(shift);
  }
}

static void currents_at(double *const *one, int step, double current[HOLES]) {
  double t = 2 * M_PI * step / STEPS;
  for (int j = 0; j < HOLES; j++)
    current[j] = one[MEAN][j] + one[COS1][j] * cos(t) + one[SIN1][j] * sin(t) + one[COS3][j] * cos(3 * t) +
                 one[SIN3][j] * sin(3 * t);
}

/* The next state, guessed by going on from the last two; φ becomes old, next becomes φ. */
static dkho_status advance_cycle(iron *w, int step, const double current[HOLES]) {
  int64_t n = w->s->c->n[0];
  for (int64_t i = 0; i < n; i++) w->next[i] = step == 0 ? 0 : step == 1 ? w->phi[i] : 2 * w->phi[i] - w->old[i];
  dkho_status st = iron_solve(w, "ironloss", current, w->next);
  if (st != DKHO_OK) return fail_prefix(st, "step %d of the cycle", step);
  memcpy(w->old, w->phi, (size_t)n * sizeof *w->old);
  memcpy(w->phi, w->next, (size_t)n * sizeof *w->phi);
  return DKHO_OK;
}

/* dB/dt by central differences round the cycle. */
static void sum_losses(const iron *w, double *peak, double *loss) {
  int64_t n = w->s->c->n[2];
  for (int64_t f = 0; f < n; f++) {
    double most = 0, eddy = 0, excess = 0;
    for (int k = 0; k < STEPS; k++) {
      const double *B = w->cycle + 2 * (k * n + f), *before = w->cycle + 2 * ((k + STEPS - 1) % STEPS * n + f),
                   *after = w->cycle + 2 * ((k + 1) % STEPS * n + f);
      double x = after[0] - before[0], y = after[1] - before[1];
      double rate = sqrt(x * x + y * y) * STEPS / (4 * M_PI);
      most = fmax(most, B[0] * B[0] + B[1] * B[1]);
      eddy += rate * rate;
      excess += rate * sqrt(rate);
    }
    peak[f] = sqrt(most);
    loss[f] = pow(peak[f], 1.6) + eddy / STEPS + 0.5 * excess / STEPS;
  }
}

/* STEPS states of a cycle, each solved from a guess by the two before it; w->cycle keeps B of each. */
static dkho_status ironloss_solve_one(const problem_state *s, void *work, double *const *one) {
  iron *w = work;
  TRY(iron_set_material(w, "ironloss", one[SATURATION]));
  for (int k = 0; k < STEPS; k++) {
    double current[HOLES];
    currents_at(one, k, current);
    TRY(advance_cycle(w, k, current));
    for (int64_t f = 0; f < s->c->n[2]; f++) {
      closed_response r;
      iron_flux(w, f, w->cycle + 2 * (k * s->c->n[2] + f), &r);
    }
  }
  sum_losses(w, one[PEAK], one[LOSS]);
  return DKHO_OK;
}

/* Losses are summed on the solver's own mesh, then read. */
static dkho_status ironloss_transfer(const void *work, const cx *to, double *const *one) {
  const iron *w = work;
  arena mem = {0};
  double *peak, *loss;
  locator *l = NULL;
  dkho_status st = ARENA_NEW(&mem, peak, w->s->c->n[2]) && ARENA_NEW(&mem, loss, w->s->c->n[2])
                       ? locator_create(&l, w->s->c)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK) {
    sum_losses(w, peak, loss);
    st = locate_numbers(l, peak, to, one[PEAK]);
  }
  if (st == DKHO_OK) st = locate_numbers(l, loss, to, one[LOSS]);
  locator_free(l);
  arena_free(&mem);
  return st;
}

#define IRONLOSS                                                                                                       \
  .name = "ironloss",                                                                                                  \
  .summary = "iron losses of the saturable sheet over a cycle of its currents: peak flux density, loss density",       \
  SHEET_DOMAIN, PROBLEM_TABLES(fields, recipes, rows, summaries), .release = iron_release, .fill = iron_fill,          \
  .open = open_cycle, .close = iron_close, .draw_one = ironloss_draw_one, .solve_one = ironloss_solve_one,             \
  .transfer = ironloss_transfer
#define NOTES                                                                                                          \
  "The sheet of lamination under currents with a bias, a first and a third harmonic per window; 40 magnetic "          \
  "states per cycle; loss density max|B|^1.6 + mean|dB/dt|^2 + 0.5 mean|dB/dt|^1.5. Nonlinear."

static const problem by_brauer = {
    IRONLOSS,
    .law = "brauer",
    .notes = NOTES " " IRON_BRAUER ".",
    .prepare = iron_prepare_brauer,
};

const problem problem_ironloss = {
    IRONLOSS,
    .law = "froehlich",
    .other = &by_brauer,
    .notes = NOTES,
    .prepare = iron_prepare,
    .demo = &(const problem_demo){.target = "loss",
                                  .task = "waves of currents, saturation -> iron losses over a cycle, nonlinear",
                                  .model = "dkho-x",
                                  .first = 1,
                                  .budget = {"coarse", 480, 30, 4}},
};
