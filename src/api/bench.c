/* bench.c: how fast this machine trains and predicts, in ratios to its own peak. Measures the median of repeated calls; it leaves
 * out reading data from a cold disk. */
#include "api/api.h"
#include "base/report.h"
#include "kern/kern.h"
#include "run/config.h"
#include "run/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 16, SAMPLES = 24, REPEATS_MAX = 200, PEAK_ROUNDS = 200000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ---- peak ---- */

typedef struct peak_job {
  const kern *k;
  double done[1024];
} peak_job;

static dkho_status spin(void *ctx, size_t task, int worker) {
  peak_job *j = ctx;
  real sink[KERN_LANES];
  (void)worker;
  j->done[task] = j->k->peak(PEAK_ROUNDS, sink);
  return DKHO_OK;
}

/* Multiply-adds per second with all threads busy: the best of several short rounds. */
static dkho_status measure_peak(const kern *k, pool *p, double *rate) {
  peak_job *j;
  if (!MEM_NEW(j, 1)) return DKHO_E_MEMORY;
  j->k = k;
  *rate = 0;
  dkho_status s = DKHO_OK;
  for (int round = 0; s == DKHO_OK && round < 8; round++) {
    double start = now(), sum = 0;
    s = pool_run(p, (size_t)pool_width(p), spin, j);
    for (int i = 0; i < pool_width(p); i++) sum += j->done[i];
    double here = sum / (now() - start);
    if (here > *rate) *rate = here;
  }
  mem_free(j);
  return s;
}

/* ---- one operator ---- */

typedef struct subject {
  const dataset *d;
  const oper *o;
  runner *train, *predict;
  real *g;
  float *out;
  int64_t extent;
} subject;

static void inputs(void *ctx, int64_t i, const float **in, const double **global) {
  dataset_inputs(((subject *)ctx)->d, i, in, global);
}
static const float *target(void *ctx, int64_t i) {
  const subject *s = ctx;
  return dataset_value(s->d, s->o->target, i);
}
static float *place(void *ctx, int64_t i) {
  const subject *s = ctx;
  return s->out + i * s->extent;
}

static dkho_status train_once(subject *s, int64_t batch) {
  runner_batch b = {.count = batch, .inputs = inputs, .target = target, .ctx = s};
  double sum;
  memset(s->g, 0, (size_t)s->o->p->size * sizeof *s->g);
  TRY(runner_gradient(s->train, &b, 1.0 / (double)batch, &sum, s->g));
  runner_bind(s->train, s->o->value); /* what a step pays after the weights have moved */
  return DKHO_OK;
}

static dkho_status predict_once(subject *s, int64_t batch) {
  runner_batch b = {.count = batch, .inputs = inputs, .out = place, .ctx = s};
  return runner_predict(s->predict, &b);
}

/* Median milliseconds per sample over repeated calls for about `seconds`, after one call to warm up. */
static dkho_status measure(subject *s, dkho_status (*call)(subject *, int64_t), int64_t batch, double seconds,
                           double *ms) {
  double times[REPEATS_MAX], begin = now();
  int n = 0;
  TRY(call(s, batch));
  do {
    double start = now();
    TRY(call(s, batch));
    times[n++] = now() - start;
  } while (n < REPEATS_MAX && (n < 3 || now() - begin < seconds));
  qsort(times, (size_t)n, sizeof *times, ascending);
  *ms = 1e3 * times[n / 2] / (double)batch;
  return DKHO_OK;
}

static dkho_status bench_operator(const dataset *d, const oper *o, const kern *k, int threads, double seconds,
                                  json_t **row) {
  subject s = {.d = d, .o = o};
  const data_field *t = &o->spec.field[o->target];
  s.extent = o->site[0].c->n[t->degree] * t->channels;
  pool *p = NULL;
  double peak = 0, train = 0, one = 0, many = 0;
  size_t before = mem_live_bytes(), memory = 0;
  dkho_status status = pool_create(&p, threads);
  if (status == DKHO_OK) status = measure_peak(k, p, &peak);
  if (status == DKHO_OK) status = params_slab(o->p, &s.g);
  if (status == DKHO_OK) status = runner_create(&s.train, o, 0, ENGINE_TRAIN, p);
  if (status == DKHO_OK) {
    memory = mem_live_bytes() - before;
    runner_bind(s.train, o->value);
    status = measure(&s, train_once, BATCH, seconds, &train);
  }
  double work = s.train ? runner_work(s.train) : 0;
  if (status == DKHO_OK) status = runner_create(&s.predict, o, 0, ENGINE_PREDICT, p);
  if (status == DKHO_OK && !MEM_NEW(s.out, BATCH * s.extent)) status = DKHO_E_MEMORY;
  if (status == DKHO_OK) {
    runner_bind(s.predict, o->value);
    status = measure(&s, predict_once, 1, seconds, &one);
  }
  if (status == DKHO_OK) status = measure(&s, predict_once, BATCH, seconds, &many);
  if (status == DKHO_OK)
    *row = json_pack("{s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "threads", pool_width(p), "engine",
                     runner_engine(s.train), "train_ms", train, "predict1_ms", one, "predict16_ms", many,
                     "train_gflops", 2e-9 * work / (1e-3 * train), "peak_gflops", 2e-9 * peak, "share",
                     work / (1e-3 * train) / peak, "train_bytes", (json_int_t)memory);
  runner_free(s.train);
  runner_free(s.predict);
  mem_free(s.g);
  mem_free(s.out);
  pool_free(p);
  return status;
}

/* Makes a few samples in a file that vanishes, and measures the first target's operator with 1 and `threads` threads. */
static dkho_status bench_problem(const char *name, const char *size, const char *resolution, const kern *k, int threads,
                                 double seconds, json_t *rows) {
  char path[64];
  snprintf(path, sizeof path, "bench-%ld.st.tmp", (long)getpid());
  dkho_generate_options g = {.resolution = resolution, .samples = SAMPLES, .seed = 42, .threads = threads, .force = 1};
  dataset *d = NULL;
  oper *o = NULL;
  run_config cfg = {0};
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.size = size;
  TRY(dkho_dataset_generate(name, path, &g));
  dkho_status s = dataset_open(&d, path);
  unlink(path);
  if (s == DKHO_OK) s = config_resolve(&cfg, d, path, &options);
  if (s == DKHO_OK) s = oper_create(&o, d, &cfg.oper);
  int widths[2] = {1, threads};
  for (int i = 0; s == DKHO_OK && i < (threads > 1 ? 2 : 1); i++) {
    json_t *row = NULL;
    s = bench_operator(d, o, k, widths[i], seconds, &row);
    json_object_set_new(row, "task", json_string(name));
    json_object_set_new(row, "size", json_string(size));
    json_object_set_new(row, "parameters", json_integer(o->p->total));
    if (row) json_array_append_new(rows, row);
  }
  oper_free(o);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

dkho_status dkho_bench(const char *problem, const char *size, const char *resolution, int threads, double seconds,
                       char **json) {
  static const char *const problems[] = {"darcy", "torus", "cavity"}, *const sizes[] = {"small", "large"};
  const kern *k;
  *json = NULL;
  TRY(kern_get(&k));
  if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (!(seconds > 0)) seconds = 2;
  json_t *rows = json_array();
  dkho_status s = DKHO_OK;
  for (int i = 0; s == DKHO_OK && i < 6; i++) {
    const char *name = problem ? problem : problems[i / 2];
    if ((problem && i > 1) || (size && strcmp(size, sizes[i % 2]) != 0)) continue;
    report_progress("measuring", (uint64_t)i, problem ? 2 : 6, name);
    s = bench_problem(name, sizes[i % 2], resolution ? resolution : "main", k, threads, seconds, rows);
  }
  if (s == DKHO_OK && json_array_size(rows) == 0)
    s = fail(DKHO_E_INPUT, "unknown size '%s'; there are small, large", size);
  if (s == DKHO_OK)
    return api_json(json_pack("{s:s, s:s, s:o}", "version", dkho_version(), "isa", k->name, "rows", rows), json);
  json_decref(rows);
  return s;
}
