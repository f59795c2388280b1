/* api.h: what the tests of the public header share: a directory with a small data set and a small run in it. Only dkho.h and
 * base/mem.h are used. */
#ifndef TESTS_API_H
#define TESTS_API_H

#include "scratch.h"

#include "base/mem.h"

/* A call that must fail with this status, and a text that holds all these words. */
#define REFUSED(status, call, words)                                                                                   \
  do {                                                                                                                 \
    assert_int_equal(call, status);                                                                                    \
    if (!strstr(dkho_error(), words)) fail_msg("'%s' does not say '%s'", dkho_error(), words);                         \
  } while (0)
#define FINE(call) api_fine(call, #call)
static inline void api_fine(dkho_status s, const char *call) {
  if (s != DKHO_OK) fail_msg("%s: %s", call, dkho_error());
}

/* Removes a directory and, one level down, what is in it. */
static inline void api_remove(const char *dir) {
  char path[512];
  DIR *d = opendir(dir);
  if (!d) return;
  for (struct dirent *e; (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    assert_in_range(snprintf(path, sizeof path, "%s/%s", dir, e->d_name), 1, 511);
    if (e->d_type == DT_DIR) api_remove(path);
    unlinkat(AT_FDCWD, path, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
  }
  closedir(d);
}

static inline dkho_train_options api_options(void) {
  dkho_train_options o;
  dkho_train_defaults(&o);
  static const char *const small[] = {"h=4", "c=2", "layers=2", "substeps=1", NULL};
  o.options = small, o.modes = 4, o.epochs = 2, o.batch = 4, o.threads = 1;
  return o;
}

typedef struct world {
  char dir[64], data[128], run[128], out[128], file[160];
} world;

/* DIR/data.st, DIR/run, and an empty DIR/out for what a test writes; `file` is a name in it. */
static inline void world_make(world *w, const char *problem, const char *target) {
  scratch_make(w->dir);
  scratch_path(w->data, w->dir, "data.st");
  scratch_path(w->run, w->dir, "run");
  scratch_path(w->out, w->dir, "out");
  snprintf(w->file, sizeof w->file, "%s/out/file", w->dir);
  assert_int_equal(mkdirat(AT_FDCWD, w->out, 0777), 0);
  dkho_generate_options g = {.resolution = "smoke", .samples = 12, .seed = 42, .threads = 1};
  FINE(dkho_dataset_generate(problem, w->data, &g));
  dkho_train_options o = api_options();
  o.target = target;
  FINE(dkho_train(w->data, w->run, &o));
}

static inline void world_remove(world *w) {
  api_remove(w->dir);
  assert_int_equal(rmdir(w->dir), 0);
}

/* The whole of a file; freed by the caller. */
static inline char *api_bytes(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, f), *size);
  bytes[*size] = 0;
  fclose(f);
  return bytes;
}

static inline int api_same_file(const char *a, const char *b) {
  size_t n, m;
  char *x = api_bytes(a, &n), *y = api_bytes(b, &m);
  int same = n == m && memcmp(x, y, n) == 0;
  free(x);
  free(y);
  return same;
}

#endif
