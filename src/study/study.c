/* study.c: what a study consists of, its data and its training. */
#include "study/study.h"

#include "base/report.h"
#include "run/pace.h"
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

static int is_full(const study_run *r, const char *target) {
  return strcmp(r->variant, "full") == 0 && strcmp(r->recipe->target, target) == 0;
}

const study_run *study_full_run(const study *s, const char *target, const char *size) {
  const study_run *found = NULL;
  for (int i = 0; i < s->runs; i++) {
    const study_run *r = &s->run[i];
    if (r->m != model_at(0) || !is_full(r, target)) continue;
    if (!size || strcmp(r->size, size) == 0) found = r; /* small comes before large */
  }
  return found;
}

const study_run *study_main_run(const study *s, const char *target) {
  const study_run *found = study_full_run(s, target, NULL);
  for (int i = 0; !found && i < s->runs; i++)
    if (is_full(&s->run[i], target)) found = &s->run[i];
  return found;
}

int study_full_runs(const study *s, const char *target) {
  int n = 0;
  for (int i = 0; i < s->runs; i++) n += is_full(&s->run[i], target);
  return n;
}

static dkho_status stop_asked(const study *s) {
  if (s->o->stop && s->o->stop(s->o->stop_user))
    return fail(DKHO_E_STOPPED, "%s: stopped; what is finished is kept", s->dir);
  return DKHO_OK;
}

/* ---- the list of runs ---- */

static int has(const study_run *r, const char *name) {
  char path[PATH_LIMIT];
  snprintf(path, sizeof path, "%.*s/%s", PATH_LIMIT - 64, r->dir, name);
  return file_exists(path);
}

static study_run *add_run(study *s, const data_recipe *r, const model_type *m, const char *size) {
  if (s->runs == STUDY_RUNS) return NULL;
  study_run *run = &s->run[s->runs++];
  *run = (study_run){.recipe = r, .m = m, .size = size, .variant = "full"};
  return run;
}

static void place_run(const study *s, study_run *run) {
  char part[160];
  snprintf(part, sizeof part, "runs/%s", run->name);
  study_path(s, part, run->dir);
}

/* A run of the model under study. */
static study_run *add_own(study *s, const data_recipe *r, const char *size, const char *variant) {
  study_run *run = add_run(s, r, model_at(0), size);
  if (!run) return NULL;
  int full = strcmp(variant, "full") == 0;
  run->variant = variant;
  snprintf(run->name, sizeof run->name, "%.60s-%s%s%s", r->target, size, full ? "" : "-", full ? "" : variant);
  snprintf(run->title, sizeof run->title, "DKHO-%s%s%s", size, full ? "" : ", ", full ? "" : variant);
  place_run(s, run);
  return run;
}

/* What nobody asks for is part of the study when it was asked for before and is finished. */
static void drop_unless_finished(study *s, const study_run *run) {
  if (run && !has(run, "result.json")) s->runs--;
}

static void add_variant(study *s, const data_recipe *r, const char *size, const char *variant) {
  study_run *run = add_own(s, r, size, variant);
  if (!s->o->ablations) drop_unless_finished(s, run);
}

static void add_own_runs(study *s, const data_recipe *r, int small, int large) {
  if (small) add_own(s, r, "small", "full");
  if (large) add_own(s, r, "large", "full");
  add_variant(s, r, small ? "small" : "large", "no_dirac");
  add_variant(s, r, small ? "small" : "large", "no_phase");
  if (r->harmonic) add_variant(s, r, small ? "small" : "large", "no_harmonic");
}

static int has_size(const model_type *m, const char *size) {
  for (int i = 0; size && m->size && m->size[i].name; i++)
    if (strcmp(m->size[i].name, size) == 0) return 1;
  return 0;
}

/* A model beside the one under study, in the size that is asked for if it has it. */
static void add_other(study *s, const data_recipe *r, const model_type *m, const char *inputs, int wanted) {
  const char *size = has_size(m, s->o->size) ? s->o->size : NULL, *dash = size ? "-" : "", *of = size ? size : "";
  study_run *run = add_run(s, r, m, size);
  if (!run) return;
  run->inputs = inputs;
  snprintf(run->name, sizeof run->name, "%.60s-%.30s%s%s-%s", r->target, m->name, dash, of, inputs);
  snprintf(run->title, sizeof run->title, "%.40s%s%s (%s)", m->name, dash, of, inputs[0] == 'n' ? "N" : "F");
  place_run(s, run);
  if (!wanted) drop_unless_finished(s, run);
}

static void add_others(study *s, const data_recipe *r) {
  const char *inputs = s->o->inputs ? s->o->inputs : "native";
  for (int i = 1; model_at(i); i++) {
    const model_type *m = model_at(i);
    int asked = 0;
    for (int k = 0; k < s->models; k++) asked |= s->model[k] == m;
    add_other(s, r, m, "native", asked && strcmp(inputs, "matched") != 0);
    add_other(s, r, m, "matched", asked && strcmp(inputs, "native") != 0);
  }
}

/* s->model from a list with commas, "all" or NULL. */
static dkho_status list_models(study *s) {
  const char *at = s->o->models ? s->o->models : model_at(0)->name, *inputs = s->o->inputs;
  if (inputs && strcmp(inputs, "native") != 0 && strcmp(inputs, "matched") != 0 && strcmp(inputs, "both") != 0)
    return fail(DKHO_E_INPUT, "unknown inputs '%s'; there are native, matched, both", inputs);
  for (int i = 0; strcmp(at, "all") == 0 && model_at(i) && s->models < STUDY_MODELS; i++)
    s->model[s->models++] = model_at(i);
  while (!s->models || (*at && strcmp(at, "all") != 0)) {
    char name[64];
    size_t n = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), at);
    if (s->models == STUDY_MODELS) return fail(DKHO_E_INPUT, "more than %d models are asked for", STUDY_MODELS);
    TRY(model_find(name, &s->model[s->models++]));
    at += n + (at[n] == ',');
  }
  return DKHO_OK;
}

static dkho_status list_runs(study *s) {
  const char *size = s->o->size;
  if (size && strcmp(size, "small") != 0 && strcmp(size, "large") != 0 && strcmp(size, "both") != 0)
    return fail(DKHO_E_INPUT, "unknown size '%s'; there are small, large, both", size);
  TRY(list_models(s));
  int small = !size || strcmp(size, "large") != 0, large = size ? strcmp(size, "small") != 0 : s->budget.large;
  int wanted = 0, own = 0;
  char names[512] = "";
  for (int k = 0; k < s->models; k++) own |= s->model[k] == model_at(0);
  for (int i = 0; i < s->p->recipes; i++) {
    const data_recipe *r = &s->p->recipe[i];
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", r->target);
    if (s->o->target && strcmp(s->o->target, r->target) != 0) continue;
    wanted++;
    if (own) add_own_runs(s, r, small, large);
    add_others(s, r);
  }
  if (!wanted) return fail(DKHO_E_INPUT, "problem %s has no target '%s'; it has %s", s->p->name, s->o->target, names);
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
    if (has(&s->run[i], "result.json") && !has(&s->run[i], "best.st"))
      return fail(DKHO_E_EXISTS,
                  "%s: has a result.json but no best.st: figures kept without the model; choose another folder",
                  s->run[i].dir);
  return DKHO_OK;
}

static dkho_status make_data(study *s) {
  if (!file_exists(s->data)) {
    report_log("%s: making data (%s resolution)", s->p->name, s->budget.of.resolution);
    problem_request r = {s->budget.of.resolution, s->budget.of.samples, s->o->seed, s->o->threads, 0};
    TRY(problem_generate(s->p, &r, s->data));
  }
  return dataset_open(&s->d, s->data);
}

/* ---- training ---- */

static void train_options(const study *s, const study_run *r, dkho_train_options *o) {
  dkho_train_defaults(o);
  o->target = r->recipe->target, o->model = r->m->name, o->size = r->size;
  if (r->m == model_at(0)) o->variant = r->variant;
  if (r->inputs) o->profile = r->inputs[0] == 'n' ? "native" : feat_profile_name(model_at(0)->profile);
  o->epochs = s->budget.of.epochs, o->batch = s->budget.of.batch, o->seed = s->o->seed, o->threads = s->o->threads;
  o->optimizer = s->o->optimizer ? s->o->optimizer : "adamw", o->schedule = s->o->schedule, o->warmup = s->o->warmup;
  if (s->o->lr > 0) o->lr = s->o->lr;
  o->stop = s->o->stop, o->stop_user = s->o->stop_user;
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

static void span(double seconds, char out[32]) {
  if (seconds < 100)
    snprintf(out, 32, "%.0f s", seconds);
  else if (seconds < 6000)
    snprintf(out, 32, "%.0f min", seconds / 60);
  else
    snprintf(out, 32, "%.1f h", seconds / 3600);
}

/* Measures one step of every run that is not finished, and says what all of it will take. */
static dkho_status estimate(study *s) {
  int64_t trains, vals, left = 0;
  double seconds = 0;
  char text[32];
  dataset_split(s->d, DATA_TRAIN, &trains);
  dataset_split(s->d, DATA_VAL, &vals);
  for (int i = 0; i < s->runs; i++) {
    const study_run *r = &s->run[i];
    if (has(r, "result.json")) continue;
    TRY(stop_asked(s));
    dkho_train_options o;
    run_config cfg = {0};
    double step = 0;
    train_options(s, r, &o);
    dkho_status st = config_resolve(&cfg, s->d, s->data, &o);
    if (st == DKHO_OK) st = pace_measure(&step, s->d, &cfg, s->threads);
    seconds += pace_total(step, cfg.epochs - epochs_done(r), trains, vals);
    config_free(&cfg);
    TRY(st);
    left++;
  }
  span(seconds, text);
  if (left)
    report_log("%s, budget %s: %lld of %d runs to train on %lld samples, about %s", s->p->name, s->budget.name,
               (long long)left, s->runs, (long long)trains, text);
  return DKHO_OK;
}

/* Begins the run, or goes on with what there is of it. */
static dkho_status train_one(const study *s, const study_run *r, const dkho_train_options *o) {
  train_host host = {o->threads, 60, o->stop, o->stop_user};
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
    if (has(r, "result.json")) continue;
    TRY(stop_asked(s));
    report_log("%s: training %s (%d of %d)", s->p->name, r->name, i + 1, s->runs);
    dkho_train_options o;
    train_options(s, r, &o);
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
  TRY(list_runs(s));
  return study_check_figures(s);
}

static dkho_status study_do(study *s) {
  json_t *result = NULL;
  TRY(make_folders(s));
  TRY(check_plan(s));
  TRY(check_weights(s));
  TRY(pool_create(&s->threads, s->o->threads));
  TRY(make_data(s));
  TRY(study_check_sample(s));
  TRY(estimate(s));
  TRY(train_all(s));
  TRY(stop_asked(s));
  dkho_status st = study_judge(s, &result);
  if (st == DKHO_OK) st = study_figures(s, result);
  json_decref(result);
  return st;
}

/* The results of every problem that the folder has. */
static dkho_status gather(const char *dir, json_t **out) {
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
  if (st == DKHO_OK) st = gather(dir, out);
  if (st == DKHO_OK) st = study_tables(dir, *out);
  return st;
}
