/* raw.h: what every mesh reader fills in: points, simplices by degree with the tag of their group, names of groups.
 * raw_complex then applies the one set of rules (docs/FORMATS.md, "Mesh files") to all formats. */
#ifndef MESH_RAW_H
#define MESH_RAW_H

#include "mesh/cx.h"
#include "mesh/scan.h"

typedef struct raw_part {
  int64_t n, room;
  int32_t *vert; /* n × (k+1) point numbers, from 0 */
  int32_t *tag;  /* n, group of the element, 0: none */
} raw_part;

typedef struct raw_name {
  int dim; /* degree of the group's elements */
  int32_t tag;
  char *name;
} raw_name;

typedef struct raw {
  const char *file; /* borrowed, for messages */
  int64_t points, room;
  double *x; /* points × 3 */
  raw_part part[CX_DEGREES];
  int names, names_room;
  raw_name *name;
  /* Set when tags are label numbers already, name[i] belongs to label i+1, and a label on a simplex says nothing about
   * its faces: the files that mesh_write_vtu makes. */
  int exact;
} raw;

/* Arrays grow with what is put in, so memory follows the data and never a declared count. */
dkho_status raw_point(raw *m, const scan *at, const double x[3]); /* refuses what is not finite */
dkho_status raw_element(raw *m, int k, const int32_t *vert, int32_t tag);
/* Bytes that no text may hold are replaced by '_', names are cut at 127 bytes. An empty name is no name. */
dkho_status raw_group(raw *m, int dim, int32_t tag, scan_view name);
void raw_free(raw *m);

/* Which element types are simplices: 0 … 3 for point, line, triangle, tetrahedron. */
extern const char *const raw_kind[CX_DEGREES]; /* "point", "line", "triangle", "tetrahedron" */

/* The rules: range, repeated vertices, duplicates, unused points, dimension, orientation, labels. Spoils m. */
dkho_status raw_complex(raw *m, cx **out);
/* Turns triangles of a surface so that neighbours agree where the surface allows it. */
dkho_status raw_orient_surface(raw *m);
/* Turns tetrahedra of negative volume. */
void raw_orient_tets(raw *m);
/* Group tags to label numbers, names and labels into the complex. */
dkho_status raw_labels(const raw *m, cx *c);

/* The readers. `s` is the whole file. */
dkho_status read_msh(raw *m, scan *s);
dkho_status read_vtu(raw *m, scan *s);
dkho_status read_obj(raw *m, scan *s);
dkho_status read_off(raw *m, scan *s);

#endif
