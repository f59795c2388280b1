/* optim.c: AdamW, the step over all tensors, and schedules; see optim.h. */
#include "nn/optim_impl.h"

#include "la/la.h"

#include <math.h>
#include <string.h>

static const char *const kind_name[OPTIM_KINDS] = {"adamw", "muon", "soap"};

const char *optim_name(optim_kind kind) {
  return kind_name[kind];
}

dkho_status optim_parse(const char *name, optim_kind *out) {
  for (int i = 0; i < OPTIM_KINDS; i++)
    if (strcmp(name, kind_name[i]) == 0) {
      *out = (optim_kind)i;
      return DKHO_OK;
    }
  return fail(DKHO_E_INPUT, "optimizer: found '%.40s', expected adamw, muon or soap", name);
}

double optim_rate(optim_kind kind, double lr) {
  static const double times[OPTIM_KINDS] = {1, 10, 6};
  return times[kind] * lr;
}

int64_t optim_batch(optim_kind kind, int64_t batch) {
  return kind == OPTIM_MUON ? (batch + 3) / 4 : batch;
}

/* SOAP forgets faster: its second moments belong to bases that turn. */
optim_config optim_defaults(optim_kind kind) {
  optim_config c = {
      .kind = kind, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .momentum = 0.95, .refresh = 10, .clip = 1};
  if (kind == OPTIM_SOAP) c.beta1 = c.beta2 = 0.95;
  return c;
}

int optim_is_matrix(const optim_config *c, const param *q) {
  int64_t least = q->rows < q->cols ? q->rows : q->cols;
  return q->live && !q->state && !q->paired && !q->entrywise && c->kind != OPTIM_ADAMW && least >= 8;
}

dkho_status optim_create(optim **out, const params *p, const optim_config *cfg, const real *value, pool *threads) {
  optim *o;
  *out = NULL;
  if (cfg->kind != OPTIM_ADAMW) TRY(dense_ready(pool_width(threads)));
  if (!MEM_NEW(o, 1)) return DKHO_E_MEMORY;
  o->cfg = *cfg, o->p = p, o->threads = threads;
  dkho_status s = params_slab(p, &o->m);
  if (s == DKHO_OK) s = params_slab(p, &o->v);
  if (s == DKHO_OK && cfg->ema > 0) s = params_slab(p, &o->average);
  if (s == DKHO_OK && cfg->kind == OPTIM_MUON) s = muon_create(o);
  if (s == DKHO_OK && cfg->kind == OPTIM_SOAP) s = soap_create(o);
  if (s == DKHO_OK && !ARENA_NEW(&o->mem, o->room, o->room_each * pool_width(threads) + 1)) s = DKHO_E_MEMORY;
  if (s != DKHO_OK) {
    optim_free(o);
    return s;
  }
  if (o->average) memcpy(o->average, value, (size_t)p->size * sizeof *value);
  *out = o;
  return DKHO_OK;
}

void optim_free(optim *o) {
  if (!o) return;
  mem_free(o->m);
  mem_free(o->v);
  mem_free(o->average);
  arena_free(&o->mem);
  mem_free(o);
}

static double square_sum(const param *q, const real *g) {
  double sum = 0;
  for (int64_t i = 0; i < q->count; i++) sum += (double)g[q->offset + i] * (double)g[q->offset + i];
  return sum;
}

double optim_norm(const params *p, const real *g) {
  double sum = 0;
  for (int i = 0; i < p->count; i++)
    if (p->list[i].live && !p->list[i].state) sum += square_sum(&p->list[i], g);
  return sqrt(sum);
}

/* θ ← θ(1 - lr·decay); m ← m + (1-β₁)(g - m); v ← β₂v + (1-β₂)g²; θ ← θ - lr/(1-β₁ᵗ) · m / (√v/√(1-β₂ᵗ) + eps) */
static void adamw(const optim_stride *s, const param *q) {
  const optim *o = s->o;
  const optim_config *c = &o->cfg;
  real *value = s->value, factor = (real)s->factor;
  real keep = (real)(1 - s->lr * c->decay), b1 = (real)(1 - c->beta1), b2 = (real)c->beta2, b2c = (real)(1 - c->beta2);
  real rate = (real)(s->lr / (1 - pow(c->beta1, (double)o->step)));
  real root = (real)sqrt(1 - pow(c->beta2, (double)o->step)), eps = (real)c->eps;
  for (int64_t i = q->offset; i < q->offset + q->count; i++) {
    real gi = factor * s->g[i];
    value[i] *= keep;
    o->m[i] += b1 * (gi - o->m[i]);
    o->v[i] = b2 * o->v[i] + b2c * gi * gi;
    value[i] -= rate * (o->m[i] / ((real)sqrt((double)o->v[i]) / root + eps));
  }
}

static void follow(const optim *o, const param *q, const real *value) {
  real keep = (real)o->cfg.ema, fresh = (real)(1 - o->cfg.ema);
  for (int64_t i = q->offset; i < q->offset + q->count; i++) o->average[i] = keep * o->average[i] + fresh * value[i];
}

/* A state's change is g itself. */
static void move_state(const optim_stride *s, const param *q) {
  const optim *o = s->o;
  for (int64_t i = q->offset; i < q->offset + q->count; i++) s->value[i] += s->g[i];
  if (o->average) memcpy(o->average + q->offset, s->value + q->offset, (size_t)q->count * sizeof *s->value);
}

/* A tensor's step touches nothing of another's. */
static dkho_status tensor_step(void *ctx, size_t i, int worker) {
  const optim_stride *s = ctx;
  const optim *o = s->o;
  const param *q = &o->p->list[i];
  double *room = o->room + worker * o->room_each;
  if (!q->live || !optim_is_mine(o, (int)i)) return DKHO_OK;
  if (q->state) return move_state(s, q), DKHO_OK;
  if (!optim_is_matrix(&o->cfg, q))
    adamw(s, q);
  else if (o->cfg.kind == OPTIM_MUON)
    muon_step(s, q, room);
  else
    TRY(soap_step(s, (int)i, room));
  return DKHO_OK;
}

dkho_status optim_step(optim *o, double lr, real *value, const real *g, double *norm) {
  const params *p = o->p;
  for (int i = 0; i < p->count; i++)
    if (p->list[i].live && !params_finite(g + p->list[i].offset, p->list[i].count))
      return fail(DKHO_E_NONFINITE, "gradient of %s is not finite", p->list[i].name);
  double size = optim_norm(p, g), factor = 1;
  if (norm) *norm = size;
  if (o->cfg.clip > 0 && o->cfg.clip / (size + 1e-6) < 1) factor = o->cfg.clip / (size + 1e-6);
  o->step++;
  optim_stride stride = {o, lr, factor, value, g};
  TRY(optim_exchange(o, pool_run(o->threads, (size_t)p->count, tensor_step, &stride), value));
  for (int i = 0; o->average && i < p->count; i++)
    if (p->list[i].live && !p->list[i].state) follow(o, &p->list[i], value);
  return DKHO_OK;
}

double lr_cosine(double lr, int64_t epoch, int64_t epochs) {
  return lr * (1 + cos(3.14159265358979323846 * (double)epoch / (double)epochs)) / 2;
}

static const char *const schedule_name[LR_SCHEDULES] = {"cosine", "cosine_step", "linear", "constant"};

const char *lr_name(lr_schedule s) {
  return schedule_name[s];
}

dkho_status lr_parse(const char *name, lr_schedule *out) {
  for (int i = 0; i < LR_SCHEDULES; i++)
    if (strcmp(name, schedule_name[i]) == 0) {
      *out = (lr_schedule)i;
      return DKHO_OK;
    }
  return fail(DKHO_E_INPUT, "schedule: found '%.40s', expected cosine, cosine_step, linear or constant", name);
}

double lr_at(lr_schedule s, double lr, const lr_clock *t) {
  int64_t done = t->epoch * t->steps + t->step, all = t->epochs * t->steps;
  switch (s) {
  case LR_COSINE:
    return lr_cosine(lr, t->epoch, t->epochs);
  case LR_COSINE_STEP:
    return lr_cosine(lr, done, all);
  case LR_LINEAR:
    return lr * (1 - (double)done / (double)all);
  default:
    return lr;
  }
}

double lr_warmup(int64_t step, int64_t warmup) {
  return step < warmup ? (double)(step + 1) / (double)warmup : 1;
}
