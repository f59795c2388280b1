/* part.c: orthogonal projection onto gradients of vertex potentials, or onto codifferentials of top cochains.
 *
 * With B = D_0 or D_{dim-1}ᵀ: Π x = B (BᵀB)⁺ Bᵀ x. BᵀB is singular by the kernel of B, which has one vector per free
 * unknown of the elimination; adding weight to the diagonal there makes it definite and leaves consistent systems with
 * the solution that is zero at the free unknowns. */
#include "dec/dec_impl.h"

#include <string.h>

enum { STEPS = 3 }; /* one solve and two refinements: Bᵀ(x - Πx) falls to rounding */

static void ground(csr *a, const elim *kernel) {
  for (int64_t f = 0; f < kernel->nullity; f++) {
    int32_t i = kernel->free_col[f];
    for (int64_t q = a->ptr[i]; q < a->ptr[i + 1]; q++)
      if (a->col[q] == i) a->val[q] *= 2;
  }
}

dkho_status part_open(part *p, const dec *d, part_kind kind, const elim *kernel) {
  *p = (part){0};
  int top = kind == PART_COEXACT_TOP, k = top ? d->c->dim - 1 : 0;
  classes own = {{0}};
  csr a = {0};
  dkho_status s;
  TRY_GOTO(dec_symmetric_d(d, k, top ? &p->down : &p->up));
  TRY_GOTO(csr_transpose(top ? &p->up : &p->down, top ? &p->down : &p->up));
  if (!kernel) TRY_GOTO(classes_find(&own, d->c, top ? d->c->dim : 0, 0, ELIM_PRIME));
  TRY_GOTO(csr_multiply(&a, &p->down, &p->up));
  ground(&a, kernel ? kernel : own.of[top ? d->c->dim : 0]);
  TRY_GOTO(chol_factor(&p->factor, &a));
  TRY_GOTO(chol_work_new(&p->work, p->factor, 1));
  if (!MEM_NEW(p->rest, p->up.rows) || !MEM_NEW(p->step, p->up.rows) || !MEM_NEW(p->potential, p->up.cols))
    s = DKHO_E_MEMORY;
done:
  csr_free(&a);
  classes_free(&own);
  if (s != DKHO_OK) part_close(p);
  return s;
}

void part_close(part *p) {
  csr_free(&p->down);
  csr_free(&p->up);
  chol_work_free(p->work);
  chol_free(p->factor);
  mem_free(p->rest);
  mem_free(p->step);
  mem_free(p->potential);
  *p = (part){0};
}

dkho_status part_project(part *p, const double *x, double *out) {
  int64_t n = p->up.rows;
  memset(out, 0, (size_t)n * sizeof *out);
  for (int step = 0; step < STEPS; step++) {
    for (int64_t i = 0; i < n; i++) p->rest[i] = x[i] - out[i];
    csr_apply(&p->down, 1, p->rest, p->potential);
    TRY(chol_solve(p->factor, p->work, 1, p->potential, p->potential));
    csr_apply(&p->up, 1, p->potential, p->step);
    for (int64_t i = 0; i < n; i++) out[i] += p->step[i];
  }
  return DKHO_OK;
}
