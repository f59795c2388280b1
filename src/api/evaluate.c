/* evaluate.c: runs judged, by the public header. */
#include "api/api.h"
#include "run/groups.h"
#include "run/result_json.h"
#include "study/opened.h"

#include <stdio.h>
#include <string.h>

static dkho_status evaluate_split(opened *r, comm *ranks, const char *run, const char *split, json_t **result) {
  const int64_t *sample;
  int64_t count;
  TRY(opened_split(r, split, &sample, &count));
  r->j->ranks = ranks;
  double seconds[2];
  score_result found;
  TRY(evaluator_metrics(r->j, r->o->value, r->cfg.metrics, count, sample, &found, seconds));
  *result = score_json(&found, 1);
  score_free(&found);
  json_object_set_new(*result, "run", json_string(run));
  json_object_set_new(*result, "split", json_string(split));
  json_object_set_new(*result, "target", json_string(r->cfg.target));
  json_object_set_new(*result, "parameters", json_integer(r->o->p->total));
  json_object_set_new(*result, "predict_seconds", json_real(seconds[0]));
  json_object_set_new(*result, "judge_seconds", json_real(seconds[1]));
  return DKHO_OK;
}

/* As many parts as DKHO_PARTS says. */
static dkho_status form_groups(rank_groups *g) {
  int parts;
  TRY(groups_wanted(&parts));
  return groups_form(g, comm_world(), parts);
}

dkho_status dkho_evaluate(const char *run, const char *data, const char *split, int threads, char **json) {
  opened r = {0};
  rank_groups in = {0};
  json_t *result = NULL;
  *json = NULL;
  comm_watch(COMM_ENTER);
  dkho_status s = form_groups(&in);
  r.share = groups_share(&in);
  if (s == DKHO_OK) s = comm_agree(comm_world(), opened_model(&r, run, data, threads));
  if (s == DKHO_OK) s = evaluate_split(&r, in.samples, run, split, &result);
  opened_close(&r);
  groups_free(&in);
  comm_watch(COMM_LEAVE);
  return s == DKHO_OK ? api_json(result, json) : s;
}

dkho_status dkho_compatibility(const char *lower, const char *upper, const char *data, const char *split, int threads,
                               double *out) {
  rank_groups in = {0};
  comm_watch(COMM_ENTER);
  dkho_status s = form_groups(&in);
  if (s == DKHO_OK) s = opened_compatibility(lower, upper, data, split, threads, groups_share(&in), out);
  groups_free(&in);
  comm_watch(COMM_LEAVE);
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
  if (s == DKHO_OK) s = scorer_create(&scores, r.d, r.cfg.request.target, r.cfg.metrics, 1, NULL);
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
