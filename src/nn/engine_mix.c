/* engine_mix.c: training with barriers (tape.h): one lane per sample of the batch, all samples from one barrier to the next.
 * Slabs and the order of every sum are those of engine.c. */
#include "nn/engine_impl.h"

#include <string.h>

/* One lane and one slab per sample. They are kept: only a batch larger than any before asks for memory. */
static dkho_status provide_lanes(engine *e, int64_t count) {
  lane *all;
  if (count > e->slabs) TRY(engine_add_slabs(e, count));
  if (count <= e->lanes) return DKHO_OK;
  if (!ARENA_NEW(&e->mem, all, count)) return DKHO_E_MEMORY;
  memcpy(all, e->lane, (size_t)e->lanes * sizeof *all);
  for (int64_t i = e->lanes; i < count; i++) TRY(engine_add_lane(e, &all[i], e->plan.partial_one));
  for (int64_t i = 0; i < count; i++) all[i].peers = all;
  e->lane = all;
  e->lanes = (int)count;
  return DKHO_OK;
}

/* The runs between two barriers, for one sample after the other. */
typedef struct {
  gradient_job *j;
  int first, last, backward;
} segment;

static dkho_status segment_task(void *ctx, size_t task, int worker) {
  const segment *s = ctx;
  gradient_job *j = s->j;
  int64_t i = (int64_t)task;
  lane *l = &j->e->lane[i];
  l->index = worker;
  if (s->backward) {
    engine_backward(j->e, l, s->first, s->last);
    return s->first == 0 && j->b->take ? j->b->take(j->b->ctx, l, i) : DKHO_OK;
  }
  if (s->first == 0) {
    memset(engine_slab(j->e, i), 0, (size_t)j->e->plan.slab_size * sizeof(real));
    engine_aim(j->e, l, engine_slab(j->e, i));
    TRY(j->b->fill(j->b->ctx, l, i));
  }
  engine_forward(j->e, l, s->first, s->last);
  return s->last == j->e->plan.runs ? engine_take_loss(j, l, i) : DKHO_OK;
}

static dkho_status run_segment(gradient_job *j, int first, int last, int backward) {
  segment s = {j, first, last, backward};
  return pool_run(j->count == 1 ? NULL : j->e->pool, (size_t)j->count, segment_task, &s);
}

static void barrier_backward(const gradient_job *j, int run) {
  engine *e = j->e;
  const op *o = &e->t->op[e->plan.run[run].op[0]];
  for (int64_t i = 0; i < j->b->count; i++) engine_clear(e, &e->plan.run[run], &e->lane[i]);
  if (e->plan.back_op[e->plan.run[run].op[0]]) o->mixes->backward(o, j->b->count, e->lane);
}

dkho_status engine_mixed(gradient_job *j) {
  engine *e = j->e;
  const plan *p = &e->plan;
  TRY(provide_lanes(e, j->b->count));
  for (int s = 0, first = 0; s <= p->barriers; s++) {
    int last = s < p->barriers ? p->barrier[s] : p->runs;
    TRY(run_segment(j, first, last, 0));
    if (s == p->barriers) break;
    const op *o = &e->t->op[p->run[last].op[0]];
    o->mixes->forward(o, j->b->count, e->lane);
    first = last + 1;
  }
  for (int s = p->barriers; s >= 0; s--) {
    int first = s > 0 ? p->barrier[s - 1] + 1 : 0, last = s < p->barriers ? p->barrier[s] : p->runs;
    TRY(run_segment(j, first, last, 1));
    if (s > 0) barrier_backward(j, p->barrier[s - 1]);
  }
  return DKHO_OK;
}
