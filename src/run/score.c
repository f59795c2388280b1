/* score.c: metrics sample by sample, over the threads of a pool, joined in sample order. */
#include "run/score.h"

#include <math.h>
#include <string.h>

struct scorer {
  const dataset *d;
  const data_field *field;
  int target, sites, count; /* complexes; metrics */
  pool *threads;
  metrics **list; /* per complex */
  int64_t room, done;
  double *value;  /* room × count */
  double **work;  /* per worker: prediction and target in double, then the metrics' scratch */
  double *result; /* count */
  int64_t *counted;
  /* of the chunk at hand */
  int complex;
  const int64_t *sample;
  const float *prediction;
  arena mem;
};

int64_t scorer_extent(const scorer *s, int complex) {
  return dataset_cx(s->d, complex)->n[s->field->degree] * s->field->channels;
}

const metrics *scorer_metrics(const scorer *s) {
  return s->list[0];
}

/* The list on complex i, with the harmonic basis that the data set keeps. */
static dkho_status open_list(scorer *s, int i, const char *list) {
  int64_t count, n = dataset_cx(s->d, i)->n[s->field->degree];
  const double *rows = dataset_harmonic(s->d, i, s->field->degree, &count);
  double *columns = NULL;
  if (rows && !ARENA_NEW(&s->mem, columns, n * count)) return DKHO_E_MEMORY;
  for (int64_t r = 0; rows && r < n; r++)
    for (int64_t k = 0; k < count; k++) columns[k * n + r] = rows[r * count + k];
  metrics_given given = {rows ? count : 0, columns};
  return metrics_create(&s->list[i], dataset_cx(s->d, i), list, s->field->degree, s->field->channels, &given);
}

/* One row of figures serves all complexes. */
static dkho_status same_metrics(const scorer *s, int i) {
  const metrics *a = s->list[0], *b = s->list[i];
  int same = metrics_count(a) == metrics_count(b);
  for (int k = 0; same && k < metrics_count(a); k++) same = strcmp(metrics_at(a, k)->key, metrics_at(b, k)->key) == 0;
  return same ? DKHO_OK
              : fail(DKHO_E_INPUT,
                     "%s: complex %d and complex 0 differ in having labels or a harmonic basis of degree %d: '%s' "
                     "cannot be judged by the same metrics on both",
                     st_path(dataset_file(s->d)), i, s->field->degree, s->field->name);
}

static dkho_status open_scorer(scorer *s, const char *list) {
  size_t scratch = 0;
  int64_t widest = 0;
  if (!ARENA_NEW(&s->mem, s->list, s->sites)) return DKHO_E_MEMORY;
  for (int i = 0; i < s->sites; i++) {
    TRY(open_list(s, i, list));
    TRY(same_metrics(s, i));
    if (metrics_work(s->list[i]) > scratch) scratch = metrics_work(s->list[i]);
    if (scorer_extent(s, i) > widest) widest = scorer_extent(s, i);
  }
  s->count = metrics_count(s->list[0]);
  if (!ARENA_NEW(&s->mem, s->work, pool_width(s->threads)) || !ARENA_NEW(&s->mem, s->value, s->room * s->count) ||
      !ARENA_NEW(&s->mem, s->result, s->count) || !ARENA_NEW(&s->mem, s->counted, s->count))
    return DKHO_E_MEMORY;
  for (int i = 0; i < pool_width(s->threads); i++)
    if (!ARENA_NEW(&s->mem, s->work[i], 2 * (size_t)widest + scratch)) return DKHO_E_MEMORY;
  return DKHO_OK;
}

dkho_status scorer_create(scorer **out, const dataset *d, int target, const char *list, int64_t samples,
                          pool *threads) {
  scorer *s;
  *out = NULL;
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  s->d = d, s->target = target, s->field = &dataset_field(d)[target];
  s->threads = threads, s->room = samples, s->sites = dataset_complexes(d);
  dkho_status st = open_scorer(s, list);
  if (st == DKHO_OK)
    *out = s;
  else
    scorer_free(s);
  return st;
}

void scorer_free(scorer *s) {
  if (!s) return;
  for (int i = 0; s->list && i < s->sites; i++) metrics_free(s->list[i]);
  arena_free(&s->mem);
  mem_free(s);
}

static dkho_status score_one(void *ctx, size_t task, int worker) {
  scorer *s = ctx;
  int64_t n = scorer_extent(s, s->complex);
  double *p = s->work[worker], *y = p + n;
  TRY(dataset_prove_value(s->d, s->target, s->sample[task]));
  const float *from = s->prediction + (int64_t)task * n, *target = dataset_value(s->d, s->target, s->sample[task]);
  for (int64_t i = 0; i < n; i++) {
    p[i] = (double)from[i], y[i] = (double)target[i];
    if (!isfinite(p[i]))
      return fail(DKHO_E_NONFINITE, "prediction of sample %lld: value %lld is not finite", (long long)s->sample[task],
                  (long long)i);
  }
  metrics_sample(s->list[s->complex], p, y, y + n, s->value + (s->done + (int64_t)task) * s->count);
  return DKHO_OK;
}

dkho_status scorer_take(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  scorer *s = ctx;
  if (s->done + count > s->room) return fail(DKHO_E_INTERNAL, "a scorer was given more samples than it has room for");
  s->complex = complex, s->sample = sample, s->prediction = prediction;
  TRY(pool_run(s->threads, (size_t)count, score_one, s));
  s->done += count;
  return DKHO_OK;
}

/* null where there is nothing to say. */
static json_t *figure(double v) {
  return isfinite(v) ? json_real(v) : json_null();
}

dkho_status scorer_result(const scorer *s, json_t **out) {
  metrics_reduce(s->list[0], s->done, s->value, s->result, s->counted);
  json_t *values = json_object(), *counted = json_object(), *each = json_array();
  for (int i = 0; i < s->count; i++) {
    const char *key = metrics_at(s->list[0], i)->key;
    json_object_set_new(values, key, figure(s->result[i]));
    json_object_set_new(counted, key, json_integer((json_int_t)s->counted[i]));
  }
  int error = metrics_find(s->list[0], "rel_l2");
  for (int64_t i = 0; i < s->done; i++) json_array_append_new(each, figure(s->value[i * s->count + error]));
  *out = json_pack("{s:I, s:o, s:o, s:o}", "samples", (json_int_t)s->done, "metrics", values, "counted", counted,
                   "rel_l2_each", each);
  return *out ? DKHO_OK : fail(DKHO_E_MEMORY, "no memory for a JSON object");
}
