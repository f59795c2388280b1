/* elastic.c: neo-Hookean bodies by Newton's method on their energy. */
#include "problem/elastic.h"

#include "problem/assembly.h"
#include "problem/excess.h"
#include "problem/fem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LOCAL = 6 };
static const double LAME = 1.5; /* λ/μ */
static const double TOLERANCE = 1e-11, ROUNDING = 1e-15;
static const double SHORTEST = 1. / 64; /* share of the load below which no step is tried */

struct elastic {
  const cx *c;
  int64_t n;
  int32_t *unknown; /* N0 × 2, -1: held */
  double *grad;     /* N2 × 6 */
  assembly matrix;  /* an element's unknowns: x and y of its first corner, of its second, … */
  arena mem;
};

struct elastic_solver {
  const elastic *s;
  assembled hessian;
  double *x, *good, *room;
  double *value, *held; /* N0 × 2: of the point at hand; displacements to be held in the end */
  const double *mu, *load;
  double share; /* of the load */
  arena mem;
};

static int32_t local_unknown(const elastic *s, int64_t f, int a) {
  return s->unknown[2 * (int64_t)s->c->vert[2][3 * f + a / 2] + a % 2];
}

/* unknown: N2 × LOCAL. */
static void list_unknowns(const elastic *s, int32_t *unknown) {
  for (int64_t k = 0; k < LOCAL * s->c->n[2]; k++) unknown[k] = local_unknown(s, k / LOCAL, (int)(k % LOCAL));
}

dkho_status elastic_create(elastic **out, const cx *c, const uint8_t *held) {
  assert(c->dim == 2 && c->gdim == 2);
  *out = NULL;
  elastic *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  int32_t *own = mem_alloc((size_t)(LOCAL * c->n[2]), sizeof *own);
  dkho_status st = DKHO_E_MEMORY;
  if (own && ARENA_NEW(&s->mem, s->unknown, 2 * c->n[0]) && ARENA_NEW(&s->mem, s->grad, 6 * c->n[2])) {
    for (int64_t i = 0; i < 2 * c->n[0]; i++) s->unknown[i] = held[i] ? -1 : (int32_t)s->n++;
    for (int64_t f = 0; f < c->n[2]; f++) fem_gradients(c, f, s->grad + 6 * f);
    list_unknowns(s, own);
    st = assembly_make(&s->matrix, c->n[2], LOCAL, s->n, own);
  }
  mem_free(own);
  if (st == DKHO_OK) st = assembly_analyse(&s->matrix);
  if (st == DKHO_OK)
    *out = s;
  else
    elastic_free(s);
  return st;
}

void elastic_free(elastic *s) {
  if (!s) return;
  assembly_free(&s->matrix);
  arena_free(&s->mem);
  mem_free(s);
}

dkho_status elastic_open(elastic_solver **out, const elastic *s) {
  *out = NULL;
  elastic_solver *w;
  int64_t all = 2 * s->c->n[0];
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&w->mem, w->x, s->n) && ARENA_NEW(&w->mem, w->good, s->n) &&
      ARENA_NEW(&w->mem, w->room, newton_room(s->n)) && ARENA_NEW(&w->mem, w->value, all) &&
      ARENA_NEW(&w->mem, w->held, all))
    st = assembled_open(&w->hessian, &s->matrix);
  if (st == DKHO_OK)
    *out = w;
  else
    elastic_close(w);
  return st;
}

void elastic_close(elastic_solver *w) {
  if (!w) return;
  assembled_close(&w->hessian);
  arena_free(&w->mem);
  mem_free(w);
}

/* A triangle deformed: ln J (not a number when it is turned over), K = F⁻ᵀ, W and P = μ(F - K) + λ ln J K. */
typedef struct deformed {
  double log, density, K[2][2], P[2][2];
} deformed;

static deformed deform_triangle(const elastic *s, int64_t f, double mu, const double *u) {
  const int32_t *v = s->c->vert[2] + 3 * f;
  double H[2][2] = {{0}}, norm = 0; /* F - I: small strains must not drown in the rounding of I */
  deformed d;
  for (int i = 0; i < 3; i++)
    for (int a = 0; a < 2; a++)
      for (int b = 0; b < 2; b++) H[a][b] += u[2 * (int64_t)v[i] + a] * s->grad[6 * f + 2 * i + b];
  double det = H[0][0] * H[1][1] - H[0][1] * H[1][0], swell = H[0][0] + H[1][1] + det, J = 1 + swell;
  d.log = J > 0 ? log1p(swell) : NAN;
  d.K[0][0] = (1 + H[1][1]) / J, d.K[0][1] = -H[1][0] / J, d.K[1][0] = -H[0][1] / J, d.K[1][1] = (1 + H[0][0]) / J;
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) {
      norm += H[a][b] * H[a][b];
      d.P[a][b] = mu * ((a == b) + H[a][b] - d.K[a][b]) + LAME * mu * d.log * d.K[a][b];
    }
  /* |F|² - 2 - 2 ln J = |H|² - 2 det H + 2(J - 1 - ln J) */
  d.density = J > 0 ? mu / 2 * (norm - 2 * det + 2 * log_excess(swell)) + LAME * mu / 2 * d.log * d.log : NAN;
  return d;
}

void elastic_read(const elastic *s, const double *mu, const double *u, double *density, double *stress) {
  for (int64_t f = 0; f < s->c->n[2]; f++) {
    deformed d = deform_triangle(s, f, mu[f], u);
    if (density) density[f] = d.density;
    if (stress) memcpy(stress + 4 * f, d.P, sizeof d.P);
  }
}

/* Displacements everywhere: unknown ones from x, held ones by their share. */
static void spread_displacements(const elastic_solver *w, const double *x) {
  for (int64_t i = 0; i < 2 * w->s->c->n[0]; i++)
    w->value[i] = w->s->unknown[i] >= 0 ? x[w->s->unknown[i]] : w->share * w->held[i];
}

/* Σ |T| W - f·u and its derivative Σ |T| P ∇λ_i - f_i. */
static void elastic_residual(void *ctx, const double *x, double *energy, double *g) {
  const elastic_solver *w = ctx;
  const elastic *s = w->s;
  spread_displacements(w, x);
  *energy = 0;
  for (int64_t i = 0; i < 2 * s->c->n[0]; i++) {
    if (s->unknown[i] >= 0) g[s->unknown[i]] = -w->share * w->load[i];
    *energy -= w->share * w->load[i] * w->value[i];
  }
  for (int64_t f = 0; f < s->c->n[2]; f++) {
    double area = s->c->measure[2][f];
    deformed d = deform_triangle(s, f, w->mu[f], w->value);
    *energy += area * d.density;
    for (int k = 0; k < LOCAL; k++) {
      const double *grad = s->grad + 6 * f + k / 2 * 2;
      int32_t at = local_unknown(s, f, k);
      if (at >= 0) g[at] += area * (d.P[k % 2][0] * grad[0] + d.P[k % 2][1] * grad[1]);
    }
  }
}

/* |T| (μ δ_ac ∇λ_i·∇λ_j + (μ - λ ln J)(K∇λ_j)_a (K∇λ_i)_c + λ (K∇λ_i)_a (K∇λ_j)_c) for u_ia and u_jc. */
static void add_stiffness(elastic_solver *w, int64_t f) {
  const elastic *s = w->s;
  double mu = w->mu[f], area = s->c->measure[2][f], k[3][2], K[LOCAL][LOCAL];
  const double *grad = s->grad + 6 * f;
  deformed d = deform_triangle(s, f, mu, w->value);
  for (int i = 0; i < LOCAL; i++)
    k[i / 2][i % 2] = d.K[i % 2][0] * grad[i / 2 * 2] + d.K[i % 2][1] * grad[i / 2 * 2 + 1];
  for (int p = 0; p < LOCAL; p++)
    for (int q = 0; q < LOCAL; q++) {
      int i = p / 2, a = p % 2, j = q / 2, b = q % 2;
      double value = (mu - LAME * mu * d.log) * k[j][a] * k[i][b] + LAME * mu * k[i][a] * k[j][b];
      if (a == b) value += mu * (grad[2 * i] * grad[2 * j] + grad[2 * i + 1] * grad[2 * j + 1]);
      K[p][q] = area * value;
    }
  assembly_add(&s->matrix, f, K[0], &w->hessian.matrix);
}

static dkho_status elastic_step(void *ctx, const double *x, const double *g, double *step) {
  elastic_solver *w = ctx;
  spread_displacements(w, x);
  assembled_clear(&w->hessian);
  for (int64_t f = 0; f < w->s->c->n[2]; f++) add_stiffness(w, f);
  return assembled_solve(&w->hessian, g, step);
}

/* What counts as balance: little against the forces that the load and the held displacements exert on the body at rest, but no less than the
 * rounding errors of stresses. */
static double balance(elastic_solver *w) {
  const elastic *s = w->s;
  double energy, sum = 0, rounding = 0;
  w->share = 1;
  memset(w->x, 0, (size_t)s->n * sizeof *w->x);
  elastic_residual(w, w->x, &energy, w->room);
  for (int64_t i = 0; i < s->n; i++) sum += w->room[i] * w->room[i];
  for (int64_t f = 0; f < s->c->n[2]; f++)
    for (int k = 0; k < LOCAL; k++) rounding += pow(s->c->measure[2][f] * w->mu[f] * s->grad[6 * f + k], 2);
  return (isfinite(sum) ? TOLERANCE * sqrt(sum) : 0) + ROUNDING * sqrt(rounding);
}

dkho_status elastic_solve(elastic_solver *w, const double *mu, const double *load, double *u, newton_report *last) {
  size_t bytes = (size_t)w->s->n * sizeof *w->x;
  w->mu = mu;
  w->load = load;
  memcpy(w->held, u, 2 * (size_t)w->s->c->n[0] * sizeof *u);
  newton_problem p = {w->s->n, balance(w), 1, w, elastic_residual, elastic_step, 0};
  double reached = 0;
  for (double step = 1; reached < 1;) {
    w->share = fmin(reached + step, 1);
    memcpy(w->good, w->x, bytes);
    dkho_status st = newton_solve(&p, w->x, w->room, last);
    if (st == DKHO_OK) {
      reached = w->share;
      continue;
    }
    if (st != DKHO_E_NOCONV) return st;
    memcpy(w->x, w->good, bytes);
    step /= 2;
    if (step < SHORTEST) return fail_prefix(st, "no equilibrium found beyond %.3g of the load", reached);
  }
  spread_displacements(w, w->x);
  memcpy(u, w->value, 2 * (size_t)w->s->c->n[0] * sizeof *u);
  return DKHO_OK;
}
