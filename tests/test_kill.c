/* test_kill.c: a training killed without warning goes on to the same bits: three optimisers, one and two threads, three problems. It is
 * killed at its n-th call to the file system (in a write: with half of it done), at its n-th look for a stop, or by the clock; then
 * it is resumed, and perhaps killed again. KILLS=N: kills for each of the 18 combinations (default 3). */
#include "faults.h"

#include "base/file.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static char dir[64], data[3][160], run[160];
static const char *const problem[] = {"darcy", "torus", "cavity"}, *const target[] = {"q", "u", "B"};
static const char *const optimizer[] = {"adamw", "muon", "soap"};
static int64_t kills, resumed, by_kind[3];

typedef struct combination {
  int problem, optimizer, threads;
} combination;
/* Where a process dies: at the n-th call, at the n-th poll, after so many microseconds; 0: never. */
typedef struct death {
  int64_t call, poll, microseconds;
} death;

static int64_t polls, deadly_poll;
static int poll_or_die(void *user) {
  (void)user;
  if (++polls == deadly_poll) raise(SIGKILL);
  return 0;
}

static dkho_train_options few_options(const combination *c) {
  dkho_train_options o = api_options();
  o.target = target[c->problem], o.optimizer = optimizer[c->optimizer], o.threads = c->threads;
  o.epochs = 2, o.checkpoint_seconds = 1e-9, o.stop = poll_or_die;
  return o;
}

/* Begins, or goes on with what is there: what a user's script does. */
static dkho_status go_on(const combination *c) {
  char path[192];
  dkho_train_options o = few_options(c);
  snprintf(path, sizeof path, "%.150s/config.json", run);
  return file_exists(path) ? dkho_train_resume(run, NULL, &o) : dkho_train(data[c->problem], run, &o);
}

/* In a process of its own, for its pool and its locks end with it. Whether it was killed. */
static int live_and_die(const combination *c, death d) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    polls = 0, deadly_poll = d.poll;
    faults.at = d.call, faults.error = IO_KILL, faults.calls = 0, faults.on = d.call > 0;
    if (d.microseconds) {
      struct itimerval after = {.it_value = {0, (suseconds_t)d.microseconds}};
      signal(SIGALRM, SIG_DFL);
      setitimer(ITIMER_REAL, &after, NULL);
    }
    dkho_status s = go_on(c);
    if (s != DKHO_OK) fprintf(stderr, "%s\n", dkho_error());
    _exit(s == DKHO_OK ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGALRM)) return 1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail_msg("%s, %s, %d threads: status %x after call %lld, poll %lld, %lld us", problem[c->problem],
             optimizer[c->optimizer], c->threads, status, (long long)d.call, (long long)d.poll,
             (long long)d.microseconds);
  return 0;
}

static void no_run(void) {
  api_remove(run);
  rmdir(run);
}

typedef struct outcome {
  char *best, *history;
  size_t size, length;
} outcome;

/* The selected model, and the history but for its clock. */
static outcome read_outcome(void) {
  char path[192];
  outcome o;
  snprintf(path, sizeof path, "%.150s/best.st", run);
  o.best = api_bytes(path, &o.size);
  snprintf(path, sizeof path, "%.150s/metrics.csv", run);
  char *text = api_bytes(path, &o.length), *to = text;
  int comma = 0;
  for (size_t i = 0; i < o.length; i++) {
    comma = text[i] == '\n' ? 0 : comma + (text[i] == ',');
    if (comma < 4) *to++ = text[i];
  }
  o.history = text, o.length = (size_t)(to - text);
  return o;
}

static void same_outcome(const outcome *a, const outcome *b) {
  assert_true(a->size == b->size && memcmp(a->best, b->best, a->size) == 0);
  assert_true(a->length == b->length && memcmp(a->history, b->history, a->length) == 0);
}

static void free_outcome(outcome *o) {
  free(o->best), free(o->history);
}

/* The i-th death of n; totals: what an undisturbed run does of each kind. Every third kills the resumed process too. */
static death choose_death(int64_t i, int64_t n, const int64_t total[3]) {
  int64_t at = 1 + (2 * i + 1) * total[i % 3] / (2 * n);
  if (i % 3 == 0) return (death){.call = at};
  return i % 3 == 1 ? (death){.poll = at} : (death){.microseconds = at};
}

static void kill_one(const combination *c, int64_t i, int64_t n, const int64_t total[3], const outcome *expected) {
  no_run();
  int killed = live_and_die(c, choose_death(i, n, total));
  kills += killed, by_kind[i % 3] += killed;
  if (i / 3 % 3 == 2) {
    int again = live_and_die(c, choose_death(i, 2 * n, total));
    kills += again, by_kind[i % 3] += again, resumed += killed;
  }
  assert_false(live_and_die(c, (death){0}));
  resumed += killed;
  outcome o = read_outcome();
  same_outcome(&o, expected);
  free_outcome(&o);
}

static void kill_combination(const combination *c, int64_t n, outcome *first) {
  no_run();
  faults.at = 0, faults.calls = 0, faults.on = 1, polls = deadly_poll = 0;
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  FINE(go_on(c));
  clock_gettime(CLOCK_MONOTONIC, &to);
  faults.on = 0;
  int64_t total[3] = {faults.calls, polls, (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000};
  outcome expected = read_outcome();
  if (c->threads == 1)
    *first = expected;
  else
    same_outcome(&expected, first); /* threads change nothing */
  for (int64_t i = 0; i < n; i++) kill_one(c, i, n, total, &expected);
  if (c->threads > 1) free_outcome(&expected);
}

static void test_kill(void **state) {
  (void)state;
  const char *wanted = getenv("KILLS");
  int64_t n = wanted ? atoll(wanted) : 3;
  for (int p = 0; p < 3; p++)
    for (int o = 0; o < 3; o++) {
      outcome first;
      for (int threads = 1; threads <= 2; threads++) kill_combination(&(combination){p, o, threads}, n, &first);
      free_outcome(&first);
    }
  no_run();
  print_message(
      "%lld kills (%lld at calls to the file system, %lld at polls, %lld by the clock), %lld resumed: same bits\n",
      (long long)kills, (long long)by_kind[0], (long long)by_kind[1], (long long)by_kind[2], (long long)resumed);
  assert_true(kills >= 18 * n / 2);
}

static int setup(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(run, dir, "run");
  for (int p = 0; p < 3; p++) {
    char name[32];
    snprintf(name, sizeof name, "%s.st", problem[p]);
    scratch_path(data[p], dir, name);
    dkho_generate_options g = {.resolution = "smoke", .samples = 12, .seed = 42, .threads = 1};
    FINE(dkho_dataset_generate(problem[p], data[p], &g));
  }
  return 0;
}

static int teardown(void **state) {
  (void)state;
  api_remove(dir);
  assert_int_equal(rmdir(dir), 0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
