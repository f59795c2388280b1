/* bench.c: `dkho bench`. */
#include "cli.h"

#include <stdio.h>

static int run_bench(int argc, char **argv);
const verb verb_bench = {
    "bench",
    "measure training and prediction speed, as a share of this machine's peak",
    "[darcy|torus|cavity] [--size small|large] | PROBLEM --model M | --scaling [--figure FILE]",
    "Measures training (batch 16) and prediction (batch 1 and 16) on the benchmark meshes with one thread and with all,\n"
    "interleaved with the peak rate of fused multiply-adds of the same cores. The share of the peak counts necessary\n"
    "arithmetic only, nothing recomputed. Times are medians; on a busy machine only the ratios are meaningful.\n"
    "--scaling measures the training time per simplex on tori of 10^4 to 10^6 simplices instead, with random data; it takes\n"
    "a few minutes and 3 GB.\n\n"
    "  dkho bench\n"
    "  dkho bench darcy --size small --seconds 5 --json\n"
    "  dkho bench torus --model mgn\n"
    "  dkho bench --scaling --figure scaling.png\n"
    "  mpirun -n 2 dkho bench --mpi       (messages between ranks; steps on several ranks, measured and predicted)",
    run_bench,
};

static double number_of(const json_t *r, const char *key) {
  return json_number_value(json_object_get(r, key));
}

static void print_rows(const json_t *d) {
  size_t i;
  json_t *r;
  printf("kernels: %s\n%-7s %-6s %7s %9s %6s %10s %6s %11s %6s %8s %7s %6s %7s\n", json_text(d, "isa"), "task", "size",
         "threads", "train ms", "", "predict 1", "", "predict 16", "", "GFLOP/s", "peak", "share", "MB");
  json_array_foreach(json_object_get(d, "rows"), i, r)
    printf("%-7s %-6s %7.0f %9.2f %5.2fx %10.2f %5.2fx %11.2f %5.2fx %8.1f %7.1f %5.1f%% %7.0f\n", json_text(r, "task"),
           json_text(r, "size"), number_of(r, "threads"), number_of(r, "train_ms"), number_of(r, "train_speedup"),
           number_of(r, "predict1_ms"), number_of(r, "predict1_speedup"), number_of(r, "predict16_ms"),
           number_of(r, "predict16_speedup"), number_of(r, "train_gflops"), number_of(r, "peak_gflops"),
           100 * number_of(r, "share"), 1e-6 * number_of(r, "train_bytes"));
}

static void print_scaling(const json_t *d) {
  const json_t *rows = json_object_get(d, "rows");
  double first = number_of(json_array_get(rows, 0), "train_us_per_simplex");
  size_t i;
  json_t *r;
  printf("%10s %12s %16s %8s %16s %9s %9s\n", "simplices", "ms/sample", "us per simplex", "ratio", "processor us", "MB",
         "MB held");
  json_array_foreach(rows, i, r) {
    double each = number_of(r, "train_us_per_simplex");
    printf("%10.0f %12.2f %16.4f %8.3f %16.4f %9.0f %9.0f\n", number_of(r, "simplices"), number_of(r, "train_ms"), each,
           each / first, number_of(r, "processor_us_per_simplex"), 1e-6 * number_of(r, "train_bytes"),
           1e-6 * number_of(r, "held_bytes"));
  }
}

static void print_ranks(const json_t *d) {
  static const char *const ways[] = {"samples", "parts"};
  size_t i;
  json_t *r;
  printf(
      "%s on %.0f ranks, %.0f threads each, %s, %s: latency %.2f us, %.2f GB/s, adding %.2f GB/s, peak %.1f GFLOP/s\n",
      json_text(d, "problem"), number_of(d, "ranks"), number_of(d, "threads"), json_text(d, "library"),
      json_text(d, "isa"), number_of(d, "latency_us"), number_of(d, "bandwidth_gb_s"), number_of(d, "adding_gb_s"),
      number_of(d, "peak_gflops"));
  printf("%-7s %-6s %-8s %5s %10s %12s %9s %6s %13s %7s %7s %9s %9s\n", "model", "size", "shared", "batch", "alone ms",
         "together ms", "speed-up", "best", "predicted ms", "error", "comm.", "messages", "kB");
  json_array_foreach(json_object_get(d, "rows"), i, r)
    for (int w = 0; w < 2; w++) {
      const json_t *m = json_object_get(r, ways[w]);
      double together = number_of(m, "together_ms"), predicted = number_of(m, "predicted_ms");
      printf("%-7s %-6s %-8s %5.0f %10.2f %12.2f %8.2fx %5.2fx %13.2f %6.1f%% %6.1f%% %9.1f %9.1f\n",
             json_text(r, "model"), json_text(r, "size"), ways[w], number_of(m, "batch"), number_of(m, "alone_ms"),
             together, number_of(m, "speedup"), number_of(m, "best_speedup"), predicted,
             100 * (predicted / together - 1), 100 * number_of(m, "communication"), number_of(m, "messages"),
             1e-3 * number_of(m, "bytes"));
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
           number_of(r, tasks[i].key));
}

static int show_report(char *text, const common *shared, void (*print)(const json_t *)) {
  meter_end();
  if (shared->json) {
    print_json(text);
    return EXIT_DONE;
  }
  json_t *d = json_loads(text, 0, NULL);
  dkho_text_free(text);
  print(d);
  json_decref(d);
  return EXIT_DONE;
}

static int run_bench(int argc, char **argv) {
  int as_lines = 0, scaling = 0;
  const char *size = NULL, *model = NULL, *resolution = "main", *figure = NULL;
  double seconds = 2;
  int64_t largest = 0, turns = 0;
  const opt opts[] = {
      {"--size", OPT_TEXT, &size, "S", "small or large (default: both; with --scaling small)"},
      {"--model", OPT_TEXT, &model, "M", "another model, on one benchmark, in all its sizes"},
      {"--resolution", OPT_TEXT, &resolution, "R", "smoke or main (default)"},
      {"--lines", OPT_FLAG, &as_lines, NULL, "one JSON object per task, for the last row only"},
      {"--seconds", OPT_REAL, &seconds, "X", "per measurement (default 2)"},
      {"--scaling", OPT_FLAG, &scaling, NULL, "time per simplex against the number of simplices"},
      {"--largest", OPT_INT, &largest, "N", "simplices of the largest mesh of --scaling (default 1000000)"},
      {"--turns", OPT_INT, &turns, "N", "turns of --scaling through all sizes (default 3)"},
      {"--figure", OPT_TEXT, &figure, "FILE", "plot --scaling as .png, .svg or .pdf"},
      {0},
  };
  common shared;
  char **args, *text;
  int nargs, s = parse(&verb_bench, opts, &shared, argc, argv, &args, &nargs);
  if (s != EXIT_DONE || shared.help) return s;
  if (nargs > 1) return misuse(&verb_bench, "expected at most one benchmark, found %d", nargs);
  if (!(seconds > 0 && seconds < 3600)) return misuse(&verb_bench, "--seconds: expected a number between 0 and 3600");
  static const char *const scales[] = {"--scaling", "--size", "--largest", "--turns", "--figure", NULL};
  if (scaling && (s = only(&verb_bench, opts, &shared, "not with --scaling", scales))) return s;
  if (scaling && nargs) return misuse(&verb_bench, "--scaling takes no benchmark: it has tori of its own");
  if (!scaling && (figure || largest || turns))
    return misuse(&verb_bench, "--largest, --turns and --figure belong to --scaling");
  if (dkho_ranks() > 1 || shared.mpi) { /* one thread unless told: all cores for every rank would be too many */
    static const char *const shares[] = {"--resolution", "--seconds", NULL};
    if ((s = only(&verb_bench, opts, &shared, "not on the ranks of an MPI job", shares))) return s;
    int threads = shared.threads ? (int)shared.threads : 1;
    if (dkho_bench_ranks(nargs ? args[0] : NULL, resolution, threads, seconds, &text) != DKHO_OK) return failed();
    return show_report(text, &shared, print_ranks);
  }
  if (turns > 100) return misuse(&verb_bench, "--turns: expected a number between 1 and 100");
  if (scaling) {
    if (dkho_bench_scaling(size, largest, (int)turns, (int)shared.threads, figure, shared.force, &text) != DKHO_OK)
      return failed();
    return show_report(text, &shared, print_scaling);
  }
  if (model && (!nargs || size)) return misuse(&verb_bench, "--model takes one benchmark and no --size");
  if (model) {
    if (dkho_bench_model(args[0], model, resolution, (int)shared.threads, seconds, &text) != DKHO_OK) return failed();
    return show_report(text, &shared, as_lines ? print_lines : print_rows);
  }
  if (dkho_bench(nargs ? args[0] : NULL, size, resolution, (int)shared.threads, seconds, &text) != DKHO_OK)
    return failed();
  return show_report(text, &shared, as_lines ? print_lines : print_rows);
}
