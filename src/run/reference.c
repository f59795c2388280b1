/* reference.c: the rows, one predictor after the other through the scorer. */
#include "run/reference.h"

#include "base/clock.h"
#include "base/report.h"
#include "run/pcanet.h"
#include "run/ridge.h"
#include "run/rotation.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK = 32 };

typedef struct comparison {
  const dataset *d;
  int target, start,
      coarse; /* fields; start: the state at the start, coarse: the solution on a coarser mesh; -1: none */
  const char *list;
  double turn; /* radians about the z axis that the flow carries the state at the start, 0: not known */
  pool *threads;
  int64_t trains, samples;
  const int64_t *train, *sample;
  float *mean;      /* of the training targets, on one complex */
  known_rows known; /* given values, on one complex: fitted predictors get them as the model does */
  rotation *turned;
  float *chunk;
  references *out;
  arena mem;
} comparison;

typedef void (*predictor)(const comparison *h, int64_t sample, int64_t n, float *out);

static int64_t target_extent(const comparison *h, int complex) {
  const data_field *f = &dataset_field(h->d)[h->target];
  return dataset_count(h->d, complex, f->degree) * f->channels;
}

static void predict_zero(const comparison *h, int64_t sample, int64_t n, float *out) {
  (void)h, (void)sample;
  memset(out, 0, (size_t)n * sizeof *out);
}
/* Given values in the prediction of a sample. */
static void impose_known(const comparison *h, int64_t sample, float *out) {
  const float *in[DATA_FIELDS_MAX];
  const double *global[DATA_FIELDS_MAX];
  if (!known_any(&h->known)) return;
  dataset_inputs(h->d, sample, in, global);
  known_impose(&h->known, in, global, out);
}
static void predict_mean(const comparison *h, int64_t sample, int64_t n, float *out) {
  memcpy(out, h->mean, (size_t)n * sizeof *out);
  impose_known(h, sample, out);
}
static void predict_start(const comparison *h, int64_t sample, int64_t n, float *out) {
  memcpy(out, dataset_value(h->d, h->start, sample), (size_t)n * sizeof *out);
}
static void predict_coarse(const comparison *h, int64_t sample, int64_t n, float *out) {
  memcpy(out, dataset_value(h->d, h->coarse, sample), (size_t)n * sizeof *out);
}
static void predict_rotated(const comparison *h, int64_t sample, int64_t n, float *out) {
  (void)n;
  rotation_apply(h->turned, dataset_value(h->d, h->start, sample), out);
}

static dkho_status add_row(comparison *h, const char *name, const char *what, const scorer *scores) {
  reference_row *row = &h->out->row[h->out->count];
  TRY(scorer_result(scores, &row->found));
  row->name = name;
  snprintf(row->what, sizeof row->what, "%s", what);
  h->out->count++;
  return DKHO_OK;
}

/* Scores a predictor that needs no fit on the samples of the split, in chunks that lie on one complex. */
static dkho_status score_predictor(comparison *h, const char *name, const char *what, predictor predict) {
  scorer *scores = NULL;
  TRY(scorer_create(&scores, h->d, h->target, h->list, h->samples, h->threads));
  dkho_status s = DKHO_OK;
  for (int64_t at = 0, n; s == DKHO_OK && at < h->samples; at += n) {
    int complex = 0, here;
    int64_t place;
    dataset_locate(h->d, h->sample[at], &complex, &place);
    for (n = 0; at + n < h->samples && n < CHUNK; n++) {
      dataset_locate(h->d, h->sample[at + n], &here, &place);
      if (here != complex) break;
      predict(h, h->sample[at + n], target_extent(h, complex), h->chunk + n * target_extent(h, complex));
    }
    s = scorer_take(scores, complex, n, h->sample + at, h->chunk);
  }
  if (s == DKHO_OK) s = add_row(h, name, what, scores);
  scorer_free(scores);
  return s;
}

/* The regressions, in the order of ridge_kernel. */
static const struct {
  const char *name, *what;
} regressions[RIDGE_KERNELS] = {
    {"ridge", "linear regression from all inputs, penalty chosen on validation"},
    {"quadratic", "regression from all inputs and their products, chosen on validation"},
    {"kernel", "Matern kernel regression from all inputs, chosen on validation"},
};

/* Imposes what is known, scores all predictions at once; *row: the new row, of which the fit tells more. */
static dkho_status score_fitted(comparison *h, const char *name, const char *what, float *prediction,
                                reference_row **row) {
  scorer *scores = NULL;
  for (int64_t i = 0; i < h->samples; i++) impose_known(h, h->sample[i], prediction + i * target_extent(h, 0));
  TRY(scorer_create(&scores, h->d, h->target, h->list, h->samples, h->threads));
  dkho_status s = scorer_take(scores, 0, h->samples, h->sample, prediction);
  if (s == DKHO_OK) s = add_row(h, name, what, scores);
  scorer_free(scores);
  *row = &h->out->row[h->out->count - 1];
  return s;
}

/* λ (and a kernel's length) by the error on the validation split, then predictions of the split in question: samples × extent floats. */
static dkho_status fit_ridge(comparison *h, const ridge *r, ridge_kernel kernel, float *prediction) {
  double start = clock_now();
  int64_t vals;
  const int64_t *val = dataset_split(h->d, DATA_VAL, &vals);
  ridge_fit fit;
  reference_row *row;
  TRY(ridge_choose(r, h->target, kernel, vals, val, &fit));
  TRY(ridge_predict(r, h->target, &fit, h->samples, h->sample, prediction));
  TRY(score_fitted(h, regressions[kernel].name, regressions[kernel].what, prediction, &row));
  row->fitted = 1, row->lambda = fit.lambda, row->val_rel_l2 = fit.error, row->inputs = r->inputs;
  row->length = kernel == RIDGE_LINEAR ? 0 : fit.length;
  row->seconds = clock_now() - start;
  return DKHO_OK;
}

/* No row where inputs or targets do not vary. */
static dkho_status fit_pcanet(comparison *h, const ridge *r, float *prediction) {
  double start = clock_now();
  int64_t vals;
  const int64_t *val = dataset_split(h->d, DATA_VAL, &vals);
  pcanet_fit fit;
  reference_row *row;
  TRY(pcanet_predict(r, h->target, vals, val, h->samples, h->sample, prediction, &fit));
  if (!fit.width) return DKHO_OK;
  TRY(score_fitted(h, "pca-net", "network between principal components, chosen on validation", prediction, &row));
  row->fitted = 1, row->val_rel_l2 = fit.error, row->inputs = r->inputs;
  row->components = fit.inputs, row->width = fit.width;
  row->seconds = clock_now() - start;
  return DKHO_OK;
}

static dkho_status score_ridge(comparison *h) {
  ridge *r = NULL;
  float *prediction;
  if (!MEM_NEW(prediction, h->samples * target_extent(h, 0))) return DKHO_E_MEMORY;
  dkho_status s = ridge_create(&r, h->d, h->trains, h->train, h->threads);
  for (int k = 0; s == DKHO_OK && k < RIDGE_KERNELS; k++) s = fit_ridge(h, r, (ridge_kernel)k, prediction);
  if (s == DKHO_OK) s = fit_pcanet(h, r, prediction);
  ridge_free(r);
  mem_free(prediction);
  return s;
}

/* h->mean ← the mean of the training targets, entry by entry, summed in double. */
static dkho_status find_mean(comparison *h) {
  int64_t n = target_extent(h, 0);
  double *sum;
  if (!MEM_NEW(sum, n)) return DKHO_E_MEMORY;
  for (int64_t s = 0; s < h->trains; s++) {
    const float *y = dataset_value(h->d, h->target, h->train[s]);
    for (int64_t i = 0; i < n; i++) sum[i] += (double)y[i];
  }
  for (int64_t i = 0; i < n; i++) h->mean[i] = (float)(sum[i] / (double)h->trains);
  mem_free(sum);
  return DKHO_OK;
}

/* The input of the target's shape whose name is the target's between these. */
static int find_input_like(const comparison *h, const char *before, const char *behind) {
  const data_field *all = dataset_field(h->d), *f = &all[h->target];
  char name[DATA_NAME_MAX + 16];
  snprintf(name, sizeof name, "%s%s%s", before, f->name, behind);
  int i = dataset_find(h->d, name);
  return i >= 0 && all[i].role == DATA_INPUT && all[i].degree == f->degree && all[i].channels == f->channels ? i : -1;
}

/* Rows from the simplest to the best informed; those that need one complex for all samples are left out where there are several. */
static dkho_status all_rows(comparison *h) {
  int64_t widest = 0, one = dataset_complexes(h->d) == 1;
  for (int i = 0; i < dataset_complexes(h->d); i++)
    widest = target_extent(h, i) > widest ? target_extent(h, i) : widest;
  if (!ARENA_NEW(&h->mem, h->chunk, CHUNK * widest) || !ARENA_NEW(&h->mem, h->mean, widest)) return DKHO_E_MEMORY;
  TRY(score_predictor(h, "zero", "zero everywhere", predict_zero));
  if (one) {
    TRY(dataset_known(h->d, h->target, 0, &h->known));
    TRY(find_mean(h));
    TRY(score_predictor(h, "mean", "mean of the training targets", predict_mean));
  }
  if (h->start >= 0) TRY(score_predictor(h, "copy", "the initial state, unchanged", predict_start));
  if (h->start >= 0 && one && h->turn != 0) {
    char what[64];
    snprintf(what, sizeof what, "the initial state, turned by %.2f rad", h->turn);
    TRY(rotation_create(&h->turned, dataset_cx(h->d, 0), h->turn));
    TRY(score_predictor(h, "rotated", what, predict_rotated));
  }
  if (h->coarse >= 0) TRY(score_predictor(h, "coarse", "the solution on the coarser mesh", predict_coarse));
  int64_t vals;
  dataset_split(h->d, DATA_VAL, &vals);
  return one && h->trains > 1 && vals ? score_ridge(h) : DKHO_OK;
}

dkho_status reference_rows(const dataset *d, int target, const char *list, int64_t train_samples, data_split split,
                           double turn, pool *threads, references *out) {
  comparison h = {.d = d, .target = target, .list = list, .turn = turn, .threads = threads, .out = out};
  h.train = dataset_split(d, DATA_TRAIN, &h.trains);
  h.sample = dataset_split(d, split, &h.samples);
  if (train_samples > 0 && train_samples < h.trains) h.trains = train_samples;
  h.start = find_input_like(&h, "", "0");
  h.coarse = find_input_like(&h, "coarse_", "");
  *out = (references){0};
  if (!h.samples) return fail(DKHO_E_INPUT, "split '%s' has no samples", data_split_name(split));
  TRY(dataset_prove(d, target, h.trains, h.train));
  TRY(dataset_prove(d, target, h.samples, h.sample));
  report_progress("rows to compare with", 0, 1, NULL);
  dkho_status s = all_rows(&h);
  report_progress("rows to compare with", 1, 1, NULL);
  rotation_free(h.turned);
  known_free(&h.known);
  arena_free(&h.mem);
  if (s != DKHO_OK) references_free(out);
  return s;
}

void references_free(references *r) {
  for (int i = 0; i < r->count; i++) score_free(&r->row[i].found);
  *r = (references){0};
}
