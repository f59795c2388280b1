/* state.c: slabs in and out of the container; see state.h. */
#include "nn/state.h"

#include "base/seal.h"

#include <stdio.h>
#include <string.h>

static void full_name(char name[ST_NAME_MAX + 1], const char *prefix, const param *q) {
  snprintf(name, ST_NAME_MAX + 1, "%s%s", prefix, q->name);
}

dkho_status state_declare(st_writer *w, const params *p, const char *prefix) {
  for (int i = 0; i < p->count; i++) {
    const param *q = &p->list[i];
    char name[ST_NAME_MAX + 1];
    uint64_t shape[PARAM_RANK_MAX];
    full_name(name, prefix, q);
    for (int j = 0; j < q->rank; j++) shape[j] = (uint64_t)q->shape[j];
    TRY(st_declare(w, name, REAL_ST, q->rank, shape));
  }
  return DKHO_OK;
}

dkho_status state_write(st_writer *w, const params *p, const real *slab) {
  for (int i = 0; i < p->count; i++)
    TRY(st_write(w, slab + p->list[i].offset, (size_t)p->list[i].count * sizeof *slab));
  return DKHO_OK;
}

static dkho_status find_stored(const st_file *f, const param *q, const char *prefix, const st_tensor **x) {
  char name[ST_NAME_MAX + 1];
  full_name(name, prefix, q);
  TRY(st_need(f, name, REAL_ST, q->rank, q->shape, x));
  return st_need_finite(f, *x);
}

dkho_status state_check(const st_file *f, const params *p, const char *prefix) {
  const st_tensor *x;
  for (int i = 0; i < p->count; i++) TRY(find_stored(f, &p->list[i], prefix, &x));
  return DKHO_OK;
}

dkho_status state_read(const st_file *f, const params *p, const char *prefix, real *slab) {
  const st_tensor *x;
  TRY(state_check(f, p, prefix));
  for (int i = 0; i < p->count; i++) {
    TRY(find_stored(f, &p->list[i], prefix, &x));
    memcpy(slab + p->list[i].offset, x->data, (size_t)p->list[i].count * sizeof *slab);
  }
  return DKHO_OK;
}

/* SOAP's averages and bases of one tensor: {tensor name, extent, values} of the parts i = 0 … 3. */
static double *part_of(const optim *o, int tensor, int i, char name[ST_NAME_MAX + 1], int64_t *n) {
  static const char *const prefix[4] = {"soap.cover0.", "soap.cover1.", "soap.basis0.", "soap.basis1."};
  const param *q = &o->p->list[tensor];
  full_name(name, prefix[i], q);
  *n = i % 2 ? q->rows : q->cols;
  return i < 2 ? o->sides[tensor].cover[i] : o->sides[tensor].basis[i - 2];
}

static dkho_status declare_sides(st_writer *w, const optim *o) {
  for (int t = 0; o->sides && t < o->p->count; t++)
    for (int i = 0; i < 4; i++) {
      char name[ST_NAME_MAX + 1];
      int64_t n;
      if (!part_of(o, t, i, name, &n)) continue;
      TRY(st_declare(w, name, ST_F64, 2, (const uint64_t[]){(uint64_t)n, (uint64_t)n}));
    }
  return DKHO_OK;
}

static dkho_status write_sides(st_writer *w, const optim *o) {
  for (int t = 0; o->sides && t < o->p->count; t++)
    for (int i = 0; i < 4; i++) {
      char name[ST_NAME_MAX + 1];
      int64_t n;
      const double *part = part_of(o, t, i, name, &n);
      if (part) TRY(st_write(w, part, (size_t)(n * n) * sizeof *part));
    }
  return DKHO_OK;
}

/* SOAP's averages and bases, n × n each, straight into the optimiser. */
static dkho_status read_sides(const st_file *f, const optim *o) {
  for (int t = 0; o->sides && t < o->p->count; t++)
    for (int i = 0; i < 4; i++) {
      char name[ST_NAME_MAX + 1];
      int64_t n;
      const st_tensor *x;
      double *part = part_of(o, t, i, name, &n);
      if (!part) continue;
      TRY(st_need(f, name, ST_F64, 2, (const int64_t[]){n, n}, &x));
      TRY(st_need_finite(f, x));
      memcpy(part, x->data, (size_t)(n * n) * sizeof *part);
    }
  return DKHO_OK;
}

dkho_status state_declare_optim(st_writer *w, const optim *o) {
  TRY(state_declare(w, o->p, "adam.m."));
  TRY(state_declare(w, o->p, "adam.v."));
  if (o->average) TRY(state_declare(w, o->p, "average."));
  TRY(declare_sides(w, o));
  return st_declare(w, "adam.step", ST_I64, 1, (const uint64_t[]){1});
}

dkho_status state_write_optim(st_writer *w, const optim *o) {
  TRY(state_write(w, o->p, o->m));
  TRY(state_write(w, o->p, o->v));
  if (o->average) TRY(state_write(w, o->p, o->average));
  TRY(write_sides(w, o));
  return st_write(w, &o->step, sizeof o->step);
}

dkho_status state_read_optim(const st_file *f, optim *o) {
  const st_tensor *step;
  TRY(st_need(f, "adam.step", ST_I64, 1, (const int64_t[]){1}, &step));
  int64_t taken;
  memcpy(&taken, step->data, sizeof taken);
  if (taken < 0)
    return fail(DKHO_E_FORMAT, "%s: adam.step: found %lld, expected a count", st_path(f), (long long)taken);
  TRY(state_read(f, o->p, "adam.m.", o->m));
  TRY(state_read(f, o->p, "adam.v.", o->v));
  if (o->average) TRY(state_read(f, o->p, "average.", o->average));
  TRY(read_sides(f, o));
  o->step = taken;
  return DKHO_OK;
}
