/* taylor_solve.c: Newton's method for Taylor–Hood elements. The Stokes matrix is the same for every flow on a complex: a solver factors it
 * once. */
#include "problem/taylor_impl.h"

#include "data/static.h"
#include "la/newton.h"

#include <math.h>
#include <string.h>

enum { NODES = TAYLOR_NODES, CORNERS = TAYLOR_CORNERS, LOCAL = TAYLOR_LOCAL };
enum { STEPS = 12 };                   /* of Newton's method at one Reynolds number, before a lower one is tried */
static const double TOLERANCE = 1e-11; /* of the residual, relative to the sizes of the terms that add up to it */
static const double SHORTEST =
    1e-3; /* step of the Reynolds number, relative to the one wanted, below which there is no way */

struct taylor_solver {
  const taylor *t;
  csr jacobian;
  lu *stokes, *factor;
  double *x, *good, *room; /* unknowns: those at hand, the last solved for; newton_room */
  double *weight;          /* N0: lumped areas */
  double *u, *p;           /* of the point at hand */
  const double *psi;
  double reynolds;
  arena mem;
};

static void gather_values(const taylor_solver *s, int64_t f, taylor_values *v) {
  const int32_t *node = s->t->node + f * NODES;
  for (int a = 0; a < NODES; a++)
    for (int i = 0; i < 2; i++) v->u[a][i] = s->u[2 * (int64_t)node[a] + i];
  for (int q = 0; q < CORNERS; q++) v->p[q] = s->p[node[q]], v->psi[q] = s->psi ? s->psi[node[q]] : 0;
}

/* Velocities and pressures from the unknowns; given ones stay. */
static void spread_unknowns(const taylor_solver *s, const double *x) {
  const taylor *t = s->t;
  for (int64_t i = 0; i < t->nodes; i++)
    if (t->unknown[i] >= 0) memcpy(s->u + 2 * i, x + t->unknown[i], 2 * sizeof *x);
  for (int64_t i = 0; i < t->c->n[0]; i++) s->p[i] = t->level[i] >= 0 ? t->scale * x[t->level[i]] : 0;
}

static double unknown_scale(const taylor *t, int a) {
  return a < 2 * NODES ? 1 : t->scale;
}

/* F of the point at hand; returns √Σ of the squared element terms, which a residual is small against. */
static double add_residuals(const taylor_solver *s, double *F) {
  const taylor *t = s->t;
  double gross = 0;
  memset(F, 0, (size_t)t->n * sizeof *F);
  for (int64_t f = 0; f < t->c->n[2]; f++) {
    taylor_values v;
    double local[LOCAL];
    int32_t own[LOCAL];
    gather_values(s, f, &v);
    taylor_element(t->c, f, s->reynolds, &v, local, NULL);
    taylor_local_unknowns(t, f, own);
    for (int a = 0; a < LOCAL; a++) {
      if (own[a] < 0) continue;
      double term = unknown_scale(t, a) * local[a];
      F[own[a]] += term;
      gross += term * term;
    }
  }
  return sqrt(gross);
}

static void assemble_jacobian(taylor_solver *s) {
  const taylor *t = s->t;
  memset(s->jacobian.val, 0, (size_t)s->jacobian.nnz * sizeof *s->jacobian.val);
  for (int64_t f = 0; f < t->c->n[2]; f++) {
    taylor_values v;
    double local[LOCAL], K[LOCAL][LOCAL];
    gather_values(s, f, &v);
    taylor_element(t->c, f, s->reynolds, &v, local, K);
    for (int a = 0; a < LOCAL; a++)
      for (int b = 0; b < LOCAL; b++) K[a][b] *= unknown_scale(t, a) * unknown_scale(t, b);
    assembly_add(&t->matrix, f, K[0], &s->jacobian);
  }
}

static void taylor_residual(void *ctx, const double *x, double *energy, double *f) {
  (void)energy;
  spread_unknowns(ctx, x);
  add_residuals(ctx, f);
}

static dkho_status taylor_step(void *ctx, const double *x, const double *f, double *step) {
  taylor_solver *s = ctx;
  spread_unknowns(s, x);
  assemble_jacobian(s);
  TRY(lu_factor(s->factor, &s->jacobian));
  memcpy(step, f, (size_t)s->t->n * sizeof *step);
  lu_solve(s->factor, step);
  return DKHO_OK;
}

static dkho_status factor_stokes(taylor_solver *s) {
  s->reynolds = 0;
  s->psi = NULL;
  assemble_jacobian(s);
  return lu_factor(s->stokes, &s->jacobian);
}

dkho_status taylor_open(taylor_solver **out, const taylor *t) {
  *out = NULL;
  taylor_solver *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->t = t;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&s->mem, s->x, t->n) && ARENA_NEW(&s->mem, s->good, t->n) &&
      ARENA_NEW(&s->mem, s->room, newton_room(t->n)) && ARENA_NEW(&s->mem, s->weight, t->c->n[0]) &&
      ARENA_NEW(&s->mem, s->u, 2 * t->nodes) && ARENA_NEW(&s->mem, s->p, t->c->n[0])) {
    static_lumped(t->c, s->weight);
    st = assembly_matrix(&s->jacobian, &t->matrix);
  }
  if (st == DKHO_OK) st = lu_open(&s->stokes, t->plan);
  if (st == DKHO_OK) st = lu_open(&s->factor, t->plan);
  if (st == DKHO_OK) st = factor_stokes(s);
  if (st == DKHO_OK)
    *out = s;
  else
    taylor_close(s);
  return st;
}

void taylor_close(taylor_solver *s) {
  if (!s) return;
  lu_close(s->stokes);
  lu_close(s->factor);
  csr_free(&s->jacobian);
  arena_free(&s->mem);
  mem_free(s);
}

/* x ← what force and walls leave to the Stokes flow at rest; returns the size of its terms. */
static double load_at_rest(taylor_solver *s) {
  s->reynolds = 0;
  memset(s->x, 0, (size_t)s->t->n * sizeof *s->x);
  spread_unknowns(s, s->x);
  return add_residuals(s, s->x);
}

/* x ← the Stokes flow, from load_at_rest. */
static void solve_stokes(taylor_solver *s) {
  lu_solve(s->stokes, s->x);
  for (int64_t i = 0; i < s->t->n; i++) s->x[i] = -s->x[i];
}

/* Newton's method at the Reynolds number wanted from the velocities in u. Pressures enter linearly, so the first step finds them from
 * whatever they were. */
static dkho_status solve_guess(taylor_solver *s, taylor_flow *f, double gross) {
  newton_report r;
  newton_problem p = {s->t->n, TOLERANCE * gross, 0, s, taylor_residual, taylor_step, STEPS};
  s->reynolds = f->reynolds;
  memset(s->x, 0, (size_t)s->t->n * sizeof *s->x);
  for (int64_t i = 0; i < s->t->nodes; i++)
    if (s->t->unknown[i] >= 0) memcpy(s->x + s->t->unknown[i], f->u + 2 * i, 2 * sizeof *s->x);
  dkho_status st = newton_solve(&p, s->x, s->room, &r);
  f->steps += r.steps;
  if (st == DKHO_OK) f->reached = f->reynolds;
  return st;
}

/* From the flow in x, which belongs to Re = reached, to the one wanted, by steps that double and halve. */
static dkho_status raise_reynolds(taylor_solver *s, taylor_flow *f, double gross) {
  size_t bytes = (size_t)s->t->n * sizeof *s->x;
  for (double step = f->reynolds; f->reached < f->reynolds;) {
    newton_report r;
    newton_problem p = {s->t->n, TOLERANCE * gross, 0, s, taylor_residual, taylor_step, STEPS};
    s->reynolds = fmin(f->reached + step, f->reynolds);
    memcpy(s->good, s->x, bytes);
    dkho_status st = newton_solve(&p, s->x, s->room, &r);
    f->steps += r.steps;
    if (st == DKHO_OK) {
      f->reached = s->reynolds;
      step *= 2;
      continue;
    }
    if (st != DKHO_E_NOCONV) return st;
    memcpy(s->x, s->good, bytes);
    step /= 2;
    if (step < SHORTEST * f->reynolds)
      return fail_prefix(st, "Reynolds number %g: no flow found beyond %.4g", f->reynolds, f->reached);
  }
  return DKHO_OK;
}

/* Pressures are known up to a constant: their mean shall be zero. */
static void centre_pressure(const taylor_solver *s, double *p) {
  double sum = 0, area = 0;
  for (int64_t i = 0; i < s->t->c->n[0]; i++) sum += s->weight[i] * s->p[i], area += s->weight[i];
  for (int64_t i = 0; i < s->t->c->n[0]; i++) p[i] = s->p[i] - sum / area;
}

dkho_status taylor_solve(taylor_solver *s, taylor_flow *f) {
  size_t bytes = 2 * (size_t)s->t->nodes * sizeof *s->u;
  s->psi = f->psi;
  memcpy(s->u, f->u, bytes);
  f->steps = 0;
  f->reached = 0;
  double gross = load_at_rest(s);
  dkho_status st = f->guessed ? solve_guess(s, f, gross) : DKHO_E_NOCONV;
  if (st == DKHO_E_NOCONV) {
    if (f->guessed) load_at_rest(s);
    solve_stokes(s);
    st = raise_reynolds(s, f, gross);
  }
  TRY(st);
  spread_unknowns(s, s->x);
  memcpy(f->u, s->u, bytes);
  centre_pressure(s, f->p);
  return DKHO_OK;
}
