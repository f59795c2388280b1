/* tape.c: recording; see tape.h. */
#include "nn/tape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct tape_owned {
  void (*destroy)(void *object);
  void *object;
  struct tape_owned *next;
};

dkho_status tape_create(tape **out, const params *p) {
  tape *t;
  *out = NULL;
  assert(p->size > 0);
  if (!MEM_NEW(t, 1)) return DKHO_E_MEMORY;
  t->p = p;
  *out = t;
  return DKHO_OK;
}

void tape_free(tape *t) {
  if (!t) return;
  for (struct tape_owned *o = t->owned; o; o = o->next) o->destroy(o->object);
  mem_free(t->var);
  mem_free(t->op);
  arena_free(&t->mem);
  mem_free(t);
}

void tape_own(tape *t, void (*destroy)(void *object), void *object) {
  struct tape_owned *o;
  if (!object) return;
  if (!ARENA_NEW(&t->mem, o, 1)) {
    destroy(object);
    t->status = DKHO_E_MEMORY;
    return;
  }
  *o = (struct tape_owned){destroy, object, t->owned};
  t->owned = o;
}

/* Room for one more item in a growing list; 0 and a sticky failure when there is none. */
static int grow_tape_list(tape *t, void **list, int count, int *room, size_t size) {
  if (count < *room) return 1;
  int more = *room ? 2 * *room : 256;
  void *fresh = mem_resize(*list, (size_t)*room, (size_t)more, size);
  if (!fresh) {
    t->status = DKHO_E_MEMORY;
    return 0;
  }
  *list = fresh;
  *room = more;
  return 1;
}

static var add_var(tape *t, tape_var v) {
  assert(v.rows > 0 && v.cols > 0);
  void *list = t->var;
  if (t->status != DKHO_OK || !grow_tape_list(t, &list, t->vars, &t->var_room, sizeof *t->var)) return VAR_NONE;
  t->var = list;
  t->var[t->vars] = v;
  return t->vars++;
}

var tape_param(tape *t, const char *name) {
  int i = params_find(t->p, name);
  assert(i >= 0);
  for (var v = 0; v < t->vars; v++)
    if (t->var[v].kind == VAR_PARAM && t->var[v].param == i) return v;
  const param *q = &t->p->list[i];
  return add_var(t, (tape_var){VAR_PARAM, LEVEL_STEP, q->rows, q->cols, .param = i, .maker = -1});
}

var tape_const(tape *t, int64_t rows, int64_t cols, const real *data) {
  return add_var(t, (tape_var){VAR_CONST, LEVEL_STEP, rows, cols, .data = data, .maker = -1});
}

var tape_input(tape *t, int64_t rows, int64_t cols) {
  return add_var(t, (tape_var){VAR_INPUT, LEVEL_SAMPLE, rows, cols, .maker = -1});
}

void tape_keep(tape *t, var v) {
  if (t->status == DKHO_OK) t->var[v].keep = 1;
}

void tape_want_grad(tape *t, var input) {
  if (t->status != DKHO_OK) return;
  assert(t->var[input].kind == VAR_INPUT);
  t->var[input].want_grad = 1;
}

enum { LABEL_MAX = 32 };
typedef struct tape_label {
  struct tape_label *next;
  var v;
  char name[LABEL_MAX];
} tape_label;

void tape_name(tape *t, var v, const char *fmt, ...) {
  tape_label *label;
  va_list args;
  if (t->status != DKHO_OK || v == VAR_NONE) return;
  if (!ARENA_NEW(&t->mem, label, 1)) {
    t->status = DKHO_E_MEMORY;
    return;
  }
  label->v = v, label->next = t->labels, t->labels = label;
  va_start(args, fmt);
  vsnprintf(label->name, sizeof label->name, fmt, args);
  va_end(args);
}

var tape_find(const tape *t, const char *fmt, ...) {
  char name[LABEL_MAX];
  va_list args;
  va_start(args, fmt);
  vsnprintf(name, sizeof name, fmt, args);
  va_end(args);
  const tape_label *label = t->labels;
  while (label && strcmp(label->name, name) != 0) label = label->next;
  return label ? label->v : VAR_NONE;
}

op *tape_op(tape *t, const op_kind *kind, int ins, const var *in, int outs, const int64_t (*shape)[2],
            size_t attr_bytes) {
  void *list = t->op;
  assert(ins <= 32 && outs <= 32);
  if (t->status != DKHO_OK || !grow_tape_list(t, &list, t->ops, &t->op_room, sizeof *t->op)) return NULL;
  t->op = list;
  op *o = &t->op[t->ops];
  *o = (op){.kind = kind, .level = LEVEL_STEP, .ins = ins, .outs = outs};
  if (!ARENA_NEW(&t->mem, o->in, ins) || !ARENA_NEW(&t->mem, o->out, outs) ||
      (attr_bytes && !(o->attr = arena_take(&t->mem, attr_bytes, 1)))) {
    t->status = DKHO_E_MEMORY;
    return NULL;
  }
  for (int i = 0; i < ins; i++) {
    assert(in[i] >= 0 && in[i] < t->vars);
    o->in[i] = in[i];
    if (t->var[in[i]].level == LEVEL_SAMPLE) o->level = LEVEL_SAMPLE;
  }
  for (int i = 0; i < outs; i++)
    o->out[i] = add_var(t, (tape_var){VAR_VALUE, o->level, shape[i][0], shape[i][1], .maker = t->ops});
  if (t->status != DKHO_OK) return NULL;
  t->ops++;
  return o;
}

/* Whether an input that is read as a whole is also read by rows. */
static int both_ways(const op *o) {
  for (int i = 0; i < o->ins; i++)
    for (int j = 0; j < o->ins; j++)
      if (o->in[i] == o->in[j] && (o->whole >> i & 1) != (o->whole >> j & 1)) return 1;
  return 0;
}

op *tape_row_op(tape *t, const row_kind *kind, uint32_t whole, int ins, const var *in, int outs,
                const int64_t (*shape)[2], size_t attr_bytes) {
  op *o = tape_op(t, &kind->kind, ins, in, outs, shape, attr_bytes);
  if (!o) return NULL;
  o->by_rows = kind;
  o->rows = shape[0][0];
  o->whole = whole;
  o->fresh = ~whole;
  assert(!both_ways(o));
  for (int i = 0; i < ins; i++) {
    const tape_var *x = &t->var[in[i]];
    if (whole >> i & 1)
      o->partial += x->rows * x->cols;
    else
      assert(x->rows == o->rows);
  }
  for (int i = 0; i < outs; i++) assert(shape[i][0] == o->rows);
  return o;
}

op *tape_mix_op(tape *t, const mix_kind *kind, int ins, const var *in, int outs, const int64_t (*shape)[2],
                size_t attr_bytes) {
  op *o = tape_op(t, &kind->kind, ins, in, outs, shape, attr_bytes);
  if (!o) return NULL;
  assert(o->level == LEVEL_SAMPLE);
  o->mixes = kind;
  return o;
}

void tape_reach(const tape *t, int predicting, int roots, const var *root, uint8_t *need_op, uint8_t *need_var) {
  memset(need_op, 0, (size_t)t->ops);
  memset(need_var, 0, (size_t)t->vars);
  for (int i = 0; i < roots; i++) need_var[root[i]] = 1;
  for (int i = t->ops - 1; i >= 0; i--) {
    const op *o = &t->op[i];
    uint32_t reads = predicting && o->mixes ? o->mixes->predict_in : OP_ALL;
    for (int j = 0; j < o->outs; j++) need_op[i] |= need_var[o->out[j]];
    for (int j = 0; need_op[i] && j < o->ins; j++)
      if (reads >> j & 1) need_var[o->in[j]] = 1;
  }
}

dkho_status tape_work(const tape *t, var root, double *work) {
  uint8_t *need;
  *work = 0;
  if (!MEM_NEW(need, t->ops + t->vars)) return DKHO_E_MEMORY;
  tape_reach(t, 0, 1, &root, need, need + t->ops);
  for (int i = 0; i < t->ops; i++)
    if (need[i] && t->op[i].level == LEVEL_SAMPLE) *work += t->op[i].work;
  mem_free(need);
  return DKHO_OK;
}

dkho_status tape_mark_live(const tape *t, var root, params *p) {
  assert(p == t->p);
  TRY(t->status);
  uint8_t *need;
  if (!MEM_NEW(need, t->ops + t->vars)) return DKHO_E_MEMORY;
  tape_reach(t, 0, 1, &root, need, need + t->ops);
  for (int i = 0; i < p->count; i++) p->list[i].live = 0;
  for (var v = 0; v < t->vars; v++)
    if (t->var[v].kind == VAR_PARAM && need[t->ops + v]) p->list[t->var[v].param].live = 1;
  mem_free(need);
  return DKHO_OK;
}
