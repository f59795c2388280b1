/* plan.c: reachability, lifetimes, and packing of buffers; see plan_impl.h. */
#include "nn/plan_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int64_t padded(const tape_var *v) {
  return (v->rows * v->cols + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
}

/* All places -1: nowhere yet. */
static dkho_status take_arrays(plan *p, const tape *t) {
  if (!ARENA_NEW(&p->mem, p->step_op, t->ops) || !ARENA_NEW(&p->mem, p->sample_op, t->ops) ||
      !ARENA_NEW(&p->mem, p->back_op, t->ops) || !ARENA_NEW(&p->mem, p->need, t->vars) ||
      !ARENA_NEW(&p->mem, p->grad, t->vars) || !ARENA_NEW(&p->mem, p->inner, t->vars) ||
      !ARENA_NEW(&p->mem, p->value_at, t->vars) || !ARENA_NEW(&p->mem, p->grad_at, t->vars) ||
      !ARENA_NEW(&p->mem, p->first, t->vars) || !ARENA_NEW(&p->mem, p->value_local, t->vars) ||
      !ARENA_NEW(&p->mem, p->grad_local, t->vars) || !ARENA_NEW(&p->mem, p->run, t->ops) ||
      !ARENA_NEW(&p->mem, p->barrier, t->ops) || !ARENA_NEW(&p->mem, p->run_of, t->ops) ||
      !ARENA_NEW(&p->mem, p->scratch_at, t->ops) || !ARENA_NEW(&p->mem, p->fresh, t->ops))
    return DKHO_E_MEMORY;
  for (var v = 0; v < t->vars; v++)
    p->first[v] = -1, p->value_at[v] = p->grad_at[v] = p->value_local[v] = p->grad_local[v] = -1;
  return DKHO_OK;
}

/* Fills need, the two lists of operations, and returns the working array need_op (owned by the plan's arena). */
static dkho_status choose_ops(plan *p, const tape *t, engine_mode mode, var loss) {
  uint8_t *need_op;
  var *root;
  int roots = 0;
  if (!ARENA_NEW(&p->mem, need_op, t->ops) || !ARENA_NEW(&p->mem, root, t->vars)) return DKHO_E_MEMORY;
  if (mode == ENGINE_TRAIN) root[roots++] = loss;
  for (var v = 0; mode == ENGINE_PREDICT && v < t->vars; v++)
    if (t->var[v].keep) root[roots++] = v;
  assert(roots > 0);
  tape_reach(t, mode == ENGINE_PREDICT, roots, root, need_op, p->need);
  for (int i = 0; i < t->ops; i++) {
    if (!need_op[i]) continue;
    if (t->op[i].level == LEVEL_STEP)
      p->step_op[p->step_ops++] = i;
    else
      p->sample_op[p->sample_ops++] = i;
  }
  return DKHO_OK;
}

static void mark_op(plan *p, const tape *t, int i) {
  const op *o = &t->op[i];
  for (int j = 0; j < o->ins; j++) p->back_op[i] |= p->grad[o->in[j]];
  for (int j = 0; j < o->outs; j++) p->grad[o->out[j]] = p->back_op[i] && p->need[o->out[j]];
}

/* A variable has a cotangent when it is needed and depends on a parameter or on an input that wants one. */
static void mark_grads(plan *p, const tape *t) {
  for (var v = 0; v < t->vars; v++) p->grad[v] = p->need[v] && (t->var[v].kind == VAR_PARAM || t->var[v].want_grad);
  for (int s = 0; s < p->step_ops; s++) mark_op(p, t, p->step_op[s]);
  for (int s = 0; s < p->sample_ops; s++) mark_op(p, t, p->sample_op[s]);
}

/* The part of the table that this tape differentiates, first_param … last_param-1: slabs have no more than that. */
static void span_params(plan *p, const tape *t) {
  p->first_param = t->p->size;
  for (var v = 0; v < t->vars; v++) {
    if (!p->grad[v] || t->var[v].kind != VAR_PARAM) continue;
    const param *q = &t->p->list[t->var[v].param];
    int64_t end = (q->offset + q->count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
    if (q->offset < p->first_param) p->first_param = q->offset;
    if (end > p->last_param) p->last_param = end;
  }
  if (p->last_param == 0) p->first_param = 0;
}

/* What step operations make and sample operations do not read gets its cotangent once, after the samples. */
static void find_inner(plan *p, const tape *t) {
  for (int s = 0; s < p->step_ops; s++) {
    const op *o = &t->op[p->step_op[s]];
    for (int j = 0; j < o->outs; j++) p->inner[o->out[j]] = p->grad[o->out[j]];
  }
  for (int s = 0; s < p->sample_ops; s++) {
    const op *o = &t->op[p->sample_op[s]];
    for (int j = 0; j < o->ins; j++) p->inner[o->in[j]] = 0;
  }
}

/* Values of step operations side by side, both these and their cotangents live for the whole step: behind the parameters' in every slab
 * where samples contribute, else in one buffer. */
static void place_steps(plan *p, const tape *t) {
  span_params(p, t);
  find_inner(p, t);
  p->slab_size = p->last_param - p->first_param;
  for (int s = 0; s < p->step_ops; s++) {
    const op *o = &t->op[p->step_op[s]];
    for (int j = 0; j < o->outs; j++) {
      var v = o->out[j];
      p->value_at[v] = p->step_size;
      p->step_size += padded(&t->var[v]);
      if (!p->grad[v]) continue;
      int64_t *size = p->inner[v] ? &p->inner_size : &p->slab_size;
      p->grad_at[v] = *size;
      *size += padded(&t->var[v]);
    }
    int64_t blocks = o->rows ? row_blocks(o->rows) : o->blocks;
    if (p->step_partial < o->partial * blocks) p->step_partial = o->partial * blocks;
  }
}

static void extend(life *l, int64_t time) {
  if (l->end < time) l->end = time;
}

/* Walks the sample operations and stretches the lives of what they touch. value and grad are indexed by variable; what is
 * placed within a run gets none. */
static void find_lives(plan *p, const tape *t, life *value, life *grad) {
  int64_t n = p->runs;
  for (int s = 0; s < p->sample_ops; s++) {
    int i = p->sample_op[s];
    const op *o = &t->op[i];
    int64_t time = p->run_of[i], back = 2 * n - 1 - time;
    for (int j = 0; j < o->ins; j++) {
      var v = o->in[j];
      extend(&value[v], time);
      if (p->back_op[i] && o->kind->back_in >> j & 1) extend(&value[v], back);
      if (p->grad[v]) {
        grad[v].start = back;
        p->first[v] = i;
      }
    }
    for (int j = 0; j < o->outs; j++) {
      var v = o->out[j];
      if (p->value_local[v] < 0) value[v] = (life){time, time, padded(&t->var[v]), &p->value_at[v]};
      if (p->back_op[i] && o->kind->back_out >> j & 1) extend(&value[v], back);
      if (t->var[v].keep) extend(&value[v], 2 * n);
      if (p->grad[v] && p->grad_local[v] < 0) grad[v] = (life){n, back, padded(&t->var[v]), &p->grad_at[v]};
    }
  }
}

static int first_of_its_kind(const op *o, int j) {
  for (int i = 0; i < j; i++)
    if (o->in[i] == o->in[j]) return 0;
  return 1;
}

/* Which inputs' cotangents an operation writes because it is the first to contribute; see tape.h. */
static void mark_fresh(plan *p, const tape *t) {
  for (int s = 0; s < p->sample_ops; s++) {
    int i = p->sample_op[s];
    const op *o = &t->op[i];
    for (int j = 0; j < o->ins; j++) {
      var v = o->in[j];
      if (p->grad[v] && p->first[v] == i && t->var[v].level == LEVEL_SAMPLE && o->fresh >> j & 1 &&
          first_of_its_kind(o, j))
        p->fresh[i] |= 1U << j;
    }
  }
}

static int by_start(const void *a, const void *b) {
  const life *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  if (x->size != y->size) return x->size > y->size ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* busy holds what is alive, ascending by offset. */
int64_t plan_pack(life *list, int64_t count, life *busy) {
  int64_t size = 0, alive = 0;
  qsort(list, (size_t)count, sizeof *list, by_start);
  for (int64_t i = 0; i < count; i++) {
    int64_t kept = 0;
    for (int64_t j = 0; j < alive; j++)
      if (busy[j].end >= list[i].start) busy[kept++] = busy[j];
    alive = kept;
    int64_t at = 0, slot = 0;
    while (slot < alive && *busy[slot].at - at < list[i].size) {
      at = *busy[slot].at + busy[slot].size;
      slot++;
    }
    memmove(busy + slot + 1, busy + slot, (size_t)(alive - slot) * sizeof *busy);
    busy[slot] = list[i];
    alive++;
    *list[i].at = at;
    if (size < at + list[i].size) size = at + list[i].size;
  }
  return size;
}

/* Values live from the run that makes them to the last that reads them, in training on the way back too; buffers whose lives do not meet
 * share memory. Time goes 0 … 2·runs. */
static dkho_status place_samples(plan *p, const tape *t, var loss, engine_mode mode) {
  life *value, *grad, *list;
  int64_t count = 0, end = 2 * (int64_t)p->runs;
  if (!MEM_NEW(value, 6 * t->vars)) return DKHO_E_MEMORY;
  grad = value + t->vars;
  list = grad + t->vars;
  for (var v = 0; v < t->vars; v++) {
    if (t->var[v].kind != VAR_INPUT || !p->need[v]) continue;
    value[v] = (life){0, end, padded(&t->var[v]), &p->value_at[v]};
    if (p->grad[v]) grad[v] = (life){end, end, padded(&t->var[v]), &p->grad_at[v]};
  }
  find_lives(p, t, value, grad);
  if (mode == ENGINE_TRAIN) extend(&value[loss], end);
  for (var v = 0; v < t->vars; v++) {
    if (t->var[v].level != LEVEL_SAMPLE) continue;
    if (value[v].at) list[count++] = value[v];
    if (grad[v].at) list[count++] = grad[v];
  }
  p->lane_size = plan_pack(list, count, list + 2 * t->vars);
  mem_free(value);
  return DKHO_OK;
}

dkho_status plan_make(plan *p, const tape *t, engine_mode mode, var loss) {
  *p = (plan){0};
  TRY(t->status);
  TRY(take_arrays(p, t));
  TRY(choose_ops(p, t, mode, loss));
  if (mode == ENGINE_TRAIN) mark_grads(p, t);
  place_steps(p, t);
  TRY(plan_runs(p, t, mode));
  TRY(plan_locals(p, t, mode == ENGINE_TRAIN ? loss : VAR_NONE));
  TRY(place_samples(p, t, loss, mode));
  mark_fresh(p, t);
  return DKHO_OK;
}

void plan_free(plan *p) {
  arena_free(&p->mem);
}
