/* options.c: see options.h. */
#include "model/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int options_count(const model_option *table) {
  int n = 0;
  while (table[n].key) n++;
  return n;
}

int options_find(const model_option *table, const char *key) {
  for (int i = 0; table[i].key; i++)
    if (strcmp(table[i].key, key) == 0) return i;
  return -1;
}

void options_defaults(const model_option *table, double *value) {
  for (int i = 0; table[i].key; i++) value[i] = table[i].fallback;
}

/* Names of a list with commas between them, as many as there is room for. */
static void join_names(char *out, size_t size, int count, const char *(*name)(const void *of, int i), const void *of) {
  size_t used = 0;
  out[0] = 0;
  for (int i = 0; i < count && used + 1 < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", name(of, i));
}

static const char *key_of(const void *table, int i) {
  return ((const model_option *)table)[i].key;
}
static const char *choice_of(const void *o, int i) {
  return ((const model_option *)o)->choice[i];
}

static int count_choices(const model_option *o) {
  int n = 0;
  while (o->choice[n]) n++;
  return n;
}

static dkho_status set_choice(const char *owner, const model_option *o, double *value, const char *text) {
  char names[256];
  for (int i = 0; o->choice[i]; i++)
    if (strcmp(o->choice[i], text) == 0) {
      *value = i;
      return DKHO_OK;
    }
  join_names(names, sizeof names, count_choices(o), choice_of, o);
  return fail(DKHO_E_INPUT, "%s: %s: found '%.60s', expected one of %s", owner, o->key, text, names);
}

static dkho_status set_number(const char *owner, const model_option *o, double *value, double found) {
  int whole = o->type == OPTION_INT;
  if (isfinite(found) && found >= o->lo && found <= o->hi && (!whole || found == floor(found))) {
    *value = found;
    return DKHO_OK;
  }
  return fail(DKHO_E_INPUT, "%s: %s: found %.10g, expected a %s from %.10g to %.10g", owner, o->key, found,
              whole ? "whole number" : "number", o->lo, o->hi);
}

dkho_status options_set(const char *owner, const model_option *table, double *value, const char *key,
                        const char *text) {
  char names[512], *end;
  int i = options_find(table, key);
  if (i < 0) {
    join_names(names, sizeof names, options_count(table), key_of, table);
    return fail(DKHO_E_INPUT, "%s: has no option '%.60s'; it has %s", owner, key, *names ? names : "none");
  }
  if (table[i].type == OPTION_CHOICE) return set_choice(owner, &table[i], &value[i], text);
  double found = strtod(text, &end);
  if (end == text || *end) return fail(DKHO_E_INPUT, "%s: %s: found '%.60s', expected a number", owner, key, text);
  return set_number(owner, &table[i], &value[i], found);
}

dkho_status options_assign(const char *owner, const model_option *table, double *value, const char *assignment) {
  char key[OPTION_TEXT_MAX];
  const char *equals = strchr(assignment, '=');
  if (!equals || equals == assignment || equals - assignment >= OPTION_TEXT_MAX)
    return fail(DKHO_E_INPUT, "%s: found '%.60s', expected key=value", owner, assignment);
  snprintf(key, sizeof key, "%.*s", (int)(equals - assignment), assignment);
  return options_set(owner, table, value, key, equals + 1);
}

dkho_status options_assign_list(const char *owner, const model_option *table, double *value, const char *prefix,
                                const char *list) {
  size_t skip = prefix ? strlen(prefix) + 1 : 0;
  for (const char *at = list; at && *at;) {
    char one[2 * OPTION_TEXT_MAX];
    size_t n = strcspn(at, " ");
    int ours = n && (!prefix || (n > skip && strncmp(at, prefix, skip - 1) == 0 && at[skip - 1] == '.'));
    if (ours && n - skip >= sizeof one) return fail(DKHO_E_INPUT, "%s: '%.60s…' is too long for an option", owner, at);
    if (ours) {
      snprintf(one, sizeof one, "%.*s", (int)(n - skip), at + skip);
      TRY(options_assign(owner, table, value, one));
    }
    at += n + (at[n] == ' ');
  }
  return DKHO_OK;
}

void options_text(const model_option *o, double value, char text[OPTION_TEXT_MAX]) {
  if (o->type == OPTION_CHOICE)
    snprintf(text, OPTION_TEXT_MAX, "%s", o->choice[(int)value]);
  else
    snprintf(text, OPTION_TEXT_MAX, "%.17g", value);
}

static json_t *value_json(const model_option *o, double value) {
  if (o->type == OPTION_CHOICE) return json_string(o->choice[(int)value]);
  return o->type == OPTION_INT ? json_integer((json_int_t)value) : json_real(value);
}

json_t *options_json(const model_option *table, const double *value) {
  json_t *j = json_object();
  for (int i = 0; j && table[i].key; i++)
    if (json_object_set_new(j, table[i].key, value_json(&table[i], value[i])) != 0) {
      json_decref(j);
      j = NULL;
    }
  return j;
}

dkho_status options_read(const char *owner, const model_option *table, double *value, json_t *object) {
  for (int i = 0; table[i].key; i++) {
    json_t *j = json_object_get(object, table[i].key);
    if (!j) continue;
    if (table[i].type == OPTION_CHOICE && json_is_string(j))
      TRY(set_choice(owner, &table[i], &value[i], json_string_value(j)));
    else if (table[i].type != OPTION_CHOICE && json_is_number(j))
      TRY(set_number(owner, &table[i], &value[i], json_number_value(j)));
    else
      return fail(DKHO_E_FORMAT, "%s: '%s' is not a %s", owner, table[i].key,
                  table[i].type == OPTION_CHOICE ? "text" : "number");
  }
  return DKHO_OK;
}

static json_t *describe_one(const model_option *o) {
  static const char *const type_name[] = {"int", "real", "choice"};
  json_t *j = json_pack("{s:s, s:s, s:o, s:s}", "key", o->key, "type", type_name[o->type], "default",
                        value_json(o, o->fallback), "help", o->help);
  if (o->type != OPTION_CHOICE) {
    json_object_set_new(j, "range", json_pack("[ff]", o->lo, o->hi));
    return j;
  }
  json_t *names = json_array();
  for (int i = 0; o->choice[i]; i++) json_array_append_new(names, json_string(o->choice[i]));
  json_object_set_new(j, "choices", names);
  return j;
}

json_t *options_describe(const model_option *table) {
  json_t *list = json_array();
  for (int i = 0; table[i].key; i++) json_array_append_new(list, describe_one(&table[i]));
  return list;
}
