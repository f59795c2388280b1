/* block.c: fixed row blocks, in one thread or over the pool, with the same bits; see block.h. */
#include "nn/block.h"

#include <assert.h>
#include <string.h>

typedef struct {
  const op *o;
  const lane *l;
  int64_t rows;
  block_fn fn;
  partial_fn sum;
} block_job;

static int64_t block_end(const block_job *j, int64_t b) {
  int64_t r1 = (b + 1) * ROW_BLOCK;
  return r1 < j->rows ? r1 : j->rows;
}

static dkho_status rows_task(void *ctx, size_t task, int worker) {
  const block_job *j = ctx;
  int64_t b = (int64_t)task;
  (void)worker;
  j->fn(j->o, j->l, b * ROW_BLOCK, block_end(j, b));
  return DKHO_OK;
}

/* The tasks cannot fail, so neither can the run. */
static void run_all(pool *p, int64_t blocks, pool_task fn, block_job *j) {
  dkho_status s = pool_run(p, (size_t)blocks, fn, j);
  assert(s == DKHO_OK);
  (void)s;
}

void par_rows(const op *o, const lane *l, int64_t rows, block_fn fn) {
  block_job j = {o, l, rows, fn, NULL};
  run_all(l->pool, row_blocks(rows), rows_task, &j);
}

static void partial_of(const block_job *j, int64_t b, real *partial) {
  memset(partial, 0, (size_t)j->o->partial * sizeof *partial);
  j->sum(j->o, j->l, b * ROW_BLOCK, block_end(j, b), partial);
}

static dkho_status sums_task(void *ctx, size_t task, int worker) {
  const block_job *j = ctx;
  (void)worker;
  partial_of(j, (int64_t)task, j->l->partial + (int64_t)task * j->o->partial);
  return DKHO_OK;
}

static void add_partial(int count, const sum_to *to, const real *partial) {
  for (int i = 0; i < count; i++) {
    for (int64_t k = 0; to[i].dst && k < to[i].n; k++) to[i].dst[k] += partial[k];
    partial += to[i].n;
  }
}

void par_sums(const op *o, const lane *l, int64_t rows, partial_fn fn, int count, const sum_to *to) {
  block_job j = {o, l, rows, NULL, fn};
  int64_t blocks = row_blocks(rows);
  assert(o->partial > 0 && blocks <= o->blocks);
  if (l->pool) run_all(l->pool, blocks, sums_task, &j);
  for (int64_t b = 0; b < blocks; b++) {
    real *partial = l->pool ? l->partial + b * o->partial : l->partial;
    if (!l->pool) partial_of(&j, b, partial);
    add_partial(count, to, partial);
  }
}

void op_reduces(op *o, int64_t rows, int64_t partial) {
  o->partial = partial;
  o->blocks = row_blocks(rows);
}
