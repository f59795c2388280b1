/* config.c: options to configuration to JSON and back. */
#include "run/config.h"

#include "run/begin.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const data_recipe generic_recipe = {NULL, "", 1e-3, 1e-6, 1e-12, 200, 16, 16, 1, "generic"};

static dkho_status range_error(const char *name, double found, const char *expected) {
  return fail(DKHO_E_INPUT, "%s: found %g, expected %s", name, found, expected);
}

/* The texts that set options: those of the caller, then the short forms. */
static dkho_status choose_model(operator_request *out, const data_recipe *recipe, const dkho_train_options *o,
                                const operator_request *from) {
  const model_type *m;
  const char *list[OPTIONS_MAX * 2 + 2] = {0};
  char variant[OPTION_TEXT_MAX + 16];
  int count = 0;
  TRY(model_find(o->model ? o->model : from ? from->setup.m->name : "dkho", &m));
  if (from && m != from->setup.m)
    return fail(DKHO_E_INPUT, "model: found %s, but the model to begin with is %s", m->name, from->setup.m->name);
  for (; o->options && o->options[count]; count++) {
    if (count == OPTIONS_MAX * 2) return fail(DKHO_E_INPUT, "more than %d options are given", count);
    list[count] = o->options[count];
  }
  if (o->variant) {
    snprintf(variant, sizeof variant, "variant=%.60s", o->variant);
    list[count++] = variant;
  }
  if (!from || o->size) return model_choose(&out->setup, m, o->size, recipe->options, list);
  out->setup = from->setup; /* in place of defaults, size and recipe */
  for (int i = 0; i < count; i++) TRY(options_assign(m->name, m->option, out->setup.option, list[i]));
  return DKHO_OK;
}

/* A variant that leaves out what the target does not have anyway would be the full model under another name. */
static dkho_status check_variant(const operator_request *r, const data_recipe *recipe) {
  const model_option *table = r->setup.m->option;
  int i = options_find(table, "variant");
  if (recipe->harmonic || i < 0 || strcmp(table[i].choice[(int)r->setup.option[i]], "no_harmonic") != 0) return DKHO_OK;
  return fail(DKHO_E_INPUT,
              "variant no_harmonic: target '%s' has no harmonic branch to leave out; its variants are full, no_dirac, "
              "no_phase",
              recipe->target ? recipe->target : "");
}

dkho_status config_model(operator_request *out, const data_recipe *recipe, const dkho_train_options *o,
                         const operator_request *from) {
  int modes = from ? from->modes : recipe->modes;
  *out = (operator_request){.seed = o->seed, .modes = o->modes >= 0 ? o->modes : modes, .harmonic = recipe->harmonic};
  if (out->modes < 1 || out->modes > DATA_CHANNELS_MAX) return range_error("modes", out->modes, "1 … 4096");
  TRY(choose_model(out, recipe, o, from));
  out->setup.loss_eps = sqrt(recipe->loss_eps); /* the recipe's floor is that of Σy² */
  if (from) out->setup.metric = from->setup.metric;
  if (o->metric) TRY(dec_metric_parse(o->metric, &out->setup.metric));
  out->profile = from ? from->profile : out->setup.m->profile;
  if (o->profile) TRY(feat_profile_parse(o->profile, &out->profile));
  return check_variant(out, recipe);
}

/* The model where none is named: the paper's for its benchmarks and ours, and the one that the measurements prefer for data of a user's own
 * (docs/RESULTS.md). Its modes have to be found for every complex, so many complexes keep the first, and so does a variant, which is the
 * first one's. */
static const char *default_model(const dataset *d, const dkho_train_options *o) {
  int own = strcmp(dataset_info(d)->generator, "dkho import") == 0;
  return own && dataset_complexes(d) == 1 && !o->variant ? "dkho-x" : "dkho";
}

/* A target by name, by degree, or the first one. */
static dkho_status find_target(const dataset *d, const char *wanted, int *field) {
  const data_field *f = dataset_field(d);
  int degree = wanted && strlen(wanted) == 1 && wanted[0] >= '0' && wanted[0] <= '3' ? wanted[0] - '0' : -1;
  for (*field = 0; (!wanted || degree >= 0) && *field < dataset_fields(d); ++*field)
    if (f[*field].role == DATA_TARGET && (!wanted || f[*field].degree == degree)) return DKHO_OK;
  return dataset_need_target(d, wanted ? wanted : "", field);
}

/* The ranges that hold whoever gave the numbers, a recipe, the caller or a file. */
static dkho_status check_numbers(const run_config *c) {
  if (c->epochs < 1 || c->epochs > 1000000) return range_error("epochs", (double)c->epochs, "1 … 1,000,000");
  if (c->batch < 1 || c->batch > 65536) return range_error("batch", (double)c->batch, "1 … 65,536");
  if (!(c->lr > 0 && c->lr <= 10)) return range_error("lr", c->lr, "a number in (0, 10]");
  if (!(c->weight_decay >= 0 && c->weight_decay <= 1)) return range_error("weight decay", c->weight_decay, "0 … 1");
  if (!(c->clip >= 0 && isfinite(c->clip))) return range_error("clip", c->clip, "a number ≥ 0 (0: none)");
  if (!(c->ema >= 0 && c->ema < 1)) return range_error("ema", c->ema, "0 ≤ ema < 1");
  if (c->warmup < 0) return range_error("warmup", (double)c->warmup, "≥ 0 steps");
  if (c->train_samples < 0) return range_error("train samples", (double)c->train_samples, "≥ 0");
  return DKHO_OK;
}

/* The model to begin with, remembered by its path and its hash: how it was asked for. */
static dkho_status read_from(run_config *c, const char *path, operator_request *from) {
  st_file *f = NULL;
  TRY(begin_open(&f, path));
  dkho_status s = operator_asked(f, from);
  st_hash(f, c->from_hash);
  if (s == DKHO_OK && !(c->from = arena_strdup(&c->mem, st_path(f)))) s = DKHO_E_MEMORY;
  st_close(f);
  return s;
}

dkho_status config_resolve(run_config *c, const dataset *d, const char *path, const dkho_train_options *o) {
  *c = (run_config){0};
  int field;
  TRY(find_target(d, o->target, &field));
  const data_field *f = &dataset_field(d)[field];
  const data_recipe *recipe = dataset_recipe(d, f->name);
  if (!recipe) recipe = &generic_recipe;
  dkho_train_options chosen = *o;
  operator_request from;
  if (o->from_model) TRY(read_from(c, o->from_model, &from));
  if (!o->model && !o->from_model) chosen.model = default_model(d, o);
  TRY(config_model(&c->request, recipe, &chosen, o->from_model ? &from : NULL));
  c->request.target = field;
  c->target = arena_strdup(&c->mem, f->name);
  c->metrics = arena_strdup(&c->mem, recipe->metrics);
  c->data = arena_strdup(&c->mem, path);
  if (!c->target || !c->metrics || !c->data) return DKHO_E_MEMORY;
  st_hash(dataset_file(d), c->data_hash);
  c->epochs = o->epochs ? o->epochs : recipe->epochs;
  TRY(optim_parse(o->optimizer ? o->optimizer : optim_name(OPTIM_MUON), &c->optimizer));
  c->batch = o->batch ? o->batch : optim_batch(c->optimizer, recipe->batch); /* a recipe's batch and rate are AdamW's */
  c->lr = o->lr < 0 ? optim_rate(c->optimizer, recipe->lr) : o->lr;
  c->weight_decay = o->weight_decay < 0 ? recipe->weight_decay : o->weight_decay;
  c->clip = o->clip < 0 ? 1 : o->clip;
  c->ema = o->ema < 0 ? 0 : o->ema;
  c->warmup = o->warmup;
  c->train_samples = o->train_samples;
  c->skip_nonfinite = o->skip_nonfinite;
  c->tensorboard = o->tensorboard;
  if (o->schedule) TRY(lr_parse(o->schedule, &c->schedule));
  c->seed = o->seed;
  return check_numbers(c);
}

dkho_status config_of_model(run_config *c, const neural_operator *o, const dataset *d) {
  *c = (run_config){.request = {.target = o->target, .setup = o->setup, .profile = o->profile, .modes = o->modes}};
  const char *target = o->spec.field[o->target].name;
  const data_recipe *recipe = dataset_recipe(d, target);
  c->target = arena_strdup(&c->mem, target);
  c->metrics = arena_strdup(&c->mem, recipe ? recipe->metrics : generic_recipe.metrics);
  c->data = arena_strdup(&c->mem, st_path(dataset_file(d)));
  if (!c->target || !c->metrics || !c->data) return DKHO_E_MEMORY;
  st_hash(dataset_file(d), c->data_hash);
  json_t *training = json_loads(o->training, 0, NULL);
  c->train_samples = json_integer_value(json_object_get(json_object_get(training, "config"), "train_samples"));
  json_decref(training);
  int64_t trains;
  dataset_split(d, DATA_TRAIN, &trains);
  if (c->train_samples < 0 || c->train_samples > trains) c->train_samples = 0;
  return DKHO_OK;
}

void config_free(run_config *c) {
  arena_free(&c->mem);
}

dkho_status config_save_json(json_t *object, const char *path, int force) {
  char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  if (!text) return fail(DKHO_E_MEMORY, "%s: no memory for its text", path);
  file_out f = {0};
  dkho_status s = file_open(&f, path, force);
  if (s == DKHO_OK) s = file_write(&f, text, strlen(text));
  if (s == DKHO_OK) s = file_write(&f, "\n", 1);
  if (s == DKHO_OK)
    s = file_commit(&f);
  else
    file_abort(&f);
  free(text);
  return s;
}

dkho_status config_load_json(const char *path, json_t **out) {
  file_map m;
  json_error_t error;
  *out = NULL;
  TRY(file_map_open(&m, path));
  *out = m.size ? json_loadb((const char *)m.bytes, m.size, JSON_REJECT_DUPLICATES, &error) : NULL;
  dkho_status s = DKHO_OK;
  if (!m.size)
    s = fail(DKHO_E_FORMAT, "%s: the file is empty", path);
  else if (!*out)
    s = fail(DKHO_E_FORMAT, "%s: line %d: %s", path, error.line, error.text);
  else if (!json_is_object(*out)) {
    json_decref(*out);
    *out = NULL;
    s = fail(DKHO_E_FORMAT, "%s: not a JSON object", path);
  }
  file_map_close(&m);
  return s;
}

/* Keys of the file, each in one list, for writing and for reading. Numbers say where they are in run_config; fallback: what files that
 * lack the key mean. */
typedef enum number_type { NUMBER_INT, NUMBER_INT64, NUMBER_DOUBLE } number_type;
typedef struct number_key {
  const char *key;
  size_t at;
  number_type type;
  int64_t lo, hi; /* of whole numbers */
} number_key;
#define NUMBER(key, member, type, lo, hi)                                                                              \
  { key, offsetof(run_config, member), type, lo, hi }
static const number_key number_keys[] = {NUMBER("modes", request.modes, NUMBER_INT, 1, DATA_CHANNELS_MAX),
                                         NUMBER("harmonic", request.harmonic, NUMBER_INT, 0, 1),
                                         NUMBER("seed", seed, NUMBER_INT64, INT64_MIN, INT64_MAX),
                                         NUMBER("epochs", epochs, NUMBER_INT64, 1, 1000000),
                                         NUMBER("batch", batch, NUMBER_INT64, 1, 65536),
                                         NUMBER("warmup", warmup, NUMBER_INT64, 0, INT64_MAX),
                                         NUMBER("train_samples", train_samples, NUMBER_INT64, 0, INT64_MAX),
                                         NUMBER("lr", lr, NUMBER_DOUBLE, 0, 0),
                                         NUMBER("weight_decay", weight_decay, NUMBER_DOUBLE, 0, 0),
                                         NUMBER("clip", clip, NUMBER_DOUBLE, 0, 0),
                                         NUMBER("ema", ema, NUMBER_DOUBLE, 0, 0),
                                         NUMBER("loss_eps", request.setup.loss_eps, NUMBER_DOUBLE, 0, 0)};
enum { NUMBER_KEYS = sizeof number_keys / sizeof *number_keys };

enum {
  TEXT_DATA,
  TEXT_HASH,
  TEXT_TARGET,
  TEXT_METRICS,
  TEXT_METRIC,
  TEXT_PROFILE,
  TEXT_OPTIMIZER,
  TEXT_SCHEDULE,
  TEXT_KEYS
};
static const struct {
  const char *key, *fallback;
} text_keys[TEXT_KEYS] = {[TEXT_DATA] = {"data", NULL},
                          [TEXT_HASH] = {"data_hash", NULL},
                          [TEXT_TARGET] = {"target", NULL},
                          [TEXT_METRICS] = {"metrics", NULL},
                          [TEXT_METRIC] = {"metric", NULL},
                          [TEXT_PROFILE] = {"profile", NULL},
                          [TEXT_OPTIMIZER] = {"optimizer", "adamw"},
                          [TEXT_SCHEDULE] = {"schedule", "cosine"}};
static const char model_key[] = "model", options_key[] = "options", skip_key[] = "skip_nonfinite",
                  board_key[] = "tensorboard", from_key[] = "from", from_hash_key[] = "from_hash";

static json_t *number_json(const run_config *c, const number_key *k) {
  const void *at = (const char *)c + k->at;
  if (k->type == NUMBER_DOUBLE) return json_real(*(const double *)at);
  return json_integer(k->type == NUMBER_INT ? *(const int *)at : (json_int_t) * (const int64_t *)at);
}

dkho_status config_write(const run_config *c, const char *path, int force) {
  const model_setup *m = &c->request.setup;
  const char *text[TEXT_KEYS] = {[TEXT_DATA] = c->data,
                                 [TEXT_HASH] = c->data_hash,
                                 [TEXT_TARGET] = c->target,
                                 [TEXT_METRICS] = c->metrics,
                                 [TEXT_METRIC] = dec_metric_name(m->metric),
                                 [TEXT_PROFILE] = feat_profile_name(c->request.profile),
                                 [TEXT_OPTIMIZER] = optim_name(c->optimizer),
                                 [TEXT_SCHEDULE] = lr_name(c->schedule)};
  json_t *j = json_pack("{s:s, s:o, s:b}", model_key, m->m->name, options_key, options_json(m->m->option, m->option),
                        skip_key, c->skip_nonfinite);
  for (int i = 0; j && i < TEXT_KEYS; i++) json_object_set_new(j, text_keys[i].key, json_string(text[i]));
  for (int i = 0; j && i < NUMBER_KEYS; i++)
    json_object_set_new(j, number_keys[i].key, number_json(c, &number_keys[i]));
  if (j && c->tensorboard) json_object_set_new(j, board_key, json_true());
  if (j && c->from) json_object_set_new(j, from_key, json_string(c->from));
  if (j && c->from) json_object_set_new(j, from_hash_key, json_string(c->from_hash));
  return config_save_json(j, path, force);
}

dkho_status config_data_path(const char *path, char **data) {
  json_t *j = NULL;
  TRY(config_load_json(path, &j));
  const char *text = json_string_value(json_object_get(j, text_keys[TEXT_DATA].key));
  dkho_status s = text ? DKHO_OK : fail(DKHO_E_FORMAT, "%s: 'data' is missing", path);
  if (text && !(*data = mem_strdup(text))) s = DKHO_E_MEMORY;
  json_decref(j);
  return s;
}

/* Names the file in every complaint. */
static dkho_status read_numbers(run_config *c, json_t *j, const char *path) {
  for (int i = 0; i < NUMBER_KEYS; i++) {
    const number_key *k = &number_keys[i];
    void *at = (char *)c + k->at;
    int64_t whole;
    if (k->type == NUMBER_DOUBLE) {
      TRY(spec_number(j, path, k->key, NULL, at));
      continue;
    }
    TRY(spec_int(j, path, k->key, NULL, k->lo, k->hi, &whole));
    if (k->type == NUMBER_INT)
      *(int *)at = (int)whole;
    else
      *(int64_t *)at = whole;
  }
  c->request.seed = c->seed;
  c->skip_nonfinite = json_is_true(json_object_get(j, skip_key));
  c->tensorboard = json_is_true(json_object_get(j, board_key));
  dkho_status s = check_numbers(c);
  return s == DKHO_OK ? s : fail_prefix(s, "%s", path);
}

/* The model and its options; configurations of version 0.1.0 hold the options beside the rest. */
static dkho_status read_model(run_config *c, json_t *j, const char *path) {
  const char *name;
  const model_type *m;
  json_t *options = json_object_get(j, options_key);
  TRY(spec_text(j, path, model_key, "dkho", &c->mem, &name));
  TRY(model_find(name, &m));
  TRY(model_choose(&c->request.setup, m, NULL, NULL, NULL));
  options_defaults(m->option, c->request.setup.option); /* as read_config of operator.c */
  return options_read(path, m->option, c->request.setup.option, options ? options : j);
}

/* Runs that began with fresh weights have neither key. */
static dkho_status read_from_keys(run_config *c, json_t *j, const char *path) {
  const char *hash;
  if (!json_object_get(j, from_key)) return DKHO_OK;
  TRY(spec_text(j, path, from_key, NULL, &c->mem, &c->from));
  TRY(spec_text(j, path, from_hash_key, NULL, &c->mem, &hash));
  snprintf(c->from_hash, sizeof c->from_hash, "%s", hash);
  return DKHO_OK;
}

/* Refuses data whose hash is not that of the run. Texts are copied into c->mem. */
static dkho_status read_texts(run_config *c, json_t *j, const char *path, const dataset *d) {
  const char *text[TEXT_KEYS], *hash;
  for (int i = 0; i < TEXT_KEYS; i++)
    TRY(spec_text(j, path, text_keys[i].key, text_keys[i].fallback, &c->mem, &text[i]));
  c->data = text[TEXT_DATA], c->target = text[TEXT_TARGET], c->metrics = text[TEXT_METRICS], hash = text[TEXT_HASH];
  dkho_status s = optim_parse(text[TEXT_OPTIMIZER], &c->optimizer);
  if (s == DKHO_OK) s = lr_parse(text[TEXT_SCHEDULE], &c->schedule);
  if (s == DKHO_OK) s = dec_metric_parse(text[TEXT_METRIC], &c->request.setup.metric);
  if (s == DKHO_OK) s = feat_profile_parse(text[TEXT_PROFILE], &c->request.profile);
  if (s != DKHO_OK) return fail_prefix(s, "%s", path);
  st_hash(dataset_file(d), c->data_hash);
  if (strcmp(hash, c->data_hash) != 0)
    return fail(DKHO_E_INPUT, "%s: the run was made on data with hash %s, but %s has %s", path, hash,
                st_path(dataset_file(d)), c->data_hash);
  return dataset_need_target(d, c->target, &c->request.target);
}

dkho_status config_read(run_config *c, const char *path, const dataset *d) {
  *c = (run_config){0};
  json_t *j = NULL;
  TRY(config_load_json(path, &j));
  dkho_status s = read_model(c, j, path);
  if (s == DKHO_OK) s = read_texts(c, j, path, d);
  if (s == DKHO_OK) s = read_from_keys(c, j, path);
  if (s == DKHO_OK) s = read_numbers(c, j, path);
  json_decref(j);
  if (s != DKHO_OK) config_free(c);
  return s;
}
