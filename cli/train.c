/* train.c: `dkho train`: train an operator on a data set, or go on with a run. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);
const verb verb_train = {
    "train",
    "train an operator on a data set; interrupt and resume freely",
    "--data FILE --target K -o RUN | --resume RUN",
    "Trains the Dynamic Kuramoto-Hodge Operator for one target of a data set, with the settings the data set recommends\n"
    "(the paper's, for its benchmarks). RUN becomes a directory with config.json, metrics.csv, last.st (checkpoint), best.st\n"
    "(the selected model) and result.json. Ctrl-C writes a checkpoint and stops; --resume continues bit-identically.\n\n"
    "  dkho train --data darcy.st --target 1 --size small -o runs/flux\n"
    "  dkho train --resume runs/flux\n"
    "  dkho train --data torus.st --target 0 --variant no_phase --epochs 50 -o runs/ablation",
    run,
};

static int report(const char *dir, int as_json) {
  char *text;
  if (dkho_describe(dir, &text) != DKHO_OK) return failed();
  if (as_json)
    print_json(text);
  else
    print_description(dir, text);
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  dkho_train_options o;
  dkho_train_defaults(&o);
  const char *data = NULL, *out = NULL, *resume = NULL, *model = "dkho";
  int64_t h = 0, c = 0, layers = 0, substeps = 0, epochs = 0, batch = 0, warmup = 0, modes = o.modes;
  const opt opts[] = {
      {"--data", OPT_TEXT, &data, "FILE", "the data set"},
      {"--target", OPT_TEXT, &o.target, "K", "degree or name of the target (default: the first)"},
      {"-o", OPT_TEXT, &out, "RUN", "directory of the new run"},
      {"--resume", OPT_TEXT, &resume, "RUN", "continue a run with its own settings"},
      {"--model", OPT_TEXT, &model, "M", "dkho"},
      {"--size", OPT_TEXT, &o.size, "S", "small (h 32, c 2; default) or large (h 64, c 4)"},
      {"--variant", OPT_TEXT, &o.variant, "V", "full (default), no_dirac, no_phase, no_harmonic"},
      {"--profile", OPT_TEXT, &o.profile, "P", "native, boundary, spectral, diffusion_spectral, conditioned (default)"},
      {"--metric", OPT_TEXT, &o.metric, "M", "unit (default) or hodge"},
      {"--start", OPT_TEXT, &o.start, "S", "zero (default), deterministic, random_learnable"},
      {"--epochs", OPT_INT, &epochs, "N", "passes over the training samples"},
      {"--batch", OPT_INT, &batch, "N", "samples per step (default: the recipe's; a quarter of it for muon)"},
      {"--lr", OPT_REAL, &o.lr, "X",
       "peak learning rate (default: the recipe's for adamw, 10 times it for muon, 6 for soap)"},
      {"--weight-decay", OPT_REAL, &o.weight_decay, "X", "decoupled decay"},
      {"--clip", OPT_REAL, &o.clip, "X", "maximum gradient norm (default 1; 0: no clipping)"},
      {"--warmup", OPT_INT, &warmup, "N", "steps of linear warm-up (default 0)"},
      {"--optimizer", OPT_TEXT, &o.optimizer, "O", "muon (default), adamw (the paper's), soap"},
      {"--schedule", OPT_TEXT, &o.schedule, "S",
       "of the learning rate: cosine (default, by epochs), cosine_step, linear, constant"},
      {"--ema", OPT_REAL, &o.ema, "X", "decay of a running average of the weights (default 0: none)"},
      {"--train-samples", OPT_INT, &o.train_samples, "N", "use the first N training samples only"},
      {"--h", OPT_INT, &h, "N", "content width"},
      {"--c", OPT_INT, &c, "N", "relation width"},
      {"--layers", OPT_INT, &layers, "N", "layers"},
      {"--substeps", OPT_INT, &substeps, "N", "relation substeps per layer"},
      {"--modes", OPT_INT, &modes, "N", "columns of the spectral encodings"},
      {"--tau-range", OPT_REAL, &o.tau_range, "X", "latent step 0.02 + X sigmoid(t)"},
      {"--lag-scale", OPT_REAL, &o.lag_scale, "X", "phase lag X tanh(.) (default 1)"},
      {"--skip-nonfinite", OPT_FLAG, &o.skip_nonfinite, NULL, "skip a non-finite step instead of stopping"},
      {"--checkpoint-seconds", OPT_REAL, &o.checkpoint_seconds, "X",
       "time between checkpoints within an epoch (default 60)"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_train, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs) return misuse(&verb_train, "unexpected argument '%s'", args[0]);
  if (strcmp(model, "dkho") != 0) return misuse(&verb_train, "--model: found '%s', there is dkho", model);
  if (resume ? out != NULL : !data || !out)
    return misuse(&verb_train, "expected --data FILE and -o RUN, or --resume RUN");
  static const char *const resumes[] = {"--resume", "--data", "--checkpoint-seconds", NULL};
  if (resume && (s = only(&verb_train, opts, &shared, "a run that is resumed keeps its own settings", resumes)))
    return s;
  if ((s = whole(&verb_train, "--h", h, 4096, &o.h)) || (s = whole(&verb_train, "--c", c, 4096, &o.c)) ||
      (s = whole(&verb_train, "--layers", layers, 16, &o.layers)) ||
      (s = whole(&verb_train, "--substeps", substeps, 16, &o.substeps)) ||
      (s = whole(&verb_train, "--epochs", epochs, 1000000, &o.epochs)) ||
      (s = whole(&verb_train, "--batch", batch, 65536, &o.batch)) ||
      (s = whole(&verb_train, "--warmup", warmup, INT32_MAX, &o.warmup)) ||
      (modes >= 0 && (s = whole(&verb_train, "--modes", modes, 4096, &o.modes))))
    return s;
  o.seed = (uint64_t)shared.seed;
  o.threads = (int)shared.threads;
  o.stop = stop_asked;
  stop_watch();
  dkho_status status = resume ? dkho_train_resume(resume, data, &o) : dkho_train(data, out, &o);
  meter_end();
  if (status != DKHO_OK) {
    failed();
    if (status == DKHO_E_STOPPED) fprintf(stderr, "dkho: to continue: dkho train --resume %s\n", resume ? resume : out);
    return EXIT_FAILED;
  }
  return report(resume ? resume : out, shared.json);
}
