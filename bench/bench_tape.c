/* bench_tape.c: what one way through a network costs against another, in turns in one process, by processor seconds, so that other
 * programs and the state of the machine meet all alike. Without --way: DKHO on fused kernels and on the tape.
 *
 *   bench_tape [PROBLEM] [--target K] [--size small|large] [--threads N] [--turns N] [--way ENGINE:MODEL[:KEY=VALUE,…]]…
 *
 * ENGINE is fused, tape, or auto. One JSON object per size and way: medians over the turns in ms per sample, the best, ratios of medians to
 * the first way, and the share of the multiply-add peak in training. */
#include "data/dataset.h"
#include "problem/problem.h"
#include "run/config.h"
#include "study/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS_MAX = 100, TASKS = 3, WAYS_MAX = 12, OPTIONS_OF_WAY = 8 };
static const struct {
  const char *name;
  dkho_status (*call)(measured *, int64_t);
  int64_t batch;
  int calls;
} tasks[TASKS] = {{"train", measure_train, MEASURE_BATCH, 1},
                  {"predict1", measure_predict, 1, 8},
                  {"predict16", measure_predict, MEASURE_BATCH, 1}};

/* ENGINE:MODEL:KEY=VALUE,… taken apart. */
typedef struct {
  char text[160];
  const char *label, *engine, *model, *option[OPTIONS_OF_WAY + 1];
} way;

typedef struct {
  const char *problem, *target, *size;
  int threads, turns, ways;
  way way[WAYS_MAX];
} request;

typedef struct {
  run_config cfg;
  neural_operator *o;
  measured m;
  double ms[TASKS][TURNS_MAX];
} contender;

/* Milliseconds of processor time per sample. */
static dkho_status time_task(measured *s, int task, double *ms) {
  double start = measure_processor();
  for (int c = 0; c < tasks[task].calls; c++) TRY(tasks[task].call(s, tasks[task].batch));
  *ms = 1e3 * (measure_processor() - start) / (double)(tasks[task].calls * tasks[task].batch);
  return DKHO_OK;
}

static dkho_status take_turns(const request *r, contender *c) {
  for (int turn = -1; turn < r->turns; turn++) /* the first does not count */
    for (int task = 0; task < TASKS; task++)
      for (int w = 0; w < r->ways; w++) TRY(time_task(&c[w].m, task, &c[w].ms[task][turn < 0 ? 0 : turn]));
  return DKHO_OK;
}

static dkho_status open_contender(const request *r, const way *w, const char *size, const dataset *d, const char *path,
                                  contender *c) {
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.target = r->target, options.size = size, options.model = w->model, options.options = w->option;
  if (strcmp(w->engine, "auto") == 0)
    unsetenv("DKHO_ENGINE");
  else
    setenv("DKHO_ENGINE", w->engine, 1);
  TRY(config_resolve(&c->cfg, d, path, &options));
  TRY(operator_create(&c->o, d, &c->cfg.request));
  TRY(measure_open(&c->m, d, c->o, r->threads, 1));
  return measure_peak(&c->m);
}

static dkho_status print_contender(const request *r, const char *size, contender *c, int w) {
  static double base[TASKS];
  double ms[TASKS], work;
  TRY(runner_work(c->m.train, &work));
  printf(
      "{\"problem\": \"%s\", \"target\": \"%s\", \"size\": \"%s\", \"way\": \"%s\", \"engine\": \"%s\", \"isa\": \"%s\", \"threads\": %d, "
      "\"turns\": %d",
      r->problem, r->target ? r->target : "first", size, r->way[w].label, runner_engine(c->m.train), c->m.k->name,
      r->threads, r->turns);
  for (int task = 0; task < TASKS; task++) {
    ms[task] = measure_median(c->ms[task], r->turns);
    if (w == 0) base[task] = ms[task];
    printf(", \"%s_ms\": %.2f, \"%s_best\": %.2f, \"%s_ratio\": %.3f", tasks[task].name, ms[task], tasks[task].name,
           c->ms[task][0], tasks[task].name, ms[task] / base[task]); /* the median has sorted them */
  }
  printf(", \"share\": %.3f, \"train_bytes\": %zu}\n", work * 1e3 / ms[0] / (c->m.peak / r->threads), c->m.train_bytes);
  return DKHO_OK;
}

static dkho_status compare(const request *r, const char *size, const dataset *d, const char *path) {
  static contender c[WAYS_MAX];
  dkho_status s = DKHO_OK;
  memset(c, 0, sizeof c);
  for (int w = 0; s == DKHO_OK && w < r->ways; w++) s = open_contender(r, &r->way[w], size, d, path, &c[w]);
  if (s == DKHO_OK) s = take_turns(r, c);
  for (int w = 0; s == DKHO_OK && w < r->ways; w++) s = print_contender(r, size, &c[w], w);
  for (int w = 0; w < r->ways; w++) {
    measure_close(&c[w].m);
    operator_free(c[w].o);
    config_free(&c[w].cfg);
  }
  return s;
}

static dkho_status compare_size(const request *r, const char *size) {
  char path[64];
  const problem *p;
  dataset *d = NULL;
  problem_request g = {.resolution = "main", .samples = 16, .seed = 42, .threads = r->threads, .force = 1};
  snprintf(path, sizeof path, "bench-tape-%ld.st.tmp", (long)getpid());
  TRY(problem_find(r->problem, &p));
  TRY(problem_generate(p, &g, path));
  dkho_status s = dataset_open(&d, path);
  unlink(path);
  if (s == DKHO_OK) s = compare(r, size, d, path);
  dataset_free(d);
  return s;
}

/* 0 when the text has no model or too many options. */
static int read_way(request *r, const char *text) {
  if (r->ways == WAYS_MAX || strlen(text) >= sizeof r->way->text) return 0;
  way *w = &r->way[r->ways++];
  int options = 0;
  char *rest;
  w->label = text;
  memcpy(w->text, text, strlen(text) + 1);
  w->engine = strtok_r(w->text, ":", &rest);
  w->model = strtok_r(NULL, ":", &rest);
  for (char *o; (o = strtok_r(NULL, ",", &rest)) != NULL; w->option[options++] = o)
    if (options == OPTIONS_OF_WAY) return 0;
  return w->engine && w->model;
}

static int read_arguments(int argc, char **argv, request *r) {
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-')
      r->problem = argv[i];
    else if (strcmp(argv[i], "--target") == 0 && i + 1 < argc)
      r->target = argv[++i];
    else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
      r->size = argv[++i];
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      r->threads = atoi(argv[++i]);
    else if (strcmp(argv[i], "--turns") == 0 && i + 1 < argc)
      r->turns = atoi(argv[++i]);
    else if (strcmp(argv[i], "--way") == 0 && i + 1 < argc && read_way(r, argv[i + 1]))
      i++;
    else
      return 0;
  }
  if (!r->ways && !(read_way(r, "fused:dkho") && read_way(r, "tape:dkho"))) return 0;
  return r->threads > 0 && r->turns > 0 && r->turns <= TURNS_MAX;
}

int main(int argc, char **argv) {
  static const char *const sizes[] = {"small", "large"};
  static request r = {.problem = "darcy", .threads = 1, .turns = 5};
  if (!read_arguments(argc, argv, &r)) {
    fprintf(stderr,
            "usage: bench_tape [PROBLEM] [--target K] [--size small|large] [--threads N] [--turns 1..%d] "
            "[--way ENGINE:MODEL[:KEY=VALUE,...]]...\n",
            TURNS_MAX);
    return 2;
  }
  for (int i = 0; i < 2; i++)
    if ((!r.size || strcmp(r.size, sizes[i]) == 0) && compare_size(&r, sizes[i]) != DKHO_OK) {
      fprintf(stderr, "%s\n", fail_text());
      return 1;
    }
  return 0;
}
