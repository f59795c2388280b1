/* pack.c: `dkho pack` and `dkho check`: small model files, and whether they still do what they say. */
#include "cli.h"

#include <stdio.h>

static int run_pack(int argc, char **argv);
static int run_check(int argc, char **argv);
const verb verb_pack = {
    "pack",
    "pack a finished run into a small model file with a card",
    "RUN -o NAME.st [--data FILE] [--table]",
    "Writes the selected model of a run on benchmark data without its mesh, which is regenerated when the file is\n"
    "loaded, and NAME.json, its card (data, configuration, metrics, baselines, hash). With --table also README.md, with one\n"
    "row per card in the folder; a README.md that dkho did not write is kept.\n\n"
    "  dkho pack runs/flux -o models/flux.st\n"
    "  dkho predict models/flux.st --data darcy.st -o fields.st",
    run_pack,
};
const verb verb_check = {
    "check",
    "verify that packed models still predict what their cards say",
    "NAME.st…",
    "Regenerates a few test samples of each model, predicts them, and compares the errors and the file with the card.\n\n"
    "  dkho check models/*.st",
    run_check,
};

static int run_pack(int argc, char **argv) {
  const char *data = NULL, *out = NULL;
  int table = 0;
  const opt opts[] = {
      {"-o", OPT_TEXT, &out, "NAME.st", "the file to write (required)"},
      {"--data", OPT_TEXT, &data, "FILE", "the data set (default: the run's own path)"},
      {"--table", OPT_FLAG, &table, NULL, "README.md too: a table of all cards in the folder"},
      {0},
  };
  common shared;
  char **args, *card = NULL;
  int nargs, s = parse(&verb_pack, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1 || !out) return misuse(&verb_pack, "expected one run and -o NAME.st");
  dkho_status status = dkho_model_pack(args[0], data, out, shared.force, (int)shared.threads, &card);
  meter_end();
  if (status == DKHO_OK && table) status = dkho_model_table(out);
  if (status != DKHO_OK) {
    dkho_text_free(card);
    return failed();
  }
  if (shared.json) {
    print_json(card);
    return EXIT_DONE;
  }
  json_t *j = json_loads(card, 0, NULL), *file = json_object_get(j, "file");
  dkho_text_free(card);
  printf("%s: %s bytes, hash %s\n", out, grouped((int64_t)json_integer_value(json_object_get(file, "bytes"))),
         json_text(file, "hash"));
  json_decref(j);
  return EXIT_DONE;
}

static void print_check(const char *name, char *json) {
  json_t *j = json_loads(json, 0, NULL), *v;
  dkho_text_free(json);
  printf("%s: RelL2", name);
  size_t i;
  json_array_foreach(json_object_get(j, "found"), i, v) printf(" %.6f", json_number_value(v));
  puts(" as its card says");
  json_decref(j);
}

static int run_check(int argc, char **argv) {
  const opt opts[] = {{0}};
  common shared;
  char **args, *text;
  int nargs, s = parse(&verb_check, opts, &shared, argc, argv, &args, &nargs), worst = EXIT_DONE;
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs < 1) return misuse(&verb_check, "expected one or more packed models");
  for (int i = 0; i < nargs; i++) {
    dkho_status status = dkho_model_check(args[i], (int)shared.threads, &text);
    meter_end();
    if (status != DKHO_OK)
      worst = failed();
    else if (shared.json)
      print_json(text);
    else
      print_check(args[i], text);
  }
  return worst;
}
