/* test_lock.c: one writer at a time. A lock names its owner, ends with it, and is taken over from a dead one; temporary files of the
 * living are left alone, those of the dead are removed; training, data and reproduction keep a second process out. */
#include "api.h"

#include "base/temp.h"
#include "base/lock.h"

#include <signal.h>
#include <sys/wait.h>

static char dir[64];

static int setup(void **state) {
  (void)state;
  scratch_make(dir);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  api_remove(dir);
  assert_int_equal(rmdir(dir), 0);
  return 0;
}

/* A child that calls `work` and then stays until it is killed. Returns when the work is done. */
static pid_t keep_busy(void (*work)(const char *), const char *path) {
  int pipes[2];
  char byte;
  assert_int_equal(pipe(pipes), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    work(path);
    if (write(pipes[1], "x", 1) == 1)
      for (;;) pause();
    _exit(1);
  }
  close(pipes[1]);
  assert_int_equal(read(pipes[0], &byte, 1), 1);
  close(pipes[0]);
  return child;
}

static void kill_child(pid_t child) {
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

static void take_lock(const char *path) {
  static lock l;
  if (lock_take(&l, "it", path) != DKHO_OK) _exit(2);
}

static void test_lock(void **state) {
  (void)state;
  char path[128], owner[128], host[64] = "";
  lock a, b;
  scratch_path(path, dir, "lock");
  gethostname(host, sizeof host - 1);
  snprintf(owner, sizeof owner, "it: is being written by process %ld on %s;", (long)getpid(), host);
  FINE(lock_take(&a, "it", path));
  REFUSED(DKHO_E_IO, lock_take(&b, "it", path), owner);
  assert_int_equal(b.held, 0);
  lock_release(&b);
  lock_release(&a);
  lock_release(&a);
  assert_false(file_exists(path));
  /* another process: named while it lives, taken over when it is dead */
  pid_t child = keep_busy(take_lock, path);
  snprintf(owner, sizeof owner, "process %ld on %s;", (long)child, host);
  REFUSED(DKHO_E_IO, lock_take(&b, "it", path), owner);
  kill_child(child);
  assert_true(file_exists(path));
  FINE(lock_take(&b, "it", path));
  lock_release(&b);
  assert_false(file_exists(path));
  /* a stranger's file is no owner; one that cannot be made is an error, not a lock */
  FILE *f = fopen(path, "w");
  fputs("\033[31m not a name\n", f);
  fclose(f);
  FINE(lock_take(&a, "it", path));
  assert_int_equal(truncate(path, 0), 0);
  REFUSED(DKHO_E_IO, lock_take(&b, "it", path), "by another process;");
  lock_release(&a);
  REFUSED(DKHO_E_IO, lock_take(&a, "it", scratch_path(path, dir, "no/lock")), "cannot make the lock file");
  assert_int_equal(scratch_count(dir), 0);
}

static void start_file(const char *path) {
  static file_out f;
  if (file_open(&f, path, 1) != DKHO_OK || file_write(&f, "half", 4) != DKHO_OK) _exit(2);
}

static void test_temporaries(void **state) {
  (void)state;
  char path[128], temp[3][128];
  file_out f = {0};
  scratch_path(path, dir, "a");
  static const char *const name[] = {"a.tmp.0", "a.tmp.1", "a.tmp.2"};
  for (int i = 0; i < 3; i++) scratch_path(temp[i], dir, name[i]);
  pid_t child[2] = {keep_busy(start_file, path), keep_busy(start_file, path)};
  assert_true(file_exists(temp[0]) && file_exists(temp[1]));
  assert_false(file_clear_temp(temp[0]));
  FINE(file_open(&f, path, 0)); /* the living are left alone */
  assert_true(file_exists(temp[0]) && file_exists(temp[1]) && file_exists(temp[2]));
  file_abort(&f);
  assert_int_equal(scratch_count(dir), 2);
  kill_child(child[1]);
  FINE(file_open(&f, path, 0));
  assert_true(file_exists(temp[0]) && file_exists(temp[1]) && !file_exists(temp[2]));
  file_abort(&f);
  kill_child(child[0]);
  assert_int_equal(scratch_count(dir), 1);
  FINE(file_open(&f, path, 0));
  FINE(file_write(&f, "whole", 5));
  FINE(file_commit(&f));
  assert_int_equal(scratch_count(dir), 1);
  assert_true(file_exists(path));
  /* several dead ones in a row, and what is no file at all */
  for (int i = 0; i < 2; i++) kill_child(keep_busy(start_file, path));
  assert_int_equal(mkdir(temp[1], 0777), 0);
  FINE(file_open(&f, path, 1));
  assert_true(file_exists(temp[0]) && file_exists(temp[1]));
  file_abort(&f);
  scratch_walk(dir, 1);
}

/* The verbs that work for hours, each kept out by a living owner and let in after its death. */
static void test_verbs(void **state) {
  (void)state;
  char data[128], again[128], run[128], study[128], problem[128], path[128], *json;
  dkho_generate_options g = {.resolution = "smoke", .samples = 12, .seed = 42, .threads = 1};
  scratch_path(data, dir, "data.st"), scratch_path(again, dir, "again.st"), scratch_path(run, dir, "run");
  FINE(dkho_dataset_generate("darcy", data, &g));
  assert_int_equal(scratch_count(dir), 1);
  pid_t child = keep_busy(take_lock, scratch_path(path, dir, "again.st.lock"));
  REFUSED(DKHO_E_IO, dkho_dataset_generate("darcy", again, &g), "again.st: is being written by process");
  kill_child(child);
  FINE(dkho_dataset_generate("darcy", again, &g));
  assert_int_equal(scratch_count(dir), 2);
  dkho_train_options o = api_options();
  o.target = "q";
  assert_int_equal(mkdir(run, 0777), 0);
  child = keep_busy(take_lock, scratch_path(path, run, ".dkho.lock"));
  REFUSED(DKHO_E_IO, dkho_train(data, run, &o), "run: is being written by process");
  assert_int_equal(scratch_count(run), 1);
  kill_child(child);
  FINE(dkho_train(data, run, &o));
  assert_false(file_exists(path));
  /* a live process's half-written checkpoint survives the attempt to go on */
  char last[128], temp[160], result[128];
  unlink(scratch_path(result, run, "result.json"));
  child = keep_busy(take_lock, path);
  pid_t writer = keep_busy(start_file, scratch_path(last, run, "last.st"));
  snprintf(temp, sizeof temp, "%s.tmp.0", last);
  REFUSED(DKHO_E_IO, dkho_train_resume(run, NULL, NULL), "run: is being written by process");
  assert_true(file_exists(temp));
  kill_child(child), kill_child(writer);
  FINE(dkho_train_resume(run, NULL, NULL));
  assert_true(!file_exists(temp) && !file_exists(path) && file_exists(result));
  /* a reproduction */
  dkho_reproduce_options r = {.seed = 42, .threads = 1};
  scratch_path(study, dir, "study"), scratch_path(problem, dir, "study/darcy");
  assert_true(mkdir(study, 0777) == 0 && mkdir(problem, 0777) == 0);
  child = keep_busy(take_lock, scratch_path(path, problem, ".dkho.lock"));
  REFUSED(DKHO_E_IO, dkho_reproduce("darcy", study, &r, &json), "study/darcy: is being written by process");
  kill_child(child);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lock), cmocka_unit_test(test_temporaries),
                                     cmocka_unit_test(test_verbs)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
