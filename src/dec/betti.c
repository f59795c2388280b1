/* betti.c: Betti numbers and the spaces of (co)homology representatives behind harmonic bases.
 *
 * Degrees 0 and 1 go by cochains: β_0 = dim ker d_0; the edges chosen as pivots there form a spanning forest, on which a
 * closed 1-cochain can be made zero by subtracting an exact one, so β_1 is the nullity of d_1 on the other edges.
 * Degrees 2 and 3 go by chains, from the top: β_dim = dim ker ∂_dim, and in a solid the faces chosen as pivots there can
 * be cleared by boundaries, so β_2 is the nullity of ∂_2 on the other faces.
 *
 * Where only the numbers are asked for and no edge has more than two triangles, nothing is eliminated: β_0 counts components, β_2 closed
 * orientable ones, and Euler's characteristic gives β_1. */
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

/* ---- surfaces and graphs by counting ---- */

/* Disjoint sets; turned[i]: 1 when i is oriented against its parent. */
typedef struct sets {
  int32_t *parent;
  uint8_t *turned;
} sets;

/* The root of i; *turn: whether i is oriented against it. Halves the way on the way. */
static int32_t find_root(sets *s, int32_t i, int *turn) {
  *turn = 0;
  while (s->parent[i] != i) {
    int32_t up = s->parent[i];
    s->turned[i] ^= s->turned[up];
    s->parent[i] = s->parent[up];
    *turn ^= s->turned[i];
    i = s->parent[i];
  }
  return i;
}

/* Joins the sets of i and j, which are oriented alike (against 0) or not. Says whether that contradicts what is known. */
static int join_sets(sets *s, int32_t i, int32_t j, int against) {
  int a, b;
  int32_t p = find_root(s, i, &a), q = find_root(s, j, &b);
  if (p == q) return (a ^ b) != against;
  s->parent[p] = q;
  s->turned[p] = (uint8_t)(a ^ b ^ against);
  return 0;
}

static dkho_status make_sets(sets *s, int64_t n) {
  if (!MEM_NEW(s->parent, n) || !MEM_NEW(s->turned, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) s->parent[i] = (int32_t)i;
  return DKHO_OK;
}

static void free_sets(sets *s) {
  mem_free(s->parent);
  mem_free(s->turned);
}

/* Components of vertices; relative: those without a boundary vertex. */
static dkho_status count_components(const cx *c, int relative, int64_t *out) {
  sets s = {0};
  uint8_t *drop = NULL;
  int turn;
  dkho_status status = make_sets(&s, c->n[0]);
  if (status == DKHO_OK && !MEM_NEW(drop, c->n[0])) status = DKHO_E_MEMORY;
  *out = 0;
  for (int64_t e = 0; status == DKHO_OK && e < c->n[1]; e++) join_sets(&s, c->face[1][2 * e], c->face[1][2 * e + 1], 0);
  const uint8_t *rim = boundary(c, 0, relative);
  for (int64_t i = 0; status == DKHO_OK && rim && i < c->n[0]; i++)
    if (rim[i]) drop[find_root(&s, (int32_t)i, &turn)] = 1;
  for (int64_t i = 0; status == DKHO_OK && i < c->n[0]; i++) *out += s.parent[i] == i && !drop[i];
  mem_free(drop);
  free_sets(&s);
  return status;
}

/* dim ker ∂_2: sheets of triangles, connected across edges of two, that can be oriented and have no free edge (relative: free edges do
 * not count). *known: 0 when an edge has three. */
static dkho_status count_sheets(const cx *c, int relative, int64_t *out, int *known) {
  sets s = {0};
  uint8_t *drop = NULL;
  int turn;
  const uint8_t *rim = boundary(c, 1, relative);
  dkho_status status = make_sets(&s, c->n[2]);
  if (status == DKHO_OK && !MEM_NEW(drop, c->n[2])) status = DKHO_E_MEMORY;
  *out = 0, *known = 1;
  for (int pass = 0; status == DKHO_OK && *known && pass < 2;
       pass++) /* first the sets, then what speaks against them */
    for (int64_t e = 0; e < c->n[1]; e++) {
      int64_t from = c->coptr[1][e], n = c->coptr[1][e + 1] - from;
      const int32_t *face = c->coface[1] + from;
      const int8_t *sign = c->cosign[1] + from;
      *known &= n <= 2;
      if (!*known || (rim && rim[e]) || n == 0) continue;
      int bad = n == 2 ? join_sets(&s, face[0], face[1], sign[0] == sign[1]) : 1;
      if (pass && bad) drop[find_root(&s, face[0], &turn)] = 1;
    }
  for (int64_t i = 0; status == DKHO_OK && i < c->n[2]; i++) *out += s.parent[i] == i && !drop[i];
  mem_free(drop);
  free_sets(&s);
  return status;
}

/* *known: whether this way leads to the numbers. */
static dkho_status betti_by_counting(const cx *c, int relative, int64_t betti[CX_DEGREES], int *known) {
  int64_t euler = 0;
  *known = c->dim >= 1 && c->dim <= 2;
  if (!*known) return DKHO_OK;
  memset(betti, 0, CX_DEGREES * sizeof *betti);
  TRY(count_components(c, relative, &betti[0]));
  if (c->dim == 2) TRY(count_sheets(c, relative, &betti[2], known));
  for (int k = 0; k <= c->dim; k++) {
    const uint8_t *skip = boundary(c, k, relative);
    for (int64_t i = 0; i < c->n[k]; i++)
      if (!skip || !skip[i]) euler += k % 2 ? -1 : 1;
  }
  betti[1] = betti[0] + betti[2] - euler;
  return DKHO_OK;
}

/* By elimination, for two primes. */
dkho_status dec_betti_eliminated(const cx *c, int relative, int64_t betti[CX_DEGREES]) {
  int64_t again[CX_DEGREES];
  TRY(betti_mod(c, relative, ELIM_PRIME, betti));
  TRY(betti_mod(c, relative, ELIM_PRIME_2, again));
  if (memcmp(betti, again, sizeof again) != 0)
    return fail(DKHO_E_INTERNAL, "Betti numbers differ between two primes: the complex has torsion of that order");
  return DKHO_OK;
}

static dkho_status certified(const cx *c, int relative, int64_t betti[CX_DEGREES]) {
  int known;
  TRY(betti_by_counting(c, relative, betti, &known));
  return known ? DKHO_OK : dec_betti_eliminated(c, relative, betti);
}

dkho_status dec_betti(const cx *c, int64_t betti[CX_DEGREES]) {
  return certified(c, 0, betti);
}

dkho_status dec_betti_relative(const cx *c, int64_t betti[CX_DEGREES]) {
  return certified(c, 1, betti);
}
