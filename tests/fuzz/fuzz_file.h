/* fuzz_file.h: the bytes of a run as a file that has a name. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include "base/mem.h"
#include "dkho.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                                                       \
  do {                                                                                                                 \
    if (!(x)) abort();                                                                                                 \
  } while (0)

/* A file in memory that holds the bytes; path: its name until it is closed. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[32]) {
  int fd = memfd_create("fuzz", 0);
  CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  snprintf(path, 32, "/proc/self/fd/%d", fd);
  return fd;
}

/* The last call refused the file, and says which. */
static inline void fuzz_refused(const char *path) {
  CHECK(strncmp(dkho_error(), path, strlen(path)) == 0);
}

#endif
