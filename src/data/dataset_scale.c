/* dataset_scale.c: scaling numbers from the spooled samples. A sum runs over the samples in their order, whoever made them: the sums so far
 * go from rank to rank. So a file made by several ranks has the numbers of one made by one. */
#include "data/data_impl.h"

#include <math.h>

enum { TAG = 2 };

typedef struct moments {
  double sum, most;
  int64_t count;
} moments;

const void *data_spooled(const dataset_writer *w, int field, int64_t own, int64_t *count) {
  uint64_t at = 0;
  for (int ci = 0;; ci++) {
    *count = data_extent(w, field, ci);
    if (own < w->spec.samples[ci])
      return w->spool[field].map.bytes + (at + (uint64_t)(own * *count)) * data_width(&w->spec.field[field]);
    at += (uint64_t)(w->spec.samples[ci] * *count);
    own -= w->spec.samples[ci];
  }
}

/* Adds Σ (v - centre)^power, max|v| and the count of those samples of a split that lie in a run of this rank. */
static void add_run(const dataset_writer *w, int field, data_split split, const data_run *r, int power, moments *m) {
  const data_field *f = &w->spec.field[field];
  double centre = power == 2 ? f->shift : 0;
  for (int64_t i = 0; i < w->splits[split]; i++) {
    int64_t at = w->split[split][i] - r->first, count;
    if (at < 0 || at >= r->count) continue;
    const void *v = data_spooled(w, field, r->before + at, &count);
    for (int64_t j = 0; j < count; j++) {
      double x = (f->role == DATA_GLOBAL ? ((const double *)v)[j] : (double)((const float *)v)[j]) - centre;
      m->sum += power == 2 ? x * x : x;
      if (fabs(x) > m->most) m->most = fabs(x);
    }
    m->count += count;
  }
}

/* Whether the samples of this split decide the scale of a field. */
static int decides(const data_field *f, data_split split) {
  return f->role != DATA_STATIC && f->rule != DATA_SCALE_NONE && (split == DATA_TRAIN || f->with_val);
}

/* The samples of one split, in their order; afterwards every rank has the moments, one per field. */
static dkho_status add_split(const dataset_writer *w, data_split split, int power, moments *m) {
  comm *c = w->ranks;
  size_t bytes = (size_t)w->spec.fields * sizeof *m;
  for (int k = 0; k < w->runs; k++) {
    const data_run *r = &w->run[k];
    int from = k ? w->run[k - 1].rank : r->rank;
    if (from != r->rank && c->rank == from) TRY(comm_send(c, r->rank, TAG, m, bytes));
    if (c->rank != r->rank) continue;
    if (from != r->rank) TRY(comm_receive(c, from, TAG, m, bytes));
    for (int i = 0; i < w->spec.fields; i++)
      if (decides(&w->spec.field[i], split)) add_run(w, i, split, r, power, &m[i]);
  }
  return comm_broadcast(c, w->run[w->runs - 1].rank, m, bytes);
}

static dkho_status find_moments(const dataset_writer *w, int power, moments *m) {
  int with_val = 0;
  for (int i = 0; i < w->spec.fields; i++) with_val |= decides(&w->spec.field[i], DATA_VAL);
  TRY(add_split(w, DATA_TRAIN, power, m));
  return with_val ? add_split(w, DATA_VAL, power, m) : DKHO_OK;
}

/* x ↦ (x - shift)/scale, over the training split (and validation where the rule says so): max|x| + eps, or the root mean square about the
 * shift + eps, in two passes. */
dkho_status data_find_scaling(dataset_writer *w) {
  moments first[DATA_FIELDS_MAX] = {{0}}, second[DATA_FIELDS_MAX] = {{0}};
  TRY(find_moments(w, 1, first));
  for (int i = 0; i < w->spec.fields; i++)
    if (decides(&w->spec.field[i], DATA_TRAIN) && w->spec.field[i].rule == DATA_SCALE_MEANSTD)
      w->spec.field[i].shift = first[i].sum / (double)first[i].count;
  TRY(find_moments(w, 2, second));
  for (int i = 0; i < w->spec.fields; i++) {
    data_field *f = &w->spec.field[i];
    if (!decides(f, DATA_TRAIN)) continue;
    if (f->rule == DATA_SCALE_MAXABS)
      f->scale = first[i].most + f->eps;
    else
      f->scale = sqrt(second[i].sum / (double)second[i].count) + f->eps;
  }
  return DKHO_OK;
}
