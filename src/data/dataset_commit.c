/* dataset_commit.c: scaling numbers from the spooled samples, and the container. */
#include "data/data_impl.h"

#include <math.h>
#include <stdio.h>

/* The numbers of one sample in a field's spool. */
static const void *spooled(const dataset_writer *w, int field, int64_t sample, int64_t *count) {
  uint64_t at = 0;
  for (int ci = 0;; ci++) {
    *count = data_extent(w, field, ci);
    if (sample < w->spec.samples[ci])
      return w->spool[field].map.bytes + (at + (uint64_t)(sample * *count)) * data_width(&w->spec.field[field]);
    at += (uint64_t)(w->spec.samples[ci] * *count);
    sample -= w->spec.samples[ci];
  }
}

typedef struct moments {
  double sum, most;
  int64_t count;
} moments;

/* Σ (v - centre)^power, max|v| and the count over the samples of a split, in their order. */
static void gather_moments(const dataset_writer *w, int field, data_split split, double centre, int power, moments *m) {
  int global = w->spec.field[field].role == DATA_GLOBAL;
  for (int64_t i = 0; i < w->splits[split]; i++) {
    int64_t count;
    const void *v = spooled(w, field, w->split[split][i], &count);
    for (int64_t j = 0; j < count; j++) {
      double x = (global ? ((const double *)v)[j] : (double)((const float *)v)[j]) - centre;
      m->sum += power == 2 ? x * x : x;
      if (fabs(x) > m->most) m->most = fabs(x);
    }
    m->count += count;
  }
}

/* x ↦ (x - shift)/scale, over the training split (and validation where the rule says so): max|x| + eps, or the root mean square about the
 * shift + eps, in two passes. */
static void find_scaling(const dataset_writer *w, int field) {
  data_field *f = &w->spec.field[field];
  if (f->rule == DATA_SCALE_NONE) return;
  moments m = {0}, second = {0};
  for (data_split s = DATA_TRAIN; s <= (f->with_val ? DATA_VAL : DATA_TRAIN); s++)
    gather_moments(w, field, s, 0, 1, &m);
  if (f->rule == DATA_SCALE_MAXABS) {
    f->scale = m.most + f->eps;
    return;
  }
  if (f->rule == DATA_SCALE_MEANSTD) f->shift = m.sum / (double)m.count;
  for (data_split s = DATA_TRAIN; s <= (f->with_val ? DATA_VAL : DATA_TRAIN); s++)
    gather_moments(w, field, s, f->shift, 2, &second);
  f->scale = sqrt(second.sum / (double)second.count) + f->eps;
}

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

/* The bytes of declare_tensors. Samples come from the spool files, where those of a field lie in one piece. */
static dkho_status emit(const dataset_writer *w, st_writer *o) {
  for (int ci = 0; ci < w->spec.complexes; ci++) {
    const data_part *p = &w->part[ci];
    TRY(cx_write(p->c, o));
    for (int k = 0; k <= p->c->dim; k++)
      if (p->harmonic[k]) TRY(st_write(o, p->harmonic[k], (size_t)(p->c->n[k] * p->harmonics[k]) * sizeof(double)));
    for (int i = 0; i < w->spec.fields; i++) {
      const data_field *f = &w->spec.field[i];
      if (f->role == DATA_STATIC)
        TRY(st_write(o, p->fixed[i], (size_t)(p->c->n[f->degree] * f->channels) * sizeof(double)));
      if (f->role != DATA_INPUT && f->role != DATA_TARGET) continue;
      int64_t before = 0, per;
      for (int j = 0; j < ci; j++) before += w->spec.samples[j];
      if (w->spec.samples[ci] == 0) continue;
      const void *from = spooled(w, i, before, &per);
      TRY(st_write(o, from, (size_t)(per * w->spec.samples[ci]) * sizeof(float)));
    }
  }
  for (int i = 0; i < w->spec.fields; i++)
    if (w->spec.field[i].role == DATA_GLOBAL) TRY(st_write(o, w->spool[i].map.bytes, w->spool[i].map.size));
  for (data_split s = 0; s < DATA_SPLITS; s++) TRY(st_write(o, w->split[s], (size_t)w->splits[s] * sizeof(int64_t)));
  return DKHO_OK;
}

/* What must be there before a file may be made, and the scaling of every field. */
static dkho_status complete(dataset_writer *w) {
  if (w->total == 0) return fail(DKHO_E_INPUT, "%s: a data set needs samples", w->path);
  for (int ci = 0; ci < w->spec.complexes; ci++)
    for (int i = 0; i < w->spec.fields; i++)
      if (w->spec.field[i].role == DATA_STATIC && !w->part[ci].fixed[i])
        return fail(DKHO_E_INPUT, "%s: static field %s has no values on complex %d", w->path, w->spec.field[i].name,
                    ci);
  TRY(data_check_splits(w->path, w->total, w->splits, (const int64_t *const *)w->split));
  for (int i = 0; i < w->spec.recipes; i++) {
    const data_recipe *r = &w->spec.recipe[i];
    const data_field *target = &w->spec.field[data_writer_find(w, r->target)];
    for (int ci = 0; r->harmonic && ci < w->spec.complexes; ci++)
      TRY(data_check_harmonic(w->path, target, ci, w->part[ci].harmonics[target->degree],
                              w->part[0].harmonics[target->degree]));
  }
  for (int i = 0; i < w->spec.fields; i++) {
    if (w->spec.field[i].role == DATA_STATIC) continue;
    TRY(spool_map(&w->spool[i]));
    find_scaling(w, i);
  }
  dkho_status s = spec_check(&w->spec, w->part[0].c->dim); /* a scale may have come out 0 */
  return s == DKHO_OK ? s : fail_prefix(s, "%s", w->path);
}

dkho_status dataset_commit(dataset_writer *w) {
  st_writer *o = NULL;
  char *text;
  dkho_status s;
  TRY_GOTO(complete(w));
  TRY_GOTO(spec_write(&w->spec, &w->mem, &text));
  TRY_GOTO(st_create(&o, w->path, w->force));
  TRY_GOTO(st_put_meta(o, "dkho.kind", "dataset"));
  TRY_GOTO(st_put_meta(o, "dkho.dataset", text));
  TRY_GOTO(declare_tensors(w, o));
  TRY_GOTO(emit(w, o));
  s = st_commit(o);
  o = NULL;
done:
  st_abort(o);
  dataset_abort(w);
  return s;
}
