/* measure.c: see measure.h. It leaves out reading data from a cold disk: the few samples are in memory after the first call. */
#include "study/measure.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double measure_clock(void) {
  return read_clock(CLOCK_MONOTONIC);
}

double measure_processor(void) {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static int ascending_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double measure_median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, ascending_times);
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* ---- peak ---- */

enum { PEAK_GOES = 4, PEAK_ROUNDS = 400000, PEAK_THREADS = 1024 };

typedef struct peak_job {
  const kern *k;
  int width;
  _Atomic int here;
  double done[PEAK_THREADS], start[PEAK_THREADS], end[PEAK_THREADS];
} peak_job;

/* Nobody begins before all are there: so no thread takes two tasks while another still wakes up. */
static dkho_status spin_task(void *ctx, size_t task, int worker) {
  peak_job *j = ctx;
  real sink[KERN_LANES] = {0};
  (void)worker;
  atomic_fetch_add(&j->here, 1);
  while (atomic_load(&j->here) < j->width) sched_yield();
  j->start[task] = measure_clock();
  j->done[task] = j->k->peak(PEAK_ROUNDS, sink);
  j->end[task] = measure_clock();
  return DKHO_OK;
}

dkho_status measure_peak(measured *s) {
  peak_job *j;
  if (!MEM_NEW(j, 1)) return DKHO_E_MEMORY;
  j->k = s->k;
  j->width = pool_width(s->p);
  dkho_status st = DKHO_OK;
  for (int go = 0; st == DKHO_OK && go < PEAK_GOES; go++) {
    atomic_store(&j->here, 0);
    st = pool_run(s->p, (size_t)j->width, spin_task, j);
    double sum = 0, start = j->start[0], end = j->end[0];
    for (int i = 0; i < j->width; i++) {
      sum += j->done[i];
      if (j->start[i] < start) start = j->start[i];
      if (j->end[i] > end) end = j->end[i];
    }
    if (sum / (end - start) > s->peak) s->peak = sum / (end - start);
  }
  mem_free(j);
  return st;
}

/* ---- calls ---- */

dkho_status measure_train(measured *s, int64_t batch) {
  sample_list list = {.d = s->d, .target = s->o->target, .sample = s->turn};
  runner_batch b = samples_batch(&list, 0, batch);
  double sum;
  b.ranks = s->ranks;
  memset(s->g, 0, (size_t)s->o->p->size * sizeof *s->g);
  TRY(runner_gradient(s->train, &b, 1.0 / (double)batch, &sum, s->g));
  TRY(optim_step(s->opt, 1e-6, s->value, s->g, NULL));
  runner_bind(s->train, s->value);
  return DKHO_OK;
}

dkho_status measure_predict(measured *s, int64_t batch) {
  sample_list list = {s->d, s->o->target, s->turn, s->out, s->extent};
  runner_batch b = samples_batch(&list, 0, batch);
  return runner_predict(s->predict, &b);
}

static dkho_status start_training(measured *s) {
  optim_config cfg = optim_defaults(OPTIM_ADAMW);
  size_t before = mem_live_bytes();
  TRY(params_slab(s->o->p, &s->g));
  TRY(params_slab(s->o->p, &s->value));
  memcpy(s->value, s->o->value, (size_t)s->o->p->size * sizeof *s->value);
  TRY(optim_create(&s->opt, s->o->p, &cfg, s->value, s->p));
  TRY(runner_create(&s->train, s->o, ENGINE_TRAIN, s->p));
  s->train_bytes = mem_live_bytes() - before;
  runner_bind(s->train, s->value);
  return DKHO_OK;
}

static dkho_status start_predicting(measured *s) {
  TRY(runner_create(&s->predict, s->o, ENGINE_PREDICT, s->p));
  if (!MEM_NEW(s->out, MEASURE_BATCH * s->extent)) return DKHO_E_MEMORY;
  runner_bind(s->predict, s->o->value);
  return DKHO_OK;
}

/* The samples of the data set in turn, as many as any call wants. */
static dkho_status take_turns(measured *s) {
  int64_t most = pool_width(s->p) > MEASURE_BATCH ? pool_width(s->p) : MEASURE_BATCH, samples = dataset_samples(s->d);
  if (!MEM_NEW(s->turn, most)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < most; i++) s->turn[i] = i % samples;
  return DKHO_OK;
}

dkho_status measure_open(measured *s, const dataset *d, const neural_operator *o, int threads, int predicting) {
  const data_field *t = &o->spec.field[o->target];
  *s = (measured){.d = d, .o = o, .extent = o->first->c->n[t->degree] * t->channels};
  dkho_status st = kern_get(&s->k);
  if (st == DKHO_OK) st = pool_create(&s->p, threads);
  if (st == DKHO_OK) st = take_turns(s);
  if (st == DKHO_OK) st = start_training(s);
  if (st == DKHO_OK && predicting) st = start_predicting(s);
  if (st != DKHO_OK) measure_close(s);
  return st;
}

void measure_close(measured *s) {
  runner_free(s->train);
  runner_free(s->predict);
  optim_free(s->opt);
  mem_free(s->value);
  mem_free(s->g);
  mem_free(s->out);
  mem_free(s->turn);
  pool_free(s->p);
  *s = (measured){0};
}
