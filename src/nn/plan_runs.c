/* plan_runs.c: the order of a sample's operations, their runs, and what lives within one; see plan_impl.h. */
#include "nn/plan_impl.h"

#include <string.h>

/* Reals of partial sums a run may gather: they are to stay in the second cache. Small ones do not matter. */
enum { RUN_PARTIAL = 1 << 16, SMALL_PARTIAL = 1 << 12 };

/* The run that is open, and by variable the run that last made it, read it by rows, read it as a whole (-1: none). */
typedef struct {
  plan *p;
  const tape *t;
  int training;
  uint8_t *done; /* by operation */
  int *made, *by_rows, *as_whole;
} scheduler;

static int is_ready(const scheduler *s, const op *o) {
  for (int j = 0; j < o->ins; j++) {
    const tape_var *x = &s->t->var[o->in[j]];
    if (x->level == LEVEL_SAMPLE && x->maker >= 0 && s->p->need[o->in[j]] && !s->done[x->maker]) return 0;
  }
  return 1;
}

/* Row-local operations sum up in the backward pass only. */
static int64_t partial_of(const scheduler *s, const op *o) {
  return o->rows && !s->training ? 0 : o->partial;
}

/* Whether a row-local operation may follow in the open run: what it reads as a whole must be complete before the run
 * begins, and in the backward pass be summed up by nothing else in it. */
static int can_join(const scheduler *s, const op *o) {
  int run = s->p->runs - 1;
  const row_run *r = &s->p->run[run];
  int64_t partial = partial_of(s, o);
  if (!o->rows || o->rows != r->rows) return 0;
  if (partial > SMALL_PARTIAL && r->partial + partial > RUN_PARTIAL) return 0;
  for (int j = 0; j < o->ins; j++) {
    var v = o->in[j];
    if (o->whole >> j & 1 ? s->made[v] == run || s->by_rows[v] == run : s->as_whole[v] == run) return 0;
  }
  return is_ready(s, o);
}

/* Puts operation i at place `at` of the order, in a new run (opens) or the last one, and notes which run made and read each variable. */
static void append_op(scheduler *s, int *order, int at, int i, int opens) {
  plan *p = s->p;
  const op *o = &s->t->op[i];
  if (opens) p->run[p->runs++] = (row_run){.op = order + at, .rows = o->rows};
  int run = p->runs - 1;
  row_run *r = &p->run[run];
  order[at] = i;
  r->count++;
  r->partial += partial_of(s, o);
  s->done[i] = 1;
  p->run_of[i] = run;
  for (int j = 0; j < o->ins; j++) (o->whole >> j & 1 ? s->as_whole : s->by_rows)[o->in[j]] = run;
  for (int j = 0; j < o->outs; j++) s->made[o->out[j]] = run;
}

/* Greedy: the first operation of the recording that can join the open run, or else the first that is left. */
static void order_ops(scheduler *s, int *order) {
  plan *p = s->p;
  int low = 0;
  for (int at = 0; at < p->sample_ops; at++) {
    int pick = -1;
    while (s->done[p->sample_op[low]]) low++;
    for (int i = low; at && pick < 0 && i < p->sample_ops; i++)
      if (!s->done[p->sample_op[i]] && can_join(s, &s->t->op[p->sample_op[i]])) pick = p->sample_op[i];
    append_op(s, order, at, pick < 0 ? p->sample_op[low] : pick, pick < 0);
  }
}

/* Room for partial sums and scratch: the most that a run needs by one lane, and by all blocks of rows at once. */
static void size_runs(plan *p, const tape *t) {
  for (int s = 0; s < p->step_ops; s++)
    if (p->scratch_size < t->op[p->step_op[s]].scratch) p->scratch_size = t->op[p->step_op[s]].scratch;
  for (int r = 0; r < p->runs; r++) {
    const row_run *run = &p->run[r];
    int64_t scratch = 0, blocks = run->rows ? row_blocks(run->rows) : t->op[run->op[0]].blocks;
    for (int s = 0; s < run->count; s++) {
      p->scratch_at[run->op[s]] = scratch;
      scratch += (t->op[run->op[s]].scratch + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
    }
    if (p->scratch_size < scratch) p->scratch_size = scratch;
    if (p->partial_one < run->partial) p->partial_one = run->partial;
    if (p->partial_all < run->partial * blocks) p->partial_all = run->partial * blocks;
  }
}

dkho_status plan_runs(plan *p, const tape *t, engine_mode mode) {
  scheduler s = {.p = p, .t = t, .training = mode == ENGINE_TRAIN};
  int *order;
  for (int i = 0; i < t->ops; i++) p->run_of[i] = -1;
  if (!ARENA_NEW(&p->mem, order, t->ops) || !ARENA_NEW(&p->mem, s.done, t->ops) ||
      !ARENA_NEW(&p->mem, s.made, t->vars) || !ARENA_NEW(&p->mem, s.by_rows, t->vars) ||
      !ARENA_NEW(&p->mem, s.as_whole, t->vars))
    return DKHO_E_MEMORY;
  for (var v = 0; v < t->vars; v++) s.made[v] = s.by_rows[v] = s.as_whole[v] = -1;
  order_ops(&s, order);
  p->sample_op = order;
  size_runs(p, t);
  for (int r = 0; mode == ENGINE_TRAIN && r < p->runs; r++)
    if (t->op[p->run[r].op[0]].mixes) p->barrier[p->barriers++] = r;
  return DKHO_OK;
}

/* By variable: whether its value, or its cotangent, is wanted outside the run that makes it. */
static void mark_outside(const plan *p, const tape *t, var loss, uint8_t *value, uint8_t *grad) {
  for (var v = 0; v < t->vars; v++) {
    int maker = t->var[v].maker;
    grad[v] = maker < 0 || p->run_of[maker] < 0 || !t->op[maker].rows || v == loss;
    value[v] = grad[v] || t->var[v].keep;
  }
  for (int s = 0; s < p->sample_ops; s++) {
    int i = p->sample_op[s];
    const op *o = &t->op[i];
    for (int j = 0; j < o->ins; j++) {
      var v = o->in[j];
      int other = t->var[v].maker < 0 || p->run_of[t->var[v].maker] != p->run_of[i];
      value[v] |= (uint8_t)(other || (p->back_op[i] && o->kind->back_in >> j & 1));
      grad[v] |= (uint8_t)other;
    }
    for (int j = 0; j < o->outs; j++) value[o->out[j]] |= p->back_op[i] && o->kind->back_out >> j & 1;
  }
}

static int64_t chunk_size(const tape_var *v) {
  return (ROW_CHUNK * v->cols + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
}

/* The lives of what is made in a run and wanted nowhere else, in places of the run: values as they are made and read,
 * cotangents the other way round. */
static int64_t local_lives(plan *p, const tape *t, const row_run *r, const uint8_t *outside, int cotangents, life *of,
                           life *list) {
  int64_t count = 0;
  for (int s = 0; s < r->count; s++) {
    const op *o = &t->op[r->op[s]];
    for (int j = 0; j < o->ins; j++)
      if (!outside[o->in[j]]) of[o->in[j]].end = s;
    for (int j = 0; j < o->outs; j++) {
      var v = o->out[j];
      of[v] = (life){s, s, chunk_size(&t->var[v]), cotangents ? &p->grad_local[v] : &p->value_local[v]};
    }
  }
  for (int s = 0; s < r->count; s++) {
    const op *o = &t->op[r->op[s]];
    for (int j = 0; j < o->outs; j++) {
      var v = o->out[j];
      if (outside[v] || (cotangents && !p->grad[v])) continue;
      list[count] = of[v];
      if (cotangents) list[count] = (life){-of[v].end, -of[v].start, of[v].size, of[v].at};
      count++;
    }
  }
  return count;
}

dkho_status plan_locals(plan *p, const tape *t, var loss) {
  uint8_t *outside;
  life *of;
  if (!MEM_NEW(outside, 2 * t->vars)) return DKHO_E_MEMORY;
  if (!MEM_NEW(of, 3 * t->vars)) {
    mem_free(outside);
    return DKHO_E_MEMORY;
  }
  mark_outside(p, t, loss, outside, outside + t->vars);
  for (int r = 0; r < p->runs; r++)
    for (int cotangents = 0; cotangents < 2; cotangents++) {
      int64_t n = local_lives(p, t, &p->run[r], outside + cotangents * t->vars, cotangents, of, of + t->vars);
      int64_t size = plan_pack(of + t->vars, n, of + 2 * t->vars);
      if (p->local_size < size) p->local_size = size;
    }
  mem_free(of);
  mem_free(outside);
  return DKHO_OK;
}
