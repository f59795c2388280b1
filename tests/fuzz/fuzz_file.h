/* fuzz_file.h: the bytes of a run as files that have names, in a directory in memory that goes when the process ends. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A file in memory that holds the bytes; path: its name until it is closed. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[32]) {
  int fd = memfd_create("fuzz", 0);
  CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  snprintf(path, 32, "/proc/self/fd/%d", fd);
  return fd;
}

enum { FUZZ_PATH = 128 };
static char fuzz_dir[64];

static inline void fuzz_sweep(const char *dir) {
  char path[512];
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path) continue;
    if (unlink(path) != 0) fuzz_sweep(path);
  }
  if (d) closedir(d);
  rmdir(dir);
}

static inline void fuzz_leave(void) {
  fuzz_sweep(fuzz_dir);
}

/* DIR/name, in the directory that the first call makes. */
static inline const char *fuzz_path(char path[FUZZ_PATH], const char *name) {
  if (!fuzz_dir[0]) {
    snprintf(fuzz_dir, sizeof fuzz_dir, "/dev/shm/dkho-fuzz-XXXXXX");
    CHECK(mkdtemp(fuzz_dir));
    atexit(fuzz_leave);
  }
  snprintf(path, FUZZ_PATH, "%s/%s", fuzz_dir, name);
  return path;
}

static inline void fuzz_write(const char *path, const void *bytes, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}

/* The whole of a file, freed by the caller. */
static inline uint8_t *fuzz_read(const char *path, size_t *size) {
  struct stat st;
  int fd = open(path, O_RDONLY);
  CHECK(fd >= 0 && fstat(fd, &st) == 0);
  *size = (size_t)st.st_size;
  uint8_t *bytes = malloc(*size + 1);
  CHECK(bytes && read(fd, bytes, *size) == (ssize_t)*size && close(fd) == 0);
  bytes[*size] = 0;
  return bytes;
}

static inline int fuzz_same(const char *a, const char *b) {
  size_t n, m;
  uint8_t *x = fuzz_read(a, &n), *y = fuzz_read(b, &m);
  int same = n == m && memcmp(x, y, n) == 0;
  free(x), free(y);
  return same;
}

#endif
