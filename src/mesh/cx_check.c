/* cx_check.c: the contract of cx.h, restated as code that trusts nothing. It does not share the builder's algorithm, so
 * a mistake there shows here. */
#include "mesh/cx_impl.h"

#include <math.h>
#include <string.h>

#define BAD(...) fail(DKHO_E_INTERNAL, __VA_ARGS__)

static dkho_status check_shape(const cx *c) {
  if (c->gdim < 2 || c->gdim > 3) return BAD("gdim: found %d, expected 2 or 3", c->gdim);
  if (c->dim < 0 || c->dim > c->gdim) return BAD("dim: found %d, expected 0 … %d", c->dim, c->gdim);
  for (int k = 0; k < CX_DEGREES; k++) {
    if (k > c->dim ? c->n[k] != 0 : c->n[k] < 1 || c->n[k] > INT32_MAX)
      return BAD("n[%d]: found %lld", k, (long long)c->n[k]);
    if (k > c->dim) continue;
    if (!c->dual[k] || (k && (!c->vert[k] || !c->face[k] || !c->sign[k] || !c->measure[k])))
      return BAD("degree %d: an array is missing", k);
    if (k < c->dim && (!c->coptr[k] || !c->coface[k] || !c->cosign[k] || !c->on_boundary[k]))
      return BAD("degree %d: an array is missing", k);
  }
  if (!c->x) return BAD("x is missing");
  for (int64_t i = 0; i < c->n[0] * c->gdim; i++) {
    if (!isfinite(c->x[i])) return BAD("vertex %lld: coordinate %g", (long long)(i / c->gdim), c->x[i]);
  }
  return DKHO_OK;
}

static dkho_status check_vertices(const cx *c, int k) {
  for (int64_t i = 0; i < c->n[k]; i++) {
    const int32_t *v = c->vert[k] + i * (k + 1);
    for (int j = 0; j <= k; j++) {
      if (v[j] < 0 || v[j] >= c->n[0]) return BAD("%s %lld: vertex index %d", cx_noun(k), (long long)i, v[j]);
      for (int m = 0; m < j; m++) {
        if (v[m] == v[j]) return BAD("%s %lld: vertex %d twice", cx_noun(k), (long long)i, v[j]);
        if ((k == 1 || k < c->dim) && v[m] > v[j]) return BAD("%s %lld is not ascending", cx_noun(k), (long long)i);
      }
    }
    if (k == 2 && c->dim == 2 && c->gdim == 2 &&
        cx_area2(c->x + 2 * (int64_t)v[0], c->x + 2 * (int64_t)v[1], c->x + 2 * (int64_t)v[2]) <= 0)
      return BAD("triangle %lld is not counter-clockwise", (long long)i);
  }
  return DKHO_OK;
}

/* The sign of face f (ascending list) in simplex v by definition: put the missing vertex first, then take the parity of
 * (missing, f…) against v. 0 when f is no face of v. */
static int incidence_sign(int k, const int32_t *v, const int32_t *f) {
  int32_t full[CX_DEGREES], at[CX_DEGREES];
  int missing = -1;
  for (int j = 0; j <= k; j++) {
    int m = 0;
    while (m < k && f[m] != v[j]) m++;
    if (m < k) continue;
    if (missing >= 0) return 0;
    missing = j;
  }
  if (missing < 0) return 0;
  full[0] = v[missing];
  memcpy(full + 1, f, (size_t)k * sizeof *f);
  for (int j = 0; j <= k; j++) {
    at[j] = 0;
    while (v[at[j]] != full[j]) at[j]++;
  }
  return cx_sort_vertices(k, at);
}

static dkho_status check_faces(const cx *c, int k) {
  for (int64_t p = 0; p < c->n[k] * (k + 1); p++) {
    int64_t i = p / (k + 1);
    int32_t f = c->face[k][p];
    if (f < 0 || f >= c->n[k - 1]) return BAD("%s %lld: face index %d", cx_noun(k), (long long)i, f);
    if (p % (k + 1) && c->face[k][p - 1] >= f) return BAD("%s %lld: faces not ascending", cx_noun(k), (long long)i);
    const int32_t *list = k == 1 ? &f : c->vert[k - 1] + (int64_t)f * k;
    if (c->sign[k][p] == 0 || incidence_sign(k, c->vert[k] + i * (k + 1), list) != c->sign[k][p])
      return BAD("%s %lld, face %d: sign %d is wrong", cx_noun(k), (long long)i, f, c->sign[k][p]);
  }
  return DKHO_OK;
}

static dkho_status check_cofaces(const cx *c, int k) {
  const int64_t *ptr = c->coptr[k];
  if (ptr[0] != 0 || ptr[c->n[k]] != c->n[k + 1] * (k + 2)) return BAD("coptr[%d]: wrong ends", k);
  for (int64_t i = 0; i < c->n[k]; i++) {
    if (ptr[i + 1] <= ptr[i] || ptr[i + 1] > ptr[c->n[k]])
      return BAD("%s %lld has no coface, or too many", cx_noun(k), (long long)i);
    for (int64_t p = ptr[i]; p < ptr[i + 1]; p++) {
      int64_t up = c->coface[k][p], found = 0;
      if (up < 0 || up >= c->n[k + 1] || (p > ptr[i] && c->coface[k][p - 1] >= up))
        return BAD("%s %lld: cofaces not ascending", cx_noun(k), (long long)i);
      for (int64_t q = up * (k + 2); q < (up + 1) * (k + 2); q++)
        found += c->face[k + 1][q] == i && c->sign[k + 1][q] == c->cosign[k][p];
      if (found != 1) return BAD("%s %lld: coface %lld does not answer", cx_noun(k), (long long)i, (long long)up);
    }
  }
  return DKHO_OK;
}

/* Row i of d_{k-1} d_{k-2}: each (k-2)-face is met twice, with opposite signs. */
static dkho_status check_dd(const cx *c, int k) {
  for (int64_t i = 0; i < c->n[k]; i++) {
    int32_t at[12];
    int sum[12], used = 0;
    for (int64_t p = i * (k + 1); p < (i + 1) * (k + 1); p++) {
      for (int64_t q = (int64_t)c->face[k][p] * k; q < (c->face[k][p] + (int64_t)1) * k; q++) {
        int m = 0;
        while (m < used && at[m] != c->face[k - 1][q]) m++;
        if (m == used) {
          at[used] = c->face[k - 1][q];
          sum[used++] = 0;
        }
        sum[m] += c->sign[k][p] * c->sign[k - 1][q];
      }
    }
    for (int m = 0; m < used; m++) {
      if (sum[m]) return BAD("d d is not zero at %s %lld", cx_noun(k), (long long)i);
    }
  }
  return DKHO_OK;
}

/* No two simplices share their vertices: each is the first that the look-up finds. */
static dkho_status check_unique(const cx *c, int k) {
  for (int64_t i = 0; i < c->n[k]; i++) {
    int32_t v[CX_DEGREES];
    memcpy(v, c->vert[k] + i * (k + 1), (size_t)(k + 1) * sizeof *v);
    cx_sort_vertices(k, v);
    if (cx_find(c, k, v) != i) return BAD("%s %lld is there twice", cx_noun(k), (long long)i);
  }
  return DKHO_OK;
}

static dkho_status check_geometry(const cx *c, int k) {
  for (int64_t i = 0; i < c->n[k]; i++) {
    double m = k ? cx_simplex_measure(c, k, c->vert[k] + i * (k + 1)) : 1;
    if (k && !(m > 0 && c->measure[k][i] == m))
      return BAD("%s %lld: measure %g, expected %g", cx_noun(k), (long long)i, c->measure[k][i], m);
    if (!(c->dual[k][i] > 0 && isfinite(c->dual[k][i])) || (k == c->dim && c->dual[k][i] != 1))
      return BAD("%s %lld: dual measure %g", cx_noun(k), (long long)i, c->dual[k][i]);
  }
  return DKHO_OK;
}

static dkho_status check_boundary(const cx *c, int k) {
  for (int64_t i = 0; i < c->n[k]; i++) {
    int64_t from = c->coptr[k][i], to = c->coptr[k][i + 1];
    int expected = k == c->dim - 1 && to - from == 1;
    for (int64_t p = from; k < c->dim - 1 && p < to; p++) expected |= c->on_boundary[k + 1][c->coface[k][p]];
    if (c->on_boundary[k][i] != expected)
      return BAD("%s %lld: on_boundary is %d", cx_noun(k), (long long)i, c->on_boundary[k][i]);
  }
  return DKHO_OK;
}

static dkho_status check_labels(const cx *c) {
  for (int j = 0; j < c->labels; j++) {
    if (!c->label_name || !c->label_name[j]) return BAD("label %d has no name", j);
  }
  for (int k = 0; k < CX_DEGREES; k++) {
    if (k > c->dim && c->label[k]) return BAD("labels of degree %d in a complex of degree %d", k, c->dim);
    for (int64_t i = 0; c->label[k] && i < c->n[k]; i++) {
      if (c->label[k][i] < 0 || c->label[k][i] >= c->labels)
        return BAD("%s %lld: label %d, expected 0 … %d", cx_noun(k), (long long)i, c->label[k][i], c->labels - 1);
    }
  }
  return DKHO_OK;
}

dkho_status cx_check(const cx *c) {
  TRY(check_shape(c));
  for (int k = 1; k <= c->dim; k++) TRY(check_vertices(c, k));
  for (int k = 1; k <= c->dim; k++) TRY(check_faces(c, k));
  for (int k = 0; k < c->dim; k++) TRY(check_cofaces(c, k));
  for (int k = 2; k <= c->dim; k++) TRY(check_dd(c, k));
  for (int k = 1; k <= c->dim; k++) TRY(check_unique(c, k));
  for (int k = 0; k <= c->dim; k++) TRY(check_geometry(c, k));
  for (int k = 0; k < c->dim; k++) TRY(check_boundary(c, k));
  return check_labels(c);
}
