/* rows.c: one sample, read and predicted. */
#include "study/rows.h"

#include "run/metrics.h"
#include "study/ranked.h"

#include <stdio.h>

static dkho_status in_double(arena *mem, int64_t n, const float *from, const double **out) {
  double *to;
  if (!ARENA_NEW(mem, to, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) to[i] = (double)from[i];
  *out = to;
  return DKHO_OK;
}

static dkho_status read_field(const dataset *d, int field, int64_t sample, int complex, arena *mem, mesh_field *out) {
  const data_field *f = &dataset_field(d)[field];
  TRY(dataset_prove_value(d, field, sample));
  *out = (mesh_field){f->name, f->degree, f->channels, NULL};
  return in_double(mem, dataset_count(d, complex, f->degree) * f->channels, dataset_value(d, field, sample),
                   &out->data);
}

void row_shapes_free(row_shapes *h) {
  for (int i = 0; i < h->count; i++) cx_free(h->own[i]);
  h->count = 0;
}

static dkho_status find_shape(const dataset *d, int complex, row_shapes *h, const cx **out) {
  cx *own = NULL;
  *out = dataset_cx(d, 0);
  if (complex == 0) return DKHO_OK;
  if (h->count == (int)(sizeof h->own / sizeof *h->own))
    return fail(DKHO_E_INTERNAL, "a figure of more than %d complexes", h->count);
  TRY(dataset_load_cx(d, complex, &own));
  *out = h->own[h->count++] = own;
  return DKHO_OK;
}

dkho_status row_values(const dataset *d, int target, int64_t sample, arena *mem, row_shapes *h, figure_sample *row) {
  const data_field *all = dataset_field(d);
  int complex, input = 0;
  int64_t place;
  dataset_locate(d, sample, &complex, &place);
  TRY(find_shape(d, complex, h, &row->c));
  TRY(read_field(d, target, sample, complex, mem, &row->reference));
  while (input < dataset_fields(d) && all[input].role != DATA_INPUT) input++;
  return input < dataset_fields(d) ? read_field(d, input, sample, complex, mem, &row->input) : DKHO_OK;
}

typedef struct keeper {
  arena *mem;
  int64_t n;
  const float *reference;
  double error;
  const double *field;
} keeper;

static dkho_status keep_prediction(void *ctx, int complex, int64_t count, const int64_t *sample,
                                   const float *prediction) {
  keeper *k = ctx;
  (void)complex, (void)count, (void)sample;
  k->error = metric_field_error(k->n, prediction, k->reference);
  return in_double(k->mem, k->n, prediction, &k->field);
}

dkho_status row_predicted(const dataset *d, const opened *r, int64_t sample, const char *what, arena *mem,
                          row_shapes *h, figure_sample *row) {
  enum { NOTE = 96 };
  int target = r->o->target;
  char *note;
  TRY(row_values(d, target, sample, mem, h, row));
  const mesh_field *y = &row->reference;
  keeper k = {mem, row->c->n[y->degree] * y->channels, dataset_value(d, target, sample), 0, NULL};
  TRY(evaluator_predict(r->j, r->o->value, 1, &sample, NULL, keep_prediction, &k));
  if (!ARENA_NEW(mem, note, NOTE)) return DKHO_E_MEMORY;
  int used = snprintf(note, NOTE, "%s%ssample %lld", what ? what : "", what ? ": " : "", (long long)sample);
  if (k.error >= 0) snprintf(note + used, (size_t)(NOTE - used), ", RelL2 %.4f", k.error);
  row->note = note;
  row->prediction = (mesh_field){y->name, y->degree, y->channels, k.field};
  return DKHO_OK;
}

dkho_status row_median(const opened *r, int64_t *sample) {
  ranked k = {0};
  int64_t place;
  dkho_status s = ranked_find(&k, r, "test");
  if (s == DKHO_OK) {
    ranked_choose(&k, 1, &place);
    *sample = k.sample[place];
  }
  ranked_free(&k);
  return s;
}
