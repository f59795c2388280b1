/* restart.c: the same samples solved twice, in turns, from two starts. */
#include "study/restart.h"

#include "problem/problem.h"
#include "study/measure.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 8 };

typedef struct restart {
  const opened *r;
  const problem *p;
  problem_state *s;
  void *work;
  double *one[PROBLEM_FIELDS_MAX]; /* fields of a sample that are not static */
  int target;                      /* among them */
  int64_t n;                       /* entries of the target */
  double *guess, *own;             /* n: prediction; the solution from the solver's own start */
  restart_cost found;              /* sums, until the end */
} restart;

/* Inputs and globals of a sample, as the file keeps them, by the solver's names: a coarser mesh adds fields, and a file of an earlier build may lack a
 * target. */
static void read_sample(restart *t, int64_t sample) {
  const dataset *d = t->r->d;
  for (int i = 0, j = 0; i < t->p->fields; i++) {
    const data_field *f = &t->p->field[i];
    int at = dataset_find(d, f->name);
    if (f->role == DATA_STATIC) continue;
    int64_t n = dataset_count(d, 0, f->degree) * f->channels;
    const float *x = f->role == DATA_INPUT ? dataset_value(d, at, sample) : NULL;
    for (int64_t k = 0; x && k < n; k++) t->one[j][k] = (double)x[k];
    if (f->role == DATA_GLOBAL) memcpy(t->one[j], dataset_global(d, at, sample), (size_t)f->channels * sizeof(double));
    j++;
  }
}

static dkho_status solve_timed(restart *t, int predicted) {
  problem_start start = {.guess = predicted ? t->guess : NULL};
  double begin = measure_processor();
  TRY(t->p->solve_from(t->s, t->work, &start, t->one));
  t->found.seconds[predicted] += measure_processor() - begin;
  t->found.steps[predicted] += start.steps;
  return DKHO_OK;
}

/* ‖a - b‖/‖b‖ */
static double relative_gap(int64_t n, const double *a, const double *b) {
  double gap = 0, size = 0;
  for (int64_t k = 0; k < n; k++) gap += (a[k] - b[k]) * (a[k] - b[k]), size += b[k] * b[k];
  return size > 0 ? sqrt(gap / size) : sqrt(gap);
}

/* A prediction_sink. */
static dkho_status solve_twice(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  restart *t = ctx;
  (void)complex;
  for (int64_t i = 0; i < count; i++) {
    for (int64_t k = 0; k < t->n; k++) t->guess[k] = (double)prediction[i * t->n + k];
    read_sample(t, sample[i]);
    TRY(solve_timed(t, 0));
    memcpy(t->own, t->one[t->target], (size_t)t->n * sizeof *t->own);
    TRY(solve_timed(t, 1));
    t->found.difference = fmax(t->found.difference, relative_gap(t->n, t->one[t->target], t->own));
  }
  return DKHO_OK;
}

/* Whether the solver can begin with the model's target; its place among the fields that vary. */
static int find_guess(restart *t) {
  const dataset *d = t->r->d;
  const data_field *field = dataset_field(d);
  if (!t->p || !t->p->solve_from || strcmp(t->p->guessed, t->r->cfg.target) != 0) return 0;
  for (int i = 0; i < t->p->fields; i++) {
    const data_field *f = &t->p->field[i];
    int at = dataset_find(d, f->name), needed = f->role == DATA_INPUT || f->role == DATA_GLOBAL;
    if (needed && (at < 0 || field[at].role != f->role || field[at].channels != f->channels)) return 0;
  }
  for (int i = 0; strcmp(t->p->field[i].name, t->p->guessed) != 0; i++) t->target += t->p->field[i].role != DATA_STATIC;
  t->n = dataset_count(d, 0, field[t->r->o->target].degree) * field[t->r->o->target].channels;
  return 1;
}

static dkho_status run_restart(restart *t, arena *mem) {
  const cx *c = dataset_cx(t->r->d, 0);
  int64_t count;
  const int64_t *sample;
  TRY(opened_split(t->r, "test", &sample, &count));
  count = count < SAMPLES ? count : SAMPLES;
  if (!ARENA_NEW(mem, t->guess, t->n) || !ARENA_NEW(mem, t->own, t->n)) return DKHO_E_MEMORY;
  TRY(problem_prepare(&t->s, t->p, c, dataset_info(t->r->d)->seed));
  TRY(problem_room(t->p, t->s, c, mem, t->one, &t->work));
  TRY(evaluator_predict(t->r->j, t->r->o->value, count, sample, NULL, solve_twice, t));
  t->found.samples = (int)count;
  for (int i = 0; i < 2; i++) t->found.steps[i] /= (double)count, t->found.seconds[i] /= (double)count;
  return DKHO_OK;
}

dkho_status restart_compare(const opened *r, restart_cost *out) {
  restart t = {.r = r};
  arena mem = {0};
  *out = (restart_cost){0};
  TRY(problem_of_data(dataset_info(r->d), &t.p));
  if (!find_guess(&t)) return DKHO_OK;
  dkho_status s = run_restart(&t, &mem);
  if (s == DKHO_OK) *out = t.found;
  problem_leave(t.p, t.work);
  t.p->release(t.s);
  arena_free(&mem);
  return s;
}
