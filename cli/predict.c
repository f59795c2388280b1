/* predict.c: `dkho predict`: fields out of a trained operator. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);
const verb verb_predict = {
    "predict",
    "predict fields with a trained operator, into a container or for ParaView",
    "RUN|MODEL --data FILE -o OUT",
    "Predicts the samples of a data set on the model's complex. OUT ending in .vtu gives one file per sample (prediction,\n"
    "reference, difference); any other name one container with the tensor 'prediction'.\n\n"
    "  dkho predict runs/flux --data darcy.st -o flux.st\n"
    "  dkho predict runs/flux --data darcy.st --split test --limit 3 -o flux.vtu",
    run,
};

static int run(int argc, char **argv) {
  const char *data = NULL, *out = NULL, *split = NULL;
  int64_t limit = 0;
  const opt opts[] = {
      {"--data", OPT_TEXT, &data, "FILE", "data set with the inputs (required)"},
      {"-o", OPT_TEXT, &out, "OUT", "the file to write (required)"},
      {"--split", OPT_TEXT, &split, "S", "train, val or test (default: all samples)"},
      {"--limit", OPT_INT, &limit, "N", "at most N samples (default for .vtu: 4)"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_predict, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1 || !data || !out) return misuse(&verb_predict, "expected a run or model, --data FILE and -o OUT");
  int vtu = strlen(out) > 4 && strcmp(out + strlen(out) - 4, ".vtu") == 0;
  if (vtu && limit == 0) limit = 4;
  dkho_model *m = NULL;
  if (dkho_model_load(&m, args[0]) != DKHO_OK) return failed();
  s = dkho_predict_file(m, data, split, out, shared.force, (int)shared.threads, limit) == DKHO_OK ? EXIT_DONE
                                                                                                  : failed();
  dkho_field_info target;
  if (s == EXIT_DONE && dkho_model_output(m, &target) == DKHO_OK) {
    int stem = (int)strlen(out) - 4 * vtu;
    const char *ending = vtu ? "-SAMPLE.vtu" : "";
    if (shared.json) {
      json_t *j = json_pack("{s:s, s:o}", "target", target.name, "out", json_sprintf("%.*s%s", stem, out, ending));
      json_dumpf(j, stdout, 0);
      putchar('\n');
      json_decref(j);
    } else
      printf("%.*s%s: predictions of %s (degree %d)\n", stem, out, ending, target.name, target.degree);
  }
  dkho_model_free(m);
  return s;
}
