/* score.c: metrics sample by sample, over the threads of a pool, joined in sample order. */
#include "run/score.h"

#include <math.h>
#include <string.h>

/* A complex with the metrics made for it. */
typedef struct judged_complex {
  int complex;
  cx *own;         /* NULL for the first, which the data set keeps */
  double *columns; /* of its harmonic basis, which the metrics borrow */
  metrics *list;
} judged_complex;

struct scorer {
  const dataset *d;
  const data_field *field;
  const char *name;  /* of the list of metrics, borrowed */
  int target, count; /* field; metrics */
  pool *threads;
  judged_complex first, now; /* now: another complex, while its samples come */
  int64_t room, done;
  double *value; /* room × count */
  double **work; /* per worker: prediction and target in double, then the metrics' scratch */
  /* of the chunk at hand */
  int complex;
  const metrics *list;
  const int64_t *sample;
  const float *prediction;
  arena mem;
};

int64_t scorer_extent(const scorer *s, int complex) {
  return dataset_count(s->d, complex, s->field->degree) * s->field->channels;
}

const metrics *scorer_metrics(const scorer *s) {
  return s->first.list;
}

static void judged_free(judged_complex *j) {
  metrics_free(j->list);
  cx_free(j->own);
  mem_free(j->columns);
  *j = (judged_complex){0};
}

/* The metrics on complex i, with the harmonic basis that the data set keeps. */
static dkho_status judged_open(const scorer *s, int i, judged_complex *out) {
  int64_t count, n = dataset_count(s->d, i, s->field->degree);
  const double *rows = dataset_harmonic(s->d, i, s->field->degree, &count);
  *out = (judged_complex){.complex = i};
  if (i > 0) TRY(dataset_load_cx(s->d, i, &out->own));
  if (rows && !MEM_NEW(out->columns, n * count)) return DKHO_E_MEMORY;
  for (int64_t r = 0; rows && r < n; r++)
    for (int64_t k = 0; k < count; k++) out->columns[k * n + r] = rows[r * count + k];
  metrics_given given = {rows ? count : 0, out->columns};
  return metrics_create(&out->list, i ? out->own : dataset_cx(s->d, 0), s->name, s->field->degree, s->field->channels,
                        &given);
}

/* One row of figures serves all complexes. */
static dkho_status same_metrics(const scorer *s, int i, const metrics *b) {
  const metrics *a = s->first.list;
  int same = metrics_count(a) == metrics_count(b);
  for (int k = 0; same && k < metrics_count(a); k++) same = strcmp(metrics_at(a, k)->key, metrics_at(b, k)->key) == 0;
  return same ? DKHO_OK
              : fail(DKHO_E_INPUT,
                     "%s: complex %d and complex 0 differ in having labels or a harmonic basis of degree %d: '%s' "
                     "cannot be judged by the same metrics on both",
                     st_path(dataset_file(s->d)), i, s->field->degree, s->field->name);
}

/* Looks at every complex once: whether the metrics fit, and how much room they need. */
static dkho_status survey(scorer *s, size_t *scratch, int64_t *widest) {
  TRY(judged_open(s, 0, &s->first));
  *scratch = metrics_work(s->first.list), *widest = scorer_extent(s, 0);
  for (int i = 1; i < dataset_complexes(s->d); i++) {
    judged_complex one;
    dkho_status st = judged_open(s, i, &one);
    if (st == DKHO_OK) st = same_metrics(s, i, one.list);
    if (st == DKHO_OK && metrics_work(one.list) > *scratch) *scratch = metrics_work(one.list);
    if (scorer_extent(s, i) > *widest) *widest = scorer_extent(s, i);
    judged_free(&one);
    TRY(st);
  }
  return DKHO_OK;
}

/* Scratch per thread for the widest complex: prediction, target and what the metrics ask for; room × count values. */
static dkho_status open_scorer(scorer *s) {
  size_t scratch;
  int64_t widest;
  TRY(survey(s, &scratch, &widest));
  s->count = metrics_count(s->first.list);
  if (!ARENA_NEW(&s->mem, s->work, pool_width(s->threads)) || !ARENA_NEW(&s->mem, s->value, s->room * s->count))
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
  s->threads = threads, s->room = samples, s->name = list;
  dkho_status st = open_scorer(s);
  if (st == DKHO_OK)
    *out = s;
  else
    scorer_free(s);
  return st;
}

void scorer_free(scorer *s) {
  if (!s) return;
  judged_free(&s->first);
  judged_free(&s->now);
  arena_free(&s->mem);
  mem_free(s);
}

/* Sample number `task` of the chunk: its metrics go to row done + task, so that the order of threads does not matter. */
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
  metrics_sample(s->list, p, y, y + n, s->value + (s->done + (int64_t)task) * s->count);
  return DKHO_OK;
}

/* s->list ← the metrics of this complex; those of the first stay open, of the others one at a time. */
static dkho_status choose_complex(scorer *s, int complex) {
  if (complex && s->now.complex != complex) {
    judged_free(&s->now);
    dkho_status st = judged_open(s, complex, &s->now);
    if (st != DKHO_OK) judged_free(&s->now);
    TRY(st);
  }
  s->complex = complex;
  s->list = complex ? s->now.list : s->first.list;
  return DKHO_OK;
}

dkho_status scorer_take(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  scorer *s = ctx;
  if (s->done + count > s->room) return fail(DKHO_E_INTERNAL, "a scorer was given more samples than it has room for");
  TRY(choose_complex(s, complex));
  s->sample = sample, s->prediction = prediction;
  TRY(pool_run(s->threads, (size_t)count, score_one, s));
  s->done += count;
  return DKHO_OK;
}

void scorer_skip(scorer *s, int64_t place) {
  s->done = place;
}

double *scorer_values(scorer *s) {
  return s->value;
}

dkho_status scorer_result(const scorer *s, score_result *out) {
  const metrics *list = s->first.list;
  int error = metrics_find(list, "rel_l2");
  *out = (score_result){.samples = s->done, .count = s->count};
  if (!ARENA_NEW(&out->mem, out->info, s->count) || !ARENA_NEW(&out->mem, out->value, s->count) ||
      !ARENA_NEW(&out->mem, out->counted, s->count) || !ARENA_NEW(&out->mem, out->each, s->done + 1)) {
    score_free(out);
    return DKHO_E_MEMORY;
  }
  metrics_reduce(list, s->done, s->value, out->value, out->counted);
  for (int i = 0; i < s->count; i++) out->info[i] = *metrics_at(list, i);
  for (int64_t i = 0; i < s->done; i++) out->each[i] = s->value[i * s->count + error];
  return DKHO_OK;
}

void score_free(score_result *r) {
  arena_free(&r->mem);
  *r = (score_result){0};
}
