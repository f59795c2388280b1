/* cx.h: an oriented simplicial complex of degrees 0 … 3, topology first, geometry beside it.
 *
 * The contract. Let N_k = n[k].
 *  - dim is the top degree; n[k] = 0 for k > dim. Every simplex of degree < dim is a face of a top simplex (pure
 * complex).
 *  - vert[k] (N_k × (k+1), k = 1 … dim) lists vertices. Edges: vert[1][2e] < vert[1][2e+1], tail then head. Top
 * simplices keep the order they were given in (a surface keeps its orientation; planar triangles are
 * counter-clockwise). Triangles that are not top simplices are ascending.
 *  - The orientation of a simplex is that of its vertex list.
 *  - face[k] (N_k × (k+1), k = 1 … dim): the (k-1)-faces of simplex i, ascending by index; sign[k] beside it, ±1: the
 * entry of the coboundary matrix d_{k-1} in row i. So (d_{k-1} u)_i = Σ_j sign[k][i(k+1)+j] · u[face[k][i(k+1)+j]].
 *  - coptr[k] (N_k + 1), coface[k], cosign[k] (k = 0 … dim-1): the transpose in gather form, cofaces ascending:
 *    (d_kᵀ w)_i = Σ_{p = coptr[k][i]}^{coptr[k][i+1]-1} cosign[k][p] · w[coface[k][p]].
 *  - d_{k+1} d_k = 0 exactly, in integers.
 *  - label[k] (N_k, or NULL): 0 inside, positive on labelled parts (boundary pieces, physical groups); label_name lists
 *    what each number means.
 *  - x (N_0 × gdim), gdim 2 or 3.
 *  - measure[k] (k = 1 … dim): length, area, volume, all positive; measure[0] is NULL (it is 1).
 *  - dual[k] (k = 0 … dim): barycentric dual measure of each simplex (dual[dim] = 1), see cx_geom.c.
 *  - on_boundary[k] (k = 0 … dim-1): 1 when the simplex is a face of a (dim-1)-simplex with exactly one coface.
 * All arrays are owned by the complex and never change after cx_build / cx_get, but for the labels (cx_set_labels). */
#ifndef MESH_CX_H
#define MESH_CX_H

#include "base/mem.h"
#include "base/st.h"

enum { CX_DEGREES = 4, CX_LABELS_MAX = 4096 };

typedef struct cx {
  int dim, gdim;
  int64_t n[CX_DEGREES];
  double *x;
  int32_t *vert[CX_DEGREES];
  int32_t *face[CX_DEGREES];
  int8_t *sign[CX_DEGREES];
  int64_t *coptr[CX_DEGREES];
  int32_t *coface[CX_DEGREES];
  int8_t *cosign[CX_DEGREES];
  double *measure[CX_DEGREES];
  double *dual[CX_DEGREES];
  uint8_t *on_boundary[CX_DEGREES];
  int32_t *label[CX_DEGREES];
  int labels;              /* number of label names; label values are 0 … labels-1 */
  const char **label_name; /* label_name[0] is "interior" */
  arena mem;
} cx;

/* How simplices below the top are numbered. */
typedef enum {
  CX_APPEARANCE, /* in order of first appearance walking the top simplices: (a,b), (b,c), (c,a) of a triangle */
  CX_LEX         /* lexicographic by ascending vertex list */
} cx_order;

/* From `tops` simplices of degree dim (0 … 3) with (dim+1) vertices each. Copies its input. Refuses indices out of
 * range, repeated vertices, duplicate simplices, vertices of no simplex, elements of measure ≤ 1e-14·(typical measure),
 * non-finite coordinates, more than 2^31-1 simplices of a degree. Planar triangles (gdim 2) given clockwise are turned
 * round. */
dkho_status cx_build(cx **out, int gdim, int64_t n0, const double *x, int dim, int64_t tops, const int32_t *top,
                     cx_order order);
dkho_status cx_copy(cx **out, const cx *c);
void cx_free(cx *c);
/* Labels of degree k (n[k] values in 0 … labels-1, copied); names are set by cx_name_labels first. */
dkho_status cx_name_labels(cx *c, int labels, const char *const *names);
dkho_status cx_set_labels(cx *c, int k, const int32_t *label);

/* Checks the whole contract above; the text says what is wrong where. For tests; cx_get checks what a file may have wrong. */
dkho_status cx_check(const cx *c);

/* y = d_k x (y: n[k+1]×ch, x: n[k]×ch, row-major) and y = d_kᵀ x, in double, for set-up work. */
void cx_d(const cx *c, int k, int ch, const double *x, double *y);
void cx_dt(const cx *c, int k, int ch, const double *x, double *y);

/* Centroids of the k-simplices: n[k] × gdim, written to out. */
void cx_centroids(const cx *c, int k, double *out);
/* The simplex of degree k with this ascending vertex list, or -1. O(valence). */
int64_t cx_find(const cx *c, int k, const int32_t *ascending);

typedef struct cx_quality {
  double min_angle, max_angle; /* degrees; of triangles, or dihedral angles of tetrahedra */
  double worst_aspect;         /* longest edge over shortest altitude, scaled so that the regular simplex has 1 */
  double edge_min, edge_mean, edge_max;
  double total;              /* measure of the top simplices */
  int64_t boundary_faces;    /* (dim-1)-simplices with one coface */
  int64_t nonmanifold_faces; /* (dim-1)-simplices with more than two */
  int oriented;              /* 1 when neighbouring top simplices agree everywhere */
  int components;
} cx_quality;
dkho_status cx_measure(const cx *c, cx_quality *q);

/* The complex as part of a container: tensors "PREFIXx", "PREFIXvert1", … (docs/FORMATS.md), to be declared and then
 * written in the same order. cx_get rebuilds faces, signs, measures from the vertex lists and checks everything. */
dkho_status cx_declare(const cx *c, st_writer *w, const char *prefix);
dkho_status cx_write(const cx *c, st_writer *w);
dkho_status cx_get(cx **out, const st_file *f, const char *prefix);

#endif
