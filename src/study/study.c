/* study.c: budgets, the plan of a study, its data and its training. */
#include "study/study.h"

#include "base/lock.h"
#include "base/report.h"
#include "run/estimate.h"
#include "run/train.h"

#include <stdio.h>
#include <string.h>

/* What each budget does, where the problem's table does not say otherwise. smoke is for tests. demo is about a minute on two
 * cores, on the full mesh where that is enough, else on the coarse one. quick is a part of the samples and epochs, with ablations
 * at most 40 minutes on two cores; its samples are as many as the mesh and the number of targets allow, and its batches small, for
 * with few samples what counts is the number of steps. paper is the paper's. */
static const study_budget budgets[] = {
    {"smoke", {"smoke", 64, 6, 0}, 0},
    {"demo", {"smoke", 600, 60, 0}, 0},
    {"quick", {"main", 400, 40, 4}, 0},
    {"paper", {"main", 0, 0, 0}, 1},
};
enum { BUDGETS = sizeof budgets / sizeof *budgets };

dkho_status study_budget_of(const char *name, const problem *p, study_budget *out) {
  for (int i = 0; i < BUDGETS; i++) {
    if (strcmp(budgets[i].name, name) != 0) continue;
    *out = budgets[i];
    if (strcmp(name, "demo") == 0 && p->demo && p->demo->budget.resolution) out->of = p->demo->budget;
    if (strcmp(name, "quick") == 0 && p->quick) out->of = *p->quick;
    return DKHO_OK;
  }
  return fail(DKHO_E_INPUT, "unknown budget '%s'; there are smoke, demo, quick, paper", name);
}

const char *study_path(const study *s, const char *name, char *out) {
  snprintf(out, PATH_LIMIT, "%.*s/%s", PATH_LIMIT - 200, s->dir, name);
  return out;
}

static dkho_status stop_asked(const study *s) {
  if (s->o->stop && s->o->stop(s->o->stop_user))
    return fail(DKHO_E_STOPPED, "%s: stopped; what is finished is kept", s->dir);
  return DKHO_OK;
}

/* ---- the plan ---- */

/* A folder belongs to one budget: numbers of two must not meet in a table. */
static dkho_status check_plan(const study *s) {
  char path[PATH_LIMIT];
  json_t *old = NULL,
         *plan = json_pack("{s:s, s:s, s:s, s:I, s:i, s:i, s:I}", "problem", s->p->name, "budget", s->budget.name,
                           "resolution", s->budget.of.resolution, "samples", (json_int_t)s->budget.of.samples, "epochs",
                           s->budget.of.epochs, "batch", s->budget.of.batch, "seed", (json_int_t)s->o->seed);
  if (!plan) return fail(DKHO_E_MEMORY, "no memory for a JSON object");
  if (s->o->optimizer) json_object_set_new(plan, "optimizer", json_string(s->o->optimizer));
  if (s->o->schedule) json_object_set_new(plan, "schedule", json_string(s->o->schedule));
  if (s->o->lr > 0) json_object_set_new(plan, "lr", json_real(s->o->lr));
  if (s->o->warmup > 0) json_object_set_new(plan, "warmup", json_integer(s->o->warmup));
  study_path(s, "plan.json", path);
  if (!file_exists(path)) return config_save_json(plan, path, 0);
  dkho_status st = config_load_json(path, &old);
  if (st == DKHO_OK && !json_equal(old, plan))
    st = fail(DKHO_E_EXISTS,
              "%s: made with budget %s, resolution %s, %lld samples, %lld epochs, seed %lld; choose another folder for "
              "other numbers",
              s->dir, json_string_value(json_object_get(old, "budget")),
              json_string_value(json_object_get(old, "resolution")),
              (long long)json_integer_value(json_object_get(old, "samples")),
              (long long)json_integer_value(json_object_get(old, "epochs")),
              (long long)json_integer_value(json_object_get(old, "seed")));
  json_decref(old);
  json_decref(plan);
  return st;
}

/* The tables of a folder are written over, so it must be one of studies, or have no files of these names. */
static dkho_status check_root(const study *s) {
  static const char *const names[] = {"result.json", "table.md", "table.csv"};
  char path[PATH_LIMIT];
  for (int i = 0; i < problem_count(); i++) {
    snprintf(path, sizeof path, "%.*s/%s/plan.json", PATH_LIMIT - 200, s->root, problem_at(i)->name);
    if (file_exists(path)) return DKHO_OK;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%.*s/%s", PATH_LIMIT - 200, s->root, names[i]);
    if (file_exists(path))
      return fail(DKHO_E_EXISTS, "%s: is there already and was not made by a reproduction; choose another folder",
                  path);
  }
  return DKHO_OK;
}

static dkho_status make_folders(const study *s) {
  char path[PATH_LIMIT];
  TRY(check_root(s));
  TRY(file_mkdir(s->root));
  TRY(file_mkdir(s->dir));
  return file_mkdir(study_path(s, "runs", path));
}

/* Results without weights are a record that somebody keeps, not a study to go on with. */
static dkho_status check_weights(const study *s) {
  for (int i = 0; i < s->runs; i++)
    if (study_has(&s->run[i], "result.json") && !study_has(&s->run[i], "best.st"))
      return fail(DKHO_E_EXISTS,
                  "%s: has a result.json but no best.st: figures kept without the model; choose another folder",
                  s->run[i].dir);
  return DKHO_OK;
}

static dkho_status make_data(study *s) {
  if (!file_exists(s->data)) {
    report_log("%s: making data (%s resolution)", s->p->name, s->budget.of.resolution);
    problem_request r = {.resolution = s->budget.of.resolution,
                         .samples = s->budget.of.samples,
                         .seed = s->o->seed,
                         .threads = s->o->threads};
    TRY(problem_generate(s->p, &r, s->data));
  }
  return dataset_open(&s->d, s->data);
}

/* ---- training ---- */

static dkho_status train_options(const study *s, const study_run *r, dkho_train_options *o) {
  study_optimizer by;
  TRY(study_optimizer_of(s->o->optimizer, r->m, &by));
  dkho_train_defaults(o);
  o->target = r->recipe->target, o->model = r->m->name, o->size = r->size;
  if (r->m == model_at(0)) o->variant = r->variant;
  if (r->inputs) o->profile = r->inputs[0] == 'n' ? "native" : feat_profile_name(model_at(0)->profile);
  o->epochs = s->budget.of.epochs, o->batch = s->budget.of.batch, o->seed = s->o->seed, o->threads = s->o->threads;
  o->optimizer = optim_name(by.kind), o->schedule = s->o->schedule, o->warmup = s->o->warmup;
  if (by.lr > 0 || s->o->lr > 0) o->lr = by.lr > 0 ? by.lr : s->o->lr;
  o->stop = s->o->stop, o->stop_user = s->o->stop_user;
  return DKHO_OK;
}

/* Epochs that a run has behind it: lines of its history. */
static int64_t epochs_done(const study_run *r) {
  char path[PATH_LIMIT];
  file_map m;
  int64_t lines = 0;
  snprintf(path, sizeof path, "%.*s/metrics.csv", PATH_LIMIT - 64, r->dir);
  if (!file_exists(path) || file_map_open(&m, path) != DKHO_OK) return 0;
  for (size_t i = 0; i < m.size; i++) lines += m.bytes[i] == '\n';
  file_map_close(&m);
  return lines > 0 ? lines - 1 : 0;
}

static void span_text(double seconds, char out[32]) {
  if (seconds < 100)
    snprintf(out, 32, "%.0f s", seconds);
  else if (seconds < 6000)
    snprintf(out, 32, "%.0f min", seconds / 60);
  else
    snprintf(out, 32, "%.1f h", seconds / 3600);
}

/* Measures one step of every run that is not finished, and says what all of it will take. */
static dkho_status announce_time(study *s) {
  int64_t trains, vals, left = 0;
  double seconds = 0;
  char text[32];
  dataset_split(s->d, DATA_TRAIN, &trains);
  dataset_split(s->d, DATA_VAL, &vals);
  for (int i = 0; i < s->runs; i++) {
    const study_run *r = &s->run[i];
    if (study_has(r, "result.json")) continue;
    TRY(stop_asked(s));
    dkho_train_options o;
    run_config cfg = {0};
    double step = 0;
    TRY(train_options(s, r, &o));
    dkho_status st = config_resolve(&cfg, s->d, s->data, &o);
    if (st == DKHO_OK) st = estimate_step(&step, s->d, &cfg, s->threads);
    seconds += estimate_run(step, cfg.epochs - epochs_done(r), trains, vals);
    config_free(&cfg);
    TRY(st);
    left++;
  }
  span_text(seconds, text);
  if (left)
    report_log("%s, budget %s: %lld of %d runs to train on %lld samples, about %s", s->p->name, s->budget.name,
               (long long)left, s->runs, (long long)trains, text);
  return DKHO_OK;
}

/* Begins the run, or goes on with what there is of it. */
static dkho_status train_one(const study *s, const study_run *r, const dkho_train_options *o) {
  train_host host = {o->threads, 60, o->stop, o->stop_user, 1};
  run_config cfg = {0};
  char path[PATH_LIMIT];
  snprintf(path, sizeof path, "%.*s/config.json", PATH_LIMIT - 64, r->dir);
  int begun = file_exists(path);
  dkho_status st = begun ? config_read(&cfg, path, s->d) : config_resolve(&cfg, s->d, s->data, o);
  if (st == DKHO_OK) st = begun ? train_resume(s->d, &cfg, r->dir, &host) : train_start(s->d, &cfg, r->dir, &host);
  config_free(&cfg);
  return st;
}

static dkho_status train_all(study *s) {
  for (int i = 0; i < s->runs; i++) {
    const study_run *r = &s->run[i];
    if (study_has(r, "result.json")) continue;
    TRY(stop_asked(s));
    report_log("%s: training %s (%d of %d)", s->p->name, r->name, i + 1, s->runs);
    dkho_train_options o;
    TRY(train_options(s, r, &o));
    TRY(train_one(s, r, &o));
  }
  return DKHO_OK;
}

/* ---- the whole ---- */

static void study_close(study *s) {
  dataset_free(s->d);
  pool_free(s->threads);
}

static dkho_status study_plan(study *s, const char *problem_name, const char *dir, const dkho_reproduce_options *o) {
  TRY(problem_find(problem_name, &s->p));
  TRY(study_budget_of(o->budget ? o->budget : "quick", s->p, &s->budget));
  s->o = o;
  if (o->samples) s->budget.of.samples = o->samples;
  if (o->epochs) s->budget.of.epochs = o->epochs;
  if (o->batch) s->budget.of.batch = o->batch;
  if (strlen(dir) > PATH_LIMIT - 400) return fail(DKHO_E_INPUT, "the name of the folder is too long");
  snprintf(s->root, sizeof s->root, "%s", dir);
  snprintf(s->dir, sizeof s->dir, "%s/%s", dir, s->p->name);
  study_path(s, "data.st", s->data);
  TRY(study_optimizer_of(o->optimizer, model_at(0), &(study_optimizer){0}));
  TRY(study_list_runs(s));
  return study_check_figures(s);
}

static dkho_status study_work(study *s) {
  json_t *result = NULL;
  TRY(check_plan(s));
  TRY(check_weights(s));
  TRY(pool_create(&s->threads, s->o->threads));
  TRY(make_data(s));
  TRY(study_check_sample(s));
  TRY(announce_time(s));
  TRY(train_all(s));
  TRY(stop_asked(s));
  dkho_status st = study_results(s, &result);
  if (st == DKHO_OK) st = study_figures(s, result);
  json_decref(result);
  return st;
}

/* One process at a time. */
static dkho_status study_do(study *s) {
  char path[PATH_LIMIT];
  lock owned;
  TRY(make_folders(s));
  TRY(lock_take(&owned, s->dir, study_path(s, TRAIN_LOCK, path)));
  dkho_status st = study_work(s);
  lock_release(&owned);
  return st;
}

/* The results of every problem that the folder has. */
static dkho_status gather_results(const char *dir, json_t **out) {
  *out = json_array();
  dkho_status s = DKHO_OK;
  for (int i = 0; s == DKHO_OK && i < problem_count(); i++) {
    char path[PATH_LIMIT];
    json_t *one = NULL;
    snprintf(path, sizeof path, "%s/%s/result.json", dir, problem_at(i)->name);
    if (!file_exists(path)) continue;
    s = config_load_json(path, &one);
    if (s == DKHO_OK) json_array_append_new(*out, one);
  }
  return s;
}

static dkho_status reproduce_one(const char *name, const char *dir, const dkho_reproduce_options *o) {
  study *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  dkho_status st = study_plan(s, name, dir, o);
  if (st == DKHO_OK) st = study_do(s);
  study_close(s);
  mem_free(s);
  return st;
}

dkho_status study_reproduce(const char *name, const char *dir, const dkho_reproduce_options *o, json_t **out) {
  int all = strcmp(name, "all") == 0;
  dkho_status st = DKHO_OK;
  *out = NULL;
  if (!all) st = reproduce_one(name, dir, o);
  for (int i = 0; all && st == DKHO_OK && i < problem_count(); i++)
    if (problem_at(i)->paper) st = reproduce_one(problem_at(i)->name, dir, o);
  if (st == DKHO_OK) st = gather_results(dir, out);
  if (st == DKHO_OK) st = study_tables(dir, *out);
  return st;
}
