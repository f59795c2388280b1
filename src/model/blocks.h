/* blocks.h: what the models beside dkho are put together from: named maps, and what they take from a complex: positions,
 * neighbours, directed edges, means on the target's simplices, maps between points and the cells of a grid. Arrays and maps
 * live in the tape they are recorded on. */
#ifndef MODEL_BLOCKS_H
#define MODEL_BLOCKS_H

#include "model/model.h"

typedef char block_label[PARAM_NAME_MAX + 2];
const char *block_name(block_label out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* [x_1 | … | x_n] NAME.w + NAME.b, and the layer norm NAME.g, NAME.b. */
var block_affine(tape *t, const char *name, int n, const var *x);
var block_norm(tape *t, const char *name, var x);
/* The input F_k of a model, noted in the net. */
var block_feature(const model_setup *s, const model_view *v, tape *t, int k, model_net *net);
/* Ends a recording: the prediction, the target and the relative error between them. */
void block_finish(const model_setup *s, const model_view *v, tape *t, var predicted, model_net *net);

/* How the published networks meet a complex. Plane: a learned map narrows the vertex channels, grids are two-dimensional over
 * (x, y). Surface and volume: raw coordinates stand beside the channels, grids are three-dimensional. Each has the published
 * sizes of one benchmark: planar flow and forms on surfaces; vertex fields on a surface; a volume. */
typedef enum { FORM_AUTO, FORM_PLANE, FORM_SURFACE, FORM_VOLUME } block_form;
extern const char *const block_form_names[];
/* `asked`, or by the complex: volume when its dimension is 3, surface for vertex fields in space, else plane. */
block_form block_form_of(const model_setup *s, int asked);
/* Networks on vertices read degree 0 alone, as "vertex" in the plane, else as "point". */
int block_vertices_alone(int dim, int target);
const char *block_reader(const model_setup *s, int asked);
/* The option's value, or where that is 0 the published one of the form. */
int block_size(const model_setup *s, int which, block_form form, int plane, int surface, int volume);

/* Centroids of degree k, raw, zero-padded to three components: [N_k × 3]. */
var block_points(tape *t, const cx *c, int k);
/* Mean over the vertices of each k-simplex of x [N_0 × C]; x itself for k = 0. */
var block_pool(tape *t, const cx *c, int k, var x);
/* Fixed maps, owned by the tape; NULL once it has failed. Rows of `neighbours`: mean over the vertices within the radius, without
 * the vertex itself. strict: nearer than it, sum over count + 1e-6; else as near as it, sum over max(count, 1). */
const sparse *block_neighbours(tape *t, const cx *c, double radius, int strict);

/* Both directions of every edge, by receiver, then sender. ends: [2N_1 × 2N_0], the sum of row `sender` of the first N_0 rows
 * and row `receiver` of the others; gather: [N_0 × 2N_1], the sum over the edges that a vertex receives; shape [2N_1 × 3]:
 * receiver - sender in space, unit direction and length in the plane. */
typedef struct block_edges {
  const sparse *ends, *gather;
  var shape;
} block_edges;
block_edges block_directed_edges(tape *t, const cx *c);

/* From doubles in compressed rows, owned by the tape. */
const sparse *block_sparse(tape *t, int64_t rows, int64_t cols, const int64_t *ptr, const int32_t *col,
                           const double *val);

#endif
