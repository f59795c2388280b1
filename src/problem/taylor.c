/* taylor.c: numbering, pattern and elimination order of Taylor–Hood elements, and what is read off a velocity. Solving is
 * taylor_solve.c's business, integrals over a triangle are taylor_element.c's. */
#include "problem/taylor_impl.h"

#include "problem/fem.h"

#include <assert.h>

enum { NODES = TAYLOR_NODES, CORNERS = TAYLOR_CORNERS, LOCAL = TAYLOR_LOCAL };

/* The midpoint opposite corner i is that of the edge without it. */
static void list_nodes(taylor *t) {
  const cx *c = t->c;
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int i = 0; i < CORNERS; i++) {
      int32_t v = c->vert[2][3 * f + i];
      t->node[f * NODES + i] = v;
      for (int j = 0; j < 3; j++) {
        int32_t e = c->face[2][3 * f + j];
        if (c->vert[1][2 * (int64_t)e] != v && c->vert[1][2 * (int64_t)e + 1] != v)
          t->node[f * NODES + 3 + i] = (int32_t)(c->n[0] + e);
      }
    }
}

/* Velocities inside, then pressures; that of the last vertex is held. Pressure times length compares with velocity. */
static void number_unknowns(taylor *t) {
  const cx *c = t->c;
  for (int64_t i = 0; i < t->nodes; i++) {
    int given = i < c->n[0] ? c->on_boundary[0][i] : c->on_boundary[1][i - c->n[0]];
    t->unknown[i] = given ? -1 : (int32_t)t->n;
    t->n += given ? 0 : 2;
  }
  for (int64_t i = 0; i < c->n[0] - 1; i++) t->level[i] = (int32_t)t->n++;
  t->level[c->n[0] - 1] = -1;
  double length = 0;
  for (int64_t e = 0; e < c->n[1]; e++) length += c->measure[1][e];
  t->scale = (double)c->n[1] / length;
}

void taylor_local_unknowns(const taylor *t, int64_t f, int32_t out[LOCAL]) {
  const int32_t *node = t->node + f * NODES;
  for (int a = 0; a < NODES; a++) {
    int32_t x = t->unknown[node[a]];
    out[2 * a] = x;
    out[2 * a + 1] = x < 0 ? -1 : x + 1;
  }
  for (int q = 0; q < CORNERS; q++) out[2 * NODES + q] = t->level[node[q]];
}

static dkho_status make_matrix(taylor *t) {
  int32_t *own = mem_alloc((size_t)(t->c->n[2] * LOCAL), sizeof *own);
  if (!own) return DKHO_E_MEMORY;
  for (int64_t f = 0; f < t->c->n[2]; f++) taylor_local_unknowns(t, f, own + f * LOCAL);
  dkho_status s = assembly_make(&t->matrix, t->c->n[2], LOCAL, t->n, own);
  mem_free(own);
  return s;
}

/* A pressure is eliminated right after velocities beside it, which fill its empty diagonal: those of its own vertex; on the boundary
 * those of an edge that leaves it, or of the edge opposite a lonely corner. */
static void group_unknowns(const taylor *t, int32_t *group) {
  const cx *c = t->c;
  for (int64_t i = 0; i < t->nodes; i++)
    if (t->unknown[i] >= 0) group[t->unknown[i]] = group[t->unknown[i] + 1] = (int32_t)i;
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int q = 0; q < CORNERS; q++) {
      const int32_t *node = t->node + f * NODES;
      int32_t own = t->level[node[q]], near[4] = {node[q], node[3 + (q + 1) % 3], node[3 + (q + 2) % 3], node[3 + q]};
      for (int k = 3; own >= 0 && k >= 0; k--)
        if (t->unknown[near[k]] >= 0) group[own] = near[k];
    }
}

static dkho_status plan_elimination(taylor *t) {
  int32_t *group;
  if (!MEM_NEW(group, t->n)) return DKHO_E_MEMORY;
  group_unknowns(t, group);
  dkho_status s = lu_plan_make(&t->plan, &t->matrix.pattern, t->nodes, group);
  mem_free(group);
  return s;
}

dkho_status taylor_create(taylor **out, const cx *c) {
  assert(c->dim == 2 && c->gdim == 2);
  *out = NULL;
  taylor *t;
  if (!MEM_NEW(t, 1)) return DKHO_E_MEMORY;
  t->c = c;
  t->nodes = c->n[0] + c->n[1];
  dkho_status s = DKHO_E_MEMORY;
  if (ARENA_NEW(&t->mem, t->node, c->n[2] * NODES) && ARENA_NEW(&t->mem, t->unknown, t->nodes) &&
      ARENA_NEW(&t->mem, t->level, c->n[0])) {
    list_nodes(t);
    number_unknowns(t);
    s = make_matrix(t);
  }
  if (s == DKHO_OK) s = plan_elimination(t);
  if (s == DKHO_OK)
    *out = t;
  else
    taylor_free(t);
  return s;
}

void taylor_free(taylor *t) {
  if (!t) return;
  lu_plan_free(t->plan);
  assembly_free(&t->matrix);
  arena_free(&t->mem);
  mem_free(t);
}

int64_t taylor_nodes(const taylor *t) {
  return t->nodes;
}
int64_t taylor_unknowns(const taylor *t) {
  return t->n;
}

/* Σ_e w_e (λ_a ∇λ_b - λ_b ∇λ_a) of triangle f at a point. */
static void whitney_velocity(const cx *c, int64_t f, const double *edge, const double bary[3], double out[2]) {
  double grad[6];
  fem_gradients(c, f, grad);
  out[0] = out[1] = 0;
  for (int j = 0; j < 3; j++) {
    int64_t e = c->face[2][3 * f + j];
    int end[2] = {0, 0};
    for (int k = 0; k < 2; k++)
      while (c->vert[2][3 * f + end[k]] != c->vert[1][2 * e + k]) end[k]++;
    for (int i = 0; i < 2; i++)
      out[i] += edge[e] * (bary[end[0]] * grad[2 * end[1] + i] - bary[end[1]] * grad[2 * end[0] + i]);
  }
}

/* Midpoints move along their edges until Simpson's rule gives the line integral. */
static void match_integrals(const taylor *t, const double *edge, double *u) {
  const cx *c = t->c;
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1], m = c->n[0] + e;
    double along[2] = {c->x[2 * b] - c->x[2 * a], c->x[2 * b + 1] - c->x[2 * a + 1]}, gap = edge[e];
    if (t->unknown[m] < 0) continue;
    for (int i = 0; i < 2; i++) gap -= along[i] * (u[2 * a + i] + 4 * u[2 * m + i] + u[2 * b + i]) / 6;
    for (int i = 0; i < 2; i++) u[2 * m + i] += 1.5 * gap * along[i] / (along[0] * along[0] + along[1] * along[1]);
  }
}

void taylor_guess(const taylor *t, const double *edge, double *u) {
  const cx *c = t->c;
  for (int64_t i = 0; i < t->nodes; i++)
    if (t->unknown[i] >= 0) u[2 * i] = u[2 * i + 1] = 0;
  for (int64_t f = 0; f < c->n[2]; f++)
    for (int a = 0; a < TAYLOR_NODES; a++) {
      int64_t node = t->node[f * TAYLOR_NODES + a];
      double bary[3], v[2];
      if (t->unknown[node] < 0) continue;
      for (int q = 0; q < 3; q++) bary[q] = a < 3 ? q == a : q == a - 3 ? 0 : 0.5;
      whitney_velocity(c, f, edge, bary, v);
      /* at a vertex inside there are as many triangles as edges */
      double share = a < 3 ? 1.0 / (double)(c->coptr[0][node + 1] - c->coptr[0][node]) : 0.5;
      for (int i = 0; i < 2; i++) u[2 * node + i] += share * v[i];
    }
  match_integrals(t, edge, u);
}

/* Simpson's rule: (u_tail + 4 u_mid + u_head)/6 · (x_head - x_tail). */
void taylor_line_integrals(const taylor *t, const double *u, double *edge) {
  const cx *c = t->c;
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1], m = c->n[0] + e;
    edge[e] = 0;
    for (int i = 0; i < 2; i++)
      edge[e] += (u[2 * a + i] + 4 * u[2 * m + i] + u[2 * b + i]) / 6 * (c->x[2 * b + i] - c->x[2 * a + i]);
  }
}

void taylor_fluxes(const taylor *t, const double *u, double *edge) {
  const cx *c = t->c;
  for (int64_t e = 0; e < c->n[1]; e++) {
    int64_t a = c->vert[1][2 * e], b = c->vert[1][2 * e + 1], m = c->n[0] + e;
    double mean[2];
    for (int i = 0; i < 2; i++) mean[i] = (u[2 * a + i] + 4 * u[2 * m + i] + u[2 * b + i]) / 6;
    edge[e] = mean[0] * (c->x[2 * b + 1] - c->x[2 * a + 1]) - mean[1] * (c->x[2 * b] - c->x[2 * a]);
  }
}

/* The curl is linear: area times the mean over the corners, where ∇φ of corner i is 3∇λ_i at itself and -∇λ_i at the others, that of a
 * midpoint 4(λ_a∇λ_b + λ_b∇λ_a). Their means: ∇λ_i/3 and 4(∇λ_a + ∇λ_b)/3. */
void taylor_circulations(const taylor *t, const double *u, double *face) {
  const cx *c = t->c;
  for (int64_t f = 0; f < c->n[2]; f++) {
    double grad[6], sum = 0;
    fem_gradients(c, f, grad);
    for (int i = 0; i < CORNERS; i++) {
      const int32_t *node = t->node + f * NODES;
      const double *at = u + 2 * (int64_t)node[i], *mid = u + 2 * (int64_t)node[3 + i], *g = grad + 2 * i;
      /* ∇λ_a + ∇λ_b = -∇λ_i */
      sum += (g[0] * (at[1] - 4 * mid[1]) - g[1] * (at[0] - 4 * mid[0])) / 3;
    }
    face[f] = c->measure[2][f] * sum;
  }
}

void taylor_velocity(const taylor *t, const double *u, int64_t f, const double bary[3], double out[2]) {
  const int32_t *node = t->node + f * NODES;
  out[0] = out[1] = 0;
  for (int i = 0; i < CORNERS; i++) {
    double corner = bary[i] * (2 * bary[i] - 1), mid = 4 * bary[(i + 1) % 3] * bary[(i + 2) % 3];
    for (int a = 0; a < 2; a++) out[a] += corner * u[2 * (int64_t)node[i] + a] + mid * u[2 * (int64_t)node[3 + i] + a];
  }
}
