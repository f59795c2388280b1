/* gen_planar_impl.h: what the parts of the planar mesher share: the domain with its boundary points (gen_planar.c), the
 * placing of interior points (gen_relax.c) and the triangulation that follows the points about (gen_flip.c). */
#ifndef MESH_GEN_PLANAR_IMPL_H
#define MESH_GEN_PLANAR_IMPL_H

#include "mesh/generate.h"

/* Points under construction: the fixed boundary points come first. */
typedef struct planar {
  const gen_planar *p;
  int64_t boundary, interior, room;
  double *x;      /* room × 2 */
  int32_t *label; /* boundary: 1 outer, 2 … holes */
  int64_t triangles;
  int32_t *tri;  /* triangles × 3, counter-clockwise */
  int32_t *twin; /* triangles × 3: side j of a triangle is opposite its vertex j; the same side as seen from the
                    neighbour, 3·neighbour + j', or -1 on the boundary */
} planar;

/* h(x): h_near within `near` of a hole, h_far beyond `far`, linear between. */
double planar_size(const gen_planar *p, const double *x);

/* Makes tri and twin anew: Delaunay triangles of the present points without those inside holes. */
dkho_status planar_triangulate(planar *m);
/* Triangles of each vertex: those of i are list[ptr[i]] … list[ptr[i+1]-1]; both from a. */
dkho_status planar_stars(const planar *m, arena *a, int64_t **ptr, int32_t **list);
/* After points have moved without turning a triangle over: flips sides until the triangulation is Delaunay again, the
 * boundary staying as it is. */
void planar_flip(planar *m);

/* Fills the domain with exactly `target` interior points, relaxed to the size field. x must have room for them. */
dkho_status planar_relax(planar *m, int64_t target);

#endif
