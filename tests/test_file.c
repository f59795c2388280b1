/* test_file.c: files are whole or not there. */
#include "scratch.h"

#include "base/file.h"
#include "base/mem.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>

static char dir[64];
static char path[128];

static int setup(void **state) {
  (void)state;
  scratch_make(dir);
  scratch_path(path, dir, "x");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  scratch_remove(dir);
  return 0;
}

static dkho_status save(const char *name, int force, const char *text) {
  file_out f = {0};
  TRY(file_open(&f, name, force));
  dkho_status s = file_write(&f, text, strlen(text));
  if (s != DKHO_OK) file_abort(&f);
  return s == DKHO_OK ? file_commit(&f) : s;
}

static void assert_holds(const char *name, const char *text) {
  file_map m;
  assert_int_equal(file_map_open(&m, name), DKHO_OK);
  assert_int_equal(m.size, strlen(text));
  if (m.size) assert_memory_equal(m.bytes, text, m.size);
  file_map_close(&m);
  assert_null(m.bytes);
}

static void test_replace(void **state) {
  (void)state;
  assert_false(file_exists(path));
  assert_int_equal(save(path, 0, "one"), DKHO_OK);
  assert_holds(path, "one");
  assert_int_equal(save(path, 0, "two"), DKHO_E_EXISTS);
  assert_non_null(strstr(dkho_error(), "x: exists already"));
  assert_holds(path, "one");
  assert_int_equal(save(path, 1, "three"), DKHO_OK);
  assert_holds(path, "three");
  assert_int_equal(save(path, 1, ""), DKHO_OK);
  assert_holds(path, "");
  assert_int_equal(scratch_count(dir), 1);
}

/* Readers see the old file until the commit, and keep what they mapped after it. */
static void test_atomic(void **state) {
  (void)state;
  assert_int_equal(save(path, 1, "old"), DKHO_OK);
  file_map before;
  assert_int_equal(file_map_open(&before, path), DKHO_OK);
  file_out f = {0};
  assert_int_equal(file_open(&f, path, 1), DKHO_OK);
  for (int i = 0; i < 300000; i++) assert_int_equal(file_printf(&f, "line %d\n", i), DKHO_OK); /* past the buffer */
  assert_holds(path, "old");
  assert_int_equal(scratch_count(dir), 2);
  uint64_t written = f.written;
  assert_int_equal(file_commit(&f), DKHO_OK);
  file_abort(&f); /* does nothing */
  assert_memory_equal(before.bytes, "old", 3);
  file_map_close(&before);
  file_map after;
  assert_int_equal(file_map_open(&after, path), DKHO_OK);
  assert_int_equal(after.size, written);
  assert_memory_equal(after.bytes, "line 0\n", 7);
  assert_memory_equal(after.bytes + after.size - 12, "line 299999\n", 12);
  file_map_close(&after);
  assert_int_equal(scratch_count(dir), 1);
}

/* The target appears while we write: without force it is kept. */
static void test_late_target(void **state) {
  (void)state;
  char late[128];
  scratch_path(late, dir, "late");
  file_out f = {0};
  assert_int_equal(file_open(&f, late, 0), DKHO_OK);
  assert_int_equal(file_write(&f, "mine", 4), DKHO_OK);
  assert_int_equal(save(late, 0, "theirs"), DKHO_OK); /* a second writer has a temporary file of its own */
  assert_int_equal(file_commit(&f), DKHO_E_EXISTS);
  assert_holds(late, "theirs");
  assert_int_equal(unlink(late), 0);
  file_out zero = {0};
  file_abort(&zero);
  assert_int_equal(fcntl(0, F_GETFD) == -1, 0); /* descriptor 0 is not the struct's */
}

static void test_places(void **state) {
  (void)state;
  char name[128];
  size_t live = mem_live_blocks();
  assert_int_equal(save("", 0, "x"), DKHO_E_INPUT);
  assert_int_equal(save(dir, 1, "x"), DKHO_E_EXISTS);
  assert_non_null(strstr(dkho_error(), "is a directory"));
  assert_int_equal(save(scratch_path(name, dir, "none/x"), 1, "x"), DKHO_E_IO);
  assert_non_null(strstr(dkho_error(), "none/x: cannot create a file beside it: No such file or directory"));
  assert_int_equal(save("/proc/dkho", 0, "x"), DKHO_E_IO);
  scratch_path(name, dir, "shut");
  assert_int_equal(mkdir(name, 0555), 0);
  if (geteuid() != 0) { /* the superuser writes anywhere */
    char inside[160];
    snprintf(inside, sizeof inside, "%s/x", name);
    assert_int_equal(save(inside, 0, "x"), DKHO_E_IO);
    assert_non_null(strstr(dkho_error(), "Permission denied"));
  }
  assert_int_equal(rmdir(name), 0);
  assert_int_equal(mem_live_blocks(), live);
}

/* A link is replaced, what it points to is kept; a dangling one counts as existing. */
static void test_symlink(void **state) {
  (void)state;
  char link_path[128];
  scratch_path(link_path, dir, "link");
  assert_int_equal(save(path, 1, "pointed to"), DKHO_OK);
  assert_int_equal(symlink("x", link_path), 0);
  assert_int_equal(save(link_path, 0, "new"), DKHO_E_EXISTS);
  assert_int_equal(save(link_path, 1, "new"), DKHO_OK);
  assert_holds(link_path, "new");
  assert_holds(path, "pointed to");
  assert_int_equal(unlink(link_path), 0);
  assert_int_equal(symlink("nowhere", link_path), 0);
  assert_true(file_exists(link_path));
  assert_int_equal(save(link_path, 0, "new"), DKHO_E_EXISTS);
  assert_int_equal(unlink(link_path), 0);
}

static void test_rights(void **state) {
  (void)state;
  struct stat st;
  mode_t old = umask(027);
  assert_int_equal(save(path, 1, "x"), DKHO_OK);
  umask(old);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
}

/* After a failed write nothing more goes out and the commit fails too. */
static void test_failed_write(void **state) {
  (void)state;
  static char megabytes[3 << 20];
  struct rlimit old, small;
  assert_int_equal(save(path, 1, "old"), DKHO_OK);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  small = old;
  small.rlim_cur = 1500000;
  file_out f = {0};
  assert_int_equal(file_open(&f, path, 1), DKHO_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  dkho_status s = file_write(&f, megabytes, sizeof megabytes);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  assert_int_equal(s, DKHO_E_IO);
  assert_int_equal(file_commit(&f), DKHO_E_IO); /* there is room now, but a part is missing */
  assert_non_null(strstr(dkho_error(), "an earlier write failed"));
  assert_holds(path, "old");
  assert_int_equal(scratch_count(dir), 1);
}

static void test_starved(void **state) {
  (void)state;
  size_t live = mem_live_blocks();
  dkho_status s = DKHO_E_MEMORY;
  assert_int_equal(save(path, 1, "old"), DKHO_OK);
  for (int n = 1; s != DKHO_OK; n++) {
    mem_fail_at(n);
    s = save(path, 1, "new");
    mem_fail_at(0);
    assert_int_equal(mem_live_blocks(), live);
    assert_int_equal(scratch_count(dir), 1);
    assert_holds(path, s == DKHO_OK ? "new" : "old");
    assert_true(n < 10);
  }
}

static void test_map(void **state) {
  (void)state;
  char name[128];
  file_map m;
  assert_int_equal(file_map_open(&m, scratch_path(name, dir, "none")), DKHO_E_IO);
  assert_int_equal(file_map_open(&m, dir), DKHO_E_IO);
  assert_int_equal(mkfifo(scratch_path(name, dir, "pipe"), 0600), 0);
  assert_int_equal(file_map_open(&m, name), DKHO_E_IO); /* and does not wait for a writer */
  assert_non_null(strstr(dkho_error(), "pipe: not a regular file"));
  assert_int_equal(unlink(name), 0);
}

static void test_mkdir(void **state) {
  (void)state;
  char name[128];
  assert_int_equal(file_mkdir(scratch_path(name, dir, "sub")), DKHO_OK);
  assert_int_equal(file_mkdir(name), DKHO_OK);
  assert_int_equal(rmdir(name), 0);
  assert_int_equal(save(path, 1, "x"), DKHO_OK);
  assert_int_equal(file_mkdir(path), DKHO_E_IO);
  assert_int_equal(file_mkdir(scratch_path(name, dir, "none/sub")), DKHO_E_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_replace),      cmocka_unit_test(test_atomic),  cmocka_unit_test(test_late_target),
      cmocka_unit_test(test_places),       cmocka_unit_test(test_symlink), cmocka_unit_test(test_rights),
      cmocka_unit_test(test_failed_write), cmocka_unit_test(test_starved), cmocka_unit_test(test_map),
      cmocka_unit_test(test_mkdir),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
