/* read_vtk_impl.h: what the sources of VTK's legacy format share. */
#ifndef MESH_READ_VTK_IMPL_H
#define MESH_READ_VTK_IMPL_H

#include "mesh/raw.h"

enum { VTK_BIG_ENDIAN = 1 }; /* the order of binary values, on every machine */

typedef struct vtk_numbers {
  int64_t n, room;
  int64_t *value;
} vtk_numbers;

typedef struct vtk {
  raw *mesh;
  scan *s;
  int binary, grid; /* grid: UNSTRUCTURED_GRID, whose types come after the cells */
  int seen_points;
  raw_corners corners;
  vtk_numbers offsets, list, types; /* of the grid's cells: corners of all of them, ends, types */
} vtk;

int vtk_next_line(vtk *f, scan *line); /* that is not blank; 0 at the end */
dkho_status vtk_type(const scan *at, scan_view word, scan_type *out);
/* Before `count` values: could they be here? In a binary file typed values are bytes until vtk_end. */
dkho_status vtk_start(vtk *f, const char *field, int64_t count, scan_type t);
void vtk_end(vtk *f);
dkho_status vtk_keep(vtk_numbers *a, int64_t v);
dkho_status vtk_integers(vtk *f, const char *field, int64_t count, scan_type t, vtk_numbers *out);

/* After the word POINT_DATA or CELL_DATA. Looks for groups as long as it can make sense of what is there; nothing of it is needed. */
dkho_status vtk_attributes(vtk *f, scan *line, int cells);
/* FIELD name arrays; each: name components tuples type, values. */
dkho_status vtk_field(vtk *f, scan *line, int cells);

#endif
