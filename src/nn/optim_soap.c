/* optim_soap.c: Adam in the eigenbases of a matrix's gradient covariances. The first steps are Adam's own; when
 * the covariances have seen enough gradients to be of full rank their eigenvectors are found, and from then on the bases follow
 * the averages by one orthogonal iteration every few steps. Left out: preconditioning one side only, and blocks,
 * which matter for extents in the thousands. */
#include "nn/optim_impl.h"

#include "la/la.h"

#include <math.h>
#include <string.h>

/* The tensor, row-major rows × cols, is the column-major matrix A of extent[0] = cols by extent[1] = rows. */
static void matrix_extents(const param *q, int64_t n[2]) {
  n[0] = q->cols, n[1] = q->rows;
}

dkho_status soap_create(optim *o) {
  int64_t n[2];
  if (!ARENA_NEW(&o->mem, o->sides, o->p->count)) return DKHO_E_MEMORY;
  for (int i = 0; i < o->p->count; i++) {
    const param *q = &o->p->list[i];
    if (!optim_is_matrix(&o->cfg, q)) continue;
    matrix_extents(q, n);
    for (int s = 0; s < 2; s++) {
      if (!ARENA_NEW(&o->mem, o->sides[i].cover[s], n[s] * n[s])) return DKHO_E_MEMORY;
      if (!ARENA_NEW(&o->mem, o->sides[i].basis[s], n[s] * n[s])) return DKHO_E_MEMORY;
      for (int64_t j = 0; j < n[s]; j++) o->sides[i].basis[s][j * (n[s] + 1)] = 1;
      if (n[s] * n[s] > o->room_each) o->room_each = n[s] * n[s];
    }
    if (3 * q->count > o->room_each) o->room_each = 3 * q->count;
  }
  return DKHO_OK;
}

/* Into the bases: A ← Q₀ᵀ A Q₁, or back: A ← Q₀ A Q₁ᵀ. */
static void turn_into_basis(const optim_sides *s, const int64_t n[2], int back, double *a, double *room) {
  dense_gemm(!back, 0, n[0], n[1], n[0], 1, s->basis[0], n[0], a, n[0], 0, room, n[0]);
  dense_gemm(0, back, n[0], n[1], n[1], 1, room, n[0], s->basis[1], n[1], 0, a, n[0]);
}

/* Covers: C₀ ← β C₀ + (1-β) A Aᵀ, C₁ ← β C₁ + (1-β) Aᵀ A. */
static void gather_covariances(const optim_sides *s, const int64_t n[2], double beta, const double *a) {
  dense_gemm(0, 1, n[0], n[0], n[1], 1 - beta, a, n[0], a, n[0], beta, s->cover[0], n[0]);
  dense_gemm(1, 0, n[1], n[1], n[0], 1 - beta, a, n[0], a, n[0], beta, s->cover[1], n[1]);
}

static void swap(double *a, double *b) {
  double t = *a;
  *a = *b, *b = t;
}

/* Eigenvectors by falling eigenvalue, the order in which orthogonal iteration keeps them. */
static dkho_status find_basis(int64_t n, const double *cover, double *basis, double *lambda) {
  memcpy(basis, cover, (size_t)(n * n) * sizeof *basis);
  TRY(dense_eig(n, basis, lambda));
  for (int64_t j = 0; j < n / 2; j++) {
    swap(&lambda[j], &lambda[n - 1 - j]);
    for (int64_t i = 0; i < n; i++) swap(&basis[j * n + i], &basis[(n - 1 - j) * n + i]);
  }
  return DKHO_OK;
}

/* Both bases at once. The second moments of the new coordinates start from what the eigenvalues say, v' = λ μᵀ / Σμ. */
static dkho_status find_bases(const optim *o, const param *q, const optim_sides *s, const int64_t n[2], double *room) {
  double *lambda = room, *mu = lambda + n[0], sum = 0;
  TRY(find_basis(n[0], s->cover[0], s->basis[0], lambda));
  TRY(find_basis(n[1], s->cover[1], s->basis[1], mu));
  for (int64_t j = 0; j < n[1]; j++) sum += fmax(mu[j], 0);
  for (int64_t j = 0; j < n[1]; j++)
    for (int64_t i = 0; i < n[0]; i++)
      o->v[q->offset + j * n[0] + i] = sum > 0 ? (real)(fmax(lambda[i], 0) * fmax(mu[j], 0) / sum) : 0;
  return DKHO_OK;
}

/* Q ← orthogonal factor of C Q. */
static dkho_status follow_basis(int64_t n, const double *cover, double *basis, double *room) {
  dense_gemm(0, 0, n, n, n, 1, cover, n, basis, n, 0, room, n);
  memcpy(basis, room, (size_t)(n * n) * sizeof *basis);
  return dense_qr(n, n, basis);
}

/* m ← β₁m + (1-β₁)g, kept in the weights' own coordinates; with ' for "in the bases": v' ← β₂v' + (1-β₂)g'²;
 * θ ← θ(1 - lr·decay) - lr · back(m'/(1-β₁ᵗ) / (√(v'/(1-β₂ᵗ)) + eps)). */
static void adam_turned(const optim *o, const param *q, const optim_sides *s, double lr, double *a, real *value) {
  const optim_config *c = &o->cfg;
  int64_t n[2];
  matrix_extents(q, n);
  double *u = a + q->count, *room = u + q->count;
  for (int64_t i = 0; i < q->count; i++) {
    real *m = &o->m[q->offset + i];
    *m = (real)(c->beta1 * (double)*m + (1 - c->beta1) * a[i]);
    u[i] = (double)*m;
  }
  turn_into_basis(s, n, 0, a, room);
  turn_into_basis(s, n, 0, u, room);
  double fix1 = 1 - pow(c->beta1, (double)o->step), fix2 = 1 - pow(c->beta2, (double)o->step);
  for (int64_t i = 0; i < q->count; i++) {
    real *v = &o->v[q->offset + i];
    *v = (real)(c->beta2 * (double)*v + (1 - c->beta2) * a[i] * a[i]);
    u[i] = u[i] / fix1 / (sqrt((double)*v / fix2) + c->eps);
  }
  turn_into_basis(s, n, 1, u, room);
  for (int64_t i = 0; i < q->count; i++) {
    real *x = &value[q->offset + i];
    *x = (real)((1 - lr * c->decay) * (double)*x - lr * u[i]);
  }
}

dkho_status soap_step(const optim_stride *t, int tensor, double *a) {
  const optim *o = t->o;
  const param *q = &o->p->list[tensor];
  const optim_sides *s = &o->sides[tensor];
  int64_t n[2];
  matrix_extents(q, n);
  for (int64_t i = 0; i < q->count; i++) a[i] = t->factor * (double)t->g[q->offset + i];
  gather_covariances(s, n, o->cfg.beta2, a);
  adam_turned(o, q, s, t->lr, a, t->value);
  if (o->step == o->cfg.refresh) return find_bases(o, q, s, n, a);
  for (int k = 0; k < 2 && o->step % o->cfg.refresh == 0; k++) TRY(follow_basis(n[k], s->cover[k], s->basis[k], a));
  return DKHO_OK;
}
