/* eval.c: `dkho eval`: metrics of runs, side by side. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_eval(int argc, char **argv);
const verb verb_eval = {
    "eval",
    "metrics of the selected model of one or several runs",
    "RUN|MODEL.st… [--data FILE] [--split test] [--metric NAME]… [--pair] [--honest]",
    "Predicts a split with the selected model of each run and prints every metric of its target, runs side by side.\n"
    "--pair adds, for two runs of neighbouring degrees (lower first), how inconsistent the two models are: the mean of\n"
    "|d u - w| / |w|.\n"
    "--honest adds baselines (trivial predictors and linear regression on the same training samples) and the cost of a\n"
    "prediction compared with a classical solve; for problems solved by Newton's method, what the prediction saves as its\n"
    "start (the solver's own accuracy is kept).\n"
    "Under mpirun or srun the ranks share the samples; with --parts P, P ranks also share the mesh of each sample, to the same bits.\n\n"
    "  dkho eval runs/flux\n"
    "  dkho eval runs/full runs/no_dirac runs/no_phase --split val --metric rel_l2 --metric curl_fid\n"
    "  dkho eval runs/flux runs/circulation --pair",
    run_eval,
};

enum { RUNS_MAX = 32, COLUMNS_MAX = 48 };

typedef struct request {
  const char *data, *split;
  opt_list metric; /* empty: all */
  int pair, honest, threads;
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

static void keep_wanted(const request *q, json_t *metrics) {
  json_t *value;
  const char *key;
  void *next;
  json_object_foreach_safe(metrics, next, key, value)
    if (!wanted(q, key)) json_object_del(metrics, key);
}

static int evaluate_run(const request *q, const char *name, json_t **out) {
  char *text;
  if (dkho_evaluate(name, q->data, q->split, q->threads, &text) != DKHO_OK) return failed();
  *out = json_loads(text, 0, NULL);
  dkho_text_free(text);
  json_object_del(*out, "rel_l2_each");
  keep_wanted(q, json_object_get(*out, "metrics"));
  keep_wanted(q, json_object_get(*out, "counted"));
  return EXIT_DONE;
}

/* A table: runs, and the rows to compare with as further columns. */
typedef struct table {
  int runs, columns;
  json_t *result[COLUMNS_MAX]; /* owned */
  const char *name[COLUMNS_MAX];
  json_t *references; /* of the first run; NULL: not asked for */
  int paired;
  double pair;
} table;

static int add_references(const request *q, table *t) {
  char *text;
  if (dkho_honesty(t->name[0], q->data, q->threads, &text) != DKHO_OK) return failed();
  t->references = json_loads(text, 0, NULL);
  dkho_text_free(text);
  json_t *row;
  size_t i;
  json_array_foreach(json_object_get(t->references, "rows"), i, row) {
    keep_wanted(q, json_object_get(row, "metrics"));
    keep_wanted(q, json_object_get(row, "counted"));
    if (t->columns == COLUMNS_MAX) continue;
    t->name[t->columns] = json_text(row, "name");
    t->result[t->columns++] = json_incref(row);
  }
  return EXIT_DONE;
}

/* Whether an earlier column has the metric, and so its row is printed already. */
static int printed(const table *t, int column, const char *key) {
  for (int r = 0; r < column; r++)
    if (json_object_get(json_object_get(t->result[r], "metrics"), key)) return 1;
  return 0;
}

static void print_metric(const table *t, const char *key) {
  printf("%-18s", key);
  for (int i = 0; i < t->columns; i++) {
    const json_t *v = json_object_get(json_object_get(t->result[i], "metrics"), key);
    if (json_is_number(v))
      printf(" %14.5g", json_number_value(v));
    else
      printf(" %14s", v ? "n/a" : "-");
  }
  putchar('\n');
}

/* Figures that not every sample has a part in. */
static void print_counted(const table *t) {
  for (int r = 0; r < t->runs; r++) {
    const char *key;
    json_t *counted;
    int samples = (int)json_integer_value(json_object_get(t->result[r], "samples"));
    json_object_foreach(json_object_get(t->result[r], "counted"), key, counted) {
      int n = (int)json_integer_value(counted);
      if (n > 0 && n < samples)
        printf("%s, %s: mean over %d of %d samples; in the others what it refers to vanishes\n", t->name[r], key, n,
               samples);
    }
  }
}

static void print_cost(const json_t *cost) {
  const json_t *classical = json_object_get(cost, "classical"), *even = json_object_get(cost, "break_even_solves");
  printf("seconds per sample, %d threads: model %.4g", (int)json_integer_value(json_object_get(cost, "threads")),
         json_number_value(json_object_get(cost, "learned_seconds_per_sample")));
  if (json_object_get(classical, "coarse_seconds"))
    printf(" (%.4g of it for the coarse solution)", json_number_value(json_object_get(classical, "coarse_seconds")));
  if (json_is_object(classical) && json_number_value(json_object_get(classical, "setup_seconds")) == 0)
    printf(", classical solver %.4g (as given with the data)",
           json_number_value(json_object_get(classical, "seconds_per_sample")));
  else if (!json_is_object(classical))
    printf(", classical solver unknown (\"classical_seconds\" of an import specification tells it)");
  else
    printf(", classical solver %.4g (after %.3g s of set-up)",
           json_number_value(json_object_get(classical, "seconds_per_sample")),
           json_number_value(json_object_get(classical, "setup_seconds")));
  putchar('\n');
  if (even)
    printf("data and training pay for themselves after: %s%s\n",
           json_is_string(even) ? json_string_value(even) : grouped((int64_t)json_integer_value(even)),
           json_is_string(even) ? "" : " solves");
}

static void print_restart(const json_t *newton) {
  if (!newton) return;
  const json_t *steps = json_object_get(newton, "steps"), *seconds = json_object_get(newton, "seconds");
  printf(
      "Newton's method from the prediction, mean of %d samples: %.1f steps instead of %.1f, %.3g s instead of %.3g; the "
      "same solution to %.1g\n",
      (int)json_integer_value(json_object_get(newton, "samples")), json_number_value(json_array_get(steps, 1)),
      json_number_value(json_array_get(steps, 0)), json_number_value(json_array_get(seconds, 1)),
      json_number_value(json_array_get(seconds, 0)), json_number_value(json_object_get(newton, "difference")));
}

static void print_seconds(const table *t, const char *title, const char *key) {
  printf("%-18s", title);
  for (int r = 0; r < t->runs; r++) printf(" %14.3g", json_number_value(json_object_get(t->result[r], key)));
  putchar('\n');
}

/* Rows are metrics, columns runs and rows to compare with; what has no such metric shows "-", one whose reference vanishes
 * "n/a". */
static void print_table(const table *t) {
  printf("%-18s", "");
  for (int r = 0; r < t->columns; r++) {
    const char *slash = strrchr(t->name[r], '/');
    printf(" %14.14s", slash && slash[1] ? slash + 1 : t->name[r]);
  }
  printf("\n%-18s", "target");
  for (int r = 0; r < t->runs; r++) printf(" %14s", json_text(t->result[r], "target"));
  printf("\n%-18s", "parameters");
  for (int r = 0; r < t->runs; r++)
    printf(" %14s", grouped((int64_t)json_integer_value(json_object_get(t->result[r], "parameters"))));
  putchar('\n');
  for (int r = 0; r < t->columns; r++) {
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(t->result[r], "metrics"), key, value)
      if (!printed(t, r, key)) print_metric(t, key);
  }
  print_counted(t);
  if (t->paired) printf("%-18s %14.5g\n", "pair", t->pair);
  print_seconds(t, "predict, s", "predict_seconds");
  print_seconds(t, "judge, s", "judge_seconds");
  if (!t->references) return;
  print_cost(json_object_get(t->references, "cost"));
  print_restart(json_object_get(json_object_get(t->references, "cost"), "newton"));
}

static void print_list(const table *t) {
  json_t *list = json_array();
  for (int r = 0; r < t->runs; r++) {
    if (t->paired) json_object_set_new(t->result[r], "pair", json_real(t->pair));
    if (t->references && r == 0) json_object_set(t->result[r], "honest", t->references);
    json_array_append(list, t->result[r]);
  }
  char *text = json_dumps(list, JSON_INDENT(2));
  puts(text ? text : "");
  free(text);
  json_decref(list);
}

static int fill(const request *q, table *t) {
  int s = EXIT_DONE;
  for (int r = 0; r < t->runs && s == EXIT_DONE; r++) s = check_metrics(q, t->name[r]);
  for (int r = 0; r < t->runs && s == EXIT_DONE; r++) s = evaluate_run(q, t->name[r], &t->result[r]);
  if (s == EXIT_DONE && q->pair &&
      dkho_compatibility(t->name[0], t->name[1], q->data, q->split, q->threads, &t->pair) != DKHO_OK)
    s = failed();
  return s == EXIT_DONE && q->honest ? add_references(q, t) : s;
}

static int run_eval(int argc, char **argv) {
  request q = {.split = "test"};
  const char *parts = NULL;
  const opt opts[] = {
      {"--data", OPT_TEXT, &q.data, "FILE", "the data set (default: the run's own path; required for a model file)"},
      {"--split", OPT_TEXT, &q.split, "S", "train, val or test (default)"},
      {"--metric", OPT_REPEAT, &q.metric, "NAME", "only this metric; may be repeated"},
      {"--pair", OPT_FLAG, &q.pair, NULL, "two runs of neighbouring degrees: their inconsistency too"},
      {"--honest", OPT_FLAG, &q.honest, NULL, "baselines and cost of the first run, on the test split"},
      {"--parts", OPT_TEXT, &parts, "P",
       "ranks that share one mesh, a divisor of their number (default 1, or DKHO_PARTS)"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_eval, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs < 1 || nargs > RUNS_MAX) return misuse(&verb_eval, "expected 1 … %d runs, found %d", RUNS_MAX, nargs);
  if (q.pair && nargs != 2) return misuse(&verb_eval, "--pair takes two runs, found %d", nargs);
  if (q.honest && strcmp(q.split, "test") != 0)
    return misuse(&verb_eval, "--honest judges on the test split, --split says %s", q.split);
  if (q.honest && parts)
    return misuse(&verb_eval, "--honest compares whole meshes in one process, --parts divides them");
  if (parts) setenv("DKHO_PARTS", parts, 1);
  q.threads = (int)shared.threads;
  table t = {.runs = nargs, .columns = nargs, .paired = q.pair};
  for (int r = 0; r < nargs; r++) t.name[r] = args[r];
  s = fill(&q, &t);
  if (s == EXIT_DONE && shared.json)
    print_list(&t);
  else if (s == EXIT_DONE)
    print_table(&t);
  for (int r = 0; r < t.columns; r++) json_decref(t.result[r]);
  json_decref(t.references);
  return s;
}
