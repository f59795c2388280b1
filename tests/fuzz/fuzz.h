/* fuzz.h: what every target asks of a run, whatever the bytes: nothing leaks, no more memory than the input has bytes and 16 MB, no more
 * than a second of processor time. */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/mem.h"
#include "dkho.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                                                       \
  do {                                                                                                                 \
    if (!(x)) {                                                                                                        \
      fprintf(stderr, "%s:%d: %s; the last error: '%s'\n", __FILE__, __LINE__, #x, dkho_error());                      \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

typedef struct fuzz_run {
  size_t blocks, bytes, room;
  double began;
} fuzz_run;

static inline double fuzz_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline fuzz_run fuzz_begin(size_t size) {
  mem_peak_restart();
  return (fuzz_run){mem_live_blocks(), mem_live_bytes(), size + ((size_t)16 << 20), fuzz_seconds()};
}

static inline void fuzz_end(const fuzz_run *r) {
  CHECK(mem_live_blocks() == r->blocks && mem_live_bytes() == r->bytes);
  CHECK(mem_peak_bytes() - r->bytes <= r->room);
  CHECK(fuzz_seconds() - r->began <= 1);
}

/* The last call refused the input, and says which. */
static inline void fuzz_refused(const char *name) {
  CHECK(strncmp(dkho_error(), name, strlen(name)) == 0);
}

#endif
