/* temp.h: temporary files and the calls under base/file: for those who write files themselves. */
#ifndef BASE_TEMP_H
#define BASE_TEMP_H

#include "base/file.h"

#include <sys/types.h>

/* A new file PATH.tmp.N, open for reading and writing, the first N that is free, with the rights that umask leaves; the name is
 * the caller's to free. It stays locked (flock) while it is open: so whoever meets a temporary file that nobody holds knows
 * that its owner is dead, and removes it, as this call does with those in its way. */
dkho_status file_temp(const char *path, int *fd, char **name);
/* Removes a temporary file if its owner is dead; says whether it did. Where the file system has no locks none is. */
int file_clear_temp(const char *name);

/* Writes over bytes that were written before (offset + count ≤ written), or those that file_skip left to one who joined. */
dkho_status file_patch(file_out *f, uint64_t offset, const void *bytes, size_t count);

int file_open_fd(const char *path, int flags, mode_t mode); /* open(), not disturbed by signals */
int file_is_at(int fd, const char *path);                   /* the open file is the one of this name */

#endif
