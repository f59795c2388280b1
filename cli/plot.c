/* plot.c: `dkho plot`: figures of meshes, data and runs. */
#include "cli.h"

#include <stdio.h>

static int run_plot(int argc, char **argv);
const verb verb_plot = {
    "plot",
    "figures of a mesh, data or trained runs",
    "MESH… | DATA | RUN|MODEL… -o DIR",
    "Draws figures into DIR. Of mesh files: the meshes. Of a data set: its mesh, and for every target the sample of median\n"
    "size. Of runs (or model files, with --data): training and validation errors by epoch, validation error by minutes of\n"
    "training, the error of every test sample, and input, reference, prediction and error of the median, best and worst sample. Several runs of one target are also\n"
    "drawn side by side.\n\n"
    "  dkho plot darcy.st -o figures\n"
    "  dkho plot runs/flux -o figures --format png,pdf\n"
    "  dkho plot runs/small runs/large -o figures",
    run_plot,
};

static int print_written(char *text, int as_json) {
  if (as_json) {
    print_json(text);
    return EXIT_DONE;
  }
  json_t *list = json_loads(text, 0, NULL), *path;
  size_t i;
  dkho_text_free(text);
  json_array_foreach(list, i, path) puts(json_string_value(path));
  json_decref(list);
  return EXIT_DONE;
}

static int run_plot(int argc, char **argv) {
  const char *out = NULL;
  dkho_plot_options o = {0};
  const opt opts[] = {
      {"-o", OPT_TEXT, &out, "DIR", "where the figures go (needed)"},
      {"--data", OPT_TEXT, &o.data, "FILE", "data set for runs or models (a run remembers its own)"},
      {"--split", OPT_TEXT, &o.split, "S", "train, val or test (default)"},
      {"--format", OPT_TEXT, &o.format, "F", "png (default), svg, pdf, or several with commas"},
      {0},
  };
  common shared;
  char **args, *text = NULL;
  int nargs, s = parse(&verb_plot, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs < 1 || !out) return misuse(&verb_plot, "expected files or runs, and -o DIR");
  o.threads = (int)shared.threads;
  o.force = shared.force;
  if (dkho_plot(nargs, (const char *const *)args, out, &o, &text) != DKHO_OK) return failed();
  meter_end();
  return print_written(text, shared.json);
}
