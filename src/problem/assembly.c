/* assembly.c: patterns, places and factors of matrices that are summed from elements. */
#include "problem/assembly.h"

#include <assert.h>
#include <string.h>

/* Every pair of unknowns of an element, both not given. */
static dkho_status make_pattern(assembly *a, const int32_t *unknown) {
  int64_t square = (int64_t)a->local * a->local, count = 0;
  size_t most = (size_t)(a->elements * square);
  int32_t *i = mem_alloc(most, sizeof *i), *j = mem_alloc(most, sizeof *j);
  double *v = mem_alloc(most, sizeof *v); /* zeros */
  dkho_status st = DKHO_E_MEMORY;
  if (i && j && v) {
    for (int64_t t = 0; t < a->elements; t++)
      for (int64_t k = 0; k < square; k++) {
        int32_t row = unknown[t * a->local + k / a->local], col = unknown[t * a->local + k % a->local];
        if (row >= 0 && col >= 0) i[count] = row, j[count++] = col;
      }
    st = csr_from_triplets(&a->pattern, a->n, a->n, count, i, j, v);
  }
  mem_free(i);
  mem_free(j);
  mem_free(v);
  return st;
}

/* By halving: columns ascend within a row. */
static int32_t find_entry(const csr *a, int32_t row, int32_t col) {
  int64_t lo = a->ptr[row], hi = a->ptr[row + 1] - 1;
  while (lo < hi) {
    int64_t mid = (lo + hi) / 2;
    if (a->col[mid] < col)
      lo = mid + 1;
    else
      hi = mid;
  }
  assert(a->col[lo] == col);
  return (int32_t)lo;
}

dkho_status assembly_make(assembly *a, int64_t elements, int local, int64_t n, const int32_t *unknown) {
  *a = (assembly){.elements = elements, .n = n, .local = local};
  if (!MEM_NEW(a->place, elements * local * local)) return DKHO_E_MEMORY;
  TRY(make_pattern(a, unknown));
  int32_t *place = a->place;
  for (int64_t t = 0; t < elements; t++)
    for (int k = 0; k < local * local; k++) {
      int32_t row = unknown[t * local + k / local], col = unknown[t * local + k % local];
      *place++ = row >= 0 && col >= 0 ? find_entry(&a->pattern, row, col) : -1;
    }
  return DKHO_OK;
}

dkho_status assembly_analyse(assembly *a) {
  return chol_analyse(&a->analysed, &a->pattern);
}

void assembly_free(assembly *a) {
  chol_free(a->analysed);
  csr_free(&a->pattern);
  mem_free(a->place);
  *a = (assembly){0};
}

dkho_status assembly_matrix(csr *out, const assembly *a) {
  TRY(csr_alloc(out, a->n, a->n, a->pattern.nnz));
  memcpy(out->ptr, a->pattern.ptr, (size_t)(a->n + 1) * sizeof *out->ptr);
  memcpy(out->col, a->pattern.col, (size_t)a->pattern.nnz * sizeof *out->col);
  return DKHO_OK;
}

void assembly_add(const assembly *a, int64_t element, const double *K, csr *m) {
  int square = a->local * a->local;
  const int32_t *place = a->place + element * square;
  for (int k = 0; k < square; k++)
    if (place[k] >= 0) m->val[place[k]] += K[k];
}

dkho_status assembled_open(assembled *m, const assembly *a) {
  assert(a->analysed);
  *m = (assembled){0};
  TRY(assembly_matrix(&m->matrix, a));
  TRY(chol_copy(&m->factor, a->analysed));
  return chol_work_new(&m->work, m->factor, 1);
}

void assembled_close(assembled *m) {
  chol_work_free(m->work);
  chol_free(m->factor);
  csr_free(&m->matrix);
  *m = (assembled){0};
}

void assembled_clear(assembled *m) {
  memset(m->matrix.val, 0, (size_t)m->matrix.nnz * sizeof *m->matrix.val);
}

dkho_status assembled_solve(assembled *m, const double *b, double *x) {
  TRY(chol_refactor(m->factor, &m->matrix));
  return chol_solve(m->factor, m->work, 1, b, x);
}
