/* data.c: `dkho data`: make a benchmark's data set, or import one. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int run_data(int argc, char **argv);
const verb verb_data = {
    "data",
    "generate the data set of a benchmark, or import your own mesh and arrays",
    "darcy|torus|cavity|heat|reaction|lamination|ironloss|wells|flow|waves|elasticity|maxwell|magnetostatics|hts|subsonic -o OUT | import SPEC.json -o OUT | check SPEC.json|DATA",
    "Writes one container with the complex, all samples, splits, scaling and input descriptors. A sample depends only on\n"
    "the seed and its number, not on the number of samples or threads.\n\n"
    "  dkho data darcy -o darcy.st                             the paper's 5000 samples\n"
    "  dkho data torus --samples 100 --resolution smoke -o t.st\n"
    "  dkho data import plate.json -o plate.st                 docs/FORMATS.md has the specification\n"
    "  dkho data check plate.json                              everything that is wrong with it, leaks between splits too",
    run_data,
};

/* One line for every finding; exit status 1 when there is an error. */
static int check_data(const char *path, const common *shared) {
  char *text;
  size_t i;
  json_t *line;
  if (dkho_dataset_check(path, &text) != DKHO_OK) return failed();
  json_t *found = json_loads(text, 0, NULL), *errors = json_object_get(found, "errors"),
         *warnings = json_object_get(found, "warnings");
  int wrong = json_array_size(errors) > 0;
  if (shared->json) {
    print_json(text);
  } else {
    dkho_text_free(text);
    json_array_foreach(errors, i, line) printf("error: %s\n", json_string_value(line));
    json_array_foreach(warnings, i, line) printf("warning: %s\n", json_string_value(line));
    printf("%s: %s samples, %zu error%s, %zu warning%s\n", path,
           grouped((int64_t)json_integer_value(json_object_get(found, "samples"))), json_array_size(errors),
           json_array_size(errors) == 1 ? "" : "s", json_array_size(warnings),
           json_array_size(warnings) == 1 ? "" : "s");
  }
  json_decref(found);
  return wrong ? EXIT_FAILED : EXIT_DONE;
}

static int run_data(int argc, char **argv) {
  const char *out = NULL;
  dkho_generate_options o = {.resolution = "main"};
  int64_t samples = INT64_MIN; /* not given */
  const opt opts[] = {
      {"-o", OPT_TEXT, &out, "OUT", "the file to write (required)"},
      {"--samples", OPT_INT, &samples, "N", "number of samples (default: the benchmark's own)"},
      {"--resolution", OPT_TEXT, &o.resolution, "R",
       "smoke or main (default); nonlinear problems also coarse, medium, fine"},
      {"--coarse", OPT_TEXT, &o.coarse, "R", "also solve on this coarser mesh: its solution becomes an input"},
      {"--law", OPT_TEXT, &o.law, "NAME",
       "of lamination and ironloss: the iron's curve, froehlich (default) or brauer"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_data, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  int import = nargs > 0 && strcmp(args[0], "import") == 0;
  static const char *const nothing[] = {NULL};
  if (nargs > 0 && strcmp(args[0], "check") == 0) {
    if (nargs != 2) return misuse(&verb_data, "check needs one specification or data set");
    s = only(&verb_data, opts, &shared, "not with check, which writes nothing", nothing);
    return s || dkho_rank() ? s : check_data(args[1], &shared);
  }
  if (nargs != 1 + import)
    return misuse(&verb_data, import ? "import needs one specification" : "expected one benchmark");
  static const char *const imports[] = {"-o", NULL};
  if (import && (s = only(&verb_data, opts, &shared, "not with import, whose specification decides", imports)))
    return s;
  if (!out) return misuse(&verb_data, "-o OUT is missing");
  if ((s = check_ending(&verb_data, out, ".st .safetensors"))) return s;
  if (samples != INT64_MIN && samples < 3)
    return misuse(&verb_data, "--samples: found %lld, expected at least 3", (long long)samples);
  o.samples = samples == INT64_MIN ? 0 : samples;
  o.seed = (uint64_t)shared.seed;
  o.threads = (int)shared.threads;
  o.force = shared.force;
  if (import && dkho_rank()) return EXIT_DONE; /* one rank reads and writes */
  if ((import ? dkho_dataset_import(args[1], out, shared.force) : dkho_dataset_generate(args[0], out, &o)) != DKHO_OK)
    return failed();
  if (dkho_rank() || (shared.quiet && !shared.json)) return EXIT_DONE;
  char *text;
  if (dkho_describe(out, &text) != DKHO_OK) return failed();
  if (shared.json)
    print_json(text);
  else
    print_description(out, text);
  return EXIT_DONE;
}
