/* view.c: `dkho view`: a page to turn, cut and probe in a browser. */
#include "cli.h"

#include <stdio.h>
#include <sys/stat.h>

static int run_view(int argc, char **argv);
const verb verb_view = {
    "view",
    "one HTML page to turn, cut and probe a mesh, data or predictions",
    "FILE|RUN|MODEL -o PAGE.html",
    "Writes one HTML file that any browser with WebGL 2 opens; it needs no network and no other file. A mesh is shown with its\n"
    "harmonic fields and labels, a data set with some of its samples, a run with reference, prediction and error side by side\n"
    "(also a model file, with --data). The sample of median error comes first, then the best, the worst and others between.\n\n"
    "  dkho view part.msh -o part.html\n"
    "  dkho view runs/flux -o flux.html\n"
    "  dkho view models/darcy_q.st --data darcy.st --samples 3 -o flux.html",
    run_view,
};

static int run_view(int argc, char **argv) {
  const char *out = NULL;
  dkho_view_options o = {0};
  int64_t samples = 0;
  const opt opts[] = {
      {"-o", OPT_TEXT, &out, "PAGE", "the page to write (required)"},
      {"--data", OPT_TEXT, &o.data, "FILE", "data set for a run or model (a run remembers its own)"},
      {"--split", OPT_TEXT, &o.split, "S", "train, val or test (default)"},
      {"--samples", OPT_INT, &samples, "N", "at most N samples (default: up to 9, as fit into about 8 MB)"},
      {0},
  };
  common shared;
  char **args;
  int nargs, s = parse(&verb_view, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs != 1 || !out) return misuse(&verb_view, "expected one file or run, and -o PAGE");
  if ((s = whole(&verb_view, "--samples", samples, 1000, &o.samples))) return s;
  o.threads = (int)shared.threads;
  o.force = shared.force;
  if (dkho_view(args[0], out, &o) != DKHO_OK) return failed();
  struct stat st;
  double size = stat(out, &st) == 0 ? (double)st.st_size : 0;
  if (shared.json)
    printf("{\"bytes\": %.0f}\n", size);
  else
    printf("%s: %.1f MB; open it in a browser\n", out, size / 1e6);
  return EXIT_DONE;
}
