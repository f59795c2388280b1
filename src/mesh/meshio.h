/* meshio.h: mesh files in and out. */
#ifndef MESH_MESHIO_H
#define MESH_MESHIO_H

#include "mesh/mesh_report.h"

/* What may be done to a mesh beyond what its file says. NULL or zeros: nothing of it. */
typedef struct mesh_options {
  int repair;       /* drop elements without extent, which otherwise refuse the file */
  int merge;        /* merge points at most `tolerance` apart; 0: those at exactly the same place */
  double tolerance; /* in the file's unit of length */
} mesh_options;

/* By the file's first bytes or ending; docs/FORMATS.md, "Mesh files", lists the formats, the rules for odd input and the repairs.
 * Groups become labels. *report (or NULL) gets what was repaired and where everything came from, for the caller to free;
 * repairs are logged too. Simplices below the top are numbered as by CX_LEX. A bad file gives DKHO_E_FORMAT, or
 * DKHO_E_NONFINITE for a coordinate. */
dkho_status mesh_read(cx **out, const char *path, const mesh_options *options, mesh_report *report);
/* The same from memory; `format` is an ending ("msh"), `name` is for messages. The fuzzers' entrance. */
dkho_status mesh_read_memory(cx **out, const void *bytes, size_t size, const char *format, const char *name,
                             const mesh_options *options, mesh_report *report);

/* A cochain to export: degree k, ch channels, n[k] × ch doubles, borrowed. */
typedef struct mesh_field {
  const char *name;
  int degree, channels;
  const double *data;
} mesh_field;
/* .vtu for ParaView: the simplices of every degree as cells with their cochains (NaN on cells of other degrees, point
 * data for degree 0), labels, and for a 1-cochain its Whitney vector field at the barycentres of the top simplices
 * ("NAME_vector", "NAME_c_vector" for channel c of several). Binary appended, deterministic bytes. Refuses fields called
 * degree, index or label, which are the file's own. */
dkho_status mesh_write_vtu(const char *path, int force, const cx *c, int fields, const mesh_field *field);
/* NAME.vtm for ParaView: a block per degree (vertices, edges, faces, cells), each a .vtu file in the folder NAME with the cochains of its
 * own degree and no others, vertex values on the points of all, Whitney vectors on the top block. The .vtm is written last. */
dkho_status mesh_write_vtm(const char *path, int force, const cx *c, int fields, const mesh_field *field);
/* Removes a .vtm and its blocks. */
void mesh_remove_vtm(const char *path);
/* NAME.pvd: a series of other files, each with a number that ParaView takes for a time. Files are named relative to it. */
typedef struct mesh_step {
  double time;
  const char *file;
} mesh_step;
dkho_status mesh_write_pvd(const char *path, int force, int64_t steps, const mesh_step *step);
/* Whitney interpolation of a 1-cochain (n[1] doubles) at the barycentre of each top simplex: out n[dim] × gdim. */
void mesh_whitney(const cx *c, const double *u, double *out);

#endif
