/* scratch.h: what tests that touch files need: cmocka's headers, a directory of their own, and its contents. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include "base/status.h" /* before cmocka.h, which makes `fail` a macro; tests call the function as (fail)(…) */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes an empty directory under the working directory; `dir` receives its name. */
static inline void scratch_make(char dir[64]) {
  strcpy(dir, "scratch.XXXXXX");
  assert_non_null(mkdtemp(dir));
}

static inline const char *scratch_path(char out[128], const char *dir, const char *name) {
  assert_in_range(snprintf(out, 128, "%s/%s", dir, name), 1, 127);
  return out;
}

/* Entries other than "." and ".."; removes them when asked to. */
static inline int scratch_walk(const char *dir, int removing) {
  int count = 0;
  DIR *d = opendir(dir);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    count++;
    if (removing) unlinkat(dirfd(d), e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
  }
  closedir(d);
  return count;
}

static inline int scratch_count(const char *dir) {
  return scratch_walk(dir, 0);
}

static inline void scratch_remove(const char *dir) {
  scratch_walk(dir, 1);
  assert_int_equal(rmdir(dir), 0);
}

#endif
