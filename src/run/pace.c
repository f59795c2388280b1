/* pace.c: steps against the clock, on the training samples, without changing any weights. */
#include "run/pace.h"

#include "run/runner.h"

#include <string.h>
#include <time.h>

#define SECONDS 0.3
enum { ROUNDS_MAX = 20 };

typedef struct stand {
  const dataset *d;
  const oper *o;
  const int64_t *sample;
  float *out;
  int64_t count, extent;
  real *gradient;
  runner *run;
} stand;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void inputs(void *ctx, int64_t i, const float **in, const double **global) {
  const stand *s = ctx;
  dataset_inputs(s->d, s->sample[i], in, global);
}
static const float *target(void *ctx, int64_t i) {
  const stand *s = ctx;
  return dataset_value(s->d, s->o->target, s->sample[i]);
}
static float *place(void *ctx, int64_t i) {
  const stand *s = ctx;
  return s->out + i * s->extent;
}

static dkho_status step(stand *s, engine_mode mode) {
  runner_batch b = {.count = s->count, .sample = s->sample, .inputs = inputs, .ctx = s};
  if (mode == ENGINE_PREDICT) {
    b.out = place;
    return runner_predict(s->run, &b);
  }
  double sum;
  b.target = target;
  memset(s->gradient, 0, (size_t)s->o->p->size * sizeof *s->gradient);
  return runner_gradient(s->run, &b, 1.0 / (double)s->count, &sum, s->gradient);
}

/* Seconds per sample, after one step to warm up. */
static dkho_status clock_mode(stand *s, engine_mode mode, pool *threads, double *seconds) {
  TRY(runner_create(&s->run, s->o, 0, mode, threads));
  runner_bind(s->run, s->o->value);
  dkho_status st = step(s, mode);
  int rounds = 0;
  double start = now();
  while (st == DKHO_OK && rounds < ROUNDS_MAX && (rounds == 0 || now() - start < SECONDS)) st = step(s, mode), rounds++;
  *seconds = (now() - start) / (double)(rounds ? rounds : 1) / (double)s->count;
  runner_free(s->run);
  s->run = NULL;
  return st;
}

dkho_status pace_measure(pace *out, const dataset *d, const run_config *cfg, pool *threads) {
  stand s = {.d = d};
  oper *o = NULL;
  int64_t trains;
  s.sample = dataset_split(d, DATA_TRAIN, &trains);
  int first, here;
  int64_t row;
  dataset_locate(d, s.sample[0], &first, &row);
  for (s.count = 0; s.count < trains && s.count < cfg->batch; s.count++) {
    dataset_locate(d, s.sample[s.count], &here, &row);
    if (here != first || here != 0) break;
  }
  if (!s.count) return fail(DKHO_E_INPUT, "no training samples on the first complex");
  dkho_status st = oper_create(&o, d, &cfg->oper);
  if (st == DKHO_OK) {
    const data_field *t = &o->spec.field[o->target];
    s.o = o, s.extent = o->site[0].c->n[t->degree] * t->channels;
    if (!MEM_NEW(s.out, s.count * s.extent)) st = DKHO_E_MEMORY;
  }
  if (st == DKHO_OK) st = params_slab(o->p, &s.gradient);
  if (st == DKHO_OK) st = clock_mode(&s, ENGINE_TRAIN, threads, &out->train);
  if (st == DKHO_OK) st = clock_mode(&s, ENGINE_PREDICT, threads, &out->predict);
  mem_free(s.gradient);
  mem_free(s.out);
  oper_free(o);
  return st;
}

double pace_total(const pace *p, int64_t epochs, int64_t trains, int64_t vals) {
  return (double)epochs * ((double)trains * p->train + (double)vals * p->predict);
}
