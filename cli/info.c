/* info.c: `dkho info`: what is in a file or a run. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int run_info(int argc, char **argv);
const verb verb_info = {
    "info",
    "describe a file or a run",
    "FILE|RUN | --model M --problem P --target K",
    "Describes a complex, a data set, a model, a checkpoint, a run directory, or a mesh file. With --problem it counts the\n"
    "parameters of a model instead, without any data.\n\n"
    "  dkho info torus.st\n"
    "  dkho info darcy.st --json\n"
    "  dkho info --model dkho --problem darcy --target 1 --size large",
    run_info,
};

/* Nested objects and arrays with two spaces per level; numbers as they are. */
static void print_tree(const json_t *v, const char *key, int depth) {
  if (json_is_object(v)) {
    if (key) printf("%*s%s\n", 2 * depth, "", key);
    const char *k;
    json_t *m;
    json_object_foreach((json_t *)(uintptr_t)v, k, m) print_tree(m, k, depth + 1);
    return;
  }
  char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
  if (json_is_string(v))
    printf("%*s%-20s %s\n", 2 * depth, "", key, json_string_value(v));
  else
    printf("%*s%-20s %.200s\n", 2 * depth, "", key ? key : "", text ? text : "");
  free(text);
}

/* A data set: what people ask first, then one line per field. */
static void print_dataset(const json_t *d) {
  const char *name, *mark = " (";
  json_t *f, *splits = json_object_get(d, "splits"), *fields = json_object_get(d, "fields");
  size_t i;
  printf("  %-20s %s (%s, seed %lld)\n", "problem", json_text(d, "problem"), json_text(d, "generator"),
         (long long)json_integer_value(json_object_get(d, "seed")));
  json_array_foreach(json_object_get(d, "simplices"), i, f) printf("  %-20s %s\n", "simplices", json_numbers(f));
  printf("  %-20s %s", "samples", grouped((int64_t)json_integer_value(json_object_get(d, "samples"))));
  json_object_foreach(splits, name, f) {
    printf("%s%s %s", mark, name, grouped((int64_t)json_integer_value(f)));
    mark = ", ";
  }
  printf(")\n  %-20s %s\n  %-20s %-8s %6s %9s\n", "hash", json_text(d, "hash"), "field", "role", "degree", "channels");
  json_object_foreach(fields, name, f) {
    printf("    %-18s %-8s %6lld %9lld\n", name, json_text(f, "role"),
           (long long)json_integer_value(json_object_get(f, "degree")),
           (long long)json_integer_value(json_object_get(f, "channels")));
  }
  json_array_foreach(json_object_get(d, "known"), i, f) {
    char *label = json_dumps(json_object_get(f, "label"), JSON_COMPACT);
    char *value = json_dumps(json_object_get(f, "value"), JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    const char *field = json_text(f, json_object_get(f, "input") ? "input" : "global");
    const char *factor = json_text(f, "static");
    printf("  %-20s %s%s%s%s is %s%s%s\n", i ? "" : "known", label ? "" : "periods of ", json_text(f, "target"),
           label ? " on " : "", label ? label : "", value ? value : field, *factor ? " x " : "", factor);
    free(label);
    free(value);
  }
  const char *notes = json_text(json_object_get(d, "params"), "notes");
  if (notes[0]) printf("  notes: %s\n", notes);
}

void print_description(const char *name, char *json) {
  json_t *d = json_loads(json, 0, NULL);
  dkho_text_free(json);
  printf("%s: %s\n", name, json_text(d, "kind"));
  json_object_del(d, "kind");
  if (json_object_get(d, "betti_relative"))
    print_complex(d);
  else if (json_object_get(d, "splits"))
    print_dataset(d);
  else
    print_tree(d, NULL, 0);
  json_decref(d);
}

/* The number of parameters that training with these settings would give, without any data. */
static int count_parameters(const char *problem, const dkho_train_options *o, int as_json) {
  int64_t count, reals;
  if (dkho_parameter_counts(problem, o, &count, &reals) != DKHO_OK) return failed();
  if (as_json)
    printf("{\"parameters\": %lld, \"parameters_real\": %lld}\n", (long long)count, (long long)reals);
  else if (reals == count)
    printf("%s parameters\n", grouped(count));
  else {
    printf("%s parameters, complex ones counted once; ", grouped(count));
    printf("%s real numbers\n", grouped(reals));
  }
  return EXIT_DONE;
}

static int run_info(int argc, char **argv) {
  dkho_train_options o;
  dkho_train_defaults(&o);
  const char *problem = NULL;
  const opt opts[] = {
      {"--model", OPT_TEXT, &o.model, "M", "count the parameters of a model (default dkho)"},
      {"--problem", OPT_TEXT, &problem, "P", "… on this benchmark"},
      {"--target", OPT_TEXT, &o.target, "K", "… for the target of this degree or name"},
      {"--size", OPT_TEXT, &o.size, "S", "… small or large"},
      {"--variant", OPT_TEXT, &o.variant, "V", "… full, no_dirac, no_phase, no_harmonic"},
      {"--profile", OPT_TEXT, &o.profile, "P", "… with these inputs: native … conditioned"},
      {0},
  };
  common shared;
  char **args, *text;
  int nargs, s = parse(&verb_info, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (problem)
    return nargs ? misuse(&verb_info, "give a file or --problem, not both")
                 : count_parameters(problem, &o, shared.json);
  static const char *const nothing[] = {NULL};
  if ((s = only(&verb_info, opts, &shared, "belongs to --problem", nothing))) return s;
  if (nargs != 1) return misuse(&verb_info, "expected one file or run directory, found %d", nargs);
  if (dkho_describe(args[0], &text) != DKHO_OK) return failed();
  if (shared.json)
    print_json(text);
  else
    print_description(args[0], text);
  return EXIT_DONE;
}
