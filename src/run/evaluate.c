/* evaluate.c: predicting in chunks, and the metrics of what comes out. */
#include "run/evaluate.h"

#include "base/report.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 64 };

static const data_field *target_of(const judge *j) {
  return &j->o->spec.field[j->o->target];
}

static int64_t extent(const judge *j, int site_index) {
  const data_field *t = target_of(j);
  return j->o->site[site_index].c->n[t->degree] * t->channels;
}

dkho_status judge_create(judge **out, const oper *o, const dataset *d, pool *threads) {
  *out = NULL;
  judge *j;
  if (!MEM_NEW(j, 1)) return DKHO_E_MEMORY;
  j->o = o, j->d = d, j->threads = threads;
  dkho_status s = ARENA_NEW(&j->mem, j->run, o->sites) ? DKHO_OK : DKHO_E_MEMORY;
  for (int i = 0; s == DKHO_OK && i < o->sites; i++) {
    s = runner_create(&j->run[i], o, i, ENGINE_PREDICT, threads);
    if (extent(j, i) > j->widest) j->widest = extent(j, i);
  }
  if (s == DKHO_OK && !ARENA_NEW(&j->mem, j->chunk, CHUNK * j->widest)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK)
    *out = j;
  else
    judge_free(j);
  return s;
}

void judge_free(judge *j) {
  if (!j) return;
  for (int i = 0; j->run && i < j->o->sites; i++) runner_free(j->run[i]);
  arena_free(&j->mem);
  mem_free(j);
}

typedef struct chunk_job {
  judge *j;
  int site;
  const int64_t *sample;
} chunk_job;

static void inputs(void *ctx, int64_t i, const float **in, const double **global) {
  const chunk_job *job = ctx;
  dataset_inputs(job->j->d, job->sample[i], in, global);
}

static float *place(void *ctx, int64_t i) {
  const chunk_job *job = ctx;
  return job->j->chunk + i * extent(job->j, job->site);
}

/* The longest run of samples from `from` on that lies on one complex, at most CHUNK. */
static int64_t run_length(const judge *j, int64_t from, int64_t count, const int64_t *sample, int *complex) {
  int64_t row, n = 0;
  for (int here; from + n < count && n < CHUNK; n++) {
    dataset_locate(j->d, sample[from + n], &here, &row);
    if (n && here != *complex) break;
    *complex = here;
  }
  return n;
}

dkho_status judge_predict(judge *j, const real *weights, int64_t count, const int64_t *sample, const char *label,
                          judge_take take, void *ctx) {
  for (int i = 0; i < j->o->sites; i++) runner_bind(j->run[i], weights);
  for (int64_t at = 0, n; at < count; at += n) {
    int complex = 0;
    n = run_length(j, at, count, sample, &complex);
    chunk_job job = {j, complex, sample + at};
    runner_batch b = {.count = n, .sample = sample + at, .inputs = inputs, .out = place, .ctx = &job};
    TRY(runner_predict(j->run[complex], &b));
    TRY(take(ctx, complex, n, sample + at, j->chunk));
    if (label) report_progress(label, (uint64_t)(at + n), (uint64_t)count, NULL);
  }
  return DKHO_OK;
}

typedef struct error_sum {
  const judge *j;
  double sum;
} error_sum;

static dkho_status add_errors(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  error_sum *e = ctx;
  int64_t n = extent(e->j, complex);
  for (int64_t i = 0; i < count; i++) {
    const float *p = prediction + i * n, *y = dataset_value(e->j->d, e->j->o->target, sample[i]);
    double error = 0, norm = 0;
    for (int64_t k = 0; k < n; k++) {
      double difference = (double)p[k] - (double)y[k];
      error += difference * difference, norm += (double)y[k] * (double)y[k];
    }
    e->sum += sqrt(error) / fmax(sqrt(norm), 1e-12);
  }
  return DKHO_OK;
}

dkho_status judge_rel_l2(judge *j, const real *weights, int64_t count, const int64_t *sample, double *out) {
  error_sum e = {j, 0};
  TRY(judge_predict(j, weights, count, sample, NULL, add_errors, &e));
  *out = e.sum / (double)count;
  return DKHO_OK;
}

/* ---- all metrics ---- */

typedef struct metric_job {
  const judge *j;
  metrics **list; /* per complex */
  int count;
  double *value; /* samples × count */
  int64_t done;
  double **work; /* per worker: prediction and target in double, then the metrics' scratch */
  int complex;
  const int64_t *sample;
  const float *prediction;
} metric_job;

static dkho_status judge_sample(void *ctx, size_t task, int worker) {
  metric_job *m = ctx;
  int64_t n = extent(m->j, m->complex);
  double *p = m->work[worker], *y = p + n;
  const float *from = m->prediction + (int64_t)task * n,
              *target = dataset_value(m->j->d, m->j->o->target, m->sample[task]);
  for (int64_t i = 0; i < n; i++) p[i] = (double)from[i], y[i] = (double)target[i];
  metrics_sample(m->list[m->complex], p, y, y + n, m->value + (m->done + (int64_t)task) * m->count);
  return DKHO_OK;
}

static dkho_status judge_chunk(void *ctx, int complex, int64_t count, const int64_t *sample, const float *prediction) {
  metric_job *m = ctx;
  m->complex = complex, m->sample = sample, m->prediction = prediction;
  TRY(pool_run(m->j->threads, (size_t)count, judge_sample, m));
  m->done += count;
  return DKHO_OK;
}

/* Metrics per complex with the harmonic basis the data set keeps; the scratch of the widest. */
static dkho_status open_metrics(metric_job *m, const char *list, arena *mem) {
  const judge *j = m->j;
  const data_field *t = target_of(j);
  size_t scratch = 0;
  if (!ARENA_NEW(mem, m->list, j->o->sites)) return DKHO_E_MEMORY;
  for (int i = 0; i < j->o->sites; i++) {
    int64_t count;
    const double *rows = dataset_harmonic(j->d, i, t->degree, &count);
    int64_t n = j->o->site[i].c->n[t->degree];
    double *columns = NULL;
    if (rows && !ARENA_NEW(mem, columns, n * count)) return DKHO_E_MEMORY;
    for (int64_t r = 0; rows && r < n; r++)
      for (int64_t k = 0; k < count; k++) columns[k * n + r] = rows[r * count + k];
    metrics_given given = {rows ? count : 0, columns};
    TRY(metrics_create(&m->list[i], j->o->site[i].c, list, t->degree, t->channels, &given));
    if (metrics_work(m->list[i]) > scratch) scratch = metrics_work(m->list[i]);
  }
  m->count = metrics_count(m->list[0]);
  if (!ARENA_NEW(mem, m->work, pool_width(j->threads))) return DKHO_E_MEMORY;
  for (int i = 0; i < pool_width(j->threads); i++)
    if (!ARENA_NEW(mem, m->work[i], 2 * (size_t)j->widest + scratch)) return DKHO_E_MEMORY;
  return DKHO_OK;
}

static json_t *summarise(const metric_job *m, int64_t samples, double *result) {
  metrics_reduce(m->list[0], samples, m->value, result);
  json_t *values = json_object(), *each = json_array();
  for (int i = 0; i < m->count; i++) json_object_set_new(values, metrics_at(m->list[0], i)->key, json_real(result[i]));
  int error = metrics_find(m->list[0], "rel_l2");
  for (int64_t s = 0; s < samples; s++) json_array_append_new(each, json_real(m->value[s * m->count + error]));
  return json_pack("{s:I, s:o, s:o}", "samples", (json_int_t)samples, "metrics", values, "rel_l2_each", each);
}

dkho_status judge_metrics(judge *j, const real *weights, const char *list, int64_t count, const int64_t *sample,
                          json_t **out) {
  metric_job m = {.j = j};
  arena mem = {0};
  double *result;
  dkho_status s = open_metrics(&m, list, &mem);
  if (s == DKHO_OK && (!ARENA_NEW(&mem, m.value, count * m.count) || !ARENA_NEW(&mem, result, m.count)))
    s = DKHO_E_MEMORY;
  if (s == DKHO_OK) s = judge_predict(j, weights, count, sample, "evaluating", judge_chunk, &m);
  if (s == DKHO_OK && !(*out = summarise(&m, count, result))) s = fail(DKHO_E_MEMORY, "no memory for a JSON object");
  for (int i = 0; m.list && i < j->o->sites; i++) metrics_free(m.list[i]);
  arena_free(&mem);
  return s;
}
