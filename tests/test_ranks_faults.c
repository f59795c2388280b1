/* test_ranks_faults.c: all ranks (threads of this process) write the checkpoint; every so often a call to the file system fails on one of
 * them: no space, an I/O error, an interruption, half a write. One that was interrupted or cut short changes nothing. After any other
 * either nobody notices or all ranks end with the same failure; no temporary file is left, last.st is whole or not there, and the
 * training goes on, on another number of ranks, to the same bits. FAULTS=N: places for each kind (default 12). */
#include "comm_threads.h"
#include "faults.h"

#include "base/file.h"
#include "base/st.h"

enum { RANKS = 3 };

static char dir[64], data[128], run[128];

typedef struct training {
  int resumes;
  dkho_status found[RANKS];
} training;

static dkho_status train_rank(comm *c, void *ctx) {
  training *t = ctx;
  dkho_train_options o = api_options();
  o.target = "1", o.epochs = 1, o.batch = 8, o.checkpoint_seconds = 1e-9;
  comm_set_world(c);
  t->found[c->rank] = t->resumes ? dkho_train_resume(run, NULL, &o) : dkho_train(data, run, &o);
  comm_set_world(NULL);
  return DKHO_OK;
}

/* The status of all ranks: they must be of one mind. */
static dkho_status train_together(int ranks) {
  char config[192];
  training t = {.resumes = file_exists(strcat(strcpy(config, run), "/config.json"))};
  if (ranks_run(ranks, train_rank, &t) != DKHO_OK) fail_msg("%s", fail_text());
  for (int r = 1; r < ranks; r++) assert_int_equal(t.found[r], t.found[0]);
  return t.found[0];
}

static char *best_bytes(size_t *size) {
  char path[192];
  return api_bytes(strcat(strcpy(path, run), "/best.st"), size);
}

/* No temporary files; a checkpoint that is there is as it was sealed. */
static void check_directory(void) {
  char path[192];
  st_file *f;
  DIR *d = opendir(run);
  for (struct dirent *e; d && (e = readdir(d));)
    if (strstr(e->d_name, ".tmp.")) fail_msg("%s is left", e->d_name);
  if (d) closedir(d);
  if (!file_exists(strcat(strcpy(path, run), "/last.st"))) return;
  FINE(st_open(&f, path));
  st_close(f);
}

static void no_run(void) {
  api_remove(run);
  rmdir(run);
}

/* Whether the call that was hit can be interrupted, or cut short, without harm. */
static int is_harmless(int error) {
  int writes = faults.hit == IO_WRITE || faults.hit == IO_PWRITE;
  if (error == IO_SHORT) return writes;
  return error == EINTR && (writes || faults.hit == IO_OPEN || faults.hit == IO_SYNC || faults.hit == IO_CLOSE);
}

/* Whether the training was stopped. */
static int fail_one(int64_t at, int error, const char *expected, size_t size) {
  no_run();
  faults.at = at, faults.error = error, faults.calls = 0, faults.hit = -1, faults.on = 1;
  dkho_status s = train_together(RANKS);
  faults.on = 0;
  if (is_harmless(error) && s != DKHO_OK) fail_msg("%s at call %lld", io_name[faults.hit], (long long)at);
  check_directory();
  if (s != DKHO_OK) FINE(train_together(1 + (int)(at % 2)));
  size_t found;
  char *best = best_bytes(&found);
  assert_true(found == size && memcmp(best, expected, size) == 0);
  free(best);
  return s != DKHO_OK;
}

static void test_faults(void **state) {
  (void)state;
  static const int errors[] = {ENOSPC, EIO, EINTR, IO_SHORT};
  const char *asked = getenv("FAULTS");
  int64_t places = asked ? atoll(asked) : 12, stopped = 0;
  faults.calls = 0, faults.at = 0, faults.on = 1;
  FINE(train_together(RANKS));
  faults.on = 0;
  int64_t total = faults.calls;
  size_t size;
  char *expected = best_bytes(&size);
  for (int e = 0; e < 4; e++)
    for (int64_t i = 0; i < places; i++)
      stopped += fail_one(1 + (4 * i + e) * total / (4 * places), errors[e], expected, size);
  print_message("%lld calls, %lld faults, %lld trainings stopped\n", (long long)total, (long long)(4 * places),
                (long long)stopped);
  assert_true(stopped > places / 2);
  free(expected);
}

static int make_data(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(data, dir, "data.st");
  scratch_path(run, dir, "run");
  dkho_generate_options o = {.resolution = "smoke", .samples = 40, .seed = 42, .threads = 1};
  return dkho_dataset_generate("darcy", data, &o) != DKHO_OK;
}

static int remove_data(void **state) {
  (void)state;
  api_remove(dir);
  return rmdir(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults)};
  return cmocka_run_group_tests(tests, make_data, remove_data);
}
