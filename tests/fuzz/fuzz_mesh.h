/* fuzz_mesh.h: one run of a mesh reader. */
#ifndef FUZZ_MESH_H
#define FUZZ_MESH_H

#include "mesh/meshio.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int fuzz_mesh(const char *format, const uint8_t *data, size_t size) {
  cx *c;
  size_t live = mem_live_blocks();
  if (mesh_read_memory(&c, data, size, format, "fuzz", NULL, NULL) == DKHO_OK) {
    if (cx_check(c) != DKHO_OK) abort();
    cx_free(c);
  } else if (c || strncmp(dkho_error(), "fuzz: ", 6) != 0) {
    abort();
  }
  if (mem_live_blocks() != live) abort();
  return 0;
}

#endif
