/* bench.c: `dkho bench`. */
#include "cli.h"

#include <stdio.h>

static int run(int argc, char **argv);
const verb verb_bench = {
    "bench",
    "how fast this machine trains and predicts, as a share of its own peak",
    "[darcy|torus|cavity] [--size small|large]",
    "Measures training (batch 16) and prediction (batch 1 and 16) on the benchmark meshes with one thread and with "
    "all, and in the\n"
    "same run the rate of fused multiply-adds that the cores can do. The share counts the arithmetic that is needed, "
    "nothing\n"
    "recomputed. Times are medians; on a busy machine trust the ratios.\n\n"
    "  dkho bench\n"
    "  dkho bench darcy --size small --seconds 5 --json",
    run,
};

static void print_rows(const json_t *d) {
  size_t i;
  json_t *r;
  printf("kernels: %s\n%-7s %-6s %7s %10s %11s %11s %9s %9s %6s %9s\n", json_text(d, "isa"), "task", "size", "threads",
         "train ms", "predict 1", "predict 16", "GFLOP/s", "peak", "share", "memory MB");
  json_array_foreach(json_object_get(d, "rows"), i, r) {
    printf("%-7s %-6s %7lld %10.2f %11.2f %11.2f %9.1f %9.1f %5.1f%% %9.0f\n", json_text(r, "task"),
           json_text(r, "size"), (long long)json_integer_value(json_object_get(r, "threads")),
           json_number_value(json_object_get(r, "train_ms")), json_number_value(json_object_get(r, "predict1_ms")),
           json_number_value(json_object_get(r, "predict16_ms")), json_number_value(json_object_get(r, "train_gflops")),
           json_number_value(json_object_get(r, "peak_gflops")), 100 * json_number_value(json_object_get(r, "share")),
           1e-6 * (double)json_integer_value(json_object_get(r, "train_bytes")));
  }
}

/* One JSON object per line and task, with the most threads measured, for scripts that compare. */
static void print_lines(const json_t *d) {
  static const struct {
    const char *key, *task;
    int batch;
  } tasks[] = {{"train_ms", "train", 16}, {"predict16_ms", "infer", 16}, {"predict1_ms", "infer", 1}};
  const json_t *rows = json_object_get(d, "rows"), *r = json_array_get(rows, json_array_size(rows) - 1);
  for (int i = 0; i < 3; i++)
    printf("{\"task\": \"%s\", \"batch\": %d, \"ms_per_sample\": %.6g}\n", tasks[i].task, tasks[i].batch,
           json_number_value(json_object_get(r, tasks[i].key)));
}

static int run(int argc, char **argv) {
  int as_lines = 0;
  const char *size = NULL, *resolution = "main";
  double seconds = 2;
  const opt opts[] = {
      {"--size", OPT_TEXT, &size, "S", "small or large (default: both)"},
      {"--resolution", OPT_TEXT, &resolution, "R", "smoke or main (default)"},
      {"--lines", OPT_FLAG, &as_lines, NULL, "one JSON object per task, of the last row alone"},
      {"--seconds", OPT_REAL, &seconds, "X", "per measurement (default 2)"},
      {0},
  };
  common shared;
  char **args, *text;
  int nargs, s = parse(&verb_bench, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs > 1) return misuse(&verb_bench, "expected at most one benchmark, found %d", nargs);
  if (!(seconds > 0 && seconds < 3600)) return misuse(&verb_bench, "--seconds: expected a number between 0 and 3600");
  if (dkho_bench(nargs ? args[0] : NULL, size, resolution, (int)shared.threads, seconds, &text) != DKHO_OK)
    return failed();
  meter_end();
  if (shared.json)
    print_json(text);
  else {
    json_t *d = json_loads(text, 0, NULL);
    dkho_text_free(text);
    if (as_lines)
      print_lines(d);
    else
      print_rows(d);
    json_decref(d);
  }
  return EXIT_DONE;
}
