/* betti.c: Betti numbers and the spaces of (co)homology representatives behind harmonic bases.
 *
 * Degrees 0 and 1 go by cochains: β_0 = dim ker d_0; the edges chosen as pivots there form a spanning forest, on which a
 * closed 1-cochain can be made zero by subtracting an exact one, so β_1 is the nullity of d_1 on the other edges.
 * Degrees 2 and 3 go by chains, from the top: β_dim = dim ker ∂_dim, and in a solid the faces chosen as pivots there can
 * be cleared by boundaries, so β_2 is the nullity of ∂_2 on the other faces. */
#include "dec/dec_impl.h"

#include <assert.h>
#include <string.h>

static const uint8_t *boundary(const cx *c, int k, int relative) {
  return relative && k < c->dim ? c->on_boundary[k] : NULL;
}

/* ker d_k: unknowns on k-simplices, one equation per (k+1)-simplex. */
static elim_matrix coboundary(const cx *c, int k, int relative) {
  elim_matrix m = {.cols = c->n[k], .width = k + 2, .skip_col = boundary(c, k, relative)};
  if (k == c->dim) return m;
  m.rows = c->n[k + 1];
  m.idx = c->face[k + 1];
  m.sign = c->sign[k + 1];
  m.skip_row = boundary(c, k + 1, relative);
  return m;
}

/* ker ∂_k: unknowns on k-simplices, one equation per (k-1)-simplex. */
static elim_matrix chain_boundary(const cx *c, int k, int relative) {
  return (elim_matrix){.rows = c->n[k - 1],
                       .cols = c->n[k],
                       .ptr = c->coptr[k - 1],
                       .idx = c->coface[k - 1],
                       .sign = c->cosign[k - 1],
                       .skip_row = boundary(c, k - 1, relative),
                       .skip_col = boundary(c, k, relative)};
}

/* Kernel of m with the pivots of `before` cleared as well. */
static dkho_status run_cleared(elim **out, elim_matrix m, const elim *before, uint32_t prime) {
  uint8_t *skip;
  if (!MEM_NEW(skip, m.cols)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < m.cols; i++) skip[i] = before->pivot_row[i] || (m.skip_col && m.skip_col[i]);
  m.skip_col = skip;
  dkho_status s = elim_run(out, &m, prime);
  mem_free(skip);
  return s;
}

dkho_status classes_find(classes *out, const cx *c, int k, int relative, uint32_t prime) {
  *out = (classes){{0}};
  assert(k >= CLASSES_ALL && k <= c->dim);
  int all = k == CLASSES_ALL;
  elim_matrix m;
  dkho_status s = DKHO_OK;
  if (all || k <= 1) {
    m = coboundary(c, 0, relative);
    TRY_GOTO(elim_run(&out->of[0], &m, prime));
    if (k == 1 || (all && c->dim >= 1))
      TRY_GOTO(run_cleared(&out->of[1], coboundary(c, 1, relative), out->of[0], prime));
  }
  if (c->dim >= 2 && (all || k >= 2)) {
    m = chain_boundary(c, c->dim, relative);
    TRY_GOTO(elim_run(&out->of[c->dim], &m, prime));
    if (c->dim == 3 && (all || k == 2))
      TRY_GOTO(run_cleared(&out->of[2], chain_boundary(c, 2, relative), out->of[3], prime));
  }
done:
  if (s != DKHO_OK) classes_free(out);
  return s;
}

void classes_free(classes *s) {
  for (int k = 0; k < CX_DEGREES; k++) elim_free(s->of[k]);
  *s = (classes){{0}};
}

static dkho_status betti_mod(const cx *c, int relative, uint32_t prime, int64_t betti[CX_DEGREES]) {
  classes found;
  TRY(classes_find(&found, c, CLASSES_ALL, relative, prime));
  int64_t euler = 0;
  for (int k = 0; k < CX_DEGREES; k++) {
    betti[k] = found.of[k] ? found.of[k]->nullity : 0;
    euler += (k % 2 ? -1 : 1) * betti[k];
    const uint8_t *skip = boundary(c, k, relative);
    for (int64_t i = 0; i < c->n[k]; i++)
      if (!skip || !skip[i]) euler -= k % 2 ? -1 : 1;
  }
  classes_free(&found);
  if (euler)
    return fail(DKHO_E_INTERNAL, "Betti numbers contradict the Euler characteristic by %lld", (long long)euler);
  return DKHO_OK;
}

static dkho_status certified(const cx *c, int relative, int64_t betti[CX_DEGREES]) {
  int64_t again[CX_DEGREES];
  TRY(betti_mod(c, relative, ELIM_PRIME, betti));
  TRY(betti_mod(c, relative, ELIM_PRIME_2, again));
  if (memcmp(betti, again, sizeof again) != 0)
    return fail(DKHO_E_INTERNAL, "Betti numbers differ between two primes: the complex has torsion of that order");
  return DKHO_OK;
}

dkho_status dec_betti(const cx *c, int64_t betti[CX_DEGREES]) {
  return certified(c, 0, betti);
}

dkho_status dec_betti_relative(const cx *c, int64_t betti[CX_DEGREES]) {
  return certified(c, 1, betti);
}
