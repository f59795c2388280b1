/* block.h: what an operation sees while it runs, and the only way in which it may share out its work.
 *
 * Rows are cut into fixed blocks of ROW_BLOCK. A block writes only its own rows; what is summed over rows is summed per
 * block first, and the blocks' partial sums are added in block order. So a run over the pool and a run in one thread give
 * the same bits. Row-local operations (tape.h) are called for chunks of ROW_CHUNK rows, so that what one writes is still in
 * the first caches when the next reads it; what no other operation wants has no more room than that. */
#ifndef NN_BLOCK_H
#define NN_BLOCK_H

#include "base/pool.h"
#include "kern/kern.h"
#include "nn/tape.h"

enum { ROW_BLOCK = 512, ROW_CHUNK = 64 };
static inline int64_t row_blocks(int64_t rows) {
  return (rows + ROW_BLOCK - 1) / ROW_BLOCK;
}

/* A buffer set. Pointers are by variable: what can be read, what can be written, and cotangents, NULL where there are
 * none. */
struct lane {
  const tape *t;
  const kern *k;
  int index; /* 0 … number of lanes - 1: one per worker */
  const real **val;
  real **out, **grad;
  const int64_t *value_local,
      *grad_local; /* by variable: where its chunk lies in `local`, -1: it has a buffer of its own */
  real *local;
  const int64_t *scratch_at; /* by operation */
  real *scratch;
  const uint32_t *fresh; /* by operation: inputs whose cotangent it is the first to contribute to, and writes */
  const lane *peers;     /* lanes by worker, whose `local` serves when a lane runs over the pool */
  pool *pool;            /* NULL: blocks run here, in order */
  real *partial; /* room for the partial sums of any operation: of all its blocks when pool is set, else of one */
};

static inline const tape_var *op_in(const op *o, const lane *l, int i) {
  return &l->t->var[o->in[i]];
}
static inline const tape_var *op_out(const op *o, const lane *l, int i) {
  return &l->t->var[o->out[i]];
}
static inline const real *op_x(const op *o, const lane *l, int i) {
  return l->val[o->in[i]];
}
static inline real *op_y(const op *o, const lane *l, int i) {
  return l->out[o->out[i]];
}
/* Cotangent of an input to add to, NULL when not wanted; cotangent of an output, NULL when nothing depends on it. */
static inline real *op_gx(const op *o, const lane *l, int i) {
  return l->grad[o->in[i]];
}
static inline const real *op_gy(const op *o, const lane *l, int i) {
  return l->grad[o->out[i]];
}
/* Whether the cotangent of input i already holds something; if not it is to be written. */
static inline int op_adds(const op *o, const lane *l, int i) {
  return !(l->fresh[o - l->t->op] >> i & 1);
}
static inline real *op_scratch(const op *o, const lane *l) {
  return l->scratch + l->scratch_at[o - l->t->op];
}

/* The same for the operations that go by rows: from row r on, the first of the rows the operation was called for. */
static inline const real *row_x(const op *o, const lane *l, int i, int64_t r) {
  var v = o->in[i];
  return l->value_local[v] >= 0 ? l->local + l->value_local[v] : l->val[v] + r * l->t->var[v].cols;
}
static inline real *row_y(const op *o, const lane *l, int i, int64_t r) {
  var v = o->out[i];
  return l->value_local[v] >= 0 ? l->local + l->value_local[v] : l->out[v] + r * l->t->var[v].cols;
}
static inline real *row_grad(const lane *l, var v, int64_t r) {
  if (l->grad_local[v] >= 0) return l->local + l->grad_local[v];
  return l->grad[v] ? l->grad[v] + r * l->t->var[v].cols : NULL;
}
static inline real *row_gx(const op *o, const lane *l, int i, int64_t r) {
  return row_grad(l, o->in[i], r);
}
static inline const real *row_gy(const op *o, const lane *l, int i, int64_t r) {
  return row_grad(l, o->out[i], r);
}

/* Rows r0 … r1-1 of block b of an operation over `rows` rows. */
typedef void (*block_fn)(const op *o, const lane *l, int64_t r0, int64_t r1);
void par_rows(const op *o, const lane *l, int64_t rows, block_fn fn);

/* fn writes the block's share of the sums to `partial` (o->partial reals, zeroed). Then, in block order, the first
 * n[0] of them are added to dst[0], the next n[1] to dst[1], …; a NULL dst is skipped. Σ n = o->partial. */
typedef void (*partial_fn)(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial);
typedef struct sum_to {
  real *dst;
  int64_t n;
} sum_to;
void par_sums(const op *o, const lane *l, int64_t rows, partial_fn fn, int count, const sum_to *to);
/* To be called when such an operation is recorded. */
void op_reduces(op *o, int64_t rows, int64_t partial);

/* Row-local operations of one number of rows, one after the other: indices into the tape. */
typedef struct row_run {
  const int *op;
  int count;
  int64_t rows;
  int64_t partial; /* of one block, all of its operations */
} row_run;
void run_rows_forward(const row_run *r, const lane *l);
/* back_op, by operation of the tape: 0 for those without a backward. */
void run_rows_backward(const row_run *r, const lane *l, const uint8_t *back_op);

#endif
