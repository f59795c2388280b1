/* bench_scaling.c: is a training step linear in the number of simplices? Steps on meshes of growing size, shaped and numbered as
 * those of a benchmark that has them at every size, with its descriptors and its model. Static descriptors and samples are noise: spectra and
 * solves of a million simplices would take far longer than what is measured, and time does not depend on values. */
#include "study/bench.h"

#include "base/report.h"
#include "problem/problem.h"
#include "report/canvas.h"
#include "report/figure.h"
#include "run/config.h"
#include "study/measure.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { STAGES = BENCH_STAGES, SAMPLES = 4, TURNS_MAX = 100 };
static const int64_t least = 1000, large = 2000000,
                     most = 10000000; /* simplices; large: steps of fewer samples will do */

typedef struct stage {
  const problem *p;
  cx *c;
  dataset *d;
  run_config cfg;
  neural_operator *o;
  int64_t wanted, simplices;
  size_t held, bytes;                    /* by complex and descriptors, and in training */
  double ms[TURNS_MAX], work[TURNS_MAX]; /* per sample: time, and processor time of all threads */
} stage;

static dkho_status put_statics(dataset_writer *w, const problem *p, const cx *c) {
  for (int i = 0; i < p->fields; i++) {
    const data_field *f = &p->field[i];
    if (f->role != DATA_STATIC) continue;
    int64_t n = c->n[f->degree] * f->channels;
    double *x;
    if (!MEM_NEW(x, n)) return DKHO_E_MEMORY;
    rng r = rng_open(1, RNG_TEST, (uint64_t)i);
    for (int64_t j = 0; j < n; j++) x[j] = rng_uniform(&r); /* positive, as weights must be */
    dkho_status s = dataset_put_static(w, 0, f->name, x);
    mem_free(x);
    TRY(s);
  }
  return DKHO_OK;
}

/* The same noise for every sample. */
static dkho_status put_samples(dataset_writer *w, const problem *p, const cx *c) {
  const void *block[PROBLEM_FIELDS_MAX];
  int64_t longest = 0;
  int blocks = 0;
  float *x;
  for (int k = 0; k <= c->dim; k++) longest = c->n[k] > longest ? c->n[k] : longest;
  if (!MEM_NEW(x, longest)) return DKHO_E_MEMORY;
  rng r = rng_open(2, RNG_TEST, 0);
  for (int64_t j = 0; j < longest; j++) x[j] = (float)rng_range(&r, -1, 1);
  for (int i = 0; i < p->fields; i++)
    if (p->field[i].role != DATA_STATIC) block[blocks++] = x; /* cochains of one channel, all of them */
  dkho_status s = DKHO_OK;
  for (int i = 0; s == DKHO_OK && i < SAMPLES; i++) s = dataset_append(w, 0, 1, block);
  mem_free(x);
  return s;
}

/* Constants span the harmonic fields of degree 0. */
static dkho_status put_basis(dataset_writer *w, const cx *c) {
  double *x;
  if (!MEM_NEW(x, c->n[0])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < c->n[0]; i++) x[i] = 1 / sqrt((double)c->n[0]);
  dkho_status s = dataset_put_harmonic(w, 0, 0, 1, x);
  mem_free(x);
  return s;
}

static dkho_status put_all(dataset_writer *w, const problem *p, const cx *c) {
  TRY(dataset_put_cx(w, c));
  for (int i = 0; i < p->fields; i++) TRY(dataset_put_field(w, &p->field[i]));
  TRY(put_statics(w, p, c));
  TRY(put_basis(w, c));
  TRY(dataset_put_table(w, &p->table));
  TRY(dataset_put_recipe(w, &p->recipe[0]));
  TRY(put_samples(w, p, c));
  return dataset_split_random(w, 1, SAMPLES - 1, 1, 0);
}

/* Through a file that vanishes, as any other data set. */
static dkho_status make_data(dataset **out, const problem *p, const cx *c) {
  const data_info info = {.problem = p->name, .generator = "dkho bench", .seed = 1, .params = "{}"};
  char path[64];
  dataset_writer *w;
  snprintf(path, sizeof path, "bench-%ld.st.tmp", (long)getpid());
  TRY(dataset_create(&w, path, 1, &info));
  dkho_status s = put_all(w, p, c);
  if (s != DKHO_OK) {
    dataset_abort(w);
    return s;
  }
  TRY(dataset_commit(w));
  s = dataset_open(out, path);
  unlink(path);
  return s;
}

static dkho_status stage_open(stage *s, const char *size) {
  dkho_train_options options;
  dkho_train_defaults(&options);
  if (size) options.size = size;
  size_t before = mem_live_bytes();
  TRY(s->p->scaled(&s->c, s->wanted));
  s->simplices = 0;
  for (int k = 0; k <= s->c->dim; k++) s->simplices += s->c->n[k];
  TRY(make_data(&s->d, s->p, s->c));
  cx_free(s->c); /* the data set has its own */
  s->c = NULL;
  TRY(config_resolve(&s->cfg, s->d, "", &options));
  TRY(operator_create(&s->o, s->d, &s->cfg.request));
  s->held = mem_live_bytes() - before;
  return DKHO_OK;
}

static void stage_close(stage *s) {
  operator_free(s->o);
  config_free(&s->cfg);
  dataset_free(s->d);
  cx_free(s->c);
  s->o = NULL, s->cfg = (run_config){0}, s->d = NULL, s->c = NULL;
}

static int64_t batch_of(const stage *s) {
  return s->simplices > large ? SAMPLES : MEASURE_BATCH;
}

/* Buffers live for one turn only, so that memory is that of the largest size and not of all together. The first call, which
 * makes the pages real, does not count. */
static dkho_status stage_turn(stage *s, int turn, int threads) {
  measured u;
  int64_t batch = batch_of(s);
  TRY(measure_open(&u, s->d, s->o, threads, 0));
  dkho_status st = measure_train(&u, pool_width(u.p) > 1 ? pool_width(u.p) : 1);
  double spent = 0, work = measure_processor();
  int calls = 0;
  for (; st == DKHO_OK && (calls == 0 || spent < 0.2); calls++) {
    double start = measure_clock();
    st = measure_train(&u, batch);
    spent += measure_clock() - start;
  }
  s->ms[turn] = 1e3 * spent / (double)(calls * batch);
  s->work[turn] = 1e3 * (measure_processor() - work) / (double)(calls * batch);
  s->bytes = u.train_bytes;
  measure_close(&u);
  return st;
}

static dkho_status draw_scaling(const char *path, int force, const char *name, const scaling_report *r) {
  double x[STAGES], y[STAGES], work[STAGES];
  char title[96];
  for (int i = 0; i < STAGES; i++) {
    x[i] = (double)r->row[i].simplices;
    y[i] = r->row[i].train_us;
    work[i] = r->row[i].processor_us;
  }
  snprintf(title, sizeof title, "Training on meshes of %s, %d thread%s", name, r->threads, r->threads > 1 ? "s" : "");
  double ends[2] = {x[0], x[STAGES - 1]}, level[2] = {y[0], y[0]}, floor_at[2] = {0, 0};
  chart_series at[] = {
      {.name = "time", .n = STAGES, .x = x, .y = y, .line = 1, .dots = 1},
      {.name = "linear growth", .n = 2, .x = ends, .y = level, .colour = 1, .line = 1, .dashed = 1},
      {.name = "processor time", .n = STAGES, .x = x, .y = work, .colour = 2, .line = 1, .dots = 1},
      {.n = 2, .x = ends, .y = floor_at, .colour = 1}, /* brings zero into view */
  };
  chart c = {.title = title,
             .x_label = "simplices",
             .y_label = "time per simplex and sample, µs",
             .log_x = 1,
             .series = 4,
             .at = at};
  return figure_charts(path, force, 1, &c);
}

static void fill_row(scaling_row *row, stage *s, int turns) {
  double each = 1e3 / (double)s->simplices; /* µs per simplex of a millisecond */
  row->simplices = s->simplices;
  row->batch = batch_of(s);
  row->train_bytes = (int64_t)s->bytes, row->held_bytes = (int64_t)s->held;
  row->train_ms = measure_median(s->ms, turns); /* sorts: the best comes first */
  row->train_us = row->train_ms * each;
  row->train_best_us = s->ms[0] * each;
  row->processor_us = measure_median(s->work, turns) * each;
}

/* In a single turn a mesh is there for its own measurement only. */
static dkho_status measure_stages(stage *s, int stages, const char *size, int turns, int threads) {
  for (int t = 0; t < turns; t++)
    for (int i = 0; i < stages; i++) {
      report_progress("measuring", (uint64_t)(t * stages + i), (uint64_t)(turns * stages), s->p->name);
      if (!s[i].o) TRY(stage_open(&s[i], size));
      TRY(stage_turn(&s[i], t, threads));
      if (turns == 1) stage_close(&s[i]);
    }
  return DKHO_OK;
}

static const problem *scalable_problem(void) {
  for (int i = 0; i < problem_count(); i++)
    if (problem_at(i)->scaled) return problem_at(i);
  return NULL;
}

dkho_status bench_scaling(const char *size, int64_t largest, int turns, int threads, const char *figure, int force,
                          scaling_report *out) {
  if (figure) TRY(canvas_check(figure, force)); /* not after minutes of work */
  if (largest == 0) largest = 1000000;
  if (largest < 2 * least || largest > most)
    return fail(DKHO_E_INPUT, "scaling: up to %lld simplices asked for, expected %lld … %lld", (long long)largest,
                (long long)(2 * least), (long long)most);
  if (turns <= 0) turns = 3;
  if (turns > TURNS_MAX) return fail(DKHO_E_INPUT, "scaling: %d turns asked for, at most %d", turns, TURNS_MAX);
  if (threads <= 0) threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  const problem *p = scalable_problem();
  if (!p) return fail(DKHO_E_INTERNAL, "no benchmark makes its complex in every size");
  stage *s;
  if (!MEM_NEW(s, STAGES)) return DKHO_E_MEMORY;
  dkho_status st = DKHO_OK;
  double smallest = fmax((double)largest / 100, (double)least), ratio = (double)largest / smallest;
  for (int i = 0; st == DKHO_OK && i < STAGES; i++) {
    s[i].p = p;
    s[i].wanted = (int64_t)(smallest * pow(ratio, (double)i / (STAGES - 1)));
    report_progress("preparing", (uint64_t)i, STAGES, p->name);
    if (turns > 1) st = stage_open(&s[i], size);
  }
  if (st == DKHO_OK) st = measure_stages(s, STAGES, size, turns, threads);
  *out = (scaling_report){.threads = threads, .turns = turns};
  for (int i = 0; st == DKHO_OK && i < STAGES; i++) fill_row(&out->row[i], &s[i], turns);
  if (st == DKHO_OK && figure) st = draw_scaling(figure, force, p->name, out);
  for (int i = 0; i < STAGES; i++) stage_close(&s[i]);
  mem_free(s);
  return st;
}
