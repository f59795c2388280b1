/* block.h: what an operation sees while it runs, and the only way in which it may share out its work.
 *
 * Rows are cut into fixed blocks of ROW_BLOCK. A block writes only its own rows; what is summed over rows is summed per
 * block first, and the blocks' partial sums are added in block order. So a run over the pool and a run in one thread give
 * the same bits. */
#ifndef NN_BLOCK_H
#define NN_BLOCK_H

#include "base/pool.h"
#include "nn/tape.h"

enum { ROW_BLOCK = 512 };
static inline int64_t row_blocks(int64_t rows) {
  return (rows + ROW_BLOCK - 1) / ROW_BLOCK;
}

/* A buffer set. Pointers are by variable: what can be read, what can be written, and cotangents, NULL where there are
 * none. */
struct lane {
  const tape *t;
  const real **val;
  real **out, **grad;
  pool *pool;    /* NULL: blocks run here, in order */
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

#endif
