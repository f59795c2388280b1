/* file.h: files that are whole or not there. Writing goes to a temporary file in the target's directory; commit syncs
 * it, renames it over the target and syncs the directory. Reading maps the file. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/status.h"

typedef struct file_out {
  int fd; /* -1 when closed */
  char *path, *temp;
  unsigned char *buffer; /* FILE_BUFFER bytes */
  size_t used;
  uint64_t written; /* bytes accepted so far */
  int force, failed;
  int shares;                 /* 1: of these bytes only those from `first` to `end` are put in place here, */
  uint64_t first, end, place; /* the buffer's from `place` on */
} file_out;

/* Zero-initialise, open, write …, then commit or abort. Refuses with DKHO_E_EXISTS, before any work, when the target
 * exists and force is 0; a directory is never replaced, a symbolic link is, not what it points to. Abort after commit, or of a zeroed struct, does nothing. A failed write leaves the target as
 * it was; only when the directory cannot be synced afterwards is it the new one already. */
dkho_status file_open(file_out *f, const char *path, int force);
dkho_status file_write(file_out *f, const void *bytes, size_t count);
dkho_status file_printf(file_out *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
dkho_status file_commit(file_out *f);
void file_abort(file_out *f);

/* Several processes may write one file: one opens it, the others join the temporary file of that one (f->temp). All write the same bytes, and
 * each puts its share of them in place. Those who joined sync and abort, which leaves the file; the one that opened it commits when all
 * have come so far. */
dkho_status file_join(file_out *f, const char *path, const char *temp);
void file_share(file_out *f, uint64_t first, uint64_t end); /* before the first write */
dkho_status file_sync(file_out *f);                         /* what was written here so far is durable */
/* The next bytes are put in place by one who joined (file_patch of base/temp.h). */
dkho_status file_skip(file_out *f, uint64_t count);

typedef struct file_map {
  const unsigned char *bytes; /* NULL for an empty file */
  size_t size;
} file_map;
dkho_status file_map_open(file_map *m, const char *path); /* regular files only */
void file_map_close(file_map *m);
/* Part of a mapped file that will be read soon. Advice: it never fails and changes nothing but time. */
void file_will_need(const void *bytes, size_t size);

int file_exists(const char *path);
dkho_status file_mkdir(const char *path);     /* one level; an existing directory is fine */
dkho_status file_mkdir_all(const char *path); /* and those above it */

#endif
