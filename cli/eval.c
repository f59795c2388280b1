/* eval.c: `dkho eval`: metrics of runs, side by side. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);
const verb verb_eval = {
    "eval",
    "metrics of the selected model of one or several runs",
    "RUN… [--data FILE] [--split test]",
    "Predicts a split with the selected model of each run and prints every metric of its target, runs side by side.\n\n"
    "  dkho eval runs/flux\n"
    "  dkho eval runs/full runs/no_dirac runs/no_phase --split val",
    run,
};

enum { RUNS_MAX = 32 };

/* Rows are metrics in the order of the first run, columns runs; a run without a metric shows "-". */
static void print_table(int runs, json_t *const *result, char *const *name) {
  printf("%-18s", "");
  for (int r = 0; r < runs; r++) {
    const char *slash = strrchr(name[r], '/');
    printf(" %14.14s", slash && slash[1] ? slash + 1 : name[r]);
  }
  printf("\n%-18s", "parameters");
  for (int r = 0; r < runs; r++)
    printf(" %14s", grouped((int64_t)json_integer_value(json_object_get(result[r], "parameters"))));
  putchar('\n');
  const char *key;
  json_t *value;
  json_object_foreach(json_object_get(result[0], "metrics"), key, value) {
    printf("%-18s", key);
    for (int r = 0; r < runs; r++) {
      const json_t *v = json_object_get(json_object_get(result[r], "metrics"), key);
      if (v)
        printf(" %14.5g", json_number_value(v));
      else
        printf(" %14s", "-");
    }
    putchar('\n');
  }
}

static int run(int argc, char **argv) {
  const char *data = NULL, *split = "test";
  const opt opts[] = {
      {"--data", OPT_TEXT, &data, "FILE", "the data set (default: where the run had it)"},
      {"--split", OPT_TEXT, &split, "S", "train, val or test (default)"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_eval, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs < 1 || nargs > RUNS_MAX) return misuse(&verb_eval, "expected 1 … %d runs, found %d", RUNS_MAX, nargs);
  json_t *result[RUNS_MAX] = {0};
  for (int r = 0; r < nargs && s == EXIT_DONE; r++) {
    char *text;
    if (dkho_evaluate(args[r], data, split, (int)shared.threads, &text) != DKHO_OK)
      s = failed();
    else {
      result[r] = json_loads(text, 0, NULL);
      json_object_del(result[r], "rel_l2_each");
      dkho_text_free(text);
    }
  }
  if (s == EXIT_DONE && shared.json) {
    json_t *list = json_array();
    for (int r = 0; r < nargs; r++) json_array_append(list, result[r]);
    char *text = json_dumps(list, JSON_INDENT(2));
    puts(text ? text : "");
    free(text);
    json_decref(list);
  } else if (s == EXIT_DONE)
    print_table(nargs, result, args);
  for (int r = 0; r < nargs; r++) json_decref(result[r]);
  return s;
}
