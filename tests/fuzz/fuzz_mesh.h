/* fuzz_mesh.h: one run of a mesh reader: a sound complex with its origins, or a message. What was read is written as a container and
 * read again: the same complex, to the bit. */
#ifndef FUZZ_MESH_H
#define FUZZ_MESH_H

#include "fuzz_file.h"

#include "mesh/meshio.h"

static inline void fuzz_cx_save(const cx *c, const char *path) {
  st_writer *w;
  CHECK(st_create(&w, path, 1) == DKHO_OK && cx_declare(c, w, "") == DKHO_OK && cx_write(c, w) == DKHO_OK &&
        st_commit(w) == DKHO_OK);
}

static inline void fuzz_cx_again(const cx *c) {
  static char first[FUZZ_PATH], second[FUZZ_PATH];
  st_file *f;
  cx *again;
  fuzz_cx_save(c, fuzz_path(first, "first.st"));
  CHECK(st_open(&f, first) == DKHO_OK && cx_get(&again, f, "") == DKHO_OK);
  fuzz_cx_save(again, fuzz_path(second, "second.st"));
  cx_free(again);
  st_close(f);
  CHECK(fuzz_same(first, second));
}

static inline int fuzz_mesh(const char *format, const uint8_t *data, size_t size) {
  cx *c;
  mesh_report r;
  mesh_options o = {.repair = size & 1, .merge = size >> 1 & 1, .tolerance = size & 4 ? 0.25 : 0};
  fuzz_run run = fuzz_begin(size);
  if (mesh_read_memory(&c, data, size, format, "fuzz", &o, &r) == DKHO_OK) {
    CHECK(cx_check(c) == DKHO_OK);
    for (int k = 0; k <= c->dim; k += c->dim)
      for (int64_t i = 0; i < c->n[k]; i++)
        CHECK(r.n[k] == c->n[k] && r.origin[k][i] >= 0 && r.origin[k][i] < (k ? r.elements[k] : r.points));
    fuzz_cx_again(c);
    cx_free(c);
    mesh_report_free(&r);
  } else {
    CHECK(!c);
    fuzz_refused("fuzz: ");
  }
  fuzz_end(&run);
  return 0;
}

#endif
