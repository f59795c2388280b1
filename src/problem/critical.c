/* critical.c: the critical state of superconducting wires, by Newton's method on the energy of a time step. */
#include "problem/critical.h"
#include "la/newton.h"
#include "problem/assembly.h"
#include "problem/fem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LOCAL = 4 }; /* unknowns of a triangle: edges inside a wire, corners in the air; a triangle has no more */
static const double TOLERANCE = 1e-11; /* of the residual, relative to the sizes of the terms that add up to it */

struct critical {
  const cx *c;
  int64_t n;
  uint8_t *conducts; /* N2 */
  int32_t *edge;     /* N1: unknown of an edge inside a wire, -1 in the air */
  int32_t *vertex;   /* N0: unknown φ, -1: held, or inside a wire */
  double *mass;      /* N2 × 3 × 3: ∫ w_e·w_f over a triangle, edges as in c->face */
  double *reduced;   /* N2 × LOCAL × LOCAL: the same for its unknowns */
  double *curl;      /* N2 × LOCAL: ∂(dh)/∂ its unknowns */
  assembly matrix;
  arena mem;
};

struct critical_solver {
  const critical *s;
  assembled hessian;
  double *x, *before, *guess, *room; /* unknowns: now, one step ago, at the end of a step */
  double *source, *h, *old, *force;  /* N1; old: h one step ago */
  const double *jc;
  critical_law law;
  double dt;
  int steps;
  arena mem;
};

/* ∫ w_e·w_f with w_e = λ_a ∇λ_b - λ_b ∇λ_a for the edge from a to b, ∫ λ_i λ_j = |T| (1 + δ_ij)/12. */
static void triangle_mass(const cx *c, int64_t f, double *mass) {
  double grad[3][2];
  int end[3][2];
  fem_gradients(c, f, grad[0]);
  for (int e = 0; e < 3; e++)
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < 3; i++)
        if (c->vert[2][3 * f + i] == c->vert[1][2 * (int64_t)c->face[2][3 * f + e] + k]) end[e][k] = i;
  for (int e = 0; e < 3; e++)
    for (int g = 0; g < 3; g++) {
      double sum = 0;
      for (int k = 0; k < 4; k++) {
        int a = end[e][k / 2], b = end[e][1 - k / 2], p = end[g][k % 2], q = end[g][1 - k % 2];
        double product = grad[b][0] * grad[q][0] + grad[b][1] * grad[q][1];
        sum += (k == 0 || k == 3 ? product : -product) * (a == p ? 2 : 1);
      }
      mass[3 * e + g] = c->measure[2][f] * sum / 12;
    }
}

/* Edges between conducting faces are unknowns of their own, then φ at the ends of the others. */
static void number_unknowns(critical *s) {
  const cx *c = s->c;
  for (int64_t i = 0; i < c->n[0]; i++) s->vertex[i] = -1;
  for (int64_t e = 0; e < c->n[1]; e++) {
    int inside = !c->on_boundary[1][e];
    for (int64_t p = c->coptr[1][e]; p < c->coptr[1][e + 1]; p++) inside &= s->conducts[c->coface[1][p]];
    s->edge[e] = inside ? (int32_t)s->n++ : -1;
  }
  for (int64_t k = 0; k < 2 * c->n[1]; k++) {
    int32_t i = c->vert[1][k];
    if (s->edge[k / 2] < 0 && s->vertex[i] < 0 && !c->on_boundary[0][i]) s->vertex[i] = (int32_t)s->n++;
  }
}

/* The place of an unknown among those of a triangle, a new one if need be; given values have none. */
static int place_unknown(int32_t own[LOCAL], int32_t unknown) {
  int k = 0;
  if (unknown < 0) return -1;
  while (own[k] >= 0 && own[k] != unknown) k++;
  assert(k < LOCAL);
  own[k] = unknown;
  return k;
}

/* own ← the unknowns of a triangle; its mass and its dh in terms of them. */
static void reduce_triangle(critical *s, int64_t f, int32_t own[LOCAL]) {
  const cx *c = s->c;
  double map[3][LOCAL] = {{0}}, *mass = s->mass + 9 * f, *K = s->reduced + LOCAL * LOCAL * f;
  for (int k = 0; k < LOCAL; k++) own[k] = -1;
  for (int i = 0; i < 3; i++) {
    int64_t e = c->face[2][3 * f + i];
    int inside = place_unknown(own, s->edge[e]);
    if (inside >= 0) map[i][inside] = 1;
    for (int k = 0; inside < 0 && k < 2; k++) {
      int at = place_unknown(own, s->vertex[c->vert[1][2 * e + k]]);
      if (at >= 0) map[i][at] += k ? 1 : -1;
    }
  }
  triangle_mass(c, f, mass);
  for (int a = 0; a < LOCAL; a++)
    for (int i = 0; i < 3; i++) {
      s->curl[LOCAL * f + a] += c->sign[2][3 * f + i] * map[i][a];
      for (int b = 0; b < LOCAL; b++)
        for (int j = 0; j < 3; j++) K[LOCAL * a + b] += map[i][a] * mass[3 * i + j] * map[j][b];
    }
}

dkho_status critical_create(critical **out, const cx *c, const uint8_t *conducts) {
  assert(c->dim == 2 && c->gdim == 2);
  *out = NULL;
  critical *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  int32_t *own = mem_alloc((size_t)(LOCAL * c->n[2]), sizeof *own);
  dkho_status st = DKHO_E_MEMORY;
  if (own && ARENA_NEW(&s->mem, s->conducts, c->n[2]) && ARENA_NEW(&s->mem, s->edge, c->n[1]) &&
      ARENA_NEW(&s->mem, s->vertex, c->n[0]) && ARENA_NEW(&s->mem, s->mass, 9 * c->n[2]) &&
      ARENA_NEW(&s->mem, s->reduced, LOCAL * LOCAL * c->n[2]) && ARENA_NEW(&s->mem, s->curl, LOCAL * c->n[2])) {
    memcpy(s->conducts, conducts, (size_t)c->n[2] * sizeof *conducts);
    number_unknowns(s);
    for (int64_t f = 0; f < c->n[2]; f++) reduce_triangle(s, f, own + LOCAL * f);
    st = assembly_make(&s->matrix, c->n[2], LOCAL, s->n, own);
  }
  mem_free(own);
  if (st == DKHO_OK) st = assembly_analyse(&s->matrix);
  if (st == DKHO_OK)
    *out = s;
  else
    critical_free(s);
  return st;
}

void critical_free(critical *s) {
  if (!s) return;
  assembly_free(&s->matrix);
  arena_free(&s->mem);
  mem_free(s);
}

dkho_status critical_open(critical_solver **out, const critical *s) {
  *out = NULL;
  critical_solver *w;
  int64_t edges = s->c->n[1];
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&w->mem, w->x, s->n) && ARENA_NEW(&w->mem, w->before, s->n) && ARENA_NEW(&w->mem, w->guess, s->n) &&
      ARENA_NEW(&w->mem, w->room, newton_room(s->n)) && ARENA_NEW(&w->mem, w->source, edges) &&
      ARENA_NEW(&w->mem, w->h, edges) && ARENA_NEW(&w->mem, w->old, edges) && ARENA_NEW(&w->mem, w->force, edges))
    st = assembled_open(&w->hessian, &s->matrix);
  if (st == DKHO_OK)
    *out = w;
  else
    critical_close(w);
  return st;
}

void critical_close(critical_solver *w) {
  if (!w) return;
  assembled_close(&w->hessian);
  arena_free(&w->mem);
  mem_free(w);
}

void critical_begin(critical_solver *w, critical_law law, const double *jc) {
  w->law = law;
  w->jc = jc;
  w->steps = 0;
  memset(w->x, 0, (size_t)w->s->n * sizeof *w->x);
  memset(w->h, 0, (size_t)w->s->c->n[1] * sizeof *w->h);
}

/* h = source + (x on edges inside wires, dφ on the others) */
static void spread_unknowns(critical_solver *w, const double *x) {
  const critical *s = w->s;
  for (int64_t e = 0; e < s->c->n[1]; e++) {
    int32_t tail = s->vertex[s->c->vert[1][2 * e]], head = s->vertex[s->c->vert[1][2 * e + 1]];
    w->h[e] = w->source[e];
    if (s->edge[e] >= 0)
      w->h[e] += x[s->edge[e]];
    else
      w->h[e] += (head >= 0 ? x[head] : 0) - (tail >= 0 ? x[tail] : 0);
  }
}

/* The transpose: g of the unknowns from the force on edges. */
static void gather_forces(const critical_solver *w, double *g) {
  const critical *s = w->s;
  memset(g, 0, (size_t)s->n * sizeof *g);
  for (int64_t e = 0; e < s->c->n[1]; e++) {
    int32_t tail = s->vertex[s->c->vert[1][2 * e]], head = s->vertex[s->c->vert[1][2 * e + 1]];
    if (s->edge[e] >= 0)
      g[s->edge[e]] += w->force[e];
    else {
      if (head >= 0) g[head] += w->force[e];
      if (tail >= 0) g[tail] -= w->force[e];
    }
  }
}

/* j of a conducting face and (|j|/J_c)^(n-1). */
static double face_current(const critical_solver *w, int64_t f, double *steep) {
  const cx *c = w->s->c;
  double sum = 0;
  for (int i = 0; i < 3; i++) sum += c->sign[2][3 * f + i] * w->h[c->face[2][3 * f + i]];
  double j = sum / c->measure[2][f];
  *steep = pow(fabs(j) / w->jc[f], w->law.power - 1);
  return j;
}

/* Energy of a triangle, and its forces M(h - h_old)/Δt + E ∂(dh)/∂h on edges: W = E_c J_c/(n + 1) (|j|/J_c)^(n+1). *gross grows by the squares of
 * the terms. */
static double add_triangle_force(critical_solver *w, int64_t f, double *gross) {
  const cx *c = w->s->c;
  const int32_t *edge = c->face[2] + 3 * f;
  double gap[3], energy = 0, E = 0, steep;
  for (int i = 0; i < 3; i++) gap[i] = w->h[edge[i]] - w->old[edge[i]];
  if (w->s->conducts[f]) {
    double j = face_current(w, f, &steep);
    E = w->law.field * steep * j / w->jc[f];
    energy = c->measure[2][f] * E * j / (w->law.power + 1);
  }
  for (int i = 0; i < 3; i++) {
    double pull = 0;
    for (int k = 0; k < 3; k++) pull += w->s->mass[9 * f + 3 * i + k] * gap[k] / w->dt;
    energy += 0.5 * gap[i] * pull;
    *gross += pull * pull + E * E;
    w->force[edge[i]] += pull + E * c->sign[2][3 * f + i];
  }
  return energy;
}

/* Energy and gradient at x; returns √Σ of the squared terms, the size a residual is small against. */
static double energy_forces(critical_solver *w, const double *x, double *energy, double *g) {
  double gross = 0;
  spread_unknowns(w, x);
  memset(w->force, 0, (size_t)w->s->c->n[1] * sizeof *w->force);
  *energy = 0;
  for (int64_t f = 0; f < w->s->c->n[2]; f++) *energy += add_triangle_force(w, f, &gross);
  gather_forces(w, g);
  return sqrt(gross);
}

static void critical_residual(void *ctx, const double *x, double *energy, double *g) {
  energy_forces(ctx, x, energy, g);
}

/* Σ_T (M/Δt + E′/|T| curl curlᵀ), E′ = n E_c/J_c (|j|/J_c)^(n-1) */
static dkho_status critical_newton_step(void *ctx, const double *x, const double *g, double *step) {
  critical_solver *w = ctx;
  const critical *s = w->s;
  spread_unknowns(w, x);
  assembled_clear(&w->hessian);
  for (int64_t f = 0; f < s->c->n[2]; f++) {
    double K[LOCAL * LOCAL], slope = 0;
    const double *mass = s->reduced + LOCAL * LOCAL * f, *curl = s->curl + LOCAL * f;
    if (s->conducts[f]) {
      face_current(w, f, &slope);
      slope *= w->law.power * w->law.field / (w->jc[f] * s->c->measure[2][f]);
    }
    for (int k = 0; k < LOCAL * LOCAL; k++) K[k] = mass[k] / w->dt + slope * curl[k / LOCAL] * curl[k % LOCAL];
    assembly_add(&s->matrix, f, K, &w->hessian.matrix);
  }
  return assembled_solve(&w->hessian, g, step);
}

/* guess ← where Newton's method begins: x, or x + t (x - before), whichever has the least energy: with a steep law, going on too far costs more
 * steps than it saves. */
static void guess_unknowns(critical_solver *w) {
  double *trial = w->room, least = INFINITY, energy;
  for (int k = 0; k < (w->steps > 1 ? 4 : 1); k++) {
    for (int64_t i = 0; i < w->s->n; i++) trial[i] = w->x[i] + k / 3. * (w->x[i] - w->before[i]);
    energy_forces(w, trial, &energy, w->room + w->s->n);
    if (k > 0 && !(energy < least)) continue;
    least = energy;
    memcpy(w->guess, trial, (size_t)w->s->n * sizeof *trial);
  }
}

/* The terms at a guess may be far larger than at the solution: a second round measures the residual by the solution's own. */
static dkho_status minimise_energy(critical_solver *w, int *solves) {
  newton_report report;
  for (int round = 0; round < 2; round++) {
    double energy, gross = energy_forces(w, w->guess, &energy, w->room);
    newton_problem p = {w->s->n, TOLERANCE * gross, 1, w, critical_residual, critical_newton_step, 0};
    TRY(newton_solve(&p, w->guess, w->room, &report));
    *solves += report.steps;
  }
  spread_unknowns(w, w->guess);
  return DKHO_OK;
}

dkho_status critical_step(critical_solver *w, double dt, const double *source, int *solves) {
  const critical *s = w->s;
  w->dt = dt;
  memcpy(w->source, source, (size_t)s->c->n[1] * sizeof *source);
  memcpy(w->old, w->h, (size_t)s->c->n[1] * sizeof *w->h);
  guess_unknowns(w);
  TRY(minimise_energy(w, solves));
  memcpy(w->before, w->x, (size_t)s->n * sizeof *w->x);
  memcpy(w->x, w->guess, (size_t)s->n * sizeof *w->x);
  w->steps++;
  return DKHO_OK;
}

const double *critical_field(const critical_solver *w) {
  return w->h;
}

void critical_read(const critical_solver *w, double *j, double *heat) {
  for (int64_t f = 0; f < w->s->c->n[2]; f++) {
    double steep;
    j[f] = heat[f] = 0;
    if (!w->s->conducts[f]) continue;
    j[f] = face_current(w, f, &steep);
    heat[f] = w->law.field * steep * j[f] * j[f] / w->jc[f];
  }
}
