/* op_grid.h: operations on regular grids of G points per axis in two or three dimensions: truncated spectral convolution by
 * small dense transforms, and interpolation between a grid and scattered points whose positions may be learned. Rows of a
 * grid variable are cells, the last axis fastest. */
#ifndef NN_OP_GRID_H
#define NN_OP_GRID_H

#include "nn/op.h"

/* y = (I_B ⊗ T ⊗ I_M) x, T a constant [p × q]: x has B·q·M rows, read as B batches of q slabs of M rows. With `transposed`
 * Tᵀ takes the place of T. */
var op_axis(tape *t, var matrix, int transposed, int64_t batches, var x);

/* A complex spectrum of Q modes: 2Q rows, real parts then imaginary parts. y_q = x_q W_q for every mode, W a tensor of
 * `weights` slabs of [2·in × out], real rows then imaginary ones; mode q uses slab slot[q], a borrowed table. */
var op_mix(tape *t, var x, var w, int64_t modes, const int32_t *slot);

/* The modes of a real grid that are kept: along every axis but the last the frequencies 0 … m-1 and G-m … G-1, along the last
 * 0 … m-1. Each sign pattern has weights of its own, m^dim of them, in the order (+,+), (-,+), (+,-), (-,-) of (first axis,
 * second axis), indices of a block ascending, last axis fastest. Where the two ranges of an axis overlap (2m > G), the second
 * wins and the first's weights are dead. */
typedef struct spectral {
  int dim, points, modes; /* of one axis */
  int64_t cells, kept;    /* G^dim; modes kept in all */
  int64_t weights;        /* 2^(dim-1) m^dim */
  int rows, last;         /* transform matrices: [2·rows × 2G] for all axes but the last, [2·last × G] for it */
  real *axis, *end;       /* those two */
  real *back;             /* [2·last × G]: `end` weighted for the way back: 1/G^dim, twice that between 0 and G/2 */
  int32_t *slot;          /* kept: the weight slab of each mode */
  arena mem;
} spectral;
dkho_status spectral_create(spectral **out, int dim, int points, int modes);
void spectral_free(spectral *s);
/* y[n] = G^-dim Re Σ_k γ_k X̂[k] W[k] e^{2πi k·n/G}, X̂[k] = Σ_n x[n] e^{-2πi k·n/G}, γ = 1 for k_last = 0, G/2, else 2: the
 * complex-to-real transform, which drops what imaginary part is left. x [cells × in], w [weights·2·in × out]. */
var op_spectral(tape *t, const spectral *s, var x, var w);

/* Multilinear interpolation, corners aligned: reads a grid (G^dim × C) at points (N × dim, in [0, 1]; beyond it the grid is
 * continued by its border). Differentiable in both. */
var op_sample(tape *t, var grid, int points_per_axis, var at);
/* The normalised adjoint: grid_v = Σ_n w_nv f_n / max(Σ_n w_nv, 1e-6), w the weights of op_sample; 0 where nothing lands. f
 * [N × C]; differentiable in both. */
var op_splat(tape *t, var f, int points_per_axis, var at);

/* The mean of f [N × C] over the points whose nearest cell this is (half to even), 0 without any. at gets no gradient. */
var op_nearest(tape *t, var f, int points_per_axis, var at);

#endif
