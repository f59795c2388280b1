/* runner.c: samples through an operator, in one of two ways: the composed tape, which serves every configuration, or the fused
 * kernels with a short tape behind them (projection, harmonic branch, loss). DKHO_ENGINE=tape asks for the first. */
#include "run/runner.h"

#include "model/dkho/fused_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16 }; /* samples in flight on the fused way; a longer batch goes in several rounds */

/* One sample of a round. */
typedef struct slot {
  real *varying[CX_DEGREES], *summary, *global;
  real *raw; /* predicting: ũ */
  double loss;
  engine *tail; /* training: it keeps the gradient of its parameters */
} slot;

struct runner {
  const oper *o;
  const site *s;
  engine_mode mode;
  pool *threads;
  real **work; /* descriptor scratch, per worker */
  const runner_batch *now;
  /* the composed way */
  engine *e;
  real **summary; /* per lane */
  const real *weights;
  /* the fused way; f NULL when it is not used */
  fused *f;
  const kern *kernels;
  fused_team *team;
  tape *t;
  var raw;
  dkho_net net;
  int globals, *global_slot;
  slot slot[SLOTS];
  real *packed;
  int64_t first; /* of the round */
  double weight;
  arena mem;
};

static const data_field *target_of(const runner *r) {
  return &r->o->spec.field[r->o->target];
}
static int64_t extent(const runner *r) {
  return r->s->c->n[target_of(r)->degree] * target_of(r)->channels;
}

static void scale_target(const runner *r, int64_t i, real *y) {
  const float *raw = r->now->target(r->now->ctx, i);
  const data_field *t = target_of(r);
  for (int64_t n = extent(r), j = 0; j < n; j++) y[j] = (real)(((double)raw[j] - t->shift) / t->scale);
}

static void unscale(const runner *r, int64_t i, const real *y) {
  const data_field *t = target_of(r);
  float *out = r->now->out(r->now->ctx, i);
  for (int64_t n = extent(r), j = 0; j < n; j++) out[j] = (float)((double)y[j] * t->scale + t->shift);
}

/* ---- the composed way ---- */

/* Descriptors, summary and, when training, the scaled target of the i-th sample into the lane. */
static dkho_status fill(void *ctx, const lane *l, int64_t i) {
  runner *r = ctx;
  const dkho_net *net = &r->s->net;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  real *out[CX_DEGREES] = {0}, *summary = r->summary[lane_index(l)], *head, *y;
  r->now->inputs(r->now->ctx, i, in, global);
  for (int k = 0; k < r->o->cfg.degrees; k++) out[k] = lane_input(l, net->feature[k]);
  features_eval(r->s->f, in, global, r->work[lane_index(l)], out, summary);
  if (net->summary != VAR_NONE && (head = lane_input(l, net->summary)))
    memcpy(head, summary, (size_t)r->o->cfg.summary * sizeof *head);
  if (r->now->target && (y = lane_input(l, net->target))) scale_target(r, i, y);
  return DKHO_OK;
}

static dkho_status take(void *ctx, const lane *l, int64_t i) {
  runner *r = ctx;
  unscale(r, i, lane_value(l, r->s->net.predicted));
  return DKHO_OK;
}

static dkho_status compose(runner *r) {
  int lanes = pool_width(r->threads);
  TRY(engine_create(&r->e, r->s->t, r->mode, r->s->net.loss, r->threads));
  if (!ARENA_NEW(&r->mem, r->summary, lanes)) return DKHO_E_MEMORY;
  for (int i = 0; i < lanes; i++)
    if (!ARENA_NEW(&r->mem, r->summary[i], features_summary_width(r->s->f) + 1)) return DKHO_E_MEMORY;
  return DKHO_OK;
}

static dkho_status composed_gradient(runner *r, double weight, double *sum, real *g) {
  engine_batch job = {.count = r->now->count, .number = r->now->sample, .fill = fill, .ctx = r};
  return engine_gradient(r->e, &job, weight, NULL, sum, g);
}

/* ---- the fused way ---- */

static dkho_status make_slot(runner *r, slot *s) {
  const features *f = r->s->f;
  for (int k = 0; k < r->o->cfg.degrees; k++)
    if (!ARENA_NEW(&r->mem, s->varying[k], r->s->c->n[k] * features_class_width(f, k, FEAT_CLASS_SAMPLE)))
      return DKHO_E_MEMORY;
  if (!ARENA_NEW(&r->mem, s->summary, features_summary_width(f) + 1) || !ARENA_NEW(&r->mem, s->global, r->globals + 1))
    return DKHO_E_MEMORY;
  if (r->mode == ENGINE_PREDICT && !ARENA_NEW(&r->mem, s->raw, extent(r))) return DKHO_E_MEMORY;
  return engine_create(&s->tail, r->t, r->mode, r->net.loss, NULL);
}

static dkho_status fuse(runner *r) {
  const oper *o = r->o;
  TRY(kern_get(&r->kernels));
  TRY(dkho_fused_create(&r->f, r->kernels, &o->cfg, o->p, r->s->c, r->s->metric, r->s->f));
  TRY(r->mode == ENGINE_TRAIN ? fused_team_create(&r->team, r->f, r->threads, SLOTS)
                              : fused_team_create_predict(&r->team, r->f, r->threads, SLOTS));
  TRY(tape_create(&r->t, o->p));
  TRY(dkho_record_tail(&o->cfg, r->s->g, r->t, &r->raw, &r->net));
  if (!ARENA_NEW(&r->mem, r->global_slot, DKHO_FUSED_GLOBALS)) return DKHO_E_MEMORY;
  r->globals = dkho_fused_globals(&o->cfg, r->s->f, r->global_slot);
  for (int i = 0; i < SLOTS; i++) TRY(make_slot(r, &r->slot[i]));
  return ARENA_NEW(&r->mem, r->packed, fused_grads(r->f)) ? DKHO_OK : DKHO_E_MEMORY;
}

static dkho_status describe(void *ctx, size_t task, int worker) {
  runner *r = ctx;
  slot *s = &r->slot[task];
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  r->now->inputs(r->now->ctx, r->first + (int64_t)task, in, global);
  features_eval_sample(r->s->f, in, global, r->work[worker], s->varying, s->summary);
  for (int i = 0; i < r->globals; i++) s->global[i] = s->summary[r->global_slot[i]];
  return DKHO_OK;
}

/* The samples of the next round, at most SLOTS; 0 when all are done. */
static dkho_status next_round(runner *r, int *count, fused_sample *sample) {
  int64_t left = r->now->count - r->first;
  *count = (int)(left < SLOTS ? left : SLOTS);
  TRY(pool_run(r->threads, (size_t)*count, describe, r));
  for (int i = 0; i < *count; i++) {
    for (int k = 0; k < r->o->cfg.degrees; k++) sample[i].varying[k] = r->slot[i].varying[k];
    sample[i].global = r->slot[i].global;
  }
  return DKHO_OK;
}

/* The tail of one slot: its inputs, and what comes back. */
typedef struct tail_call {
  runner *r;
  int slot;
  const real *y;
  real *g_y;
} tail_call;

static dkho_status tail_fill(void *ctx, const lane *l, int64_t zero) {
  const tail_call *c = ctx;
  const runner *r = c->r;
  real *to;
  (void)zero;
  memcpy(lane_input(l, r->raw), c->y, (size_t)extent(r) * sizeof *c->y);
  if (r->net.summary != VAR_NONE && (to = lane_input(l, r->net.summary)))
    memcpy(to, r->slot[c->slot].summary, (size_t)r->o->cfg.summary * sizeof *to);
  if (r->now->target && (to = lane_input(l, r->net.target))) scale_target(r, r->first + c->slot, to);
  return DKHO_OK;
}

static dkho_status tail_take(void *ctx, const lane *l, int64_t zero) {
  const tail_call *c = ctx;
  (void)zero;
  if (c->g_y)
    memcpy(c->g_y, lane_grad(l, c->r->raw), (size_t)extent(c->r) * sizeof *c->g_y);
  else
    unscale(c->r, c->r->first + c->slot, lane_value(l, c->r->net.predicted));
  return DKHO_OK;
}

static dkho_status tail_loss(void *ctx, int sample, const real *y, real *g_y) {
  runner *r = ctx;
  slot *s = &r->slot[sample];
  tail_call call = {r, sample, y, g_y};
  int64_t number = r->now->sample ? r->now->sample[r->first + sample] : r->first + sample;
  engine_batch b = {.count = 1, .number = &number, .fill = tail_fill, .take = tail_take, .ctx = &call};
  return engine_gradient(s->tail, &b, r->weight, NULL, &s->loss, NULL);
}

static dkho_status fused_gradient(runner *r, double weight, double *sum, real *g) {
  r->weight = weight;
  *sum = 0;
  for (r->first = 0; r->first < r->now->count; r->first += SLOTS) {
    fused_sample sample[SLOTS];
    int count;
    TRY(next_round(r, &count, sample));
    TRY(fused_train(r->team, count, sample, tail_loss, r, r->packed));
    fused_collect(r->f, r->weights, r->packed, g);
    for (int i = 0; i < count; i++) {
      *sum += r->slot[i].loss;
      engine_add(r->slot[i].tail, g);
    }
  }
  if (params_finite(g, r->o->p->size)) return DKHO_OK;
  /* The composed way names the tensor and the sample. */
  if (!r->e) TRY(compose(r));
  engine_bind(r->e, r->weights);
  memset(g, 0, (size_t)r->o->p->size * sizeof *g);
  TRY(composed_gradient(r, weight, sum, g));
  return fail(DKHO_E_NONFINITE, "a gradient of the fused kernels is not finite, that of the composed tape is");
}

static dkho_status finish(void *ctx, size_t task, int worker) {
  runner *r = ctx;
  tail_call call = {r, (int)task, r->slot[task].raw, NULL};
  engine_batch b = {.count = 1, .fill = tail_fill, .take = tail_take, .ctx = &call};
  (void)worker;
  return engine_predict(r->slot[task].tail, &b);
}

static dkho_status predict_fused(runner *r) {
  for (r->first = 0; r->first < r->now->count; r->first += SLOTS) {
    fused_sample sample[SLOTS];
    real *y[SLOTS];
    int count;
    TRY(next_round(r, &count, sample));
    for (int i = 0; i < count; i++) y[i] = r->slot[i].raw;
    TRY(fused_predict(r->team, count, sample, y));
    TRY(pool_run(r->threads, (size_t)count, finish, r));
  }
  return DKHO_OK;
}

/* ---- both ---- */

/* The plain tape instead of the kernels, on demand. */
static dkho_status wants_tape(int *tape_wanted) {
  const char *name = getenv("DKHO_ENGINE");
  *tape_wanted = name && strcmp(name, "tape") == 0;
  return !name || *tape_wanted || strcmp(name, "fused") == 0
             ? DKHO_OK
             : fail(DKHO_E_INPUT, "DKHO_ENGINE: found '%.40s', expected fused or tape", name);
}

static dkho_status prepare(runner *r) {
  int lanes = pool_width(r->threads);
  if (!ARENA_NEW(&r->mem, r->work, lanes)) return DKHO_E_MEMORY;
  for (int i = 0; i < lanes; i++)
    if (!ARENA_NEW(&r->mem, r->work[i], features_work_size(r->s->f))) return DKHO_E_MEMORY;
  int plain;
  TRY(wants_tape(&plain));
  return !plain && dkho_fused_serves(&r->o->cfg, r->s->f) ? fuse(r) : compose(r);
}

dkho_status runner_create(runner **out, const oper *o, int site_index, engine_mode mode, pool *threads) {
  runner *r;
  *out = NULL;
  if (!MEM_NEW(r, 1)) return DKHO_E_MEMORY;
  r->o = o;
  r->s = &o->site[site_index];
  r->mode = mode;
  r->threads = threads;
  dkho_status s = prepare(r);
  if (s == DKHO_OK)
    *out = r;
  else
    runner_free(r);
  return s;
}

void runner_free(runner *r) {
  if (!r) return;
  for (int i = 0; i < SLOTS; i++) engine_free(r->slot[i].tail);
  tape_free(r->t);
  fused_team_free(r->team);
  fused_free(r->f);
  engine_free(r->e);
  arena_free(&r->mem);
  mem_free(r);
}

void runner_bind(runner *r, const real *weights) {
  r->weights = weights;
  if (!r->f) {
    engine_bind(r->e, weights);
    return;
  }
  fused_prepare(r->f, r->threads, weights);
  for (int i = 0; i < SLOTS; i++) engine_bind(r->slot[i].tail, weights);
}

dkho_status runner_gradient(runner *r, const runner_batch *b, double weight, double *sum, real *g) {
  r->now = b;
  return r->f ? fused_gradient(r, weight, sum, g) : composed_gradient(r, weight, sum, g);
}

dkho_status runner_predict(runner *r, const runner_batch *b) {
  r->now = b;
  if (r->f) return predict_fused(r);
  engine_batch job = {.count = b->count, .fill = fill, .take = take, .ctx = r};
  return engine_predict(r->e, &job);
}

const char *runner_engine(const runner *r) {
  return r->f ? "fused" : "tape";
}

const char *runner_kernels(const runner *r) {
  return r->f ? r->kernels->name : "plain";
}

double runner_work(const runner *r) {
  if (!r->f) return 0;
  return r->mode == ENGINE_TRAIN ? fused_work_step(r->f) : fused_work_forward(r->f);
}
