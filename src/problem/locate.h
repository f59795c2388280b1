/* locate.h: where a point lies in a planar complex, to read the fields of one mesh on another. */
#ifndef PROBLEM_LOCATE_H
#define PROBLEM_LOCATE_H

#include "mesh/cx.h"

typedef struct locator locator;
dkho_status locator_create(locator **out, const cx *c); /* c borrowed; planar triangles */
void locator_free(locator *l);
/* The triangle that holds x, and the barycentric coordinates of x in it. Outside the complex: the one of the triangles nearby that x is
 * least outside of; a coordinate is then negative. */
int64_t locator_find(const locator *l, const double x[2], double bary[3]);

/* A vertex field, linear on triangles, at the vertices of another complex. */
void locate_linear(const locator *l, const double *u, const cx *to, double *out);
/* Fields that are constant on triangles are first averaged over the triangles of each vertex, weighted by area, and then linear, which is
 * a better reading of them: numbers (N2) at the centroids of another complex, vectors (N2 × 2) along its edges. */
dkho_status locate_numbers(const locator *l, const double *face, const cx *to, double *out);
dkho_status locate_integrals(const locator *l, const double *face, const cx *to, double *out);

#endif
