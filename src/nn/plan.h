/* plan.h: which operations of a tape run for given roots, and where every buffer lies. Internal to the engine.
 *
 * The clock of a sample: operation s of n (in plan order) runs forward at time s and backward at time 2n-1-s. A value
 * lives from the time it is made to the last time it is read, a cotangent from its first contribution to the backward of
 * its maker. Buffers whose lives do not meet may share memory. */
#ifndef NN_PLAN_H
#define NN_PLAN_H

#include "nn/engine.h"

typedef struct plan {
  int step_ops, sample_ops;
  int *step_op, *sample_op; /* indices into the tape, in order */
  uint8_t *back_op;         /* t->ops: some input wants a cotangent */
  uint8_t *need, *grad;     /* t->vars: a root depends on it; it has a cotangent */
  int64_t *value_at;        /* t->vars: offset of a VALUE or INPUT in the step buffer or the lane, -1: none */
  int64_t *grad_at;         /* t->vars: offset of the cotangent in the gradient slab (STEP) or the lane (SAMPLE), -1 */
  int *first; /* t->vars: operation whose backward contributes first, -1: none; it finds the buffer zeroed */
  int64_t step_size, lane_size;
  int64_t first_param, last_param;  /* the part of the table's slab that parameters of the tape span */
  int64_t slab_size;                /* cotangents of that part, then of STEP values */
  int64_t step_partial;             /* partial sums of all blocks, step operations */
  int64_t partial_one, partial_all; /* of one block, of all blocks, sample operations */
  arena mem;
} plan;

dkho_status plan_make(plan *p, const tape *t, engine_mode mode, var loss);
void plan_free(plan *p);

#endif
