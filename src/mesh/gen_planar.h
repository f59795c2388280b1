/* gen_planar.h: what the two halves of the planar mesher share: the domain with its boundary points (gen_planar.c) and
 * the placing of interior points (gen_relax.c). */
#ifndef MESH_GEN_PLANAR_H
#define MESH_GEN_PLANAR_H

#include "mesh/generate.h"

/* Points under construction: the fixed boundary points come first. */
typedef struct planar {
  const gen_planar *p;
  int64_t boundary, interior, room;
  double *x;      /* room × 2 */
  int32_t *label; /* boundary: 1 outer, 2 … holes */
} planar;

/* h(x): h_near within `near` of a hole, h_far beyond `far`, linear between. */
double planar_size(const gen_planar *p, const double *x);

/* Delaunay triangles of the present points without those inside holes; *tops is owned by the caller. */
dkho_status planar_triangles(const planar *m, int64_t *count, int32_t **tops);

/* Fills the domain with exactly `target` interior points, relaxed to the size field. x must have room for them. */
dkho_status planar_relax(planar *m, int64_t target);

#endif
