/* demo.c: `dkho demo`: the whole path on one benchmark, small enough to watch. What it does is in the constants. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* The budget "demo" of dkho_reproduce has the samples and epochs. */
#define PROBLEM "darcy"
#define TARGET "q"
static const char *const shown[] = {"rel_l2", "codiff_fid", "curl_fid", "energy_fid"};
enum { SHOWN = sizeof shown / sizeof *shown, VTU_FILES = 3, PATH_ROOM = 4096 };

static int run(int argc, char **argv);
const verb verb_demo = {
    "demo",
    "the whole path in about two minutes, ending in figures",
    "[-o demo]",
    "A square with two holes, Darcy flow on it, an operator trained to predict the flux, what it is worth beside "
    "simpler\n"
    "predictors and the classical solver, and pictures. Everything goes to ./demo (or -o); a second call goes on with "
    "it.",
    run,
};

static int show_mesh(void) {
  dkho_complex *c;
  char *text;
  if (dkho_complex_generate(&c, PROBLEM, "smoke") != DKHO_OK) return failed();
  dkho_status s = dkho_complex_describe(c, &text);
  dkho_complex_free(c);
  if (s != DKHO_OK) return failed();
  json_t *d = json_loads(text, 0, NULL);
  dkho_text_free(text);
  puts("1. mesh");
  print_complex(d);
  json_decref(d);
  return EXIT_DONE;
}

static void print_row(const json_t *row) {
  printf("   %-24.24s", json_text(row, "name"));
  for (int k = 0; k < SHOWN; k++) {
    const json_t *v = json_object_get(json_object_get(row, "metrics"), shown[k]);
    if (v)
      printf(" %10.4f", json_number_value(v));
    else
      printf(" %10s", "-");
  }
  printf("  %s\n", json_text(row, "source")[0] == 'p' ? "paper, full budget, fine mesh" : json_text(row, "what"));
}

static void print_cost(const json_t *row) {
  const json_t *cost = json_object_get(row, "cost"), *even = json_object_get(cost, "break_even_solves");
  printf(
      "\n   training took %.0f s; a prediction takes %.2f ms, a classical solve %.2f ms; training pays after: %s%s\n",
      json_number_value(json_object_get(row, "seconds")),
      1e3 * json_number_value(json_object_get(cost, "learned_seconds_per_sample")),
      1e3 * json_number_value(json_object_get(json_object_get(cost, "classical"), "seconds_per_sample")),
      json_is_string(even) ? json_string_value(even) : grouped((int64_t)json_integer_value(even)),
      json_is_string(even) ? "" : " solves");
}

/* Our rows, and DKHO as the paper prints it. */
static void print_results(const json_t *problems) {
  const json_t *target = NULL, *ours = NULL, *row;
  size_t i, k;
  json_t *p, *t;
  json_array_foreach(problems, i, p) json_array_foreach(json_object_get(p, "targets"), k,
                                                        t) if (strcmp(json_text(p, "problem"), PROBLEM) == 0 &&
                                                               strcmp(json_text(t, "target"), TARGET) == 0) target = t;
  printf("\n3. test split\n   %-24s", "");
  for (int m = 0; m < SHOWN; m++) printf(" %10s", shown[m]);
  putchar('\n');
  json_array_foreach(json_object_get(target, "rows"), i, row) {
    int paper = strcmp(json_text(row, "source"), "paper") == 0;
    if (paper && strncmp(json_text(row, "name"), "DKHO-", 5) != 0) continue;
    if (paper && strchr(json_text(row, "name"), ',')) continue;
    print_row(row);
    if (json_object_get(row, "cost")) ours = row;
  }
  if (ours) print_cost(ours);
}

static int predict(const char *dir, int threads) {
  char run_dir[PATH_ROOM], data[PATH_ROOM], out[PATH_ROOM];
  dkho_model *m;
  snprintf(run_dir, sizeof run_dir, "%.3000s/" PROBLEM "/runs/" TARGET "-small", dir);
  snprintf(data, sizeof data, "%.3000s/" PROBLEM "/data.st", dir);
  snprintf(out, sizeof out, "%.3000s/prediction.vtu", dir);
  if (dkho_model_load(&m, run_dir) != DKHO_OK) return failed();
  dkho_status s = dkho_predict_file(m, data, "test", out, 1, threads, VTU_FILES);
  dkho_model_free(m);
  return s == DKHO_OK ? EXIT_DONE : failed();
}

static int run(int argc, char **argv) {
  const char *dir = "demo";
  const opt opts[] = {{"-o", OPT_TEXT, &dir, "DIR", "where everything goes (default: demo)"}, {0}};
  common shared;
  char **args, *text = NULL;
  int nargs, s = parse(&verb_demo, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs) return misuse(&verb_demo, "unexpected argument '%s'", args[0]);
  if (!shared.json && (s = show_mesh()) != EXIT_DONE) return s;
  dkho_reproduce_options o = {.budget = "demo",
                              .target = TARGET,
                              .seed = (uint64_t)shared.seed,
                              .threads = (int)shared.threads,
                              .stop = stop_asked};
  if (!shared.json) puts("\n2. data, training");
  fflush(stdout);
  stop_watch();
  dkho_status status = dkho_reproduce(PROBLEM, dir, &o, &text);
  meter_end();
  if (status != DKHO_OK) return failed();
  if ((s = predict(dir, o.threads)) != EXIT_DONE || shared.json) {
    if (s == EXIT_DONE) print_json(text);
    return s;
  }
  json_t *problems = json_loads(text, 0, NULL);
  dkho_text_free(text);
  print_results(problems);
  json_decref(problems);
  printf("\n4. what was made\n   %s/figures/" PROBLEM "-fields.png\n   %s/figures/" PROBLEM
         "-training.png\n   %s/figures/" PROBLEM "-parameters.png\n   %s/figures/" PROBLEM
         "-phase.png\n   %s/prediction-*.vtu (ParaView)\n   %s/table.md\n",
         dir, dir, dir, dir, dir, dir);
  return EXIT_DONE;
}
