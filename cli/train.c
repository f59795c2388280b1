/* train.c: `dkho train`: train an operator on a data set, or continue a run. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_train(int argc, char **argv);
const verb verb_train = {
    "train",
    "train an operator on a data set; interrupt and resume freely",
    "--data FILE --target K -o RUN | --resume RUN",
    "Trains a model (default: the Dynamic Kuramoto-Hodge Operator) for one target of a data set, with the settings the data\n"
    "set recommends (the paper's, for its benchmarks). RUN becomes a directory with config.json, metrics.csv, last.st (checkpoint), best.st\n"
    "(the selected model) and result.json. Ctrl-C and SIGTERM write a checkpoint and stop (the latter with exit status 75);\n"
    "--resume continues bit-identically. Under mpirun or srun the ranks share the samples of every batch, to the same bits;\n"
    "with --parts P, P ranks also share the mesh of each sample, for meshes that are too large for one (dkho and dkho-x).\n\n"
    "  dkho train --data darcy.st --target 1 --size small -o runs/flux\n"
    "  dkho train --resume runs/flux\n"
    "  dkho train --from runs/coarse --data fine.st --target 1 --epochs 4 -o runs/fine\n"
    "  mpirun -n 8 dkho train --data darcy.st --target 1 --threads 1 -o runs/eight\n"
    "  dkho train --data torus.st --target 0 --variant no_phase --epochs 50 -o runs/ablation",
    run_train,
};

static int report_result(const char *dir, int as_json) {
  char *text;
  if (dkho_describe(dir, &text) != DKHO_OK) return failed();
  if (as_json)
    print_json(text);
  else
    print_description(dir, text);
  return EXIT_DONE;
}

/* A short form as the assignment it stands for. */
static int add_option(opt_list *set, const char *key, const char *value, char text[80]) {
  if (set->count + 1 >= REPEAT_MAX) return misuse(&verb_train, "too many options of the model");
  snprintf(text, 80, "%s=%.60s", key, value);
  set->item[set->count++] = text;
  return EXIT_DONE;
}

static int run_train(int argc, char **argv) {
  dkho_train_options o;
  dkho_train_defaults(&o);
  const char *data = NULL, *out = NULL, *resume = NULL, *parts = NULL;
  const char *h = NULL, *c = NULL, *layers = NULL, *substeps = NULL, *tau_range = NULL, *lag_scale = NULL,
             *start = NULL;
  opt_list set = {0};
  int64_t epochs = 0, batch = 0, warmup = 0, modes = o.modes;
  const opt opts[] = {
      {"--data", OPT_TEXT, &data, "FILE", "the data set"},
      {"--target", OPT_TEXT, &o.target, "K", "degree or name of the target (default: the first)"},
      {"-o", OPT_TEXT, &out, "RUN", "directory of the new run"},
      {"--resume", OPT_TEXT, &resume, "RUN", "continue a run with its own settings"},
      {"--from", OPT_TEXT, &o.from_model, "MODEL|RUN",
       "begin with the weights of a trained model, on any mesh or data; its network is taken over too"},
      {"--model", OPT_TEXT, &o.model, "M",
       "dkho (default), dkho-x (default for imported data); `dkho models` lists the others"},
      {"--set", OPT_REPEAT, &set, "KEY=VALUE", "an option of the model; may be given several times"},
      {"--size", OPT_TEXT, &o.size, "S", "small (default) or large: a named setting of the model's options"},
      {"--variant", OPT_TEXT, &o.variant, "V",
       "short for --set variant=V: full (default), no_dirac, no_phase, no_harmonic"},
      {"--profile", OPT_TEXT, &o.profile, "P", "native, boundary, spectral, diffusion_spectral, conditioned (default)"},
      {"--metric", OPT_TEXT, &o.metric, "M", "unit (default) or hodge"},
      {"--start", OPT_TEXT, &start, "S", "short for --set start=S"},
      {"--epochs", OPT_INT, &epochs, "N", "passes over the training samples (default: the data set's recipe)"},
      {"--minutes", OPT_REAL, &o.minutes, "X", "as many epochs as fit into X minutes (default for imported data: 10)"},
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
      {"--h", OPT_TEXT, &h, "N", "short for --set h=N, content width"},
      {"--c", OPT_TEXT, &c, "N", "short for --set c=N, relation width"},
      {"--layers", OPT_TEXT, &layers, "N", "short for --set layers=N"},
      {"--substeps", OPT_TEXT, &substeps, "N", "short for --set substeps=N"},
      {"--modes", OPT_INT, &modes, "N", "columns of the spectral encodings"},
      {"--tau-range", OPT_TEXT, &tau_range, "X", "short for --set tau_range=X"},
      {"--lag-scale", OPT_TEXT, &lag_scale, "X", "short for --set lag_scale=X"},
      {"--skip-nonfinite", OPT_FLAG, &o.skip_nonfinite, NULL, "skip a non-finite step instead of stopping"},
      {"--tensorboard", OPT_FLAG, &o.tensorboard, NULL, "also write a TensorBoard event file into the run"},
      {"--parts", OPT_TEXT, &parts, "P",
       "ranks that share one mesh, a divisor of their number (default 1, or DKHO_PARTS)"},
      {"--checkpoint-seconds", OPT_REAL, &o.checkpoint_seconds, "X",
       "time between checkpoints within an epoch (default 60)"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_train, opts, &shared, argc, argv, &args, &nargs);
  if (shared.help) return shared.help == HELP_TEXT ? print_models(NULL, 0) : EXIT_DONE;
  if (s != EXIT_DONE) return s;
  if (nargs) return misuse(&verb_train, "unexpected argument '%s'", args[0]);
  if (resume ? out != NULL : !data || !out)
    return misuse(&verb_train, "expected --data FILE and -o RUN, or --resume RUN");
  static const char *const resumes[] = {"--resume", "--data", "--parts", "--checkpoint-seconds", NULL};
  if (resume && (s = only(&verb_train, opts, &shared, "a run that is resumed keeps its own settings", resumes)))
    return s;
  const char *const key[] = {"h", "c", "layers", "substeps", "tau_range", "lag_scale", "start"};
  const char *const value[] = {h, c, layers, substeps, tau_range, lag_scale, start};
  char text[7][80];
  for (int i = 0; i < 7; i++)
    if (value[i] && (s = add_option(&set, key[i], value[i], text[i]))) return s;
  o.options = set.item;
  if ((s = whole(&verb_train, "--epochs", epochs, 1000000, &o.epochs)) ||
      (s = whole(&verb_train, "--batch", batch, 65536, &o.batch)) ||
      (s = whole(&verb_train, "--warmup", warmup, INT32_MAX, &o.warmup)) ||
      (modes >= 0 && (s = whole(&verb_train, "--modes", modes, 4096, &o.modes))))
    return s;
  if (parts) setenv("DKHO_PARTS", parts, 1);
  o.seed = (uint64_t)shared.seed;
  o.threads = (int)shared.threads;
  o.stop = stop_asked;
  stop_watch();
  dkho_status status = resume ? dkho_train_resume(resume, data, &o) : dkho_train(data, out, &o);
  meter_end();
  if (status != DKHO_OK) {
    failed();
    if (status != DKHO_E_STOPPED) return EXIT_FAILED;
    if (dkho_rank() == 0) fprintf(stderr, "dkho: to continue: dkho train --resume %s\n", resume ? resume : out);
    return stop_by_scheduler() ? EXIT_LATER : EXIT_FAILED;
  }
  return dkho_rank() ? EXIT_DONE : report_result(resume ? resume : out, shared.json);
}
