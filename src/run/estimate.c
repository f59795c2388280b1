/* estimate.c: steps against the clock, on the training samples, without changing any weights. */
#include "base/clock.h"
#include "run/estimate.h"

#include "run/samples.h"

#include <math.h>
#include <string.h>

#define SECONDS 0.3
enum { ROUNDS_MAX = 20, EPOCHS_MOST = 100000 };

typedef struct stopwatch {
  const dataset *d;
  const neural_operator *o;
  const int64_t *sample;
  int64_t count;
  real *gradient;
  runner *run;
} stopwatch;

static dkho_status time_step(stopwatch *s, double *seconds) {
  sample_list list = {.d = s->d, .target = s->o->target, .sample = s->sample};
  runner_batch b = samples_batch(&list, 0, s->count);
  double sum, start = clock_now();
  memset(s->gradient, 0, (size_t)s->o->p->size * sizeof *s->gradient);
  TRY(runner_gradient(s->run, &b, 1.0 / (double)s->count, &sum, s->gradient));
  *seconds = (clock_now() - start) / (double)s->count;
  return DKHO_OK;
}

/* The quickest of a few steps: the first one also touches the memory, the others may be disturbed. */
static dkho_status time_steps(stopwatch *s, double *seconds) {
  double start = clock_now(), here;
  TRY(time_step(s, seconds));
  for (int rounds = 1; rounds < ROUNDS_MAX && clock_now() - start < SECONDS; rounds++) {
    TRY(time_step(s, &here));
    if (here < *seconds) *seconds = here;
  }
  return DKHO_OK;
}

dkho_status estimate_step(double *out, const dataset *d, const run_config *cfg, pool *threads) {
  stopwatch s = {.d = d};
  neural_operator *o = NULL;
  int64_t trains, row, most = 2 * pool_width(threads);
  s.sample = dataset_split(d, DATA_TRAIN, &trains);
  for (int here = 0; s.count < trains && s.count < cfg->batch && s.count < most; s.count++) {
    dataset_locate(d, s.sample[s.count], &here, &row);
    if (here) break;
  }
  if (!s.count) return fail(DKHO_E_INPUT, "no training samples on the first complex");
  TRY(dataset_prove(d, cfg->request.target, s.count, s.sample));
  TRY(operator_create(&o, d, &cfg->request));
  s.o = o;
  dkho_status st = params_slab(o->p, &s.gradient);
  if (st == DKHO_OK) st = runner_create(&s.run, o, ENGINE_TRAIN, threads);
  if (st == DKHO_OK) {
    runner_bind(s.run, o->value);
    st = time_steps(&s, out);
  }
  runner_free(s.run);
  mem_free(s.gradient);
  operator_free(o);
  return st;
}

double estimate_run(double seconds, int64_t epochs, int64_t trains, int64_t vals) {
  return (double)epochs * seconds * ((double)trains + (double)vals / 3);
}

dkho_status epochs_in_time(int64_t *epochs, double minutes, const dataset *d, const run_config *cfg, pool *threads) {
  double seconds;
  int64_t trains, vals;
  dataset_split(d, DATA_TRAIN, &trains);
  dataset_split(d, DATA_VAL, &vals);
  if (cfg->train_samples) trains = cfg->train_samples;
  TRY(estimate_step(&seconds, d, cfg, threads));
  double fit = floor(60 * minutes / estimate_run(seconds, 1, trains, vals));
  *epochs = fit < 1 ? 1 : fit > EPOCHS_MOST ? EPOCHS_MOST : (int64_t)fit;
  return DKHO_OK;
}
