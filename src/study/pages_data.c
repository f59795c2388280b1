/* pages_data.c: pages of a data set, with predictions or without: which samples, and what of them. */
#include "study/ranked.h"
#include "study/pages_impl.h"

#include <stdio.h>
#include <string.h>

enum { USUAL_SAMPLES = 9, NOTE = 256, STATIC_CHANNELS = 3 };
#define ROOM 8e6 /* bytes that a page stays below, when the number of samples is ours to choose */

typedef struct shown {
  int64_t sample;
  int complex; /* of the data set */
  char title[96], note[NOTE];
  float *prediction; /* NULL: none */
} shown;

typedef struct filler {
  pages_open v;
  const pages_request *q;
  const dataset *d;
  const opened *r;     /* NULL: nothing is predicted */
  int samples, *place; /* place: per complex of the data set its number on the page + 1, 0: not there */
  shown *at;
  int *field; /* per field of the data set its number on the page, -1: not there */
  arena mem;
} filler;

static int target_of(const filler *f) {
  return f->r ? f->r->o->target : -1;
}

static int64_t extent_of(const filler *f, int field, int complex) {
  const data_field *a = &dataset_field(f->d)[field];
  return dataset_count(f->d, complex, a->degree) * a->channels;
}

static int splits_well(const cx *c, int degree) {
  return degree > 0 && degree < c->dim;
}

/* ---- which samples ---- */

static int is_shown(const filler *f, int field) {
  data_role role = dataset_field(f->d)[field].role;
  return role == DATA_INPUT || role == DATA_TARGET;
}

/* Of the static arrays those with few channels: encodings of many columns would fill the page. */
static int is_shown_static(const filler *f, int field) {
  const data_field *a = &dataset_field(f->d)[field];
  return a->role == DATA_STATIC && a->channels <= STATIC_CHANNELS;
}

/* As many as fit: about 16/3 bytes a number. */
static int usual_count(const filler *f) {
  const cx *c = dataset_cx(f->d, 0);
  double each = 0, once = 0;
  for (int k = 0; k <= c->dim; k++) once += (double)c->n[k] * (k + 3);
  for (int i = 0; i < dataset_fields(f->d); i++) {
    int layers = (1 + splits_well(c, dataset_field(f->d)[i].degree)) * (1 + (i == target_of(f)));
    if (is_shown(f, i)) each += (double)extent_of(f, i, 0) * layers;
    if (is_shown_static(f, i)) once += (double)extent_of(f, i, 0);
  }
  double fit = (ROOM * 3 / 16 - once) / (each > 0 ? each : 1);
  return fit < 1 ? 1 : fit < USUAL_SAMPLES ? (int)fit : USUAL_SAMPLES;
}

/* The sample of median error, the best, the worst, then evenly between, with notes that say so. */
static dkho_status choose_by_error(filler *f, int wanted) {
  ranked k = {0};
  int64_t *place = NULL;
  dkho_status s = ranked_find(&k, f->r, f->q->split ? f->q->split : "test");
  if (s == DKHO_OK && !ARENA_NEW(&f->mem, place, wanted)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) f->samples = ranked_choose(&k, wanted, place);
  for (int i = 0; s == DKHO_OK && i < f->samples; i++) {
    char name[32];
    ranked_name(&k, place[i], name);
    f->at[i].sample = k.sample[place[i]];
    snprintf(f->at[i].title, sizeof f->at[i].title, "%lld (%s)", (long long)f->at[i].sample, name);
    if (k.error[place[i]] >= 0)
      snprintf(f->at[i].note, NOTE, "relative L² error of the sample %.4f", k.error[place[i]]);
  }
  ranked_free(&k);
  return s;
}

/* Evenly through a split, or through all samples when none is asked for and there are no test samples. */
static dkho_status choose_evenly(filler *f, int wanted) {
  int64_t count = 0;
  const int64_t *list = NULL;
  for (int i = 0; i < DATA_SPLITS; i++)
    if (strcmp(f->q->split ? f->q->split : "test", data_split_name((data_split)i)) == 0)
      list = dataset_split(f->d, (data_split)i, &count);
  if (!count && f->q->split)
    return fail(DKHO_E_INPUT, "split '%s': expected train, val or test, with samples in it", f->q->split);
  if (!count) list = NULL, count = dataset_samples(f->d);
  f->samples = count < wanted ? (int)count : wanted;
  for (int i = 0; i < f->samples; i++) {
    int64_t at = f->samples > 1 ? (count - 1) * i / (f->samples - 1) : 0;
    f->at[i].sample = list ? list[at] : at;
    snprintf(f->at[i].title, sizeof f->at[i].title, "%lld", (long long)f->at[i].sample);
  }
  return DKHO_OK;
}

/* "kappa = 0.1, 0.2" of every global, after what the note says already. */
static void note_globals(filler *f, shown *at) {
  const data_field *all = dataset_field(f->d);
  for (int i = 0; i < dataset_fields(f->d); i++) {
    if (all[i].role != DATA_GLOBAL) continue;
    const double *v = dataset_global(f->d, i, at->sample);
    for (int k = 0; k < all[i].channels && k < 4; k++) {
      size_t used = strlen(at->note);
      if (k == 0)
        snprintf(at->note + used, NOTE - used, "%s%s = %.4g", used ? ", " : "", all[i].name, v[k]);
      else
        snprintf(at->note + used, NOTE - used, ", %.4g", v[k]);
    }
  }
}

static dkho_status choose_samples(filler *f) {
  int wanted = f->q->samples > 0 ? f->q->samples : usual_count(f);
  if (wanted > dataset_samples(f->d)) wanted = (int)dataset_samples(f->d);
  if (!ARENA_NEW(&f->mem, f->at, wanted)) return DKHO_E_MEMORY;
  TRY(f->r ? choose_by_error(f, wanted) : choose_evenly(f, wanted));
  for (int i = 0; i < f->samples; i++) {
    int64_t row;
    dataset_locate(f->d, f->at[i].sample, &f->at[i].complex, &row);
    note_globals(f, &f->at[i]);
  }
  return DKHO_OK;
}

/* ---- fields ---- */

static const char *group_of(data_role role) {
  return role == DATA_TARGET ? "targets" : role == DATA_INPUT ? "inputs" : "static";
}

/* The target of the run first, since a page opens with its first field. */
static dkho_status add_fields(filler *f) {
  static const data_role order[] = {DATA_TARGET, DATA_INPUT, DATA_STATIC};
  const data_field *all = dataset_field(f->d);
  int fields = dataset_fields(f->d), first = target_of(f);
  if (!ARENA_NEW(&f->mem, f->field, fields)) return DKHO_E_MEMORY;
  for (int i = 0; i < fields; i++) f->field[i] = -1;
  if (first >= 0)
    TRY(pages_add_field(&f->v, all[first].name, "targets", all[first].degree, all[first].channels, 0,
                        &f->field[first]));
  for (size_t k = 0; k < sizeof order / sizeof *order; k++)
    for (int i = 0; i < fields; i++)
      if (all[i].role == order[k] && i != first && (is_shown(f, i) || is_shown_static(f, i)))
        TRY(pages_add_field(&f->v, all[i].name, group_of(all[i].role), all[i].degree, all[i].channels,
                            all[i].role == DATA_STATIC, &f->field[i]));
  return DKHO_OK;
}

static dkho_status put_statics(filler *f, int complex) {
  for (int i = 0; i < dataset_fields(f->d); i++)
    if (is_shown_static(f, i))
      TRY(page_put_double(f->v.p, f->field[i], PAGE_VALUE, f->place[complex] - 1, extent_of(f, i, complex),
                          dataset_static(f->d, i, complex)));
  return DKHO_OK;
}

/* A prediction_sink: copies what the page shows, from f->mem. */
static dkho_status keep_prediction(void *ctx, int complex, int64_t count, const int64_t *sample,
                                   const float *prediction) {
  filler *f = ctx;
  int64_t n = extent_of(f, target_of(f), complex);
  for (int64_t i = 0; i < count; i++)
    for (int k = 0; k < f->samples; k++) {
      if (f->at[k].sample != sample[i]) continue;
      if (!ARENA_NEW(&f->mem, f->at[k].prediction, n)) return DKHO_E_MEMORY;
      memcpy(f->at[k].prediction, prediction + i * n, (size_t)n * sizeof *prediction);
    }
  return DKHO_OK;
}

static dkho_status predict_samples(filler *f) {
  int64_t *list;
  if (!f->r) return DKHO_OK;
  if (!ARENA_NEW(&f->mem, list, f->samples)) return DKHO_E_MEMORY;
  for (int i = 0; i < f->samples; i++) list[i] = f->at[i].sample;
  return evaluator_predict(f->r->j, f->r->o->value, f->samples, list, NULL, keep_prediction, f);
}

static dkho_status put_values(filler *f) {
  for (int i = 0; i < dataset_fields(f->d); i++) {
    if (!is_shown(f, i)) continue;
    for (int k = 0; k < f->samples; k++) {
      int64_t n = extent_of(f, i, f->at[k].complex);
      TRY(dataset_prove_value(f->d, i, f->at[k].sample));
      TRY(page_put(f->v.p, f->field[i], PAGE_VALUE, k, n, dataset_value(f->d, i, f->at[k].sample)));
      if (i == target_of(f)) TRY(page_put(f->v.p, f->field[i], PAGE_PREDICTION, k, n, f->at[k].prediction));
    }
  }
  return DKHO_OK;
}

/* ---- Hodge parts ---- */

/* The fields of the samples on one complex side by side, to be decomposed at once: each is `channels` columns. */
typedef struct bundle {
  int64_t rows;
  int channels, columns, count;
  struct {
    int sample;
    page_layer layer;
    const float *value;
  } * of;
  double *u, *exact, *harmonic, *coexact;
} bundle;

static void add_to_bundle(bundle *b, int sample, page_layer layer, const float *value) {
  b->of[b->count].sample = sample;
  b->of[b->count].layer = layer;
  b->of[b->count++].value = value;
}

static dkho_status gather_bundle(filler *f, int field, int complex, arena *mem, bundle *b) {
  b->rows = dataset_count(f->d, complex, dataset_field(f->d)[field].degree);
  b->channels = dataset_field(f->d)[field].channels;
  if (!ARENA_NEW(mem, b->of, 2 * f->samples)) return DKHO_E_MEMORY;
  for (int k = 0; k < f->samples; k++) {
    if (f->at[k].complex != complex) continue;
    add_to_bundle(b, k, PAGE_VALUE_EXACT, dataset_value(f->d, field, f->at[k].sample));
    if (field == target_of(f)) add_to_bundle(b, k, PAGE_PREDICTION_EXACT, f->at[k].prediction);
  }
  b->columns = b->count * b->channels;
  int64_t n = b->rows * b->columns;
  if (!ARENA_NEW(mem, b->u, n) || !ARENA_NEW(mem, b->exact, n) || !ARENA_NEW(mem, b->harmonic, n) ||
      !ARENA_NEW(mem, b->coexact, n))
    return DKHO_E_MEMORY;
  for (int64_t i = 0; i < b->rows; i++)
    for (int j = 0; j < b->columns; j++)
      b->u[i * b->columns + j] = (double)b->of[j / b->channels].value[i * b->channels + j % b->channels];
  return DKHO_OK;
}

static dkho_status put_exact(filler *f, int field, const bundle *b, arena *mem) {
  double *own;
  if (!ARENA_NEW(mem, own, b->rows * b->channels)) return DKHO_E_MEMORY;
  for (int j = 0; j < b->count; j++) {
    for (int64_t i = 0; i < b->rows; i++)
      for (int k = 0; k < b->channels; k++) own[i * b->channels + k] = b->exact[i * b->columns + j * b->channels + k];
    TRY(page_put_double(f->v.p, f->field[field], b->of[j].layer, b->of[j].sample, b->rows * b->channels, own));
  }
  return DKHO_OK;
}

static dkho_status put_hodge_parts(filler *f, int field, int complex, const dec *metric) {
  arena mem = {0};
  bundle b = {0};
  dkho_status s = gather_bundle(f, field, complex, &mem, &b);
  if (s == DKHO_OK)
    s = dec_decompose(metric, dataset_field(f->d)[field].degree, b.columns, b.u, b.exact, b.harmonic, b.coexact);
  if (s == DKHO_OK) s = put_exact(f, field, &b, &mem);
  arena_free(&mem);
  return s;
}

/* ---- all together ---- */

static dkho_status put_complex(filler *f, int complex, const cx *c) {
  int64_t betti[CX_DEGREES];
  dec *metric = NULL;
  f->place[complex] = f->v.complexes + 1;
  TRY(pages_add_complex(&f->v, c, betti));
  TRY(put_statics(f, complex));
  TRY(dec_create(&metric, c, DEC_UNIT));
  dkho_status s = DKHO_OK;
  for (int i = 0; s == DKHO_OK && i < dataset_fields(f->d); i++) {
    int k = dataset_field(f->d)[i].degree;
    if (is_shown(f, i) && splits_well(c, k) && betti[k] <= PAGES_HARMONIC) s = put_hodge_parts(f, i, complex, metric);
  }
  dec_free(metric);
  return s;
}

static dkho_status add_complex(filler *f, int complex) {
  cx *own = NULL;
  if (complex > 0) TRY(dataset_load_cx(f->d, complex, &own));
  dkho_status s = put_complex(f, complex, own ? own : dataset_cx(f->d, 0));
  cx_free(own);
  return s;
}

static dkho_status fill_page(filler *f) {
  if (!ARENA_NEW(&f->mem, f->place, dataset_complexes(f->d))) return DKHO_E_MEMORY;
  TRY(choose_samples(f));
  TRY(predict_samples(f));
  TRY(add_fields(f));
  TRY(put_values(f));
  for (int i = 0; i < f->samples; i++) {
    shown *at = &f->at[i];
    if (!f->place[at->complex]) TRY(add_complex(f, at->complex));
    TRY(page_add_sample(f->v.p, f->place[at->complex] - 1, at->title, at->note));
  }
  return DKHO_OK;
}

dkho_status pages_data(const pages_request *q, const dataset *d, const opened *r) {
  filler f = {.q = q, .d = d, .r = r};
  TRY(page_create(&f.v.p, q->page, q->force, q->title));
  dkho_status s = fill_page(&f);
  arena_free(&f.mem);
  if (s == DKHO_OK) return page_commit(f.v.p);
  page_abort(f.v.p);
  return s;
}
