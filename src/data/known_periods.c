/* known_periods.c: targets that are known up to an exact cochain: integrals over closed loops are those of a given cochain w. All of
 * them cannot be imposed cheaply, so those are that people ask for: the harmonic part, and on the boundary the integral over each of
 * its components (round each hole, through each wall). Both are scalar products with cochains q that δ annihilates; with an
 * orthonormal basis Q of their span, u - Q Qᵀ(u - w) is the field nearest to u that has them. */
#include "data/known_impl.h"

#include "mesh/cx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 1 or -1: whether the vertices of a top simplex, as listed, are positively oriented. */
static double orientation(const cx *c, int64_t t) {
  double e[3][3] = {{0}};
  const int32_t *v = c->vert[c->dim] + t * (c->dim + 1);
  for (int i = 0; i < c->dim; i++)
    for (int a = 0; a < c->dim; a++)
      e[i][a] = c->x[v[i + 1] * (int64_t)c->gdim + a] - c->x[v[0] * (int64_t)c->gdim + a];
  double plane = e[0][0] * e[1][1] - e[0][1] * e[1][0];
  if (c->dim == 2) return plane > 0 ? 1 : -1;
  return plane * e[2][2] + (e[0][1] * e[1][2] - e[0][2] * e[1][1]) * e[2][0] +
                     (e[0][2] * e[1][0] - e[0][0] * e[1][2]) * e[2][1] >
                 0
             ? 1
             : -1;
}

static int32_t root_of(int32_t *up, int32_t i) {
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

/* part[i]: number of the boundary component of simplex i of degree k = dim - 1, -1 inside. Returns how many there are. */
static int number_components(const cx *c, int32_t *up, int32_t *number, int32_t *part) {
  int k = c->dim - 1, count = 0;
  for (int64_t i = 0; i < c->n[0]; i++) up[i] = (int32_t)i, number[i] = -1;
  for (int64_t i = 0; i < c->n[k]; i++)
    for (int j = 1; j <= k && c->on_boundary[k][i]; j++)
      up[root_of(up, c->vert[k][i * (k + 1) + j])] = root_of(up, c->vert[k][i * (k + 1)]);
  for (int64_t i = 0; i < c->n[k]; i++) {
    part[i] = -1;
    if (!c->on_boundary[k][i]) continue;
    int32_t r = root_of(up, c->vert[k][i * (k + 1)]);
    if (number[r] < 0) number[r] = count++;
    part[i] = number[r];
  }
  return count;
}

/* q (columns of n) ← q less its part in the columns before it, of length 1; 0: nothing is left. Twice is enough. */
static int orthonormalise(int64_t n, double *q, int64_t before) {
  double was = 0, is = 0, *own = q + before * n;
  for (int64_t i = 0; i < n; i++) was += own[i] * own[i];
  for (int pass = 0; pass < 2; pass++)
    for (int64_t j = 0; j < before; j++) {
      double along = 0;
      for (int64_t i = 0; i < n; i++) along += q[j * n + i] * own[i];
      for (int64_t i = 0; i < n; i++) own[i] -= along * q[j * n + i];
    }
  for (int64_t i = 0; i < n; i++) is += own[i] * own[i];
  for (int64_t i = 0; i < n; i++) own[i] /= sqrt(is);
  return is > 1e-16 * was;
}

/* Columns of Q: the harmonic fields, then the boundary's components where the target's degree has them. */
static int64_t fill_columns(const known_world *w, int k, int parts, const int32_t *part, double *q) {
  const cx *c = w->c;
  int64_t n = c->n[k], count = 0;
  for (int64_t j = 0; j < w->harmonics; j++) {
    for (int64_t i = 0; i < n; i++) q[count * n + i] = w->harmonic[i * w->harmonics + j];
    count += orthonormalise(n, q, count);
  }
  for (int p = 0; p < parts; p++) {
    memset(q + count * n, 0, (size_t)n * sizeof *q);
    for (int64_t i = 0; i < n; i++) {
      int64_t at = c->coptr[k][i];
      if (part[i] == p) q[count * n + i] = c->cosign[k][at] * orientation(c, c->coface[k][at]);
    }
    count += orthonormalise(n, q, count);
  }
  return count;
}

static dkho_status make_basis(known_rows *out, const known_world *w, int k) {
  const cx *c = w->c;
  int64_t n = c->n[k];
  arena mem = {0};
  int32_t *up, *number, *part;
  double *q;
  int parts = 0;
  dkho_status s = ARENA_NEW(&mem, up, c->n[0]) && ARENA_NEW(&mem, number, c->n[0]) && ARENA_NEW(&mem, part, n)
                      ? DKHO_OK
                      : DKHO_E_MEMORY;
  if (s == DKHO_OK && k == c->dim - 1 && c->dim == c->gdim && k) parts = number_components(c, up, number, part);
  if (s == DKHO_OK && w->harmonics + parts > KNOWN_PERIODS_MAX)
    s = fail(DKHO_E_INPUT, "known: %lld harmonic fields and %d parts of the boundary, at most %d periods can be known",
             (long long)w->harmonics, parts, KNOWN_PERIODS_MAX);
  if (s == DKHO_OK && !ARENA_NEW(&mem, q, (w->harmonics + parts + 1) * n)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) out->periods = fill_columns(w, k, parts, part, q);
  if (s == DKHO_OK && !ARENA_NEW(&out->mem, out->basis, out->periods * n + 1)) s = DKHO_E_MEMORY;
  for (int64_t i = 0; s == DKHO_OK && i < n; i++)
    for (int64_t j = 0; j < out->periods; j++) out->basis[i * out->periods + j] = q[j * n + i];
  arena_free(&mem);
  return s;
}

/* factor: Qᵀ S for the static S beside a global. */
static dkho_status project_static(known_rows *out, const double *fixed, int channels) {
  if (!fixed || !ARENA_NEW(&out->mem, out->factor, out->periods * channels + 1))
    return fixed ? DKHO_E_MEMORY : fail(DKHO_E_INPUT, "known: a static field has no values");
  out->factors = channels;
  for (int64_t i = 0; i < out->n; i++)
    for (int64_t j = 0; j < out->periods; j++)
      for (int g = 0; g < channels; g++)
        out->factor[j * channels + g] += out->basis[i * out->periods + j] * fixed[i * channels + g];
  return DKHO_OK;
}

dkho_status known_find_periods(known_rows *out, const known_world *w, int target, const data_known *k) {
  const data_field *t = &w->field[target];
  int at = known_field(w->fields, w->field, k->field);
  if (t->degree < 1) return DKHO_OK; /* known_check has refused it */
  out->n = w->c->n[t->degree];
  out->list = known_position(w->field, at);
  TRY(make_basis(out, w, t->degree));
  if (k->source == KNOWN_INPUT) return DKHO_OK;
  return project_static(out, w->array[known_field(w->fields, w->field, k->fixed)], w->field[at].channels);
}

/* out += Qᵀ u */
static void add_products(const known_rows *k, const float *u, double sign, double *out) {
  for (int64_t i = 0; i < k->n; i++)
    for (int64_t j = 0; j < k->periods; j++) out[j] += sign * k->basis[i * k->periods + j] * (double)u[i];
}

void known_periods(const known_rows *k, const float *const *in, const double *const *global, double *out) {
  memset(out, 0, (size_t)k->periods * sizeof *out);
  if (!k->factors) add_products(k, in[k->list], 1, out);
  for (int64_t j = 0; j < k->periods; j++)
    for (int g = 0; g < k->factors; g++) out[j] += k->factor[j * k->factors + g] * global[k->list][g];
}

void known_impose_periods(const known_rows *k, const float *const *in, const double *const *global, float *field) {
  double a[KNOWN_PERIODS_MAX];
  if (!k->periods) return;
  known_periods(k, in, global, a);
  add_products(k, field, -1, a);
  for (int64_t i = 0; i < k->n; i++) {
    double sum = (double)field[i];
    for (int64_t j = 0; j < k->periods; j++) sum += k->basis[i * k->periods + j] * a[j];
    field[i] = (float)sum;
  }
}

dkho_status known_periods_agree(const known_rows *k, const data_field *target, int64_t sample, const float *const *in,
                                const double *const *global, const float *y) {
  double a[KNOWN_PERIODS_MAX], off = 0, size = 0;
  known_periods(k, in, global, a);
  add_products(k, y, -1, a);
  for (int64_t j = 0; j < k->periods; j++) off += a[j] * a[j];
  for (int64_t i = 0; i < k->n; i++) size += (double)y[i] * (double)y[i];
  if (off <= 1e-6 * size) return DKHO_OK;
  return fail(DKHO_E_INPUT,
              "known: the periods of target '%s' of sample %lld are not those it is said to have: off by %g of %g",
              target->name, (long long)sample, sqrt(off), sqrt(size));
}
