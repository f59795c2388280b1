/* fused_map.c: names of the parameter table to places in the slab, descriptor columns to rows of the first matrices. */
#include "model/dkho/fused_map.h"

#include "model/dkho/extend.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Broadcast columns of degree k, in column order; returns their number. */
static int globals_of(const features *f, int k, int *slot) {
  const feat_column *column = features_columns(f, k);
  int count = 0;
  for (int i = 0; i < features_width(f, k); i++)
    if (column[i].cls == FEAT_CLASS_GLOBAL && slot)
      slot[count++] = column[i].slot;
    else if (column[i].cls == FEAT_CLASS_GLOBAL)
      count++;
  return count;
}

int dkho_fused_globals(const dkho_config *cfg, const features *f, int *slot) {
  int best = 0;
  for (int k = 1; k < cfg->degrees; k++)
    if (globals_of(f, k, NULL) > globals_of(f, best, NULL)) best = k;
  return globals_of(f, best, slot);
}

/* Every degree's list must be a beginning of the longest. */
static int globals_agree(const dkho_config *cfg, const features *f) {
  int all[DKHO_FUSED_GLOBALS], own[DKHO_FUSED_GLOBALS];
  for (int k = 0; k < cfg->degrees; k++)
    if (globals_of(f, k, NULL) > DKHO_FUSED_GLOBALS) return 0;
  dkho_fused_globals(cfg, f, all);
  for (int k = 0; k < cfg->degrees; k++)
    if (memcmp(all, own, sizeof *own * (size_t)globals_of(f, k, own)) != 0) return 0;
  return 1;
}

static int count_class(const features *f, int k, feat_class cl) {
  const feat_column *column = features_columns(f, k);
  int count = 0;
  for (int i = 0; i < features_width(f, k); i++) count += column[i].cls == cl;
  return count;
}

static fused_relation relation_of(const dkho_config *cfg) {
  if (cfg->relation == DKHO_RELATION_NONE) return FUSED_NONE;
  return cfg->variant == DKHO_NO_DIRAC ? FUSED_ALONE : cfg->variant == DKHO_NO_PHASE ? FUSED_CARRIER : FUSED_COUPLED;
}

int dkho_fused_serves(const dkho_config *cfg, const features *f) {
  fused_relation relation = relation_of(cfg);
  if (cfg->latent) return 0;
  if (cfg->lag_scale == 0 && (relation == FUSED_COUPLED || relation == FUSED_ALONE))
    return 0; /* the way back finds the slope of Λ in Λ itself */
  if ((cfg->exchange != DKHO_EXCHANGE_OFF || cfg->spectral) && (relation == FUSED_ALONE || relation == FUSED_CARRIER))
    return 0;
  for (int k = 0; k < cfg->degrees; k++)
    if (count_class(f, k, FEAT_CLASS_SAMPLE) != features_class_width(f, k, FEAT_CLASS_SAMPLE)) return 0;
  return globals_agree(cfg, f);
}

static size_t find_place(const params *p, const char *fmt, const char *end, int a, int b) {
  char stem[PARAM_NAME_MAX + 1], name[PARAM_NAME_MAX + 16];
  snprintf(stem, sizeof stem, fmt, a, b);
  snprintf(name, sizeof name, "%s%s", stem, end);
  int i = params_find(p, name);
  assert(i >= 0);
  return (size_t)p->list[i].offset;
}

static fused_mlp mlp_at(const params *p, const char *fmt, int a, int b) {
  return (fused_mlp){.w1 = find_place(p, fmt, ".lin1.w", a, b),
                     .b1 = find_place(p, fmt, ".lin1.b", a, b),
                     .gain = find_place(p, fmt, ".norm.g", a, b),
                     .shift = find_place(p, fmt, ".norm.b", a, b),
                     .w2 = find_place(p, fmt, ".lin2.w", a, b),
                     .b2 = find_place(p, fmt, ".lin2.b", a, b)};
}

static void relation_at(const params *p, int l, int k, fused_rank *r) {
  r->drive_w = find_place(p, "layer%d.drive%d", ".w", l, k), r->drive_b = find_place(p, "layer%d.drive%d", ".b", l, k);
  r->gate_w = find_place(p, "layer%d.gate%d", ".w", l, k), r->gate_b = find_place(p, "layer%d.gate%d", ".b", l, k);
  r->lag_w = find_place(p, "layer%d.lag%d", ".w", l, k), r->lag_b = find_place(p, "layer%d.lag%d", ".b", l, k);
  r->read_w = find_place(p, "layer%d.read%d", ".w", l, k), r->read_b = find_place(p, "layer%d.read%d", ".b", l, k);
  r->sigma = find_place(p, "layer%d", ".s", l, 0) + (size_t)k;
}

static void links_at(const params *p, const dkho_config *cfg, int l, int k, fused_rank *r) {
  static const char *const name[2][2] = {{"layer%d.sdn%d", "layer%d.udn%d"}, {"layer%d.sup%d", "layer%d.uup%d"}};
  for (int up = 0; up < 2; up++)
    for (int kind = 0; kind < 2 && (up ? k + 1 < cfg->degrees : k > 0); kind++)
      if (cfg->exchange >> kind & 1) r->link[up][kind] = find_place(p, name[up][kind], ".w", l, k);
}

static void layer_at(const params *p, const dkho_config *cfg, int l, fused_layer *out) {
  int related = cfg->relation == DKHO_KURAMOTO;
  if (related) out->tau = find_place(p, "layer%d", ".t", l, 0);
  if (cfg->spectral) {
    out->mix = find_place(p, "layer%d.mix", ".w", l, 0), out->mix1 = find_place(p, "layer%d.mix1", ".w", l, 0);
    out->mix2 = find_place(p, "layer%d.mix2", ".w", l, 0);
  }
  for (int k = 0; k < cfg->degrees; k++) {
    fused_rank *r = &out->rank[k];
    if (related) relation_at(p, l, k, r);
    links_at(p, cfg, l, k, r);
    if (dkho_narrows(cfg)) r->send = find_place(p, "layer%d.send%d", ".w", l, k);
    if (cfg->spectral) r->ret = find_place(p, "layer%d.ret%d", ".w", l, k);
    r->update = mlp_at(p, "layer%d.upd%d", l, k);
    r->skip = find_place(p, "layer%d.skip%d", ".w", l, k);
    r->gain = find_place(p, "layer%d.norm%d", ".g", l, k), r->shift = find_place(p, "layer%d.norm%d", ".b", l, k);
  }
}

/* Columns of one class as rows of the first matrix: sample columns by slot, the others in column order. */
static dkho_status rows_of(arena *mem, const features *f, int k, feat_class cl, fused_columns *out) {
  const feat_column *column = features_columns(f, k);
  int32_t *row;
  if (!ARENA_NEW(mem, row, features_width(f, k) + 1)) return DKHO_E_MEMORY;
  out->row = row;
  for (int i = 0; i < features_width(f, k); i++) {
    if (column[i].cls != cl) continue;
    row[cl == FEAT_CLASS_SAMPLE ? column[i].slot : out->count] = i;
    out->count++;
  }
  return DKHO_OK;
}

/* The static columns in column order: n[k] × count. */
static dkho_status fixed_of(arena *mem, const features *f, const cx *c, int k, int count, const real **out) {
  const feat_column *column = features_columns(f, k);
  const real *from = features_static(f, k);
  int width = features_class_width(f, k, FEAT_CLASS_STATIC), at = 0;
  real *x;
  if (!ARENA_NEW(mem, x, c->n[k] * count)) return DKHO_E_MEMORY;
  for (int i = 0; i < features_width(f, k); i++) {
    if (column[i].cls != FEAT_CLASS_STATIC) continue;
    for (int64_t j = 0; j < c->n[k]; j++) x[j * count + at] = from[j * width + column[i].slot];
    at++;
  }
  *out = x;
  return DKHO_OK;
}

static void mesh_of(const cx *c, const dec *metric, int degrees, fused_mesh *m) {
  for (int k = 0; k < degrees; k++) {
    m->face[k] = c->face[k], m->sign[k] = c->sign[k];
    m->coptr[k] = c->coptr[k], m->coface[k] = c->coface[k], m->cosign[k] = c->cosign[k];
    m->star[k] = metric && metric->metric == DEC_HODGE ? metric->star[k] : NULL;
  }
}

/* θ at the start; without phases the question does not arise. */
static void start_at(const dkho_config *cfg, const params *p, fused_shape *s) {
  if (cfg->variant == DKHO_NO_PHASE || cfg->start == DKHO_ZERO || cfg->relation == DKHO_RELATION_NONE) return;
  int content = cfg->start == DKHO_DETERMINISTIC;
  s->start = content ? FUSED_CONTENT : FUSED_COMMON;
  for (int k = 0; k < cfg->degrees; k++) {
    if (content) s->start_w[k] = find_place(p, "rel%d", ".w", k, 0);
    s->start_b[k] = find_place(p, "rel%d", content ? ".b" : ".theta", k, 0);
  }
}

static dkho_status modes_of(const dkho_config *cfg, const dec *metric, arena *mem, fused_mesh *m) {
  real *analyse[CX_DEGREES], *synth[CX_DEGREES];
  TRY(extend_modes(cfg, metric, NULL, mem, analyse, synth));
  for (int k = 0; k < cfg->degrees; k++) { /* M is the unit matrix: analysis and synthesis differ by a factor */
    m->analyse[k] = analyse[k];
    m->synthesise[k] = m->star[k] ? synth[k] : NULL;
  }
  return DKHO_OK;
}

dkho_status dkho_fused_create(fused **out, const kern *kernels, const dkho_config *cfg, const params *p,
                              const model_view *v) {
  const cx *c = v->c;
  const features *f = v->f;
  fused_shape s = {.relation = relation_of(cfg),
                   .exchange = (int)cfg->exchange,
                   .width = cfg->exchange_width,
                   .modes = cfg->spectral,
                   .slots = cfg->slots,
                   .degrees = cfg->degrees,
                   .h = cfg->h,
                   .c = cfg->c,
                   .layers = cfg->layers,
                   .substeps = cfg->substeps,
                   .target = cfg->target,
                   .outputs = cfg->channels,
                   .tau_min = (real)cfg->tau_lo,
                   .tau_range = (real)cfg->tau_range,
                   .lag_scale = (real)cfg->lag_scale};
  fused_mesh m = {0};
  const real *fixed[FUSED_DEGREES] = {0};
  arena mem = {0};
  dkho_status st = DKHO_OK;
  for (int k = 0; st == DKHO_OK && k < cfg->degrees; k++) {
    s.n[k] = c->n[k];
    s.encoder[k] = mlp_at(p, "enc%d", k, 0);
    st = rows_of(&mem, f, k, FEAT_CLASS_STATIC, &s.fixed[k]);
    if (st == DKHO_OK) st = rows_of(&mem, f, k, FEAT_CLASS_SAMPLE, &s.varying[k]);
    if (st == DKHO_OK) st = rows_of(&mem, f, k, FEAT_CLASS_GLOBAL, &s.global[k]);
    if (st == DKHO_OK) st = fixed_of(&mem, f, c, k, s.fixed[k].count, &fixed[k]);
  }
  for (int l = 0; l < cfg->layers; l++) layer_at(p, cfg, l, &s.layer[l]);
  s.decoder = mlp_at(p, "dec", 0, 0);
  start_at(cfg, p, &s);
  mesh_of(c, v->metric, cfg->degrees, &m);
  m.share = v->share;
  if (st == DKHO_OK && cfg->spectral) st = modes_of(cfg, v->metric, &mem, &m);
  if (st == DKHO_OK) st = fused_create(out, kernels, &s, &m, fixed);
  arena_free(&mem);
  return st;
}
