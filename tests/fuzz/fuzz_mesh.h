/* fuzz_mesh.h: one run of a mesh reader. */
#ifndef FUZZ_MESH_H
#define FUZZ_MESH_H

#include "mesh/meshio.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int fuzz_mesh(const char *format, const uint8_t *data, size_t size) {
  cx *c;
  mesh_report r;
  mesh_options o = {.repair = size & 1, .merge = size >> 1 & 1, .tolerance = size & 4 ? 0.25 : 0};
  size_t live = mem_live_blocks();
  if (mesh_read_memory(&c, data, size, format, "fuzz", &o, &r) == DKHO_OK) {
    if (cx_check(c) != DKHO_OK) abort();
    for (int k = 0; k <= c->dim; k += c->dim)
      for (int64_t i = 0; i < c->n[k]; i++)
        if (r.n[k] != c->n[k] || r.origin[k][i] < 0 || r.origin[k][i] >= (k ? r.elements[k] : r.points)) abort();
    cx_free(c);
    mesh_report_free(&r);
  } else if (c || strncmp(dkho_error(), "fuzz: ", 6) != 0) {
    abort();
  }
  if (mem_live_blocks() != live) abort();
  return 0;
}

#endif
