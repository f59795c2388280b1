/* spectrum.c: the lowest positive eigenpairs of every Δ_k.
 *
 * The positive spectrum of Δ_k is the union of two families: that of D_kᵀD_k (coexact vectors) and that of
 * D_{k-1}D_{k-1}ᵀ (exact ones). Family j, the singular values of D_j, serves degrees j and j+1, so it is solved once:
 *   j = 0        on vertices, D_0ᵀD_0, constants taken out;
 *   j = dim-1    on top simplices, D_jD_jᵀ, cycles taken out;
 *   j = 1 of 3   on edges, the whole Δ_1 with gradients and harmonic fields projected out. */
#include "dec/dec_impl.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double CLUSTER = 1e-7; /* relative gap below which neighbouring values count as one */
static const double SHIFT = 1e-8;   /* relative to the mean diagonal */
static const double RESIDUAL = 1e-12;
enum { MARGIN = 2 };

typedef struct {
  int side; /* vectors of family j live on degree `side`: j or j + 1 */
  int has_gradients;
  int64_t space, count;
  dec_basis out_of;     /* harmonic basis of that degree */
  part gradients;       /* j = 1 of 3 only */
  double *work;         /* n */
  double *lambda, *vec; /* count, n × count, symmetrised coordinates */
  csr link;             /* from degree `side` to the other: D_j or its transpose */
} family;

static dkho_status family_project(void *ctx, double *v) {
  family *f = ctx;
  harmonic_remove(&f->out_of, v);
  if (!f->has_gradients) return DKHO_OK;
  TRY(part_project(&f->gradients, v, f->work));
  for (int64_t i = 0; i < f->out_of.n; i++) v[i] -= f->work[i];
  return DKHO_OK;
}

/* First place ≥ count where a cluster ends; `have` when none does. */
static int64_t cluster_end(const double *lambda, int64_t have, int64_t count) {
  for (int64_t m = count; m < have; m++)
    if (m == 0 || lambda[m] - lambda[m - 1] > CLUSTER * lambda[m]) return m;
  return have;
}

/* Asks for a few pairs more than wanted, and for more again while the last cluster runs off the end. */
static dkho_status solve_whole_clusters(family *f, const eig_problem *p, int64_t count) {
  for (int64_t margin = MARGIN;; margin *= 4) {
    int64_t have = count + margin < f->space ? count + margin : f->space;
    mem_free(f->lambda);
    mem_free(f->vec);
    f->vec = NULL;
    if (!MEM_NEW(f->lambda, have) || !MEM_NEW(f->vec, have * p->a->rows)) return DKHO_E_MEMORY;
    TRY(eig_smallest(p, have, RESIDUAL, f->lambda, f->vec));
    f->count = cluster_end(f->lambda, have, count);
    if (f->count < have || have == f->space) return DKHO_OK;
  }
}

static dkho_status family_solve(family *f, const dec *d, int j, int64_t count) {
  const cx *c = d->c;
  int middle = j > 0 && j < c->dim - 1;
  *f = (family){.side = j == 0 || middle ? j : j + 1, .has_gradients = middle};
  csr a = {0}, d_j = {0};
  dkho_status s;
  TRY_GOTO(dec_symmetric_d(d, j, f->side == j ? &f->link : &d_j));
  if (f->side != j) TRY_GOTO(csr_transpose(&f->link, &d_j));
  TRY_GOTO(harmonic_symmetric(d, f->side, &f->out_of));
  f->space = c->n[f->side] - f->out_of.count;
  if (middle) {
    TRY_GOTO(part_open(&f->gradients, d, PART_EXACT_1, NULL));
    if (!MEM_NEW(f->work, c->n[f->side])) s = DKHO_E_MEMORY;
    if (s != DKHO_OK) goto done;
    dec_basis constants;
    TRY_GOTO(harmonic_symmetric(d, 0, &constants));
    f->space -= c->n[0] - constants.count; /* rank of D_0 */
    dec_basis_free(&constants);
  }
  TRY_GOTO(dec_matrix(d, f->side, middle ? DEC_BOTH : f->side == j ? DEC_UP : DEC_DOWN, &a));
  double trace = 0;
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t q = a.ptr[i]; q < a.ptr[i + 1]; q++)
      if (a.col[q] == i) trace += a.val[q];
  eig_problem p = {.a = &a, .project = family_project, .ctx = f, .space = f->space, .kernel = !middle};
  p.shift = trace > 0 ? SHIFT * trace / (double)a.rows : SHIFT;
  s = solve_whole_clusters(f, &p, count < f->space ? count : f->space);
done:
  csr_free(&a);
  csr_free(&d_j);
  return s;
}

static void family_free(family *f) {
  dec_basis_free(&f->out_of);
  part_close(&f->gradients);
  mem_free(f->work);
  mem_free(f->lambda);
  mem_free(f->vec);
  csr_free(&f->link);
}

/* Pair m of the family as a unit vector on degree k (j or j + 1): D_j v/√λ or D_jᵀ v/√λ when it lives on the other. */
static void family_vector(const family *f, int64_t m, int k, double *x) {
  const double *v = f->vec + m * f->out_of.n;
  if (k == f->side) {
    memcpy(x, v, (size_t)f->out_of.n * sizeof *x);
    return;
  }
  csr_apply(&f->link, 1, v, x);
  double sum = 0;
  for (int64_t i = 0; i < f->link.rows; i++) sum += x[i] * x[i];
  for (int64_t i = 0; i < f->link.rows; i++) x[i] /= sqrt(sum);
}

/* The basis of a cluster that depends on its span alone: V ← V Q, where Q R = VᵀW for fixed random W. Turning V by a
 * rotation turns VᵀW back by it. */
static dkho_status canonical(int64_t n, int64_t m, double *v) {
  double *w, *q = NULL, *turned = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(w, n) || !MEM_NEW(q, m * m) || !MEM_NEW(turned, n * m)) goto done;
  for (int64_t j = 0; j < m; j++) {
    rng r = rng_open(1, RNG_SOLVER, (uint64_t)j);
    for (int64_t i = 0; i < n; i++) w[i] = rng_normal(&r);
    dense_gemm(1, 0, m, 1, n, 1, v, n, w, n, 0, q + j * m, m);
  }
  TRY_GOTO(dense_qr(m, m, q));
  dense_gemm(0, 0, n, m, m, 1, v, n, q, m, 0, turned, n);
  memcpy(v, turned, (size_t)(n * m) * sizeof *v);
done:
  mem_free(w);
  mem_free(q);
  mem_free(turned);
  return s;
}

/* Merges exact (may be NULL) and coexact (may be NULL) families into the lowest `count` pairs of degree k. */
static dkho_status merge_families(const dec *d, int k, int64_t count, const family *exact, const family *coexact,
                                  dec_basis *out) {
  int64_t n = d->c->n[k], ne = exact ? exact->count : 0, nc = coexact ? coexact->count : 0, all = ne + nc;
  *out = (dec_basis){.n = n};
  double *vec = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (!MEM_NEW(out->lambda, all) || !MEM_NEW(vec, n * all)) goto done;
  s = DKHO_OK;
  for (int64_t e = 0, c = 0; e + c < all;) {
    int take_exact = c == nc || (e < ne && exact->lambda[e] <= coexact->lambda[c]);
    int64_t at = e + c;
    const family *f = take_exact ? exact : coexact;
    int64_t m = take_exact ? e++ : c++;
    out->lambda[at] = f->lambda[m];
    family_vector(f, m, k, vec + at * n);
  }
  out->count = count < all ? count : all;
  for (int64_t at = 0, end; at < out->count; at = end) {
    end = cluster_end(out->lambda, all, at + 1);
    if (end - at > 1) TRY_GOTO(canonical(n, end - at, vec + at * n));
  }
  if (!MEM_NEW(out->vec, n * out->count)) {
    s = DKHO_E_MEMORY;
    goto done;
  }
  for (int64_t j = 0; j < out->count; j++) {
    dec_from_symmetric(d, k, vec + j * n, out->vec + j * n);
    dec_fix_sign(n, out->vec + j * n);
  }
done:
  mem_free(vec);
  if (s != DKHO_OK) dec_basis_free(out);
  return s;
}

dkho_status dec_spectrum(const dec *d, int top, int count, dec_basis *out) {
  int dim = d->c->dim;
  assert(top >= 0 && top <= dim && count >= 0);
  family f[CX_DEGREES] = {{0}};
  memset(out, 0, (size_t)(top + 1) * sizeof *out);
  dkho_status s = DKHO_OK;
  for (int j = 0; j < dim && j <= top; j++) TRY_GOTO(family_solve(&f[j], d, j, count));
  for (int k = 0; k <= top; k++)
    TRY_GOTO(merge_families(d, k, count, k > 0 ? &f[k - 1] : NULL, k < dim ? &f[k] : NULL, &out[k]));
done:
  for (int j = 0; j < CX_DEGREES; j++) family_free(&f[j]);
  for (int k = 0; k <= top && s != DKHO_OK; k++) dec_basis_free(&out[k]);
  return s;
}
