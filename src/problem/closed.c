/* closed.c: convex energies of closed 1-forms, minimised by Newton's method; linear elements in the plane. */
#include "problem/closed_impl.h"
#include "problem/fem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-12; /* of the residual, relative to the sizes of the terms that add up to it */

struct closed_solver {
  const closed *s;
  assembled hessian;
  double *x, *room;
  double *face;  /* N2 × 2: u₀ on triangles */
  double *value; /* N0: φ of the point at hand */
  closed_law law;
  const double *material;
  arena mem;
};

/* side and turn of struct closed: the edges from the first corner of each triangle to the others. */
static void find_sides(closed *s) {
  const cx *c = s->c;
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 3; j++) {
        int64_t e = c->face[2][3 * f + j];
        int32_t a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1], from = c->vert[2][3 * f],
                to = c->vert[2][3 * f + 1 + i];
        if ((a != from || b != to) && (a != to || b != from)) continue;
        s->side[2 * f + i] = (int32_t)e;
        s->turn[2 * f + i] = a == from ? 1 : -1;
      }
}

/* unknown: N2 × 3. */
static void list_unknowns(const closed *s, int32_t *unknown) {
  for (int64_t k = 0; k < 3 * s->c->n[2]; k++) unknown[k] = s->unknown[s->c->vert[2][k]];
}

dkho_status closed_create(closed **out, const cx *c, const uint8_t *held) {
  assert(c->dim == 2 && c->gdim == 2);
  *out = NULL;
  closed *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  int32_t *own = mem_alloc((size_t)(3 * c->n[2]), sizeof *own);
  dkho_status st = DKHO_E_MEMORY;
  if (own && ARENA_NEW(&s->mem, s->unknown, c->n[0]) && ARENA_NEW(&s->mem, s->grad, 6 * c->n[2]) &&
      ARENA_NEW(&s->mem, s->side, 2 * c->n[2]) && ARENA_NEW(&s->mem, s->turn, 2 * c->n[2])) {
    for (int64_t i = 0; i < c->n[0]; i++) s->unknown[i] = held && held[i] ? -1 : (int32_t)s->n++;
    if (s->n == c->n[0]) s->unknown[--s->n] = -1;
    for (int64_t f = 0; f < c->n[2]; f++) fem_gradients(c, f, s->grad + 6 * f);
    find_sides(s);
    list_unknowns(s, own);
    st = assembly_make(&s->matrix, c->n[2], 3, s->n, own);
  }
  mem_free(own);
  if (st == DKHO_OK) st = assembly_analyse(&s->matrix);
  if (st == DKHO_OK)
    *out = s;
  else
    closed_free(s);
  return st;
}

void closed_free(closed *s) {
  if (!s) return;
  assembly_free(&s->matrix);
  arena_free(&s->mem);
  mem_free(s);
}

dkho_status closed_open(closed_solver **out, const closed *s) {
  *out = NULL;
  closed_solver *w;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&w->mem, w->x, s->n) && ARENA_NEW(&w->mem, w->room, newton_room(s->n)) &&
      ARENA_NEW(&w->mem, w->face, 2 * s->c->n[2]) && ARENA_NEW(&w->mem, w->value, s->c->n[0]))
    st = assembled_open(&w->hessian, &s->matrix);
  if (st == DKHO_OK)
    *out = w;
  else
    closed_close(w);
  return st;
}

void closed_close(closed_solver *w) {
  if (!w) return;
  assembled_close(&w->hessian);
  arena_free(&w->mem);
  mem_free(w);
}

/* u₀ on a triangle: that of the potential 0, w₀₁, w₀₂ at its corners. */
static void start_vectors(const closed *s, const double *start, double *face) {
  for (int64_t f = 0; f < s->c->n[2]; f++)
    for (int a = 0; a < 2; a++) {
      face[2 * f + a] = 0;
      for (int i = 0; start && i < 2; i++)
        face[2 * f + a] += s->turn[2 * f + i] * start[s->side[2 * f + i]] * s->grad[6 * f + 2 * (i + 1) + a];
    }
}

static void add_gradient(const closed *s, int64_t f, const double *phi, double u[2]) {
  const int32_t *v = s->c->vert[2] + 3 * f;
  for (int i = 0; i < 3; i++)
    for (int a = 0; a < 2; a++) u[a] += phi[v[i]] * s->grad[6 * f + 2 * i + a];
}

void closed_vectors(const closed *s, const double *start, const double *phi, double *face) {
  start_vectors(s, start, face);
  for (int64_t f = 0; f < s->c->n[2]; f++) add_gradient(s, f, phi, face + 2 * f);
}

void closed_cochain(const closed *s, const double *start, const double *phi, double *edge) {
  cx_d(s->c, 0, 1, phi, edge);
  for (int64_t e = 0; start && e < s->c->n[1]; e++) edge[e] += start[e];
}

void closed_integrals(const cx *c, const double *face, double *edge) {
  for (int64_t e = 0; e < c->n[1]; e++) {
    const double *a = c->x + 2 * (int64_t)c->vert[1][2 * e], *b = c->x + 2 * (int64_t)c->vert[1][2 * e + 1];
    double area = 0, sum = 0;
    for (int64_t p = c->coptr[1][e]; p < c->coptr[1][e + 1]; p++) {
      int64_t f = c->coface[1][p];
      area += c->measure[2][f];
      sum += c->measure[2][f] * (face[2 * f] * (b[0] - a[0]) + face[2 * f + 1] * (b[1] - a[1]));
    }
    edge[e] = sum / area;
  }
}

/* φ everywhere from the unknowns x. */
static void spread_potential(const closed_solver *w, const double *x) {
  for (int64_t i = 0; i < w->s->c->n[0]; i++)
    if (w->s->unknown[i] >= 0) w->value[i] = x[w->s->unknown[i]];
}

static closed_response respond_triangle(const closed_solver *w, int64_t f, double u[2]) {
  u[0] = w->face[2 * f], u[1] = w->face[2 * f + 1];
  add_gradient(w->s, f, w->value, u);
  return w->law(w->material + CLOSED_MATERIAL * f, sqrt(u[0] * u[0] + u[1] * u[1]));
}

/* Σ_T |T| W, and ∂/∂φ_i = Σ_T |T| ν u·∇λ_i; returns √Σ of the squared terms, the size a residual is small against. */
static double energy_gradient(const closed_solver *w, double *energy, double *g) {
  const closed *s = w->s;
  double gross = 0;
  *energy = 0;
  memset(g, 0, (size_t)s->n * sizeof *g);
  for (int64_t f = 0; f < s->c->n[2]; f++) {
    double u[2], area = s->c->measure[2][f];
    closed_response r = respond_triangle(w, f, u);
    *energy += area * r.density;
    for (int i = 0; i < 3; i++) {
      int32_t at = s->unknown[s->c->vert[2][3 * f + i]];
      double term = area * r.nu * (u[0] * s->grad[6 * f + 2 * i] + u[1] * s->grad[6 * f + 2 * i + 1]);
      gross += term * term;
      if (at >= 0) g[at] += term;
    }
  }
  return sqrt(gross);
}

static void closed_residual(void *ctx, const double *x, double *energy, double *g) {
  closed_solver *w = ctx;
  spread_potential(w, x);
  energy_gradient(w, energy, g);
}

/* H_ij = Σ_T |T| (ν ∇λ_i·∇λ_j + bend (u·∇λ_i)(u·∇λ_j)) */
static dkho_status closed_step(void *ctx, const double *x, const double *g, double *step) {
  closed_solver *w = ctx;
  const closed *s = w->s;
  spread_potential(w, x);
  assembled_clear(&w->hessian);
  for (int64_t f = 0; f < s->c->n[2]; f++) {
    double u[2], along[3], K[3][3], area = s->c->measure[2][f];
    const double *d = s->grad + 6 * f;
    closed_response r = respond_triangle(w, f, u);
    for (int i = 0; i < 3; i++) along[i] = u[0] * d[2 * i] + u[1] * d[2 * i + 1];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double value = r.nu * (d[2 * i] * d[2 * j] + d[2 * i + 1] * d[2 * j + 1]) + r.bend * along[i] * along[j];
        K[i][j] = area * value;
      }
    assembly_add(&s->matrix, f, K[0], &w->hessian.matrix);
  }
  return assembled_solve(&w->hessian, g, step);
}

dkho_status closed_solve(closed_solver *w, closed_law law, const double *material, const double *start, double *phi,
                         newton_report *report) {
  const closed *s = w->s;
  double energy;
  w->law = law;
  w->material = material;
  start_vectors(s, start, w->face);
  memcpy(w->value, phi, (size_t)s->c->n[0] * sizeof *phi);
  for (int64_t i = 0; i < s->c->n[0]; i++)
    if (s->unknown[i] >= 0) w->x[s->unknown[i]] = phi[i];
  double gross = energy_gradient(w, &energy, w->room);
  newton_problem p = {s->n, TOLERANCE * gross, 1, w, closed_residual, closed_step, 0};
  TRY(newton_solve(&p, w->x, w->room, report));
  spread_potential(w, w->x);
  memcpy(phi, w->value, (size_t)s->c->n[0] * sizeof *phi);
  return DKHO_OK;
}
