/* surface.h: what can be seen of a complex: its triangles, or for tetrahedra the boundary with the half before a plane cut away and
 * the section that the cut lays open. Knows positions and weights; colours come later. */
#ifndef REPORT_SURFACE_H
#define REPORT_SURFACE_H

#include "mesh/cx.h"

typedef enum { PART_OUTER, PART_INNER, PART_SECTION } surface_part;

/* A triangle in simplex `simplex` of degree 2 or 3. Corner i stands at p[i] = Σ_j w[i][j] · (vertex j of the simplex). */
typedef struct patch {
  int32_t simplex;
  uint8_t degree, part;
  double p[3][3], w[3][4];
  double normal[3][3]; /* zero on sections: they are not shaded */
} patch;

/* A piece of edge `edge`, or of the outline of a tetrahedron's section (edge -1). */
typedef struct stroke {
  int32_t edge;
  uint8_t part, rim;    /* rim: a side of a section in the boundary */
  double p[2][3], t[2]; /* t: 0 at the tail of the edge, 1 at its head */
  double normal[2][3];
} stroke;

typedef struct surface {
  int64_t patches, strokes, patch_room, stroke_room;
  patch *patch;
  stroke *stroke;
  int cut;         /* 1: gone is where plane·(x - centre) > 0 */
  double plane[3]; /* unit normal */
  double centre[3];
} surface;
/* centre: of the cut. Complexes without triangles have strokes only. */
dkho_status surface_open(surface *s, const cx *c, const double centre[3]);
void surface_close(surface *s);
/* How far x is inside the part cut away: plane·(x - centre); negative outside, or without a cut. */
double surface_gone(const surface *s, const double x[3]);

#endif
