/* pack.c: small model files: what a benchmark can make again is left out. Packing, making again, and checking a model against a
 * few of its own test samples, made again as well. */
#include "study/pack.h"

#include "problem/coarse.h"
#include "run/result_json.h"
#include "study/card.h"
#include "study/study_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS = 4 }; /* test samples whose errors a packed model remembers */

/* The benchmark that made the data, its resolution, and that of the coarser mesh whose solutions are inputs ("": none). */
typedef struct data_origin {
  const problem *p;
  char resolution[16], coarse[16];
} data_origin;

static void keep_text(json_t *object, const char *key, char out[16]) {
  const char *text = json_string_value(json_object_get(object, key));
  snprintf(out, 16, "%s", text ? text : "");
}

static dkho_status find_origin(const data_info *info, data_origin *out) {
  if (strcmp(info->generator, "dkho data") != 0)
    return fail(DKHO_E_INPUT, "data '%s' were made by '%s': only what `dkho data` made can be made again",
                info->problem, info->generator);
  json_t *kept = json_loads(info->params, 0, NULL);
  keep_text(kept, "resolution", out->resolution);
  keep_text(kept, "coarse", out->coarse);
  json_decref(kept);
  TRY(problem_find(info->problem, &out->p)); /* its error lists the benchmarks */
  return problem_of_data(info, &out->p);
}

/* Moves the arrays of a benchmark to the fields of a description, which may be in another order. */
static dkho_status assign(const problem *p, problem_statics *made, const data_spec *spec, packed_geometry *out) {
  if (!MEM_NEW(out->fixed, spec->fields)) return DKHO_E_MEMORY;
  out->fields = spec->fields;
  for (int i = 0; i < spec->fields; i++) {
    const data_field *f = &spec->field[i];
    for (int j = 0; f->role == DATA_STATIC && j < p->fields; j++)
      if (made->fixed[j] && strcmp(p->field[j].name, f->name) == 0 && p->field[j].degree == f->degree &&
          p->field[j].channels == f->channels) {
        out->fixed[i] = made->fixed[j];
        made->fixed[j] = NULL;
      }
    if (f->role == DATA_STATIC && !out->fixed[i])
      return fail(DKHO_E_FORMAT, "the benchmark '%s' makes no static field '%s' of degree %d with %d channels", p->name,
                  f->name, f->degree, f->channels);
  }
  memcpy(out->harmonic, made->harmonic, sizeof out->harmonic);
  memset(made->harmonic, 0, sizeof made->harmonic);
  return DKHO_OK;
}

dkho_status pack_rebuild(const data_spec *spec, packed_geometry *out) {
  data_origin from;
  problem_state *state = NULL;
  problem_statics made = {0};
  TRY(find_origin(&spec->info, &from));
  const problem *p = from.p;
  dkho_status s;
  TRY_GOTO(p->build(&out->c, from.resolution));
  TRY_GOTO(problem_prepare(&state, p, out->c, spec->info.seed));
  TRY_GOTO(problem_statics_make(&made, p, out->c, state));
  s = assign(p, &made, spec, out);
done:
  problem_statics_free(&made);
  p->release(state);
  return s;
}

/* ---- a few samples made again ---- */

/* A packed model, and its benchmark to make samples with. */
typedef struct replay {
  neural_operator *o;
  pool *threads;
  runner *run;
  const problem *p;
  problem_state *state;
  const cx *c; /* of the model */
  double *block[PROBLEM_FIELDS_MAX];
  void *work;
  coarse *low; /* NULL: no inputs from a coarser mesh */
  coarse_solver *below;
  int64_t group; /* in the blocks; -1: none */
  arena mem;
} replay;

/* The packed operator with the solver of its benchmark, on the complex that was made again. */
static dkho_status replay_open(replay *b, const char *path, int threads) {
  data_origin from;
  TRY(operator_load(&b->o, path, pack_rebuild));
  TRY(pool_create(&b->threads, threads));
  TRY(runner_create(&b->run, b->o, ENGINE_PREDICT, b->threads));
  runner_bind(b->run, b->o->value);
  b->c = b->o->first->c;
  b->group = -1;
  TRY(find_origin(&b->o->spec.info, &from));
  b->p = from.p;
  TRY(problem_prepare(&b->state, b->p, b->c, b->o->spec.info.seed));
  if (*from.coarse) {
    TRY(coarse_create(&b->low, b->p, b->c, from.coarse, b->o->spec.info.seed));
    TRY(coarse_open(&b->below, b->low));
    b->p = coarse_problem(b->low);
  }
  return problem_room(b->p, b->state, b->c, &b->mem, b->block, &b->work);
}

static void replay_close(replay *b) {
  if (b->p) problem_leave(b->p, b->work), b->p->release(b->state);
  coarse_close(b->below);
  coarse_free(b->low);
  runner_free(b->run);
  pool_free(b->threads);
  operator_free(b->o);
  arena_free(&b->mem);
}

/* A field of the model's description, of a sample in the blocks. */
static dkho_status find_value(const replay *b, const data_field *wanted, int64_t sample, const double **out) {
  for (int i = 0, j = 0; i < b->p->fields; i++) {
    const data_field *f = &b->p->field[i];
    if (f->role == DATA_STATIC) continue;
    int64_t n = (f->role == DATA_GLOBAL ? 1 : b->c->n[f->degree]) * f->channels;
    *out = b->block[j++] + (sample % PROBLEM_GROUP) * n;
    if (strcmp(f->name, wanted->name) == 0 && f->degree == wanted->degree && f->channels == wanted->channels)
      return DKHO_OK;
  }
  return fail(DKHO_E_FORMAT, "'%s' is no field of %s", wanted->name, b->p->name);
}

static dkho_status find_floats(const replay *b, const data_field *f, int64_t sample, arena *mem, float **out) {
  int64_t n = b->c->n[f->degree] * f->channels;
  const double *v;
  TRY(find_value(b, f, sample, &v));
  if (!ARENA_NEW(mem, *out, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) (*out)[i] = (float)v[i];
  return DKHO_OK;
}

/* One sample for a runner. */
typedef struct made_sample {
  int ins, globals;
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  float *out;
} made_sample;

static void made_inputs(void *ctx, int64_t i, const float **in, const double **global) {
  const made_sample *m = ctx;
  (void)i;
  memcpy(in, m->in, (size_t)m->ins * sizeof *in);
  memcpy(global, m->global, (size_t)m->globals * sizeof *global);
}

static float *made_out(void *ctx, int64_t i) {
  (void)i;
  return ((const made_sample *)ctx)->out;
}

/* The relative error of one sample in the blocks. */
static dkho_status sample_error(replay *b, arena *mem, int64_t sample, double *error) {
  made_sample m = {0};
  const data_spec *spec = &b->o->spec;
  const data_field *target = &spec->field[b->o->target];
  float *y;
  for (int i = 0; i < spec->fields; i++) {
    const data_field *f = &spec->field[i];
    float *narrow;
    if (f->role == DATA_INPUT) {
      TRY(find_floats(b, f, sample, mem, &narrow));
      m.in[m.ins++] = narrow;
    } else if (f->role == DATA_GLOBAL)
      TRY(find_value(b, f, sample, &m.global[m.globals++]));
  }
  int64_t n = b->c->n[target->degree] * target->channels;
  TRY(find_floats(b, target, sample, mem, &y));
  if (!ARENA_NEW(mem, m.out, n)) return DKHO_E_MEMORY;
  runner_batch batch = {.count = 1, .sample = &sample, .inputs = made_inputs, .out = made_out, .ctx = &m};
  TRY(runner_predict(b->run, &batch));
  *error = metric_field_error(n, m.out, y);
  return DKHO_OK;
}

/* Draws and solves the group that holds the sample, once for all of its group, and compares the prediction: *error = RelL2. */
static dkho_status check_sample(replay *b, int64_t sample, double *error) {
  if (sample < 0) return fail(DKHO_E_FORMAT, "sample %lld: expected a number ≥ 0", (long long)sample);
  int64_t first = sample / PROBLEM_GROUP * PROBLEM_GROUP;
  if (first != b->group) {
    TRY(problem_group(b->p, b->state, b->c, b->work, b->o->spec.info.seed, first, b->block));
    if (b->below) TRY(coarse_solve_group(b->below, b->block));
    b->group = first;
  }
  arena mem = {0};
  dkho_status s = sample_error(b, &mem, sample, error);
  arena_free(&mem);
  return s;
}

/* What the model says of itself against what it does. found: array of errors. */
static dkho_status compare(replay *b, const json_t *kept, json_t *found) {
  const json_t *samples = json_object_get(kept, "samples"), *errors = json_object_get(kept, "rel_l2");
  size_t n = json_array_size(samples);
  if (!n || json_array_size(errors) != n)
    return fail(DKHO_E_FORMAT, "remembers no test samples to check; it was not written by `dkho pack`");
  for (size_t i = 0; i < n; i++) {
    int64_t sample = json_integer_value(json_array_get(samples, i));
    double here, expected = json_number_value(json_array_get(errors, i));
    if (!json_is_number(json_array_get(errors, i))) continue; /* a reference of zero has no relative error */
    TRY(check_sample(b, sample, &here));
    if (!(fabs(here - expected) <= 1e-5 + 1e-3 * expected))
      return fail(DKHO_E_INPUT, "RelL2 of sample %lld is %.6g here, its card says %.6g", (long long)sample, here,
                  expected);
    json_array_append_new(found, json_real(here));
  }
  return DKHO_OK;
}

/* A card beside the file has to name its content. */
static dkho_status compare_card(const char *path, const json_t *file) {
  char card[PATH_LIMIT];
  json_t *j = NULL;
  TRY(card_path(path, card));
  if (!file_exists(card)) return DKHO_OK;
  TRY(config_load_json(card, &j));
  const char *hash = json_string_value(json_object_get(json_object_get(j, "file"), "hash"));
  const char *found = json_string_value(json_object_get(file, "hash"));
  dkho_status s = hash && strcmp(hash, found) == 0
                      ? DKHO_OK
                      : fail(DKHO_E_INPUT, "content hash is %s, %s says %s", found, card, hash ? hash : "nothing");
  json_decref(j);
  return s;
}

dkho_status pack_check(const char *path, int threads, json_t **out) {
  replay b = {0};
  json_t *training = NULL, *file = NULL, *found = json_array();
  if (out) *out = NULL;
  dkho_status s;
  TRY_GOTO(card_file(path, &file));
  TRY_GOTO(replay_open(&b, path, threads));
  training = json_loads(b.o->training, 0, NULL);
  json_t *kept = json_object_get(training, "check");
  TRY_GOTO(compare(&b, kept, found));
  TRY_GOTO(compare_card(path, file));
  if (out) {
    *out = json_pack("{s:s, s:O, s:O, s:O, s:O}", "model", path, "file", file, "samples",
                     json_object_get(kept, "samples"), "expected", json_object_get(kept, "rel_l2"), "found", found);
    if (!*out) s = fail(DKHO_E_MEMORY, "no memory for a JSON object");
  }
done:
  json_decref(training);
  json_decref(file);
  json_decref(found);
  replay_close(&b);
  return s == DKHO_OK ? s : fail_prefix(s, "%s", path);
}

/* ---- packing ---- */

static dkho_status load_part(const char *run, const char *name, json_t **out) {
  char path[PATH_LIMIT];
  if (snprintf(path, sizeof path, "%s/%s", run, name) >= PATH_LIMIT)
    return fail(DKHO_E_INPUT, "the name of the run is too long");
  if (!file_exists(path)) return fail(DKHO_E_INPUT, "%s: is no finished run: %s is missing", run, name);
  return config_load_json(path, out);
}

/* What a packed model remembers of its test split: sample numbers and their errors. */
static dkho_status check_numbers(opened *r, json_t **out) {
  const int64_t *sample;
  int64_t count;
  score_result scores = {0};
  json_t *numbers = json_array(), *found = NULL;
  dkho_status s = opened_split(r, "test", &sample, &count);
  if (count > CHECKS) count = CHECKS;
  if (s == DKHO_OK) s = evaluator_metrics(r->j, r->o->value, r->cfg.metrics, count, sample, &scores, NULL);
  for (int64_t i = 0; s == DKHO_OK && i < count; i++) json_array_append_new(numbers, json_integer(sample[i]));
  if (s == DKHO_OK) {
    found = score_json(&scores, 1);
    *out = json_pack("{s:O, s:O}", "samples", numbers, "rel_l2", json_object_get(found, "rel_l2_each"));
  }
  score_free(&scores);
  json_decref(found);
  json_decref(numbers);
  return s == DKHO_OK && !*out ? fail(DKHO_E_MEMORY, "no memory for a JSON object") : s;
}

/* How it was trained: the run's configuration and result, the data, and the samples by which it is checked. */
static dkho_status describe_training(opened *r, const char *run, json_t **out) {
  json_t *config = NULL, *result = NULL, *check = NULL;
  dkho_status s;
  const data_info *info = dataset_info(r->d);
  data_origin from;
  TRY_GOTO(find_origin(info, &from));
  TRY_GOTO(load_part(run, "config.json", &config));
  TRY_GOTO(load_part(run, "result.json", &result));
  TRY_GOTO(check_numbers(r, &check));
  json_object_del(config, "data"); /* a path of the machine that trained */
  json_object_del(config, "from"); /* another; its hash stays */
  json_object_set_new(result, "config", json_incref(config));
  json_object_set_new(result, "check", json_incref(check));
  json_object_set_new(result, "data",
                      json_pack("{s:s, s:s, s:I, s:I, s:s, s:s}", "problem", info->problem, "resolution",
                                from.resolution, "seed", (json_int_t)info->seed, "samples",
                                (json_int_t)dataset_samples(r->d), "hash", r->cfg.data_hash, "mesh_hash",
                                dataset_mesh_hash(r->d, 0)));
  *out = json_incref(result);
done:
  json_decref(config);
  json_decref(result);
  json_decref(check);
  return s;
}

static dkho_status write_packed(const neural_operator *o, const json_t *training, const char *path, int force) {
  char *text = json_dumps(training, JSON_REAL_PRECISION(17));
  dkho_status s =
      text ? operator_pack(o, text, path, force) : fail(DKHO_E_MEMORY, "no memory for a description of the training");
  free(text);
  return s;
}

/* The cost that `dkho reproduce` measured with the run, where there is one, instead of one measured now: the card then agrees with
 * the tables. */
static dkho_status take_kept_cost(const char *run, json_t *compared) {
  char path[PATH_LIMIT];
  json_t *cost = NULL;
  if (snprintf(path, sizeof path, "%s/cost.json", run) >= PATH_LIMIT || !file_exists(path)) return DKHO_OK;
  TRY(load_part(run, "cost.json", &cost));
  json_object_set_new(compared, "cost", cost);
  return DKHO_OK;
}

/* NAME.json beside the packed model, as docs/FORMATS.md has it; out (or NULL): a new reference. */
static dkho_status write_card(const char *run, const char *data, const char *path, int threads, json_t *training,
                              json_t **out) {
  char card_name[PATH_LIMIT];
  json_t *file = NULL, *manifest = NULL, *compared = NULL, *card = NULL;
  cost_report found = {0};
  dkho_status s;
  TRY_GOTO(card_path(path, card_name));
  TRY_GOTO(card_file(path, &file));
  TRY_GOTO(load_part(run, "manifest.json", &manifest));
  TRY_GOTO(cost_and_rows(run, data, threads, &found));
  TRY_GOTO(cost_report_json(&found, &compared));
  TRY_GOTO(take_kept_cost(run, compared));
  card = json_pack("{s:O, s:O, s:O, s:O}", "file", file, "training", training, "machine", manifest, "honest", compared);
  TRY_GOTO(config_save_json(json_incref(card), card_name, 1));
  if (out) *out = json_incref(card);
done:
  json_decref(file);
  json_decref(manifest);
  json_decref(card);
  json_decref(compared);
  cost_report_free(&found);
  return s;
}

dkho_status pack_model(const char *run, const char *data, const char *path, int force, int threads, json_t **card) {
  opened r = {0};
  json_t *training = NULL;
  char name[PATH_LIMIT];
  if (card) *card = NULL;
  dkho_status s;
  TRY_GOTO(card_path(path, name));
  if (!force && (file_exists(path) || file_exists(name))) {
    s = fail(DKHO_E_EXISTS, "%s: exists already; it is kept", file_exists(path) ? path : name);
    goto done;
  }
  TRY_GOTO(opened_model(&r, run, data, threads));
  TRY_GOTO(describe_training(&r, run, &training));
  TRY_GOTO(write_packed(r.o, training, path, force));
  remove(name); /* the card of what was replaced */
  TRY_GOTO(pack_check(path, threads, NULL));
  s = write_card(run, data, path, threads, training, card);
done:
  json_decref(training);
  opened_close(&r);
  return s;
}
