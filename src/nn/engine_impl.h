/* engine_impl.h: the engine's inside, shared by engine.c and engine_mix.c. */
#ifndef NN_ENGINE_IMPL_H
#define NN_ENGINE_IMPL_H

#include "base/sum_tree.h"
#include "nn/engine.h"
#include "nn/plan_impl.h"

struct engine {
  const tape *t;
  plan plan;
  engine_mode mode;
  var loss;
  pool *pool;
  const kern *kernels;
  int lanes;
  lane *lane;    /* one per worker; with barriers one per sample too */
  lane shared;   /* STEP level */
  int64_t slabs; /* gradient slabs, one per sample in flight */
  real *slab;    /* slabs × plan.slab_size */
  real *inner;   /* plan.inner_size: cotangents between step operations */
  double *lost;  /* slabs: the losses */
  uint8_t *bad;  /* slabs: the gradient is not finite */
  sum_tree *sum; /* of slabs and losses */
  real *total;   /* the slab of the whole batch, borrowed from it */
  int bound;
  arena mem;
};

/* A call of engine_gradient: a round of it. */
typedef struct {
  engine *e;
  const engine_batch *b;
  double weight, *loss;
  int64_t first, count; /* samples of the round: place first + i of the batch goes into slab i */
} gradient_job;

static inline real *engine_slab(const engine *e, int64_t i) {
  return e->slab + i * e->plan.slab_size;
}

/* Slabs with all that goes with them, for so many samples at a time. */
dkho_status engine_add_slabs(engine *e, int64_t count);
/* A lane of its own memory; it sees what is bound. */
dkho_status engine_add_lane(engine *e, lane *l, int64_t partial);
/* Runs first … last-1 of the plan in a lane, forward, or backward in reverse. */
void engine_forward(const engine *e, const lane *l, int first, int last);
void engine_backward(const engine *e, const lane *l, int first, int last);
/* Clears the cotangents that get their first contribution in this run and are not written by it. */
void engine_clear(const engine *e, const row_run *r, const lane *l);
/* Points the cotangents of parameters and of STEP values that samples read at a slab. */
void engine_aim(const engine *e, const lane *l, real *slab);
/* Notes the loss of the i-th sample of the round, which must be finite, and sets g_loss = weight. */
dkho_status engine_take_loss(gradient_job *j, const lane *l, int64_t i);
/* engine_mix.c: all samples of a batch, forward and backward, side by side. */
dkho_status engine_mixed(gradient_job *j);

#endif
