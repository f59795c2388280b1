/* study.c: studies, comparisons, packed models and measurements of the public header. */
#include "api/api.h"
#include "study/bench.h"
#include "study/cost.h"
#include "study/pack.h"
#include "study/study.h"

/* The object as text when it is wanted; it is dropped. */
static dkho_status hand_over(dkho_status s, json_t *object, char **json) {
  if (s == DKHO_OK && json) return api_json(object, json);
  json_decref(object);
  return s;
}

dkho_status dkho_reproduce(const char *name, const char *dir, const dkho_reproduce_options *options, char **json) {
  dkho_reproduce_options plain = {.seed = 42};
  json_t *found = NULL;
  if (json) *json = NULL;
  dkho_status s = study_reproduce(name, dir, options ? options : &plain, &found);
  return hand_over(s, found, json);
}

dkho_status dkho_honesty(const char *run, const char *data, int threads, char **json) {
  json_t *found = NULL;
  *json = NULL;
  dkho_status s = cost_and_rows(run, data, threads, &found);
  return hand_over(s, found, json);
}

dkho_status dkho_model_pack(const char *run, const char *data, const char *path, int force, int threads, char **json) {
  json_t *card = NULL;
  if (json) *json = NULL;
  dkho_status s = pack_model(run, data, path, force, threads, &card);
  return hand_over(s, card, json);
}

dkho_status dkho_model_check(const char *path, int threads, char **json) {
  json_t *found = NULL;
  if (json) *json = NULL;
  dkho_status s = pack_check(path, threads, &found);
  return hand_over(s, found, json);
}

dkho_status dkho_bench(const char *name, const char *size, const char *resolution, int threads, double seconds,
                       char **json) {
  json_t *found = NULL;
  *json = NULL;
  dkho_status s = bench_problems(name, size, resolution, threads, seconds, &found);
  return hand_over(s, found, json);
}

dkho_status dkho_bench_scaling(const char *size, int64_t largest, int turns, int threads, const char *figure, int force,
                               char **json) {
  json_t *found = NULL;
  *json = NULL;
  dkho_status s = bench_scaling(size, largest, turns, threads, figure, force, &found);
  return hand_over(s, found, json);
}
