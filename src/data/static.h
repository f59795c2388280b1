/* static.h: arrays that geometry alone decides, shared by all problems and by import. Row-major doubles, written to
 * arrays of the caller. */
#ifndef DATA_STATIC_H
#define DATA_STATIC_H

#include "mesh/cx.h"

/* Column-wise (v - mean)/(population std + 1e-6), in place: n × ch. */
void static_standardise(int64_t n, int ch, double *v);
/* Standardised centroids of degree k: n[k] × gdim. */
void static_positions(const cx *c, int k, double *out);
/* (x_head - x_tail)/max(length, 1e-8): n[1] × gdim. */
void static_tangents(const cx *c, double *out);
/* Unit normals of the triangles, by their vertex order: n[2] × 3; gdim 3. */
void static_normals(const cx *c, double *out);
/* One column per label name, 1 where label[k] says so (all interior when degree k has no labels): n[k] × labels. */
void static_onehot(const cx *c, int k, double *out);
/* Mean of a vertex field over the vertices of each k-simplex: u n[0] × ch, out n[k] × ch. */
void static_vertex_mean(const cx *c, int k, int ch, const double *u, double *out);
/* Plain mean over the k-simplices that contain each vertex: u n[k] × ch, out n[0] × ch. */
dkho_status static_mean_to_vertices(const cx *c, int k, int ch, const double *u, double *out);
/* Plain mean over the cofaces of each k-simplex (0 where there are none): u n[k+1] × ch, out n[k] × ch. */
void static_mean_of_cofaces(const cx *c, int k, int ch, const double *u, double *out);
/* Euclidean distance of each vertex to the nearest vertex with mask 1, over `divisor`: n[0]; infinite when none is marked. */
void static_distance(const cx *c, const uint8_t *mask, double divisor, double *out);
/* Diagonal of the bounding box. */
double static_diagonal(const cx *c);
/* Lumped measure: 1/(dim+1) of the measures of the top simplices at each vertex: n[0]. Their sum is the total. */
void static_lumped(const cx *c, double *out);

#endif
