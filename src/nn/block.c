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

typedef struct {
  const row_run *r;
  const lane *l;
  const uint8_t *back_op;
} run_job;

static void chunk_forward(const row_run *r, const lane *l, int64_t r0, int64_t r1) {
  for (int s = 0; s < r->count; s++) {
    const op *o = &l->t->op[r->op[s]];
    o->by_rows->rows_forward(o, l, r0, r1);
  }
}

static int wants_sums(const op *o, const lane *l) {
  for (int i = 0; i < o->ins; i++)
    if (o->whole >> i & 1 && l->grad[o->in[i]]) return 1;
  return 0;
}

/* partial: of the run, in the order of its operations. */
static void chunk_backward(const run_job *j, const lane *l, int64_t r0, int64_t r1, real *partial) {
  partial += j->r->partial;
  for (int s = j->r->count - 1; s >= 0; s--) {
    const op *o = &l->t->op[j->r->op[s]];
    partial -= o->partial;
    if (j->back_op[j->r->op[s]]) o->by_rows->rows_backward(o, l, r0, r1, wants_sums(o, l) ? partial : NULL);
  }
}

static int64_t chunk_end(int64_t r0, int64_t end) {
  return r0 + ROW_CHUNK < end ? r0 + ROW_CHUNK : end;
}

static int64_t run_block_end(const row_run *r, int64_t b) {
  return (b + 1) * ROW_BLOCK < r->rows ? (b + 1) * ROW_BLOCK : r->rows;
}

/* The lane as a worker of the pool sees it. */
static lane seen_by(const lane *l, int worker) {
  lane view = *l;
  if (l->pool && l->peers) view.local = l->peers[worker].local;
  return view;
}

static dkho_status run_forward_task(void *ctx, size_t task, int worker) {
  const run_job *j = ctx;
  lane view = seen_by(j->l, worker);
  int64_t b = (int64_t)task, end = run_block_end(j->r, b);
  for (int64_t r0 = b * ROW_BLOCK; r0 < end; r0 += ROW_CHUNK) chunk_forward(j->r, &view, r0, chunk_end(r0, end));
  return DKHO_OK;
}

void run_rows_forward(const row_run *r, const lane *l) {
  run_job j = {r, l, NULL};
  dkho_status s = pool_run(l->pool, (size_t)row_blocks(r->rows), run_forward_task, &j);
  assert(s == DKHO_OK);
  (void)s;
}

static real *run_partial(const run_job *j, int64_t b) {
  return j->l->partial + (j->l->pool ? b * j->r->partial : 0);
}

/* Adds a block's partial sums to the cotangents of the inputs that are read as a whole. */
static void add_run_partial(const run_job *j, const real *partial) {
  for (int s = 0; s < j->r->count; s++) {
    const op *o = &j->l->t->op[j->r->op[s]];
    const real *share = partial;
    partial += o->partial;
    for (int i = 0; j->back_op[j->r->op[s]] && i < o->ins; i++) {
      if (!(o->whole >> i & 1)) continue;
      int64_t n = op_in(o, j->l, i)->rows * op_in(o, j->l, i)->cols;
      if (op_gx(o, j->l, i)) j->l->k->axpy((size_t)n, 1, share, op_gx(o, j->l, i));
      share += n;
    }
  }
}

static dkho_status run_backward_task(void *ctx, size_t task, int worker) {
  const run_job *j = ctx;
  lane view = seen_by(j->l, worker);
  int64_t b = (int64_t)task, end = run_block_end(j->r, b);
  real *partial = run_partial(j, b);
  memset(partial, 0, (size_t)j->r->partial * sizeof *partial);
  for (int64_t r0 = b * ROW_BLOCK; r0 < end; r0 += ROW_CHUNK) chunk_backward(j, &view, r0, chunk_end(r0, end), partial);
  if (!j->l->pool) add_run_partial(j, partial);
  return DKHO_OK;
}

void run_rows_backward(const row_run *r, const lane *l, const uint8_t *back_op) {
  run_job j = {r, l, back_op};
  for (int s = 0; s < r->count; s++) {
    const op *o = &l->t->op[r->op[s]];
    if (back_op[r->op[s]] && o->by_rows->prepare) o->by_rows->prepare(o, l);
  }
  dkho_status s = pool_run(l->pool, (size_t)row_blocks(r->rows), run_backward_task, &j);
  assert(s == DKHO_OK);
  (void)s;
  for (int64_t b = 0; l->pool && b < row_blocks(r->rows); b++) add_run_partial(&j, run_partial(&j, b));
}
