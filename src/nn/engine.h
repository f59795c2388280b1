/* engine.h: runs a tape.
 *
 * Depth first: a sample goes forward, to its loss, and backward through the whole network in one lane (a buffer set)
 * before the next sample begins. Parallel over samples when a batch has two or more, each into a gradient slab of its own, ENGINE_ROUND
 * slabs at a time; slabs and losses are added along the tree of base/sum_tree.h, over the ranks of a job too, of which each takes a run
 * of the samples. A single sample is parallel over row blocks instead. Every sum has an order that does not depend on the number of
 * threads or ranks, in either mode: same bits for any of them.
 *
 * A tape with barriers (tape.h) is trained with one lane and one slab per sample, all samples side by side from barrier to barrier; every
 * rank then computes the whole batch. Only then a batch larger than any before asks for memory.
 *
 * Buffers of values and cotangents share one plan by lifetime, laid out once at creation; a run allocates nothing. A
 * predicting engine has no cotangents at all. */
#ifndef NN_ENGINE_H
#define NN_ENGINE_H

#include "base/comm.h"
#include "base/pool.h"
#include "nn/tape.h"

enum { ENGINE_ROUND = 16 };

typedef struct engine engine;
typedef enum { ENGINE_TRAIN, ENGINE_PREDICT } engine_mode;

/* The tape and the pool (NULL: this thread) are borrowed and must outlive the engine. Roots: the loss (1×1) in training;
 * all kept variables in prediction, where `loss` is ignored. */
dkho_status engine_create(engine **out, const tape *t, engine_mode mode, var loss, pool *p);
void engine_free(engine *e);

/* The parameter values of the coming runs (borrowed slab); computes everything of STEP level. To be called again whenever
 * the numbers in the slab have changed. */
void engine_bind(engine *e, const real *value);

/* One sample in a lane. lane_input: where to write an INPUT (rows × cols), NULL when no root needs it. lane_value: a kept
 * variable, or an INPUT, after the run. lane_grad: cotangent of an INPUT with want_grad after training. */
real *lane_input(const lane *l, var v);
int lane_index(const lane *l); /* 0 … pool width - 1, in a callback: names scratch of the caller; results must not
                                  depend on it */
const real *lane_value(const lane *l, var v);
const real *lane_grad(const lane *l, var v);

/* Called in a worker thread: `fill` before the i-th sample runs, `take` (may be NULL) after it. */
typedef struct engine_batch {
  int64_t count;         /* of the whole batch */
  comm *ranks;           /* training: that share it, all with the same batch; NULL: this process alone */
  const int64_t *number; /* what messages call the samples, NULL: 0 … count-1 */
  dkho_status (*fill)(void *ctx, const lane *l, int64_t i);
  dkho_status (*take)(void *ctx, const lane *l, int64_t i);
  void *ctx;
} engine_batch;

/* Training: loss[i] ← loss of the i-th sample of the batch (may be NULL; of those run here), *mean ← weight · Σ loss along the tree,
 * g += weight · Σ_i ∂loss_i/∂θ (a slab of the table; live tensors only; for states the change of their values, whatever
 * the weight). weight is 1/B, or 1/(whole batch) when several complexes share a batch. A loss or a gradient that is not
 * finite gives DKHO_E_NONFINITE; the text names the tensor (or the loss) and the sample; g is then to be thrown away. With
 * g NULL the gradient stays in the engine until the next call, for engine_add: g += it. */
dkho_status engine_gradient(engine *e, const engine_batch *b, double weight, double *loss, double *mean, real *g);
void engine_add(const engine *e, real *g);
/* Prediction: fill, forward, take, for every sample. */
dkho_status engine_predict(engine *e, const engine_batch *b);

size_t engine_lane_bytes(const engine *e);   /* value and cotangent buffers of one lane */
const char *engine_kernels(const engine *e); /* the instruction set they run on */

#endif
