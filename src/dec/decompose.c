/* decompose.c: u = d a + h + δ b. The harmonic part comes from the basis; of the two others the one with the small
 * potential space is solved for and the last is what remains. */
#include "dec/dec_impl.h"

#include <assert.h>
#include <string.h>

typedef struct {
  const dec *d;
  int k, has_part;
  dec_basis h;
  part p;
  double *x, *rest, *solved; /* n[k] each */
} splitter;

static dkho_status splitter_open(splitter *t, const dec *d, int k) {
  *t = (splitter){.d = d, .k = k};
  int64_t n = d->c->n[k];
  if (!MEM_NEW(t->x, n) || !MEM_NEW(t->rest, n) || !MEM_NEW(t->solved, n)) return DKHO_E_MEMORY;
  TRY(harmonic_symmetric(d, k, &t->h));
  t->has_part = k > 0 && k < d->c->dim;
  return t->has_part ? part_open(&t->p, d, k == 1 ? PART_EXACT_1 : PART_COEXACT_TOP, NULL) : DKHO_OK;
}

static void splitter_close(splitter *t) {
  dec_basis_free(&t->h);
  part_close(&t->p);
  mem_free(t->x);
  mem_free(t->rest);
  mem_free(t->solved);
}

/* x → solved (exact for k = 1, coexact for k = 2 in a solid, else zero) and rest (the other part); x ← harmonic. */
static dkho_status split(splitter *t) {
  size_t bytes = (size_t)t->h.n * sizeof *t->x;
  memcpy(t->rest, t->x, bytes);
  for (int round = 0; round < 2; round++) harmonic_remove(&t->h, t->rest);
  for (int64_t i = 0; i < t->h.n; i++) t->x[i] -= t->rest[i];
  if (!t->has_part) return DKHO_OK; /* solved stays zero */
  TRY(part_project(&t->p, t->rest, t->solved));
  for (int64_t i = 0; i < t->h.n; i++) t->rest[i] -= t->solved[i];
  return DKHO_OK;
}

static void put_channel(const dec *d, int k, int ch, const double *x, double *out) {
  for (int64_t i = 0; i < d->c->n[k]; i++) out[i * ch] = x[i];
}

dkho_status dec_decompose(const dec *d, int k, int ch, const double *u, double *exact, double *harmonic,
                          double *coexact) {
  assert(k >= 0 && k <= d->c->dim && ch >= 0);
  splitter t;
  dkho_status s;
  TRY_GOTO(splitter_open(&t, d, k));
  /* What `rest` holds after the split: exact at the top and for k = 2 in a solid, coexact below. */
  int rest_is_exact = k == d->c->dim ? k > 0 : k == 2;
  for (int v = 0; v < ch; v++) {
    for (int64_t i = 0; i < t.h.n; i++) t.x[i] = u[i * ch + v];
    dec_to_symmetric(d, k, t.x, t.x);
    TRY_GOTO(split(&t));
    dec_from_symmetric(d, k, t.x, t.x);
    dec_from_symmetric(d, k, t.rest, t.rest);
    dec_from_symmetric(d, k, t.solved, t.solved);
    put_channel(d, k, ch, t.x, harmonic + v);
    put_channel(d, k, ch, rest_is_exact ? t.rest : t.solved, exact + v);
    put_channel(d, k, ch, rest_is_exact ? t.solved : t.rest, coexact + v);
  }
done:
  splitter_close(&t);
  return s;
}
