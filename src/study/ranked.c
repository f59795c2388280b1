/* ranked.c: errors of single samples, sorted. */
#include "study/ranked.h"

#include "run/metrics.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct entry {
  int64_t sample;
  double error;
} entry;

typedef struct collector {
  const opened *r;
  entry *entry;
  int64_t count;
} collector;

static dkho_status collect_errors(void *ctx, int complex, int64_t count, const int64_t *sample,
                                  const float *prediction) {
  collector *c = ctx;
  const neural_operator *o = c->r->o;
  const data_field *t = &o->spec.field[o->target];
  int64_t n = dataset_count(c->r->d, complex, t->degree) * t->channels;
  for (int64_t i = 0; i < count; i++) {
    double e = metric_field_error(n, prediction + i * n, dataset_value(c->r->d, o->target, sample[i]));
    c->entry[c->count++] = (entry){sample[i], e};
  }
  return DKHO_OK;
}

/* Negative errors, which are none, go last; equal ones by sample. */
static int by_error(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if ((a->error < 0) != (b->error < 0)) return a->error < 0 ? 1 : -1;
  if (a->error < b->error || a->error > b->error) return a->error < b->error ? -1 : 1;
  return a->sample < b->sample ? -1 : a->sample > b->sample;
}

dkho_status ranked_find(ranked *k, const opened *r, const char *split) {
  const int64_t *list;
  collector c = {.r = r};
  TRY(opened_split(r, split, &list, &k->count));
  if (!ARENA_NEW(&k->mem, c.entry, k->count) || !ARENA_NEW(&k->mem, k->sample, k->count) ||
      !ARENA_NEW(&k->mem, k->error, k->count))
    return DKHO_E_MEMORY;
  TRY(dataset_prove(r->d, r->o->target, k->count, list));
  TRY(evaluator_predict(r->j, r->o->value, k->count, list, "predicting", collect_errors, &c));
  qsort(c.entry, (size_t)k->count, sizeof *c.entry, by_error);
  for (int64_t i = 0; i < k->count; i++) k->sample[i] = c.entry[i].sample, k->error[i] = c.entry[i].error;
  while (k->error[0] >= 0 && k->error[k->count - 1] < 0) k->count--;
  return DKHO_OK;
}

void ranked_free(ranked *k) {
  arena_free(&k->mem);
}

/* The median of an even number is the lower of the two. */
static int64_t median_place(const ranked *k) {
  return (k->count - 1) / 2;
}

static int is_chosen(int n, const int64_t *place, int64_t p) {
  for (int i = 0; i < n; i++)
    if (place[i] == p) return 1;
  return 0;
}

int ranked_choose(const ranked *k, int wanted, int64_t *place) {
  int n = 0;
  if (wanted > k->count) wanted = (int)k->count;
  const int64_t first[3] = {median_place(k), 0, k->count - 1};
  for (int i = 0; i < 3 && n < wanted; i++)
    if (!is_chosen(n, place, first[i])) place[n++] = first[i];
  for (int i = 1; n < wanted && i < wanted - 1; i++) {
    int64_t p = (k->count - 1) * i / (wanted - 1);
    if (!is_chosen(n, place, p)) place[n++] = p;
  }
  return n;
}

void ranked_name(const ranked *k, int64_t place, char out[32]) {
  if (place == median_place(k))
    snprintf(out, 32, "median");
  else if (place == 0 || place == k->count - 1)
    snprintf(out, 32, "%s", place ? "worst" : "best");
  else
    snprintf(out, 32, "%.0f %% are better", 100.0 * (double)place / (double)k->count);
}
