/* test_soak.c: one process that makes data, trains, evaluates and predicts again and again, at sizes in random order, under a limit on address
 * space: nothing is left behind, memory does not grow after every size has been seen, and a size that comes again gives the same bits
 * whatever came between. SOAK=SECONDS (default 4). */
#include "api.h"

#include <sys/resource.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
enum { LIMITED = 0 }; /* shadow memory is terabytes of address space, and freed blocks are kept for a while */
#else
enum { LIMITED = 1 };
#endif

static char dir[64], data[160], run[160], out[160], best[192];

typedef struct size {
  const char *problem, *target, *optimizer, *width;
  int samples, threads;
} size;
static const size sizes[] = {{"torus", "u", "muon", "h=4", 12, 1},  {"torus", "q", "soap", "h=7", 17, 2},
                             {"darcy", "q", "adamw", "h=5", 13, 2}, {"darcy", "w", "muon", "h=3", 20, 1},
                             {"cavity", "B", "soap", "h=4", 11, 1}, {"cavity", "B", "adamw", "h=9", 12, 2}};
enum { SIZES = sizeof sizes / sizeof *sizes };
static char *first_best[SIZES], *first_out[SIZES];
static size_t best_bytes[SIZES], out_bytes[SIZES];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double resident_mb(void) {
  long pages = 0, all;
  FILE *f = fopen("/proc/self/statm", "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%ld %ld", &all, &pages), 2);
  fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* Keeps the bytes the first time, compares them from then on. */
static void same_bytes(const char *path, char **kept, size_t *bytes, int which) {
  size_t n;
  char *found = api_bytes(path, &n);
  if (!*kept) {
    *kept = found, *bytes = n;
    return;
  }
  if (n != *bytes || memcmp(found, *kept, n) != 0)
    fail_msg("size %d: %s has other bits than the first time", which, path);
  free(found);
}

static void one_round(int which) {
  const size *z = &sizes[which];
  const char *const options[] = {z->width, "c=2", "layers=2", "substeps=1", NULL};
  dkho_generate_options g = {
      .resolution = "smoke", .samples = z->samples, .seed = (uint64_t)which, .threads = z->threads, .force = 1};
  FINE(dkho_dataset_generate(z->problem, data, &g));
  dkho_train_options o = api_options();
  o.target = z->target, o.optimizer = z->optimizer, o.options = options, o.threads = z->threads, o.epochs = 1;
  FINE(dkho_train(data, run, &o));
  char *json = NULL;
  FINE(dkho_evaluate(best, data, "test", z->threads, &json));
  dkho_text_free(json);
  dkho_model *m;
  FINE(dkho_model_load(&m, best));
  FINE(dkho_predict_file(m, data, NULL, out, z->threads, 1, 0));
  dkho_model_free(m);
  same_bytes(best, &first_best[which], &best_bytes[which], which);
  same_bytes(out, &first_out[which], &out_bytes[which], which);
  api_remove(run);
  rmdir(run);
}

static void test_soak(void **state) {
  (void)state;
  const char *wanted = getenv("SOAK");
  double seconds = wanted ? atof(wanted) : 4, began = now(), settled = 0, most = 0;
  int64_t rounds = 0;
  uint64_t random = 1;
  size_t blocks = mem_live_blocks();
  for (int pass = 0; pass < 2;
       pass++) /* everything twice: caches and arenas of other libraries are then as they will be */
    for (int i = 0; i < SIZES; i++, rounds++) one_round(i);
  settled = resident_mb();
  while (now() - began < seconds) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    one_round((int)(random >> 33) % SIZES);
    rounds++;
    if (mem_live_blocks() != blocks) fail_msg("round %lld: blocks are left behind", (long long)rounds);
    double mb = resident_mb();
    most = mb > most ? mb : most;
    if (LIMITED && mb > settled + 24)
      fail_msg("round %lld: %.0f MB, after the start %.0f", (long long)rounds, mb, settled);
  }
  print_message("%lld rounds in %.0f s, %.1f MB at the start, at most %.1f MB, same bits each time\n",
                (long long)rounds, now() - began, settled, most > settled ? most : settled);
}

static int setup(void **state) {
  (void)state;
  struct rlimit limit = {(rlim_t)2 << 30, (rlim_t)2 << 30};
  if (LIMITED) assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  scratch_make(dir);
  scratch_path(data, dir, "data.st");
  scratch_path(run, dir, "run");
  scratch_path(out, dir, "out.st");
  snprintf(best, sizeof best, "%.150s/best.st", run);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  for (int i = 0; i < SIZES; i++) free(first_best[i]), free(first_out[i]);
  api_remove(dir);
  assert_int_equal(rmdir(dir), 0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_soak)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
