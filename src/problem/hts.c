/* hts.c: AC losses of three superconducting wires in cross-section. They carry alternating currents of their own amplitudes and phases in an
 * alternating applied field; a random field says how much current each place bears before it resists. h is a cochain on edges, j = dh on
 * faces; the air is free of current, and the net currents are the periods of h round the wires. The solver follows the currents from rest over
 * 1¼ cycles. Targets: h on edges at the end, on faces the largest |j| and the heat of a cycle, both of the last half cycle. What a wire loses in
 * all is the sum of loss × area over its faces. */
#include "problem/critical.h"
#include "problem/problem.h"
#include "problem/sheet.h"
#include "problem/wires.h"

#include "mesh/meshio.h"

#include <math.h>
#include <string.h>

enum { WIRES = 3, DRIVES = WIRES + 2, FREQUENCY = 4 }; /* drives: currents, applied field along x and y */
enum { CYCLE = 40, RAMP = CYCLE / 4, MEASURED = 3 * CYCLE / 4, STEPS = 5 * CYCLE / 4 }; /* time steps */
static const double wire_circle[WIRES][3] = {{-0.30, -0.22, 0.24}, {0.32, -0.16, 0.26}, {-0.04, 0.36, 0.22}};
static const critical_law LAW = {0.01, 20};         /* with time in cycles and J_c about 1 */
static const double SPREAD = 0.25, ROUGHNESS = 1.5; /* of ln J_c */
static const double LEAST = 0.3, MOST = 0.7;        /* amplitudes of currents over π r² */
static const double FIELD = 0.12;                   /* largest amplitude of the applied field */
static const double OVERLOAD = 2, FIELD_MAX = 1;    /* refused: currents over the critical one, fields, beyond these */

struct problem_state {
  const cx *c;
  critical *s;
  int32_t *wire; /* N2, -1: air */
  double *drive; /* DRIVES × N1: cochains of unit currents and of unit fields */
  arena mem;
};

typedef struct hts_solver {
  const problem_state *s;
  critical_solver *w;
  double *jc;          /* N2 */
  double *source, *h;  /* N1; h: at the end */
  double *j, *heat;    /* N2, of a step */
  int solves;          /* linear systems of this sample */
  double *peak, *loss; /* N2 */
  arena mem;
} hts_solver;

enum { JC, COS, SIN, H, PEAK, LOSS }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("jc", 0, 1, DATA_SCALE_RMS),
    PROBLEM_GLOBAL("drive_cos", DRIVES),
    PROBLEM_GLOBAL("drive_sin", DRIVES),
    PROBLEM_TARGET("h", 1, 1),
    PROBLEM_TARGET("peak", 2, 1),
    PROBLEM_TARGET("loss", 2, 1),
    PROBLEM_STATIC("drive", 1, DRIVES),
    PROBLEM_STATIC("drive_x", 2, DRIVES),
    PROBLEM_STATIC("drive_y", 2, DRIVES),
    PROBLEM_STATIC("weight", 0, 1),
    PROBLEM_POSITIONS(2),
    PROBLEM_STATIC("label0", 0, WIRES + 2),
    PROBLEM_STATIC("label1", 1, WIRES + 2),
    PROBLEM_STATIC("label2", 2, WIRES + 2),
    PROBLEM_PLANE_STATICS,
};
#define ON_EDGES(wave) PROBLEM_ROW("free field, " wave, 1, FEAT_NATIVE, "lift(drive_" wave ", drive)")
#define ON_FACES(wave)                                                                                                 \
  PROBLEM_ROW("free field along x, " wave, 2, FEAT_NATIVE, "lift(drive_" wave ", drive_x)"),                           \
      PROBLEM_ROW("free field along y, " wave, 2, FEAT_NATIVE, "lift(drive_" wave ", drive_y)")
#define EVERYTHING "broadcast(drive_cos, drive_sin, mean)"
static const feat_row rows[] = {
    {"critical density", 0, FEAT_NATIVE, "jc"},
    PROBLEM_VERTEX_ROWS(FEAT_NATIVE),
    PROBLEM_SUMMARY_ROW(0, EVERYTHING),
    ON_EDGES("cos"),
    ON_EDGES("sin"),
    {"critical density", 1, FEAT_NATIVE, "mean(jc, 1)"},
    PROBLEM_EDGE_ROWS,
    {"wire", 1, FEAT_NATIVE, "label1"},
    PROBLEM_MODES_ROW(1),
    PROBLEM_SUMMARY_ROW(1, EVERYTHING),
    ON_FACES("cos"),
    ON_FACES("sin"),
    {"critical density", 2, FEAT_NATIVE, "mean(jc, 2)"},
    {"wire", 2, FEAT_NATIVE, "label2"},
    PROBLEM_FACE_ROWS,
    PROBLEM_SUMMARY_ROW(2, EVERYTHING),
};
static const feat_summary summaries[] = {
    {"drive_cos", "value(drive_cos)"}, {"drive_sin", "value(drive_sin)"}, {"mean", "average(jc, weight)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("h", 0),
    PROBLEM_RECIPE("peak", 0),
    PROBLEM_RECIPE("loss", 0),
};

static dkho_status hts_build(cx **out, const char *resolution) {
  static const struct {
    double near, far;
  } size[] = {{0.10, 0.40}, {0.06, 0.30}, {0.03, 0.20}, {0.02, 0.16}, {0.01, 0.10}};
  *out = NULL;
  for (int i = 0; sheet_resolutions[i]; i++)
    if (strcmp(resolution, sheet_resolutions[i]) == 0)
      return wires_build(out, WIRES, wire_circle, size[i].near, size[i].far);
  return fail(DKHO_E_INPUT, "unknown resolution '%.40s'; there are smoke, coarse, medium, main, fine", resolution);
}

static void hts_release(problem_state *s) {
  if (!s) return;
  critical_free(s->s);
  arena_free(&s->mem);
  mem_free(s);
}

/* conducts, the wire of each face, and the drives' cochains. A complex from a file may lack a wire. */
static dkho_status find_wires(problem_state *s, uint8_t *conducts) {
  const cx *c = s->c;
  int64_t count[WIRES] = {0};
  wires_of_faces(c, s->wire);
  for (int64_t f = 0; f < c->n[2]; f++) {
    conducts[f] = s->wire[f] >= 0;
    if (conducts[f]) count[s->wire[f]]++;
  }
  for (int j = 0; j < WIRES; j++) {
    if (!count[j]) return fail(DKHO_E_INPUT, "not a complex of hts: no face has three vertices of label %d", j + 2);
    wires_winding(c, s->wire, j, s->drive + j * c->n[1]);
  }
  for (int64_t e = 0; e < c->n[1]; e++)
    for (int a = 0; a < 2; a++)
      s->drive[(WIRES + a) * c->n[1] + e] =
          c->x[2 * (int64_t)c->vert[1][2 * e + 1] + a] - c->x[2 * (int64_t)c->vert[1][2 * e] + a];
  return DKHO_OK;
}

static dkho_status hts_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  uint8_t *conducts;
  dkho_status st = ARENA_NEW(&s->mem, s->wire, c->n[2]) && ARENA_NEW(&s->mem, s->drive, DRIVES * c->n[1]) &&
                           ARENA_NEW(&s->mem, conducts, c->n[2])
                       ? find_wires(s, conducts)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK) st = critical_create(&s->s, c, conducts);
  if (st == DKHO_OK)
    *out = s;
  else
    hts_release(s);
  return st;
}

/* Component a of the drives' fields at the middle of faces: N2 × DRIVES. */
static dkho_status fill_vectors(const problem_state *s, int a, double *out) {
  const cx *c = s->c;
  double *vector = mem_alloc((size_t)(2 * c->n[2]), sizeof *vector);
  if (!vector) return DKHO_E_MEMORY;
  for (int k = 0; k < DRIVES; k++) {
    mesh_whitney(c, s->drive + k * c->n[1], vector);
    for (int64_t f = 0; f < c->n[2]; f++) out[f * DRIVES + k] = vector[2 * f + a];
  }
  mem_free(vector);
  return DKHO_OK;
}

static dkho_status hts_fill(const problem_state *s, const char *name, double *out) {
  if (strncmp(name, "drive_", 6) == 0) return fill_vectors(s, name[6] == 'y', out);
  if (strcmp(name, "drive") != 0) return problem_fill_common(s->c, name, out);
  for (int64_t e = 0; e < s->c->n[1]; e++)
    for (int k = 0; k < DRIVES; k++) out[e * DRIVES + k] = s->drive[k * s->c->n[1] + e];
  return DKHO_OK;
}

static void close_hts(void *work) {
  hts_solver *w = work;
  if (!w) return;
  critical_close(w->w);
  arena_free(&w->mem);
  mem_free(w);
}

static dkho_status open_hts(void **out, const problem_state *s) {
  *out = NULL;
  hts_solver *w;
  int64_t edges = s->c->n[1], faces = s->c->n[2];
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&w->mem, w->jc, faces) && ARENA_NEW(&w->mem, w->source, edges) && ARENA_NEW(&w->mem, w->h, edges) &&
      ARENA_NEW(&w->mem, w->j, faces) && ARENA_NEW(&w->mem, w->heat, faces) && ARENA_NEW(&w->mem, w->peak, faces) &&
      ARENA_NEW(&w->mem, w->loss, faces))
    st = critical_open(&w->w, s->s);
  if (st == DKHO_OK)
    *out = w;
  else
    close_hts(w);
  return st;
}

/* J_c is lognormal of median 1 in the wires, 0 in the air; each drive has an amplitude and a phase, the field a direction. */
static void hts_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)work;
  double size[DRIVES], phase[DRIVES];
  sheet_gaussian(s->c, r, FREQUENCY, ROUGHNESS, one[JC]);
  for (int64_t i = 0; i < s->c->n[0]; i++) one[JC][i] = s->c->label[0][i] >= 2 ? exp(SPREAD * one[JC][i]) : 0;
  for (int j = 0; j < WIRES; j++) {
    size[j] = rng_range(r, LEAST, MOST) * M_PI * wire_circle[j][2] * wire_circle[j][2];
    phase[j] = rng_range(r, 0, 2 * M_PI);
  }
  double field = rng_range(r, 0, FIELD), angle = rng_range(r, 0, 2 * M_PI);
  size[WIRES] = field * cos(angle), size[WIRES + 1] = field * sin(angle);
  phase[WIRES] = phase[WIRES + 1] = rng_range(r, 0, 2 * M_PI);
  for (int k = 0; k < DRIVES; k++) one[COS][k] = size[k] * cos(phase[k]), one[SIN][k] = size[k] * sin(phase[k]);
}

/* J_c of a face is the mean of its corners'. */
static dkho_status set_density(hts_solver *w, const double *jc) {
  const cx *c = w->s->c;
  for (int64_t i = 0; i < c->n[0]; i++)
    if (c->label[0][i] >= 2 && !(jc[i] >= 1e-3 && jc[i] <= 1e3))
      return fail(DKHO_E_INPUT, "hts: jc at vertex %lld of a wire is %g, expected 0.001 … 1000", (long long)i, jc[i]);
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    w->jc[f] = (jc[v[0]] + jc[v[1]] + jc[v[2]]) / 3;
  }
  return DKHO_OK;
}

static dkho_status check_drives(const hts_solver *w, double *const *one) {
  const problem_state *s = w->s;
  double bears[WIRES] = {0};
  for (int64_t f = 0; f < s->c->n[2]; f++)
    if (s->wire[f] >= 0) bears[s->wire[f]] += s->c->measure[2][f] * w->jc[f];
  for (int k = 0; k < DRIVES; k++) {
    double size = hypot(one[COS][k], one[SIN][k]);
    if (k < WIRES && !(size <= OVERLOAD * bears[k]))
      return fail(DKHO_E_INPUT, "hts: current %d has amplitude %g; wire %d bears %g, expected at most %g times that",
                  k + 1, size, k + 1, bears[k], OVERLOAD);
    if (k >= WIRES && !(size <= FIELD_MAX))
      return fail(DKHO_E_INPUT, "hts: the applied field along %c has amplitude %g, expected at most %g",
                  "xy"[k - WIRES], size, FIELD_MAX);
  }
  return DKHO_OK;
}

/* source ← Σ of the drives at the end of a step; they rise over a quarter of a cycle, sin² of a ramp. */
static void set_source(hts_solver *w, int step, double *const *one) {
  int64_t edges = w->s->c->n[1];
  double t = 2 * M_PI * step / CYCLE, ramp = sin(M_PI / 2 * fmin(1, (double)step / RAMP));
  memset(w->source, 0, (size_t)edges * sizeof *w->source);
  for (int k = 0; k < DRIVES; k++) {
    double now = ramp * ramp * (one[COS][k] * cos(t) + one[SIN][k] * sin(t));
    for (int64_t e = 0; e < edges; e++) w->source[e] += now * w->s->drive[k * edges + e];
  }
}

/* max |j|, and twice the heat, since a cycle's halves are alike. */
static void measure_step(hts_solver *w) {
  critical_read(w->w, w->j, w->heat);
  for (int64_t f = 0; f < w->s->c->n[2]; f++) {
    w->peak[f] = fmax(w->peak[f], fabs(w->j[f]));
    w->loss[f] += 2 * w->heat[f] / CYCLE;
  }
}

static dkho_status hts_solve_one(const problem_state *s, void *work, double *const *one) {
  hts_solver *w = work;
  size_t edges = (size_t)s->c->n[1] * sizeof(double), faces = (size_t)s->c->n[2] * sizeof(double);
  TRY(set_density(w, one[JC]));
  TRY(check_drives(w, one));
  memset(w->peak, 0, faces);
  memset(w->loss, 0, faces);
  critical_begin(w->w, LAW, w->jc);
  w->solves = 0;
  for (int k = 1; k <= STEPS; k++) {
    set_source(w, k, one);
    dkho_status st = critical_step(w->w, 1. / CYCLE, w->source, &w->solves);
    if (st != DKHO_OK) return fail_prefix(st, "hts: time step %d of %d, after %d linear systems", k, STEPS, w->solves);
    if (k > MEASURED) measure_step(w);
  }
  memcpy(w->h, critical_field(w->w), edges);
  memcpy(one[H], w->h, edges);
  memcpy(one[PEAK], w->peak, faces);
  memcpy(one[LOSS], w->loss, faces);
  return DKHO_OK;
}

static dkho_status hts_transfer(const void *work, const cx *to, double *const *one) {
  const hts_solver *w = work;
  const cx *c = w->s->c;
  locator *l = NULL;
  double *vector = mem_alloc((size_t)(2 * c->n[2]), sizeof *vector);
  dkho_status st = vector ? locator_create(&l, c) : DKHO_E_MEMORY;
  if (st == DKHO_OK) {
    mesh_whitney(c, w->h, vector);
    st = locate_integrals(l, vector, to, one[H]);
  }
  if (st == DKHO_OK) st = wires_numbers(l, c, w->s->wire, w->peak, to, one[PEAK]);
  if (st == DKHO_OK) st = wires_numbers(l, c, w->s->wire, w->loss, to, one[LOSS]);
  locator_free(l);
  mem_free(vector);
  return st;
}

const problem problem_hts = {
    .name = "hts",
    .summary =
        "AC losses of superconducting wires in cross-section: field strength, peak current density, loss density",
    .sizes = {1600, 200, 200},
    .smoke_sizes = {64, 16, 32},
    .dim = 2,
    .gdim = 2,
    .labels = WIRES + 2,
    .betti = {1, 0, 0},
    .build = hts_build,
    .resolutions = sheet_resolutions,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes =
        "Three round wires in air: h_t = -curl E, E = 0.01 (|j|/Jc)^20 along j = curl h inside them, curl h = 0 outside "
        "with the currents as periods; Jc a lognormal field of median 1, currents and an applied field of one "
        "frequency with amplitudes and phases per sample, 1.25 cycles from rest in 50 steps of implicit Euler. h "
        "at the end; peak |j| and the heat of a cycle, of the last half cycle. Nonlinear.",
    .prepare = hts_prepare,
    .release = hts_release,
    .fill = hts_fill,
    .open = open_hts,
    .close = close_hts,
    .draw_one = hts_draw_one,
    .solve_one = hts_solve_one,
    .transfer = hts_transfer,
    .demo =
        &(const problem_demo){.target = "loss",
                              .task = "currents, applied field, critical density -> AC losses of a cycle; nonlinear"},
};
