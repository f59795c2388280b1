/* dataset_commit.c: the container, from the spooled samples. The first rank writes it and leaves gaps for the samples of the others, which join
 * its temporary file. */
#include "base/temp.h"
#include "data/data_impl.h"

#include <stdio.h>
#include <string.h>

/* Names, types and shapes, in the order in which emit gives the bytes. */
static dkho_status declare_tensors(const dataset_writer *w, st_writer *o) {
  char name[ST_NAME_MAX + 1];
  for (int ci = 0; ci < w->spec.complexes; ci++) {
    const data_part *p = &w->part[ci];
    snprintf(name, sizeof name, "c%d/", ci);
    TRY(cx_declare(p->c, o, name));
    for (int k = 0; k <= p->c->dim; k++) {
      uint64_t shape[] = {(uint64_t)p->c->n[k], (uint64_t)p->harmonics[k]};
      data_name_harmonic(name, ci, k);
      if (p->harmonic[k]) TRY(st_declare(o, name, ST_F64, 2, shape));
    }
    for (int i = 0; i < w->spec.fields; i++) {
      const data_field *f = &w->spec.field[i];
      if (f->role == DATA_GLOBAL) continue;
      uint64_t shape[] = {(uint64_t)w->spec.samples[ci], (uint64_t)p->c->n[f->degree], (uint64_t)f->channels};
      int fixed = f->role == DATA_STATIC;
      data_name_field(name, ci, f);
      TRY(st_declare(o, name, fixed ? ST_F64 : ST_F32, fixed ? 2 : 3, shape + fixed));
    }
  }
  for (int i = 0; i < w->spec.fields; i++) {
    uint64_t shape[] = {(uint64_t)w->total, (uint64_t)w->spec.field[i].channels};
    data_name_field(name, 0, &w->spec.field[i]);
    if (w->spec.field[i].role == DATA_GLOBAL) TRY(st_declare(o, name, ST_F64, 2, shape));
  }
  for (data_split s = 0; s < DATA_SPLITS; s++) {
    uint64_t shape[] = {(uint64_t)w->splits[s]};
    data_name_split(name, s);
    TRY(st_declare(o, name, ST_I64, 1, shape));
  }
  return DKHO_OK;
}

/* The numbers of a field of samples `first` to `end`, which are on one complex; those of other ranks are left to them. */
static dkho_status emit_samples(const dataset_writer *w, st_writer *o, int field, int ci, int64_t first, int64_t end) {
  size_t each = (size_t)data_extent(w, field, ci) * data_width(&w->spec.field[field]);
  for (int i = 0; i < w->runs; i++) {
    const data_run *r = &w->run[i];
    int64_t low = first > r->first ? first : r->first, high = end, per;
    if (high > r->first + r->count) high = r->first + r->count;
    if (low >= high) continue;
    if (r->rank != w->ranks->rank)
      TRY(st_skip(o, (uint64_t)(high - low) * each));
    else
      TRY(st_write(o, data_spooled(w, field, r->before + low - r->first, &per), (size_t)(high - low) * each));
  }
  return DKHO_OK;
}

/* The bytes of declare_tensors. Samples come from the spool files, where those of a field lie in one piece. */
static dkho_status emit(const dataset_writer *w, st_writer *o) {
  int64_t before = 0;
  for (int ci = 0; ci < w->spec.complexes; before += w->spec.samples[ci++]) {
    const data_part *p = &w->part[ci];
    TRY(cx_write(p->c, o));
    for (int k = 0; k <= p->c->dim; k++)
      if (p->harmonic[k]) TRY(st_write(o, p->harmonic[k], (size_t)(p->c->n[k] * p->harmonics[k]) * sizeof(double)));
    for (int i = 0; i < w->spec.fields; i++) {
      const data_field *f = &w->spec.field[i];
      if (f->role == DATA_STATIC)
        TRY(st_write(o, p->fixed[i], (size_t)(p->c->n[f->degree] * f->channels) * sizeof(double)));
      if (f->role == DATA_INPUT || f->role == DATA_TARGET)
        TRY(emit_samples(w, o, i, ci, before, before + w->spec.samples[ci]));
    }
  }
  for (int i = 0; i < w->spec.fields; i++)
    if (w->spec.field[i].role == DATA_GLOBAL) TRY(emit_samples(w, o, i, 0, 0, w->total));
  for (data_split s = 0; s < DATA_SPLITS; s++) TRY(st_write(o, w->split[s], (size_t)w->splits[s] * sizeof(int64_t)));
  return DKHO_OK;
}

/* Every static field has values, every harmonic head a basis. */
static dkho_status check_fixed(const dataset_writer *w) {
  for (int ci = 0; ci < w->spec.complexes; ci++)
    for (int i = 0; i < w->spec.fields; i++)
      if (w->spec.field[i].role == DATA_STATIC && !w->part[ci].fixed[i])
        return fail(DKHO_E_INPUT, "%s: static field %s has no values on complex %d", w->path, w->spec.field[i].name,
                    ci);
  for (int i = 0; i < w->spec.recipes; i++) {
    const data_recipe *r = &w->spec.recipe[i];
    const data_field *target = &w->spec.field[data_writer_find(w, r->target)];
    for (int ci = 0; r->harmonic && ci < w->spec.complexes; ci++)
      TRY(data_check_harmonic(w->path, target, ci, w->part[ci].harmonics[target->degree],
                              w->part[0].harmonics[target->degree]));
  }
  return DKHO_OK;
}

/* What must be there before a file may be made. */
static dkho_status complete(dataset_writer *w) {
  if (w->total == 0) return fail(DKHO_E_INPUT, "%s: a data set needs samples", w->path);
  TRY(data_check_splits(w->path, w->total, w->splits, (const int64_t *const *)w->split));
  TRY(check_fixed(w));
  for (int i = 0; i < w->spec.fields; i++)
    if (w->spec.field[i].role != DATA_STATIC) TRY(spool_map(&w->spool[i]));
  return DKHO_OK;
}

/* What those who join the temporary file must know: its name, and where in it the fields begin. */
typedef struct layout {
  char temp[4200];
  uint64_t place[DATA_FIELDS_MAX];
} layout;

static dkho_status find_places(const dataset_writer *w, st_writer *o, layout *at) {
  char name[ST_NAME_MAX + 1];
  snprintf(at->temp, sizeof at->temp, "%s", st_temp(o));
  for (int i = 0; i < w->spec.fields; i++) {
    const data_field *f = &w->spec.field[i];
    data_name_field(name, 0, f);
    if (f->role != DATA_STATIC) TRY(st_place(o, name, &at->place[i]));
  }
  return DKHO_OK;
}

static dkho_status open_container(dataset_writer *w, st_writer **o, layout *at) {
  char *text;
  dkho_status s = spec_check(&w->spec, w->part[0].c->dim); /* a scale may have come out 0 */
  if (s != DKHO_OK) return fail_prefix(s, "%s", w->path);
  TRY(spec_write(&w->spec, &w->mem, &text));
  TRY(st_create(o, w->path, w->force));
  TRY(st_put_meta(*o, "dkho.kind", "dataset"));
  TRY(st_put_meta(*o, "dkho.dataset", text));
  TRY(declare_tensors(w, *o));
  return w->ranks->size > 1 ? find_places(w, *o, at) : DKHO_OK;
}

/* The first rank's bytes; what it has written is durable where others write too. */
static dkho_status write_container(const dataset_writer *w, st_writer *o) {
  char hex[33];
  TRY(emit(w, o));
  return w->ranks->size > 1 ? st_sync(o, hex) : DKHO_OK;
}

/* The samples of this rank to their places. */
static dkho_status put_samples_in_place(const dataset_writer *w, file_out *f, const layout *at) {
  for (int i = 0; i < w->spec.fields; i++) {
    size_t each = (size_t)data_extent(w, i, 0) * data_width(&w->spec.field[i]);
    for (int k = 0; k < w->runs && w->spec.field[i].role != DATA_STATIC; k++) {
      const data_run *r = &w->run[k];
      int64_t per;
      if (r->rank != w->ranks->rank) continue;
      TRY(file_patch(f, at->place[i] + (uint64_t)r->first * each, data_spooled(w, i, r->before, &per),
                     (size_t)r->count * each));
    }
  }
  return file_sync(f);
}

static dkho_status join_container(const dataset_writer *w, const layout *at) {
  file_out f = {0};
  TRY(file_join(&f, w->path, at->temp));
  dkho_status s = put_samples_in_place(w, &f, at);
  file_abort(&f);
  return s;
}

dkho_status dataset_commit(dataset_writer *w) {
  comm *c = w->ranks;
  st_writer *o = NULL;
  layout at = {.temp = ""};
  dkho_status s;
  TRY_GOTO(comm_agree(c, complete(w)));
  TRY_GOTO(data_find_scaling(w));
  TRY_GOTO(comm_agree(c, c->rank ? DKHO_OK : open_container(w, &o, &at)));
  TRY_GOTO(comm_broadcast(c, 0, &at, sizeof at));
  TRY_GOTO(comm_agree_named(c, c->rank ? join_container(w, &at) : write_container(w, o)));
  st_writer *last = o;
  o = NULL;
  s = comm_agree(c, c->rank ? DKHO_OK : st_commit(last));
done:
  st_abort(o);
  dataset_abort(w);
  return s;
}
