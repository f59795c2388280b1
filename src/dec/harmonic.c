/* harmonic.c: orthonormal bases of ker Δ_k from combinatorial representatives.
 *
 * A closed cochain ω (k ≤ 1) becomes harmonic by losing its exact part; a cycle z (k ≥ 2) gives the coclosed cochain
 * M⁻¹z, which becomes harmonic by losing its coexact part. Either takes one sparse solve on the small side, and none at
 * all for k = 0 and k = dim ≥ 2. */
#include "dec/dec_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* How far from harmonic a basis may be, relative to the norm of d or δ there. */
static const double CERTIFICATE = 1e-11;

void dec_basis_free(dec_basis *b) {
  mem_free(b->vec);
  mem_free(b->lambda);
  *b = (dec_basis){0};
}

void harmonic_remove(const dec_basis *h, double *x) {
  for (int64_t j = 0; j < h->count; j++) {
    const double *v = h->vec + j * h->n;
    double sum = 0;
    for (int64_t i = 0; i < h->n; i++) sum += v[i] * x[i];
    for (int64_t i = 0; i < h->n; i++) x[i] -= sum * v[i];
  }
}

/* Column f in symmetrised coordinates: M^{1/2} ω or M^{-1/2} z. */
static dkho_status representative(const dec *d, int k, const elim *e, int64_t f, double *x) {
  TRY(elim_kernel(e, f, x));
  if (k <= 1)
    dec_to_symmetric(d, k, x, x);
  else
    dec_from_symmetric(d, k, x, x);
  return DKHO_OK;
}

/* Takes the exact (k = 1) or coexact (k = 2 in a solid) part out of every column. */
static dkho_status purify(const dec *d, int k, const classes *found, dec_basis *b) {
  part p = {0};
  double *out;
  if (!MEM_NEW(out, b->n)) return DKHO_E_MEMORY;
  dkho_status s;
  TRY_GOTO(part_open(&p, d, k == 1 ? PART_EXACT_1 : PART_COEXACT_TOP, found->of[k == 1 ? 0 : d->c->dim]));
  for (int round = 0; round < 2; round++) { /* the second round after orthonormalising clears what that amplified */
    for (int64_t j = 0; j < b->count; j++) {
      double *x = b->vec + j * b->n;
      TRY_GOTO(part_project(&p, x, out));
      for (int64_t i = 0; i < b->n; i++) x[i] -= out[i];
    }
    TRY_GOTO(dense_qr(b->n, b->count, b->vec));
  }
done:
  part_close(&p);
  mem_free(out);
  return s;
}

/* max_j ‖A h_j‖ and the largest absolute row sum of A, which bounds what rounding alone may leave. */
static dkho_status largest_image(const csr *a, const dec_basis *b, double *worst, double *scale) {
  double *y;
  if (!MEM_NEW(y, a->rows)) return DKHO_E_MEMORY;
  for (int64_t j = 0; j < b->count; j++) {
    double sum = 0;
    csr_apply(a, 1, b->vec + j * b->n, y);
    for (int64_t i = 0; i < a->rows; i++) sum += y[i] * y[i];
    *worst = fmax(*worst, sqrt(sum));
  }
  for (int64_t i = 0; i < a->rows; i++) {
    double sum = 0;
    for (int64_t q = a->ptr[i]; q < a->ptr[i + 1]; q++) sum += fabs(a->val[q]);
    *scale = fmax(*scale, sum);
  }
  mem_free(y);
  return DKHO_OK;
}

static dkho_status certify_basis(const dec *d, int k, dec_basis *b) {
  csr up = {0}, raw = {0}, down = {0};
  double scale = 1;
  dkho_status s = DKHO_OK;
  if (k < d->c->dim) {
    TRY_GOTO(dec_symmetric_d(d, k, &up));
    TRY_GOTO(largest_image(&up, b, &b->closed, &scale));
  }
  if (k > 0) {
    TRY_GOTO(dec_symmetric_d(d, k - 1, &raw));
    TRY_GOTO(csr_transpose(&down, &raw));
    TRY_GOTO(largest_image(&down, b, &b->coclosed, &scale));
  }
  if (!(b->closed <= CERTIFICATE * scale && b->coclosed <= CERTIFICATE * scale))
    s = fail(DKHO_E_NOCONV, "harmonic basis of degree %d: closed to %.3g, coclosed to %.3g", k, b->closed, b->coclosed);
done:
  csr_free(&up);
  csr_free(&raw);
  csr_free(&down);
  return s;
}

enum { HARMONIC_MAX = 1024 }; /* they are dense vectors, made orthogonal to each other */

dkho_status harmonic_symmetric(const dec *d, int k, dec_basis *out) {
  assert(k >= 0 && k <= d->c->dim);
  classes found;
  *out = (dec_basis){.n = d->c->n[k]};
  TRY(classes_find(&found, d->c, k, 0, ELIM_PRIME));
  dkho_status s = DKHO_E_MEMORY;
  out->count = found.of[k]->nullity;
  if (out->count > HARMONIC_MAX) {
    s = fail(DKHO_E_INPUT, "%lld independent harmonic fields of degree %d, at most %d are possible here%s",
             (long long)out->count, k, HARMONIC_MAX,
             k == 0 ? ": the mesh falls into so many pieces; merge points that coincide" : "");
    out->count = 0;
    goto done;
  }
  if (!MEM_NEW(out->vec, out->n * out->count)) goto done;
  for (int64_t f = 0; f < out->count; f++) TRY_GOTO(representative(d, k, found.of[k], f, out->vec + f * out->n));
  TRY_GOTO(dense_qr(out->n, out->count, out->vec));
  if (out->count && (k == 1 || (k == 2 && d->c->dim == 3))) TRY_GOTO(purify(d, k, &found, out));
  s = certify_basis(d, k, out);
done:
  classes_free(&found);
  if (s != DKHO_OK) dec_basis_free(out);
  return s;
}

dkho_status dec_harmonic(const dec *d, int k, dec_basis *out) {
  TRY(harmonic_symmetric(d, k, out));
  for (int64_t j = 0; j < out->count; j++) {
    double *v = out->vec + j * out->n;
    dec_from_symmetric(d, k, v, v);
    dec_fix_sign(out->n, v);
  }
  return DKHO_OK;
}
