/* spec.c: the description of a data set, to and from JSON, and its checks. */
#include "data/spec.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *data_role_name(data_role r) {
  static const char *const names[DATA_ROLES] = {"input", "target", "static", "global"};
  return names[r];
}

const char *data_scale_rule_name(data_scale_rule r) {
  static const char *const names[DATA_SCALE_RULES] = {"none", "meanstd", "maxabs", "rms"};
  return names[r];
}

const char *data_split_name(data_split s) {
  static const char *const names[DATA_SPLITS] = {"train", "val", "test"};
  return names[s];
}

static json_t *field_json(const data_field *f) {
  json_t *scaling = json_pack("{s:s, s:s, s:f, s:f, s:f}", "rule", data_scale_rule_name(f->rule), "over",
                              f->with_val ? "train+val" : "train", "eps", f->eps, "shift", f->shift, "scale", f->scale);
  return json_pack("{s:s, s:s, s:i, s:i, s:o}", "name", f->name, "role", data_role_name(f->role), "degree", f->degree,
                   "channels", f->channels, "scaling", scaling);
}

static json_t *recipe_json(const data_recipe *r) {
  return json_pack("{s:s, s:s, s:f, s:f, s:f, s:i, s:i, s:i, s:i, s:s}", "target", r->target, "options", r->options,
                   "lr", r->lr, "weight_decay", r->weight_decay, "loss_eps", r->loss_eps, "epochs", r->epochs, "batch",
                   r->batch, "modes", r->modes, "harmonic", r->harmonic, "metrics", r->metrics);
}

static json_t *table_json(const feat_table *t) {
  json_t *rows = json_array(), *summary = json_array();
  for (int i = 0; i < t->rows; i++) {
    const feat_row *r = &t->row[i];
    json_array_append_new(rows, json_pack("{s:s, s:i, s:s, s:s}", "name", r->name, "degree", r->degree, "group",
                                          feat_group_name(r->group), "expr", r->expr));
  }
  for (int i = 0; i < t->summaries; i++)
    json_array_append_new(summary, json_pack("{s:s, s:s}", "name", t->summary[i].name, "expr", t->summary[i].expr));
  return json_pack("{s:o, s:o}", "rows", rows, "summary", summary);
}

static json_t *provenance_json(const data_spec *s) {
  char seed[24];
  snprintf(seed, sizeof seed, "%" PRIu64, s->info.seed);
  return json_pack("{s:s, s:s, s:s, s:o}", "generator", s->info.generator, "library", s->library, "seed", seed,
                   "parameters", json_loads(s->info.params, JSON_REJECT_DUPLICATES, NULL));
}

dkho_status spec_write(const data_spec *s, arena *mem, char **out) {
  json_t *complexes = json_array(), *fields = json_array(), *recipes = json_array();
  for (int i = 0; i < s->complexes; i++)
    json_array_append_new(complexes,
                          json_pack("{s:s, s:I}", "mesh_hash", s->mesh_hash[i], "samples", (json_int_t)s->samples[i]));
  for (int i = 0; i < s->fields; i++) json_array_append_new(fields, field_json(&s->field[i]));
  for (int i = 0; i < s->recipes; i++) json_array_append_new(recipes, recipe_json(&s->recipe[i]));
  json_t *root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "version", DATA_VERSION, "problem", s->info.problem,
                           "provenance", provenance_json(s), "complexes", complexes, "fields", fields, "features",
                           table_json(&s->table), "recipes", recipes);
  if (root && s->knowns) json_object_set_new(root, "known", known_json(s->knowns, s->known));
  char *dump = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  if (!dump) return fail(DKHO_E_INPUT, "description of the data set: text that is not UTF-8, or no memory");
  *out = arena_strdup(mem, dump);
  free(dump); /* jansson's own memory */
  return *out ? DKHO_OK : DKHO_E_MEMORY;
}

static dkho_status read_provenance(json_t *o, data_spec *out, arena *mem) {
  static const char *const keys[] = {"generator", "library", "seed", "parameters"};
  const char *where = "provenance", *seed;
  TRY(spec_keys(o, where, 4, keys));
  TRY(spec_text(o, where, "generator", NULL, mem, &out->info.generator));
  TRY(spec_text(o, where, "library", NULL, mem, &out->library));
  TRY(spec_text(o, where, "seed", NULL, mem, &seed));
  char *end;
  out->info.seed = strtoull(seed, &end, 10);
  if (!isdigit((unsigned char)*seed) || *end)
    return fail(DKHO_E_FORMAT, "provenance.seed: found \"%.40s\", expected digits", seed);
  json_t *params = json_object_get(o, "parameters");
  if (!json_is_object(params)) return fail(DKHO_E_FORMAT, "provenance.parameters: expected an object");
  char *dump = json_dumps(params, JSON_COMPACT | JSON_REAL_PRECISION(17));
  out->info.params = dump ? arena_strdup(mem, dump) : NULL;
  free(dump);
  return out->info.params ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for provenance.parameters");
}

static dkho_status read_complexes(json_t *root, data_spec *out, arena *mem) {
  static const char *const keys[] = {"mesh_hash", "samples"};
  json_t *list;
  TRY(spec_array(root, "dataset", "complexes", 1, DATA_COMPLEXES_MAX, &list));
  out->complexes = (int)json_array_size(list);
  if (out->complexes < 1) return fail(DKHO_E_FORMAT, "dataset.complexes: the list is empty");
  if (!ARENA_NEW(mem, out->mesh_hash, out->complexes + 1) || !ARENA_NEW(mem, out->samples, out->complexes + 1))
    return DKHO_E_MEMORY;
  for (int i = 0; i < out->complexes; i++) {
    char where[40];
    snprintf(where, sizeof where, "complexes[%d]", i);
    json_t *o = json_array_get(list, (size_t)i);
    TRY(spec_keys(o, where, 2, keys));
    TRY(spec_text(o, where, "mesh_hash", NULL, mem, &out->mesh_hash[i]));
    TRY(spec_int(o, where, "samples", NULL, 0, INT64_C(1) << 40, &out->samples[i]));
  }
  return DKHO_OK;
}

static dkho_status read_field(json_t *o, const char *where, arena *mem, data_field *f) {
  static const char *const keys[] = {"name", "role", "degree", "channels", "scaling"};
  TRY(spec_keys(o, where, 5, keys));
  const char *roles[DATA_ROLES];
  for (int i = 0; i < DATA_ROLES; i++) roles[i] = data_role_name((data_role)i);
  int role;
  int64_t degree, channels;
  TRY(spec_text(o, where, "name", NULL, mem, &f->name));
  TRY(spec_choice(o, where, "role", DATA_ROLES, roles, NULL, &role));
  TRY(spec_int(o, where, "degree", NULL, 0, CX_DEGREES - 1, &degree));
  TRY(spec_int(o, where, "channels", NULL, 1, DATA_CHANNELS_MAX, &channels));
  f->role = (data_role)role, f->degree = (int)degree, f->channels = (int)channels;
  char at[96];
  snprintf(at, sizeof at, "%.60s.scaling", where);
  return spec_scaling(json_object_get(o, "scaling"), at, f);
}

static dkho_status read_lists(json_t *root, data_spec *out, arena *mem) {
  json_t *list;
  char where[40];
  TRY(spec_array(root, "dataset", "fields", 1, DATA_FIELDS_MAX, &list));
  out->fields = (int)json_array_size(list);
  if (!ARENA_NEW(mem, out->field, out->fields + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < out->fields; i++) {
    snprintf(where, sizeof where, "fields[%d]", i);
    TRY(read_field(json_array_get(list, (size_t)i), where, mem, &out->field[i]));
  }
  TRY(spec_array(root, "dataset", "recipes", 1, DATA_FIELDS_MAX, &list));
  out->recipes = (int)json_array_size(list);
  if (!ARENA_NEW(mem, out->recipe, out->recipes + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i < out->recipes; i++) {
    snprintf(where, sizeof where, "recipes[%d]", i);
    TRY(spec_recipe(json_array_get(list, (size_t)i), where, NULL, mem, &out->recipe[i]));
  }
  return DKHO_OK;
}

dkho_status spec_read(data_spec *out, arena *mem, const char *text) {
  static const char *const keys[] = {"version", "problem",  "provenance", "complexes",
                                     "fields",  "features", "recipes",    "known"};
  *out = (data_spec){0};
  json_error_t e;
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &e);
  if (!root) return fail(DKHO_E_FORMAT, "not JSON: line %d: %.100s", e.line, e.text);
  dkho_status s;
  int64_t version;
  TRY_GOTO(spec_keys(root, "dataset", 8, keys));
  TRY_GOTO(spec_int(root, "dataset", "version", NULL, DATA_VERSION, DATA_VERSION, &version));
  TRY_GOTO(spec_text(root, "dataset", "problem", NULL, mem, &out->info.problem));
  TRY_GOTO(read_provenance(json_object_get(root, "provenance"), out, mem));
  TRY_GOTO(read_complexes(root, out, mem));
  TRY_GOTO(read_lists(root, out, mem));
  TRY_GOTO(spec_table(json_object_get(root, "features"), "features", mem, &out->table));
  TRY_GOTO(known_read(root, "dataset", mem, &out->knowns, &out->known));
done:
  json_decref(root);
  return s;
}

/* Rules for one field, against those before it: also for fields that programs declare, so an input error. */
static dkho_status check_field(const data_spec *s, int i, int dim) {
  const data_field *f = &s->field[i];
  size_t length = strlen(f->name);
  int ok = length >= 1 && length <= DATA_NAME_MAX && !isdigit((unsigned char)f->name[0]);
  for (size_t j = 0; j < length; j++) ok &= isalnum((unsigned char)f->name[j]) || f->name[j] == '_';
  if (!ok)
    return fail(DKHO_E_INPUT, "field \"%.80s\": a name has 1 to %d letters, digits and _, no digit first", f->name,
                DATA_NAME_MAX);
  for (int j = 0; j < i; j++)
    if (strcmp(s->field[j].name, f->name) == 0)
      return fail(DKHO_E_INPUT, "field %s: two fields have this name", f->name);
  if (f->channels < 1 || f->channels > DATA_CHANNELS_MAX)
    return fail(DKHO_E_INPUT, "field %s: %d channels, expected 1 to %d", f->name, f->channels, DATA_CHANNELS_MAX);
  if (f->degree < 0 || f->degree > dim)
    return fail(DKHO_E_INPUT, "field %s: degree %d on a complex of dimension %d", f->name, f->degree, dim);
  if (f->role == DATA_GLOBAL && f->degree != 0)
    return fail(DKHO_E_INPUT, "field %s: a global has degree 0, found %d", f->name, f->degree);
  if (f->role == DATA_STATIC && f->rule != DATA_SCALE_NONE)
    return fail(DKHO_E_INPUT, "field %s: a static field is not scaled, found %s", f->name,
                data_scale_rule_name(f->rule));
  if (!(f->eps >= 0) || !isfinite(f->eps)) return fail(DKHO_E_INPUT, "field %s: eps %g is negative", f->name, f->eps);
  if (!isfinite(f->shift) || !isfinite(f->scale) || f->scale <= 0)
    return fail(DKHO_E_INPUT, "field %s: scaling (%g, %g), expected finite numbers and a positive scale", f->name,
                f->shift, f->scale);
  return DKHO_OK;
}

/* A recipe trains an existing target, one each, by numbers that can be used. */
static dkho_status check_recipe(const data_spec *s, int i) {
  const data_recipe *r = &s->recipe[i];
  int found = 0;
  for (int j = 0; j < s->fields; j++)
    found |= s->field[j].role == DATA_TARGET && strcmp(s->field[j].name, r->target) == 0;
  if (!found) return fail(DKHO_E_INPUT, "recipe %d: no target is called \"%.60s\"", i, r->target);
  for (int j = 0; j < i; j++)
    if (strcmp(s->recipe[j].target, r->target) == 0)
      return fail(DKHO_E_INPUT, "recipe %d: target %s has one already", i, r->target);
  const double number[] = {r->lr, r->weight_decay, r->loss_eps};
  static const char *const names[] = {"lr", "weight_decay", "loss_eps"};
  for (int j = 0; j < 3; j++)
    if (!isfinite(number[j]) || number[j] < 0)
      return fail(DKHO_E_INPUT, "recipe %s: %s is %g, expected a number ≥ 0", r->target, names[j], number[j]);
  if (r->epochs < 1 || r->batch < 1 || r->modes < 1)
    return fail(DKHO_E_INPUT, "recipe %s: epochs %d, batch %d, modes %d, expected 1 or more", r->target, r->epochs,
                r->batch, r->modes);
  return DKHO_OK;
}

dkho_status spec_check_each(const data_spec *s, int dim, dkho_status (*note)(void *ctx, dkho_status s), void *ctx) {
  int targets = 0;
  if (s->fields > DATA_FIELDS_MAX)
    return note(ctx, fail(DKHO_E_INPUT, "%d fields, at most %d are possible", s->fields, DATA_FIELDS_MAX));
  for (int i = 0; i < s->fields; i++) {
    TRY(note(ctx, check_field(s, i, dim)));
    targets += s->field[i].role == DATA_TARGET;
  }
  if (targets == 0) TRY(note(ctx, fail(DKHO_E_INPUT, "no field is a target")));
  for (int i = 0; i < s->recipes; i++) TRY(note(ctx, check_recipe(s, i)));
  for (int i = 0; i < s->knowns; i++) TRY(note(ctx, known_check(&s->known[i], i, s->fields, s->field)));
  return note(ctx, feat_check(&s->table, dim, s->fields, s->field));
}

static dkho_status stop_there(void *ctx, dkho_status s) {
  (void)ctx;
  return s;
}

dkho_status spec_check(const data_spec *s, int dim) {
  return spec_check_each(s, dim, stop_there, NULL);
}
