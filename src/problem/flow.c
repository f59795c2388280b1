/* flow.c: stationary incompressible Navier–Stokes flow in a sheet with three round holes whose walls turn, Re (u·∇)u + ∇p - Δu = curl ψ,
 * ∇·u = 0. The walls' speeds, the stirring force and the Reynolds number vary by sample; the outer wall stands still. Targets: velocity as
 * line integrals on edges, whose periods round the holes the walls decide, circulation on faces, pressure on vertices, flux through edges
 * (of the velocity along an edge turned by -90°). On walls velocity and flux are given. */
#include "problem/locate.h"
#include "problem/problem.h"
#include "problem/sheet.h"
#include "problem/taylor.h"

#include <math.h>
#include <string.h>

enum { HOLES = SHEET_HOLES, FREQUENCY = 5 };                                        /* 120 modes */
static const double FORCE = 8, ROUGHNESS = 1.5, SPEED = 1, REYNOLDS[2] = {20, 200}; /* SPEED: largest */
static const double REYNOLDS_MAX = 1e5; /* beyond which a steady flow of this kind is not asked for */

struct problem_state {
  const cx *c;
  taylor *t;
  double *wall; /* HOLES × nodes × 2: the boundary's velocities when hole j turns with speed 1, counter-clockwise */
};

typedef struct flow_solver {
  const problem_state *s;
  taylor_solver *w;
  double *u; /* nodes × 2 */
  double *p; /* N0 */
  arena mem;
} flow_solver;

enum { PSI, SPEEDS, RE, U, W, P, FLUX }; /* blocks, in the order of the fields */
static const data_field fields[] = {
    PROBLEM_INPUT("psi", 0, 1, DATA_SCALE_RMS),
    PROBLEM_GLOBAL("speed", HOLES),
    PROBLEM_GLOBAL("reynolds", 1),
    PROBLEM_TARGET("u", 1, 1),
    PROBLEM_TARGET("w", 2, 1),
    PROBLEM_TARGET("p", 0, 1),
    PROBLEM_TARGET("flux", 1, 1),
    PROBLEM_STATIC("holes", 0, HOLES),
    PROBLEM_STATIC("rims", 1, HOLES),
    SHEET_STATICS,
    PROBLEM_STATIC("label1", 1, HOLES + 2),
    PROBLEM_PLANE_STATICS,
};
#define EVERYTHING "broadcast(speed, reynolds, mean, moment, rms)"
static const feat_row rows[] = {
    {"stirring", 0, FEAT_NATIVE, "psi"},
    {"curl of the force", 0, FEAT_NATIVE, "dt(d(psi))"},
    {"wall speed", 0, FEAT_NATIVE, "lift(speed, holes)"},
    PROBLEM_VERTEX_ROWS(FEAT_NATIVE),
    {"heated stirring", 0, FEAT_DIFFUSION, "heat(psi, 0.05, 1, 4, 12)"},
    PROBLEM_SUMMARY_ROW(0, EVERYTHING),
    {"force across", 1, FEAT_NATIVE, "d(psi)"},
    {"stirring", 1, FEAT_NATIVE, "mean(psi, 1)"},
    {"wall velocity", 1, FEAT_NATIVE, "lift(speed, rims)"},
    PROBLEM_EDGE_ROWS,
    {"boundary label", 1, FEAT_NATIVE, "label1"},
    PROBLEM_MODES_ROW(1),
    {"heated force across", 1, FEAT_DIFFUSION, "d(heat(psi, 0.05, 1, 4, 12))"},
    PROBLEM_SUMMARY_ROW(1, EVERYTHING),
    {"stirring integral", 2, FEAT_NATIVE, "integral(psi, 2)"},
    {"stirring", 2, FEAT_NATIVE, "mean(psi, 2)"},
    {"wall circulation", 2, FEAT_NATIVE, "d(lift(speed, rims))"},
    PROBLEM_FACE_ROWS,
    {"heated stirring", 2, FEAT_DIFFUSION, "mean(heat(psi, 0.05, 1, 4, 12), 2)"},
    PROBLEM_SUMMARY_ROW(2, EVERYTHING),
};
static const feat_summary summaries[] = {{"speed", "value(speed)"},
                                         {"reynolds", "value(reynolds)"},
                                         {"mean", "average(psi, weight)"},
                                         {"moment", "moment(psi, weight, position0)"},
                                         {"rms", "rms(psi, weight, 1e-12, 0)"}};
static const data_recipe recipes[] = {
    PROBLEM_RECIPE("u", 1),
    PROBLEM_RECIPE("w", 0),
    PROBLEM_RECIPE("p", 0),
    PROBLEM_RECIPE("flux", 0),
};
static const data_known known[] = {
    {.target = "u", SHEET_BOUNDARY, .source = KNOWN_GLOBAL, .field = "speed", .fixed = "rims", .component = -1},
    {.target = "flux",
     SHEET_BOUNDARY,
     .source = KNOWN_CONSTANT,
     .values = 1,
     .value = &(const double){0},
     .component = -1},
};

static void flow_release(problem_state *s) {
  if (!s) return;
  taylor_free(s->t);
  mem_free(s->wall);
  mem_free(s);
}

/* Tangents of the circle at vertices; a chord's midpoint has the mean of its ends', which is along the chord, so nothing flows through. */
static void turn_walls(problem_state *s) {
  const cx *c = s->c;
  int64_t nodes = taylor_nodes(s->t);
  for (int j = 0; j < HOLES; j++) {
    double *wall = s->wall + j * 2 * nodes;
    for (int64_t i = 0; i < c->n[0]; i++) {
      double x = c->x[2 * i] - sheet_hole[j][0], y = c->x[2 * i + 1] - sheet_hole[j][1], r = hypot(x, y);
      if (c->label[0][i] == 2 + j) wall[2 * i] = -y / r, wall[2 * i + 1] = x / r;
    }
    for (int64_t e = 0; e < c->n[1]; e++)
      for (int a = 0; a < 2 && c->on_boundary[1][e]; a++)
        wall[2 * (c->n[0] + e) + a] = (wall[2 * c->vert[1][2 * e] + a] + wall[2 * c->vert[1][2 * e + 1] + a]) / 2;
  }
}

static dkho_status flow_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = taylor_create(&s->t, c);
  if (st == DKHO_OK && !MEM_NEW(s->wall, HOLES * 2 * taylor_nodes(s->t))) st = DKHO_E_MEMORY;
  if (st == DKHO_OK) {
    turn_walls(s);
    *out = s;
  } else
    flow_release(s);
  return st;
}

/* Line integrals of the walls' velocities at speed 1, zero on edges inside. */
static dkho_status fill_rims(const problem_state *s, double *out) {
  const cx *c = s->c;
  double *edge = mem_alloc((size_t)c->n[1], sizeof *edge);
  if (!edge) return DKHO_E_MEMORY;
  for (int j = 0; j < HOLES; j++) {
    taylor_line_integrals(s->t, s->wall + j * 2 * taylor_nodes(s->t), edge);
    for (int64_t e = 0; e < c->n[1]; e++) out[HOLES * e + j] = c->on_boundary[1][e] ? edge[e] : 0;
  }
  mem_free(edge);
  return DKHO_OK;
}

static dkho_status flow_fill(const problem_state *s, const char *name, double *out) {
  if (strcmp(name, "rims") == 0) return fill_rims(s, out);
  if (strcmp(name, "holes") != 0) return problem_fill_common(s->c, name, out);
  problem_fill_holes(s->c, HOLES, out);
  return DKHO_OK;
}

static void close_flow(void *work) {
  flow_solver *w = work;
  if (!w) return;
  taylor_close(w->w);
  arena_free(&w->mem);
  mem_free(w);
}

static dkho_status open_flow(void **out, const problem_state *s) {
  *out = NULL;
  flow_solver *w;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = ARENA_NEW(&w->mem, w->u, 2 * taylor_nodes(s->t)) && ARENA_NEW(&w->mem, w->p, s->c->n[0])
                       ? taylor_open(&w->w, s->t)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK)
    *out = w;
  else
    close_flow(w);
  return st;
}

/* Reynolds numbers are uniform in their logarithm. */
static void flow_draw_one(const problem_state *s, void *work, rng *r, double *const *one) {
  (void)work;
  sheet_gaussian(s->c, r, FREQUENCY, ROUGHNESS, one[PSI]);
  for (int64_t i = 0; i < s->c->n[0]; i++) one[PSI][i] *= FORCE;
  for (int j = 0; j < HOLES; j++) one[SPEEDS][j] = rng_range(r, -SPEED, SPEED);
  one[RE][0] = exp(rng_range(r, log(REYNOLDS[0]), log(REYNOLDS[1])));
}

static dkho_status check_parameters(const cx *c, double *const *one) {
  if (!(one[RE][0] >= 0 && one[RE][0] <= REYNOLDS_MAX))
    return fail(DKHO_E_INPUT, "flow: Reynolds number %g, expected 0 … %g", one[RE][0], REYNOLDS_MAX);
  for (int j = 0; j < HOLES; j++)
    if (!isfinite(one[SPEEDS][j]))
      return fail(DKHO_E_INPUT, "flow: speed %d is %g, expected a finite number", j + 1, one[SPEEDS][j]);
  for (int64_t i = 0; i < c->n[0]; i++)
    if (!isfinite(one[PSI][i]))
      return fail(DKHO_E_INPUT, "flow: psi at vertex %lld is %g, expected a finite number", (long long)i, one[PSI][i]);
  return DKHO_OK;
}

/* u on the walls is Σ speed_j wall_j; line integrals and circulations are read off the quadratic velocity. */
static dkho_status flow_solve_from(const problem_state *s, void *work, problem_start *start, double *const *one) {
  flow_solver *w = work;
  int64_t values = 2 * taylor_nodes(s->t);
  TRY(check_parameters(s->c, one));
  for (int64_t i = 0; i < values; i++) {
    w->u[i] = 0;
    for (int j = 0; j < HOLES; j++) w->u[i] += one[SPEEDS][j] * s->wall[j * values + i];
  }
  if (start->guess) taylor_guess(s->t, start->guess, w->u);
  taylor_flow f = {.reynolds = one[RE][0], .psi = one[PSI], .u = w->u, .p = w->p, .guessed = start->guess != NULL};
  dkho_status st = taylor_solve(w->w, &f);
  start->steps = f.steps;
  if (st != DKHO_OK) return fail_prefix(st, "flow");
  taylor_line_integrals(s->t, w->u, one[U]);
  taylor_circulations(s->t, w->u, one[W]);
  taylor_fluxes(s->t, w->u, one[FLUX]);
  memcpy(one[P], w->p, (size_t)s->c->n[0] * sizeof *w->p);
  return DKHO_OK;
}

static dkho_status flow_solve_one(const problem_state *s, void *work, double *const *one) {
  return flow_solve_from(s, work, &(problem_start){0}, one);
}

/* Simpson's rule along edges and through them; circulations are d of that. */
static dkho_status flow_transfer(const void *work, const cx *to, double *const *one) {
  const flow_solver *w = work;
  locator *l;
  TRY(locator_create(&l, w->s->c));
  for (int64_t e = 0; e < to->n[1]; e++) {
    const double *a = to->x + 2 * to->vert[1][2 * e], *b = to->x + 2 * to->vert[1][2 * e + 1];
    one[U][e] = one[FLUX][e] = 0;
    for (int k = 0; k <= 2; k++) {
      double x[2] = {a[0] + 0.5 * k * (b[0] - a[0]), a[1] + 0.5 * k * (b[1] - a[1])}, bary[3], u[2];
      int64_t f = locator_find(l, x, bary);
      taylor_velocity(w->s->t, w->u, f, bary, u);
      one[U][e] += (k == 1 ? 4 : 1) * (u[0] * (b[0] - a[0]) + u[1] * (b[1] - a[1])) / 6;
      one[FLUX][e] += (k == 1 ? 4 : 1) * (u[0] * (b[1] - a[1]) - u[1] * (b[0] - a[0])) / 6;
    }
  }
  cx_d(to, 1, 1, one[U], one[W]);
  locate_linear(l, w->p, to, one[P]);
  locator_free(l);
  return DKHO_OK;
}

const problem problem_flow = {
    .name = "flow",
    .summary =
        "Navier-Stokes flow stirred by a force and by the turning walls of three holes: velocity, vorticity, pressure, "
        "flux",
    SHEET_DOMAIN,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .knowns = sizeof known / sizeof *known,
    .known = known,
    .notes =
        "Re (u.grad)u + grad p - Laplace(u) = curl psi, div u = 0; psi a Gaussian field of 120 modes and rms 8, walls "
        "of three holes turn with speeds in [-1, 1], Re in [20, 200], log-uniform. Taylor-Hood elements, Newton. "
        "Nonlinear. u: integral of the velocity along an edge; flux: through it, along the edge's tangent turned by -90 "
        "degrees, a difference of the stream function. Both are given on walls.",
    .prepare = flow_prepare,
    .release = flow_release,
    .fill = flow_fill,
    .open = open_flow,
    .close = close_flow,
    .draw_one = flow_draw_one,
    .solve_one = flow_solve_one,
    .guessed = "u",
    .solve_from = flow_solve_from,
    .transfer = flow_transfer,
    .demo =
        &(const problem_demo){.target = "u",
                              .task =
                                  "wall speeds, stirring force, Reynolds number -> velocity; Navier-Stokes, nonlinear"},
};
