/* cx_impl.h: what the sources of the complex share among themselves. */
#ifndef MESH_CX_IMPL_H
#define MESH_CX_IMPL_H

#include "mesh/cx.h"

/* "vertex", "edge", "triangle", "tetrahedron" */
const char *cx_noun(int k);

/* Sorts k+1 ≤ 4 vertices ascending in place; the parity (±1) of the permutation. */
int cx_sort_vertices(int k, int32_t *v);

/* A complex without simplices: gdim, dim, n[0] and a copy of x (checked finite). Free it with cx_free. */
dkho_status cx_start(cx **out, int gdim, int64_t n0, const double *x, int dim);

/* From n[k] and vert[k], k = 1 … dim: checks the lists (range, repetition, order, duplicates, missing faces, purity)
 * and fills face, sign, coptr, coface, cosign, measure, dual and on_boundary. */
dkho_status cx_assemble(cx *c);

/* measure, dual and on_boundary of an otherwise finished complex (cx_geom.c). */
dkho_status cx_geometry(cx *c);

/* Measure of the simplex of degree k with these vertices. */
double cx_simplex_measure(const cx *c, int k, const int32_t *v);
/* The measure at or below which a simplex counts as degenerate; mean: the mean edge of the complex. */
double cx_least_measure(const cx *c, int k, const int32_t *v, double mean);
/* The doubled signed area of a planar triangle. */
double cx_area2(const double *a, const double *b, const double *p);

/* Mean of the k+1 vertices, gdim numbers. */
void cx_mean(const cx *c, int k, const int32_t *v, double *out);

#endif
