/* vtk_cell.h: VTK's cell types, for the formats that use them (.vtu, .vtk). */
#ifndef MESH_VTK_CELL_H
#define MESH_VTK_CELL_H

#include "mesh/raw.h"

enum { VTK_POLYHEDRON = 42 };

/* Adds cell `cell` of a VTK type with n points in VTK's order; corners alone are taken of a cell of higher order. A type that is not read,
 * or a number of points that does not suit it, is refused by name; `at` is for the message. An empty cell adds nothing. */
dkho_status vtk_cell(raw *m, const scan *at, int64_t cell, int64_t type, int64_t n, const int32_t *vert, int32_t tag);

#endif
