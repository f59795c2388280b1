/* extend.c: see extend.h. */
#include "model/dkho/extend.h"

#include <math.h>
#include <stdio.h>

static void destroy_sparse(void *m) {
  sparse_free(m);
}

/* Rows of means over `count` entries each, by compressed rows; an empty row stays zero. */
static dkho_status make_means(tape *t, int64_t rows, int64_t cols, const int64_t *ptr, const int32_t *col,
                              const sparse **out) {
  double *val;
  sparse *m = NULL;
  if (!MEM_NEW(val, ptr[rows])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t p = ptr[i]; p < ptr[i + 1]; p++) val[p] = 1 / (double)(ptr[i + 1] - ptr[i]);
  dkho_status s = sparse_create(&m, rows, cols, ptr, col, val);
  mem_free(val);
  if (s == DKHO_OK) tape_own(t, destroy_sparse, m);
  *out = m;
  return s;
}

/* The same neighbours as d and δ have, so both come from the rows of d_{k-1} and of its transpose. */
static dkho_status prepare_means(const dkho_config *f, const geometry *g, tape *t, extension_maps *out) {
  for (int k = 0; k + 1 < f->degrees; k++) {
    const sparse_half *d = &g->d[k]->a, *back = &g->d[k]->at;
    TRY(make_means(t, g->n[k + 1], g->n[k], d->ptr, d->col, &out->below[k + 1]));
    TRY(make_means(t, g->n[k], g->n[k + 1], back->ptr, back->col, &out->above[k]));
  }
  return DKHO_OK;
}

/* Column j of the basis into both matrices, with entries of order 1. */
static void fill_mode(const double *vec, const double *star, int64_t n, int j, int modes, real *analyse, real *synth) {
  double size = sqrt((double)n);
  for (int64_t i = 0; i < n; i++) {
    analyse[i * modes + j] = (real)(star[i] * vec[i] / size);
    synth[i * modes + j] = (real)(vec[i] * size);
  }
}

/* Harmonic fields first, then the lowest others; degrees with fewer leave columns of zeros. */
static dkho_status prepare_degree(const dkho_config *f, const dec *metric, tape *t, int k, const dec_basis *low,
                                  extension_maps *out) {
  int64_t n = metric->c->n[k];
  int modes = f->spectral, at = 0;
  real *analyse, *synth;
  dec_basis kernel = {0};
  if (!ARENA_NEW(&t->mem, analyse, n * modes) || !ARENA_NEW(&t->mem, synth, n * modes)) return DKHO_E_MEMORY;
  TRY(dec_harmonic(metric, k, &kernel));
  for (int64_t j = 0; j < kernel.count && at < modes; j++)
    fill_mode(kernel.vec + j * n, metric->star[k], n, at++, modes, analyse, synth);
  for (int64_t j = 0; j < low->count && at < modes; j++)
    fill_mode(low->vec + j * n, metric->star[k], n, at++, modes, analyse, synth);
  dec_basis_free(&kernel);
  out->analyse[k] = tape_const(t, n, modes, analyse);
  out->synthesise[k] = tape_const(t, n, modes, synth);
  return t->status;
}

static dkho_status prepare_modes(const dkho_config *f, const dec *metric, tape *t, extension_maps *out) {
  dec_basis low[CX_DEGREES] = {0};
  dkho_status s = dec_spectrum(metric, f->degrees - 1, f->spectral, low);
  for (int k = 0; s == DKHO_OK && k < f->degrees; k++) s = prepare_degree(f, metric, t, k, &low[k], out);
  for (int k = 0; k < CX_DEGREES; k++) dec_basis_free(&low[k]);
  return s;
}

dkho_status extend_prepare(const dkho_config *f, const dec *metric, const geometry *g, tape *t, extension_maps *out) {
  if (f->exchange & DKHO_EXCHANGE_UNSIGNED) TRY(prepare_means(f, g, t, out));
  return f->spectral ? prepare_modes(f, metric, t, out) : DKHO_OK;
}

static var layer_tensor(tape *t, int l, const char *what, int k) {
  char name[PARAM_NAME_MAX + 1];
  if (k < 0)
    snprintf(name, sizeof name, "layer%d.%s.w", l, what);
  else
    snprintf(name, sizeof name, "layer%d.%s%d.w", l, what, k);
  return tape_param(t, name);
}

static void add_term(carried *c, var x, var w) {
  c->x[c->terms] = x;
  c->w[c->terms++] = w;
}

static void exchange_degree(const dkho_config *f, const geometry *g, tape *t, const extension_maps *m, int l, int k,
                            const var *z, carried *c) {
  int below = k > 0, above = k + 1 < f->degrees;
  if (f->exchange & DKHO_EXCHANGE_SIGNED) {
    if (below) add_term(c, geometry_d(g, t, k - 1, z[k - 1]), layer_tensor(t, l, "sdn", k));
    if (above) add_term(c, geometry_delta(g, t, k + 1, z[k + 1]), layer_tensor(t, l, "sup", k));
  }
  if (f->exchange & DKHO_EXCHANGE_UNSIGNED) {
    if (below) add_term(c, op_sparse(t, m->below[k], 0, z[k - 1]), layer_tensor(t, l, "udn", k));
    if (above) add_term(c, op_sparse(t, m->above[k], 0, z[k + 1]), layer_tensor(t, l, "uup", k));
  }
}

/* Φ_k (A₂ GELU(A₁ C B))_k R_k for every degree. The return map acts on the coefficients, which are few. */
static void spectral_layer(const dkho_config *f, tape *t, const extension_maps *m, int l, const var *z, carried *c) {
  var low[CX_DEGREES];
  for (int k = 0; k < f->degrees; k++) low[k] = op_coefficients(t, m->analyse[k], z[k]);
  var all = op_matmul(t, op_stack(t, f->degrees, low), layer_tensor(t, l, "mix", -1));
  all = op_fn(t, FN_GELU, op_matmul(t, layer_tensor(t, l, "mix1", -1), all));
  all = op_matmul(t, layer_tensor(t, l, "mix2", -1), all);
  for (int k = 0; k < f->degrees; k++) {
    var own = op_slice(t, all, k * f->spectral, (k + 1) * f->spectral, 0, f->h);
    c[k].added = op_synthesis(t, m->synthesise[k], op_matmul(t, own, layer_tensor(t, l, "ret", k)), f->h);
  }
}

void extend_layer(const dkho_config *f, const geometry *g, tape *t, const extension_maps *m, int l, const var *z,
                  carried out[CX_DEGREES]) {
  for (int k = 0; k < f->degrees; k++) {
    out[k] = (carried){.added = VAR_NONE};
    exchange_degree(f, g, t, m, l, k, z, &out[k]);
  }
  if (f->spectral) spectral_layer(f, t, m, l, z, out);
}
