/* known_json.c: entries of "known" as text. */
#include "data/known.h"
#include "data/spec.h"

#include <math.h>
#include <stdio.h>

static dkho_status read_labels(json_t *o, const char *where, arena *mem, data_known *k) {
  json_t *v = json_object_get(o, "label"), *one = json_is_array(v) ? json_array_get(v, 0) : v;
  size_t count = json_is_array(v) ? json_array_size(v) : 1;
  if (!json_is_string(one) || count > KNOWN_LABELS_MAX)
    return fail(DKHO_E_FORMAT, "%s.label: expected the name of a label, or a list of names", where);
  if (!ARENA_NEW(mem, k->label, count)) return DKHO_E_MEMORY;
  for (k->labels = 0; k->labels < (int)count; k->labels++) {
    json_t *name = json_is_array(v) ? json_array_get(v, (size_t)k->labels) : v;
    if (!json_is_string(name)) return fail(DKHO_E_FORMAT, "%s.label[%d]: expected text", where, k->labels);
    if (!(k->label[k->labels] = arena_strdup(mem, json_string_value(name)))) return DKHO_E_MEMORY;
  }
  return DKHO_OK;
}

static dkho_status read_constant(json_t *v, const char *where, arena *mem, data_known *k) {
  size_t count = json_is_array(v) ? json_array_size(v) : 1;
  double *value;
  if (count < 1 || count > DATA_CHANNELS_MAX)
    return fail(DKHO_E_FORMAT, "%s.value: %zu numbers, expected 1 to %d", where, count, DATA_CHANNELS_MAX);
  if (!ARENA_NEW(mem, value, count)) return DKHO_E_MEMORY;
  for (size_t i = 0; i < count; i++) {
    json_t *x = json_is_array(v) ? json_array_get(v, i) : v;
    if (!json_is_number(x) || !isfinite((float)json_number_value(x)))
      return fail(DKHO_E_FORMAT, "%s.value: expected a finite number, or a list of them", where);
    value[i] = json_number_value(x);
  }
  k->source = KNOWN_CONSTANT, k->values = (int)count, k->value = value;
  return DKHO_OK;
}

static dkho_status read_entry(json_t *o, const char *where, arena *mem, data_known *k) {
  static const char *const keys[] = {"target", "label", "value", "input", "global", "component", "static", "of"},
                           *const of[] = {"values", "periods"};
  static const int64_t all = -1;
  json_t *value, *input, *global;
  int64_t component;
  int periods;
  TRY(spec_keys(o, where, 8, keys));
  TRY(spec_text(o, where, "target", NULL, mem, &k->target));
  TRY(spec_choice(o, where, "of", 2, of, "values", &periods));
  if (periods && json_object_get(o, "label"))
    return fail(DKHO_E_FORMAT, "%s.label: periods are those of the whole mesh; expected no label", where);
  if (!periods) TRY(read_labels(o, where, mem, k));
  value = json_object_get(o, "value"), input = json_object_get(o, "input"), global = json_object_get(o, "global");
  if (!value + !input + !global != 2)
    return fail(DKHO_E_FORMAT, "%s: expected one of value, input, global: where the numbers come from", where);
  if (periods && value)
    return fail(DKHO_E_FORMAT, "%s.value: periods are those of an input, or of a global and a static", where);
  TRY(spec_int(o, where, "component", &all, value ? -1 : 0, value ? -1 : DATA_CHANNELS_MAX - 1, &component));
  k->component = (int)component;
  if (json_object_get(o, "static")) {
    if (!global || component >= 0)
      return fail(DKHO_E_FORMAT, "%s.static: expected beside global, without component", where);
    TRY(spec_text(o, where, "static", NULL, mem, &k->fixed));
  }
  if (value) return read_constant(value, where, mem, k);
  k->source = input ? KNOWN_INPUT : KNOWN_GLOBAL;
  return spec_text(o, where, input ? "input" : "global", NULL, mem, &k->field);
}

dkho_status known_read(json_t *root, const char *where, arena *mem, int *count, data_known **out) {
  json_t *list;
  *count = 0;
  TRY(spec_array(root, where, "known", 0, KNOWN_MAX, &list));
  if (!ARENA_NEW(mem, *out, json_array_size(list) + 1)) return DKHO_E_MEMORY;
  for (size_t i = 0; i < json_array_size(list); i++) {
    char at[32];
    snprintf(at, sizeof at, "known[%zu]", i);
    TRY(read_entry(json_array_get(list, i), at, mem, &(*out)[i]));
    ++*count;
  }
  return DKHO_OK;
}

json_t *known_json(int count, const data_known *list) {
  json_t *all = json_array();
  for (int i = 0; i < count; i++) {
    const data_known *k = &list[i];
    json_t *labels = json_array(), *value = json_array();
    for (int j = 0; j < k->labels; j++) json_array_append_new(labels, json_string(k->label[j]));
    for (int j = 0; j < k->values; j++) json_array_append_new(value, json_real(k->value[j]));
    json_t *o = json_pack("{s:s}", "target", k->target);
    if (k->labels)
      json_object_set(o, "label", labels);
    else
      json_object_set_new(o, "of", json_string("periods"));
    json_decref(labels);
    if (k->source == KNOWN_CONSTANT)
      json_object_set(o, "value", value);
    else
      json_object_set_new(o, k->source == KNOWN_INPUT ? "input" : "global", json_string(k->field));
    if (k->component >= 0) json_object_set_new(o, "component", json_integer(k->component));
    if (k->fixed) json_object_set_new(o, "static", json_string(k->fixed));
    json_decref(value);
    json_array_append_new(all, o);
  }
  return all;
}

/* By way of JSON: one place knows what an entry holds. */
dkho_status known_copy(arena *mem, const data_known *from, data_known *to) {
  int count;
  data_known *made = NULL;
  json_t *root = json_pack("{s:o}", "known", known_json(1, from));
  dkho_status s = root ? known_read(root, "known", mem, &count, &made) : fail(DKHO_E_MEMORY, "no memory for JSON");
  json_decref(root);
  if (s == DKHO_OK) *to = *made;
  return s;
}
