/* torus.c: transport and diffusion u_t + ∇·(uv) = κΔu on a torus, κ = 0.01, v the rotation about the axis, to T = 0.3 in 15
 * steps. The initial state is an offset and 5 to 11 Gaussian blobs. Galerkin P1 elements in conservative form with the
 * consistent mass matrix; per step, a fourth-order Runge–Kutta step of the advection, then Crank–Nicolson of the diffusion
 * (the two flows commute on the smooth torus): second order in space and time, Σ M u kept to rounding. Targets: concentration,
 * edge transport, face mass. */
#include "problem/problem.h"

#include "data/static.h"
#include "mesh/generate.h"
#include "problem/fem.h"

#include <math.h>
#include <string.h>

enum { G = PROBLEM_GROUP, STEPS = 15, FOURIER = 8 };
static const double KAPPA = 0.01, DT = 0.02, WIDTH = 0.15;

struct problem_state {
  const cx *c;
  double *v;      /* N0 × 3 vertex velocity */
  double *ve;     /* N1: ½(v_tail + v_head)·t_e */
  csr advection;  /* A */
  csr mass;       /* M */
  csr half_minus; /* M - κ Δt/2 S */
  chol_wide *mass_factor, *half_plus;
};

/* Places of a sample's fields in a block, in the order of the table. */
enum { FIELD_U0, FIELD_U, FIELD_Q, FIELD_M };
static const data_field fields[] = {
    {"u0", DATA_INPUT, 0, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
    {"u", DATA_TARGET, 0, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
    {"q", DATA_TARGET, 1, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
    {"m", DATA_TARGET, 2, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
    PROBLEM_STATIC("weight", 0, 1),
    PROBLEM_STATIC("fourier", 0, FOURIER),
    PROBLEM_POSITIONS(3),
    PROBLEM_STATIC("velocity", 1, 1),
    PROBLEM_STATIC("divergence", 0, 1),
    PROBLEM_STATIC("vorticity", 2, 1),
    PROBLEM_STATIC("speed", 0, 1),
    PROBLEM_STATIC("area", 2, 1),
    PROBLEM_STATIC("normal", 2, 3),
    PROBLEM_SPECTRAL,
};

/* Widths 19+P, 16+P, 20+P with P spectral modes: 8 for the vertex target, 16 for the others. */
static const feat_row rows[] = {
    {"concentration", 0, FEAT_NATIVE, "u0"},
    {"position", 0, FEAT_NATIVE, "position0"},
    {"divergence of the velocity", 0, FEAT_NATIVE, "divergence"},
    {"divergence of the transport", 0, FEAT_NATIVE, "dt(flux(u0, velocity))"},
    {"speed", 0, FEAT_NATIVE, "speed"},
    {"heated concentration", 0, FEAT_DIFFUSION, "heat(u0, 0.03, 1, 2)"},
    {"spectral encoding", 0, FEAT_SPECTRAL, "modes(spectral0)"},
    {"summary", 0, FEAT_SUMMARY, "broadcast(energy, scale, fourier)"},
    {"concentration difference", 1, FEAT_NATIVE, "d(u0)"},
    {"position", 1, FEAT_NATIVE, "position1"},
    {"edge velocity", 1, FEAT_NATIVE, "velocity"},
    {"transport", 1, FEAT_NATIVE, "flux(u0, velocity)"},
    {"spectral encoding", 1, FEAT_SPECTRAL, "modes(spectral1)"},
    {"summary", 1, FEAT_SUMMARY, "broadcast(energy, scale, fourier)"},
    {"d1 d0 u, zero", 2, FEAT_NATIVE, "zero(2, 1)"},
    {"vorticity", 2, FEAT_NATIVE, "vorticity"},
    {"circulation of the transport", 2, FEAT_NATIVE, "d(flux(u0, velocity))"},
    {"position", 2, FEAT_NATIVE, "position2"},
    {"area", 2, FEAT_NATIVE, "area"},
    {"normal", 2, FEAT_NATIVE, "normal"},
    {"spectral encoding", 2, FEAT_SPECTRAL, "modes(spectral2)"},
    {"summary", 2, FEAT_SUMMARY, "broadcast(energy, scale, fourier)"},
    /* networks on vertices with raw coordinates of their own: 1 … 35 columns */
    {"concentration", 0, FEAT_NATIVE, "for(point, u0)"},
    {"divergence of the velocity", 0, FEAT_BOUNDARY, "for(point, unit(divergence))"},
    {"divergence of the transport", 0, FEAT_BOUNDARY, "for(point, dt(flux(u0, velocity)))"},
    {"speed", 0, FEAT_BOUNDARY, "for(point, unit(speed))"},
    {"mean circulation of the transport", 0, FEAT_BOUNDARY, "for(point, around(d(flux(u0, velocity))))"},
    {"spectral encoding", 0, FEAT_SPECTRAL, "for(point, unit(spectral0))"},
    {"heated concentration", 0, FEAT_DIFFUSION, "for(point, heat(u0, 0.03, 1, 2))"},
    {"summary", 0, FEAT_SUMMARY, "for(point, broadcast(mean, energy, scale, gradscale, fourier))"},
    /* networks on vertices that predict on edges or faces: 4 … 16+P columns */
    {"concentration", 0, FEAT_NATIVE, "for(vertex, u0)"},
    {"position", 0, FEAT_NATIVE, "for(vertex, position0)"},
    {"spectral encoding", 0, FEAT_SPECTRAL, "for(vertex, modes(spectral0))"},
    {"heated concentration", 0, FEAT_DIFFUSION, "for(vertex, heat(u0, 0.03, 1, 2))"},
    {"summary", 0, FEAT_SUMMARY, "for(vertex, broadcast(mean, energy, fourier))"},
};
static const feat_summary summaries[] = {
    {"mean", "average(u0, weight)"},
    {"energy", "rms(u0, weight, 0, 1e-12)"},
    {"scale", "centred_rms(u0, weight, 0, 1e-12)"},
    {"gradscale", "rms(d(u0), 1, 0, 1e-12)"},
    {"fourier", "moment(u0, weight, fourier)"},
};
static const data_recipe recipes[] = {
    {"u", "dkho.tau_range=0.1", 1e-3, 1e-5, 1e-10, 300, 16, 8, 1, "torus"},
    {"q", "dkho.tau_range=0.1", 1e-3, 1e-5, 1e-10, 300, 16, 16, 1, "torus"},
    {"m", "dkho.tau_range=0.1", 1e-3, 1e-5, 1e-10, 300, 16, 16, 1, "torus"},
};

/* v = w - (w·n)n with w = (-y, x, 0) and n the normalised sum of the unit normals of the faces at the vertex. */
static dkho_status vertex_velocity(const cx *c, double *v) {
  double *normal, *n = v;
  if (!MEM_NEW(normal, 3 * c->n[2])) return DKHO_E_MEMORY;
  static_normals(c, normal);
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int j = 0; j < 3; j++)
      for (int a = 0; a < 3; a++) n[3 * (int64_t)c->vert[2][3 * f + j] + a] += normal[3 * f + a];
  mem_free(normal);
  for (int64_t i = 0; i < c->n[0]; i++, n += 3) {
    double size = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    double w[3] = {-c->x[3 * i + 1], c->x[3 * i], 0}, across = 0;
    for (int a = 0; a < 3; a++) across += w[a] * (n[a] / size);
    for (int a = 0; a < 3; a++) n[a] = w[a] - across * n[a] / size;
  }
  return DKHO_OK;
}

static void edge_velocity(const cx *c, const double *v, double *ve) {
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1];
    ve[e] = 0;
    for (int j = 0; j < 3; j++) ve[e] += 0.5 * (v[3 * a + j] + v[3 * b + j]) * (c->x[3 * b + j] - c->x[3 * a + j]);
  }
}

static void torus_release(problem_state *s) {
  if (!s) return;
  mem_free(s->v);
  mem_free(s->ve);
  csr_free(&s->advection);
  csr_free(&s->mass);
  csr_free(&s->half_minus);
  chol_wide_free(s->mass_factor);
  chol_wide_free(s->half_plus);
  mem_free(s);
}

static dkho_status assemble_transport(problem_state *s) {
  csr S = {0}, plus = {0};
  dkho_status st = fem_stiffness(&S, s->c, NULL);
  if (st == DKHO_OK) st = fem_mass(&s->mass, s->c);
  if (st == DKHO_OK) st = fem_advection(&s->advection, s->c, s->v);
  if (st == DKHO_OK) st = csr_add(&plus, 1, &s->mass, KAPPA * DT / 2, &S);
  if (st == DKHO_OK) st = csr_add(&s->half_minus, 1, &s->mass, -KAPPA * DT / 2, &S);
  if (st == DKHO_OK) st = chol_wide_factor(&s->mass_factor, &s->mass);
  if (st == DKHO_OK) st = chol_wide_factor(&s->half_plus, &plus);
  csr_free(&S);
  csr_free(&plus);
  return st;
}

static dkho_status torus_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = DKHO_E_MEMORY;
  if (MEM_NEW(s->v, 3 * c->n[0]) && MEM_NEW(s->ve, c->n[1]) && (st = vertex_velocity(c, s->v)) == DKHO_OK) {
    edge_velocity(c, s->v, s->ve);
    st = assemble_transport(s);
  }
  if (st == DKHO_OK)
    *out = s;
  else
    torus_release(s);
  return st;
}

/* cos and sin of mθ + nφ for (m,n) = (1,0), (0,1), (1,1), (1,-1); θ about the axis, φ round the tube. */
static void fill_fourier(const cx *c, double *out) {
  static const int mode[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
  double mean = 0;
  for (int64_t i = 0; i < c->n[0]; i++) mean += hypot(c->x[3 * i], c->x[3 * i + 1]) / (double)c->n[0];
  for (int64_t i = 0; i < c->n[0]; i++) {
    const double *x = c->x + 3 * i;
    double theta = atan2(x[1], x[0]), phi = atan2(x[2], hypot(x[0], x[1]) - mean);
    for (int j = 0; j < 4; j++) {
      out[FOURIER * i + 2 * j] = cos(mode[j][0] * theta + mode[j][1] * phi);
      out[FOURIER * i + 2 * j + 1] = sin(mode[j][0] * theta + mode[j][1] * phi);
    }
  }
}

static dkho_status torus_fill(const problem_state *s, const char *name, double *out) {
  const cx *c = s->c;
  if (strcmp(name, "fourier") == 0)
    fill_fourier(c, out);
  else if (strcmp(name, "velocity") == 0)
    memcpy(out, s->ve, (size_t)c->n[1] * sizeof *out);
  else if (strcmp(name, "divergence") == 0)
    cx_dt(c, 0, 1, s->ve, out);
  else if (strcmp(name, "vorticity") == 0)
    cx_d(c, 1, 1, s->ve, out);
  else if (strcmp(name, "speed") == 0)
    for (int64_t i = 0; i < c->n[0]; i++)
      out[i] = sqrt(s->v[3 * i] * s->v[3 * i] + s->v[3 * i + 1] * s->v[3 * i + 1] + s->v[3 * i + 2] * s->v[3 * i + 2]);
  else
    return problem_fill_common(c, name, out);
  return DKHO_OK;
}

/* Fields of G samples side by side, N0 × G. */
typedef struct scratch {
  double *u, *stage, *sum, *rate, *room;
} scratch;
enum { ARRAYS = 5 };

static size_t torus_work(const problem_state *s) {
  return sizeof(double) * G * ARRAYS * (size_t)s->c->n[0];
}

static scratch cut_scratch(const problem_state *s, void *bytes) {
  double *p[ARRAYS];
  for (int i = 0; i < ARRAYS; i++) p[i] = (double *)bytes + (int64_t)i * G * s->c->n[0];
  return (scratch){p[0], p[1], p[2], p[3], p[4]};
}

/* M u' = -A u by the classical Runge–Kutta scheme. */
static void advect(const problem_state *s, const scratch *w) {
  static const double node[] = {0, 0.5, 0.5, 1}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  int64_t n = s->c->n[0] * G;
  memcpy(w->sum, w->u, (size_t)n * sizeof *w->u);
  for (int k = 0; k < 4; k++) {
    const double *at = k ? w->stage : w->u;
    for (int64_t i = 0; k && i < n; i++) w->stage[i] = w->u[i] - node[k] * DT * w->rate[i];
    csr_apply(&s->advection, G, at, w->rate);
    chol_wide_solve(s->mass_factor, w->rate, w->room);
    for (int64_t i = 0; i < n; i++) w->sum[i] -= weight[k] * DT * w->rate[i];
  }
  memcpy(w->u, w->sum, (size_t)n * sizeof *w->u);
}

static void march(const problem_state *s, const scratch *w) {
  for (int t = 0; t < STEPS; t++) {
    advect(s, w);
    csr_apply(&s->half_minus, G, w->u, w->rate);
    chol_wide_solve(s->half_plus, w->rate, w->room);
    memcpy(w->u, w->rate, (size_t)(s->c->n[0] * G) * sizeof *w->u);
  }
}

/* b + Σ a exp(-|x - x_c|²/(2·0.15²)), b ~ U[-1,1), 5 … 11 blobs at uniform vertices, a ~ U[0.5,2). */
static void draw_sample(const cx *c, uint64_t seed, int64_t sample, double *u) {
  rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample);
  double offset = rng_range(&r, -1, 1);
  int blobs = 5 + (int)rng_below(&r, 7);
  for (int64_t i = 0; i < c->n[0]; i++) u[i] = offset;
  for (int b = 0; b < blobs; b++) {
    const double *centre = c->x + 3 * (int64_t)rng_below(&r, (uint64_t)c->n[0]);
    double amplitude = rng_range(&r, 0.5, 2);
    for (int64_t i = 0; i < c->n[0]; i++) {
      const double *x = c->x + 3 * i;
      double dx = x[0] - centre[0], dy = x[1] - centre[1], dz = x[2] - centre[2];
      u[i] += amplitude * exp(-(dx * dx + dy * dy + dz * dz) / (2 * WIDTH * WIDTH));
    }
  }
}

static void torus_draw(const problem_state *s, void *bytes, uint64_t seed, int64_t first, double *const *block) {
  (void)bytes;
  for (int k = 0; k < G; k++) draw_sample(s->c, seed, first + k, block[FIELD_U0] + k * s->c->n[0]);
}

/* q_e = ½(u_tail + u_head) v_e - κ (u_head - u_tail);  m_f = |f|·mean of u over its vertices. */
static void observe(const problem_state *s, const double *u, double *q, double *m) {
  const cx *c = s->c;
  for (int64_t e = 0; e < c->n[1]; e++) {
    double tail = u[c->vert[1][2 * e]], head = u[c->vert[1][2 * e + 1]];
    q[e] = 0.5 * (tail + head) * s->ve[e] - KAPPA * (head - tail);
  }
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    m[f] = c->measure[2][f] * (u[v[0]] + u[v[1]] + u[v[2]]) / 3;
  }
}

static dkho_status torus_solve(const problem_state *s, void *bytes, double *const *block) {
  const cx *c = s->c;
  int64_t n = c->n[0];
  scratch w = cut_scratch(s, bytes);
  problem_pack(n, block[FIELD_U0], w.u);
  march(s, &w);
  problem_unpack(n, w.u, block[FIELD_U]);
  for (int k = 0; k < G; k++)
    observe(s, block[FIELD_U] + k * n, block[FIELD_Q] + k * c->n[1], block[FIELD_M] + k * c->n[2]);
  return DKHO_OK;
}

/* A grid of twice as many vertices round the axis as round the tube, thinned out as the main mesh is, V : 3V : 2V. */
static dkho_status build_scaled(cx **out, int64_t simplices) {
  const double kept = 2499.0 / (79 * 39);
  double vertices = (double)simplices / 6 / kept;
  int nv = (int)lround(sqrt(vertices / 2)), nu = (int)lround(vertices / nv);
  return cx_torus_grid(out, 1.0, 0.4, nu, nv, (int)lround((1 - kept) * nu * nv));
}

const problem problem_torus = {
    .name = "torus",
    .summary = "transport and diffusion on a torus: concentration, edge transport, face mass",
    .sizes = {2040, 360, 600},
    .smoke_sizes = {64, 16, 32},
    PROBLEM_ON_TORUS,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes = "u_t + div(u v) = 0.01 Laplace(u) to T = 0.3 with v the rotation about the axis; P1 Galerkin "
             "elements, RK4 and Crank-Nicolson, second order, conservative. The map u0 to (u, q, m) is linear.",
    .prepare = torus_prepare,
    .release = torus_release,
    .fill = torus_fill,
    .work = torus_work,
    .draw = torus_draw,
    .solve = torus_solve,
    .metrics = "soft",
    .paper = &paper_torus,
    .phase = &(const problem_phase){.degree = 1, .up = 1, .down = 1, .q = 0.20},
    .turn = 0.30,
    .quick = &(const problem_budget){"main", 400, 40, 4},
    .demo = &(const problem_demo){.target = "u", .task = "u(0) -> u(T), carried round a torus and spread, linear"},
    .scaled = build_scaled,
};
