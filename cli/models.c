/* models.c: `dkho models`: the models there are and their options. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int run_models(int argc, char **argv);
const verb verb_models = {
    "models",
    "list the models and their options",
    "[NAME]",
    "Lists the models that `dkho train --model` takes, with the options that `--set key=value` changes, their defaults and\n"
    "ranges.\n\n"
    "  dkho models\n"
    "  dkho models dkho\n"
    "  dkho models --json",
    run_models,
};

static void print_range(const json_t *o, char *out, size_t size) {
  json_t *choices = json_object_get(o, "choices"), *range = json_object_get(o, "range"), *c;
  size_t i, used = 0;
  out[0] = 0;
  json_array_foreach(choices, i, c) {
    if (used < size) used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", json_string_value(c));
  }
  if (range)
    snprintf(out, size, "%g to %g", json_number_value(json_array_get(range, 0)),
             json_number_value(json_array_get(range, 1)));
}

static void print_option(const json_t *o) {
  char range[128], value[64];
  json_t *fallback = json_object_get(o, "default");
  if (json_is_string(fallback))
    snprintf(value, sizeof value, "%s", json_string_value(fallback));
  else
    snprintf(value, sizeof value, "%g", json_number_value(fallback));
  print_range(o, range, sizeof range);
  printf("    %-18s %-10s %s (%s)\n", json_text(o, "key"), value, json_text(o, "help"), range);
}

static void print_model(const json_t *m, int options) {
  json_t *row;
  size_t i;
  printf("  %-12s %s\n", json_text(m, "name"), json_text(m, "summary"));
  if (!options) return;
  json_array_foreach(json_object_get(m, "sizes"), i, row) {
    printf("    size %-13s %s\n", json_text(row, "name"), json_text(row, "options"));
  }
  json_array_foreach(json_object_get(m, "options"), i, row) print_option(row);
}

int print_models(const char *name, int options) {
  char *text;
  json_t *m;
  size_t i;
  int found = 0;
  if (dkho_model_list(&text) != DKHO_OK) return failed();
  json_t *list = json_loads(text, 0, NULL);
  dkho_text_free(text);
  puts("models:");
  json_array_foreach(list, i, m) {
    if (name && strcmp(name, json_text(m, "name")) != 0) continue;
    print_model(m, options);
    found = 1;
  }
  json_decref(list);
  return found ? EXIT_DONE : misuse(&verb_models, "there is no model '%s'", name);
}

static int run_models(int argc, char **argv) {
  const opt opts[] = {{0}};
  common shared;
  char **args, *text;
  int nargs, s = parse(&verb_models, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs > 1) return misuse(&verb_models, "expected at most one name, found %d", nargs);
  if (!shared.json) return print_models(nargs ? args[0] : NULL, 1);
  if (dkho_model_list(&text) != DKHO_OK) return failed();
  print_json(text);
  return EXIT_DONE;
}
