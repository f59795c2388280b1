/* eval.c: `dkho eval`: metrics of runs, side by side. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);
const verb verb_eval = {
    "eval",
    "metrics of the selected model of one or several runs",
    "RUN… [--data FILE] [--split test] [--metric NAME]… [--pair]",
    "Predicts a split with the selected model of each run and prints every metric of its target, runs side by side.\n"
    "--pair adds, for two runs of neighbouring degrees (lower first), how far the models contradict each other:\n"
    "the mean of |d u - w| / |w|.\n\n"
    "  dkho eval runs/flux\n"
    "  dkho eval runs/full runs/no_dirac runs/no_phase --split val --metric rel_l2 --metric curl_fid\n"
    "  dkho eval runs/flux runs/circulation --pair",
    run,
};

enum { RUNS_MAX = 32 };

typedef struct request {
  const char *data, *split;
  opt_list metric; /* empty: all */
  int pair, threads;
} request;

static int wanted(const request *q, const char *key) {
  for (int i = 0; i < q->metric.count; i++)
    if (strcmp(q->metric.item[i], key) == 0) return 1;
  return q->metric.count == 0;
}

/* Refuses a metric that the run's target does not have, before any work, with what there is. */
static int check_metrics(const request *q, const char *name) {
  char *text, known[1024] = "";
  if (!q->metric.count) return EXIT_DONE;
  if (dkho_metric_list(name, q->data, &text) != DKHO_OK) return failed();
  json_t *list = json_loads(text, 0, NULL), *item;
  dkho_text_free(text);
  size_t i;
  json_array_foreach(list, i, item) {
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", json_text(item, "key"));
  }
  int s = EXIT_DONE;
  for (int m = 0; m < q->metric.count && s == EXIT_DONE; m++) {
    int found = 0;
    json_array_foreach(list, i, item) found |= strcmp(json_text(item, "key"), q->metric.item[m]) == 0;
    if (!found) s = misuse(&verb_eval, "%s: its target has no metric '%s'; it has %s", name, q->metric.item[m], known);
  }
  json_decref(list);
  return s;
}

static int evaluate(const request *q, const char *name, json_t **out) {
  char *text;
  if (dkho_evaluate(name, q->data, q->split, q->threads, &text) != DKHO_OK) return failed();
  *out = json_loads(text, 0, NULL);
  dkho_text_free(text);
  json_object_del(*out, "rel_l2_each");
  json_t *metrics = json_object_get(*out, "metrics"), *value;
  const char *key;
  void *next;
  json_object_foreach_safe(metrics, next, key, value) if (!wanted(q, key)) json_object_del(metrics, key);
  return EXIT_DONE;
}

/* Whether an earlier run has the metric, and so its row is printed already. */
static int printed(int run_index, json_t *const *result, const char *key) {
  for (int r = 0; r < run_index; r++)
    if (json_object_get(json_object_get(result[r], "metrics"), key)) return 1;
  return 0;
}

/* Rows are metrics, columns runs; a run without a metric shows "-". */
static void print_table(int runs, json_t *const *result, char *const *name, const double *pair) {
  printf("%-18s", "");
  for (int r = 0; r < runs; r++) {
    const char *slash = strrchr(name[r], '/');
    printf(" %14.14s", slash && slash[1] ? slash + 1 : name[r]);
  }
  printf("\n%-18s", "target");
  for (int r = 0; r < runs; r++) printf(" %14s", json_text(result[r], "target"));
  printf("\n%-18s", "parameters");
  for (int r = 0; r < runs; r++)
    printf(" %14s", grouped((int64_t)json_integer_value(json_object_get(result[r], "parameters"))));
  putchar('\n');
  for (int r = 0; r < runs; r++) {
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(result[r], "metrics"), key, value) {
      if (printed(r, result, key)) continue;
      printf("%-18s", key);
      for (int i = 0; i < runs; i++) {
        const json_t *v = json_object_get(json_object_get(result[i], "metrics"), key);
        if (v)
          printf(" %14.5g", json_number_value(v));
        else
          printf(" %14s", "-");
      }
      putchar('\n');
    }
  }
  if (pair) printf("%-18s %14.5g\n", "pair", *pair);
}

static void print_list(int runs, json_t *const *result, const double *pair) {
  json_t *list = json_array();
  for (int r = 0; r < runs; r++) {
    if (pair) json_object_set_new(result[r], "pair", json_real(*pair));
    json_array_append(list, result[r]);
  }
  char *text = json_dumps(list, JSON_INDENT(2));
  puts(text ? text : "");
  free(text);
  json_decref(list);
}

static int run(int argc, char **argv) {
  request q = {.split = "test"};
  const opt opts[] = {
      {"--data", OPT_TEXT, &q.data, "FILE", "the data set (default: where the run had it)"},
      {"--split", OPT_TEXT, &q.split, "S", "train, val or test (default)"},
      {"--metric", OPT_REPEAT, &q.metric, "NAME", "only this metric; may be given again"},
      {"--pair", OPT_FLAG, &q.pair, NULL, "two runs of neighbouring degrees: their contradiction too"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_eval, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs < 1 || nargs > RUNS_MAX) return misuse(&verb_eval, "expected 1 … %d runs, found %d", RUNS_MAX, nargs);
  if (q.pair && nargs != 2) return misuse(&verb_eval, "--pair takes two runs, found %d", nargs);
  q.threads = (int)shared.threads;
  json_t *result[RUNS_MAX] = {0};
  double pair = 0;
  for (int r = 0; r < nargs && s == EXIT_DONE; r++) s = check_metrics(&q, args[r]);
  for (int r = 0; r < nargs && s == EXIT_DONE; r++) s = evaluate(&q, args[r], &result[r]);
  if (s == EXIT_DONE && q.pair && dkho_compatibility(args[0], args[1], q.data, q.split, q.threads, &pair) != DKHO_OK)
    s = failed();
  if (s == EXIT_DONE && shared.json)
    print_list(nargs, result, q.pair ? &pair : NULL);
  else if (s == EXIT_DONE)
    print_table(nargs, result, args, q.pair ? &pair : NULL);
  for (int r = 0; r < nargs; r++) json_decref(result[r]);
  return s;
}
