/* lu.c: sparse LU by SuperLU. Our rows are its columns, so it factors Aᵀ and solves with the transpose of that. SuperLU keeps no state of
 * its own: threads factor side by side, each with its own lu. Its allocations do not pass through mem.h. */
#include "la/blas_threads_impl.h"
#include "la/la.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <slu_ddefs.h>
#include <string.h>

/* A diagonal entry is the pivot unless another of its column is this many times larger: the order is kept where that is safe enough for
 * Newton's method, which corrects itself. */
static const double DIAGONAL = 0.01;

struct lu_plan {
  int64_t n, nnz;
  int *place; /* n: position of an unknown in the order of elimination */
};

struct lu {
  const lu_plan *p;
  int *place, *tree, *pivot; /* SuperLU declares what it only reads without const */
  int *ptr, *col;            /* the matrix by its columns, as SuperLU's integers */
  double *val;
  SuperMatrix l, u;
  int factored;
  SuperLUStat_t stat;
  arena mem;
};

/* Numbers the groups that have unknowns: id[group], -1 for the others. */
static int64_t number_groups(const csr *a, int64_t groups, const int32_t *group, int32_t *id) {
  int64_t used = 0;
  for (int64_t g = 0; g < groups; g++) id[g] = -1;
  for (int64_t i = 0; i < a->rows; i++) id[group[i]] = 0;
  for (int64_t g = 0; g < groups; g++)
    if (id[g] == 0) id[g] = (int32_t)used++;
  return used;
}

/* The pattern between groups. */
static dkho_status contract(csr *out, const csr *a, int64_t used, const int32_t *group, const int32_t *id) {
  int32_t *i = mem_alloc((size_t)a->nnz, sizeof *i), *j = mem_alloc((size_t)a->nnz, sizeof *j);
  double *v = mem_alloc((size_t)a->nnz, sizeof *v);
  dkho_status s = DKHO_E_MEMORY;
  if (i && j && v) {
    for (int64_t r = 0; r < a->rows; r++)
      for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) i[p] = id[group[r]], j[p] = id[group[a->col[p]]];
    s = csr_from_triplets(out, used, used, a->nnz, i, j, v);
  }
  mem_free(i);
  mem_free(j);
  mem_free(v);
  return s;
}

/* Unknowns in the order of their groups, by counting. start: used + 1 zeros. */
static void place_unknowns(lu_plan *p, int64_t used, const int32_t *group, const int32_t *id, const int32_t *order,
                           int32_t *rank, int64_t *start) {
  for (int64_t k = 0; k < used; k++) rank[order[k]] = (int32_t)k;
  for (int64_t i = 0; i < p->n; i++) start[rank[id[group[i]]] + 1]++;
  for (int64_t k = 0; k < used; k++) start[k + 1] += start[k];
  for (int64_t i = 0; i < p->n; i++) p->place[i] = (int)start[rank[id[group[i]]]]++;
}

static dkho_status order_groups(lu_plan *p, const csr *a, int64_t groups, const int32_t *group) {
  arena mem = {0};
  csr between = {0};
  int32_t *id, *order, *rank;
  int64_t *start, used;
  dkho_status s = DKHO_E_MEMORY;
  if (ARENA_NEW(&mem, id, groups)) {
    used = number_groups(a, groups, group, id);
    if (ARENA_NEW(&mem, order, used) && ARENA_NEW(&mem, rank, used) && ARENA_NEW(&mem, start, used + 1)) {
      s = contract(&between, a, used, group, id);
      if (s == DKHO_OK) s = chol_order(&between, order);
      if (s == DKHO_OK) place_unknowns(p, used, group, id, order, rank, start);
    }
  }
  csr_free(&between);
  arena_free(&mem);
  return s;
}

dkho_status lu_plan_make(lu_plan **out, const csr *pattern, int64_t groups, const int32_t *group) {
  assert(pattern->rows == pattern->cols);
  *out = NULL;
  lu_plan *p;
  if (pattern->nnz > INT_MAX)
    return fail(DKHO_E_INPUT, "sparse LU: %lld entries, at most %d are possible", (long long)pattern->nnz, INT_MAX);
  if (!MEM_NEW(p, 1)) return DKHO_E_MEMORY;
  p->n = pattern->rows;
  p->nnz = pattern->nnz;
  int32_t *alone = group ? NULL : mem_alloc((size_t)p->n, sizeof *alone);
  for (int64_t i = 0; alone && i < p->n; i++) alone[i] = (int32_t)i;
  dkho_status s = (group || alone) && MEM_NEW(p->place, p->n) ? DKHO_OK : DKHO_E_MEMORY;
  if (s == DKHO_OK) s = order_groups(p, pattern, group ? groups : p->n, group ? group : alone);
  mem_free(alone);
  if (s == DKHO_OK)
    *out = p;
  else
    lu_plan_free(p);
  return s;
}

void lu_plan_free(lu_plan *p) {
  if (!p) return;
  mem_free(p->place);
  mem_free(p);
}

dkho_status lu_open(lu **out, const lu_plan *p) {
  *out = NULL;
  lu *f;
  TRY(blas_ready());
  if (!MEM_NEW(f, 1)) return DKHO_E_MEMORY;
  f->p = p;
  StatInit(&f->stat);
  if (!ARENA_NEW(&f->mem, f->place, p->n) || !ARENA_NEW(&f->mem, f->tree, p->n) ||
      !ARENA_NEW(&f->mem, f->pivot, p->n) || !ARENA_NEW(&f->mem, f->ptr, p->n + 1) ||
      !ARENA_NEW(&f->mem, f->col, p->nnz) || !ARENA_NEW(&f->mem, f->val, p->nnz)) {
    lu_close(f);
    return DKHO_E_MEMORY;
  }
  *out = f;
  return DKHO_OK;
}

static void drop_factors(lu *f) {
  if (!f->factored) return;
  Destroy_SuperNode_Matrix(&f->l);
  Destroy_CompCol_Matrix(&f->u);
  f->factored = 0;
}

void lu_close(lu *f) {
  if (!f) return;
  drop_factors(f);
  StatFree(&f->stat);
  arena_free(&f->mem);
  mem_free(f);
}

/* Takes pattern and values over; 0 when a value is not finite, which SuperLU's pivoting would not survive. */
static int take_matrix(lu *f, const csr *a) {
  double sum = 0;
  memcpy(f->place, f->p->place, (size_t)a->rows * sizeof *f->place);
  memcpy(f->col, a->col, (size_t)a->nnz * sizeof *f->col);
  memcpy(f->val, a->val, (size_t)a->nnz * sizeof *f->val);
  for (int64_t i = 0; i <= a->rows; i++) f->ptr[i] = (int)a->ptr[i];
  for (int64_t i = 0; i < a->nnz; i++) sum += 0 * a->val[i];
  return sum == 0;
}

dkho_status lu_factor(lu *f, const csr *a) {
  assert(a->rows == f->p->n && a->nnz == f->p->nnz);
  superlu_options_t options;
  SuperMatrix whole, ordered;
  GlobalLU_t room;
  int n = (int)a->rows, info = 0;
  TRY(blas_ready());
  drop_factors(f);
  if (!take_matrix(f, a)) return fail(DKHO_E_NOCONV, "sparse LU of %d rows: an entry is not a finite number", n);
  set_default_options(&options);
  options.ColPerm = MY_PERMC;
  options.SymmetricMode = YES;
  options.DiagPivotThresh = DIAGONAL;
  dCreate_CompCol_Matrix(&whole, n, n, (int)a->nnz, f->val, f->col, f->ptr, SLU_NC, SLU_D, SLU_GE);
  sp_preorder(&options, &whole, f->place, f->tree, &ordered);
  dgstrf(&options, &ordered, sp_ienv(2), sp_ienv(1), f->tree, NULL, 0, f->place, f->pivot, &f->l, &f->u, &room,
         &f->stat, &info);
  Destroy_CompCol_Permuted(&ordered);
  Destroy_SuperMatrix_Store(&whole);
  f->factored = info >= 0 && info <= n; /* beyond n: bytes it could not get */
  if (info > n) return fail(DKHO_E_MEMORY, "sparse LU of %d rows: no memory after %d bytes", n, info - n);
  if (info > 0) return fail(DKHO_E_NOCONV, "sparse LU of %d rows: the matrix is singular (pivot %d is zero)", n, info);
  return DKHO_OK;
}

void lu_solve(lu *f, double *x) {
  assert(f->factored);
  SuperMatrix right;
  int info = 0;
  dCreate_Dense_Matrix(&right, (int)f->p->n, 1, x, (int)f->p->n, SLU_DN, SLU_D, SLU_GE);
  dgstrs(TRANS, &f->l, &f->u, f->place, f->pivot, &right, &f->stat, &info);
  Destroy_SuperMatrix_Store(&right);
  assert(info == 0);
}

int64_t lu_nnz(const lu *f) {
  assert(f->factored);
  const SCformat *l = f->l.Store;
  const NCformat *u = f->u.Store;
  return (int64_t)l->nnz + u->nnz;
}
