/* file.c: atomic replacement and read-only maps. */
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BUFFER = 1 << 20 };

static dkho_status io(const char *what, const char *path) {
  return fail(DKHO_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

int file_exists(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0;
}

dkho_status file_mkdir(const char *path) {
  struct stat st;
  if (mkdir(path, 0777) == 0) return DKHO_OK;
  if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return DKHO_OK;
  return io("make the directory", path);
}

static dkho_status flush(file_out *f) {
  for (size_t at = 0; at < f->used;) {
    ssize_t n = write(f->fd, f->buffer + at, f->used - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io("write", f->path);
    at += (size_t)n;
  }
  f->used = 0;
  return DKHO_OK;
}

dkho_status file_open(file_out *f, const char *path, int force) {
  *f = (file_out){.fd = -1, .force = force};
  struct stat st;
  if (lstat(path, &st) == 0) {
    if (S_ISDIR(st.st_mode)) return fail(DKHO_E_EXISTS, "%s: is a directory", path);
    if (!force) return fail(DKHO_E_EXISTS, "%s: exists already; it is kept", path);
  }
  size_t room = strlen(path) + 16;
  f->path = mem_strdup(path);
  f->temp = mem_alloc(room, 1);
  f->buffer = mem_alloc(FILE_BUFFER, 1);
  dkho_status s = DKHO_E_MEMORY;
  if (!f->path || !f->temp || !f->buffer) goto bad;
  snprintf(f->temp, room, "%s.tmp.XXXXXX", path);
  f->fd = mkostemp(f->temp, O_CLOEXEC);
  if (f->fd < 0) {
    s = io("create a file beside it", path);
    f->temp[0] = 0;
    goto bad;
  }
  mode_t mask = umask(0);
  umask(mask);
  fchmod(f->fd, 0666 & ~mask);
  return DKHO_OK;
bad:
  file_abort(f);
  return s;
}

dkho_status file_write(file_out *f, const void *bytes, size_t count) {
  const unsigned char *from = bytes;
  f->written += count;
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

dkho_status file_printf(file_out *f, const char *fmt, ...) {
  char line[4096];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof line) return fail(DKHO_E_INTERNAL, "%s: a line of %d characters", f->path, n);
  return file_write(f, line, (size_t)n);
}

/* The directory that holds `path`, synced so that the rename survives a power cut. */
static dkho_status sync_directory(const char *path) {
  char *dir = mem_strdup(path);
  if (!dir) return DKHO_E_MEMORY;
  char *slash = strrchr(dir, '/');
  if (slash) slash[slash == dir] = 0;
  int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mem_free(dir);
  if (fd < 0) return io("open the directory of", path);
  int bad = fsync(fd) != 0 && errno != EINVAL && errno != EROFS;
  close(fd);
  return bad ? io("sync the directory of", path) : DKHO_OK;
}

dkho_status file_commit(file_out *f) {
  dkho_status s = flush(f);
  if (s == DKHO_OK && fsync(f->fd) != 0 && errno != EINVAL) s = io("sync", f->path);
  if (s == DKHO_OK && close(f->fd) != 0) {
    f->fd = -1;
    s = io("close", f->path);
  }
  if (s == DKHO_OK) {
    f->fd = -1;
    /* Without force the target may have appeared meanwhile: link refuses where rename would replace. */
    if (f->force ? rename(f->temp, f->path) != 0 : link(f->temp, f->path) != 0) {
      s = errno == EEXIST ? fail(DKHO_E_EXISTS, "%s: exists already; it is kept", f->path)
                          : io("put in place", f->path);
    } else {
      if (!f->force) unlink(f->temp);
      f->temp[0] = 0;
      s = sync_directory(f->path);
    }
  }
  file_abort(f);
  return s;
}

void file_abort(file_out *f) {
  if (f->fd >= 0 && f->path) close(f->fd);
  if (f->temp && f->temp[0]) unlink(f->temp);
  mem_free(f->path);
  mem_free(f->temp);
  mem_free(f->buffer);
  *f = (file_out){.fd = -1};
}

dkho_status file_map_open(file_map *m, const char *path) {
  *m = (file_map){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block us */
  if (fd < 0) return io("open", path);
  struct stat st;
  dkho_status s = DKHO_OK;
  if (fstat(fd, &st) != 0)
    s = io("read", path);
  else if (!S_ISREG(st.st_mode))
    s = fail(DKHO_E_IO, "%s: not a regular file", path);
  else if (st.st_size > 0) {
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
      s = io("map", path);
    else
      *m = (file_map){p, (size_t)st.st_size};
  }
  close(fd);
  return s;
}

void file_map_close(file_map *m) {
  if (m->bytes) munmap((void *)(uintptr_t)m->bytes, m->size);
  *m = (file_map){0};
}
