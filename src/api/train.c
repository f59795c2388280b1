/* train.c: training and evaluation of the public header. */
#include "api/api.h"
#include "problem/problem.h"
#include "run/evaluate.h"
#include "run/train.h"

#include <stdio.h>
#include <string.h>

enum { PATH_LIMIT = 4096 };

void dkho_train_defaults(dkho_train_options *o) {
  *o = (dkho_train_options){
      .modes = -1, .tau_range = -1, .lag_scale = -1, .lr = -1, .weight_decay = -1, .clip = -1, .ema = -1, .seed = 42};
}

static train_host host_of(const dkho_train_options *o) {
  train_host h = {.checkpoint_seconds = 60};
  if (o) h = (train_host){o->threads, o->checkpoint_seconds > 0 ? o->checkpoint_seconds : 60, o->stop, o->stop_user};
  return h;
}

dkho_status dkho_train(const char *data, const char *run, const dkho_train_options *options) {
  dkho_train_options plain;
  dkho_train_defaults(&plain);
  const dkho_train_options *o = options ? options : &plain;
  train_host host = host_of(o);
  dataset *d = NULL;
  run_config cfg = {0};
  TRY(dataset_open(&d, data));
  dkho_status s = config_resolve(&cfg, d, data, o);
  if (s == DKHO_OK) s = train_start(d, &cfg, run, &host);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

/* The data set and the configuration of a run; data NULL: the path that the run remembers. */
static dkho_status open_run(const char *run, const char *data, dataset **d, run_config *cfg) {
  char path[PATH_LIMIT], *own = NULL;
  if (snprintf(path, sizeof path, "%s/config.json", run) >= PATH_LIMIT)
    return fail(DKHO_E_INPUT, "the name of the run directory is too long");
  if (!data) TRY(config_data_path(path, &own));
  dkho_status s = dataset_open(d, data ? data : own);
  mem_free(own);
  if (s == DKHO_OK && (s = config_read(cfg, path, *d)) != DKHO_OK) {
    dataset_free(*d);
    *d = NULL;
  }
  return s;
}

dkho_status dkho_train_resume(const char *run, const char *data, const dkho_train_options *options) {
  char path[PATH_LIMIT];
  train_host host = host_of(options);
  dataset *d = NULL;
  run_config cfg = {0};
  TRY(open_run(run, data, &d, &cfg));
  snprintf(path, sizeof path, "%s/result.json", run);
  dkho_status s = file_exists(path) ? DKHO_OK : train_resume(d, &cfg, run, &host);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

dkho_status dkho_evaluate(const char *run, const char *data, const char *split, int threads, char **json) {
  char path[PATH_LIMIT];
  dataset *d = NULL;
  run_config cfg = {0};
  oper *o = NULL;
  judge *j = NULL;
  pool *p = NULL;
  json_t *result = NULL;
  const int64_t *sample = NULL;
  int64_t count = 0;
  *json = NULL;
  TRY(open_run(run, data, &d, &cfg));
  for (int i = 0; i < DATA_SPLITS; i++)
    if (strcmp(split, data_split_name((data_split)i)) == 0) sample = dataset_split(d, (data_split)i, &count);
  dkho_status s;
  snprintf(path, sizeof path, "%s/best.st", run);
  if (!count) {
    s = fail(DKHO_E_INPUT, "split '%s': expected train, val or test, with samples in it", split);
    goto done;
  }
  TRY_GOTO(oper_load(&o, path));
  TRY_GOTO(oper_matches(o, d));
  TRY_GOTO(pool_create(&p, threads));
  TRY_GOTO(judge_create(&j, o, d, p));
  TRY_GOTO(judge_metrics(j, o->value, cfg.metrics, count, sample, &result));
  json_object_set_new(result, "run", json_string(run));
  json_object_set_new(result, "split", json_string(split));
  json_object_set_new(result, "target", json_string(cfg.target));
  json_object_set_new(result, "parameters", json_integer(o->p->total));
  s = api_json(result, json);
done:
  judge_free(j);
  pool_free(p);
  oper_free(o);
  config_free(&cfg);
  dataset_free(d);
  return s;
}

/* Widths come from a table compiled without arrays: the profile's rows, with `modes` columns for modes(). */
dkho_status dkho_parameter_count(const char *name, const dkho_train_options *options, int64_t *count) {
  dkho_train_options plain;
  dkho_train_defaults(&plain);
  const dkho_train_options *o = options ? options : &plain;
  const problem *p;
  TRY(problem_find(name, &p));
  int recipe = -1;
  for (int i = 0; i < p->recipes; i++)
    if (!o->target || strcmp(o->target, p->recipe[i].target) == 0) {
      recipe = i;
      break;
    }
  if (recipe < 0 && o->target && strlen(o->target) == 1) recipe = problem_target(p, o->target[0] - '0');
  if (recipe < 0) return fail(DKHO_E_INPUT, "problem %s has no target '%s'", name, o->target);
  oper_request r;
  TRY(config_model(&r, &p->recipe[recipe], o));
  return oper_count(&r, p->dim, p->fields, p->field, &p->table, p->recipe[recipe].target, p->betti, count);
}
