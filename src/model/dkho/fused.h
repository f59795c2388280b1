/* fused.h: the whole DKHO network as one forward and one hand-written backward on raw arrays: encoder, Dirac–Kuramoto
 * layers or what an ablation puts in their place, decoder. The same mathematics composed of plain tape operations is its definition and its test;
 * here it is organised for the machine:
 *  - the readout matrix is folded into the update's first matrix, gains and shifts of norms into the matrices that read
 *    them; static encoder columns are multiplied once per step,
 *    global ones once per sample, the conditioning maps once per layer; the last layer updates the target degree only and
 *    its substeps only what that degree can feel;
 *  - a sample runs through the whole network before the next begins; a pass takes a block of simplices through all its
 *    products while it is in cache; the way back keeps normalised states, phases and maps, and recomputes the rest;
 *  - work is cut into chunks by the mesh alone. A chunk's gradient starts from zero, chunks are added in order, samples are
 *    added in order: the same bits for any number of threads, parallel over samples or over chunks.
 * The loss, and any harmonic projection of the output, belong to the caller. */
#ifndef MODEL_DKHO_FUSED_H
#define MODEL_DKHO_FUSED_H

#include "base/mem.h"
#include "base/pool.h"
#include "kern/kern.h"
#include "mesh/exchange.h"

enum { FUSED_DEGREES = 4, FUSED_LAYERS = 16 };

/* Places of tensors in the caller's parameter slab; matrices are in × out, row-major. */
typedef struct fused_mlp {
  size_t w1, b1, gain, shift, w2, b2; /* Linear, GELU, LayerNorm, Linear */
} fused_mlp;

typedef struct fused_rank {
  size_t drive_w, drive_b, gate_w, gate_b, lag_w, lag_b; /* h × c, c */
  size_t read_w, read_b;                                 /* 2c × h, h */
  fused_mlp update;                                      /* 2h, h, h; NONE: h, h, h */
  size_t skip;                                           /* h × h */
  size_t gain, shift;                                    /* h */
  size_t sigma;                                          /* one logit: σ = softplus(s) + 1e-4 */
  size_t link[2][2];                                     /* width × h, from below and above: signed, unsigned */
  size_t send;                                           /* h × width, where width < h */
  size_t ret;                                            /* h × h */
} fused_rank;

typedef struct fused_layer {
  fused_rank rank[FUSED_DEGREES];
  size_t tau;             /* one logit: τ = tau_min + tau_range·sigmoid(t) */
  size_t mix, mix1, mix2; /* h × h, slots × degrees·modes, degrees·modes × slots */
} fused_layer;

/* Which rows of the encoder's first matrix a group of input columns meets. */
typedef struct fused_columns {
  int count;
  const int32_t *row; /* borrowed during fused_create */
} fused_columns;

/* How a layer's maps act. COUPLED: phases, joined over the degrees. ALONE: phases, θ ← θ - τ(ω + σ sin(γ⊙θ - λ)) on every
 * simplex by itself, so that only the target degree is computed at all. CARRIER: no phases; x = sigmoid(gate)⊙tanh(drive)
 * + tanh(lag) makes one hop a layer, m_k = σ_k (d x_{k-1} + δ x_{k+1}); [m, x] stands in for [cos θ, sin θ], the update is
 * scaled by τ, and the decoder reads x and tanh(gate) of the last layer's maps at the final state. CARRIER makes no use of
 * substeps, lag_scale and start. NONE: nothing of all this; the update reads z, the decoder too; c, substeps, start are not used. */
typedef enum { FUSED_COUPLED, FUSED_ALONE, FUSED_CARRIER, FUSED_NONE } fused_relation;
/* What neighbours exchange of their content, beside COUPLED or NONE. */
enum { FUSED_SIGNED = 1, FUSED_UNSIGNED = 2 };
/* θ at the start: zero; π tanh(z_0 W + b); b on all simplices of the degree. */
typedef enum { FUSED_ZERO, FUSED_CONTENT, FUSED_COMMON } fused_start;

typedef struct fused_shape {
  fused_relation relation;
  fused_start start;
  int degrees; /* degrees 0 … degrees-1 carry content and phase */
  int64_t n[FUSED_DEGREES];
  int h, c, layers, substeps;
  int target, outputs; /* degree of the output and its channels */
  int exchange;        /* FUSED_SIGNED | FUSED_UNSIGNED; 0: none */
  int width;           /* of what is exchanged, at most h; 0: h. Less: W = D U, of which the kernels take the product */
  int modes;           /* low modes of each degree that carry content far, with COUPLED or NONE; 0: none */
  int slots;           /* inner width of the maps across them; 0: degrees·modes */
  fused_columns fixed[FUSED_DEGREES], varying[FUSED_DEGREES], global[FUSED_DEGREES];
  real tau_min, tau_range, lag_scale;
  fused_mlp encoder[FUSED_DEGREES], decoder; /* (columns, h, h) and (h + 2c, h, outputs); NONE: (h, h, outputs) */
  fused_layer layer[FUSED_LAYERS];
  size_t start_w[FUSED_DEGREES], start_b[FUSED_DEGREES]; /* h × c, c; as `start` wants them */
} fused_shape;

/* Ranks may share a mesh: each then holds some of its chunks and the rows beside them; the same bits for any partition. The calls marked
 * with a star are then made by all ranks together, in the thread that made the comm. */

/* Incidence of degree k with k-1 (face, sign: n[k] × (k+1)) and with k+1 (compressed rows); star NULL is the unit
 * metric, else n[k] positive numbers per degree: δ_{k+1} = M_k⁻¹ d_kᵀ M_{k+1}. Borrowed during fused_create. */
typedef struct fused_mesh {
  const int32_t *face[FUSED_DEGREES];
  const int8_t *sign[FUSED_DEGREES];
  const int64_t *coptr[FUSED_DEGREES];
  const int32_t *coface[FUSED_DEGREES];
  const int8_t *cosign[FUSED_DEGREES];
  const double *star[FUSED_DEGREES];
  const real *analyse[FUSED_DEGREES],
      *synthesise[FUSED_DEGREES]; /* n[k] × modes; the latter NULL: n[k] times the former */
  const mesh_share *share;        /* NULL: this process holds all of it */
} fused_mesh;

/* An order of the simplices in which neighbours lie near each other: place[k][order[k][i]] = i. Of the mesh only faces and cofaces are
 * read, and at least two degrees must be there. The arrays of `order` come from one arena, those of `place` from the other. */
dkho_status order_simplices(const fused_mesh *m, int degrees, const int64_t *n, arena *keep, int32_t **order,
                            arena *temporary, int32_t **place);

typedef struct fused fused;
/* * fixed[k]: n[k] × shape->fixed[k].count static features, row-major, copied. */
dkho_status fused_create(fused **out, const kern *k, const fused_shape *shape, const fused_mesh *mesh,
                         const real *const *fixed);
void fused_free(fused *f);
/* The output's rows come in blocks, by which whole-mesh sums go: the caller's rows of block b, and how many. */
int fused_blocks(const fused *f);
const int32_t *fused_block(const fused *f, int b, int *count);
/* * total [m] ← the sum of value [blocks][m] over the blocks, in an order that depends on the mesh alone; value is used up. */
dkho_status fused_sum(const fused *f, int m, double *value, double *total);
/* * y: n[target] × outputs, of which every rank has its own rows: afterwards all have all. */
dkho_status fused_gather(const fused *f, real *y);
comm *fused_ranks(const fused *f); /* that share the mesh; NULL: none */
/* Length of a packed gradient. */
size_t fused_grads(const fused *f);
/* Multiply-adds in the products of one forward pass and of one training step per sample, the useful ones only: nothing
 * recomputed or padded, no static columns, no elementwise functions, no gathers. */
double fused_work_forward(const fused *f);
double fused_work_step(const fused *f);

/* After every change of the parameters: folds, transposes, multiplies the static columns. Borrows nothing. */
void fused_prepare(fused *f, pool *p, const real *params);
/* grads += the packed gradient, unfolded to the caller's layout. `params` as given to fused_prepare; packed is used up. */
void fused_collect(const fused *f, const real *params, real *packed, real *grads);

typedef struct fused_sample {
  const real *varying[FUSED_DEGREES]; /* n[k] × varying[k].count, row-major */
  const real *global;                 /* as many as the largest global[k].count */
} fused_sample;

/* Buffers for the threads of p and for gradients of up to `samples` samples at a time; borrows f and p. With one sample
 * at a time the threads share its chunks, else each takes whole samples. */
typedef struct fused_team fused_team;
dkho_status fused_team_create(fused_team **out, const fused *f, pool *p, int samples);
/* The same for fused_predict alone, in a third of the memory: a layer's state takes the place of the one before, and there
 * are no cotangents. */
dkho_status fused_team_create_predict(fused_team **out, const fused *f, pool *p, int samples);
void fused_team_free(fused_team *t);

/* * y: n[target] × outputs, row-major, for each of `count` samples; with ranks, the own rows. */
dkho_status fused_predict(fused_team *t, int count, const fused_sample *samples, real *const *y);

/* The caller's part of a training step: reads y, writes the cotangent g_y of the same shape. Runs on any thread. */
typedef dkho_status (*fused_loss)(void *ctx, int sample, const real *y, real *g_y);
/* * packed (fused_grads long) = sum over the samples, in order, of the packed gradients; NULL: at most as many samples as the team takes
 * at a time, whose gradients stay apart, for fused_gradient. With ranks the first has the gradients, the others zeros. */
dkho_status fused_train(fused_team *t, int count, const fused_sample *samples, fused_loss loss, void *ctx,
                        real *packed);

/* The packed gradient of sample i of the last call, until the next; that of sample i + 1 lies *stride reals behind it. */
real *fused_gradient(fused_team *t, int i, int64_t *stride);

#endif
