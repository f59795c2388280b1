/* phase.c: `dkho phase`: where the relation of a model works. */
#include "cli.h"

#include <stdio.h>

static int run_phase(int argc, char **argv);
const verb verb_phase = {
    "phase",
    "compare where a model's relation state is active with where the field is large",
    "RUN|MODEL.st [--data FILE] [--q X] [--zero-diagonal] [--limit N]",
    "Runs the selected model over the test split, records the corrections that its layers apply to the relation state, and\n"
    "compares their size with the size of the reference field: overlap of the top fractions (Dice; lift = Dice / q),\n"
    "enrichment, rank correlation, and the same after a random permutation.\n\n"
    "  dkho phase runs/circulation\n"
    "  dkho phase runs/circulation --zero-diagonal --json",
    run_phase,
};

static void line(const json_t *population, const char *key, const char *title) {
  const json_t *v = json_object_get(population, key);
  if (json_is_array(v))
    printf("%-22s %8.3f ± %.3f\n", title, json_number_value(json_array_get(v, 0)),
           json_number_value(json_array_get(v, 1)));
  else
    printf("%-22s %8.3f\n", title, json_number_value(v));
}

static void print_phase(const json_t *found) {
  const json_t *all = json_object_get(found, "population"), *one;
  printf("score: %s\nsmoothed by %s, q = %g, %lld instances\n\n", json_text(found, "score"),
         json_text(found, "adjacency"), json_number_value(json_object_get(found, "q")),
         (long long)json_integer_value(json_object_get(found, "instances")));
  line(all, "rho", "Spearman rho");
  line(all, "dice", "Dice");
  line(all, "lift", "Lift");
  line(all, "enrichment", "Enrichment");
  line(all, "permuted_dice", "permuted Dice");
  line(all, "permuted_enrichment", "permuted enrichment");
  line(all, "above_chance", "share above chance");
  printf("\n%8s %8s %8s %11s %8s %8s\n", "sample", "Dice", "Lift", "Enrichment", "rho", "RelL2");
  size_t i;
  json_array_foreach(json_object_get(found, "cases"), i, one)
    printf("%8lld %8.3f %8.2f %11.2f %8.3f %8.4f\n", (long long)json_integer_value(json_object_get(one, "sample")),
           json_number_value(json_object_get(one, "dice")), json_number_value(json_object_get(one, "lift")),
           json_number_value(json_object_get(one, "enrichment")), json_number_value(json_object_get(one, "rho")),
           json_number_value(json_object_get(one, "rel_l2")));
}

static int run_phase(int argc, char **argv) {
  const char *data = NULL;
  dkho_phase_options o = {0};
  const opt opts[] = {
      {"--data", OPT_TEXT, &data, "FILE", "the data set (default: the run's own path; required for a model file)"},
      {"--q", OPT_REAL, &o.q, "X", "top fraction (default: the benchmark's)"},
      {"--zero-diagonal", OPT_FLAG, &o.zero_diagonal, NULL, "smooth over neighbours only"},
      {"--limit", OPT_INT, &o.limit, "N", "only the first N test samples"},
      {0},
  };
  common shared;
  char **args, *text;
  int nargs, s = parse(&verb_phase, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1) return misuse(&verb_phase, "expected one run, found %d", nargs);
  if (dkho_phase(args[0], data, (int)shared.threads, &o, &text) != DKHO_OK) return failed();
  meter_end();
  if (shared.json)
    print_json(text);
  else {
    json_t *found = json_loads(text, 0, NULL);
    dkho_text_free(text);
    print_phase(found);
    json_decref(found);
  }
  return EXIT_DONE;
}
