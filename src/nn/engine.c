/* engine.c: lanes, rounds of samples and the sum over them; see engine.h. */
#include "nn/engine_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* memory NULL: a lane of the step alone. */
static dkho_status lane_init(engine *e, lane *l, real *memory, int64_t partial) {
  const tape *t = e->t;
  const plan *p = &e->plan;
  l->t = t;
  l->k = e->kernels;
  l->value_local = p->value_local;
  l->grad_local = p->grad_local;
  l->scratch_at = p->scratch_at;
  l->fresh = p->fresh;
  l->peers = e->lane;
  if (!ARENA_NEW(&e->mem, l->val, t->vars) || !ARENA_NEW(&e->mem, l->out, t->vars) ||
      !ARENA_NEW(&e->mem, l->grad, t->vars) || !ARENA_NEW(&e->mem, l->partial, partial) ||
      !ARENA_NEW(&e->mem, l->local, p->local_size) || !ARENA_NEW(&e->mem, l->scratch, p->scratch_size))
    return DKHO_E_MEMORY;
  for (var v = 0; v < t->vars; v++) {
    if (t->var[v].kind == VAR_CONST) l->val[v] = t->var[v].data;
    if (t->var[v].level != LEVEL_SAMPLE || !memory) continue;
    if (p->value_at[v] >= 0) l->val[v] = l->out[v] = memory + p->value_at[v];
    if (p->grad_at[v] >= 0) l->grad[v] = memory + p->grad_at[v];
  }
  return DKHO_OK;
}

dkho_status engine_add_lane(engine *e, lane *l, int64_t partial) {
  real *memory;
  if (!ARENA_NEW(&e->mem, memory, e->plan.lane_size)) return DKHO_E_MEMORY;
  TRY(lane_init(e, l, memory, partial));
  for (var v = 0; v < e->t->vars; v++)
    if (e->t->var[v].level == LEVEL_STEP) l->val[v] = e->shared.val[v];
  return DKHO_OK;
}

dkho_status engine_add_slabs(engine *e, int64_t count) {
  if (!ARENA_NEW(&e->mem, e->slab, count * e->plan.slab_size) || !ARENA_NEW(&e->mem, e->lost, count) ||
      !ARENA_NEW(&e->mem, e->bad, count)) {
    e->slabs = 0;
    return DKHO_E_MEMORY;
  }
  e->slabs = count;
  return DKHO_OK;
}

static dkho_status engine_build(engine *e) {
  const plan *p = &e->plan;
  real *step;
  int wide = e->pool != NULL;
  if (!ARENA_NEW(&e->mem, step, p->step_size) || !ARENA_NEW(&e->mem, e->lane, e->lanes)) return DKHO_E_MEMORY;
  TRY(lane_init(e, &e->shared, NULL, p->step_partial));
  e->shared.pool = e->pool;
  for (var v = 0; v < e->t->vars; v++)
    if (e->t->var[v].level == LEVEL_STEP && p->value_at[v] >= 0)
      e->shared.val[v] = e->shared.out[v] = step + p->value_at[v];
  for (int i = 0; i < e->lanes; i++) {
    TRY(engine_add_lane(e, &e->lane[i], i == 0 && wide ? p->partial_all : p->partial_one));
    e->lane[i].index = i;
  }
  if (e->mode != ENGINE_TRAIN) return DKHO_OK;
  if (!ARENA_NEW(&e->mem, e->inner, p->inner_size)) return DKHO_E_MEMORY;
  for (var v = 0; v < e->t->vars; v++)
    if (p->inner[v]) e->shared.grad[v] = e->inner + p->grad_at[v];
  TRY(sum_tree_create(&e->sum, p->slab_size, ENGINE_ROUND));
  return engine_add_slabs(e, ENGINE_ROUND);
}

dkho_status engine_create(engine **out, const tape *t, engine_mode mode, var loss, pool *p) {
  engine *e;
  *out = NULL;
  TRY(t->status);
  assert(mode == ENGINE_PREDICT || (t->var[loss].level == LEVEL_SAMPLE && t->var[loss].rows * t->var[loss].cols == 1));
  if (!MEM_NEW(e, 1)) return DKHO_E_MEMORY;
  e->t = t;
  e->mode = mode;
  e->loss = loss;
  e->pool = pool_width(p) > 1 ? p : NULL;
  e->lanes = pool_width(p);
  dkho_status s = kern_get(&e->kernels);
  if (s == DKHO_OK) s = plan_make(&e->plan, t, mode, loss);
  if (s == DKHO_OK) s = engine_build(e);
  if (s != DKHO_OK) {
    engine_free(e);
    return s;
  }
  *out = e;
  return DKHO_OK;
}

void engine_free(engine *e) {
  if (!e) return;
  plan_free(&e->plan);
  sum_tree_free(e->sum);
  arena_free(&e->mem);
  mem_free(e);
}

size_t engine_lane_bytes(const engine *e) {
  return (size_t)(e->plan.lane_size + e->plan.local_size) * sizeof(real);
}

/* A step operation as a run of its own. */
static row_run step_run(const engine *e, int s) {
  const op *o = &e->t->op[e->plan.step_op[s]];
  return (row_run){&e->plan.step_op[s], 1, o->rows, o->partial};
}

static void run_ops_forward(const row_run *r, const lane *l) {
  const op *o = &l->t->op[r->op[0]];
  if (r->rows)
    run_rows_forward(r, l);
  else
    o->kind->forward(o, l);
}

static void run_ops_backward(const engine *e, const row_run *r, const lane *l) {
  const op *o = &l->t->op[r->op[0]];
  if (r->rows)
    run_rows_backward(r, l, e->plan.back_op);
  else if (e->plan.back_op[r->op[0]])
    o->kind->backward(o, l);
}

const char *engine_kernels(const engine *e) {
  return e->kernels->name;
}

void engine_bind(engine *e, const real *value) {
  const tape *t = e->t;
  for (var v = 0; v < t->vars; v++) {
    if (t->var[v].kind != VAR_PARAM) continue;
    const real *at = value + t->p->list[t->var[v].param].offset;
    e->shared.val[v] = at;
    for (int i = 0; i < e->lanes; i++) e->lane[i].val[v] = at;
  }
  for (int s = 0; s < e->plan.step_ops; s++) {
    const row_run alone = step_run(e, s);
    run_ops_forward(&alone, &e->shared);
  }
  e->bound = 1;
}

int lane_index(const lane *l) {
  return l->index;
}

real *lane_input(const lane *l, var v) {
  assert(l->t->var[v].kind == VAR_INPUT);
  return l->out[v];
}

const real *lane_value(const lane *l, var v) {
  assert(l->t->var[v].kind == VAR_INPUT || l->t->var[v].keep);
  return l->val[v];
}

const real *lane_grad(const lane *l, var v) {
  assert(l->t->var[v].want_grad);
  return l->grad[v];
}

void engine_forward(const engine *e, const lane *l, int first, int last) {
  for (int s = first; s < last; s++) run_ops_forward(&e->plan.run[s], l);
}

void engine_clear(const engine *e, const row_run *r, const lane *l) {
  for (int s = 0; s < r->count; s++) {
    int i = r->op[s];
    const op *o = &e->t->op[i];
    for (int j = 0; j < o->ins; j++) {
      const tape_var *v = &e->t->var[o->in[j]];
      if (v->level != LEVEL_SAMPLE || !l->grad[o->in[j]] || e->plan.first[o->in[j]] != i) continue;
      int written = 0; /* by this input, or by the same variable at another place */
      for (int k = 0; k < o->ins; k++) written |= o->in[k] == o->in[j] && e->plan.fresh[i] >> k & 1;
      if (!written) memset(l->grad[o->in[j]], 0, (size_t)(v->rows * v->cols) * sizeof(real));
    }
  }
}

void engine_backward(const engine *e, const lane *l, int first, int last) {
  for (int s = last - 1; s >= first; s--) {
    engine_clear(e, &e->plan.run[s], l);
    run_ops_backward(e, &e->plan.run[s], l);
  }
}

void engine_aim(const engine *e, const lane *l, real *slab) {
  const tape *t = e->t;
  for (var v = 0; v < t->vars; v++) {
    if (!e->plan.grad[v] || t->var[v].level != LEVEL_STEP || e->plan.inner[v]) continue;
    l->grad[v] = slab + (t->var[v].kind == VAR_PARAM ? t->p->list[t->var[v].param].offset - e->plan.first_param
                                                     : e->plan.grad_at[v]);
  }
}

static long long number_of(const engine_batch *b, int64_t i) {
  return (long long)(b->number ? b->number[i] : i);
}

dkho_status engine_take_loss(gradient_job *j, const lane *l, int64_t i) {
  double loss = (double)l->val[j->e->loss][0];
  if (!isfinite(loss)) return fail(DKHO_E_NONFINITE, "loss of sample %lld is %g", number_of(j->b, j->first + i), loss);
  if (j->loss) j->loss[j->first + i] = loss;
  j->e->lost[i] = loss;
  l->grad[j->e->loss][0] = (real)j->weight;
  return DKHO_OK;
}

static dkho_status sample_task(void *ctx, size_t task, int worker) {
  gradient_job *j = ctx;
  engine *e = j->e;
  int64_t i = (int64_t)task;
  const lane *l = &e->lane[worker];
  real *slab = engine_slab(e, i);
  memset(slab, 0, (size_t)e->plan.slab_size * sizeof *slab);
  engine_aim(e, l, slab);
  TRY(j->b->fill(j->b->ctx, l, j->first + i));
  engine_forward(e, l, 0, e->plan.runs);
  TRY(engine_take_loss(j, l, i));
  engine_backward(e, l, 0, e->plan.runs);
  e->bad[i] = !params_finite(slab, e->plan.slab_size);
  return j->b->take ? j->b->take(j->b->ctx, l, j->first + i) : DKHO_OK;
}

static void step_backward(engine *e, real *slab) {
  engine_aim(e, &e->shared, slab);
  memset(e->inner, 0, (size_t)e->plan.inner_size * sizeof *e->inner);
  for (int s = e->plan.step_ops - 1; s >= 0; s--) {
    const row_run alone = step_run(e, s);
    run_ops_backward(e, &alone, &e->shared);
  }
}

/* The first tensor whose gradient in the slab is not finite, or NULL. */
static const char *bad_tensor(const engine *e, const real *slab) {
  const params *p = e->t->p;
  for (int i = 0; i < p->count; i++) {
    int64_t at = p->list[i].offset - e->plan.first_param;
    if (at >= 0 && at < e->plan.last_param - e->plan.first_param && !params_finite(slab + at, p->list[i].count))
      return p->list[i].name;
  }
  return NULL;
}

/* Names the first sample of the round with a gradient that is not finite, and the first tensor. */
static dkho_status check_round(const gradient_job *j) {
  engine *e = j->e;
  for (int64_t i = 0; i < j->count; i++) {
    if (!e->bad[i]) continue;
    long long sample = number_of(j->b, j->first + i);
    step_backward(e, engine_slab(e, i));
    const char *name = bad_tensor(e, engine_slab(e, i));
    if (!name) return fail(DKHO_E_NONFINITE, "a gradient is not finite in sample %lld", sample);
    return fail(DKHO_E_NONFINITE, "gradient of %s is not finite, first in sample %lld", name, sample);
  }
  return DKHO_OK;
}

static dkho_status add_round(const gradient_job *j) {
  const engine *e = j->e;
  const sum_piece slabs = {e->slab, e->plan.slab_size, e->plan.slab_size};
  return sum_tree_add(e->sum, e->pool, j->count, 1, &slabs, e->lost);
}

/* The samples of this rank, some at a time. */
static dkho_status run_rounds(gradient_job *j) {
  engine *e = j->e;
  const comm *c = j->b->ranks ? j->b->ranks : comm_serial();
  int64_t end = sum_tree_first(j->b->count, c->size, c->rank + 1);
  for (j->first = sum_tree_first(j->b->count, c->size, c->rank); j->first < end; j->first += j->count) {
    j->count = end - j->first < e->slabs ? end - j->first : e->slabs;
    e->lane[0].pool = j->count == 1 ? e->pool : NULL;
    TRY(pool_run(j->count == 1 ? NULL : e->pool, (size_t)j->count, sample_task, j));
    TRY(check_round(j));
    TRY(add_round(j));
  }
  return DKHO_OK;
}

static dkho_status run_mixed(gradient_job *j) {
  j->count = j->b->count;
  j->e->lane[0].pool = j->count == 1 ? j->e->pool : NULL;
  TRY(engine_mixed(j));
  return add_round(j);
}

dkho_status engine_gradient(engine *e, const engine_batch *b, double weight, double *loss, double *mean, real *g) {
  gradient_job j = {.e = e, .b = b, .weight = weight, .loss = loss};
  double sum;
  assert(e->mode == ENGINE_TRAIN && e->bound && b->count > 0);
  sum_tree_open(e->sum, e->plan.barriers ? NULL : b->ranks, b->count);
  TRY(sum_tree_total(e->sum, e->plan.barriers ? run_mixed(&j) : run_rounds(&j), &e->total, &sum));
  step_backward(e, e->total);
  const char *name = bad_tensor(e, e->total);
  if (name)
    return fail(DKHO_E_NONFINITE, "gradient of %s is not finite%s", name,
                e->plan.barriers ? " in a batch that is normalised together" : ": the sum overflows");
  if (mean) *mean = weight * sum;
  if (g) engine_add(e, g);
  return DKHO_OK;
}

void engine_add(const engine *e, real *g) {
  for (int64_t i = e->plan.first_param; i < e->plan.last_param; i++) g[i] += e->total[i - e->plan.first_param];
}

typedef struct {
  const engine *e;
  const engine_batch *b;
} predict_job;

static dkho_status predict_task(void *ctx, size_t task, int worker) {
  const predict_job *j = ctx;
  const lane *l = &j->e->lane[worker];
  TRY(j->b->fill(j->b->ctx, l, (int64_t)task));
  engine_forward(j->e, l, 0, j->e->plan.runs);
  return j->b->take ? j->b->take(j->b->ctx, l, (int64_t)task) : DKHO_OK;
}

dkho_status engine_predict(engine *e, const engine_batch *b) {
  predict_job j = {e, b};
  assert(e->mode == ENGINE_PREDICT && e->bound);
  e->lane[0].pool = b->count == 1 ? e->pool : NULL;
  return pool_run(b->count == 1 ? NULL : e->pool, (size_t)b->count, predict_task, &j);
}
