/* darcy.c: anisotropic Darcy flow -∇·(K∇p) = f on the perforated square. K is fixed: one independent uniform principal angle
 * per triangle, principal values 4 and 1. A sample varies the Fourier source f and the two hole values g; p = 0 on the outer
 * square. P1 elements with consistent load, one Cholesky factor for all samples. Targets: potential on vertices, line flux on
 * edges, circulation w = d1 q on faces. */
#include "problem/problem.h"

#include "data/static.h"
#include "la/lanes.h"
#include "mesh/generate.h"
#include "problem/fem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* TERMS: 1, cos πx, sin πx, cos 2πx, …; a source is a sum over their products in x and y. */
enum { G = PROBLEM_GROUP, FREQUENCY = 3, TERMS = 2 * FREQUENCY + 1 };
enum { STRIP = 256 }; /* simplices whose fields pass through the nearest cache at a time */

struct problem_state {
  const cx *c;
  int64_t inside;   /* unknowns */
  int32_t *unknown; /* vertex of each unknown */
  double *K;        /* N2 × 2 × 2 */
  double *wave;     /* N0 × 2 × TERMS: the terms of x and of y at the vertices */
  double *lift[2];  /* A_I,D · indicator of hole j: what a boundary value 1 puts on the right-hand side */
  csr mass;         /* rows of the unknowns */
  csr flux;         /* N1 × N0: line flux of a potential */
  chol_wide *factor;
};

/* Places of a sample's fields in a block, in the order of the table. */
enum { FIELD_F, FIELD_P, FIELD_Q, FIELD_W, FIELD_G };
static const data_field fields[] = {
    {"f", DATA_INPUT, 0, 1, DATA_SCALE_MEANSTD, 0, 1e-6, 0, 1},
    {"p", DATA_TARGET, 0, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
    {"q", DATA_TARGET, 1, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
    {"w", DATA_TARGET, 2, 1, DATA_SCALE_MAXABS, 0, 1e-8, 0, 1},
    {"g", DATA_GLOBAL, 0, 2, DATA_SCALE_MEANSTD, 0, 1e-6, 0, 1},
    PROBLEM_STATIC("holes", 0, 2),
    PROBLEM_STATIC("weight", 0, 1),
    PROBLEM_POSITIONS(2),
    PROBLEM_STATIC("tangent", 1, 2),
    PROBLEM_STATIC("length", 1, 1),
    PROBLEM_STATIC("area", 2, 1),
    PROBLEM_STATIC("K0", 0, 4),
    PROBLEM_STATIC("K1", 1, 3),
    PROBLEM_STATIC("K2", 2, 4),
    PROBLEM_STATIC("label0", 0, 4),
    PROBLEM_STATIC("label1", 1, 4),
    PROBLEM_STATIC("label2", 2, 4),
    PROBLEM_SPECTRAL,
};

/* Widths 37, 39, 37; the native part alone 12, 14, 12. */
static const feat_row rows[] = {
    {"source", 0, FEAT_NATIVE, "f"},
    {"hole values", 0, FEAT_NATIVE, "lift(g, holes)"},
    {"position", 0, FEAT_NATIVE, "position0"},
    {"permeability", 0, FEAT_NATIVE, "K0"},
    {"boundary label", 0, FEAT_NATIVE, "label0"},
    {"spectral encoding", 0, FEAT_SPECTRAL, "modes(spectral0)"},
    {"heated source", 0, FEAT_DIFFUSION, "heat(f, 0.01, 1, 4, 12)"},
    {"summary", 0, FEAT_SUMMARY, "broadcast(g, mean, moment, rms)"},
    {"source difference", 1, FEAT_NATIVE, "d(f)"},
    {"hole value difference", 1, FEAT_NATIVE, "d(lift(g, holes))"},
    {"position", 1, FEAT_NATIVE, "position1"},
    {"tangent", 1, FEAT_NATIVE, "tangent"},
    {"length", 1, FEAT_NATIVE, "length"},
    {"permeability invariants", 1, FEAT_NATIVE, "K1"},
    {"boundary label", 1, FEAT_NATIVE, "label1"},
    {"spectral encoding", 1, FEAT_SPECTRAL, "modes(spectral1)"},
    {"heated source difference", 1, FEAT_DIFFUSION, "d(heat(f, 0.01, 1, 4, 12))"},
    {"summary", 1, FEAT_SUMMARY, "broadcast(g, mean, moment, rms)"},
    {"source integral", 2, FEAT_NATIVE, "integral(f, 2)"},
    {"position", 2, FEAT_NATIVE, "position2"},
    {"area", 2, FEAT_NATIVE, "area"},
    {"permeability", 2, FEAT_NATIVE, "K2"},
    {"boundary label", 2, FEAT_NATIVE, "label2"},
    {"spectral encoding", 2, FEAT_SPECTRAL, "modes(spectral2)"},
    {"heated source integral", 2, FEAT_DIFFUSION, "integral(heat(f, 0.01, 1, 4, 12), 2)"},
    {"summary", 2, FEAT_SUMMARY, "broadcast(g, mean, moment, rms)"},
};
static const feat_summary summaries[] = {
    {"g", "g"},
    {"mean", "average(f, weight)"},
    {"moment", "moment(f, weight, position0)"},
    {"rms", "rms(f, weight, 1e-12, 0)"},
};
static const data_recipe recipes[] = {
    {"p", "", 1e-3, 1e-6, 1e-12, 200, 16, 16, 0, "darcy"},
    {"q", "", 1e-3, 1e-6, 1e-12, 200, 16, 16, 1, "darcy"},
    {"w", "", 1e-3, 1e-6, 1e-12, 300, 16, 16, 0, "darcy"},
};

/* K_f = 4 t tᵀ + (I - t tᵀ), t = (cos φ, sin φ), φ uniform on [0, π). */
static void draw_permeability(const cx *c, uint64_t seed, double *K) {
  rng r = rng_open(seed, RNG_MATERIAL, 0);
  for (int64_t f = 0; f < c->n[2]; f++) {
    double a = 2 * rng_range(&r, 0, M_PI);
    K[4 * f] = 2.5 + 1.5 * cos(a);
    K[4 * f + 3] = 2.5 - 1.5 * cos(a);
    K[4 * f + 1] = K[4 * f + 2] = 1.5 * sin(a);
  }
}

static void fill_waves(const cx *c, double *wave) {
  for (int64_t i = 0; i < 2 * c->n[0]; i++) {
    double *o = wave + i * TERMS;
    o[0] = 1;
    for (int m = 1; m <= FREQUENCY; m++) o[2 * m - 1] = cos(M_PI * m * c->x[i]), o[2 * m] = sin(M_PI * m * c->x[i]);
  }
}

static void darcy_release(problem_state *s) {
  if (!s) return;
  mem_free(s->unknown);
  mem_free(s->K);
  mem_free(s->wave);
  mem_free(s->lift[0]);
  mem_free(s->lift[1]);
  csr_free(&s->mass);
  csr_free(&s->flux);
  chol_wide_free(s->factor);
  mem_free(s);
}

/* F = -K∇p on faces; q_e = (area-weighted mean of F over the faces at e)·(x_head - x_tail). As a matrix N1 × N0 acting on p. */
static dkho_status assemble_flux(problem_state *s) {
  const cx *c = s->c;
  int64_t count = 9 * c->n[2], at = 0;
  int32_t *row = mem_alloc((size_t)count, sizeof *row), *col = mem_alloc((size_t)count, sizeof *col);
  double *value = mem_alloc((size_t)count, sizeof *value);
  dkho_status st = DKHO_E_MEMORY;
  if (row && col && value) {
    for (int64_t f = 0; f < c->n[2]; f++) {
      const double *K = s->K + 4 * f;
      double grad[6];
      fem_gradients(c, f, grad);
      for (int j = 0; j < 3; j++) {
        int64_t e = c->face[2][3 * f + j], a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1];
        double tx = c->x[2 * b] - c->x[2 * a], ty = c->x[2 * b + 1] - c->x[2 * a + 1], area = 0;
        for (int64_t q = c->coptr[1][e]; q < c->coptr[1][e + 1]; q++) area += c->measure[2][c->coface[1][q]];
        double x = tx * K[0] + ty * K[2], y = tx * K[1] + ty * K[3], share = c->measure[2][f] / area;
        for (int i = 0; i < 3; i++, at++) {
          row[at] = (int32_t)e;
          col[at] = c->vert[2][3 * f + i];
          value[at] = -share * (x * grad[2 * i] + y * grad[2 * i + 1]);
        }
      }
    }
    st = csr_from_triplets(&s->flux, c->n[1], c->n[0], count, row, col, value);
  }
  mem_free(row);
  mem_free(col);
  mem_free(value);
  return st;
}

/* Splits the stiffness and mass matrices by unknown and boundary vertices, factors the inner block. */
static dkho_status assemble_darcy(problem_state *s) {
  const cx *c = s->c;
  csr A = {0}, M = {0}, inner = {0}, coupling = {0};
  double *hole = NULL;
  dkho_status st;
  int32_t *all = mem_alloc((size_t)c->n[0], sizeof *all);
  st = all && MEM_NEW(hole, c->n[0]) ? DKHO_OK : DKHO_E_MEMORY;
  for (int64_t i = 0; st == DKHO_OK && i < c->n[0]; i++) all[i] = (int32_t)i;
  if (st == DKHO_OK) st = fem_stiffness(&A, c, s->K);
  if (st == DKHO_OK) st = fem_mass(&M, c);
  if (st == DKHO_OK) st = csr_select(&s->mass, &M, s->inside, s->unknown, c->n[0], all);
  if (st == DKHO_OK) st = csr_select(&coupling, &A, s->inside, s->unknown, c->n[0], all);
  if (st == DKHO_OK) st = csr_select(&inner, &A, s->inside, s->unknown, s->inside, s->unknown);
  for (int j = 0; st == DKHO_OK && j < 2; j++) {
    if (!MEM_NEW(s->lift[j], s->inside))
      st = DKHO_E_MEMORY;
    else {
      for (int64_t i = 0; i < c->n[0]; i++) hole[i] = c->label[0][i] == 2 + j;
      csr_apply(&coupling, 1, hole, s->lift[j]);
    }
  }
  if (st == DKHO_OK) st = assemble_flux(s);
  if (st == DKHO_OK) st = chol_wide_factor(&s->factor, &inner);
  csr_free(&A);
  csr_free(&M);
  csr_free(&inner);
  csr_free(&coupling);
  mem_free(hole);
  mem_free(all);
  return st;
}

static dkho_status darcy_prepare(problem_state **out, const cx *c, uint64_t seed) {
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = DKHO_E_MEMORY;
  if (MEM_NEW(s->unknown, c->n[0]) && MEM_NEW(s->K, 4 * c->n[2]) && MEM_NEW(s->wave, c->n[0] * 2 * TERMS)) {
    for (int64_t i = 0; i < c->n[0]; i++)
      if (c->label[0][i] == 0) s->unknown[s->inside++] = (int32_t)i;
    draw_permeability(c, seed, s->K);
    fill_waves(c, s->wave);
    st = assemble_darcy(s);
  }
  if (st == DKHO_OK)
    *out = s;
  else
    darcy_release(s);
  return st;
}

/* tᵀKt, nᵀKn, tᵀKn of the plain mean tensor over the faces at an edge, n = (-t_y, t_x). */
static dkho_status fill_invariants(const problem_state *s, double *out) {
  const cx *c = s->c;
  double *K, *t;
  K = mem_alloc((size_t)c->n[1] * 4, sizeof *K);
  t = mem_alloc((size_t)c->n[1] * 2, sizeof *t);
  if (K && t) {
    static_mean_of_cofaces(c, 1, 4, s->K, K);
    static_tangents(c, t);
    for (int64_t e = 0; e < c->n[1]; e++) {
      double x = t[2 * e], y = t[2 * e + 1], xx = K[4 * e], xy = K[4 * e + 1], yy = K[4 * e + 3];
      out[3 * e] = x * x * xx + 2 * x * y * xy + y * y * yy;
      out[3 * e + 1] = y * y * xx - 2 * x * y * xy + x * x * yy;
      out[3 * e + 2] = x * y * (yy - xx) + (x * x - y * y) * xy;
    }
  }
  dkho_status st = K && t ? DKHO_OK : DKHO_E_MEMORY;
  mem_free(K);
  mem_free(t);
  return st;
}

static dkho_status darcy_fill(const problem_state *s, const char *name, double *out) {
  const cx *c = s->c;
  if (strcmp(name, "holes") == 0)
    problem_fill_holes(c, 2, out);
  else if (strcmp(name, "K0") == 0)
    return static_mean_to_vertices(c, 2, 4, s->K, out);
  else if (strcmp(name, "K1") == 0)
    return fill_invariants(s, out);
  else if (strcmp(name, "K2") == 0)
    memcpy(out, s->K, (size_t)c->n[2] * 4 * sizeof *out);
  else
    return problem_fill_common(c, name, out);
  return DKHO_OK;
}

/* Scratch of one thread: the fields of G samples side by side. */
typedef struct scratch {
  double *coefficient; /* TERMS × TERMS × G */
  double *f, *p;       /* N0 × G */
  double *load, *room; /* inside × G */
  double *strip;       /* STRIP × G */
  float *q;            /* N1 × G */
} scratch;

static size_t darcy_work(const problem_state *s) {
  const cx *c = s->c;
  return G * (sizeof(double) * (size_t)(TERMS * TERMS + 2 * c->n[0] + 2 * s->inside + STRIP) +
              sizeof(float) * (size_t)c->n[1]);
}

/* Arrays of darcy_work in the bytes of one thread, G fields side by side. */
static scratch cut_scratch(const problem_state *s, void *bytes) {
  const cx *c = s->c;
  scratch w = {.coefficient = bytes};
  w.f = w.coefficient + TERMS * TERMS * G;
  w.p = w.f + c->n[0] * G;
  w.load = w.p + c->n[0] * G;
  w.room = w.load + s->inside * G;
  w.strip = w.room + s->inside * G;
  w.q = (float *)(w.strip + STRIP * G);
  return w;
}

/* Σ a cos π(mx+ny) + b sin π(mx+ny), a, b ~ N(0,1) for each (m,n), amplitude 0.6/(1+m²+n²), as products of terms; then g1, g2
 * ~ U[0.5, 1.5]. */
static void draw_sample(uint64_t seed, int64_t sample, int column, double *coefficient, double g[2]) {
  rng r = rng_open(seed, RNG_SAMPLE, (uint64_t)sample);
  for (int k = 0; k < TERMS * TERMS; k++) coefficient[k * G + column] = 0;
  for (int m = -FREQUENCY; m <= FREQUENCY; m++)
    for (int n = -FREQUENCY; n <= FREQUENCY; n++) {
      if (m == 0 && n == 0) continue;
      double amplitude = 0.6 / (1 + m * m + n * n), a = amplitude * rng_normal(&r), b = amplitude * rng_normal(&r);
      int m_sign = (m > 0) - (m < 0), n_sign = (n > 0) - (n < 0), m_sin = 2 * abs(m), n_sin = 2 * abs(n);
      int m_cos = m ? m_sin - 1 : 0,
          n_cos = n ? n_sin - 1 : 0; /* the sine of frequency 0 stands for 1 but has sign 0 */
      coefficient[(m_cos * TERMS + n_cos) * G + column] += a;
      coefficient[(m_sin * TERMS + n_sin) * G + column] -= m_sign * n_sign * a;
      coefficient[(m_sin * TERMS + n_cos) * G + column] += m_sign * b;
      coefficient[(m_cos * TERMS + n_sin) * G + column] += n_sign * b;
    }
  g[0] = rng_range(&r, 0.5, 1.5);
  g[1] = rng_range(&r, 0.5, 1.5);
}

/* Rows first … first+count-1 of a matrix. */
static csr rows_of(const csr *a, int64_t first, int64_t count) {
  csr part = *a;
  part.rows = count;
  part.ptr += first;
  return part;
}

static int64_t strip_size(int64_t n, int64_t first) {
  return n - first < STRIP ? n - first : STRIP;
}

static LANES_CLONES void subtract_lift(const problem_state *s, const double (*g)[2], lanes *load) {
  lanes hole[2];
  for (int k = 0; k < G; k++) hole[0][k] = g[k][0], hole[1][k] = g[k][1];
  for (int64_t i = 0; i < s->inside; i++) load[i] -= s->lift[0][i] * hole[0] + s->lift[1][i] * hole[1];
}

/* A p = M f on the unknowns, the boundary values moved to the right. */
static void solve_potential(const problem_state *s, const scratch *w, const double (*g)[2]) {
  csr_apply(&s->mass, G, w->f, w->load);
  subtract_lift(s, g, (lanes *)w->load);
  chol_wide_solve(s->factor, w->load, w->room);
  for (int64_t i = 0; i < s->inside; i++) memcpy(w->p + G * s->unknown[i], w->load + G * i, G * sizeof *w->p);
  for (int64_t i = 0; i < s->c->n[0]; i++) {
    int32_t label = s->c->label[0][i];
    for (int k = 0; label && k < G; k++) w->p[i * G + k] = label >= 2 ? g[k][label - 2] : 0;
  }
}

/* f_i = Σ_st x_is y_it coefficient_st at count vertices. */
static LANES_CLONES void superpose(int64_t count, const double *wave, const lanes *coefficient, lanes *f) {
  for (int64_t i = 0; i < count; i++, wave += 2 * TERMS) {
    lanes sum = {0};
    for (int s = 0; s < TERMS; s++) {
      lanes inner = {0};
#pragma GCC unroll 8
      for (int t = 0; t < TERMS; t++) inner += wave[TERMS + t] * coefficient[s * TERMS + t];
      sum += wave[s] * inner;
    }
    f[i] = sum;
  }
}

static void darcy_draw(const problem_state *s, void *bytes, uint64_t seed, int64_t first, double *const *block) {
  int64_t n = s->c->n[0];
  scratch w = cut_scratch(s, bytes);
  for (int k = 0; k < G; k++) draw_sample(seed, first + k, k, w.coefficient, block[FIELD_G] + 2 * k);
  for (int64_t i = 0; i < n; i += STRIP) {
    int64_t now = strip_size(n, i);
    superpose(now, s->wave + i * 2 * TERMS, (const lanes *)w.coefficient, (lanes *)w.strip);
    problem_unpack_strip(n, i, now, w.strip, block[FIELD_F]);
  }
}

/* The flux as a file keeps it, and that in double again. */
static LANES_CLONES void round_flux(int64_t n, lanes *q, lanes_float *kept) {
  for (int64_t i = 0; i < n; i++) {
    kept[i] = __builtin_convertvector(q[i], lanes_float);
    q[i] = __builtin_convertvector(kept[i], lanes);
  }
}

/* w = d1 q on the faces first … first+count-1. */
static LANES_CLONES void circulate(const cx *c, int64_t first, int64_t count, const lanes_float *q, lanes *w) {
  const int32_t *edge = c->face[2] + 3 * first;
  const int8_t *sign = c->sign[2] + 3 * first;
  for (int64_t f = 0; f < count; f++, edge += 3, sign += 3) {
    lanes sum = {0};
    for (int j = 0; j < 3; j++) sum += sign[j] * __builtin_convertvector(q[edge[j]], lanes);
    w[f] = sum;
  }
}

/* p by one factor for all G samples, q = -(K ∇p) along edges in strips that stay in cache, w = d q of the q that the file keeps. */
static dkho_status darcy_solve(const problem_state *s, void *bytes, double *const *block) {
  const cx *c = s->c;
  scratch w = cut_scratch(s, bytes);
  problem_pack(c->n[0], block[FIELD_F], w.f);
  solve_potential(s, &w, (const double(*)[2])block[FIELD_G]);
  problem_unpack(c->n[0], w.p, block[FIELD_P]);
  for (int64_t i = 0; i < c->n[1]; i += STRIP) {
    int64_t now = strip_size(c->n[1], i);
    csr part = rows_of(&s->flux, i, now);
    csr_apply(&part, G, w.p, w.strip);
    round_flux(now, (lanes *)w.strip, (lanes_float *)w.q + i);
    problem_unpack_strip(c->n[1], i, now, w.strip, block[FIELD_Q]);
  }
  for (int64_t i = 0; i < c->n[2]; i += STRIP) {
    int64_t now = strip_size(c->n[2], i);
    circulate(c, i, now, (const lanes_float *)w.q, (lanes *)w.strip);
    problem_unpack_strip(c->n[2], i, now, w.strip, block[FIELD_W]);
  }
  return DKHO_OK;
}

const problem problem_darcy = {
    .name = "darcy",
    .summary = "anisotropic Darcy flow on a square with two holes: potential, line flux, circulation",
    .sizes = {4000, 500, 500},
    .smoke_sizes = {64, 16, 32},
    .dim = 2,
    .gdim = 2,
    .labels = 4,
    .betti = {1, 2, 0},
    .counts = {5477, 16013, 10535},
    PROBLEM_TABLES(fields, recipes, rows, summaries),
    .notes = "-div(K grad p) = f, P1 finite elements, K white noise over the triangles (principal values 4 and 1),"
             " p = 0 on the outer square, p = g on the holes; q is the line integral of -K grad p, w = d1 q. The "
             "map (f, g) to (p, q, w) is linear.",
    .build = cx_darcy,
    .prepare = darcy_prepare,
    .release = darcy_release,
    .fill = darcy_fill,
    .work = darcy_work,
    .draw = darcy_draw,
    .solve = darcy_solve,
    .metrics = "generic",
    .paper = &paper_darcy,
    .phase = &(const problem_phase){.degree = 2, .down = 1, .q = 0.24},
    .quick = &(const problem_budget){"main", 180, 40, 4},
    .demo = &(const problem_demo){.target = "q",
                                  .task = "source and pressures of two holes -> flux on the edges; Darcy flow, linear"},
};
