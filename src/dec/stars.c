/* stars.c: the diagonal metrics. unit: M_k = 1. hodge: circumcentric dual over primal measure where that is positive,
 * the barycentric dual where it is not, on the mesh scaled to unit mean edge length. */
#include "dec/dec_impl.h"

#include <math.h>
#include <string.h>

/* A circumcentric dual below this share of the barycentric one counts as not positive: at right angles it is zero up to
 * rounding, and δ, which divides by it, would blow up. */
static const double SHARE_MIN = 1e-3;

const char *dec_metric_name(dec_metric m) {
  return m == DEC_UNIT ? "unit" : "hodge";
}

dkho_status dec_metric_parse(const char *name, dec_metric *out) {
  for (dec_metric m = DEC_UNIT; m <= DEC_HODGE; m++)
    if (!strcmp(name, dec_metric_name(m))) {
      *out = m;
      return DKHO_OK;
    }
  return fail(DKHO_E_INPUT, "metric: found \"%s\", expected unit or hodge", name);
}

/* Barycentric coordinates b[0 … k] of the circumcentre: with e_i = p_i - p_0 and G_ij = e_i·e_j, it is p_0 + Σ y_i e_i
 * where 2 G y = diag G. G y = g is solved by symmetric elimination; G is positive definite for a proper simplex. */
static void simplex_circumcentre(const cx *c, int k, const int32_t *v, double *b) {
  double e[3][3] = {{0}}, g[3][4];
  for (int i = 0; i < k; i++)
    for (int j = 0; j < c->gdim; j++)
      e[i][j] = c->x[(int64_t)v[i + 1] * c->gdim + j] - c->x[(int64_t)v[0] * c->gdim + j];
  for (int i = 0; i < k; i++) {
    for (int j = 0; j < k; j++) g[i][j] = e[i][0] * e[j][0] + e[i][1] * e[j][1] + e[i][2] * e[j][2];
    g[i][k] = g[i][i] / 2;
  }
  for (int p = 0; p < k; p++)
    for (int i = p + 1; i < k; i++) {
      double f = g[i][p] / g[p][p];
      for (int j = p; j <= k; j++) g[i][j] -= f * g[p][j];
    }
  b[0] = 1;
  for (int p = k - 1; p >= 0; p--) {
    double y = g[p][k];
    for (int j = p + 1; j < k; j++) y -= g[p][j] * b[j + 1];
    b[p + 1] = y / g[p][p];
    b[0] -= b[p + 1];
  }
}

/* The vertex of simplex v that its face w lacks. */
static int opposite(int k, const int32_t *v, const int32_t *w) {
  for (int i = 0; i <= k; i++) {
    int found = 0;
    for (int j = 0; j < k; j++) found |= v[i] == w[j];
    if (!found) return i;
  }
  return 0;
}

/* height[i(k+1)+j]: signed distance from the circumcentre of face j of k-simplex i to the circumcentre of i, positive
 * on the side of the opposite vertex: its barycentric coordinate there times that vertex's altitude. */
static void fill_heights(const cx *c, int k, double *height) {
  for (int64_t i = 0; i < c->n[k]; i++) {
    const int32_t *v = c->vert[k] + i * (k + 1);
    double b[CX_DEGREES];
    simplex_circumcentre(c, k, v, b);
    for (int j = 0; j <= k; j++) {
      int32_t f = c->face[k][i * (k + 1) + j];
      const int32_t *w = k == 1 ? &f : c->vert[k - 1] + (int64_t)f * k;
      double base = k == 1 ? 1 : c->measure[k - 1][f];
      height[i * (k + 1) + j] = b[opposite(k, v, w)] * k * c->measure[k][i] / base;
    }
  }
}

/* Along a flag s_k < … < s_dim the circumcentres go at right angles, so each flag adds Π heights / (dim-k)! to the dual
 * of s_k: one step down the flag multiplies by height/(dim-k). */
static void add_flags(const cx *c, double *const *height, int k, int64_t i, double w, double *const *dual) {
  dual[k][i] += w;
  if (k == 0) return;
  for (int64_t p = i * (k + 1); p < (i + 1) * (k + 1); p++)
    add_flags(c, height, k - 1, c->face[k][p], w * height[k][p] / (c->dim - k + 1), dual);
}

static dkho_status circumcentric_duals(const cx *c, double *const *dual) {
  double *height[CX_DEGREES] = {0};
  dkho_status s = DKHO_OK;
  for (int k = 1; k <= c->dim && s == DKHO_OK; k++) {
    if (MEM_NEW(height[k], c->n[k] * (k + 1)))
      fill_heights(c, k, height[k]);
    else
      s = DKHO_E_MEMORY;
  }
  for (int64_t i = 0; s == DKHO_OK && i < c->n[c->dim]; i++) add_flags(c, height, c->dim, i, 1, dual);
  for (int k = 1; k <= c->dim; k++) mem_free(height[k]);
  return s;
}

/* star[k] comes in as circumcentric dual measure and leaves as M_k of the scaled mesh: lengths × t turn dual/primal of
 * degree k into t^(dim-2k) times it. */
static dkho_status finish_star(dec *d, int k) {
  const cx *c = d->c;
  double t = pow(d->scale, c->dim - 2 * k);
  for (int64_t i = 0; i < c->n[k]; i++) {
    double dual = d->star[k][i], plain = c->dual[k][i];
    if (!(dual > SHARE_MIN * plain)) {
      dual = plain;
      d->replaced[k]++;
    }
    d->star[k][i] = t * dual / (k ? c->measure[k][i] : 1);
    if (!(d->star[k][i] > 0) || !isfinite(d->star[k][i]))
      return fail(DKHO_E_INPUT, "Hodge star: entry %lld of degree %d is %g, expected a positive number", (long long)i,
                  k, d->star[k][i]);
  }
  return DKHO_OK;
}

static dkho_status fill_hodge(dec *d) {
  const cx *c = d->c;
  double sum = 0;
  for (int64_t e = 0; e < c->n[1]; e++) sum += c->measure[1][e];
  if (c->n[1]) d->scale = (double)c->n[1] / sum;
  if (c->dim == 0) {
    for (int64_t i = 0; i < c->n[0]; i++) d->star[0][i] = 1;
    return DKHO_OK;
  }
  TRY(circumcentric_duals(c, d->star));
  for (int k = 0; k <= c->dim; k++) TRY(finish_star(d, k));
  return DKHO_OK;
}

dkho_status dec_create(dec **out, const cx *c, dec_metric metric) {
  *out = NULL;
  dec *d;
  if (!MEM_NEW(d, 1)) return DKHO_E_MEMORY;
  *d = (dec){.c = c, .metric = metric, .scale = 1};
  dkho_status s = DKHO_OK;
  for (int k = 0; k <= c->dim; k++)
    if (!ARENA_NEW(&d->mem, d->star[k], c->n[k])) s = DKHO_E_MEMORY;
  if (s == DKHO_OK && metric == DEC_HODGE) s = fill_hodge(d);
  if (s != DKHO_OK) {
    dec_free(d);
    return s;
  }
  for (int k = 0; metric == DEC_UNIT && k <= c->dim; k++)
    for (int64_t i = 0; i < c->n[k]; i++) d->star[k][i] = 1;
  *out = d;
  return DKHO_OK;
}

void dec_free(dec *d) {
  if (!d) return;
  arena_free(&d->mem);
  mem_free(d);
}
