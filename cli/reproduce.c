/* reproduce.c: `dkho reproduce`: the paper's tables with our figures beside them. */
#include "cli.h"

#include <stdio.h>

static int run(int argc, char **argv);
const verb verb_reproduce = {
    "reproduce",
    "the paper's tables and figures, our numbers beside the printed ones",
    "darcy|torus|cavity|all --budget smoke|quick|paper -o DIR",
    "Makes the data, trains DKHO for every target (--ablations: its variants too), judges, compares with trivial\n"
    "predictors, linear regression and the classical solver, looks at the phase, and writes table.md, table.csv, result.json\n"
    "and figures/ in DIR. Says how long it will take before it trains. Stop it at any time: the same command goes on.\n"
    "Budgets: smoke (a minute, coarse mesh), quick (tens of minutes, a part of the samples and epochs), paper (all of\n"
    "them, small and large models). heat and reaction, which the paper does not have, work too.\n\n"
    "  dkho reproduce darcy --budget quick -o quick\n"
    "  dkho reproduce torus --budget smoke --target u --ablations -o trial",
    run,
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

static int run(int argc, char **argv) {
  dkho_reproduce_options o = {.budget = "quick"};
  const char *out = NULL;
  int64_t epochs = 0, batch = 0, warmup = 0;
  const opt opts[] = {
      {"--budget", OPT_TEXT, &o.budget, "B", "smoke, quick (default) or paper"},
      {"-o", OPT_TEXT, &out, "DIR", "folder of everything that is made"},
      {"--target", OPT_TEXT, &o.target, "T", "only this target"},
      {"--size", OPT_TEXT, &o.size, "S", "small, large or both (default: small; both for paper)"},
      {"--ablations", OPT_FLAG, &o.ablations, NULL, "the variants without one component too, with equal budgets"},
      {"--figures", OPT_TEXT, &o.figures, "LIST", "only these figures, names with commas between (default: all)"},
      {"--samples", OPT_INT, &o.samples, "N", "samples in all (default: the budget's)"},
      {"--epochs", OPT_INT, &epochs, "N", "passes over the training samples (default: the budget's)"},
      {"--batch", OPT_INT, &batch, "N", "samples per step (default: the budget's, or as in dkho train)"},
      {"--optimizer", OPT_TEXT, &o.optimizer, "O", "adamw (default, the paper's), muon, soap"},
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
  if (nargs != 1 || !out) return misuse(&verb_reproduce, "give one problem (or all) and -o DIR");
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
  if (status == DKHO_E_STOPPED) fputs("dkho: the same command goes on from here\n", stderr);
  return EXIT_FAILED;
}
