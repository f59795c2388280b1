/* bench_tape.c: what a network recorded on the tape costs against the same network on fused kernels: DKHO both ways, in turns
 * in one process, by processor seconds, so that other programs and the state of the machine meet both alike.
 *
 *   bench_tape [PROBLEM] [--size small|large] [--threads N] [--turns N]
 *
 * One JSON object per size: medians over the turns in ms per sample, and their ratios. */
#include "data/dataset.h"
#include "problem/problem.h"
#include "run/config.h"
#include "study/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS_MAX = 100, TASKS = 3, WAYS = 2 };
static const char *const ways[WAYS] = {"fused", "tape"};
static const struct {
  const char *name;
  dkho_status (*call)(measured *, int64_t);
  int64_t batch;
  int calls;
} tasks[TASKS] = {{"train", measure_train, MEASURE_BATCH, 1},
                  {"predict1", measure_predict, 1, 8},
                  {"predict16", measure_predict, MEASURE_BATCH, 1}};

typedef struct {
  const char *problem, *size;
  int threads, turns;
} request;

/* Milliseconds of processor time per sample. */
static dkho_status time_task(measured *s, int task, double *ms) {
  double start = measure_processor();
  for (int c = 0; c < tasks[task].calls; c++) TRY(tasks[task].call(s, tasks[task].batch));
  *ms = 1e3 * (measure_processor() - start) / (double)(tasks[task].calls * tasks[task].batch);
  return DKHO_OK;
}

static dkho_status take_turns(measured *s, int turns, double ms[WAYS][TASKS][TURNS_MAX]) {
  for (int turn = -1; turn < turns; turn++) /* the first does not count */
    for (int task = 0; task < TASKS; task++)
      for (int w = 0; w < WAYS; w++) TRY(time_task(&s[w], task, &ms[w][task][turn < 0 ? 0 : turn]));
  return DKHO_OK;
}

static dkho_status compare(const request *r, const char *size, const dataset *d, const neural_operator *o) {
  static double ms[WAYS][TASKS][TURNS_MAX];
  measured s[WAYS] = {0};
  dkho_status st = DKHO_OK;
  for (int w = 0; st == DKHO_OK && w < WAYS; w++) {
    setenv("DKHO_ENGINE", ways[w], 1);
    st = measure_open(&s[w], d, o, r->threads, 1);
    if (st == DKHO_OK && strcmp(runner_engine(s[w].train), ways[w]) != 0)
      st = fail(DKHO_E_INPUT, "%s runs on %s", ways[w], runner_engine(s[w].train));
  }
  if (st == DKHO_OK) st = take_turns(s, r->turns, ms);
  if (st == DKHO_OK) {
    printf("{\"problem\": \"%s\", \"size\": \"%s\", \"isa\": \"%s\", \"threads\": %d, \"turns\": %d", r->problem, size,
           s[0].k->name, r->threads, r->turns);
    for (int task = 0; task < TASKS; task++) {
      double a = measure_median(ms[0][task], r->turns), b = measure_median(ms[1][task], r->turns);
      printf(", \"%s_fused_ms\": %.2f, \"%s_tape_ms\": %.2f, \"%s_ratio\": %.2f", tasks[task].name, a, tasks[task].name,
             b, tasks[task].name, b / a);
    }
    printf(", \"train_fused_bytes\": %zu, \"train_tape_bytes\": %zu}\n", s[0].train_bytes, s[1].train_bytes);
  }
  for (int w = 0; w < WAYS; w++) measure_close(&s[w]);
  return st;
}

static dkho_status compare_size(const request *r, const char *size) {
  char path[64];
  const problem *p;
  dataset *d = NULL;
  neural_operator *o = NULL;
  run_config cfg = {0};
  dkho_train_options options;
  problem_request g = {.resolution = "main", .samples = 16, .seed = 42, .threads = r->threads, .force = 1};
  snprintf(path, sizeof path, "bench-tape-%ld.st.tmp", (long)getpid());
  dkho_train_defaults(&options);
  options.size = size;
  TRY(problem_find(r->problem, &p));
  TRY(problem_generate(p, &g, path));
  dkho_status s = dataset_open(&d, path);
  unlink(path);
  if (s == DKHO_OK) s = config_resolve(&cfg, d, path, &options);
  if (s == DKHO_OK) s = operator_create(&o, d, &cfg.request);
  if (s == DKHO_OK) s = compare(r, size, d, o);
  operator_free(o);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

static int read_arguments(int argc, char **argv, request *r) {
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-')
      r->problem = argv[i];
    else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      r->size = argv[++i];
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      r->threads = atoi(argv[++i]);
    else if (strcmp(argv[i], "--turns") == 0 && i + 1 < argc)
      r->turns = atoi(argv[++i]);
    else
      return 0;
  }
  return r->threads > 0 && r->turns > 0 && r->turns <= TURNS_MAX;
}

int main(int argc, char **argv) {
  static const char *const sizes[] = {"small", "large"};
  request r = {.problem = "darcy", .threads = 1, .turns = 5};
  if (!read_arguments(argc, argv, &r)) {
    fprintf(stderr, "usage: bench_tape [PROBLEM] [--size small|large] [--threads N] [--turns 1..%d]\n", TURNS_MAX);
    return 2;
  }
  for (int i = 0; i < 2; i++)
    if ((!r.size || strcmp(r.size, sizes[i]) == 0) && compare_size(&r, sizes[i]) != DKHO_OK) {
      fprintf(stderr, "%s\n", fail_text());
      return 1;
    }
  return 0;
}
