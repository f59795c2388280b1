/* evaluate.c: runs judged, by the public header. */
#include "api/api.h"
#include "api/opened.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int is_file(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static dkho_status opened_file(opened *r, const char *model, const char *data) {
  if (!data) return fail(DKHO_E_INPUT, "%s: a model file does not know where its data are; name the data set", model);
  TRY(dataset_open(&r->d, data));
  TRY(oper_load(&r->o, model, api_rebuild));
  TRY(oper_matches(r->o, r->d));
  return config_of_model(&r->cfg, r->o, r->d);
}

dkho_status opened_config(opened *r, const char *run, const char *data) {
  char path[PATH_LIMIT], *own = NULL;
  if (is_file(run)) return opened_file(r, run, data);
  if (snprintf(path, sizeof path, "%s/config.json", run) >= PATH_LIMIT - 64)
    return fail(DKHO_E_INPUT, "the name of the run directory is too long");
  if (!data) TRY(config_data_path(path, &own));
  dkho_status s = dataset_open(&r->d, data ? data : own);
  mem_free(own);
  return s == DKHO_OK ? config_read(&r->cfg, path, r->d) : s;
}

dkho_status opened_model(opened *r, const char *run, const char *data, int threads) {
  char path[PATH_LIMIT];
  TRY(opened_config(r, run, data));
  if (!r->o) {
    snprintf(path, sizeof path, "%s/best.st", run);
    TRY(oper_load(&r->o, path, api_rebuild));
    TRY(oper_matches(r->o, r->d));
  }
  TRY(pool_create(&r->threads, threads));
  return judge_create(&r->j, r->o, r->d, r->threads);
}

void opened_close(opened *r) {
  judge_free(r->j);
  pool_free(r->threads);
  oper_free(r->o);
  config_free(&r->cfg);
  dataset_free(r->d);
  *r = (opened){0};
}

dkho_status opened_split(const opened *r, const char *split, const int64_t **sample, int64_t *count) {
  *count = 0;
  for (int i = 0; i < DATA_SPLITS; i++)
    if (strcmp(split, data_split_name((data_split)i)) == 0) *sample = dataset_split(r->d, (data_split)i, count);
  return *count ? DKHO_OK : fail(DKHO_E_INPUT, "split '%s': expected train, val or test, with samples in it", split);
}

static dkho_status evaluate(opened *r, const char *run, const char *split, json_t **result) {
  const int64_t *sample;
  int64_t count;
  TRY(opened_split(r, split, &sample, &count));
  double seconds[2];
  TRY(judge_metrics(r->j, r->o->value, r->cfg.metrics, count, sample, result, seconds));
  json_object_set_new(*result, "run", json_string(run));
  json_object_set_new(*result, "split", json_string(split));
  json_object_set_new(*result, "target", json_string(r->cfg.target));
  json_object_set_new(*result, "parameters", json_integer(r->o->p->total));
  json_object_set_new(*result, "predict_seconds", json_real(seconds[0]));
  json_object_set_new(*result, "judge_seconds", json_real(seconds[1]));
  return DKHO_OK;
}

dkho_status dkho_evaluate(const char *run, const char *data, const char *split, int threads, char **json) {
  opened r = {0};
  json_t *result = NULL;
  *json = NULL;
  dkho_status s = opened_model(&r, run, data, threads);
  if (s == DKHO_OK) s = evaluate(&r, run, split, &result);
  opened_close(&r);
  return s == DKHO_OK ? api_json(result, json) : s;
}

dkho_status dkho_compatibility(const char *lower, const char *upper, const char *data, const char *split, int threads,
                               double *out) {
  opened a = {0}, b = {0};
  const int64_t *sample;
  int64_t count;
  dkho_status s;
  TRY_GOTO(opened_model(&a, lower, data, threads));
  TRY_GOTO(opened_model(&b, upper, data, threads));
  if (strcmp(a.cfg.data_hash, b.cfg.data_hash) != 0) {
    s = fail(DKHO_E_INPUT, "%s and %s were trained on different data", lower, upper);
    goto done;
  }
  TRY_GOTO(opened_split(&a, split, &sample, &count));
  s = judge_pair(a.j, b.j, count, sample, out);
done:
  opened_close(&a);
  opened_close(&b);
  return s;
}

static const char *join_name(metric_join j) {
  return j == METRIC_MEAN ? "mean" : j == METRIC_ROOT ? "root of the mean" : "exp(-10 mean)";
}

dkho_status dkho_metric_list(const char *run, const char *data, char **json) {
  opened r = {0};
  scorer *scores = NULL;
  json_t *list = NULL;
  *json = NULL;
  dkho_status s = opened_config(&r, run, data);
  if (s == DKHO_OK) s = scorer_create(&scores, r.d, r.cfg.oper.target, r.cfg.metrics, 1, NULL);
  if (s == DKHO_OK) {
    const metrics *m = scorer_metrics(scores);
    list = json_array();
    for (int i = 0; i < metrics_count(m); i++) {
      const metric_info *info = metrics_at(m, i);
      json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:s}", "key", info->key, "title", info->title, "better",
                                            info->better, "join", join_name(info->join)));
    }
  }
  scorer_free(scores);
  opened_close(&r);
  return s == DKHO_OK ? api_json(list, json) : s;
}
