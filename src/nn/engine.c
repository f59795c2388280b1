/* engine.c: lanes, groups and their fixed order; see engine.h. */
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
  e->slabs = e->mode == ENGINE_TRAIN ? ENGINE_GROUPS : 0;
  return ARENA_NEW(&e->mem, e->slab, e->slabs * p->slab_size) ? DKHO_OK : DKHO_E_MEMORY;
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
    if (!e->plan.grad[v] || t->var[v].level != LEVEL_STEP) continue;
    l->grad[v] = slab + (t->var[v].kind == VAR_PARAM ? t->p->list[t->var[v].param].offset - e->plan.first_param
                                                     : e->plan.grad_at[v]);
  }
}

static long long number_of(const engine_batch *b, int64_t i) {
  return (long long)(b->number ? b->number[i] : i);
}

dkho_status engine_take_loss(gradient_job *j, const lane *l, int64_t group, int64_t i) {
  double loss = (double)l->val[j->e->loss][0];
  if (!isfinite(loss)) return fail(DKHO_E_NONFINITE, "loss of sample %lld is %g", number_of(j->b, i), loss);
  if (j->loss) j->loss[i] = loss;
  j->sum[group] += loss;
  l->grad[j->e->loss][0] = (real)j->weight;
  return DKHO_OK;
}

static dkho_status run_sample(gradient_job *j, const lane *l, int64_t group, int64_t i) {
  engine *e = j->e;
  TRY(j->b->fill(j->b->ctx, l, i));
  engine_forward(e, l, 0, e->plan.runs);
  TRY(engine_take_loss(j, l, group, i));
  engine_backward(e, l, 0, e->plan.runs);
  if (j->bad[group] < 0 && !params_finite(engine_slab(e, group), e->plan.slab_size)) j->bad[group] = i;
  return j->b->take ? j->b->take(j->b->ctx, l, i) : DKHO_OK;
}

static dkho_status group_task(void *ctx, size_t task, int worker) {
  gradient_job *j = ctx;
  int64_t g = (int64_t)task, i1 = (g + 1) * j->b->count / j->groups;
  const lane *l = &j->e->lane[worker];
  real *slab = engine_slab(j->e, g);
  memset(slab, 0, (size_t)j->e->plan.slab_size * sizeof *slab);
  engine_aim(j->e, l, slab);
  j->bad[g] = -1;
  j->sum[g] = 0;
  for (int64_t i = g * j->b->count / j->groups; i < i1; i++) TRY(run_sample(j, l, g, i));
  return DKHO_OK;
}

typedef struct {
  engine *e;
  int64_t groups;
} slab_job;
enum { SLAB_CHUNK = 8192 };

/* slab 0 += slab 1, 2, … in order, one chunk of entries. */
static dkho_status slab_task(void *ctx, size_t task, int worker) {
  const slab_job *j = ctx;
  int64_t i0 = (int64_t)task * SLAB_CHUNK, i1 = i0 + SLAB_CHUNK, n = j->e->plan.slab_size;
  real *sum = engine_slab(j->e, 0);
  (void)worker;
  if (i1 > n) i1 = n;
  for (int64_t g = 1; g < j->groups; g++) {
    const real *slab = engine_slab(j->e, g);
    for (int64_t i = i0; i < i1; i++) sum[i] += slab[i];
  }
  return DKHO_OK;
}

static void step_backward(engine *e) {
  engine_aim(e, &e->shared, engine_slab(e, 0));
  for (int s = e->plan.step_ops - 1; s >= 0; s--) {
    const row_run alone = step_run(e, s);
    run_ops_backward(e, &alone, &e->shared);
  }
}

/* Names the first tensor of the summed gradient that is not finite, and the first sample that made a group so. */
static dkho_status check_gradient(const engine *e, const gradient_job *j) {
  const params *p = e->t->p;
  const real *g = engine_slab(e, 0);
  int64_t bad = -1;
  for (int64_t i = j->groups - 1; i >= 0; i--)
    if (j->bad[i] >= 0) bad = j->bad[i];
  for (int i = 0; i < p->count; i++) {
    int64_t at = p->list[i].offset - e->plan.first_param;
    if (at < 0 || at >= e->plan.last_param - e->plan.first_param || params_finite(g + at, p->list[i].count)) continue;
    if (e->plan.barriers)
      return fail(DKHO_E_NONFINITE, "gradient of %s is not finite in a batch that is normalised together",
                  p->list[i].name);
    if (bad < 0) return fail(DKHO_E_NONFINITE, "gradient of %s is not finite: the sum overflows", p->list[i].name);
    return fail(DKHO_E_NONFINITE, "gradient of %s is not finite, first in sample %lld", p->list[i].name,
                number_of(j->b, bad));
  }
  return bad < 0 ? DKHO_OK : fail(DKHO_E_NONFINITE, "a gradient is not finite in sample %lld", number_of(j->b, bad));
}

dkho_status engine_gradient(engine *e, const engine_batch *b, double weight, double *loss, double *mean, real *g) {
  gradient_job j = {.e = e, .b = b, .weight = weight, .loss = loss};
  assert(e->mode == ENGINE_TRAIN && e->bound && b->count > 0);
  j.groups = b->count < ENGINE_GROUPS ? b->count : ENGINE_GROUPS;
  e->lane[0].pool = j.groups == 1 ? e->pool : NULL;
  if (e->plan.barriers)
    TRY(engine_mixed(&j));
  else
    TRY(pool_run(j.groups == 1 ? NULL : e->pool, (size_t)j.groups, group_task, &j));
  slab_job sum = {e, j.groups};
  TRY(pool_run(e->pool, (size_t)((e->plan.slab_size + SLAB_CHUNK - 1) / SLAB_CHUNK), slab_task, &sum));
  step_backward(e);
  TRY(check_gradient(e, &j));
  double total = 0;
  for (int64_t i = 0; i < j.groups; i++) total += j.sum[i];
  if (mean) *mean = weight * total;
  if (g) engine_add(e, g);
  return DKHO_OK;
}

void engine_add(const engine *e, real *g) {
  const real *slab = engine_slab(e, 0);
  for (int64_t i = e->plan.first_param; i < e->plan.last_param; i++) g[i] += slab[i - e->plan.first_param];
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
