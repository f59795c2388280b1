/* spool.h: a nameless file beside a target: written once from front to back, then read back as a map. It leaves nothing
 * behind, however the program ends. */
#ifndef DATA_SPOOL_H
#define DATA_SPOOL_H

#include "base/file.h"

typedef struct spool {
  int fd;             /* -1: closed */
  const char *target; /* for messages, borrowed */
  file_map map;
} spool;
dkho_status spool_open(spool *s, const char *target);
dkho_status spool_write(spool *s, const void *bytes, size_t count);
dkho_status spool_map(spool *s); /* no more writing */
void spool_close(spool *s);

#endif
