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

enum { SAMPLES = 24, TURNS_MAX = 200, TASKS = BENCH_TASKS, WIDTHS = 2 };
const char *const bench_task[BENCH_TASKS] = {"train", "predict1", "predict16"};

static const struct {
  dkho_status (*call)(measured *, int64_t);
  int64_t batch;
  int calls; /* per turn, timed together */
} tasks[TASKS] = {
    [BENCH_TRAIN] = {measure_train, MEASURE_BATCH, 1},
    [BENCH_PREDICT1] = {measure_predict, 1, 8},
    [BENCH_PREDICT16] = {measure_predict, MEASURE_BATCH, 1},
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

/* A new row, zeroed; NULL: no memory. */
static bench_row *add_row(bench_report *r) {
  if (r->count == r->room) {
    int room = 2 * r->room + 8;
    bench_row *more = arena_take(&r->mem, (size_t)room, sizeof *more);
    if (!more) return NULL;
    if (r->count) memcpy(more, r->row, (size_t)r->count * sizeof *more);
    r->row = more, r->room = room;
  }
  return &r->row[r->count++];
}

/* first: times with one thread, set by its row, by which the others tell their speed-up. */
static dkho_status fill_row(bench_row *row, const measured *s, int turns, turn_times ms, double *first) {
  double work;
  TRY(runner_work(s->train, &work));
  row->threads = pool_width(s->p);
  row->engine = runner_engine(s->train);
  row->parameters = s->o->p->total;
  row->turns = turns;
  row->train_bytes = (int64_t)s->train_bytes;
  for (int i = 0; i < TASKS; i++) {
    row->median_ms[i] = measure_median(ms[i], turns); /* sorts: the best comes first */
    row->best_ms[i] = ms[i][0];
    if (row->threads == 1) first[i] = row->median_ms[i];
    row->speedup[i] = first[i] / row->median_ms[i];
  }
  row->train_gflops = 2e-6 * work / row->median_ms[BENCH_TRAIN];
  row->peak_gflops = 2e-9 * s->peak;
  row->share = 1e3 * work / row->median_ms[BENCH_TRAIN] / s->peak;
  return DKHO_OK;
}

/* Rows of one operator with one thread and with all, measured in turns. */
static dkho_status bench_operator(const dataset *d, const neural_operator *o, int threads, double seconds,
                                  const char *name, const char *size, bench_report *out) {
  measured s[WIDTHS] = {0};
  turn_times *ms;
  int widths = threads > 1 ? WIDTHS : 1, turns = 0;
  double first[TASKS] = {0};
  if (!MEM_NEW(ms, WIDTHS)) return DKHO_E_MEMORY;
  dkho_status st = DKHO_OK;
  for (int w = 0; st == DKHO_OK && w < widths; w++) st = measure_open(&s[w], d, o, w ? threads : 1, 1);
  if (st == DKHO_OK) st = take_turns(widths, s, seconds, ms, &turns);
  for (int w = 0; st == DKHO_OK && w < widths; w++) {
    bench_row *row = add_row(out);
    if (!row) st = DKHO_E_MEMORY;
    if (!row) break;
    st = fill_row(row, &s[w], turns, ms[w], first);
    row->task = name;
    snprintf(row->size, sizeof row->size, "%s", size);
  }
  for (int w = 0; w < widths; w++) measure_close(&s[w]);
  mem_free(ms);
  return st;
}

/* Makes a few samples in a file that vanishes, and measures the first target's operator with 1 and `threads` threads. */
static dkho_status bench_problem(const problem *p, const char *model, const char *size, const char *resolution,
                                 int threads, double seconds, bench_report *out) {
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
  if (s == DKHO_OK) s = bench_operator(d, o, threads, seconds, p->name, size ? size : model, out);
  operator_free(o);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

/* Both sizes, or the one that is asked for. */
static dkho_status bench_sizes(const problem *p, const char *size, const char *resolution, int threads, double seconds,
                               bench_report *out) {
  static const char *const sizes[] = {"small", "large"};
  for (int i = 0; i < 2; i++)
    if (!size || strcmp(size, sizes[i]) == 0) {
      report_progress("measuring", (uint64_t)i, 2, p->name);
      TRY(bench_problem(p, "dkho", sizes[i], resolution, threads, seconds, out));
    }
  return DKHO_OK;
}

/* The kernels, and the defaults of threads and seconds. */
static dkho_status open_report(bench_report *out, int *threads, double *seconds) {
  const kern *k;
  *out = (bench_report){0};
  TRY(kern_get(&k));
  out->isa = k->name;
  if (*threads <= 0) *threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (!(*seconds > 0)) *seconds = 2;
  return DKHO_OK;
}

void bench_report_free(bench_report *r) {
  arena_free(&r->mem);
  *r = (bench_report){0};
}

dkho_status bench_problems(const char *of, const char *size, const char *resolution, int threads, double seconds,
                           bench_report *out) {
  const problem *p;
  TRY(open_report(out, &threads, &seconds));
  if (of) TRY(problem_find(of, &p));
  if (size && strcmp(size, "small") != 0 && strcmp(size, "large") != 0)
    return fail(DKHO_E_INPUT, "unknown size '%s'; there are small, large", size);
  if (!resolution) resolution = "main";
  dkho_status s = of ? bench_sizes(p, size, resolution, threads, seconds, out) : DKHO_OK;
  for (int i = 0; !of && s == DKHO_OK && i < problem_count(); i++)
    if (problem_at(i)->paper) s = bench_sizes(problem_at(i), size, resolution, threads, seconds, out);
  if (s != DKHO_OK) bench_report_free(out);
  return s;
}

dkho_status bench_model(const char *of, const char *model, const char *resolution, int threads, double seconds,
                        bench_report *out) {
  const problem *p;
  const model_type *m;
  TRY(open_report(out, &threads, &seconds));
  TRY(problem_find(of, &p));
  TRY(model_find(model, &m));
  if (!resolution) resolution = "main";
  dkho_status s = DKHO_OK;
  if (!m->size) s = bench_problem(p, model, NULL, resolution, threads, seconds, out);
  for (int i = 0; s == DKHO_OK && m->size && m->size[i].name; i++)
    s = bench_problem(p, model, m->size[i].name, resolution, threads, seconds, out);
  if (s != DKHO_OK) bench_report_free(out);
  return s;
}
