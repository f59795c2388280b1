/* mesh_report.h: what became of a mesh file on its way to a complex: how much was repaired, and which point and element of
 * the file each vertex and top simplex came from. Written by the rules (raw_rules.c), read by `dkho mesh` and data import. */
#ifndef MESH_MESH_REPORT_H
#define MESH_MESH_REPORT_H

#include "mesh/cx.h"

/* Every kind of repair: name, key in JSON, text of the log after its count. */
#define MESH_REPAIR_LIST(X)                                                                                            \
  X(MESH_CUT, "cut", "elements cut into simplices by their smallest vertices")                                         \
  X(MESH_HIGH_ORDER, "high_order", "elements of higher order reduced to their corners")                                \
  X(MESH_MERGED, "merged", "points merged with another at the same place")                                             \
  X(MESH_COINCIDENT, "coincident", "points coincide with another and are kept apart (--merge 0 joins them)")           \
  X(MESH_UNUSED, "unused", "points belong to no element of the mesh and are dropped")                                  \
  X(MESH_COLLAPSED, "collapsed", "elements with a repeated vertex dropped")                                            \
  X(MESH_FLAT, "flat", "elements without extent dropped")                                                              \
  X(MESH_REPEATED, "repeated", "repeated elements dropped")                                                            \
  X(MESH_BAD_LABEL, "bad_label", "elements of lower dimension name points that are not there and are dropped")         \
  X(MESH_LOOSE, "loose", "elements of lower dimension are no faces of the mesh and are dropped")                       \
  X(MESH_TURNED, "turned", "elements turned round to agree with the others")                                           \
  X(MESH_TWISTED, "twisted", "pieces of the surface cannot be oriented and stay as given")                             \
  X(MESH_SHARED, "shared_groups", "entities are in several physical groups; the first counts")                         \
  X(MESH_GROUPS, "groups", "groups of elements beyond the 4095 that can be labels are left out")

typedef enum mesh_repair {
#define MESH_X(name, key, text) name,
  MESH_REPAIR_LIST(MESH_X)
#undef MESH_X
      MESH_REPAIRS
} mesh_repair;

typedef struct mesh_report {
  int64_t count[MESH_REPAIRS];
  int64_t points;               /* of the file */
  int64_t elements[CX_DEGREES]; /* of the file, by dimension */
  int64_t n[CX_DEGREES];        /* lengths of origin */
  int32_t *origin[CX_DEGREES];  /* owned. [0]: the file's point behind each vertex; [dim]: the file's element, counted
                                  * among those of this dimension, behind each top simplex; both from 0; else NULL */
} mesh_report;

const char *mesh_repair_key(mesh_repair r);
int mesh_repair_find(const char *key); /* -1: none */
/* One line for each kind of repair that happened, through report_log. */
void mesh_report_log(const mesh_report *r, const char *file);
void mesh_report_free(mesh_report *r);

#endif
