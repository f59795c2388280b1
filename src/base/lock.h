/* lock.h: one writer at a time for a directory or a file, across processes. The lock is the kernel's (flock on a small file that
 * names the owner), so it ends with its owner, however that ends: a lock file left by a killed process is taken over. On NFS
 * Linux turns it into a lock of the server, which holds between machines as far as the server's lock service does; where a file
 * system knows no locks at all the caller goes on without one, and a log line says so. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/status.h"

typedef struct lock {
  int held; /* 0 in a zeroed struct: nothing to release */
  int fd;
  char *path;
} lock;

/* "PATH" in messages is the thing itself, `file` the lock file. DKHO_E_IO, with the owner's process and machine, when another
 * process or thread has it. */
dkho_status lock_take(lock *l, const char *path, const char *file);
void lock_release(lock *l); /* removes the lock file; a lock that is not held is fine */

#endif
