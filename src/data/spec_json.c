/* spec_json.c: careful reading of JSON objects; every message names the place and what was found there. */
#include "data/spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *found_kind(const json_t *v) {
  static const char *const names[] = {"an object", "an array", "text",  "a whole number",
                                      "a number",  "true",     "false", "null"};
  return v ? names[json_typeof(v)] : "nothing";
}

static dkho_status wrong(const char *where, const char *key, const json_t *v, const char *expected) {
  return fail(DKHO_E_FORMAT, "%s.%s: found %s, expected %s", where, key, found_kind(v), expected);
}

dkho_status spec_text(json_t *o, const char *where, const char *key, const char *fallback, arena *mem,
                      const char **out) {
  json_t *v = json_object_get(o, key);
  if (!v && fallback)
    *out = arena_strdup(mem, fallback);
  else if (!json_is_string(v))
    return wrong(where, key, v, "text");
  else
    *out = arena_strdup(mem, json_string_value(v));
  return *out ? DKHO_OK : DKHO_E_MEMORY;
}

dkho_status spec_number(json_t *o, const char *where, const char *key, const double *fallback, double *out) {
  json_t *v = json_object_get(o, key);
  if (!v && fallback) return *out = *fallback, DKHO_OK;
  if (!json_is_number(v)) return wrong(where, key, v, "a number");
  *out = json_number_value(v);
  return isfinite(*out) ? DKHO_OK : fail(DKHO_E_FORMAT, "%s.%s: not a finite number", where, key);
}

dkho_status spec_int(json_t *o, const char *where, const char *key, const int64_t *fallback, int64_t lo, int64_t hi,
                     int64_t *out) {
  json_t *v = json_object_get(o, key);
  if (!v && fallback) return *out = *fallback, DKHO_OK;
  if (!json_is_integer(v)) return wrong(where, key, v, "a whole number");
  *out = json_integer_value(v);
  if (*out < lo || *out > hi)
    return fail(DKHO_E_FORMAT, "%s.%s: found %lld, expected %lld to %lld", where, key, (long long)*out, (long long)lo,
                (long long)hi);
  return DKHO_OK;
}

dkho_status spec_choice(json_t *o, const char *where, const char *key, int count, const char *const *names,
                        const char *fallback, int *out) {
  json_t *v = json_object_get(o, key);
  const char *text = v ? json_string_value(v) : fallback;
  if (!text) return wrong(where, key, v, "text");
  for (int i = 0; i < count; i++)
    if (strcmp(text, names[i]) == 0) return *out = i, DKHO_OK;
  char list[256] = "";
  for (int i = 0; i < count; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
  return fail(DKHO_E_FORMAT, "%s.%s: found \"%.60s\", expected one of %s", where, key, text, list);
}

dkho_status spec_array(json_t *o, const char *where, const char *key, int needed, size_t most, json_t **out) {
  *out = json_object_get(o, key);
  if (!*out && !needed) return DKHO_OK;
  if (!json_is_array(*out)) return wrong(where, key, *out, "an array");
  if (json_array_size(*out) > most)
    return fail(DKHO_E_FORMAT, "%s.%s: %zu items, expected at most %zu", where, key, json_array_size(*out), most);
  return DKHO_OK;
}

dkho_status spec_keys(json_t *o, const char *where, int count, const char *const *keys) {
  if (!json_is_object(o)) return fail(DKHO_E_FORMAT, "%s: found %s, expected an object", where, found_kind(o));
  const char *key;
  json_t *v;
  json_object_foreach(o, key, v) {
    int known = 0;
    for (int i = 0; i < count; i++) known |= strcmp(key, keys[i]) == 0;
    if (!known) return fail(DKHO_E_FORMAT, "%s.%.60s: unknown key", where, key);
  }
  return DKHO_OK;
}

dkho_status spec_scaling(json_t *o, const char *where, data_field *f) {
  static const char *const keys[] = {"rule", "over", "eps", "shift", "scale"}, *const over[] = {"train", "train+val"};
  static const double zero = 0, one = 1;
  TRY(spec_keys(o, where, 5, keys));
  const char *rules[DATA_SCALE_RULES];
  for (int i = 0; i < DATA_SCALE_RULES; i++) rules[i] = data_scale_rule_name((data_scale_rule)i);
  int rule;
  TRY(spec_choice(o, where, "rule", DATA_SCALE_RULES, rules, NULL, &rule));
  f->rule = (data_scale_rule)rule;
  TRY(spec_choice(o, where, "over", 2, over, "train", &f->with_val));
  TRY(spec_number(o, where, "eps", &zero, &f->eps));
  TRY(spec_number(o, where, "shift", &zero, &f->shift));
  return spec_number(o, where, "scale", &one, &f->scale);
}

/* Model options of a recipe; files of version 0.1.0 have DKHO's tau_range in their place. */
static dkho_status recipe_options(json_t *o, const char *where, const char *fallback, arena *mem, const char **out) {
  double tau_range = -1;
  char text[64];
  if (!json_object_get(o, "tau_range")) return spec_text(o, where, "options", fallback ? fallback : "", mem, out);
  TRY(spec_number(o, where, "tau_range", NULL, &tau_range));
  snprintf(text, sizeof text, "dkho.tau_range=%.17g", tau_range);
  return (*out = arena_strdup(mem, text)) ? DKHO_OK : DKHO_E_MEMORY;
}

dkho_status spec_recipe(json_t *o, const char *where, const data_recipe *defaults, arena *mem, data_recipe *out) {
  static const char *const keys[] = {"target", "options", "tau_range", "lr",       "weight_decay", "loss_eps",
                                     "epochs", "batch",   "modes",     "harmonic", "metrics"};
  TRY(spec_keys(o, where, 11, keys));
  int64_t epochs, batch, modes, harmonic, d[4] = {0};
  const data_recipe *b = defaults;
  if (b) d[0] = b->epochs, d[1] = b->batch, d[2] = b->modes, d[3] = b->harmonic;
  TRY(spec_text(o, where, "target", b ? b->target : NULL, mem, &out->target));
  TRY(recipe_options(o, where, b ? b->options : NULL, mem, &out->options));
  TRY(spec_number(o, where, "lr", b ? &b->lr : NULL, &out->lr));
  TRY(spec_number(o, where, "weight_decay", b ? &b->weight_decay : NULL, &out->weight_decay));
  TRY(spec_number(o, where, "loss_eps", b ? &b->loss_eps : NULL, &out->loss_eps));
  TRY(spec_int(o, where, "epochs", b ? &d[0] : NULL, 1, 1000000, &epochs));
  TRY(spec_int(o, where, "batch", b ? &d[1] : NULL, 1, 65536, &batch));
  TRY(spec_int(o, where, "modes", b ? &d[2] : NULL, 1, DATA_CHANNELS_MAX, &modes));
  TRY(spec_int(o, where, "harmonic", b ? &d[3] : NULL, 0, 1, &harmonic));
  TRY(spec_text(o, where, "metrics", b ? b->metrics : NULL, mem, &out->metrics));
  out->epochs = (int)epochs, out->batch = (int)batch, out->modes = (int)modes, out->harmonic = (int)harmonic;
  return DKHO_OK;
}

static dkho_status table_row(json_t *o, const char *where, arena *mem, feat_row *row) {
  static const char *const keys[] = {"name", "degree", "group", "expr"};
  TRY(spec_keys(o, where, 4, keys));
  const char *groups[FEAT_GROUPS];
  for (int i = 0; i < FEAT_GROUPS; i++) groups[i] = feat_group_name((feat_group)i);
  int64_t degree;
  int group;
  TRY(spec_text(o, where, "name", NULL, mem, &row->name));
  TRY(spec_int(o, where, "degree", NULL, 0, CX_DEGREES - 1, &degree));
  TRY(spec_choice(o, where, "group", FEAT_GROUPS, groups, NULL, &group));
  TRY(spec_text(o, where, "expr", NULL, mem, &row->expr));
  row->degree = (int)degree;
  row->group = (feat_group)group;
  return DKHO_OK;
}

dkho_status spec_table(json_t *o, const char *where, arena *mem, feat_table *out) {
  static const char *const keys[] = {"rows", "summary"}, *const summary_keys[] = {"name", "expr"};
  TRY(spec_keys(o, where, 2, keys));
  json_t *rows, *summary;
  char at[160];
  TRY(spec_array(o, where, "rows", 1, 1024, &rows));
  TRY(spec_array(o, where, "summary", 1, 1024, &summary));
  size_t nrows = json_array_size(rows), nsummary = json_array_size(summary);
  feat_row *row;
  feat_summary *entry;
  if (!ARENA_NEW(mem, row, nrows + 1) || !ARENA_NEW(mem, entry, nsummary + 1)) return DKHO_E_MEMORY;
  for (size_t i = 0; i < nrows; i++) {
    snprintf(at, sizeof at, "%.100s.rows[%zu]", where, i);
    TRY(table_row(json_array_get(rows, i), at, mem, &row[i]));
  }
  for (size_t i = 0; i < nsummary; i++) {
    json_t *e = json_array_get(summary, i);
    snprintf(at, sizeof at, "%.100s.summary[%zu]", where, i);
    TRY(spec_keys(e, at, 2, summary_keys));
    TRY(spec_text(e, at, "name", NULL, mem, &entry[i].name));
    TRY(spec_text(e, at, "expr", NULL, mem, &entry[i].expr));
  }
  *out = (feat_table){(int)nrows, (int)nsummary, row, entry};
  return DKHO_OK;
}
