/* study.c: studies, comparisons, packed models and measurements of the public header. */
#include "api/api.h"
#include "model/model.h"
#include "study/card.h"
#include "study/pack.h"
#include "study/study.h"
#include "study/study_json.h"

#include <string.h>

/* The object as text when it is wanted; it is dropped. */
static dkho_status hand_over(dkho_status s, json_t *object, char **json) {
  if (s == DKHO_OK && json) return api_json(object, json);
  json_decref(object);
  return s;
}

static json_t *describe_targets(const problem *p) {
  json_t *list = json_array();
  for (int r = 0; r < p->recipes; r++)
    for (int i = 0; i < p->fields; i++)
      if (strcmp(p->field[i].name, p->recipe[r].target) == 0)
        json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "name", p->field[i].name, "degree", p->field[i].degree,
                                              "channels", p->field[i].channels));
  return list;
}

static json_t *describe_laws(const problem *p) {
  json_t *list = json_array();
  for (; p; p = p->other) json_array_append_new(list, json_string(p->law));
  return list;
}

static dkho_status describe_problem(const problem *p, json_t *list) {
  study_budget demo;
  TRY(study_budget_of("demo", p, &demo));
  json_t *one = json_pack("{s:s, s:s, s:b, s:o}", "name", p->name, "summary", p->summary, "paper", p->paper != NULL,
                          "targets", describe_targets(p));
  if (one && p->law) json_object_set_new(one, "laws", describe_laws(p));
  if (one && p->demo)
    json_object_set_new(one, "demo",
                        json_pack("{s:s, s:s, s:s, s:s, s:b}", "target", p->demo->target, "task", p->demo->task,
                                  "model", p->demo->model ? p->demo->model : model_at(0)->name, "resolution",
                                  demo.of.resolution, "first", p->demo->first));
  return json_array_append_new(list, one) == 0 ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}

dkho_status dkho_problem_list(char **json) {
  json_t *list = json_array();
  dkho_status s = DKHO_OK;
  *json = NULL;
  for (int i = 0; s == DKHO_OK && i < problem_count(); i++) s = describe_problem(problem_at(i), list);
  return hand_over(s, list, json);
}

dkho_status dkho_reproduce(const char *name, const char *dir, const dkho_reproduce_options *options, char **json) {
  dkho_reproduce_options plain = {.seed = 42};
  json_t *found = NULL;
  if (json) *json = NULL;
  dkho_status s = study_reproduce(name, dir, options ? options : &plain, &found);
  return hand_over(s, found, json);
}

dkho_status dkho_honesty(const char *run, const char *data, int threads, char **json) {
  json_t *object = NULL;
  cost_report found = {0};
  *json = NULL;
  dkho_status s = cost_and_rows(run, data, threads, &found);
  if (s == DKHO_OK) s = cost_report_json(&found, &object);
  cost_report_free(&found);
  return hand_over(s, object, json);
}

dkho_status dkho_model_pack(const char *run, const char *data, const char *path, int force, int threads, char **json) {
  json_t *card = NULL;
  if (json) *json = NULL;
  dkho_status s = pack_model(run, data, path, force, threads, &card);
  return hand_over(s, card, json);
}

dkho_status dkho_model_table(const char *path) {
  return card_index(path);
}

dkho_status dkho_model_check(const char *path, int threads, char **json) {
  json_t *found = NULL;
  if (json) *json = NULL;
  dkho_status s = pack_check(path, threads, &found);
  return hand_over(s, found, json);
}

/* The report is freed. */
static dkho_status hand_over_bench(dkho_status s, bench_report *found, char **json) {
  json_t *object = NULL;
  if (s == DKHO_OK) s = bench_json(found, &object);
  bench_report_free(found);
  return hand_over(s, object, json);
}

dkho_status dkho_bench(const char *name, const char *size, const char *resolution, int threads, double seconds,
                       char **json) {
  bench_report found = {0};
  *json = NULL;
  dkho_status s = bench_problems(name, size, resolution, threads, seconds, &found);
  return hand_over_bench(s, &found, json);
}

dkho_status dkho_bench_model(const char *name, const char *model, const char *resolution, int threads, double seconds,
                             char **json) {
  bench_report found = {0};
  *json = NULL;
  dkho_status s = bench_model(name, model, resolution, threads, seconds, &found);
  return hand_over_bench(s, &found, json);
}

dkho_status dkho_bench_ranks(const char *name, const char *resolution, int threads, double seconds, char **json) {
  json_t *object = NULL;
  ranks_report found;
  *json = NULL;
  comm_watch(COMM_ENTER);
  dkho_status s = bench_ranks(name, resolution, threads, seconds, &found);
  comm_watch(COMM_LEAVE);
  if (s == DKHO_OK) s = ranks_json(&found, &object);
  return hand_over(s, object, json);
}

dkho_status dkho_bench_scaling(const char *size, int64_t largest, int turns, int threads, const char *figure, int force,
                               char **json) {
  json_t *object = NULL;
  scaling_report found;
  *json = NULL;
  dkho_status s = bench_scaling(size, largest, turns, threads, figure, force, &found);
  if (s == DKHO_OK) s = scaling_json(&found, &object);
  return hand_over(s, object, json);
}
