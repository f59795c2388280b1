/* evaluate.c: predicting in chunks, and the metrics of what comes out. */
#include "run/evaluate.h"

#include "base/clock.h"
#include "base/finite.h"
#include "base/report.h"
#include "mesh/exchange.h"
#include "run/samples.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 64, CHUNK_FLOATS = 1 << 26 }; /* samples at a time; fewer when their fields are longer than this */

static const data_field *target_of(const evaluator *j) {
  return &j->o->spec.field[j->o->target];
}

static int64_t target_extent(const evaluator *j, int complex) {
  const data_field *t = target_of(j);
  return dataset_count(j->d, complex, t->degree) * t->channels;
}

dkho_status evaluator_create(evaluator **out, const neural_operator *o, const dataset *d, pool *threads) {
  *out = NULL;
  evaluator *j;
  if (!MEM_NEW(j, 1)) return DKHO_E_MEMORY;
  j->o = o, j->d = d, j->threads = threads;
  for (int i = 0; i < o->complexes; i++)
    if (target_extent(j, i) > j->widest) j->widest = target_extent(j, i);
  j->most = j->widest ? CHUNK_FLOATS / j->widest : CHUNK;
  j->most = j->most > CHUNK ? CHUNK : j->most < 1 ? 1 : j->most;
  dkho_status s = runner_create(&j->run, o, ENGINE_PREDICT, threads);
  if (s == DKHO_OK && !ARENA_NEW(&j->mem, j->chunk, j->most * j->widest)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK)
    *out = j;
  else
    evaluator_free(j);
  return s;
}

void evaluator_free(evaluator *j) {
  if (!j) return;
  runner_free(j->run);
  arena_free(&j->mem);
  mem_free(j);
}

/* The longest run of samples from `from` on that lies on one complex, at most a chunk. */
static int64_t run_length(const evaluator *j, int64_t from, int64_t count, const int64_t *sample, int *complex) {
  int64_t row, n = 0;
  for (int here; from + n < count && n < j->most; n++) {
    dataset_locate(j->d, sample[from + n], &here, &row);
    if (n && here != *complex) break;
    *complex = here;
  }
  return n;
}

/* Nothing that is not finite leaves: neither into a file nor into a score. */
static dkho_status check_chunk(const evaluator *j, int complex, int64_t count, const int64_t *sample) {
  int64_t each = target_extent(j, complex), n = count * each, bad = finite_until_f32(j->chunk, n);
  return bad == n ? DKHO_OK
                  : fail(DKHO_E_NONFINITE, "prediction of '%s', sample %lld: element %lld is not finite",
                         target_of(j)->name, (long long)sample[bad / each], (long long)(bad % each));
}

/* What all ranks that have a mesh together think of it. */
static dkho_status agreed_by_parts(const evaluator *j, dkho_status s) {
  return j->o->share ? comm_agree(j->o->share->ranks, s) : s;
}

dkho_status evaluator_predict(evaluator *j, const real *weights, int64_t count, const int64_t *sample,
                              const char *label, prediction_sink take, void *ctx) {
  TRY(agreed_by_parts(j, dataset_prove(j->d, -1, count, sample)));
  runner_bind(j->run, weights);
  for (int64_t at = 0, n; at < count; at += n) {
    int complex = 0;
    n = run_length(j, at, count, sample, &complex);
    sample_list list = {j->d, j->o->target, sample + at, j->chunk, target_extent(j, complex)};
    runner_batch b = samples_batch(&list, complex, n);
    TRY(runner_predict(j->run, &b));
    TRY(check_chunk(j, complex, n, sample + at));
    TRY(agreed_by_parts(j, take(ctx, complex, n, sample + at, j->chunk)));
    if (label) report_progress(label, (uint64_t)(at + n), (uint64_t)count, NULL);
  }
  return DKHO_OK;
}

/* The samples of this rank among `count`. */
static int64_t own_samples(const evaluator *j, int64_t count, int64_t *first) {
  const comm *c = j->ranks ? j->ranks : comm_serial();
  *first = sum_tree_first(count, c->size, c->rank);
  return sum_tree_first(count, c->size, c->rank + 1) - *first;
}

/* Rows of `each` doubles, one per sample: every rank has its own and gets the others'. */
static dkho_status gather_rows(const evaluator *j, int64_t count, int64_t each, double *rows) {
  comm *c = j->ranks;
  size_t *offset;
  if (!c || c->size == 1) return DKHO_OK;
  if (!MEM_NEW(offset, c->size + 1)) return DKHO_E_MEMORY;
  for (int r = 0; r <= c->size; r++) offset[r] = (size_t)(sum_tree_first(count, c->size, r) * each) * sizeof *rows;
  dkho_status s = comm_gather(c, offset, rows);
  mem_free(offset);
  return s;
}

/* By all ranks: by those of the same place in every group, then within the groups. */
static dkho_status agreed(const evaluator *j, dkho_status s) {
  if (j->ranks) s = comm_agree(j->ranks, s);
  return agreed_by_parts(j, s);
}

/* Errors by sample, -1 where there is none. */
typedef struct error_list {
  const evaluator *j;
  double *each;
  int64_t done;
} error_list;

/* A prediction_sink: ‖p - y‖/‖y‖ of each sample, -1 where the target vanishes. Targets are proved finite first. */
static dkho_status add_errors(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  error_list *e = ctx;
  int64_t n = target_extent(e->j, complex);
  TRY(dataset_prove(e->j->d, e->j->o->target, count, sample));
  for (int64_t i = 0; i < count; i++) {
    const float *y = dataset_value(e->j->d, e->j->o->target, sample[i]);
    e->each[e->done++] = metric_field_error(n, prediction + i * n, y);
  }
  return DKHO_OK;
}

dkho_status evaluator_rel_l2(evaluator *j, const real *weights, int64_t count, const int64_t *sample, double *out) {
  error_list e = {.j = j};
  int64_t first, own = own_samples(j, count, &first), counted = 0;
  dkho_status s = MEM_NEW(e.each, count + 1) ? DKHO_OK : DKHO_E_MEMORY;
  e.done = first;
  if (s == DKHO_OK) s = evaluator_predict(j, weights, own, sample + first, NULL, add_errors, &e);
  s = agreed(j, s);
  if (s == DKHO_OK) s = gather_rows(j, count, 1, e.each);
  double sum = 0;
  for (int64_t i = 0; s == DKHO_OK && i < count; i++)
    if (e.each[i] >= 0) sum += e.each[i], counted++;
  *out = counted ? sum / (double)counted : 0;
  mem_free(e.each);
  return s;
}

/* ---- all metrics ---- */

/* A scorer, and the time it has taken. Of ranks that have a mesh together the first one judges. */
typedef struct timed {
  scorer *scores;
  double seconds;
  int judges;
} timed;

static dkho_status timed_take(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  timed *t = ctx;
  double start = clock_now();
  if (!t->judges) return DKHO_OK;
  TRY(scorer_take(t->scores, complex, count, sample, prediction));
  t->seconds += clock_now() - start;
  return DKHO_OK;
}

/* The values of all samples to all ranks: from one judge to the others, then from each to those that have its meshes with it. */
static dkho_status gather_values(const evaluator *j, int64_t count, const timed *t) {
  int64_t each = metrics_count(scorer_metrics(t->scores));
  double *rows = scorer_values(t->scores);
  if (t->judges) TRY(gather_rows(j, count, each, rows));
  return j->o->share ? comm_broadcast(j->o->share->ranks, 0, rows, (size_t)(count * each) * sizeof *rows) : DKHO_OK;
}

dkho_status evaluator_metrics(evaluator *j, const real *weights, const char *list, int64_t count, const int64_t *sample,
                              score_result *out, double seconds[2]) {
  timed t = {.judges = !j->o->share || j->o->share->ranks->rank == 0};
  int64_t first, own = own_samples(j, count, &first);
  dkho_status s = agreed(j, scorer_create(&t.scores, j->d, j->o->target, list, count, j->threads));
  if (s == DKHO_OK) scorer_skip(t.scores, first);
  double start = clock_now();
  if (s == DKHO_OK) s = evaluator_predict(j, weights, own, sample + first, "evaluating", timed_take, &t);
  if (seconds) seconds[0] = clock_now() - start - t.seconds, seconds[1] = t.seconds;
  s = agreed(j, s);
  if (s == DKHO_OK) s = gather_values(j, count, &t);
  if (s == DKHO_OK) scorer_skip(t.scores, count);
  if (s == DKHO_OK) s = scorer_result(t.scores, out);
  scorer_free(t.scores);
  return s;
}

/* ---- two models of neighbouring degrees ---- */

typedef struct pair_sum {
  evaluator *lower, *upper;
  const real *weights; /* of the upper one */
  const float *below;  /* predictions of the lower one for the chunk at hand */
  double *work;        /* the lower field in double, its d, the upper field in double */
  double sum;
} pair_sum;

/* A prediction_sink for the upper model, of samples whose lower predictions are in p->below: p->sum += ‖d q - w‖/‖w‖.
 * work: n + 2m doubles, n and m the entries of q and w. */
static dkho_status add_mismatch(void *ctx, int complex, int64_t count, const int64_t *sample, const float *above) {
  pair_sum *p = ctx;
  (void)sample;
  int64_t n = target_extent(p->lower, complex), m = target_extent(p->upper, complex);
  double *q = p->work, *dq = q + n, *w = dq + m;
  const complex_view *v;
  TRY(operator_hold(p->lower->o, complex, &v));
  for (int64_t i = 0; i < count; i++) {
    for (int64_t k = 0; k < n; k++) q[k] = (double)p->below[i * n + k];
    for (int64_t k = 0; k < m; k++) w[k] = (double)above[i * m + k];
    cx_d(v->c, target_of(p->lower)->degree, target_of(p->lower)->channels, q, dq);
    p->sum += metric_rel_l2(m, dq, w, 1e-12);
  }
  operator_release(p->lower->o, v);
  return DKHO_OK;
}

static dkho_status pair_chunk(void *ctx, int complex, int64_t count, const int64_t *sample, const float *below) {
  pair_sum *p = ctx;
  (void)complex;
  p->below = below;
  return evaluator_predict(p->upper, p->weights, count, sample, NULL, add_mismatch, p);
}

dkho_status evaluator_pair(evaluator *lower, evaluator *upper, int64_t count, const int64_t *sample, double *out) {
  const data_field *a = target_of(lower), *b = target_of(upper);
  if (b->degree != a->degree + 1 || b->channels != a->channels)
    return fail(DKHO_E_INPUT,
                "a pair needs targets of neighbouring degrees, lower first; found '%s' of degree %d and '%s' of "
                "degree %d",
                a->name, a->degree, b->name, b->degree);
  pair_sum p = {.lower = lower, .upper = upper, .weights = upper->o->value};
  if (!MEM_NEW(p.work, lower->widest + 2 * upper->widest)) return DKHO_E_MEMORY;
  dkho_status s = evaluator_predict(lower, lower->o->value, count, sample, "pairing", pair_chunk, &p);
  *out = p.sum / (double)count;
  mem_free(p.work);
  return s;
}
