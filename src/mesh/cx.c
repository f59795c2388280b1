/* cx.c: the small operations on a finished complex: labels, exterior derivative, centroids, look-up. Building is in
 * cx_build.c, geometry in cx_geom.c, files in cx_store.c. */
#include "mesh/cx_impl.h"

#include "base/st.h"

#include <assert.h>
#include <string.h>

const char *cx_noun(int k) {
  static const char *const noun[CX_DEGREES] = {"vertex", "edge", "triangle", "tetrahedron"};
  assert(k >= 0 && k < CX_DEGREES);
  return noun[k];
}

int cx_sort_vertices(int k, int32_t *v) {
  int parity = 1;
  for (int i = 1; i <= k; i++) {
    for (int j = i; j > 0 && v[j - 1] > v[j]; j--) {
      int32_t t = v[j];
      v[j] = v[j - 1];
      v[j - 1] = t;
      parity = -parity;
    }
  }
  return parity;
}

void cx_free(cx *c) {
  if (!c) return;
  arena_free(&c->mem);
  mem_free(c);
}

/* What a file can hold and a page can show. */
static int is_label_name(const char *name) {
  for (const char *p = name; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7f) return 0;
  return st_is_utf8(name);
}

dkho_status cx_name_labels(cx *c, int labels, const char *const *names) {
  if (labels < 1 || labels > CX_LABELS_MAX)
    return fail(DKHO_E_INPUT, "label names: found %d, expected 1 … %d", labels, CX_LABELS_MAX);
  for (int i = 0; i < labels; i++)
    if (!is_label_name(names[i]))
      return fail(DKHO_E_INPUT, "label names: name %d is not UTF-8 or holds control characters", i);
  for (int k = 0; k <= c->dim; k++) {
    for (int64_t i = 0; c->label[k] && i < c->n[k]; i++) {
      if (c->label[k][i] >= labels)
        return fail(DKHO_E_INPUT, "label names: %d given, but %s %lld has label %d", labels, cx_noun(k), (long long)i,
                    c->label[k][i]);
    }
  }
  const char **list;
  if (!ARENA_NEW(&c->mem, list, labels)) return DKHO_E_MEMORY;
  for (int i = 0; i < labels; i++) {
    if (!(list[i] = arena_strdup(&c->mem, names[i]))) return DKHO_E_MEMORY;
  }
  c->label_name = list;
  c->labels = labels;
  return DKHO_OK;
}

dkho_status cx_set_labels(cx *c, int k, const int32_t *label) {
  assert(k >= 0 && k <= c->dim);
  for (int64_t i = 0; i < c->n[k]; i++) {
    if (label[i] < 0 || label[i] >= c->labels)
      return fail(DKHO_E_INPUT, "label of %s %lld: found %d, expected 0 … %d", cx_noun(k), (long long)i, label[i],
                  c->labels - 1);
  }
  if (!c->label[k] && !ARENA_NEW(&c->mem, c->label[k], c->n[k])) return DKHO_E_MEMORY;
  memcpy(c->label[k], label, (size_t)c->n[k] * sizeof *label);
  return DKHO_OK;
}

void cx_d(const cx *c, int k, int ch, const double *x, double *y) {
  assert(k >= 0 && k < c->dim && ch > 0);
  const int32_t *face = c->face[k + 1];
  const int8_t *sign = c->sign[k + 1];
  for (int64_t i = 0; i < c->n[k + 1]; i++) {
    double *row = y + i * ch;
    memset(row, 0, (size_t)ch * sizeof *row);
    for (int64_t p = i * (k + 2); p < (i + 1) * (k + 2); p++) {
      const double *u = x + (int64_t)face[p] * ch;
      for (int j = 0; j < ch; j++) row[j] += sign[p] * u[j];
    }
  }
}

void cx_dt(const cx *c, int k, int ch, const double *x, double *y) {
  assert(k >= 0 && k < c->dim && ch > 0);
  for (int64_t i = 0; i < c->n[k]; i++) {
    double *row = y + i * ch;
    memset(row, 0, (size_t)ch * sizeof *row);
    for (int64_t p = c->coptr[k][i]; p < c->coptr[k][i + 1]; p++) {
      const double *w = x + (int64_t)c->coface[k][p] * ch;
      for (int j = 0; j < ch; j++) row[j] += c->cosign[k][p] * w[j];
    }
  }
}

void cx_mean(const cx *c, int k, const int32_t *v, double *out) {
  for (int a = 0; a < c->gdim; a++) {
    double sum = 0;
    for (int j = 0; j <= k; j++) sum += c->x[(int64_t)v[j] * c->gdim + a];
    out[a] = sum / (k + 1);
  }
}

void cx_centroids(const cx *c, int k, double *out) {
  assert(k >= 0 && k <= c->dim);
  for (int64_t i = 0; i < c->n[k]; i++) {
    int32_t self = (int32_t)i;
    cx_mean(c, k, k ? c->vert[k] + i * (k + 1) : &self, out + i * c->gdim);
  }
}

/* Down the chain of faces {v0}, {v0,v1}, …: each link is looked for among the cofaces of the one before. */
int64_t cx_find(const cx *c, int k, const int32_t *ascending) {
  assert(k >= 0 && k < CX_DEGREES);
  if (k > c->dim || ascending[0] < 0 || ascending[0] >= c->n[0]) return -1;
  int64_t at = ascending[0];
  for (int m = 1; m <= k; m++) {
    int64_t next = -1;
    for (int64_t p = c->coptr[m - 1][at]; p < c->coptr[m - 1][at + 1] && next < 0; p++) {
      int32_t v[CX_DEGREES];
      memcpy(v, c->vert[m] + (int64_t)c->coface[m - 1][p] * (m + 1), (size_t)(m + 1) * sizeof *v);
      cx_sort_vertices(m, v);
      if (memcmp(v, ascending, (size_t)(m + 1) * sizeof *v) == 0) next = c->coface[m - 1][p];
    }
    if (next < 0) return -1;
    at = next;
  }
  return at;
}
