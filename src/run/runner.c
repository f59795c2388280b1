/* runner.c: feeding the engines. */
#include "run/runner.h"

#include <string.h>

struct runner {
  const oper *o;
  const site *s;
  engine *e;
  real **work, **summary; /* per lane */
  const runner_batch *now;
  arena mem;
};

dkho_status runner_create(runner **out, const oper *o, int site_index, engine_mode mode, pool *threads) {
  runner *r;
  const site *s = &o->site[site_index];
  int lanes = pool_width(threads);
  *out = NULL;
  if (!MEM_NEW(r, 1)) return DKHO_E_MEMORY;
  r->o = o;
  r->s = s;
  dkho_status st = engine_create(&r->e, s->t, mode, s->net.loss, threads);
  if (st == DKHO_OK && !(ARENA_NEW(&r->mem, r->work, lanes) && ARENA_NEW(&r->mem, r->summary, lanes)))
    st = DKHO_E_MEMORY;
  for (int i = 0; st == DKHO_OK && i < lanes; i++)
    if (!ARENA_NEW(&r->mem, r->work[i], features_work_size(s->f)) ||
        !ARENA_NEW(&r->mem, r->summary[i], features_summary_width(s->f) + 1))
      st = DKHO_E_MEMORY;
  if (st == DKHO_OK)
    *out = r;
  else
    runner_free(r);
  return st;
}

void runner_free(runner *r) {
  if (!r) return;
  engine_free(r->e);
  arena_free(&r->mem);
  mem_free(r);
}

void runner_bind(runner *r, const real *weights) {
  engine_bind(r->e, weights);
}

static const data_field *target_of(const runner *r) {
  return &r->o->spec.field[r->o->target];
}
static int64_t extent(const runner *r) {
  return r->s->c->n[target_of(r)->degree] * target_of(r)->channels;
}

/* Descriptors, summary and, when training, the scaled target of the i-th sample into the lane. */
static dkho_status fill(void *ctx, const lane *l, int64_t i) {
  runner *r = ctx;
  const dkho_net *net = &r->s->net;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  real *out[CX_DEGREES] = {0}, *summary = r->summary[lane_index(l)];
  r->now->inputs(r->now->ctx, i, in, global);
  for (int k = 0; k < r->o->cfg.degrees; k++) out[k] = lane_input(l, net->feature[k]);
  features_eval(r->s->f, in, global, r->work[lane_index(l)], out, summary);
  real *head = net->summary == VAR_NONE ? NULL : lane_input(l, net->summary), *y;
  if (head) memcpy(head, summary, (size_t)r->o->cfg.summary * sizeof *head);
  if (!r->now->target || !(y = lane_input(l, net->target))) return DKHO_OK;
  const float *raw = r->now->target(r->now->ctx, i);
  const data_field *t = target_of(r);
  for (int64_t n = extent(r), j = 0; j < n; j++) y[j] = (real)(((double)raw[j] - t->shift) / t->scale);
  return DKHO_OK;
}

static dkho_status take(void *ctx, const lane *l, int64_t i) {
  runner *r = ctx;
  const data_field *t = target_of(r);
  const real *y = lane_value(l, r->s->net.predicted);
  float *out = r->now->out(r->now->ctx, i);
  for (int64_t n = extent(r), j = 0; j < n; j++) out[j] = (float)((double)y[j] * t->scale + t->shift);
  return DKHO_OK;
}

dkho_status runner_gradient(runner *r, const runner_batch *b, double weight, double *sum, real *g) {
  r->now = b;
  engine_batch job = {.count = b->count, .number = b->sample, .fill = fill, .ctx = r};
  return engine_gradient(r->e, &job, weight, NULL, sum, g);
}

dkho_status runner_predict(runner *r, const runner_batch *b) {
  r->now = b;
  engine_batch job = {.count = b->count, .fill = fill, .take = take, .ctx = r};
  return engine_predict(r->e, &job);
}
