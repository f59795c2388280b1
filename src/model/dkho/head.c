/* head.c: see head.h. The harmonic branch is a small network of one row, so it runs in plain loops. */
#include "model/dkho/head.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Places of NAME.lin1, NAME.norm, NAME.lin2 in the slab. */
typedef struct mlp_places {
  int64_t w1, b1, gain, shift, w2, b2, s; /* s: of a branch that is weighed */
} mlp_places;

/* One sample of the branch: x = g W_1 + b_1, xhat the normalised GELU(x), m the coefficients, low those of ũ; and Hᵀ g_û. */
typedef struct head_slot {
  double *x, *hat, *g_hat, *m, *low, *g_m;
  double rstd;
} head_slot;

struct head {
  const fused *f; /* borrowed: whose rows these are */
  int64_t n;      /* simplices of degree q */
  int channels;   /* C */
  int modes;      /* β; 0: no branch */
  dkho_branch branch;
  int summary, wide; /* extents of the branch: S, h */
  double eps;
  const real *h, *mh;  /* N_q × β, borrowed */
  const geometry *g;   /* its given rows, borrowed */
  mlp_places at, own;  /* in the parameters, and in a gradient of the branch alone */
  int64_t grads;       /* length of that */
  const real *weights; /* borrowed */
  head_slot *slot;
  int wide_sum;            /* max(β·C, 2) */
  double *sums, *by_block; /* per slot: sums of that many numbers, and of each block */
  arena mem;
};

static int64_t find_place(const params *p, const char *name) {
  int i = params_find(p, name);
  assert(i >= 0);
  return p->list[i].offset;
}

static dkho_status create_branch(head *h, const params *p, int slots) {
  int64_t outs = (int64_t)h->modes * h->channels;
  h->at = (mlp_places){find_place(p, "harm.lin1.w"),
                       find_place(p, "harm.lin1.b"),
                       find_place(p, "harm.norm.g"),
                       find_place(p, "harm.norm.b"),
                       find_place(p, "harm.lin2.w"),
                       find_place(p, "harm.lin2.b"),
                       0};
  int64_t wide = h->wide, first = h->summary * wide;
  h->own = (mlp_places){0, first, first + wide, first + 2 * wide, first + 3 * wide, first + 3 * wide + wide * outs, 0};
  h->grads = h->own.s = h->own.b2 + outs;
  if (h->branch == DKHO_BRANCH_WEIGHED) h->at.s = find_place(p, "harm.s"), h->grads += outs;
  if (!ARENA_NEW(&h->mem, h->slot, slots)) return DKHO_E_MEMORY;
  for (int i = 0; i < slots; i++) {
    head_slot *s = &h->slot[i];
    if (!ARENA_NEW(&h->mem, s->x, h->wide) || !ARENA_NEW(&h->mem, s->hat, h->wide) ||
        !ARENA_NEW(&h->mem, s->g_hat, h->wide) || !ARENA_NEW(&h->mem, s->m, outs) ||
        !ARENA_NEW(&h->mem, s->low, outs) || !ARENA_NEW(&h->mem, s->g_m, outs))
      return DKHO_E_MEMORY;
  }
  return DKHO_OK;
}

static dkho_status create_sums(head *h, int slots) {
  int outs = h->modes * h->channels;
  h->wide_sum = outs > 2 ? outs : 2;
  if (h->g->periods > h->wide_sum) h->wide_sum = (int)h->g->periods;
  return ARENA_NEW(&h->mem, h->sums, slots * h->wide_sum) &&
                 ARENA_NEW(&h->mem, h->by_block, (int64_t)slots * fused_blocks(h->f) * h->wide_sum)
             ? DKHO_OK
             : DKHO_E_MEMORY;
}

dkho_status head_create(head **out, const dkho_config *cfg, const fused *f, const params *p, const geometry *g,
                        int slots) {
  head *h;
  *out = NULL;
  if (!MEM_NEW(h, 1)) return DKHO_E_MEMORY;
  h->f = f, h->n = g->n[cfg->target], h->channels = cfg->channels, h->eps = cfg->loss_eps;
  h->modes = cfg->variant == DKHO_NO_HARMONIC ? 0 : cfg->harmonic;
  h->branch = cfg->branch;
  h->summary = cfg->summary, h->wide = cfg->h;
  h->h = g->h, h->mh = g->mh, h->g = g;
  dkho_status s = create_sums(h, slots);
  if (s == DKHO_OK && h->modes) s = create_branch(h, p, slots);
  if (s == DKHO_OK)
    *out = h;
  else
    head_free(h);
  return s;
}

void head_free(head *h) {
  if (!h) return;
  arena_free(&h->mem);
  mem_free(h);
}

void head_bind(head *h, const real *weights) {
  h->weights = weights;
}

/* GELU(x) = x Φ(x), and its slope Φ(x) + x φ(x) */
static double gelu(double x) {
  return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
}
static double gelu_slope(double x) {
  return 0.5 * (1 + erf(x * 0.70710678118654752440)) + x * exp(-0.5 * x * x) * 0.39894228040143267794;
}

/* m = harm(g): affine, GELU, layer norm, affine. */
static void run_branch(const head *h, head_slot *s, const real *g) {
  const real *w = h->weights;
  int wide = h->wide, outs = h->modes * h->channels;
  double mean = 0, spread = 0;
  for (int j = 0; j < wide; j++) {
    double sum = (double)w[h->at.b1 + j];
    for (int i = 0; i < h->summary; i++) sum += (double)g[i] * (double)w[h->at.w1 + (int64_t)i * wide + j];
    s->x[j] = sum;
    s->hat[j] = gelu(sum);
    mean += s->hat[j] / wide;
  }
  for (int j = 0; j < wide; j++) spread += (s->hat[j] - mean) * (s->hat[j] - mean) / wide;
  s->rstd = 1 / sqrt(spread + 1e-5);
  for (int j = 0; j < wide; j++) s->hat[j] = (s->hat[j] - mean) * s->rstd;
  for (int o = 0; o < outs; o++) {
    double sum = (double)w[h->at.b2 + o];
    for (int j = 0; j < wide; j++)
      sum += (s->hat[j] * (double)w[h->at.gain + j] + (double)w[h->at.shift + j]) *
             (double)w[h->at.w2 + (int64_t)j * outs + o];
    s->m[o] = sum;
  }
}

/* out += what row i adds to a sum, from the arrays a and b of the call. */
typedef void (*row_sum)(const head *h, int64_t i, const real *a, const real *b, double *out);

/* out [m] = the sum of fn over the rows, block by block. */
static dkho_status sum_rows(const head *h, int slot, int m, row_sum fn, const real *a, const real *b, double *out) {
  int blocks = fused_blocks(h->f), count;
  double *part = h->by_block + (int64_t)slot * blocks * h->wide_sum;
  memset(part, 0, (size_t)blocks * (size_t)m * sizeof *part);
  for (int at = 0; at < blocks; at++) {
    const int32_t *row = fused_block(h->f, at, &count);
    for (int i = 0; i < count; i++) fn(h, row[i], a, b, part + (int64_t)at * m);
  }
  return fused_sum(h->f, m, part, out);
}

/* out [β × C] += basisᵀ u */
static void project_row(const head *h, int64_t i, const real *basis, const real *u, double *out) {
  for (int j = 0; j < h->modes; j++)
    for (int c = 0; c < h->channels; c++)
      out[j * h->channels + c] += (double)basis[i * h->modes + j] * (double)u[i * h->channels + c];
}

static dkho_status project(const head *h, int slot, const real *basis, const real *u, double *out) {
  return sum_rows(h, slot, h->modes * h->channels, project_row, basis, u, out);
}

/* out ← u + basis · a, a [modes × C]; out may be u. */
static void add_modes(const head *h, const real *basis, int modes, const double *a, const real *u, real *out) {
  int channels = h->channels, count;
  for (int at = 0; at < fused_blocks(h->f); at++) {
    const int32_t *row = fused_block(h->f, at, &count);
    for (int r = 0; r < count; r++)
      for (int c = 0; c < channels; c++) {
        int64_t i = row[r];
        double sum = (double)u[i * channels + c];
        for (int j = 0; j < modes; j++) sum += (double)basis[i * modes + j] * a[j * channels + c];
        out[i * channels + c] = (real)sum;
      }
  }
}

/* How much of coefficient o of ũ the branch replaces. */
static double replaced_share(const head *h, int o) {
  if (h->branch == DKHO_BRANCH_WEIGHED) return (double)h->weights[h->at.s + o];
  return h->branch == DKHO_BRANCH_ALONE;
}

/* out ← ũ + H (m - s ⊙ (M H)ᵀ ũ) */
static dkho_status compose_output(head *h, int slot, const real *summary, const real *u, real *out) {
  int outs = h->modes * h->channels;
  if (!h->modes) {
    if (out != u) memcpy(out, u, (size_t)(h->n * h->channels) * sizeof *out);
    return DKHO_OK;
  }
  double *a = h->sums + (int64_t)slot * h->wide_sum;
  head_slot *s = &h->slot[slot];
  run_branch(h, s, summary);
  if (h->branch != DKHO_BRANCH_ADDED) TRY(project(h, slot, h->mh, u, s->low));
  for (int o = 0; o < outs; o++) a[o] = s->m[o] - replaced_share(h, o) * s->low[o];
  add_modes(h, h->h, h->modes, a, u, out);
  return DKHO_OK;
}

dkho_status head_predict(head *h, int slot, const real *summary, real *u) {
  return compose_output(h, slot, summary, u, u);
}

/* out += [‖û - y‖², ‖y‖²] */
static void gap_row(const head *h, int64_t i, const real *u, const real *y, double *out) {
  for (int64_t c = i * h->channels; c < (i + 1) * h->channels; c++) {
    double e = (double)u[c] - (double)y[c];
    out[0] += e * e;
    out[1] += (double)y[c] * (double)y[c];
  }
}

/* Row j of `values` (NULL: zeros) into the j-th given row of u. */
static void set_given_rows(const head *h, const real *values, real *u) {
  for (int64_t j = 0; j < h->g->givens; j++)
    for (int c = 0; c < h->channels; c++)
      u[h->g->given[j] * h->channels + c] = values ? values[j * h->channels + c] : 0;
}

/* out [periods] -= Qᵀ u; targets with periods have one channel. */
static void period_row(const head *h, int64_t i, const real *q, const real *u, double *out) {
  for (int64_t j = 0; j < h->g->periods; j++) out[j] -= (double)q[i * h->g->periods + j] * (double)u[i];
}

/* u ← u + Q (given - Qᵀ u); given NULL: zero, the adjoint. */
static dkho_status set_given_periods(head *h, int slot, const real *given, real *u) {
  double *a = h->sums + (int64_t)slot * h->wide_sum;
  if (!h->g->periods) return DKHO_OK;
  TRY(sum_rows(h, slot, (int)h->g->periods, period_row, h->g->q, u, a));
  for (int64_t j = 0; j < h->g->periods && given; j++) a[j] += (double)given[j];
  add_modes(h, h->g->q, (int)h->g->periods, a, u, u);
  return DKHO_OK;
}

/* û stands in g_u until its cotangent (weight/(‖û - y‖ max(‖y‖, eps))) (û - y) takes its place; then the adjoint of the projection. */
dkho_status head_loss(head *h, int slot, const real *summary, const real *u, const real *y, const real *given,
                      double weight, double *loss, real *g_u) {
  int64_t n = h->n * h->channels;
  int outs = h->modes * h->channels;
  double norm[2];
  TRY(compose_output(h, slot, summary, u, g_u));
  set_given_rows(h, given, g_u);
  TRY(set_given_periods(h, slot, given, g_u));
  TRY(sum_rows(h, slot, 2, gap_row, g_u, y, norm));
  double gap = norm[0], size = norm[1];
  double scale = fmax(sqrt(size), h->eps), slope = gap > 0 ? weight / (sqrt(gap) * scale) : 0;
  *loss = sqrt(gap) / scale;
  for (int64_t i = 0; i < n; i++) g_u[i] = (real)(slope * ((double)g_u[i] - (double)y[i]));
  set_given_rows(h, NULL, g_u);
  TRY(set_given_periods(h, slot, NULL, g_u));
  if (!h->modes) return DKHO_OK;
  double *g_m = h->slot[slot].g_m, *a = h->sums + (int64_t)slot * h->wide_sum;
  TRY(project(h, slot, h->h, g_u, g_m)); /* m enters as H m, ũ as ũ - H (s ⊙ (M H)ᵀ ũ) */
  if (h->branch == DKHO_BRANCH_ADDED) return DKHO_OK;
  for (int o = 0; o < outs; o++) a[o] = -replaced_share(h, o) * g_m[o];
  add_modes(h, h->mh, h->modes, a, g_u, g_u);
  return DKHO_OK;
}

/* Through the last map and the norm's gain: g_hat ← ∂/∂xhat; its own parameters get their gradients. */
static void gradient_output(const head *h, const head_slot *s, double *g_hat, real *g) {
  const real *w = h->weights;
  int wide = h->wide, outs = h->modes * h->channels;
  for (int o = 0; o < outs; o++) g[h->own.b2 + o] = (real)s->g_m[o];
  for (int o = 0; h->branch == DKHO_BRANCH_WEIGHED && o < outs; o++) g[h->own.s + o] = (real)(-s->low[o] * s->g_m[o]);
  for (int j = 0; j < wide; j++) {
    double in = s->hat[j] * (double)w[h->at.gain + j] + (double)w[h->at.shift + j], g_in = 0;
    for (int o = 0; o < outs; o++) {
      g[h->own.w2 + (int64_t)j * outs + o] = (real)(in * s->g_m[o]);
      g_in += (double)w[h->at.w2 + (int64_t)j * outs + o] * s->g_m[o];
    }
    g[h->own.gain + j] = (real)(g_in * s->hat[j]);
    g[h->own.shift + j] = (real)g_in;
    g_hat[j] = g_in * (double)w[h->at.gain + j];
  }
}

int64_t head_grads(const head *h) {
  return h->grads;
}

/* xhat = (a - mean) rstd, a = GELU(x): g_a = rstd (g_hat - mean(g_hat) - xhat mean(g_hat xhat)). */
void head_gradient(head *h, int slot, const real *summary, real *own) {
  if (!h->modes) return;
  const head_slot *s = &h->slot[slot];
  int wide = h->wide;
  double *g_hat = s->g_hat, mean = 0, along = 0;
  gradient_output(h, s, g_hat, own);
  for (int j = 0; j < wide; j++) mean += g_hat[j] / wide, along += g_hat[j] * s->hat[j] / wide;
  for (int j = 0; j < wide; j++) {
    double g_x = s->rstd * (g_hat[j] - mean - s->hat[j] * along) * gelu_slope(s->x[j]);
    own[h->own.b1 + j] = (real)g_x;
    for (int i = 0; i < h->summary; i++) own[h->own.w1 + (int64_t)i * wide + j] = (real)((double)summary[i] * g_x);
  }
}

static void add_tensor(real *g, const real *own, int64_t count) {
  for (int64_t i = 0; i < count; i++) g[i] += own[i];
}

void head_collect(const head *h, const real *own, real *g) {
  if (!h->modes) return;
  int64_t wide = h->wide, outs = (int64_t)h->modes * h->channels;
  add_tensor(g + h->at.w1, own + h->own.w1, h->summary * wide);
  add_tensor(g + h->at.b1, own + h->own.b1, wide);
  add_tensor(g + h->at.gain, own + h->own.gain, wide);
  add_tensor(g + h->at.shift, own + h->own.shift, wide);
  add_tensor(g + h->at.w2, own + h->own.w2, wide * outs);
  add_tensor(g + h->at.b2, own + h->own.b2, outs);
  if (h->branch == DKHO_BRANCH_WEIGHED) add_tensor(g + h->at.s, own + h->own.s, outs);
}
