/* csr.c: compressed rows: building, products, sums, selections. Serial, linear in the work, and deterministic: every
 * sum runs in an order given by the operands alone. */
#include "la/la.h"
#include "la/lanes.h"

#include <assert.h>
#include <string.h>

dkho_status csr_alloc(csr *a, int64_t rows, int64_t cols, int64_t nnz) {
  assert(rows >= 0 && cols >= 0 && cols <= INT32_MAX && nnz >= 0);
  *a = (csr){.rows = rows, .cols = cols, .nnz = nnz};
  if (MEM_NEW(a->ptr, rows + 1) && MEM_NEW(a->col, nnz) && MEM_NEW(a->val, nnz)) return DKHO_OK;
  csr_free(a);
  return DKHO_E_MEMORY;
}

void csr_free(csr *a) {
  mem_free(a->ptr);
  mem_free(a->col);
  mem_free(a->val);
  *a = (csr){0};
}

/* count[i+1] holds the size of bucket i; becomes the start of bucket i at count[i]. */
static void prefix_sum(int64_t *count, int64_t n) {
  for (int64_t i = 0; i < n; i++) count[i + 1] += count[i];
}

/* Stable counting sort of order[0 … count-1] by key into out. at: buckets + 1 zeros, destroyed. */
static void sort_by(const int32_t *key, int64_t buckets, int64_t count, const int64_t *order, int64_t *at,
                    int64_t *out) {
  for (int64_t p = 0; p < count; p++) at[key[p] + 1]++;
  prefix_sum(at, buckets);
  for (int64_t p = 0; p < count; p++) {
    int64_t q = order ? order[p] : p;
    out[at[key[q]]++] = q;
  }
}

/* Adds up equal columns inside each row and closes the gaps; arrays keep their room. */
static void sum_duplicates(csr *a) {
  int64_t put = 0, from = 0;
  for (int64_t r = 0; r < a->rows; r++) {
    int64_t start = put, end = a->ptr[r + 1];
    for (int64_t p = from; p < end; p++) {
      if (put > start && a->col[put - 1] == a->col[p]) {
        a->val[put - 1] += a->val[p];
      } else {
        a->col[put] = a->col[p];
        a->val[put++] = a->val[p];
      }
    }
    a->ptr[r + 1] = put;
    from = end;
  }
  a->nnz = put;
}

dkho_status csr_from_triplets(csr *a, int64_t rows, int64_t cols, int64_t count, const int32_t *i, const int32_t *j,
                              const double *v) {
  int64_t *by_col = NULL, *order = NULL, *at = NULL;
  *a = (csr){0};
  dkho_status s = DKHO_E_MEMORY;
  int64_t buckets = rows > cols ? rows : cols;
  if (!MEM_NEW(by_col, count) || !MEM_NEW(order, count) || !MEM_NEW(at, buckets + 1)) goto done;
  TRY_GOTO(csr_alloc(a, rows, cols, count));
  for (int64_t p = 0; p < count; p++) assert(i[p] >= 0 && i[p] < rows && j[p] >= 0 && j[p] < cols);
  sort_by(j, cols, count, NULL, at, by_col);
  memset(at, 0, (size_t)(buckets + 1) * sizeof *at);
  sort_by(i, rows, count, by_col, at, order);
  for (int64_t p = 0; p < count; p++) {
    a->ptr[i[p] + 1]++;
    a->col[p] = j[order[p]];
    a->val[p] = v[order[p]];
  }
  prefix_sum(a->ptr, rows);
  sum_duplicates(a);
done:
  mem_free(by_col);
  mem_free(order);
  mem_free(at);
  return s;
}

dkho_status csr_transpose(csr *at, const csr *a) {
  assert(a->rows <= INT32_MAX);
  TRY(csr_alloc(at, a->cols, a->rows, a->nnz));
  int64_t *next;
  if (!MEM_NEW(next, a->cols + 1)) {
    csr_free(at);
    return DKHO_E_MEMORY;
  }
  for (int64_t p = 0; p < a->nnz; p++) at->ptr[a->col[p] + 1]++;
  prefix_sum(at->ptr, a->cols);
  memcpy(next, at->ptr, (size_t)a->cols * sizeof *next);
  for (int64_t r = 0; r < a->rows; r++)
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) {
      int64_t q = next[a->col[p]]++;
      at->col[q] = (int32_t)r;
      at->val[q] = a->val[p];
    }
  mem_free(next);
  return DKHO_OK;
}

/* Row r of A B, columns in order of first touch; seen[c] is the place of column c in this row, marked by row. */
static int64_t product_row(const csr *a, const csr *b, int64_t r, int64_t *seen, int32_t *col, double *val) {
  int64_t put = 0;
  for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++)
    for (int64_t q = b->ptr[a->col[p]]; q < b->ptr[a->col[p] + 1]; q++) {
      int32_t c = b->col[q];
      if (seen[c] < 0) {
        seen[c] = put;
        col[put] = c;
        val[put++] = 0;
      }
      val[seen[c]] += a->val[p] * b->val[q];
    }
  for (int64_t p = 0; p < put; p++) seen[col[p]] = -1;
  return put;
}

dkho_status csr_multiply(csr *c, const csr *a, const csr *b) {
  assert(a->cols == b->rows);
  *c = (csr){0};
  csr raw = {0}, flipped = {0};
  int64_t *seen = NULL, room = 0, put = 0;
  dkho_status s = DKHO_E_MEMORY;
  for (int64_t p = 0; p < a->nnz; p++) room += b->ptr[a->col[p] + 1] - b->ptr[a->col[p]];
  if (!MEM_NEW(seen, b->cols)) goto done;
  for (int64_t p = 0; p < b->cols; p++) seen[p] = -1;
  TRY_GOTO(csr_alloc(&raw, a->rows, b->cols, room));
  for (int64_t r = 0; r < a->rows; r++) {
    put += product_row(a, b, r, seen, raw.col + put, raw.val + put);
    raw.ptr[r + 1] = put;
  }
  raw.nnz = put;
  /* Two transpositions sort the columns in linear time. */
  TRY_GOTO(csr_transpose(&flipped, &raw));
  csr_free(&raw);
  TRY_GOTO(csr_transpose(c, &flipped));
done:
  mem_free(seen);
  csr_free(&raw);
  csr_free(&flipped);
  return s;
}

dkho_status csr_add(csr *c, double alpha, const csr *a, double beta, const csr *b) {
  assert(a->rows == b->rows && a->cols == b->cols);
  TRY(csr_alloc(c, a->rows, a->cols, a->nnz + b->nnz));
  int64_t put = 0;
  for (int64_t r = 0; r < a->rows; r++) {
    int64_t p = a->ptr[r], pe = a->ptr[r + 1], q = b->ptr[r], qe = b->ptr[r + 1];
    while (p < pe || q < qe) {
      int32_t ca = p < pe ? a->col[p] : INT32_MAX, cb = q < qe ? b->col[q] : INT32_MAX;
      double v = 0;
      if (ca <= cb) v += alpha * a->val[p++];
      if (cb <= ca) v += beta * b->val[q++];
      c->col[put] = ca < cb ? ca : cb;
      c->val[put++] = v;
    }
    c->ptr[r + 1] = put;
  }
  c->nnz = put;
  return DKHO_OK;
}

/* csr_apply for the width data sets are made in: the sums stay in registers, in the same order. */
static LANES_CLONES void apply_wide(const csr *a, const double *x, double *y) {
  const lanes_half *in = (const lanes_half *)x;
  lanes_half *out = (lanes_half *)y;
  for (int64_t r = 0; r < a->rows; r++) {
    lanes_half low = {0}, high = {0};
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) {
      const lanes_half *at = in + 2 * (int64_t)a->col[p];
      low += a->val[p] * at[0];
      high += a->val[p] * at[1];
    }
    out[2 * r] = low;
    out[2 * r + 1] = high;
  }
}

static void apply_one(const csr *a, const double *x, double *y) {
  for (int64_t r = 0; r < a->rows; r++) {
    double sum = 0;
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) sum += a->val[p] * x[a->col[p]];
    y[r] = sum;
  }
}

void csr_apply(const csr *a, int nv, const double *x, double *y) {
  if (nv == 1) {
    apply_one(a, x, y);
    return;
  }
  if (nv == CHOL_WIDE) {
    apply_wide(a, x, y);
    return;
  }
  for (int64_t r = 0; r < a->rows; r++) {
    double *out = y + r * nv;
    for (int v = 0; v < nv; v++) out[v] = 0;
    for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) {
      const double *in = x + (int64_t)a->col[p] * nv;
      for (int v = 0; v < nv; v++) out[v] += a->val[p] * in[v];
    }
  }
}

dkho_status csr_select(csr *s, const csr *a, int64_t nr, const int32_t *rows, int64_t nc, const int32_t *cols) {
  *s = (csr){0};
  int32_t *place;
  csr raw = {0}, flipped = {0};
  if (!MEM_NEW(place, a->cols)) return DKHO_E_MEMORY;
  for (int64_t c = 0; c < a->cols; c++) place[c] = -1;
  for (int64_t c = 0; c < nc; c++) {
    assert(place[cols[c]] < 0);
    place[cols[c]] = (int32_t)c;
  }
  int64_t room = 0, put = 0;
  for (int64_t r = 0; r < nr; r++) room += a->ptr[rows[r] + 1] - a->ptr[rows[r]];
  dkho_status st = csr_alloc(&raw, nr, nc, room);
  if (st != DKHO_OK) goto done;
  for (int64_t r = 0; r < nr; r++) {
    for (int64_t p = a->ptr[rows[r]]; p < a->ptr[rows[r] + 1]; p++) {
      if (place[a->col[p]] < 0) continue;
      raw.col[put] = place[a->col[p]];
      raw.val[put++] = a->val[p];
    }
    raw.ptr[r + 1] = put;
  }
  raw.nnz = put;
  st = csr_transpose(&flipped, &raw);
  if (st == DKHO_OK) st = csr_transpose(s, &flipped);
done:
  mem_free(place);
  csr_free(&raw);
  csr_free(&flipped);
  return st;
}
