/* faults.h: the calls by which the library reaches the disk, taken over by the linker (--wrap, see CMakeLists.txt): counted, made to
 * fail at the n-th, and written down. Only what happens under one directory counts. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include "api.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>

typedef enum {
  IO_OPEN,
  IO_WRITE,
  IO_PWRITE,
  IO_SYNC,
  IO_CLOSE,
  IO_RENAME,
  IO_LINK,
  IO_MAP,
  IO_LOCK,
  IO_CUT,
  IO_MKDIR,
  IO_FLUSH,
  IO_KINDS
} io_kind;
static const char *const io_name[IO_KINDS] = {"open", "write", "pwrite", "fsync",     "close", "rename",
                                              "link", "mmap",  "flock",  "ftruncate", "mkdir", "fflush"};
/* In place of an errno: a write that takes one byte; the process killed (in a write: after half of it). */
enum { IO_SHORT = -1, IO_KILL = -2 };

/* What is to fail, and what has been seen. */
static struct {
  int on;
  int64_t at, calls;    /* the at-th call fails (0: none) */
  int error;            /* its errno, or IO_SHORT */
  int hit;              /* kind of the call that failed, -1: none */
  unsigned char *kinds; /* of every call, when recording */
  int64_t room;
  void (*note)(io_kind kind, int fd, const char *path, const char *to, const void *bytes, size_t count, int64_t offset);
} faults = {.hit = -1};

/* Counts a call; whether it is the one to fail, errno set. */
static int io_fails(io_kind kind) {
  if (!faults.on) return 0;
  int64_t n = __atomic_add_fetch(&faults.calls, 1, __ATOMIC_RELAXED); /* ranks may be threads */
  if (faults.kinds && n <= faults.room) faults.kinds[n - 1] = (unsigned char)kind;
  if (n != faults.at) return 0;
  faults.hit = (int)kind;
  if (faults.error == IO_KILL && kind != IO_WRITE) raise(SIGKILL);
  if (faults.error > 0) errno = faults.error;
  return 1;
}

static void io_note(io_kind kind, int fd, const char *path, const char *to, const void *bytes, size_t count,
                    int64_t offset) {
  if (faults.on && faults.note) faults.note(kind, fd, path, to, bytes, count, offset);
}

#define WRAP(type, name, ...)                                                                                          \
  type __real_##name(__VA_ARGS__);                                                                                     \
  type __wrap_##name(__VA_ARGS__);                                                                                     \
  type __wrap_##name(__VA_ARGS__)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  int mode = flags & O_CREAT ? va_arg(args, int) : 0;
  va_end(args);
  if (io_fails(IO_OPEN)) return -1;
  int fd = __real_open(path, flags, mode);
  if (fd >= 0) io_note(IO_OPEN, fd, path, NULL, NULL, 0, flags);
  return fd;
}

WRAP(ssize_t, write, int fd, const void *bytes, size_t count) {
  if (io_fails(IO_WRITE)) {
    if (faults.error == IO_KILL && __real_write(fd, bytes, count / 2) >= 0) raise(SIGKILL);
    if (faults.error != IO_SHORT) return -1;
    count = count > 1 ? 1 : count;
  }
  ssize_t n = __real_write(fd, bytes, count);
  if (n > 0) io_note(IO_WRITE, fd, NULL, NULL, bytes, (size_t)n, -1);
  return n;
}

WRAP(ssize_t, pwrite, int fd, const void *bytes, size_t count, off_t offset) {
  if (io_fails(IO_PWRITE)) {
    if (faults.error != IO_SHORT) return -1;
    count = count > 1 ? 1 : count;
  }
  ssize_t n = __real_pwrite(fd, bytes, count, offset);
  if (n > 0) io_note(IO_PWRITE, fd, NULL, NULL, bytes, (size_t)n, offset);
  return n;
}

/* The disk itself is left in peace: what would be on it is worked out from the log. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
  if (io_fails(IO_SYNC)) return -1;
  io_note(IO_SYNC, fd, NULL, NULL, NULL, 0, 0);
  return 0;
}

WRAP(int, close, int fd) {
  int bad = io_fails(IO_CLOSE), why = errno;
  io_note(IO_CLOSE, fd, NULL, NULL, NULL, 0, 0);
  int s = __real_close(fd);
  if (!bad) return s;
  errno = why;
  return -1; /* Linux closes all the same */
}

WRAP(int, rename, const char *from, const char *to) {
  if (io_fails(IO_RENAME)) return -1;
  int s = __real_rename(from, to);
  if (s == 0) io_note(IO_RENAME, -1, from, to, NULL, 0, 0);
  return s;
}

WRAP(int, renameat2, int a, const char *from, int b, const char *to, unsigned flags) {
  if (io_fails(IO_RENAME)) return -1;
  int s = __real_renameat2(a, from, b, to, flags);
  if (s == 0) io_note(IO_RENAME, -1, from, to, NULL, 0, 0);
  return s;
}

WRAP(int, link, const char *from, const char *to) {
  if (io_fails(IO_LINK)) return -1;
  return __real_link(from, to);
}

WRAP(int, unlink, const char *path) {
  int s = __real_unlink(path);
  if (s == 0) io_note(IO_LINK, -1, path, NULL, NULL, 0, 0);
  return s;
}

WRAP(void *, mmap, void *at, size_t size, int prot, int flags, int fd, off_t offset) {
  if (fd >= 0 && io_fails(IO_MAP)) return MAP_FAILED;
  return __real_mmap(at, size, prot, flags, fd, offset);
}

WRAP(int, flock, int fd, int how) {
  if (io_fails(IO_LOCK)) return -1;
  return __real_flock(fd, how);
}

WRAP(int, ftruncate, int fd, off_t size) {
  if (io_fails(IO_CUT)) return -1;
  return __real_ftruncate(fd, size);
}

/* Text files of the tool. */
WRAP(FILE *, fopen, const char *path, const char *mode) {
  if (io_fails(IO_OPEN)) return NULL;
  FILE *f = __real_fopen(path, mode);
  if (f) io_note(IO_OPEN, fileno(f), path, NULL, NULL, 0, mode[0] == 'r' ? O_RDONLY : O_CREAT);
  return f;
}

WRAP(int, fflush, FILE *f) {
  if (io_fails(IO_FLUSH)) return EOF;
  return __real_fflush(f);
}

WRAP(int, fclose, FILE *f) {
  if (fileno(f) < 0) return __real_fclose(f); /* in memory */
  int bad = io_fails(IO_CLOSE), why = errno;
  io_note(IO_CLOSE, fileno(f), NULL, NULL, NULL, 0, 0);
  int s = __real_fclose(f);
  if (!bad) return s;
  errno = why;
  return EOF;
}

WRAP(int, mkdir, const char *path, mode_t mode) {
  if (io_fails(IO_MKDIR)) return -1;
  return __real_mkdir(path, mode);
}

#endif
