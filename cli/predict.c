/* predict.c: `dkho predict`: fields out of a trained operator. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_predict(int argc, char **argv);
const verb verb_predict = {
    "predict",
    "predict fields with a trained operator, into a container or for ParaView",
    "RUN|MODEL --input NAME=FILE.npy … -o OUT | RUN|MODEL --data FILE -o OUT",
    "Predicts new inputs, given as NumPy arrays by name: one sample (rows × channels) or many (samples × rows × channels).\n"
    "`dkho info MODEL` lists the names and shapes. The ending of OUT decides what is written: .npy, .csv, .st (container) or\n"
    ".vtu (one file per sample). With --data it predicts the samples of a data set on the model's complex instead; for\n"
    "ParaView .pvd then gives a series of samples (prediction, reference, difference), each a .vtm with vertices, edges, faces\n"
    "and cells as blocks; .vtm gives these alone, .vtu one grid per sample. With --parts P the P ranks of an MPI job share the mesh of\n"
    "each sample, to the same bits, for meshes that are too large for one (dkho and dkho-x).\n\n"
    "  dkho predict runs/flux --input f=f.npy --input g=g.npy -o q.npy\n"
    "  dkho predict runs/flux --input conditions.npz -o q.vtu\n"
    "  dkho predict runs/flux --data darcy.st --split test --limit 3 -o flux.pvd\n"
    "  mpirun -n 4 dkho predict runs/flux --parts 4 --threads 1 --data darcy.st -o flux.st",
    run_predict,
};

/* Says what was written. */
static void report_prediction(const dkho_model *m, const char *out, const char *ending, int64_t samples, int as_json) {
  dkho_field_info target;
  if (dkho_model_output(m, &target) != DKHO_OK) return;
  int stem = (int)(strlen(out) - (*ending ? 4 : 0));
  if (as_json) {
    json_t *j = json_pack("{s:s, s:o}", "target", target.name, "out", json_sprintf("%.*s%s", stem, out, ending));
    if (samples) json_object_set_new(j, "samples", json_integer(samples));
    json_dumpf(j, stdout, 0);
    putchar('\n');
    json_decref(j);
  } else
    printf("%.*s%s: predictions of %s (degree %d)\n", stem, out, ending, target.name, target.degree);
}

static int ends_in(const char *path, const char *ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n > m && strcmp(path + n - m, ending) == 0;
}

static int run_predict(int argc, char **argv) {
  const char *data = NULL, *out = NULL, *split = NULL, *parts = getenv("DKHO_PARTS");
  opt_list inputs = {0};
  int64_t limit = 0, samples = 0;
  const opt opts[] = {
      {"--input", OPT_REPEAT, &inputs, "NAME=FILE", "an input as .npy, or FILE.npz with arrays by name; repeatable"},
      {"--data", OPT_TEXT, &data, "FILE", "a data set whose samples are predicted instead"},
      {"-o", OPT_TEXT, &out, "OUT", "the file to write (required)"},
      {"--split", OPT_TEXT, &split, "S", "with --data: train, val or test (default: all samples)"},
      {"--limit", OPT_INT, &limit, "N", "with --data: at most N samples (default for ParaView: 4)"},
      {"--parts", OPT_TEXT, &parts, "P", "ranks that share one mesh, all there are (default 1, or DKHO_PARTS)"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_predict, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1 || !out || !data == !inputs.count)
    return misuse(&verb_predict, "expected a run or model, -o OUT, and either --input or --data");
  static const char *const with_input[] = {"--input", "-o", "--parts", NULL};
  if (inputs.count && (s = only(&verb_predict, opts, &shared, "belongs to --data", with_input))) return s;
  if (inputs.count == REPEAT_MAX) return misuse(&verb_predict, "more than %d inputs", REPEAT_MAX - 1);
  int each = ends_in(out, ".vtu") || ends_in(out, ".vtm"); /* a file per sample */
  if ((each || ends_in(out, ".pvd")) && limit == 0) limit = 4;
  int divided = parts && *parts && strcmp(parts, "1") != 0;
  if (divided) setenv("DKHO_PARTS", parts, 1);
  if (!divided && leave_ranks()) return EXIT_DONE; /* one process does it */
  dkho_model *m = NULL;
  if (dkho_model_load(&m, args[0]) != DKHO_OK) return failed();
  int threads = (int)shared.threads;
  dkho_status status = data ? dkho_predict_file(m, data, split, out, shared.force, threads, limit)
                            : dkho_predict_arrays(m, inputs.item, out, shared.force, threads, &samples);
  meter_end();
  s = status == DKHO_OK ? EXIT_DONE : failed();
  if (s == EXIT_DONE)
    report_prediction(m, out,
                      !each || samples == 1  ? ""
                      : ends_in(out, ".vtu") ? "-SAMPLE.vtu"
                                             : "-SAMPLE.vtm",
                      samples, shared.json);
  dkho_model_free(m);
  return s;
}
