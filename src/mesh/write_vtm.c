/* write_vtm.c: a complex as one block per degree, and series of such files. */
#include "mesh/vtu_impl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

static const char *const block_name[CX_DEGREES] = {"vertices", "edges", "faces", "cells"};

static int stem_length(const char *path) {
  return (int)strlen(path) - 4;
}

/* The last part of a path. */
static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void block_path(const char *path, int k, char out[PATH_ROOM]) {
  snprintf(out, PATH_ROOM, "%.*s/%s.vtu", stem_length(path), path, block_name[k]);
}

static dkho_status write_head(file_out *f, const char *type, const char *version) {
  return file_printf(f, "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"%s\" byte_order=\"%s\">\n", type,
                     version, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? "BigEndian" : "LittleEndian");
}

static dkho_status finish_file(file_out *f, dkho_status s) {
  if (s == DKHO_OK) return file_commit(f);
  file_abort(f);
  return s;
}

static dkho_status write_block_list(file_out *f, const char *path, int dim) {
  char stem[PATH_ROOM];
  snprintf(stem, sizeof stem, "%.*s", stem_length(path), path);
  TRY(write_head(f, "vtkMultiBlockDataSet", "1.0"));
  TRY(file_printf(f, "  <vtkMultiBlockDataSet>\n"));
  for (int k = 0; k <= dim; k++) {
    TRY(file_printf(f, "    <DataSet index=\"%d\" name=\"%s\" file=\"", k, block_name[k]));
    TRY(vtu_write_escaped(f, base_of(stem)));
    TRY(file_printf(f, "/%s.vtu\"/>\n", block_name[k]));
  }
  return file_printf(f, "  </vtkMultiBlockDataSet>\n</VTKFile>\n");
}

static dkho_status write_blocks(const char *path, int force, const cx *c, int fields, const mesh_field *field) {
  char block[PATH_ROOM];
  file_out f = {0};
  for (int k = 0; k <= c->dim; k++) {
    block_path(path, k, block);
    TRY(vtu_write_degrees(block, force, c, k, k, fields, field));
  }
  TRY(file_open(&f, path, force));
  return finish_file(&f, write_block_list(&f, path, c->dim));
}

void mesh_remove_vtm(const char *path) {
  char name[PATH_ROOM];
  unlink(path);
  for (int k = 0; k < CX_DEGREES; k++) {
    block_path(path, k, name);
    unlink(name);
  }
  snprintf(name, sizeof name, "%.*s", stem_length(path), path);
  rmdir(name);
}

dkho_status mesh_write_vtm(const char *path, int force, const cx *c, int fields, const mesh_field *field) {
  char stem[PATH_ROOM];
  size_t length = strlen(path);
  if (length < 5 || strcmp(path + length - 4, ".vtm") != 0 || length > PATH_ROOM - 32)
    return fail(DKHO_E_INPUT, "%s: expected a name that ends in .vtm", path);
  snprintf(stem, sizeof stem, "%.*s", stem_length(path), path);
  if (!force && (file_exists(path) || file_exists(stem)))
    return fail(DKHO_E_EXISTS, "%s: exists already; it is kept", file_exists(path) ? path : stem);
  int fresh = !file_exists(stem);
  TRY(file_mkdir(stem));
  dkho_status s = write_blocks(path, force, c, fields, field);
  if (s != DKHO_OK && fresh) mesh_remove_vtm(path);
  return s;
}

static dkho_status write_steps(file_out *f, int64_t steps, const mesh_step *step) {
  TRY(write_head(f, "Collection", "0.1"));
  TRY(file_printf(f, "  <Collection>\n"));
  for (int64_t i = 0; i < steps; i++) {
    TRY(file_printf(f, "    <DataSet timestep=\"%.17g\" part=\"0\" file=\"", step[i].time));
    TRY(vtu_write_escaped(f, step[i].file));
    TRY(file_printf(f, "\"/>\n"));
  }
  return file_printf(f, "  </Collection>\n</VTKFile>\n");
}

dkho_status mesh_write_pvd(const char *path, int force, int64_t steps, const mesh_step *step) {
  file_out f = {0};
  TRY(file_open(&f, path, force));
  return finish_file(&f, write_steps(&f, steps, step));
}
