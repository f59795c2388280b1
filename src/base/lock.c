/* lock.c: flock, and the name of the owner for whoever is turned away. */
#include "base/lock.h"
#include "base/mem.h"
#include "base/report.h"
#include "base/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 1000, OWNER_ROOM = 320 };

/* "process 123 on host", as the owner wrote it; before it did, somebody. */
static void read_owner(int fd, char owner[OWNER_ROOM]) {
  ssize_t n = pread(fd, owner, OWNER_ROOM - 1, 0);
  owner[n > 0 ? n : 0] = 0;
  owner[strcspn(owner, "\n")] = 0;
  for (char *c = owner; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  if (strncmp(owner, "process ", 8) != 0) snprintf(owner, OWNER_ROOM, "another process");
}

/* For people: a full disk does not keep the lock from being one. */
static void write_owner(int fd) {
  char host[256] = "", line[OWNER_ROOM];
  if (gethostname(host, sizeof host - 1) != 0 || !host[0]) snprintf(host, sizeof host, "an unnamed machine");
  int n = snprintf(line, sizeof line, "process %ld on %s\n", (long)getpid(), host);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, line, (size_t)n, 0) != n) return;
}

static dkho_status turned_away(int fd, const char *path) {
  char owner[OWNER_ROOM];
  read_owner(fd, owner);
  return fail(DKHO_E_IO, "%s: is being written by %s; wait until it has ended, or choose another name", path, owner);
}

/* One try: 1 the lock is ours, 0 try again, -1 no locks here, -2 failed with *s. */
static int try_lock(lock *l, const char *path, dkho_status *s) {
  l->fd = file_open_fd(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (l->fd < 0) {
    *s = fail(DKHO_E_IO, "%s: cannot make the lock file: %s", l->path, strerror(errno));
    return -2;
  }
  int refused = flock(l->fd, LOCK_EX | LOCK_NB), why = errno;
  if (refused && why == EWOULDBLOCK && file_is_at(l->fd, l->path)) {
    *s = turned_away(l->fd, path);
    close(l->fd);
    return -2;
  }
  if (!refused && file_is_at(l->fd, l->path)) return 1;
  close(l->fd);
  return refused && why != EWOULDBLOCK && why != EINTR ? -1 : 0;
}

dkho_status lock_take(lock *l, const char *path, const char *file) {
  *l = (lock){.fd = -1};
  if (!(l->path = mem_strdup(file))) return DKHO_E_MEMORY;
  dkho_status s = DKHO_OK;
  int won = 0;
  for (int i = 0; won == 0 && i < TRIES; i++) won = try_lock(l, path, &s);
  if (won == 1) {
    l->held = 1;
    write_owner(l->fd);
    return DKHO_OK;
  }
  if (won == 0) s = fail(DKHO_E_IO, "%s: its lock file %s changes hands all the time", path, file);
  if (won == -1) {
    report_log("%s: the file system has no locks; nothing keeps a second process from writing there", path);
    unlink(file);
  }
  mem_free(l->path);
  *l = (lock){.fd = -1};
  return s;
}

void lock_release(lock *l) {
  if (l->held) {
    unlink(l->path); /* while it is ours: whoever waits sees that the name has gone and makes a new one */
    close(l->fd);
  }
  mem_free(l->path);
  *l = (lock){.fd = -1};
}
