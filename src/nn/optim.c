/* optim.c: AdamW and schedules; see optim.h. */
#include "nn/optim.h"

#include <math.h>
#include <string.h>

optim_config optim_defaults(void) {
  return (optim_config){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .decay = 0, .clip = 1, .ema = 0};
}

dkho_status optim_create(optim **out, const params *p, const optim_config *cfg, const real *value) {
  optim *o;
  *out = NULL;
  if (!MEM_NEW(o, 1)) return DKHO_E_MEMORY;
  o->cfg = *cfg;
  o->p = p;
  dkho_status s = params_slab(p, &o->m);
  if (s == DKHO_OK) s = params_slab(p, &o->v);
  if (s == DKHO_OK && cfg->ema > 0) s = params_slab(p, &o->average);
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
    if (p->list[i].live) sum += square_sum(&p->list[i], g);
  return sqrt(sum);
}

/* θ ← θ(1 - lr·decay); m ← m + (1-β₁)(g - m); v ← β₂v + (1-β₂)g²; θ ← θ - lr/(1-β₁ᵗ) · m / (√v/√(1-β₂ᵗ) + eps) */
static void adamw(const optim *o, const param *q, double lr, real factor, real *value, const real *g) {
  const optim_config *c = &o->cfg;
  real keep = (real)(1 - lr * c->decay), b1 = (real)(1 - c->beta1), b2 = (real)c->beta2, b2c = (real)(1 - c->beta2);
  real rate = (real)(lr / (1 - pow(c->beta1, (double)o->step)));
  real root = (real)sqrt(1 - pow(c->beta2, (double)o->step)), eps = (real)c->eps;
  for (int64_t i = q->offset; i < q->offset + q->count; i++) {
    real gi = factor * g[i];
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

dkho_status optim_step(optim *o, double lr, real *value, const real *g, double *norm) {
  const params *p = o->p;
  for (int i = 0; i < p->count; i++)
    if (p->list[i].live && !params_finite(g + p->list[i].offset, p->list[i].count))
      return fail(DKHO_E_NONFINITE, "gradient of %s is not finite", p->list[i].name);
  double size = optim_norm(p, g), factor = 1;
  if (norm) *norm = size;
  if (o->cfg.clip > 0 && o->cfg.clip / (size + 1e-6) < 1) factor = o->cfg.clip / (size + 1e-6);
  o->step++;
  for (int i = 0; i < p->count; i++) {
    if (!p->list[i].live) continue;
    adamw(o, &p->list[i], lr, (real)factor, value, g);
    if (o->average) follow(o, &p->list[i], value);
  }
  return DKHO_OK;
}

double lr_cosine(double lr, int64_t epoch, int64_t epochs) {
  return lr * (1 + cos(3.14159265358979323846 * (double)epoch / (double)epochs)) / 2;
}

double lr_warmup(int64_t step, int64_t warmup) {
  return step < warmup ? (double)(step + 1) / (double)warmup : 1;
}
