/* closed_guess.c: potentials of cochains that are nearly closed, by least squares over edges. */
#include "problem/closed_impl.h"

#include <string.h>

struct closed_guess {
  const closed *s;
  assembled normal; /* dᵀ W d on free vertices, W_e the number of triangles at e */
  double *b, *gap;  /* n; N1 */
  arena mem;
};

/* Every triangle adds the squares of its three edges. */
static dkho_status factor_normal(closed_guess *g) {
  static const double K[9] = {2, -1, -1, -1, 2, -1, -1, -1, 2};
  assembled_clear(&g->normal);
  for (int64_t f = 0; f < g->s->c->n[2]; f++) assembly_add(&g->s->matrix, f, K, &g->normal.matrix);
  return chol_refactor(g->normal.factor, &g->normal.matrix);
}

dkho_status closed_guess_create(closed_guess **out, const closed *s) {
  *out = NULL;
  closed_guess *g;
  if (!MEM_NEW(g, 1)) return DKHO_E_MEMORY;
  g->s = s;
  dkho_status st = ARENA_NEW(&g->mem, g->b, s->n) && ARENA_NEW(&g->mem, g->gap, s->c->n[1])
                       ? assembled_open(&g->normal, &s->matrix)
                       : DKHO_E_MEMORY;
  if (st == DKHO_OK) st = factor_normal(g);
  if (st == DKHO_OK)
    *out = g;
  else
    closed_guess_free(g);
  return st;
}

void closed_guess_free(closed_guess *g) {
  if (!g) return;
  assembled_close(&g->normal);
  arena_free(&g->mem);
  mem_free(g);
}

/* dᵀ W d φ = dᵀ W (u - u₀ - dφ_held) */
dkho_status closed_guess_find(closed_guess *g, const double *start, const double *u, double *phi) {
  const closed *s = g->s;
  const cx *c = s->c;
  for (int64_t i = 0; i < c->n[0]; i++)
    if (s->unknown[i] >= 0) phi[i] = 0;
  closed_cochain(s, start, phi, g->gap);
  memset(g->b, 0, (size_t)s->n * sizeof *g->b);
  for (int64_t e = 0; e < c->n[1]; e++) {
    double term = (double)(c->coptr[1][e + 1] - c->coptr[1][e]) * (u[e] - g->gap[e]);
    for (int k = 0; k < 2; k++) {
      int32_t at = s->unknown[c->vert[1][2 * e + k]];
      if (at >= 0) g->b[at] += k ? term : -term;
    }
  }
  TRY(chol_solve(g->normal.factor, g->normal.work, 1, g->b, g->b));
  for (int64_t i = 0; i < c->n[0]; i++)
    if (s->unknown[i] >= 0) phi[i] = g->b[s->unknown[i]];
  return DKHO_OK;
}
