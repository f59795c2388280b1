/* runner.c: samples through an operator, in one of two ways: the recorded tape, which serves every model, or the model's own fast path
 * where it has one. DKHO_ENGINE=tape asks for the first. */
#include "run/runner.h"

#include "base/clock.h"
#include "mesh/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16 }; /* samples in flight on the fast path; a longer batch goes in several rounds */

/* One sample of a round, as the fast path takes it. */
typedef struct slot {
  real *varying[CX_DEGREES], *summary, *field; /* field: the scaled target, or the output */
  real *given;                                 /* scaled values of the given rows */
} slot;

/* Everything whose size depends on the complex. */
typedef struct stage {
  const complex_view *v; /* held */
  void *fast;            /* NULL when the tape is used */
  engine *e;             /* the tape's */
  real **work;           /* descriptor scratch, per worker */
  real **summary;        /* per worker, on the tape */
  slot slot[SLOTS];
  int slots;     /* of them in use: one where ranks share the mesh */
  sum_tree *sum; /* of the fast path's gradients */
  int bound;     /* to the current weights */
  arena mem;
} stage;

struct runner {
  const neural_operator *o;
  engine_mode mode;
  pool *threads;
  const model_fast *path; /* NULL: the tape */
  const real *weights;
  stage at;
  /* the call at hand */
  const runner_batch *now;
  int64_t first; /* of the round */
  double described;
};

static int64_t output_extent(const runner *r) {
  return operator_extent(r->o, r->at.v);
}

static void scale_target(const runner *r, int64_t i, real *y) {
  const float *raw = r->now->target(r->now->ctx, i);
  const data_field *t = operator_target(r->o);
  for (int64_t n = output_extent(r), j = 0; j < n; j++) y[j] = (real)(((double)raw[j] - t->shift) / t->scale);
}

/* In physical units given values are put in last, so that they come out as they went in. */
static void unscale_output(const runner *r, int64_t i, const real *y) {
  const data_field *t = operator_target(r->o);
  float *out = r->now->out(r->now->ctx, i);
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  for (int64_t n = output_extent(r), j = 0; j < n; j++) out[j] = (float)((double)y[j] * t->scale + t->shift);
  if (!known_any(&r->at.v->known)) return;
  r->now->inputs(r->now->ctx, i, in, global);
  known_impose(&r->at.v->known, in, global, out);
}

/* ---- the tape ---- */

/* Descriptors, summary and, when training, the scaled target of the i-th sample into the lane. */
static dkho_status fill_lane(void *ctx, const lane *l, int64_t i) {
  runner *r = ctx;
  const model_net *net = &r->at.v->net;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  real *out[CX_DEGREES] = {0}, *summary = r->at.summary[lane_index(l)], *head, *y;
  real *given = net->given == VAR_NONE ? NULL : lane_input(l, net->given);
  r->now->inputs(r->now->ctx, i, in, global);
  for (int k = 0; k < r->o->setup.degrees; k++)
    if (net->feature[k] != VAR_NONE) out[k] = lane_input(l, net->feature[k]);
  features_eval(r->at.v->f, in, global, r->at.work[lane_index(l)], out, summary);
  if (net->summary != VAR_NONE && (head = lane_input(l, net->summary)))
    memcpy(head, summary, (size_t)r->o->setup.summary * sizeof *head);
  if (given) operator_given(r->o, r->at.v, in, global, 1, given);
  if (r->now->target && (y = lane_input(l, net->target))) scale_target(r, i, y);
  return DKHO_OK;
}

static dkho_status take_lane(void *ctx, const lane *l, int64_t i) {
  runner *r = ctx;
  unscale_output(r, i, lane_value(l, r->at.v->net.predicted));
  return DKHO_OK;
}

static dkho_status stage_tape(runner *r) {
  stage *s = &r->at;
  int lanes = pool_width(r->threads);
  if (!ARENA_NEW(&s->mem, s->summary, lanes)) return DKHO_E_MEMORY;
  for (int i = 0; i < lanes; i++)
    if (!ARENA_NEW(&s->mem, s->summary[i], features_summary_width(s->v->f) + 1)) return DKHO_E_MEMORY;
  return engine_create(&s->e, s->v->t, r->mode, s->v->net.loss, r->threads);
}

static dkho_status tape_gradient(runner *r, double weight, double *sum, real *g) {
  engine_batch job = {
      .count = r->now->count, .ranks = r->now->ranks, .number = r->now->sample, .fill = fill_lane, .ctx = r};
  return engine_gradient(r->at.e, &job, weight, NULL, sum, g);
}

/* ---- the fast path ---- */

static dkho_status make_slot(runner *r, slot *s) {
  const features *f = r->at.v->f;
  for (int k = 0; k < r->o->setup.degrees; k++)
    if (!ARENA_NEW(&r->at.mem, s->varying[k], r->at.v->c->n[k] * features_class_width(f, k, FEAT_CLASS_SAMPLE)))
      return DKHO_E_MEMORY;
  const known_rows *known = &r->at.v->known;
  if (!ARENA_NEW(&r->at.mem, s->given, known->count * known->channels + known->periods + 1)) return DKHO_E_MEMORY;
  return ARENA_NEW(&r->at.mem, s->summary, features_summary_width(f) + 1) &&
                 ARENA_NEW(&r->at.mem, s->field, output_extent(r))
             ? DKHO_OK
             : DKHO_E_MEMORY;
}

static dkho_status stage_fast(runner *r) {
  const complex_view *v = r->at.v;
  model_view seen = {v->c, v->metric, v->g, v->f, r->o->share};
  r->at.slots = seen.share ? 1 : SLOTS;
  for (int i = 0; i < r->at.slots; i++) TRY(make_slot(r, &r->at.slot[i]));
  TRY(r->path->create(&r->at.fast, &r->o->setup, r->o->p, &seen, r->mode, r->threads, r->at.slots));
  return r->mode == ENGINE_TRAIN ? sum_tree_create(&r->at.sum, r->path->grads(r->at.fast), SLOTS) : DKHO_OK;
}

/* Descriptors and target of one sample of the round. */
static dkho_status describe_sample(void *ctx, size_t task, int worker) {
  runner *r = ctx;
  slot *s = &r->at.slot[task];
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  r->now->inputs(r->now->ctx, r->first + (int64_t)task, in, global);
  features_eval_sample(r->at.v->f, in, global, r->at.work[worker], s->varying, s->summary);
  operator_given(r->o, r->at.v, in, global, 0, s->given);
  if (r->now->target) scale_target(r, r->first + (int64_t)task, s->field);
  return DKHO_OK;
}

/* The samples of the next round before `end`, at most one a slot. */
static dkho_status next_round(runner *r, int64_t end, int *count, model_sample *sample) {
  int64_t left = end - r->first;
  *count = (int)(left < r->at.slots ? left : r->at.slots);
  double began = clock_now();
  TRY(pool_run(r->threads, (size_t)*count, describe_sample, r));
  r->described += clock_now() - began;
  for (int i = 0; i < *count; i++) {
    const slot *s = &r->at.slot[i];
    sample[i] = (model_sample){.summary = s->summary, .target = s->field, .given = s->given, .out = s->field};
    sample[i].number = r->now->sample ? r->now->sample[r->first + i] : r->first + i;
    for (int k = 0; k < CX_DEGREES; k++) sample[i].varying[k] = s->varying[k];
  }
  return DKHO_OK;
}

/* The tape names the tensor and the sample. */
static dkho_status explain_nonfinite(runner *r, double weight, double *sum, real *g) {
  if (!r->at.e) TRY(stage_tape(r));
  engine_bind(r->at.e, r->weights);
  memset(g, 0, (size_t)r->o->p->size * sizeof *g);
  TRY(tape_gradient(r, weight, sum, g));
  return fail(DKHO_E_NONFINITE, "a gradient of the %s kernels is not finite, that of the tape is", r->path->name);
}

static dkho_status run_round(runner *r, int64_t end, double weight) {
  double loss[SLOTS];
  model_sample sample[SLOTS];
  int count;
  TRY(next_round(r, end, &count, sample));
  TRY(r->path->gradient(r->at.fast, count, sample, weight, loss, r->at.sum));
  for (int i = 0; i < count; i++)
    if (!isfinite(loss[i]))
      return fail(DKHO_E_NONFINITE, "the loss of sample %lld is not finite", (long long)sample[i].number);
  return DKHO_OK;
}

/* This rank's samples of the batch, some at a time; then the sum over all ranks. */
static dkho_status fast_gradient(runner *r, double weight, double *sum, real *g) {
  const comm *c = r->now->ranks ? r->now->ranks : comm_serial();
  int64_t n = r->now->count, end = sum_tree_first(n, c->size, c->rank + 1);
  dkho_status s = DKHO_OK;
  real *total;
  sum_tree_open(r->at.sum, r->now->ranks, n);
  for (r->first = sum_tree_first(n, c->size, c->rank); s == DKHO_OK && r->first < end; r->first += r->at.slots)
    s = run_round(r, end, weight);
  TRY(sum_tree_total(r->at.sum, s, &total, sum));
  *sum *= weight;
  r->path->collect(r->at.fast, total, g);
  if (r->o->share) TRY(comm_broadcast(r->o->share->ranks, 0, g, (size_t)r->o->p->size * sizeof *g));
  return params_finite(g, r->o->p->size) ? DKHO_OK : explain_nonfinite(r, weight, sum, g);
}

static dkho_status unscale_task(void *ctx, size_t task, int worker) {
  runner *r = ctx;
  (void)worker;
  unscale_output(r, r->first + (int64_t)task, r->at.slot[task].field);
  return DKHO_OK;
}

static dkho_status fast_predict(runner *r) {
  for (r->first = 0; r->first < r->now->count; r->first += r->at.slots) {
    model_sample sample[SLOTS];
    int count;
    TRY(next_round(r, r->now->count, &count, sample));
    TRY(r->path->predict(r->at.fast, count, sample));
    TRY(pool_run(r->threads, (size_t)count, unscale_task, r));
  }
  return DKHO_OK;
}

/* ---- the stage ---- */

static void leave_stage(runner *r) {
  if (r->path) r->path->destroy(r->at.fast);
  engine_free(r->at.e);
  sum_tree_free(r->at.sum);
  operator_release(r->o, r->at.v);
  arena_free(&r->at.mem);
  r->at = (stage){0};
}

/* The plain tape instead of the fast path, on demand. */
static dkho_status choose_path(runner *r) {
  const char *name = getenv("DKHO_ENGINE");
  const model_fast *path = r->o->setup.m->fast;
  int tape_wanted = name && strcmp(name, "tape") == 0;
  if (name && !tape_wanted && strcmp(name, "fused") != 0)
    return fail(DKHO_E_INPUT, "DKHO_ENGINE: found '%.40s', expected fused or tape", name);
  r->path = path && !tape_wanted && path->serves(&r->o->setup, r->at.v->f) ? path : NULL;
  if (r->path && known_any(&r->at.v->known) && !path->imposes) r->path = NULL;
  if (r->o->share && !(r->path && path->shares))
    return fail(DKHO_E_INPUT,
                "parts: %s does not run on a mesh in parts with these options; dkho and dkho-x do, by their fused "
                "kernels",
                r->o->setup.m->name);
  return DKHO_OK;
}

static dkho_status enter_stage(runner *r, int complex) {
  stage *s = &r->at;
  int lanes = pool_width(r->threads);
  TRY(operator_hold(r->o, complex, &s->v));
  if (!ARENA_NEW(&s->mem, s->work, lanes)) return DKHO_E_MEMORY;
  for (int i = 0; i < lanes; i++)
    if (!ARENA_NEW(&s->mem, s->work[i], features_work_size(s->v->f))) return DKHO_E_MEMORY;
  TRY(choose_path(r));
  return r->path ? stage_fast(r) : stage_tape(r);
}

/* Buffers for the batch's complex, bound to the weights. */
static dkho_status set_stage(runner *r, const runner_batch *b) {
  r->now = b;
  if (!r->at.v || r->at.v->complex != b->complex) {
    leave_stage(r);
    TRY(enter_stage(r, b->complex));
  }
  if (r->at.bound) return DKHO_OK;
  if (r->path)
    r->path->bind(r->at.fast, r->weights);
  else
    engine_bind(r->at.e, r->weights);
  r->at.bound = 1;
  return DKHO_OK;
}

dkho_status runner_create(runner **out, const neural_operator *o, engine_mode mode, pool *threads) {
  runner *r;
  *out = NULL;
  if (!MEM_NEW(r, 1)) return DKHO_E_MEMORY;
  r->o = o;
  r->mode = mode;
  r->threads = threads;
  dkho_status s = enter_stage(r, 0);
  if (s == DKHO_OK)
    *out = r;
  else
    runner_free(r);
  return s;
}

void runner_free(runner *r) {
  if (!r) return;
  leave_stage(r);
  mem_free(r);
}

void runner_bind(runner *r, const real *weights) {
  r->weights = weights;
  r->at.bound = 0;
}

dkho_status runner_gradient(runner *r, const runner_batch *b, double weight, double *sum, real *g) {
  TRY(set_stage(r, b));
  return r->path ? fast_gradient(r, weight, sum, g) : tape_gradient(r, weight, sum, g);
}

dkho_status runner_predict(runner *r, const runner_batch *b) {
  TRY(set_stage(r, b));
  if (r->path) return fast_predict(r);
  engine_batch job = {.count = b->count, .fill = fill_lane, .take = take_lane, .ctx = r};
  return engine_predict(r->at.e, &job);
}

const char *runner_engine(const runner *r) {
  return r->path ? r->path->name : "tape";
}

const char *runner_kernels(const runner *r) {
  return r->path ? r->path->kernels(r->at.fast) : engine_kernels(r->at.e);
}

double runner_described(const runner *r) {
  return r->described;
}

dkho_status runner_work(const runner *r, double *work) {
  if (r->path) {
    *work = r->path->work(r->at.fast);
    return DKHO_OK;
  }
  TRY(tape_work(r->at.v->t, r->at.v->net.predicted, work));
  if (r->mode == ENGINE_TRAIN) *work *= 3; /* a product has two more on the way back */
  return DKHO_OK;
}
