/* raw.h: what every mesh reader fills in: points, elements of any shape with the tag of their group, names of groups.
 * raw_complex then applies the one set of rules (docs/FORMATS.md, "From elements to a complex") to all formats. */
#ifndef MESH_RAW_H
#define MESH_RAW_H

#include "mesh/cx.h"
#include "mesh/mesh_report.h"
#include "mesh/meshio.h"
#include "mesh/scan.h"

/* Shapes of elements; the number of corners says which of a kind. */
typedef enum raw_shape {
  RAW_POINT,      /* 1 or more: each a point */
  RAW_LINE,       /* 2 or more: a chain */
  RAW_POLYGON,    /* 3 or more, round the rim */
  RAW_STRIP,      /* 3 or more: triangles 012, 213, 234, … */
  RAW_TET,        /* 4 */
  RAW_PYRAMID,    /* base round its rim, then the apex */
  RAW_PRISM,      /* base round its rim, then the corners above it in the same order; a hexahedron is one */
  RAW_POLYHEDRON, /* convex; the corners of each face round its rim, -1 between two faces */
  RAW_SHAPES
} raw_shape;
enum { RAW_SOLID_MAX = 12 }; /* corners of a pyramid or prism */

/* An element as the file has it. */
typedef struct raw_cell {
  int64_t first; /* its corners in raw.vert */
  int32_t corners, tag;
  raw_shape shape;
} raw_cell;

/* Simplices of one degree, cut from the elements. */
typedef struct raw_part {
  int64_t n, room;
  int32_t *vert; /* n × (k+1) point numbers, from 0 */
  int32_t *tag;  /* n, group of the element, 0: none */
  int32_t *from; /* n, element of the file, counted among those of this dimension */
} raw_part;

typedef struct raw_name {
  int dim; /* degree of the group's elements, -1: any */
  int32_t tag;
  char *name;
} raw_name;

typedef struct raw {
  const char *file;    /* borrowed, for messages */
  mesh_report *report; /* borrowed, never NULL */
  int64_t points, room;
  double *x;                 /* points × 3 */
  int64_t cells, cells_room; /* elements, in the file's order */
  raw_cell *cell;
  int64_t verts, verts_room;
  int32_t *vert;
  raw_part part[CX_DEGREES]; /* made by raw_cut */
  int names, names_room;
  raw_name *name;
  /* Set when tags are label numbers already, name[i] belongs to label i+1, and a label on a simplex says nothing about
   * its faces: the files that mesh_write_vtu makes. */
  int exact;
  int loose; /* set by formats whose elements share no points (.stl): those at the same place are merged */
} raw;

/* Arrays grow with what is put in, so memory follows the data and never a declared count. */
dkho_status raw_point(raw *m, const scan *at, const double x[3]); /* refuses what is not finite */
/* One element. Corners are copied; their range is judged by raw_complex, since points may come later. */
dkho_status raw_element(raw *m, raw_shape shape, int64_t corners, const int32_t *vert, int32_t tag);
/* Bytes that no text may hold are replaced by '_', names are cut at 127 bytes. An empty name is no name. */
dkho_status raw_group(raw *m, int dim, int32_t tag, scan_view name);
void raw_free(raw *m);
/* Corners of one element after the other, for readers: zero-initialise, set n = 0 for each, free vert with mem_free. */
typedef struct raw_corners {
  int64_t n, room;
  int32_t *vert;
} raw_corners;
dkho_status raw_corner(raw_corners *list, int64_t v); /* beyond 32 bits: -1, which no point has */
int raw_dimension(raw_shape shape);
/* Room for one more of n items of `size` bytes in *block; it doubles. */
dkho_status raw_grow(void **block, int64_t n, int64_t *room, size_t size);

/* The rules: range, merging, cutting, repeated vertices, duplicates, unused points, dimension, orientation, labels. Spoils
 * m; counts what it does in m->report. */
dkho_status raw_complex(raw *m, const mesh_options *o, cx **out);
/* Merges points at most `tolerance` apart with the first of them: corners name the kept one. The points stay. */
dkho_status raw_merge(raw *m, double tolerance);
/* How many points lie exactly where an earlier one does. */
dkho_status raw_coincident(const raw *m, int64_t *count);
/* Elements into simplices: fills part[]. */
dkho_status raw_cut(raw *m);
/* Cuts the polygon of n ≥ 4 different consecutive corners: n-2 triangles into `out`, its orientation kept. From the smallest
 * corner where that serves, else ear by ear. `scratch` has room for n. */
void raw_cut_polygon(const double *x, int64_t n, const int32_t *vert, int32_t *scratch, int32_t (*out)[3]);
/* Makes neighbouring triangles of a surface agree where it can be oriented; the larger part keeps its turn. */
dkho_status raw_orient_surface(raw *m);
/* Turns tetrahedra of negative volume; the first: one of them, 1 if it was turned. */
int raw_orient_tet(const double *x, int32_t *v);
void raw_orient_tets(raw *m);
/* Names and labels into a complex built with CX_LEX from the elements of degree c->dim. */
dkho_status raw_labels(const raw *m, cx *c);

/* The readers. `s` is the whole file. */
dkho_status read_msh(raw *m, scan *s);
dkho_status read_vtu(raw *m, scan *s);
dkho_status read_obj(raw *m, scan *s);
dkho_status read_off(raw *m, scan *s);
dkho_status read_stl(raw *m, scan *s);
dkho_status read_ply(raw *m, scan *s);
dkho_status read_vtk(raw *m, scan *s);
dkho_status read_medit(raw *m, scan *s);
dkho_status read_inp(raw *m, scan *s);
dkho_status read_su2(raw *m, scan *s);
/* TetGen's and Triangle's two files; from memory one after the other (nodes, then elements). */
dkho_status read_tetgen(raw *m, scan *nodes, scan *elements);
dkho_status read_node_ele(raw *m, scan *s);

#endif
