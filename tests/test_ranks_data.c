/* test_ranks_data.c: ranks (threads of this process) make one data set, each putting its samples in place: the file is, byte for byte, the one
 * that one process makes. Then a call to the file system fails on one of three ranks, every so often: no space, an I/O error, an
 * interruption, half a write. An interruption and a short write change nothing. After any other all ranks end with the same failure and
 * nothing is left, or nobody noticed and the file is the same; the second attempt, on another number of ranks, makes it. FAULTS=N: places
 * for each kind (default 8). */
#include "comm_threads.h"
#include "faults.h"

#include "base/file.h"

enum { RANKS = 3, SAMPLES = 40 };

static char dir[64], made[128], whole[128];

typedef struct making {
  const char *problem;
  char said[RANKS_MAX][512];
  dkho_status found[RANKS_MAX];
} making;

static dkho_status make_rank(comm *c, void *ctx) {
  making *m = ctx;
  dkho_generate_options o = {.resolution = "smoke", .samples = SAMPLES, .seed = 42, .threads = 1};
  comm_set_world(c);
  m->found[c->rank] = dkho_dataset_generate(m->problem, made, &o);
  snprintf(m->said[c->rank], sizeof *m->said, "%s", dkho_error());
  comm_set_world(NULL);
  return DKHO_OK;
}

/* The status of all ranks: they must be of one mind, and say the same. */
static dkho_status make_together(const char *problem, int ranks, char *said) {
  static making m;
  m.problem = problem;
  if (ranks_run(ranks, make_rank, &m) != DKHO_OK) fail_msg("%s", fail_text());
  for (int r = 1; r < ranks; r++) {
    assert_int_equal(m.found[r], m.found[0]);
    if (m.found[0] != DKHO_OK) assert_string_equal(m.said[r], m.said[0]);
  }
  if (said) strcpy(said, m.said[0]);
  return m.found[0];
}

static void make_whole(const char *problem) {
  dkho_generate_options o = {.resolution = "smoke", .samples = SAMPLES, .seed = 42, .threads = 2, .force = 1};
  FINE(dkho_dataset_generate(problem, whole, &o));
}

/* Problems whose samples come in groups and one by one, with globals and without, with known values and periods. */
static void test_same_file(void **state) {
  (void)state;
  static const char *const problems[] = {"darcy", "reaction", "cavity", "wells", "flow", "magnetostatics"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    make_whole(problems[i]);
    for (int ranks = 1; ranks <= 5; ranks++) {
      if (make_together(problems[i], ranks, NULL) != DKHO_OK) fail_msg("%s, %d ranks", problems[i], ranks);
      if (!api_same_file(whole, made)) fail_msg("%s: %d ranks make another file", problems[i], ranks);
      unlink(made);
    }
  }
}

/* A file that is there is kept, and all ranks say so. */
static void test_kept(void **state) {
  (void)state;
  char said[512];
  FINE(make_together("darcy", 1, NULL));
  assert_int_equal(make_together("darcy", RANKS, said), DKHO_E_EXISTS);
  assert_non_null(strstr(said, "exists already"));
  unlink(made);
}

/* The whole file, the one made and nothing else. */
static void check_directory(void) {
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.' && strcmp(e->d_name, "whole.st") != 0 && strcmp(e->d_name, "made.st") != 0)
      fail_msg("%s is left", e->d_name);
  if (d) closedir(d);
  if (file_exists(made)) assert_true(api_same_file(whole, made));
}

/* Whether the call that was hit can be interrupted, or cut short, without harm. */
static int is_harmless(int error) {
  int writes = faults.hit == IO_WRITE || faults.hit == IO_PWRITE;
  if (error == IO_SHORT) return writes;
  return error == EINTR && (writes || faults.hit == IO_OPEN || faults.hit == IO_SYNC || faults.hit == IO_CLOSE);
}

typedef struct tally {
  int64_t stopped;
  int named[RANKS]; /* failures that name this rank */
} tally;

static void fail_one(int64_t at, int error, tally *t) {
  char said[512], name[24];
  faults.at = at, faults.error = error, faults.calls = 0, faults.hit = -1, faults.on = 1;
  dkho_status s = make_together("darcy", RANKS, said);
  faults.on = 0;
  if (is_harmless(error) && s != DKHO_OK) fail_msg("%s at call %lld", io_name[faults.hit], (long long)at);
  check_directory();
  if (s == DKHO_OK) assert_true(file_exists(made));
  for (int r = 0; s != DKHO_OK && r < RANKS; r++) {
    snprintf(name, sizeof name, "rank %d: ", r);
    t->named[r] += strncmp(said, name, strlen(name)) == 0;
  }
  t->stopped += s != DKHO_OK;
  if (!file_exists(made)) FINE(make_together("darcy", 1 + (int)(at % 2), NULL));
  assert_true(api_same_file(whole, made));
  unlink(made);
}

static void test_faults(void **state) {
  (void)state;
  static const int errors[] = {ENOSPC, EIO, EINTR, IO_SHORT};
  const char *asked = getenv("FAULTS");
  int64_t places = asked ? atoll(asked) : 8;
  tally t = {0};
  make_whole("darcy");
  faults.calls = 0, faults.at = 0, faults.on = 1;
  FINE(make_together("darcy", RANKS, NULL));
  faults.on = 0;
  unlink(made);
  int64_t total = faults.calls;
  for (int e = 0; e < 4; e++)
    for (int64_t i = 0; i < places; i++) fail_one(1 + (4 * i + e) * total / (4 * places), errors[e], &t);
  print_message("%lld calls, %lld faults, %lld stopped, naming ranks 0, 1, 2: %d, %d, %d\n", (long long)total,
                (long long)(4 * places), (long long)t.stopped, t.named[0], t.named[1], t.named[2]);
  assert_true(t.stopped > places / 2 && t.named[1] && t.named[2]);
}

static int make_scratch(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(made, dir, "made.st");
  scratch_path(whole, dir, "whole.st");
  return 0;
}

static int remove_scratch(void **state) {
  (void)state;
  api_remove(dir);
  return rmdir(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_file), cmocka_unit_test(test_kept),
                                     cmocka_unit_test(test_faults)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
