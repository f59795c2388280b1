/* file.c: atomic replacement and read-only maps. */
#include "base/file.h"
#include "base/comm.h"
#include "base/limit.h"
#include "base/mem.h"
#include "base/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BUFFER = 1 << 18, TEMP_TRIES = 10000 };

static dkho_status fail_io(const char *what, const char *path) {
  return fail(DKHO_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

int file_open_fd(const char *path, int flags, mode_t mode) {
  int fd;
  do fd = open(path, flags, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

int file_is_at(int fd, const char *path) {
  struct stat mine, there;
  return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

int file_exists(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0;
}

dkho_status file_mkdir(const char *path) {
  struct stat st;
  if (mkdir(path, 0777) == 0) return DKHO_OK;
  if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return DKHO_OK;
  return fail_io("make the directory", path);
}

dkho_status file_mkdir_all(const char *path) {
  char *above = mem_strdup(path);
  if (!above) return DKHO_E_MEMORY;
  dkho_status s = DKHO_OK;
  for (char *at = above + 1; s == DKHO_OK && *above && (at = strchr(at, '/')); at++) {
    *at = 0;
    s = file_mkdir(above);
    *at = '/';
  }
  mem_free(above);
  return s == DKHO_OK ? file_mkdir(path) : s;
}

static dkho_status flush(file_out *f) {
  /* Part of the buffer may have gone out before a failure: going on would write it twice. */
  if (f->failed) return fail(DKHO_E_IO, "%s: cannot write: an earlier write failed", f->path);
  for (size_t at = 0; at < f->used;) {
    ssize_t n = f->shares ? pwrite(f->fd, f->buffer + at, f->used - at, (off_t)f->place)
                          : write(f->fd, f->buffer + at, f->used - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      f->failed = 1;
      return fail_io("write", f->path);
    }
    at += (size_t)n;
    f->place += (uint64_t)n;
  }
  f->used = 0;
  return DKHO_OK;
}

int file_clear_temp(const char *name) {
  struct stat st;
  int fd = file_open_fd(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
  if (fd < 0) return 0;
  int dead = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 && file_is_at(fd, name) &&
             unlink(name) == 0;
  close(fd);
  return dead;
}

/* A new file of this name, locked as long as it is open; -1 and errno when there is one already, or another reason. */
static int create_locked(const char *name) {
  int fd = file_open_fd(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return -1;
  /* whoever sweeps may have taken it for a dead one before we could lock it */
  if ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && file_is_at(fd, name)) return fd;
  close(fd);
  errno = EEXIST;
  return -1;
}

dkho_status file_temp(const char *path, int *fd, char **name) {
  size_t room = strlen(path) + 16;
  *fd = -1;
  if (!(*name = mem_alloc(room, 1))) return DKHO_E_MEMORY;
  for (int n = 0; n < TEMP_TRIES; n++) {
    snprintf(*name, room, "%s.tmp.%d", path, n);
    int taken = (*fd = create_locked(*name)) < 0 && errno == EEXIST;
    if (taken && file_clear_temp(*name)) taken = (*fd = create_locked(*name)) < 0 && errno == EEXIST;
    if (taken) continue;
    if (*fd < 0) break;
    for (int next = n + 1, more = 1; more && next < TEMP_TRIES; next++) { /* what dead ones left behind it */
      snprintf(*name, room, "%s.tmp.%d", path, next);
      more = file_clear_temp(*name);
    }
    snprintf(*name, room, "%s.tmp.%d", path, n);
    return DKHO_OK;
  }
  dkho_status s = fail_io("create a file beside it", path);
  mem_free(*name);
  *name = NULL;
  return s;
}

dkho_status file_open(file_out *f, const char *path, int force) {
  *f = (file_out){.fd = -1, .force = force};
  struct stat st;
  if (!path[0]) return fail(DKHO_E_INPUT, "the name of the file to write is empty");
  if (lstat(path, &st) == 0) {
    if (S_ISDIR(st.st_mode)) return fail(DKHO_E_EXISTS, "%s: is a directory", path);
    if (!force) return fail(DKHO_E_EXISTS, "%s: exists already; it is kept", path);
  }
  f->path = mem_strdup(path);
  f->buffer = mem_alloc(FILE_BUFFER, 1);
  dkho_status s = f->path && f->buffer ? file_temp(path, &f->fd, &f->temp) : DKHO_E_MEMORY;
  if (s != DKHO_OK) file_abort(f);
  return s;
}

dkho_status file_join(file_out *f, const char *path, const char *temp) {
  *f = (file_out){.fd = -1};
  f->path = mem_strdup(path);
  f->buffer = mem_alloc(FILE_BUFFER, 1);
  dkho_status s = f->path && f->buffer ? DKHO_OK : DKHO_E_MEMORY;
  if (s == DKHO_OK && (f->fd = file_open_fd(temp, O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0)) < 0) s = fail_io("open", temp);
  if (s != DKHO_OK) file_abort(f);
  return s;
}

void file_share(file_out *f, uint64_t first, uint64_t end) {
  f->shares = 1;
  f->first = f->place = first, f->end = end;
}

/* Of `count` bytes that come `at` so far into the file those that are put in place here. */
static size_t own_bytes(const file_out *f, uint64_t at, size_t count, const unsigned char **from) {
  uint64_t low = at > f->first ? at : f->first, high = at + count < f->end ? at + count : f->end;
  if (low >= high) return 0;
  *from += low - at;
  return (size_t)(high - low);
}

dkho_status file_write(file_out *f, const void *bytes, size_t count) {
  const unsigned char *from = bytes;
  uint64_t at = f->written;
  f->written += count;
  if (f->shares) count = own_bytes(f, at, count, &from);
  while (count) {
    size_t n = FILE_BUFFER - f->used < count ? FILE_BUFFER - f->used : count;
    memcpy(f->buffer + f->used, from, n);
    f->used += n;
    from += n;
    count -= n;
    if (f->used == FILE_BUFFER) TRY(flush(f));
  }
  return DKHO_OK;
}

dkho_status file_skip(file_out *f, uint64_t count) {
  TRY(flush(f));
  if (!f->shares) file_share(f, 0, UINT64_MAX); /* from here on by place */
  f->written += count;
  f->place = f->written;
  return DKHO_OK;
}

dkho_status file_printf(file_out *f, const char *fmt, ...) {
  char line[4096];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof line) return fail(DKHO_E_INTERNAL, "%s: a line of %d characters", f->path, n);
  return file_write(f, line, (size_t)n);
}

dkho_status file_patch(file_out *f, uint64_t offset, const void *bytes, size_t count) {
  TRY(flush(f));
  for (const char *from = bytes; count;) {
    ssize_t n = pwrite(f->fd, from, count, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      f->failed = 1;
      return fail_io("write", f->path);
    }
    from += n, offset += (uint64_t)n, count -= (size_t)n;
  }
  return DKHO_OK;
}

/* A descriptor of the directory that holds the target, to sync the rename; -1 where that cannot be had. */
static int open_directory(file_out *f) {
  char *slash = strrchr(f->path, '/');
  if (!slash) return file_open_fd(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  *slash = 0;
  int fd = file_open_fd(slash == f->path ? "/" : f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  *slash = '/';
  return fd;
}

/* Moves the temporary file to its name. Without force the target may have appeared meanwhile and must not be replaced:
 * where the file system cannot rename so (NFS), a hard link refuses just as well. */
static int put_in_place(const file_out *f) {
  if (f->force) return rename(f->temp, f->path);
  if (renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (link(f->temp, f->path) != 0) return -1;
  unlink(f->temp);
  return 0;
}

/* fsync where the file system knows it. */
static int sync_fd(int fd) {
  int failed;
  do failed = fsync(fd);
  while (failed && errno == EINTR);
  return !failed || errno == EINVAL || errno == EROFS ? 0 : -1;
}

/* A large file, as one of several processes: piece by piece, so that those who look whether this one hangs see it go on. */
static int sync_pieces(int fd) {
  const off_t piece = 64 << 20;
  const unsigned how = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  struct stat st;
  if (comm_world()->size == 1 || fstat(fd, &st) != 0) return 0;
  for (off_t at = 0; at < st.st_size && st.st_size > piece; at += piece) {
    if (sync_file_range(fd, at, piece, how) != 0) return errno == EIO || errno == ENOSPC || errno == EDQUOT ? -1 : 0;
    comm_watch(COMM_ALIVE);
  }
  return 0;
}

dkho_status file_sync(file_out *f) {
  TRY(flush(f));
  if (sync_pieces(f->fd) != 0) return fail_io("sync", f->path);
  return sync_fd(f->fd) == 0 ? DKHO_OK : fail_io("sync", f->path);
}

dkho_status file_commit(file_out *f) {
  int dir = open_directory(f), fd;
  dkho_status s = file_sync(f);
  fd = f->fd;
  f->fd = -1;
  if (close(fd) != 0 && errno != EINTR && s == DKHO_OK)
    s = fail_io("close", f->path); /* interrupted, it is closed too */
  if (s == DKHO_OK && put_in_place(f) != 0)
    s = errno == EEXIST ? fail(DKHO_E_EXISTS, "%s: exists already; it is kept", f->path)
                        : fail_io("put in place", f->path);
  else if (s == DKHO_OK)
    f->temp[0] = 0;
  if (s == DKHO_OK && dir >= 0 && sync_fd(dir) != 0) s = fail_io("sync the directory of", f->path);
  if (dir >= 0) close(dir);
  file_abort(f);
  return s;
}

void file_abort(file_out *f) {
  if (f->fd >= 0 && f->path) close(f->fd); /* 0 in a zeroed struct is not ours */
  if (f->temp && f->temp[0]) unlink(f->temp);
  mem_free(f->path);
  mem_free(f->temp);
  mem_free(f->buffer);
  *f = (file_out){.fd = -1};
}

dkho_status file_map_open(file_map *m, const char *path) {
  *m = (file_map){0};
  int fd = file_open_fd(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0); /* a pipe must not block us */
  if (fd < 0) return fail_io("open", path);
  struct stat st;
  dkho_status s = DKHO_OK;
  if (fstat(fd, &st) != 0)
    s = fail_io("read", path);
  else if (!S_ISREG(st.st_mode))
    s = fail(DKHO_E_IO, "%s: not a regular file", path);
  else if (limit_check(LIMIT_FILE, (uint64_t)st.st_size, DKHO_E_INPUT) != DKHO_OK)
    s = fail_prefix(DKHO_E_INPUT, "%s", path);
  else if (st.st_size > 0) {
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
      s = fail_io("map", path);
    else
      *m = (file_map){p, (size_t)st.st_size};
  }
  close(fd);
  return s;
}

void file_will_need(const void *bytes, size_t size) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)bytes / page * page;
  (void)posix_madvise((void *)start, (uintptr_t)bytes + size - start, POSIX_MADV_WILLNEED);
}

void file_map_close(file_map *m) {
  if (m->bytes) munmap((void *)(uintptr_t)m->bytes, m->size);
  *m = (file_map){0};
}
