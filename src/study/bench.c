/* bench.c: how fast this machine trains and predicts, in ratios to its own peak. One thread and all threads are measured in
 * turns, the peak among them, so that all meet the same state of the machine; medians speak. */
#include "study/bench.h"

#include "base/report.h"
#include "problem/problem.h"
#include "run/config.h"
#include "study/measure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 24, TURNS_MAX = 200, TASKS = 3, WIDTHS = 2 };

static const struct {
  const char *name;
  dkho_status (*call)(measured *, int64_t);
  int64_t batch;
  int calls; /* per turn, timed together */
} tasks[TASKS] = {
    {"train_ms", measure_train, MEASURE_BATCH, 1},
    {"predict1_ms", measure_predict, 1, 8},
    {"predict16_ms", measure_predict, MEASURE_BATCH, 1},
};

/* Milliseconds per sample. */
typedef double turn_times[TASKS][TURNS_MAX];

static dkho_status take_turn(measured *s, int turn, turn_times ms) {
  TRY(measure_peak(s));
  for (int i = 0; i < TASKS; i++) {
    double start = measure_clock();
    for (int c = 0; c < tasks[i].calls; c++) TRY(tasks[i].call(s, tasks[i].batch));
    ms[i][turn] = 1e3 * (measure_clock() - start) / (double)(tasks[i].calls * tasks[i].batch);
  }
  return DKHO_OK;
}

/* Turns for about `seconds` per task and width, three at least, after one that does not count. */
static dkho_status take_turns(int widths, measured *s, double seconds, turn_times *ms, int *turns) {
  for (int w = 0; w < widths; w++) TRY(take_turn(&s[w], 0, ms[w]));
  double begin = measure_clock();
  for (*turns = 0; *turns < TURNS_MAX && (*turns < 3 || measure_clock() - begin < seconds * TASKS * widths); ++*turns)
    for (int w = 0; w < widths; w++) TRY(take_turn(&s[w], *turns, ms[w]));
  return DKHO_OK;
}

/* first: times with one thread, set by its row, by which the others tell their speed-up. */
static json_t *row_of(const measured *s, int turns, turn_times ms, double *first) {
  double work = runner_work(s->train), time[TASKS];
  json_t *row =
      json_pack("{s:i, s:s, s:I, s:i, s:I}", "threads", pool_width(s->p), "engine", runner_engine(s->train),
                "parameters", (json_int_t)s->o->p->total, "turns", turns, "train_bytes", (json_int_t)s->train_bytes);
  for (int i = 0; i < TASKS; i++) {
    char name[32];
    time[i] = measure_median(ms[i], turns); /* sorts: the best comes first */
    if (pool_width(s->p) == 1) first[i] = time[i];
    json_object_set_new(row, tasks[i].name, json_real(time[i]));
    snprintf(name, sizeof name, "%.*s_best_ms", (int)strlen(tasks[i].name) - 3, tasks[i].name);
    json_object_set_new(row, name, json_real(ms[i][0]));
    snprintf(name, sizeof name, "%.*s_speedup", (int)strlen(tasks[i].name) - 3, tasks[i].name);
    json_object_set_new(row, name, json_real(first[i] / time[i]));
  }
  json_object_set_new(row, "train_gflops", json_real(2e-6 * work / time[0]));
  json_object_set_new(row, "peak_gflops", json_real(2e-9 * s->peak));
  json_object_set_new(row, "share", json_real(1e3 * work / time[0] / s->peak));
  return row;
}

static dkho_status bench_operator(const dataset *d, const neural_operator *o, int threads, double seconds,
                                  const char *name, const char *size, json_t *rows) {
  measured s[WIDTHS] = {0};
  turn_times *ms;
  int widths = threads > 1 ? WIDTHS : 1, turns = 0;
  double first[TASKS] = {0};
  if (!MEM_NEW(ms, WIDTHS)) return DKHO_E_MEMORY;
  dkho_status st = DKHO_OK;
  for (int w = 0; st == DKHO_OK && w < widths; w++) st = measure_open(&s[w], d, o, w ? threads : 1, 1);
  if (st == DKHO_OK) st = take_turns(widths, s, seconds, ms, &turns);
  for (int w = 0; st == DKHO_OK && w < widths; w++) {
    json_t *row = row_of(&s[w], turns, ms[w], first);
    json_object_set_new(row, "task", json_string(name));
    json_object_set_new(row, "size", json_string(size));
    json_array_append_new(rows, row);
  }
  for (int w = 0; w < widths; w++) measure_close(&s[w]);
  mem_free(ms);
  return st;
}

/* Makes a few samples in a file that vanishes, and measures the first target's operator with 1 and `threads` threads. */
static dkho_status bench_problem(const problem *p, const char *model, const char *size, const char *resolution,
                                 int threads, double seconds, json_t *rows) {
  char path[64];
  snprintf(path, sizeof path, "bench-%ld.st.tmp", (long)getpid());
  problem_request g = {.resolution = resolution, .samples = SAMPLES, .seed = 42, .threads = threads, .force = 1};
  dataset *d = NULL;
  neural_operator *o = NULL;
  run_config cfg = {0};
  dkho_train_options options;
  dkho_train_defaults(&options);
  options.model = model;
  options.size = size;
  TRY(problem_generate(p, &g, path));
  dkho_status s = dataset_open(&d, path);
  unlink(path);
  if (s == DKHO_OK) s = config_resolve(&cfg, d, path, &options);
  if (s == DKHO_OK) s = operator_create(&o, d, &cfg.request);
  if (s == DKHO_OK) s = bench_operator(d, o, threads, seconds, p->name, size ? size : model, rows);
  operator_free(o);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

/* Both sizes, or the one that is asked for. */
static dkho_status bench_sizes(const problem *p, const char *size, const char *resolution, int threads, double seconds,
                               json_t *rows) {
  static const char *const sizes[] = {"small", "large"};
  for (int i = 0; i < 2; i++)
    if (!size || strcmp(size, sizes[i]) == 0) {
      report_progress("measuring", (uint64_t)i, 2, p->name);
      TRY(bench_problem(p, "dkho", sizes[i], resolution, threads, seconds, rows));
    }
  return DKHO_OK;
}

dkho_status bench_problems(const char *of, const char *size, const char *resolution, int threads, double seconds,
                           json_t **out) {
  const kern *k;
  const problem *p;
  *out = NULL;
  TRY(kern_get(&k));
  if (of) TRY(problem_find(of, &p));
  if (size && strcmp(size, "small") != 0 && strcmp(size, "large") != 0)
    return fail(DKHO_E_INPUT, "unknown size '%s'; there are small, large", size);
  if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (!(seconds > 0)) seconds = 2;
  if (!resolution) resolution = "main";
  json_t *rows = json_array();
  dkho_status s = of ? bench_sizes(p, size, resolution, threads, seconds, rows) : DKHO_OK;
  for (int i = 0; !of && s == DKHO_OK && i < problem_count(); i++)
    if (problem_at(i)->paper) s = bench_sizes(problem_at(i), size, resolution, threads, seconds, rows);
  if (s == DKHO_OK) *out = json_pack("{s:s, s:s, s:O}", "version", dkho_version(), "isa", k->name, "rows", rows);
  json_decref(rows);
  return s == DKHO_OK && !*out ? fail(DKHO_E_MEMORY, "no memory for a JSON object") : s;
}

dkho_status bench_model(const char *of, const char *model, const char *resolution, int threads, double seconds,
                        json_t **out) {
  const kern *k;
  const problem *p;
  const model_type *m;
  *out = NULL;
  TRY(kern_get(&k));
  TRY(problem_find(of, &p));
  TRY(model_find(model, &m));
  if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (!(seconds > 0)) seconds = 2;
  json_t *rows = json_array();
  dkho_status s = DKHO_OK;
  if (!m->size) s = bench_problem(p, model, NULL, resolution ? resolution : "main", threads, seconds, rows);
  for (int i = 0; s == DKHO_OK && m->size && m->size[i].name; i++)
    s = bench_problem(p, model, m->size[i].name, resolution ? resolution : "main", threads, seconds, rows);
  if (s == DKHO_OK) *out = json_pack("{s:s, s:s, s:O}", "version", dkho_version(), "isa", k->name, "rows", rows);
  json_decref(rows);
  return s == DKHO_OK && !*out ? fail(DKHO_E_MEMORY, "no memory for a JSON object") : s;
}
