/* iron.c: magnetic states of a saturable sheet. */
#include "problem/iron.h"

#include <math.h>
#include <string.h>

static const double VACUUM = 0.02; /* what is left of the permeability in full saturation, over that at rest */
static const double SPREAD = 0.3, ROUGHNESS = 1.5; /* of the saturation's logarithm */
enum { FREQUENCY = 4, HOLES = SHEET_HOLES };

static dkho_status prepare_iron(problem_state **out, const cx *c, closed_law law) {
  double centre[HOLES][2];
  problem_state *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  s->law = law;
  for (int j = 0; j < HOLES; j++) memcpy(centre[j], sheet_hole[j], sizeof centre[j]);
  double *none = mem_alloc((size_t)c->n[0], sizeof *none);
  dkho_status st = none && MEM_NEW(s->winding, HOLES * c->n[1]) && MEM_NEW(s->vector, HOLES * 2 * c->n[2])
                       ? closed_windings(c, HOLES, (const double(*)[2])centre, s->winding)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK) st = closed_create(&s->s, c, NULL);
  for (int j = 0; st == DKHO_OK && j < HOLES; j++)
    closed_vectors(s->s, s->winding + j * c->n[1], none, s->vector + j * 2 * c->n[2]);
  mem_free(none);
  if (st == DKHO_OK)
    *out = s;
  else
    iron_release(s);
  return st;
}

dkho_status iron_prepare(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  return prepare_iron(out, c, closed_froehlich);
}

dkho_status iron_prepare_brauer(problem_state **out, const cx *c, uint64_t seed) {
  (void)seed;
  return prepare_iron(out, c, closed_brauer);
}

void iron_release(problem_state *s) {
  if (!s) return;
  closed_free(s->s);
  mem_free(s->winding);
  mem_free(s->vector);
  mem_free(s);
}

dkho_status iron_fill(const problem_state *s, const char *name, double *out) {
  const cx *c = s->c;
  if (strcmp(name, "winding") == 0) {
    for (int64_t e = 0; e < c->n[1]; e++)
      for (int j = 0; j < HOLES; j++) out[e * HOLES + j] = s->winding[j * c->n[1] + e];
  } else if (strcmp(name, "winding_x") == 0 || strcmp(name, "winding_y") == 0) {
    int a = name[8] == 'y';
    for (int64_t f = 0; f < c->n[2]; f++)
      for (int j = 0; j < HOLES; j++) out[f * HOLES + j] = s->vector[(j * c->n[2] + f) * 2 + a];
  } else
    return problem_fill_common(c, name, out);
  return DKHO_OK;
}

dkho_status iron_open(iron **out, const problem_state *s, int steps) {
  *out = NULL;
  iron *w;
  const cx *c = s->c;
  if (!MEM_NEW(w, 1)) return DKHO_E_MEMORY;
  w->s = s;
  dkho_status st = DKHO_E_MEMORY;
  if (ARENA_NEW(&w->mem, w->material, CLOSED_MATERIAL * c->n[2]) && ARENA_NEW(&w->mem, w->start, c->n[1]) &&
      ARENA_NEW(&w->mem, w->phi, c->n[0]) && ARENA_NEW(&w->mem, w->old, c->n[0]) &&
      ARENA_NEW(&w->mem, w->next, c->n[0]) && ARENA_NEW(&w->mem, w->field, 2 * c->n[2]) &&
      (steps == 0 || ARENA_NEW(&w->mem, w->cycle, (int64_t)steps * 2 * c->n[2])))
    st = closed_open(&w->w, s->s);
  if (st == DKHO_OK)
    *out = w;
  else
    iron_close(w);
  return st;
}

void iron_close(void *work) {
  iron *w = work;
  if (!w) return;
  closed_guess_free(w->guess);
  closed_close(w->w);
  arena_free(&w->mem);
  mem_free(w);
}

void iron_draw_saturation(const problem_state *s, rng *r, double *saturation) {
  sheet_gaussian(s->c, r, FREQUENCY, ROUGHNESS, saturation);
  for (int64_t i = 0; i < s->c->n[0]; i++) saturation[i] = exp(SPREAD * saturation[i]);
}

dkho_status iron_set_material(iron *w, const char *who, const double *saturation) {
  const cx *c = w->s->c;
  for (int64_t i = 0; i < c->n[0]; i++)
    if (!(saturation[i] > 0) || !isfinite(saturation[i]))
      return fail(DKHO_E_INPUT, "%s: saturation at vertex %lld is %g, expected a positive number", who, (long long)i,
                  saturation[i]);
  for (int64_t f = 0; f < c->n[2]; f++) {
    const int32_t *v = c->vert[2] + 3 * f;
    w->material[CLOSED_MATERIAL * f] = (saturation[v[0]] + saturation[v[1]] + saturation[v[2]]) / 3;
    w->material[CLOSED_MATERIAL * f + 1] = VACUUM;
  }
  return DKHO_OK;
}

/* w->start ← Σ I_j h_j */
static void superpose_windings(iron *w, const double current[HOLES]) {
  const problem_state *s = w->s;
  for (int64_t e = 0; e < s->c->n[1]; e++) {
    w->start[e] = 0;
    for (int j = 0; j < HOLES; j++) w->start[e] += current[j] * s->winding[j * s->c->n[1] + e];
  }
}

dkho_status iron_guess(iron *w, const double current[HOLES], const double *field, double *phi) {
  superpose_windings(w, current);
  if (!w->guess) TRY(closed_guess_create(&w->guess, w->s->s));
  return closed_guess_find(w->guess, w->start, field, phi);
}

dkho_status iron_solve(iron *w, const char *who, const double current[HOLES], double *phi) {
  const problem_state *s = w->s;
  newton_report r;
  for (int j = 0; j < HOLES; j++)
    if (!(fabs(current[j]) <= IRON_CURRENT_MAX))
      return fail(DKHO_E_INPUT, "%s: current %d is %g; the curve of the iron ends at %g", who, j + 1, current[j],
                  IRON_CURRENT_MAX);
  superpose_windings(w, current);
  dkho_status st = closed_solve(w->w, s->law, w->material, w->start, phi, &r);
  w->steps = r.steps;
  if (st != DKHO_OK) return fail_prefix(st, "%s: currents %g, %g, %g", who, current[0], current[1], current[2]);
  closed_vectors(s->s, w->start, phi, w->field);
  return DKHO_OK;
}

void iron_flux(const iron *w, int64_t f, double B[2], closed_response *r) {
  const double *H = w->field + 2 * f;
  *r = w->s->law(w->material + CLOSED_MATERIAL * f, sqrt(H[0] * H[0] + H[1] * H[1]));
  B[0] = r->nu * H[0];
  B[1] = r->nu * H[1];
}
