/* cost.c: what a prediction costs beside a classical solve on the same mesh with the same threads, and the rows that a learned
 * operator is compared with. */
#include "study/cost.h"

#include "base/clock.h"
#include "problem/coarse.h"
#include "study/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rounds of work: at least so many, and until the clock has shown so much. */
enum { ROUNDS_LEAST = 7, ROUNDS_MOST = 64 };
#define SECONDS_LEAST 0.5
#define SECONDS_ENOUGH 20 /* after which fewer rounds will do */

/* The median of the seconds that a round takes, after one to warm up: what others do on the machine meanwhile counts little. */
static dkho_status time_rounds(dkho_status (*round_of_work)(void *ctx), void *ctx, double *seconds) {
  double spent[ROUNDS_MOST], sum = 0;
  int rounds = 0;
  TRY(round_of_work(ctx));
  while ((rounds < ROUNDS_LEAST && sum < SECONDS_ENOUGH) || (sum < SECONDS_LEAST && rounds < ROUNDS_MOST)) {
    double start = clock_now();
    TRY(round_of_work(ctx));
    spent[rounds] = clock_now() - start;
    sum += spent[rounds++];
  }
  *seconds = measure_median(spent, rounds);
  return DKHO_OK;
}

typedef struct solve_job {
  const problem *p;
  const problem_state *s;
  const cx *c;
  pool *threads;
  double *(*block)[PROBLEM_FIELDS_MAX]; /* per worker: a group with its inputs drawn */
  void **work;
  coarse_solver **below; /* per worker: NULL: solves are of the mesh itself */
} solve_job;

static dkho_status solve_task(void *ctx, size_t task, int worker) {
  const solve_job *j = ctx;
  (void)task;
  if (j->below) return coarse_solve_group(j->below[worker], j->block[worker]);
  return problem_solve(j->p, j->s, j->c, j->work[worker], j->block[worker]);
}

static dkho_status draw_groups(solve_job *j, const dataset *d, int width, arena *mem) {
  if (!ARENA_NEW(mem, j->block, width) || !ARENA_NEW(mem, j->work, width)) return DKHO_E_MEMORY;
  for (int i = 0; i < width; i++) {
    TRY(problem_room(j->p, j->s, j->c, mem, j->block[i], &j->work[i]));
    TRY(problem_group(j->p, j->s, j->c, j->work[i], dataset_info(d)->seed, (int64_t)i * PROBLEM_GROUP, j->block[i]));
  }
  return DKHO_OK;
}

/* A group per thread; the same inputs again and again cost what others would. */
static dkho_status solve_round(void *ctx) {
  solve_job *j = ctx;
  return pool_run(j->threads, (size_t)pool_width(j->threads), solve_task, j);
}

static dkho_status time_solves(solve_job *j, const dataset *d, double *seconds) {
  int width = pool_width(j->threads);
  arena mem = {0};
  dkho_status s = draw_groups(j, d, width, &mem);
  if (s == DKHO_OK) s = time_rounds(solve_round, j, seconds);
  *seconds /= (double)(width * PROBLEM_GROUP);
  for (int i = 0; j->work && i < width; i++) problem_leave(j->p, j->work[i]);
  arena_free(&mem);
  return s;
}

/* Solves on the coarser mesh of this resolution, whose solutions are inputs. */
static dkho_status time_coarse(solve_job *j, const dataset *d, const char *resolution, double *seconds) {
  int width = pool_width(j->threads);
  coarse *low;
  arena mem = {0};
  TRY(coarse_create(&low, j->p, j->c, resolution, dataset_info(d)->seed));
  dkho_status s = ARENA_NEW(&mem, j->below, width) ? DKHO_OK : DKHO_E_MEMORY;
  for (int i = 0; s == DKHO_OK && i < width; i++) s = coarse_open(&j->below[i], low);
  j->p = coarse_problem(low);
  if (s == DKHO_OK) s = time_solves(j, d, seconds);
  for (int i = 0; j->below && i < width; i++) coarse_close(j->below[i]);
  arena_free(&mem);
  coarse_free(low);
  return s;
}

/* What the user's own solver takes, if the import's specification said so. */
static classical_cost told_classical(const data_info *info) {
  json_t *made = json_loads(info->params, 0, NULL), *seconds = json_object_get(made, "classical_seconds");
  classical_cost c = {0};
  if (json_is_number(seconds)) c = (classical_cost){COST_TOLD, json_number_value(seconds), 0, 0};
  json_decref(made);
  return c;
}

dkho_status cost_classical(const dataset *d, pool *threads, classical_cost *out) {
  const data_info *info = dataset_info(d);
  const problem *p;
  TRY(problem_of_data(info, &p));
  *out = told_classical(info);
  if (!p) return DKHO_OK;
  problem_state *state = NULL;
  double start = clock_now(), setup, seconds = 0, below = 0;
  json_t *made = json_loads(info->params, 0, NULL);
  const char *low = json_string_value(json_object_get(made, "coarse"));
  dkho_status s = problem_prepare(&state, p, dataset_cx(d, 0), info->seed);
  setup = clock_now() - start;
  solve_job j = {.p = p, .s = state, .c = dataset_cx(d, 0), .threads = threads};
  if (s == DKHO_OK) s = time_solves(&j, d, &seconds);
  if (s == DKHO_OK && low) s = time_coarse(&j, d, low, &below);
  p->release(state);
  json_decref(made);
  if (s == DKHO_OK) *out = (classical_cost){COST_MEASURED, seconds, setup, below};
  return s;
}

static dkho_status drop(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  (void)ctx, (void)complex, (void)count, (void)sample, (void)prediction;
  return DKHO_OK;
}

typedef struct predict_job {
  const opened *r;
  const int64_t *sample;
  int64_t count;
} predict_job;

static dkho_status predict_round(void *ctx) {
  const predict_job *j = ctx;
  return evaluator_predict(j->r->j, j->r->o->value, j->count, j->sample, NULL, drop, NULL);
}

/* Seconds per sample, predicting 16 of the test split at a time. */
static dkho_status time_predictions(const opened *r, double *seconds) {
  predict_job j = {.r = r};
  TRY(opened_split(r, "test", &j.sample, &j.count));
  if (j.count > 16) j.count = 16;
  TRY(time_rounds(predict_round, &j, seconds));
  *seconds /= (double)j.count;
  return DKHO_OK;
}

/* From the run, or from what a packed model says of itself. */
static double training_seconds(const opened *r, const char *run) {
  char path[PATH_LIMIT];
  json_t *result = json_loads(r->o->training, 0, NULL), *kept = json_object_get(result, "seconds");
  double known = kept ? json_number_value(kept) : NAN;
  json_decref(result);
  if (isfinite(known)) return known;
  result = NULL;
  snprintf(path, sizeof path, "%s/result.json", run);
  if (config_load_json(path, &result) != DKHO_OK) return NAN;
  double seconds = json_number_value(json_object_get(result, "seconds"));
  json_decref(result);
  return seconds;
}

/* n solves cost n·solve; n predictions, spent + n·learned with spent = training + data: both are equal at spent/(solve - learned). */
static double break_even(const run_cost *c, int64_t samples) {
  double solve = c->classical.seconds_per_sample, gain = solve - c->seconds_per_sample;
  if (!c->classical.source || !isfinite(c->training_seconds)) return NAN;
  return gain > 0 ? ceil((c->training_seconds + solve * (double)samples) / gain) : INFINITY;
}

dkho_status cost_compare(const opened *r, const char *run, const classical_cost *classical, run_cost *out) {
  *out = (run_cost){.threads = pool_width(r->threads), .classical = *classical};
  out->training_seconds = training_seconds(r, run);
  TRY(time_predictions(r, &out->seconds_per_sample));
  out->seconds_per_sample += classical->coarse_seconds;
  out->break_even_solves = break_even(out, dataset_samples(r->d));
  return restart_compare(r, &out->restart);
}

dkho_status cost_and_rows(const char *run, const char *data, int threads, cost_report *out) {
  opened r = {0};
  classical_cost classical;
  *out = (cost_report){0};
  dkho_status s;
  TRY_GOTO(opened_model(&r, run, data, threads));
  const problem *p = problem_named(dataset_info(r.d)->problem);
  if (!(out->target = arena_strdup(&out->mem, r.cfg.target))) TRY_GOTO(DKHO_E_MEMORY);
  TRY_GOTO(reference_rows(r.d, r.cfg.request.target, r.cfg.metrics, r.cfg.train_samples, DATA_TEST, p ? p->turn : 0,
                          r.threads, &out->rows));
  TRY_GOTO(cost_classical(r.d, r.threads, &classical));
  TRY_GOTO(cost_compare(&r, run, &classical, &out->cost));
done:
  if (s != DKHO_OK) cost_report_free(out);
  opened_close(&r);
  return s;
}

void cost_report_free(cost_report *r) {
  references_free(&r->rows);
  arena_free(&r->mem);
  *r = (cost_report){0};
}
