/* read_msh_impl.h: what the two Gmsh layouts share. */
#ifndef MESH_READ_MSH_IMPL_H
#define MESH_READ_MSH_IMPL_H

#include "mesh/ids.h"

/* An entity of the geometry (4.x): its first physical group. */
typedef struct msh_entity {
  int32_t dim, tag, group;
} msh_entity;

typedef struct msh {
  raw *mesh;
  scan *s;
  int version; /* 1, 2, 40 or 41 */
  int binary;  /* the values of the large sections; names and section marks are text always */
  ids node;    /* tags of the points */
  int64_t entities, entity_room;
  msh_entity *entity; /* ascending by (dim, tag) once sealed */
} msh;

/* One value: a word of text, or 4 bytes (int), 8 bytes (size, real) in the machine's order. */
dkho_status msh_int(msh *f, const char *field, int64_t lo, int64_t hi, int64_t *out);
dkho_status msh_size(msh *f, const char *field, int64_t lo, int64_t hi, int64_t *out);
dkho_status msh_real(msh *f, const char *field, double *out);
/* A declared number of records that need at least `text` characters or `bytes` bytes each is compared with what is left.
 */
dkho_status msh_count(msh *f, const char *field, int64_t count, size_t text, size_t bytes);

/* Binary values start right after the line end of the text before them. */
dkho_status msh_end_of_line(scan *s);

typedef struct msh_shape {
  raw_shape shape;
  int corners, nodes;
} msh_shape;
/* What a Gmsh element type is, or an error that names the type. */
dkho_status msh_type(msh *f, int64_t type, msh_shape *out);
/* The nodes of one element, each read by `read` (msh_int or msh_size), and the element itself. */
typedef dkho_status msh_reader(msh *f, const char *field, int64_t lo, int64_t hi, int64_t *out);
dkho_status msh_element(msh *f, const msh_shape *t, int32_t group, msh_reader *read);

dkho_status msh1_elements(msh *f); /* its nodes are those of version 2 */
dkho_status msh2_nodes(msh *f);
dkho_status msh2_elements(msh *f);
dkho_status msh4_entities(msh *f);
dkho_status msh4_partitioned(msh *f);
dkho_status msh4_nodes(msh *f);
dkho_status msh4_elements(msh *f);

#endif
