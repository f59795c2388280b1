/* reproduce.c: `dkho reproduce`: the paper's tables, with our numbers next to the published ones. */
#include "cli.h"

#include <stdio.h>

static int run_reproduce(int argc, char **argv);
const verb verb_reproduce = {
    "reproduce",
    "regenerate the paper's tables and figures, next to the published numbers",
    "darcy|torus|cavity|all --budget smoke|quick|paper -o DIR",
    "Generates the data, trains DKHO for every target (--ablations: its variants too), evaluates it, compares it with\n"
    "trivial predictors, linear regression and the classical solver, runs the phase diagnostic, and writes table.md,\n"
    "table.csv, result.json and figures/ in DIR. Prints an estimate of the time before training. Stop it at any time: the\n"
    "same command continues.\n"
    "Budgets: smoke (a minute, coarse mesh), quick (tens of minutes, a part of the samples and epochs), paper (all of\n"
    "them, small and large models). Problems that are not in the paper work too. --models trains others beside DKHO,\n"
    "with equal samples, epochs and batches; the paper's N and F are --inputs native and matched.\n"
    "The optimiser is the paper's (AdamW), so that the numbers can be compared; dkho train uses Muon, which learns faster.\n\n"
    "  dkho reproduce darcy --budget quick -o quick\n"
    "  dkho reproduce torus --budget smoke --target u --ablations -o trial\n"
    "  dkho reproduce darcy --models all --inputs both -o compared",
    run_reproduce,
};

static int print_done(const char *dir, char *text, int as_json) {
  if (as_json) {
    print_json(text);
    return EXIT_DONE;
  }
  dkho_text_free(text);
  printf("%s/table.md  table.csv  result.json  figures/\n", dir);
  return EXIT_DONE;
}

static int run_reproduce(int argc, char **argv) {
  dkho_reproduce_options o = {.budget = "quick"};
  const char *out = NULL;
  int64_t epochs = 0, batch = 0, warmup = 0;
  const opt opts[] = {
      {"--budget", OPT_TEXT, &o.budget, "B", "smoke, quick (default) or paper"},
      {"-o", OPT_TEXT, &out, "DIR", "output directory"},
      {"--target", OPT_TEXT, &o.target, "T", "only this target"},
      {"--size", OPT_TEXT, &o.size, "S", "small, large or both (default: small; both for paper)"},
      {"--models", OPT_TEXT, &o.models, "LIST", "names of dkho models with commas between, or all (default: dkho)"},
      {"--inputs", OPT_TEXT, &o.inputs, "I",
       "of the other models: native (default), matched (DKHO's descriptors), both"},
      {"--sample", OPT_TEXT, &o.sample, "S", "in figures of fields: median (default), best, worst, or a number"},
      {"--ablations", OPT_FLAG, &o.ablations, NULL, "also train the ablations, with equal budgets"},
      {"--figures", OPT_TEXT, &o.figures, "LIST", "only these figures, comma-separated (default: all)"},
      {"--samples", OPT_INT, &o.samples, "N", "total number of samples (default: the budget's)"},
      {"--epochs", OPT_INT, &epochs, "N", "passes over the training samples (default: the budget's)"},
      {"--batch", OPT_INT, &batch, "N", "samples per step (default: the budget's, or as in dkho train)"},
      {"--optimizer", OPT_TEXT, &o.optimizer, "O",
       "adamw (default, the paper's), muon, soap; with :RATE, and with MODEL= for one model, as muon,fno=adamw:4e-3"},
      {"--schedule", OPT_TEXT, &o.schedule, "S", "cosine (default, the paper's), cosine_step, linear, constant"},
      {"--lr", OPT_REAL, &o.lr, "X",
       "peak learning rate (default: the recipe's for adamw, 10 times it for muon, 6 for soap)"},
      {"--warmup", OPT_INT, &warmup, "N", "steps of linear warm-up (default 0)"},
      {0},
  };
  common shared;
  char **args, *text = NULL;
  int nargs, s = parse(&verb_reproduce, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1 || !out) return misuse(&verb_reproduce, "expected one problem (or all) and -o DIR");
  if ((s = whole(&verb_reproduce, "--epochs", epochs, 1000000, &o.epochs)) ||
      (s = whole(&verb_reproduce, "--batch", batch, 65536, &o.batch)) ||
      (s = whole(&verb_reproduce, "--warmup", warmup, INT32_MAX, &o.warmup)))
    return s;
  o.seed = (uint64_t)shared.seed, o.threads = (int)shared.threads, o.stop = stop_asked;
  stop_watch();
  dkho_status status = dkho_reproduce(args[0], out, &o, &text);
  meter_end();
  if (status == DKHO_OK) return print_done(out, text, shared.json);
  failed();
  if (status == DKHO_E_STOPPED) fputs("dkho: run the same command to continue\n", stderr);
  return EXIT_FAILED;
}
