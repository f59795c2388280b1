/* demo.c: `dkho demo`: the whole path on one benchmark, small enough to watch. What it shows of a problem is in dkho_problem_list;
 * the budget "demo" of dkho_reproduce has samples and epochs. */
#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN_MAX = 4, VTU_FILES = 3, PATH_ROOM = 4096 };

static int run_demo(int argc, char **argv);
const verb verb_demo = {
    "demo",
    "from mesh to trained operator and figures in about two minutes",
    "[PROBLEM] [-o demo]",
    "Builds the mesh, generates data, trains, compares the result with simpler predictors and the classical solver, and\n"
    "writes predictions and figures to ./demo (or -o); a second call continues there.\n"
    "The default is ironloss: losses in a saturable iron sheet with three windows over a cycle of currents, which takes the\n"
    "classical solver 40 nonlinear solves. PROBLEM is any that dkho data knows; all run on a coarse mesh, but for reaction.\n\n"
    "  dkho demo\n"
    "  dkho demo darcy -o trial",
    run_demo,
};

/* The target that is learned, the mesh that the budget has, and what to say of the task; borrowed from the list of problems. */
typedef struct story {
  const char *problem, *target, *resolution, *task;
  const char *model;
} story;

/* The story of a problem; name NULL: of the one that is shown first. */
static int find_story(const json_t *problems, const char *name, story *out) {
  char known[256] = "";
  size_t i;
  json_t *p;
  json_array_foreach(problems, i, p) {
    const json_t *demo = json_object_get(p, "demo");
    if (!demo) continue;
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", json_text(p, "name"));
    if (name ? strcmp(json_text(p, "name"), name) != 0 : !json_is_true(json_object_get(demo, "first"))) continue;
    *out = (story){json_text(p, "name"), json_text(demo, "target"), json_text(demo, "resolution"),
                   json_text(demo, "task"), json_text(demo, "model")};
    return EXIT_DONE;
  }
  return misuse(&verb_demo, "unknown problem '%s'; there are %s", name ? name : "", known);
}

static int show_mesh(const story *of) {
  dkho_complex *c;
  char *text;
  if (dkho_complex_generate(&c, of->problem, of->resolution) != DKHO_OK) return failed();
  dkho_status s = dkho_complex_describe(c, &text);
  dkho_complex_free(c);
  if (s != DKHO_OK) return failed();
  json_t *d = json_loads(text, 0, NULL);
  dkho_text_free(text);
  printf("1. mesh of %s\n", of->problem);
  print_complex(d);
  json_decref(d);
  printf("\n2. data, training\n   %s\n", of->task);
  fflush(stdout);
  return EXIT_DONE;
}

/* RelL2 and the first few fidelities that the target has. */
static int choose_metrics(const json_t *target, const char *shown[SHOWN_MAX]) {
  int n = 0;
  size_t i;
  json_t *m;
  json_array_foreach(json_object_get(target, "metrics"), i, m) {
    const char *key = json_text(m, "key");
    if (n < SHOWN_MAX && (strcmp(key, "rel_l2") == 0 || strstr(key, "_fid") || strcmp(key, "iou") == 0))
      shown[n++] = key;
  }
  return n;
}

static void print_row(const json_t *row, int n, const char *const *shown) {
  printf("   %-12.12s", json_text(row, "name"));
  for (int k = 0; k < n; k++) {
    const json_t *v = json_object_get(json_object_get(row, "metrics"), shown[k]);
    if (json_is_number(v))
      printf(" %10.4f", json_number_value(v));
    else
      printf(" %10s", v ? "n/a" : "-");
  }
  const char *from = json_text(row, "source")[0] == 'p' ? "paper: all samples and epochs, full mesh"
                     : json_object_get(row, "cost")     ? "the operator just trained"
                                                        : json_text(row, "what");
  printf("  %s\n", from);
}

static void print_cost(const json_t *row) {
  const json_t *cost = json_object_get(row, "cost"), *even = json_object_get(cost, "break_even_solves");
  printf("\n   training took %.0f s; a prediction takes %.2f ms, a classical solve %.2f ms\n"
         "   data and training pay for themselves after: %s%s\n",
         json_number_value(json_object_get(row, "seconds")),
         1e3 * json_number_value(json_object_get(cost, "learned_seconds_per_sample")),
         1e3 * json_number_value(json_object_get(json_object_get(cost, "classical"), "seconds_per_sample")),
         json_is_string(even) ? json_string_value(even) : grouped((int64_t)json_integer_value(even)),
         json_is_string(even) ? "" : " solves");
}

static const json_t *find_target(const json_t *problems, const story *of) {
  size_t i, k;
  json_t *p, *t;
  json_array_foreach(problems, i, p) {
    if (strcmp(json_text(p, "problem"), of->problem) != 0) continue;
    json_array_foreach(json_object_get(p, "targets"), k, t)
      if (strcmp(json_text(t, "target"), of->target) == 0) return t;
  }
  return NULL;
}

/* Our rows, and DKHO as the paper prints it. */
static void print_results(const json_t *problems, const story *of) {
  const char *shown[SHOWN_MAX];
  const json_t *target = find_target(problems, of), *ours = NULL;
  int n = choose_metrics(target, shown);
  size_t i;
  json_t *row;
  printf("\n3. test samples, which training never saw\n   %-12s", "");
  for (int m = 0; m < n; m++) printf(" %10s", shown[m]);
  putchar('\n');
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    int paper = strcmp(json_text(row, "source"), "paper") == 0;
    if (paper && (strncmp(json_text(row, "name"), "DKHO-", 5) != 0 || strchr(json_text(row, "name"), ','))) continue;
    print_row(row, n, shown);
    if (json_object_get(row, "cost")) ours = row;
  }
  if (ours) print_cost(ours);
}

static int show_predictions(const story *of, const char *dir, int threads) {
  char run_dir[PATH_ROOM], data[PATH_ROOM], out[PATH_ROOM];
  dkho_model *m;
  const char *which = strcmp(of->model, "dkho") == 0 ? "small" : of->model;
  snprintf(run_dir, sizeof run_dir, "%.3000s/%s/runs/%s-%s", dir, of->problem, of->target, which);
  snprintf(data, sizeof data, "%.3000s/%s/data.st", dir, of->problem);
  snprintf(out, sizeof out, "%.3000s/%s/prediction.vtu", dir, of->problem);
  if (dkho_model_load(&m, run_dir) != DKHO_OK) return failed();
  dkho_status s = dkho_predict_file(m, data, "test", out, 1, threads, VTU_FILES);
  dkho_model_free(m);
  return s == DKHO_OK ? EXIT_DONE : failed();
}

static void print_paths(const story *of, const char *dir) {
  static const char *const figures[] = {"fields", "training", "parameters", "phase"};
  puts("\n4. what was made");
  for (int i = 0; i < 4; i++) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%.3000s/figures/%s-%s.png", dir, of->problem, figures[i]);
    if (access(path, R_OK) == 0) printf("   %s\n", path);
  }
  printf("   %s/%s/prediction-*.vtu (ParaView)\n   %s/table.md\n", dir, of->problem, dir);
}

static int perform(const story *of, const char *dir, dkho_reproduce_options *o, int as_json) {
  char *text = NULL;
  time_t start = time(NULL);
  int s = as_json ? EXIT_DONE : show_mesh(of);
  if (s != EXIT_DONE) return s;
  stop_watch();
  dkho_status status = dkho_reproduce(of->problem, dir, o, &text);
  meter_end();
  if (status != DKHO_OK) return failed();
  s = show_predictions(of, dir, o->threads);
  if (s == EXIT_DONE && as_json) {
    print_json(text);
    return s;
  }
  json_t *problems = json_loads(text, 0, NULL);
  dkho_text_free(text);
  if (s == EXIT_DONE) {
    print_results(problems, of);
    print_paths(of, dir);
    printf("\n   %.0f s total\n", difftime(time(NULL), start));
  }
  json_decref(problems);
  return s;
}

static int run_demo(int argc, char **argv) {
  const char *dir = "demo";
  dkho_reproduce_options o = {.budget = "demo", .optimizer = "muon", .stop = stop_asked};
  int64_t epochs = 0;
  const opt opts[] = {
      {"-o", OPT_TEXT, &dir, "DIR", "output directory (default: demo)"},
      {"--samples", OPT_INT, &o.samples, "N", "number of samples (default: the demo's own)"},
      {"--epochs", OPT_INT, &epochs, "N", "number of epochs (default: the demo's own)"},
      {0},
  };
  common shared;
  story of = {0};
  char **args;
  int nargs, s = parse(&verb_demo, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs > 1) return misuse(&verb_demo, "unexpected argument '%s'", args[1]);
  if (epochs < 0 || epochs > 1000000 || o.samples < 0)
    return misuse(&verb_demo, "--epochs and --samples: expected numbers ≥ 0");
  o.epochs = (int)epochs, o.seed = (uint64_t)shared.seed, o.threads = (int)shared.threads;
  json_t *problems = problem_list();
  if (!problems) return failed();
  s = find_story(problems, nargs ? args[0] : NULL, &of);
  o.target = of.target, o.models = of.model;
  if (s == EXIT_DONE) s = perform(&of, dir, &o, shared.json);
  json_decref(problems);
  return s;
}
