/* whole.c: text files of the tool's own that appear whole or not at all: written beside their name, synced, renamed. An interrupted call is
 * made again. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *whole_begin(whole_file *w, const char *path) {
  w->path = path;
  w->file = NULL;
  if (snprintf(w->temp, sizeof w->temp, "%s.tmp.%ld", path, (long)getpid()) >= (int)sizeof w->temp) return NULL;
  do w->file = fopen(w->temp, "w");
  while (!w->file && errno == EINTR);
  return w->file;
}

/* Everything on disk; nonzero: an error other than an interruption. */
static int flush_whole(FILE *f) {
  while (fflush(f) != 0)
    if (errno != EINTR) return 1;
  while (fsync(fileno(f)) != 0)
    if (errno != EINTR) return 1;
  return ferror(f);
}

int whole_end(whole_file *w, int bad) {
  if (!w->file) return EXIT_FAILED;
  bad = bad || flush_whole(w->file);
  if (fclose(w->file) != 0 && errno != EINTR) bad = 1; /* an interrupted close closes all the same */
  if (!bad && rename(w->temp, w->path) == 0) return EXIT_DONE;
  unlink(w->temp);
  return EXIT_FAILED;
}
