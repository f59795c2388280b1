/* cavity.c: the response in a spherical shell. What the data are, plainly: a synthetic vector field made of the gradient of
 * a discrete potential and of a monopole and a dipole whose strengths are moments of the source; tapered, softly clamped and
 * normalised to largest length 1 per sample. It solves no magnetostatic system. The dipole uses the true first moment. */
#include "problem/problem.h"

#include "data/static.h"
#include "mesh/generate.h"
#include "problem/fem.h"
#include "mesh/vec3.h"

#include <math.h>
#include <string.h>

enum { G = PROBLEM_GROUP, FAMILIES = 5, WAVES = 4 };
static const double R_OUT = 2.0, R_IN = 0.4;

struct problem_state {
  const cx *c;
  int64_t inside;
  int32_t *unknown; /* vertices outside the outer layer */
  double *radius;   /* N0 */
  double *monopole; /* N0 × 3: the normalised, windowed 1/r² field */
  double *dipole;   /* N0: s(20(r - 0.45))/r³ */
  double *taper;    /* N0 */
  csr mass;         /* rows of the unknowns */
  csr gradient;     /* 3 N0 × unknowns: volume-weighted mean of ∇φ at the nodes, φ = 0 elsewhere */
  chol_wide *factor;
};

/* Places of a sample's fields in a block, in the order of the table. */
enum { FIELD_RHO, FIELD_B };
static const data_field fields[] = {
    {"rho", DATA_INPUT, 0, 1, DATA_SCALE_MAXABS, 1, 1e-9, 0, 1},
    {"B", DATA_TARGET, 0, 3, DATA_SCALE_MAXABS, 1, 1e-9, 0, 1},
    PROBLEM_STATIC("weight", 0, 1),
    PROBLEM_POSITIONS(3),
    PROBLEM_STATIC("radius", 0, 1),
    PROBLEM_SPACE_STATICS,
    PROBLEM_STATIC("boundary0", 0, 7),
    PROBLEM_STATIC("boundary1", 1, 7),
    PROBLEM_STATIC("boundary2", 2, 7),
    PROBLEM_SPECTRAL,
};

/* Widths 36, 39, 39. */
static const feat_row rows[] = {
    {"source", 0, FEAT_NATIVE, "rho"},
    {"position", 0, FEAT_NATIVE, "position0"},
    {"radius", 0, FEAT_NATIVE, "radius"},
    {"boundary", 0, FEAT_BOUNDARY, "boundary0"},
    {"spectral encoding", 0, FEAT_SPECTRAL, "modes(spectral0)"},
    {"heated source", 0, FEAT_DIFFUSION, "heat(rho, 0.025, 1, 2, 3, 4)"},
    {"summary", 0, FEAT_SUMMARY, "broadcast(mean, moment)"},
    {"source difference", 1, FEAT_NATIVE, "d(rho)"},
    PROBLEM_EDGE_ROWS,
    {"boundary", 1, FEAT_BOUNDARY, "boundary1"},
    {"spectral encoding", 1, FEAT_SPECTRAL, "modes(spectral1)"},
    {"heated source difference", 1, FEAT_DIFFUSION, "d(heat(rho, 0.025, 1, 2, 3, 4))"},
    {"summary", 1, FEAT_SUMMARY, "broadcast(mean, moment)"},
    {"d1 d0 rho, zero", 2, FEAT_NATIVE, "zero(2, 1)"},
    {"position", 2, FEAT_NATIVE, "position2"},
    {"normal", 2, FEAT_NATIVE, "normal"},
    {"area", 2, FEAT_NATIVE, "area"},
    {"boundary", 2, FEAT_BOUNDARY, "boundary2"},
    {"spectral encoding", 2, FEAT_SPECTRAL, "modes(spectral2)"},
    {"d1 d0 of the heated source, zero", 2, FEAT_DIFFUSION, "zero(2, 4)"},
    {"summary", 2, FEAT_SUMMARY, "broadcast(mean, moment)"},
    /* networks on vertices with raw coordinates of their own: 1 … 32 columns */
    {"source", 0, FEAT_NATIVE, "for(point, rho)"},
    {"boundary", 0, FEAT_BOUNDARY, "for(point, unit(boundary0))"},
    {"spectral encoding", 0, FEAT_SPECTRAL, "for(point, unit(spectral0))"},
    {"heated source", 0, FEAT_DIFFUSION, "for(point, heat(rho, 0.025, 1, 2, 3, 4))"},
    {"summary", 0, FEAT_SUMMARY, "for(point, broadcast(mean, moment))"},
};
static const feat_summary summaries[] = {
    {"mean", "average(rho, weight)"},
    {"moment", "moment(rho, weight, position0)"},
};
static const data_recipe recipes[] = {{"B", "", 1e-3, 1e-6, 1e-10, 200, 16, 16, 1, "cavity"}};

static double smooth_step(double t) {
  return 1 / (1 + exp(-t));
}

/* Windows and fields that do not depend on the source. */
static void fill_windows(problem_state *s) {
  const cx *c = s->c;
  double mean = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < c->n[0]; i++) {
    const double *x = c->x + 3 * i;
    double r = s->radius[i] = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    if (r > 0.48 && r < 1.8) mean += 1 / (r * r), count++;
  }
  mean /= (double)count;
  for (int64_t i = 0; i < c->n[0]; i++) {
    double r = s->radius[i], window = smooth_step(15 * (r - R_IN - 0.04)) * smooth_step(10 * (1.8 - r));
    for (int a = 0; a < 3; a++) s->monopole[3 * i + a] = c->x[3 * i + a] / (r * r * r) / mean * window;
    s->dipole[i] = smooth_step(20 * (r - R_IN - 0.05)) / (r * r * r);
    s->taper[i] = smooth_step(25 * (r - R_IN - 0.03)) * smooth_step(15 * (R_OUT - r - 0.1));
  }
}

static void cavity_release(problem_state *s) {
  if (!s) return;
  mem_free(s->unknown);
  mem_free(s->radius);
  mem_free(s->monopole);
  mem_free(s->dipole);
  mem_free(s->taper);
  csr_free(&s->mass);
  csr_free(&s->gradient);
  chol_wide_free(s->factor);
  mem_free(s);
}

/* Row 3i + a: Σ_{T∋i} V_T (∇λ_j)_a / Σ_{T∋i} V_T in column j. */
static dkho_status mean_gradient(csr *out, const cx *c) {
  int64_t count = 48 * c->n[3], at = 0;
  int32_t *row = mem_alloc((size_t)count, sizeof *row), *col = mem_alloc((size_t)count, sizeof *col);
  double *value = mem_alloc((size_t)count, sizeof *value), *lumped = mem_alloc((size_t)c->n[0], sizeof *lumped);
  dkho_status st = DKHO_E_MEMORY;
  if (row && col && value && lumped) {
    static_lumped(c, lumped);
    for (int64_t t = 0; t < c->n[3]; t++) {
      const int32_t *v = c->vert[3] + 4 * t;
      double grad[12];
      fem_gradients(c, t, grad);
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          for (int a = 0; a < 3; a++, at++) {
            row[at] = 3 * v[i] + a;
            col[at] = v[j];
            value[at] = c->measure[3][t] / (4 * lumped[v[i]]) * grad[3 * j + a];
          }
    }
    st = csr_from_triplets(out, 3 * c->n[0], c->n[0], count, row, col, value);
  }
  mem_free(row);
  mem_free(col);
  mem_free(value);
  mem_free(lumped);
  return st;
}

/* (K + 1e-8 I) on the unknowns, the mass rows and the gradient columns of the unknowns. */
static dkho_status assemble_potential(problem_state *s) {
  csr K = {0}, M = {0}, D = {0}, inner = {0};
  const cx *c = s->c;
  int32_t *all = mem_alloc((size_t)c->n[0] * 3, sizeof *all);
  dkho_status st = all ? DKHO_OK : DKHO_E_MEMORY;
  for (int64_t i = 0; all && i < 3 * c->n[0]; i++) all[i] = (int32_t)i;
  if (st == DKHO_OK) st = fem_stiffness(&K, c, NULL);
  if (st == DKHO_OK) st = fem_mass(&M, c);
  if (st == DKHO_OK) st = csr_select(&s->mass, &M, s->inside, s->unknown, c->n[0], all);
  if (st == DKHO_OK) st = mean_gradient(&D, c);
  if (st == DKHO_OK) st = csr_select(&s->gradient, &D, 3 * c->n[0], all, s->inside, s->unknown);
  if (st == DKHO_OK) st = csr_select(&inner, &K, s->inside, s->unknown, s->inside, s->unknown);
  for (int64_t i = 0; st == DKHO_OK && i < inner.rows; i++)
    for (int64_t p = inner.ptr[i]; p < inner.ptr[i + 1]; p++)
      if (inner.col[p] == i) inner.val[p] += 1e-8;
  if (st == DKHO_OK) st = chol_wide_factor(&s->factor, &inner);
  csr_free(&K);
  csr_free(&M);
  csr_free(&D);
  csr_free(&inner);
  mem_free(all);
  return st;
}

static dkho_status cavity_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = DKHO_E_MEMORY;
  int64_t n = c->n[0];
  if (MEM_NEW(s->unknown, n) && MEM_NEW(s->radius, n) && MEM_NEW(s->monopole, 3 * n) && MEM_NEW(s->dipole, n) &&
      MEM_NEW(s->taper, n)) {
    fill_windows(s);
    for (int64_t i = 0; i < n; i++)
      if (c->label[0][i] != 2) s->unknown[s->inside++] = (int32_t)i;
    st = assemble_potential(s);
  }
  if (st == DKHO_OK)
    *out = s;
  else
    cavity_release(s);
  return st;
}

/* [1_I, 1_O, distance to I, distance to O (over the box diagonal), (1_O - 1_I) x/|x|], I and O the labelled layers. */
static dkho_status fill_boundary(const cx *c, double *out) {
  int64_t n = c->n[0];
  uint8_t *mask = mem_alloc((size_t)n, 1);
  double *distance = mem_alloc((size_t)n, sizeof *distance);
  if (mask && distance)
    for (int side = 0; side < 2; side++) {
      for (int64_t i = 0; i < n; i++) mask[i] = c->label[0][i] == 1 + side;
      static_distance(c, mask, static_diagonal(c), distance);
      for (int64_t i = 0; i < n; i++) {
        const double *x = c->x + 3 * i;
        double r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        out[7 * i + side] = mask[i];
        out[7 * i + 2 + side] = distance[i];
        for (int a = 0; a < 3; a++) out[7 * i + 4 + a] += (side ? 1 : -1) * mask[i] * x[a] / r;
      }
    }
  dkho_status st = mask && distance ? DKHO_OK : DKHO_E_MEMORY;
  mem_free(mask);
  mem_free(distance);
  return st;
}

static dkho_status cavity_fill(const problem_state *s, const char *name, double *out) {
  const cx *c = s->c;
  if (strcmp(name, "radius") == 0) {
    memcpy(out, s->radius, (size_t)c->n[0] * sizeof *out);
    static_standardise(c->n[0], 1, out);
    return DKHO_OK;
  }
  if (strncmp(name, "boundary", 8) != 0) return problem_fill_common(c, name, out);
  int k = name[8] - '0';
  if (k == 0) return fill_boundary(c, out);
  double *vertex = mem_alloc((size_t)c->n[0] * 7, sizeof *vertex);
  if (!vertex) return DKHO_E_MEMORY;
  dkho_status st = fill_boundary(c, vertex);
  static_vertex_mean(c, k, 7, vertex, out);
  mem_free(vertex);
  return st;
}

/* ---- the source: five families with softmax weights ---- */

static void unit_vector(rng *r, double e[3]) {
  double size = 0;
  for (int a = 0; a < 3; a++) e[a] = rng_normal(r), size += e[a] * e[a];
  for (int a = 0; a < 3; a++) e[a] /= sqrt(size);
}

static double inner_window(double r) {
  return exp(-((r - 0.6) / 0.2) * ((r - 0.6) / 0.2));
}
static double outer_window(double r) {
  return exp(-((r - 1.4) / 0.6) * ((r - 1.4) / 0.6));
}

static void add_waves(const cx *c, rng *r, double weight, double *f) {
  for (int w = 0; w < WAVES; w++) {
    double k[3], phase = 0;
    for (int a = 0; a < 3; a++) k[a] = rng_range(r, 0.3, 1.5) * M_PI / R_OUT;
    for (int a = 0; a < 3; a++) phase += rng_range(r, 0, 2 * M_PI);
    for (int64_t i = 0; i < c->n[0]; i++) f[i] += weight * sin(vec3_dot(k, c->x + 3 * i) + phase);
  }
}

/* f += weight Σ ±s exp(-|x - c|²/2w²), 4 … 9 blobs inside the shell. */
static void add_blobs(const cx *c, rng *r, double weight, double *f) {
  int count = 4 + (int)rng_below(r, 6);
  for (int b = 0; b < count; b++) {
    double radius = rng_range(r, 1.3 * R_IN, 0.85 * R_OUT), polar = rng_range(r, 0, M_PI),
           azimuth = rng_range(r, 0, 2 * M_PI);
    double width = rng_range(r, 0.5, 1.2), strength = rng_range(r, 1, 2) * (rng_below(r, 2) ? 1 : -1);
    double centre[3] = {radius * sin(polar) * cos(azimuth), radius * sin(polar) * sin(azimuth), radius * cos(polar)};
    for (int64_t i = 0; i < c->n[0]; i++) {
      const double *x = c->x + 3 * i;
      double d[3] = {x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]};
      f[i] += weight * strength * exp(-vec3_dot(d, d) / (2 * width * width));
    }
  }
}

/* f += charge, dipole along e and quadrupole in (e1, e2) of random strength near the inner sphere, the quadrupole also near the outer one. */
static void add_multipoles(const problem_state *s, rng *r, const double weight[3], double *f) {
  const cx *c = s->c;
  double q = rng_range(r, -1.5, 1.5), p = rng_range(r, -1, 1), h = rng_range(r, -0.5, 0.5), e[3], e1[3], e2[3];
  unit_vector(r, e);
  unit_vector(r, e1);
  unit_vector(r, e2);
  double along = vec3_dot(e1, e2), size = 0;
  for (int a = 0; a < 3; a++) e2[a] -= along * e1[a], size += e2[a] * e2[a];
  for (int a = 0; a < 3; a++) e2[a] /= sqrt(size);
  for (int64_t i = 0; i < c->n[0]; i++) {
    const double *x = c->x + 3 * i;
    double radius = s->radius[i], a = inner_window(radius), c1 = vec3_dot(x, e1) / radius,
           c2 = vec3_dot(x, e2) / radius;
    f[i] += weight[0] * q * a + weight[1] * p * a * vec3_dot(x, e) / radius;
    f[i] += weight[2] * h * ((3 * c1 * c1 - 1) + c1 * c2) * (a + 0.3 * outer_window(radius));
  }
}

/* X = tanh(1.5 F / max|F|) */
static void draw_sample(const problem_state *s, uint64_t seed, int64_t sample, double *f) {
  rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample);
  double weight[FAMILIES], sum = 0, largest = 0;
  for (int j = 0; j < FAMILIES; j++) sum += weight[j] = exp(rng_normal(&r));
  for (int j = 0; j < FAMILIES; j++) weight[j] /= sum;
  for (int64_t i = 0; i < s->c->n[0]; i++) f[i] = 0;
  add_waves(s->c, &r, weight[0], f);
  add_blobs(s->c, &r, weight[1], f);
  add_multipoles(s, &r, weight + 2, f);
  for (int64_t i = 0; i < s->c->n[0]; i++) largest = fmax(largest, fabs(f[i]));
  for (int64_t i = 0; i < s->c->n[0]; i++) f[i] = tanh(1.5 * f[i] / largest);
}

static void cavity_draw(const problem_state *s, void *bytes, uint64_t seed, int64_t first, double *const *block) {
  (void)bytes;
  for (int k = 0; k < G; k++) draw_sample(s, seed, first + k, block[FIELD_RHO] + k * s->c->n[0]);
}

/* ---- the response ---- */

/* Fields of G samples side by side. */
typedef struct scratch {
  double *source, *phi, *room, *node; /* N0, unknowns, unknowns, 3 N0 */
} scratch;

static size_t cavity_work(const problem_state *s) {
  return sizeof(double) * G * (size_t)(4 * s->c->n[0] + 2 * s->inside);
}

static scratch cut_scratch(const problem_state *s, void *bytes) {
  scratch w = {.source = bytes};
  w.phi = w.source + G * s->c->n[0];
  w.room = w.phi + G * s->inside;
  w.node = w.room + G * s->inside;
  return w;
}

/* (K + 1e-8 I)φ = M X off the outer layer, φ = 0 on it; then the mean of ∇φ at the nodes. */
static void local_response(const problem_state *s, const scratch *w, const double *source) {
  problem_pack(s->c->n[0], source, w->source);
  csr_apply(&s->mass, G, w->source, w->phi);
  chol_wide_solve(s->factor, w->phi, w->room);
  csr_apply(&s->gradient, G, w->phi, w->node);
}

/* Q = Σ V X̄ and p = Σ V X̄ x̄ over the tetrahedra, means over their corners. */
static void source_moments(const cx *c, const double *source, double *Q, double p[3]) {
  *Q = p[0] = p[1] = p[2] = 0;
  for (int64_t t = 0; t < c->n[3]; t++) {
    const int32_t *v = c->vert[3] + 4 * t;
    double mean = 0, centre[3] = {0};
    for (int j = 0; j < 4; j++) {
      mean += source[v[j]] / 4;
      for (int a = 0; a < 3; a++) centre[a] += c->x[3 * (int64_t)v[j] + a] / 4;
    }
    *Q += c->measure[3][t] * mean;
    for (int a = 0; a < 3; a++) p[a] += c->measure[3][t] * mean * centre[a];
  }
}

static double length3(const double *y) {
  return sqrt(vec3_dot(y, y));
}

/* |Y| is pressed below T = 5·mean|Y|, then scaled so that the longest vector has length 1. */
static void clamp_and_normalise(int64_t n, double *y) {
  double mean = 0, largest = 0;
  for (int64_t i = 0; i < n; i++) mean += length3(y + 3 * i) / (double)n;
  double bound = 5 * fmax(mean, 1e-8);
  for (int64_t i = 0; i < n; i++) {
    double size = length3(y + 3 * i), factor = tanh(size / bound) * bound / (size + 1e-8);
    for (int a = 0; a < 3; a++) y[3 * i + a] *= factor;
    largest = fmax(largest, length3(y + 3 * i));
  }
  for (int64_t i = 0; i < 3 * n; i++) y[i] /= fmax(largest, 1e-10);
}

/* Y = taper·(0.5 ∇φ + 0.8 (Q h + 0.3 D(p))), D(p) = [3(p·x̂)x̂ - p]/r³ windowed. */
static void respond_sample(const problem_state *s, const double *node, int k, const double *source, double *y) {
  const cx *c = s->c;
  double Q, p[3];
  source_moments(c, source, &Q, p);
  for (int64_t i = 0; i < c->n[0]; i++) {
    const double *x = c->x + 3 * i;
    double radius = s->radius[i], along = vec3_dot(p, x) / (radius * radius);
    for (int a = 0; a < 3; a++) {
      double global = Q * s->monopole[3 * i + a] + 0.3 * (3 * along * x[a] - p[a]) * s->dipole[i];
      y[3 * i + a] = s->taper[i] * (0.5 * node[(3 * i + a) * G + k] + 0.8 * global);
    }
  }
  clamp_and_normalise(c->n[0], y);
}

static dkho_status cavity_solve(const problem_state *s, void *bytes, double *const *block) {
  int64_t n = s->c->n[0];
  scratch w = cut_scratch(s, bytes);
  local_response(s, &w, block[FIELD_RHO]);
  for (int k = 0; k < G; k++) respond_sample(s, w.node, k, block[FIELD_RHO] + k * n, block[FIELD_B] + 3 * k * n);
  return DKHO_OK;
}

const problem problem_cavity = {
    .name = "cavity",
    .summary = "local and global response of a source in a spherical shell: vectors on vertices",
    .sizes = {2040, 360, 600},
    .smoke_sizes = {64, 16, 32},
    PROBLEM_ON_SHELL,
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes = "A synthetic response: half the gradient of a discrete potential plus a monopole and a dipole whose "
             "strengths are moments of the source (true first moment), tapered, softly clamped, largest vector "
             "length 1 in each sample. It solves no magnetostatic system.",
    .prepare = cavity_prepare,
    .release = cavity_release,
    .fill = cavity_fill,
    .work = cavity_work,
    .draw = cavity_draw,
    .solve = cavity_solve,
    .metrics = "edge_flux",
    .paper = &paper_cavity,
    .phase = &(const problem_phase){.degree = 0, .up = 1, .last = 1, .q = 0.18},
    .quick = &(const problem_budget){"main", 320, 40, 4},
    .demo =
        &(const problem_demo){.target = "B", .task = "source -> vector response in a spherical shell, nearly linear"},
};
