/* plan_impl.h: which operations of a tape run for given roots, in which order, and where every buffer lies. Internal to the
 * engine.
 *
 * Sample operations are put in an order in which row-local operations of one number of rows follow one another wherever
 * the graph allows it, and cut into runs (row_run of block.h): such a sequence, or one whole operation.
 *
 * The clock of a sample: run s of n runs forward at time s and backward at time 2n-1-s. A value lives from the time it is
 * made to the last time it is read, a cotangent from its first contribution to the backward of its maker. Buffers whose
 * lives do not meet may share memory. What lives within one run only has room for a chunk of rows. */
#ifndef NN_PLAN_IMPL_H
#define NN_PLAN_IMPL_H

#include "nn/block.h"
#include "nn/engine.h"

typedef struct plan {
  int step_ops, sample_ops;
  int *step_op, *sample_op; /* indices into the tape, in order */
  int runs;
  row_run *run; /* of the sample operations, in order; rows 0: one whole operation */
  int barriers;
  int *barrier;         /* runs that are barriers, in training only */
  int *run_of;          /* t->ops: run of a sample operation, -1: none */
  uint8_t *back_op;     /* t->ops: some input wants a cotangent */
  uint8_t *need, *grad; /* t->vars: a root depends on it; it has a cotangent */
  uint8_t *inner;       /* t->vars: a STEP value whose cotangent no sample contributes to */
  int64_t *value_at;    /* t->vars: offset of a VALUE or INPUT in the step buffer or the lane, -1: none */
  int64_t *
      grad_at; /* t->vars: offset of the cotangent in the gradient slab (STEP), in the inner buffer or the lane (SAMPLE), -1 */
  int64_t *value_local, *grad_local; /* t->vars: offset in the chunk memory of a lane, -1: not there */
  int64_t *scratch_at;               /* t->ops: offset in the scratch of a lane */
  int *first;                        /* t->vars: operation whose backward contributes first, -1: none */
  uint32_t
      *fresh; /* t->ops: inputs of which it writes the cotangent, being first; otherwise the first finds it cleared */
  int64_t step_size, lane_size, local_size, scratch_size;
  int64_t first_param, last_param;  /* the part of the table's slab that parameters of the tape span */
  int64_t slab_size;                /* cotangents of that part, then of the STEP values that samples read */
  int64_t inner_size;               /* cotangents of the other STEP values, once for all samples */
  int64_t step_partial;             /* partial sums of all blocks, step operations */
  int64_t partial_one, partial_all; /* of one block, of all blocks, sample operations */
  arena mem;
} plan;

dkho_status plan_make(plan *p, const tape *t, engine_mode mode, var loss);
void plan_free(plan *p);

/* A span of time in which a buffer of `size` is needed; *at is set by plan_pack: first fit in order of birth. `busy` is
 * working room for `count`. Returns the size of the whole. */
typedef struct life {
  int64_t start, end; /* both inclusive */
  int64_t size, *at;
} life;
int64_t plan_pack(life *list, int64_t count, life *busy);

/* plan_runs.c. Orders sample_op and fills run, barrier, run_of, scratch_at and the sizes of partial sums. */
dkho_status plan_runs(plan *p, const tape *t, engine_mode mode);
/* Places what lives within one run: value_local, grad_local. */
dkho_status plan_locals(plan *p, const tape *t, var loss);

#endif
