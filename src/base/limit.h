/* limit.h: ceilings that the environment sets, for programs that read strangers' files (docs/SECURITY.md). They are read once per process;
 * a value that is not a whole number allows nothing, and says so. */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include "base/status.h"

typedef enum {
  LIMIT_MEMORY,    /* DKHO_LIMIT_MEMORY: megabytes (10^6) that the library holds at a time */
  LIMIT_FILE,      /* DKHO_LIMIT_FILE: megabytes of one file that is read */
  LIMIT_SIMPLICES, /* DKHO_LIMIT_SIMPLICES: cells, or vertices, of one complex */
  LIMITS
} limit_kind;

/* Whether so much (bytes, or simplices) is allowed; otherwise `error` with a text that names the variable. */
dkho_status limit_check(limit_kind kind, uint64_t wanted, dkho_status error);

#endif
