/* coarse.c: see coarse.h. */
#include "problem/coarse.h"

#include "problem/locate.h"

#include <stdio.h>
#include <string.h>

struct coarse {
  const problem *p;
  const cx *fine;
  cx *c;
  problem_state *s;
  problem extended;
  int own;         /* fields of p that are not static: the added ones stand behind them */
  int32_t *corner; /* N0 × 3 of c: vertices of the fine triangle that a coarse vertex lies in, */
  double *bary;    /* and its coordinates there */
  arena mem;
};

struct coarse_solver {
  const coarse *c;
  double *one[PROBLEM_FIELDS_MAX]; /* on the coarse complex */
  void *work;
  arena mem;
};

static dkho_status check_kind(const problem *p) {
  if (!p->transfer)
    return fail(DKHO_E_INPUT, "coarse: %s has no solver whose solution could be read on another mesh", p->name);
  for (int i = 0; i < p->fields; i++)
    if (p->field[i].role == DATA_INPUT && p->field[i].degree != 0)
      return fail(DKHO_E_INPUT,
                  "coarse: input '%s' of %s has degree %d; only vertex inputs can be read on another mesh",
                  p->field[i].name, p->name, p->field[i].degree);
  return DKHO_OK;
}

/* "coarse_NAME" as an input like this target. */
static dkho_status add_input(coarse *c, const data_field *target, data_field *field, feat_row *row) {
  char *name = arena_take(&c->mem, DATA_NAME_MAX + 1, 1);
  if (!name) return DKHO_E_MEMORY;
  int length = snprintf(name, DATA_NAME_MAX + 1, "coarse_%s", target->name);
  if (length > DATA_NAME_MAX) return fail(DKHO_E_INPUT, "coarse: the name of target '%s' is too long", target->name);
  *field = (data_field)PROBLEM_INPUT(name, target->degree, target->channels, DATA_SCALE_RMS);
  *row = (feat_row){name, target->degree, FEAT_NATIVE, name};
  return DKHO_OK;
}

static dkho_status extend_problem(coarse *c) {
  const problem *p = c->p;
  problem *q = &c->extended;
  int targets = 0;
  for (int i = 0; i < p->fields; i++) targets += p->field[i].role == DATA_TARGET;
  if (p->fields + targets > PROBLEM_FIELDS_MAX) return fail(DKHO_E_INTERNAL, "coarse: too many fields");
  data_field *field;
  feat_row *row;
  if (!ARENA_NEW(&c->mem, field, p->fields + targets) || !ARENA_NEW(&c->mem, row, p->table.rows + targets))
    return DKHO_E_MEMORY;
  memcpy(field, p->field, (size_t)p->fields * sizeof *field);
  memcpy(row, p->table.row, (size_t)p->table.rows * sizeof *row);
  *q = *p;
  q->field = field, q->table.row = row;
  for (int i = 0; i < p->fields; i++) {
    c->own += p->field[i].role != DATA_STATIC;
    if (p->field[i].role == DATA_TARGET) TRY(add_input(c, &p->field[i], &field[q->fields++], &row[q->table.rows++]));
  }
  return DKHO_OK;
}

static dkho_status locate_vertices(coarse *c) {
  locator *l;
  if (!ARENA_NEW(&c->mem, c->corner, 3 * c->c->n[0]) || !ARENA_NEW(&c->mem, c->bary, 3 * c->c->n[0]))
    return DKHO_E_MEMORY;
  TRY(locator_create(&l, c->fine));
  for (int64_t i = 0; i < c->c->n[0]; i++) {
    int64_t f = locator_find(l, c->c->x + 2 * i, c->bary + 3 * i);
    memcpy(c->corner + 3 * i, c->fine->vert[2] + 3 * f, 3 * sizeof *c->corner);
  }
  locator_free(l);
  return DKHO_OK;
}

static dkho_status fill_coarse(coarse *c, const char *resolution, uint64_t seed) {
  TRY(check_kind(c->p));
  TRY(problem_check_resolution(c->p, resolution));
  TRY(c->p->build(&c->c, resolution));
  if (c->c->n[0] >= c->fine->n[0])
    return fail(DKHO_E_INPUT, "coarse: resolution '%s' has %lld vertices, the mesh of the data %lld: expected fewer",
                resolution, (long long)c->c->n[0], (long long)c->fine->n[0]);
  TRY(problem_prepare(&c->s, c->p, c->c, seed));
  TRY(extend_problem(c));
  return locate_vertices(c);
}

dkho_status coarse_create(coarse **out, const problem *p, const cx *fine, const char *resolution, uint64_t seed) {
  *out = NULL;
  coarse *c;
  if (!MEM_NEW(c, 1)) return DKHO_E_MEMORY;
  c->p = p, c->fine = fine;
  dkho_status s = fill_coarse(c, resolution, seed);
  if (s == DKHO_OK)
    *out = c;
  else
    coarse_free(c);
  return s;
}

void coarse_free(coarse *c) {
  if (!c) return;
  c->p->release(c->s);
  cx_free(c->c);
  arena_free(&c->mem);
  mem_free(c);
}

const problem *coarse_problem(const coarse *c) {
  return &c->extended;
}

dkho_status coarse_open(coarse_solver **out, const coarse *c) {
  *out = NULL;
  coarse_solver *s;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->c = c;
  dkho_status st = problem_room(c->p, c->s, c->c, &s->mem, s->one, &s->work);
  if (st == DKHO_OK)
    *out = s;
  else
    coarse_close(s);
  return st;
}

void coarse_close(coarse_solver *s) {
  if (!s) return;
  problem_leave(s->c->p, s->work);
  arena_free(&s->mem);
  mem_free(s);
}

/* A vertex field of the fine complex, linear on its triangles, at the coarse vertices. */
static void read_vertices(const coarse *c, int channels, const double *u, double *out) {
  for (int64_t i = 0; i < c->c->n[0]; i++)
    for (int q = 0; q < channels; q++) {
      out[i * channels + q] = 0;
      for (int a = 0; a < 3; a++) out[i * channels + q] += c->bary[3 * i + a] * u[c->corner[3 * i + a] * channels + q];
    }
}

dkho_status coarse_solve(coarse_solver *s, double *const *one) {
  const coarse *c = s->c;
  double *read[PROBLEM_FIELDS_MAX] = {0}; /* where the coarse targets go on the fine complex */
  for (int i = 0, j = 0, t = c->own; i < c->p->fields; i++) {
    const data_field *f = &c->p->field[i];
    if (f->role == DATA_STATIC) continue;
    if (f->role == DATA_INPUT) read_vertices(c, f->channels, one[j], s->one[j]);
    if (f->role == DATA_GLOBAL) memcpy(s->one[j], one[j], (size_t)f->channels * sizeof(double));
    if (f->role == DATA_TARGET) read[j] = one[t++];
    j++;
  }
  TRY(c->p->solve_one(c->s, s->work, s->one));
  return c->p->transfer(s->work, c->fine, read);
}

dkho_status coarse_solve_group(coarse_solver *s, double *const *block) {
  const coarse *c = s->c;
  for (int k = 0; k < PROBLEM_GROUP; k++) {
    double *one[PROBLEM_FIELDS_MAX];
    for (int i = 0, j = 0; i < c->extended.fields; i++) {
      const data_field *f = &c->extended.field[i];
      if (f->role == DATA_STATIC) continue;
      one[j] = block[j] + k * (f->role == DATA_GLOBAL ? 1 : c->fine->n[f->degree]) * f->channels;
      j++;
    }
    TRY(coarse_solve(s, one));
  }
  return DKHO_OK;
}
