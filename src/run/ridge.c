/* ridge.c: Gram matrices in tiles, Cholesky, products in blocks of columns. Tiles and blocks are cut by the problem, so the
 * bits do not depend on the threads. */
#include "run/ridge.h"

#include "la/la.h"
#include "run/metrics.h"

#include <math.h>
#include <string.h>

enum { TILE = 128, BLOCK = 256 };

static int varies(const data_field *f) {
  return f->role == DATA_INPUT || f->role == DATA_GLOBAL;
}

static int64_t entries(const dataset *d, const data_field *f) {
  return (f->role == DATA_GLOBAL ? 1 : dataset_cx(d, 0)->n[f->degree]) * f->channels;
}

/* Entries from … from+count-1 of x, not yet centred. */
static void read_inputs(const dataset *d, int64_t sample, int64_t from, int64_t count, double *out) {
  const data_field *field = dataset_field(d);
  int64_t at = 0;
  for (int i = 0; i < dataset_fields(d); i++) {
    const data_field *f = &field[i];
    if (!varies(f)) continue;
    int64_t n = entries(d, f), lo = from > at ? from - at : 0, hi = from + count - at < n ? from + count - at : n;
    const float *v = f->role == DATA_INPUT ? dataset_value(d, i, sample) : NULL;
    const double *g = v ? NULL : dataset_global(d, i, sample);
    double unit = 1 / (f->scale * sqrt((double)n));
    for (int64_t k = lo; k < hi; k++) out[at + k - from] = ((v ? (double)v[k] : g[k]) - f->shift) * unit;
    at += n;
  }
}

/* What a sample is a vector of: all its inputs, or a target. */
typedef struct columns {
  const ridge *r;
  int target; /* -1: the inputs */
  int64_t n;
  const double *mean; /* n: over the training samples */
} columns;

static columns input_columns(const ridge *r) {
  return (columns){r, -1, r->inputs, r->mean};
}

static void read_columns(const columns *c, int64_t sample, int64_t from, int64_t count, double *out) {
  if (c->target < 0) {
    read_inputs(c->r->d, sample, from, count, out);
    return;
  }
  const float *y = dataset_value(c->r->d, c->target, sample) + from;
  for (int64_t k = 0; k < count; k++) out[k] = (double)y[k];
}

/* Rows of one block of columns, centred: width × count column-major. */
static void read_block(const columns *c, int64_t count, const int64_t *sample, int64_t from, int64_t width,
                       double *out) {
  for (int64_t s = 0; s < count; s++) {
    read_columns(c, sample[s], from, width, out + s * width);
    for (int64_t k = 0; k < width; k++) out[s * width + k] -= c->mean[from + k];
  }
}

typedef struct gram_job {
  int64_t rows, cols, width, tiles; /* tiles: along the rows */
  const double *a, *b;
  double *out; /* rows × cols */
} gram_job;

static dkho_status gram_tile(void *ctx, size_t task, int worker) {
  const gram_job *g = ctx;
  (void)worker;
  int64_t i = (int64_t)task % g->tiles * TILE, j = (int64_t)task / g->tiles * TILE;
  int64_t m = g->rows - i < TILE ? g->rows - i : TILE, n = g->cols - j < TILE ? g->cols - j : TILE;
  dense_gemm(1, 0, m, n, g->width, 1, g->a + i * g->width, g->width, g->b + j * g->width, g->width, 1,
             g->out + i + j * g->rows, g->rows);
  return DKHO_OK;
}

/* out += <x_train, x_sample>: trains × count, block after block of columns. */
static dkho_status gram_of_samples(const columns *c, int64_t count, const int64_t *sample, double *out) {
  const ridge *r = c->r;
  double *a, *b = NULL;
  int same = sample == r->train;
  if (!MEM_NEW(a, r->trains * BLOCK)) return DKHO_E_MEMORY;
  if (!same && !MEM_NEW(b, count * BLOCK)) {
    mem_free(a);
    return DKHO_E_MEMORY;
  }
  dkho_status s = DKHO_OK;
  for (int64_t from = 0; s == DKHO_OK && from < c->n; from += BLOCK) {
    int64_t width = c->n - from < BLOCK ? c->n - from : BLOCK;
    read_block(c, r->trains, r->train, from, width, a);
    if (!same) read_block(c, count, sample, from, width, b);
    gram_job g = {r->trains, count, width, (r->trains + TILE - 1) / TILE, a, same ? a : b, out};
    s = pool_run(r->threads, (size_t)(g.tiles * ((count + TILE - 1) / TILE)), gram_tile, &g);
  }
  mem_free(a);
  mem_free(b);
  return s;
}

static dkho_status find_mean(const columns *c, double *mean) {
  double *x;
  if (!MEM_NEW(x, c->n)) return DKHO_E_MEMORY;
  for (int64_t s = 0; s < c->r->trains; s++) {
    read_columns(c, c->r->train[s], 0, c->n, x);
    for (int64_t k = 0; k < c->n; k++) mean[k] += x[k] / (double)c->r->trains;
  }
  mem_free(x);
  return DKHO_OK;
}

/* norm[s] = ‖x_s‖² */
static dkho_status find_norms(const columns *c, int64_t count, const int64_t *sample, double *norm) {
  double *x;
  if (!MEM_NEW(x, c->n)) return DKHO_E_MEMORY;
  for (int64_t s = 0; s < count; s++) {
    read_block(c, 1, sample + s, 0, c->n, x);
    norm[s] = 0;
    for (int64_t k = 0; k < c->n; k++) norm[s] += x[k] * x[k];
  }
  mem_free(x);
  return DKHO_OK;
}

dkho_status ridge_create(ridge **out, const dataset *d, int64_t trains, const int64_t *train, pool *threads) {
  ridge *r;
  *out = NULL;
  if (dataset_complexes(d) != 1)
    return fail(DKHO_E_INPUT, "linear regression needs data on one complex, found %d", dataset_complexes(d));
  TRY(dataset_prove(d, -1, trains, train));
  TRY(dense_ready(pool_width(threads)));
  if (!MEM_NEW(r, 1)) return DKHO_E_MEMORY;
  r->d = d, r->trains = trains, r->train = train, r->threads = threads;
  for (int i = 0; i < dataset_fields(d); i++)
    if (varies(&dataset_field(d)[i])) r->inputs += entries(d, &dataset_field(d)[i]);
  dkho_status s = MEM_NEW(r->mean, r->inputs) && MEM_NEW(r->gram, trains * trains) ? DKHO_OK : DKHO_E_MEMORY;
  columns x = input_columns(r);
  if (s == DKHO_OK) s = find_mean(&x, r->mean);
  if (s == DKHO_OK) s = gram_of_samples(&x, trains, train, r->gram);
  for (int64_t i = 0; s == DKHO_OK && i < trains; i++) r->unit += r->gram[i * trains + i];
  r->unit = fmax(r->unit / (double)trains, 1e-300);
  if (s == DKHO_OK)
    *out = r;
  else
    ridge_free(r);
  return s;
}

void ridge_free(ridge *r) {
  if (!r) return;
  mem_free(r->mean);
  mem_free(r->gram);
  mem_free(r);
}

dkho_status ridge_inner(const ridge *r, int target, int64_t count, const int64_t *sample, double *inner, double *norm) {
  double *mean = NULL;
  columns c = input_columns(r);
  dkho_status s;
  TRY(dataset_prove(r->d, target, count, sample));
  if (target >= 0) {
    c = (columns){r, target, entries(r->d, &dataset_field(r->d)[target]), NULL};
    if (!MEM_NEW(mean, c.n)) return DKHO_E_MEMORY;
    TRY_GOTO(find_mean(&c, mean));
    c.mean = mean;
  }
  memset(inner, 0, (size_t)(r->trains * count) * sizeof *inner);
  TRY_GOTO(gram_of_samples(&c, count, sample, inner));
  TRY_GOTO(find_norms(&c, count, sample, norm));
done:
  mem_free(mean);
  return s;
}

/* One block of the target's entries for all samples at once. */
typedef struct product_job {
  const ridge *r;
  int target;
  int64_t n, count;     /* entries of the target; samples asked for */
  const double *weight; /* trains × count */
  double **work;        /* per worker: BLOCK × (trains + count + 1) */
  float *out;           /* count × n */
} product_job;

static dkho_status product_block(void *ctx, size_t task, int worker) {
  const product_job *p = ctx;
  const ridge *r = p->r;
  int64_t from = (int64_t)task * BLOCK, width = p->n - from < BLOCK ? p->n - from : BLOCK;
  double *y = p->work[worker], *z = y + r->trains * width, *mean = z + p->count * width;
  memset(mean, 0, (size_t)width * sizeof *mean);
  for (int64_t s = 0; s < r->trains; s++) {
    const float *v = dataset_value(r->d, p->target, r->train[s]) + from;
    for (int64_t k = 0; k < width; k++) y[s * width + k] = (double)v[k], mean[k] += (double)v[k] / (double)r->trains;
  }
  for (int64_t s = 0; s < r->trains; s++)
    for (int64_t k = 0; k < width; k++) y[s * width + k] -= mean[k];
  dense_gemm(0, 0, width, p->count, r->trains, 1, y, width, p->weight, r->trains, 0, z, width);
  for (int64_t s = 0; s < p->count; s++)
    for (int64_t k = 0; k < width; k++) p->out[s * p->n + from + k] = (float)(z[s * width + k] + mean[k]);
  return DKHO_OK;
}

dkho_status ridge_combine(const ridge *r, int target, const double *weight, int64_t count, float *out) {
  const data_field *f = &dataset_field(r->d)[target];
  product_job p = {r, target, entries(r->d, f), count, weight, NULL, out};
  arena mem = {0};
  int workers = pool_width(r->threads);
  dkho_status s = ARENA_NEW(&mem, p.work, workers) ? DKHO_OK : DKHO_E_MEMORY;
  for (int i = 0; s == DKHO_OK && i < workers; i++)
    if (!ARENA_NEW(&mem, p.work[i], BLOCK * (r->trains + count + 1))) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) s = pool_run(r->threads, (size_t)((p.n + BLOCK - 1) / BLOCK), product_block, &p);
  arena_free(&mem);
  return s;
}

/* ---- kernels ---- */

static double matern(double r2) {
  double r = sqrt(5 * fmax(r2, 0));
  return (1 + r + r * r / 3) * exp(-r);
}

/* Inner products ⟨x_train, x_sample⟩ (trains × count) to the kernel's values, in place; norm: of the samples. */
static void apply_kernel(const ridge *r, const ridge_fit *f, int64_t count, const double *norm, double *k) {
  if (f->kernel == RIDGE_LINEAR) return;
  for (int64_t j = 0; j < count; j++)
    for (int64_t i = 0; i < r->trains; i++) {
      double *v = &k[j * r->trains + i], u = *v / r->unit;
      if (f->kernel == RIDGE_QUADRATIC)
        *v = u + f->length * u * u;
      else
        *v = matern((r->gram[i * r->trains + i] + norm[j] - 2 * *v) / (r->unit * f->length * f->length));
    }
}

/* The training samples' own kernel, without a penalty. */
static void train_kernel(const ridge *r, const ridge_fit *f, double *norm, double *k) {
  memcpy(k, r->gram, (size_t)(r->trains * r->trains) * sizeof *k);
  for (int64_t i = 0; i < r->trains; i++) norm[i] = r->gram[i * r->trains + i];
  apply_kernel(r, f, r->trains, norm, k);
}

/* weight ← (K + λI)⁻¹ weight; room: trains² doubles. */
static dkho_status solve(const ridge *r, const double *kernel, double lambda, int64_t count, double *weight,
                         double *room) {
  memcpy(room, kernel, (size_t)(r->trains * r->trains) * sizeof *room);
  for (int64_t i = 0; i < r->trains; i++) room[i * r->trains + i] += lambda;
  return dense_solve_spd(r->trains, count, room, weight);
}

dkho_status ridge_predict(const ridge *r, int target, const ridge_fit *fit, int64_t count, const int64_t *sample,
                          float *out) {
  double *weight, *kernel, *room, *norm;
  arena mem = {0};
  dkho_status s;
  TRY(dataset_prove(r->d, target, r->trains, r->train));
  TRY(dataset_prove(r->d, -1, count, sample));
  int64_t most = count > r->trains ? count : r->trains;
  if (!ARENA_NEW(&mem, weight, r->trains * count) || !ARENA_NEW(&mem, kernel, r->trains * r->trains) ||
      !ARENA_NEW(&mem, room, r->trains * r->trains) || !ARENA_NEW(&mem, norm, most)) {
    s = DKHO_E_MEMORY;
    goto done;
  }
  columns x = input_columns(r);
  train_kernel(r, fit, norm, kernel);
  TRY_GOTO(gram_of_samples(&x, count, sample, weight));
  TRY_GOTO(find_norms(&x, count, sample, norm));
  apply_kernel(r, fit, count, norm, weight);
  TRY_GOTO(solve(r, kernel, fit->lambda, count, weight, room));
  TRY_GOTO(ridge_combine(r, target, weight, count, out));
done:
  arena_free(&mem);
  return s;
}

static double mean_error(const ridge *r, int target, int64_t count, const int64_t *sample, const float *p) {
  int64_t n = entries(r->d, &dataset_field(r->d)[target]);
  double sum = 0;
  int64_t counted = 0;
  for (int64_t s = 0; s < count; s++) {
    double error = metric_field_error(n, p + s * n, dataset_value(r->d, target, sample[s]));
    if (error >= 0) sum += error, counted++;
  }
  return counted ? sum / (double)counted : 0;
}

/* A choice being made: the samples it is made by, and room for one fit after the other. */
typedef struct trial {
  const ridge *r;
  int target;
  int64_t count;
  const int64_t *sample;
  double *inner, *cross, *weight, *kernel, *room, *norm, *own; /* norm: of the samples, own: of the training samples */
  float *p;
} trial;

static dkho_status trial_room(trial *t, arena *mem) {
  int64_t n = entries(t->r->d, &dataset_field(t->r->d)[t->target]), trains = t->r->trains, cells = trains * t->count;
  return ARENA_NEW(mem, t->inner, cells) && ARENA_NEW(mem, t->cross, cells) && ARENA_NEW(mem, t->weight, cells) &&
                 ARENA_NEW(mem, t->kernel, trains * trains) && ARENA_NEW(mem, t->room, trains * trains) &&
                 ARENA_NEW(mem, t->norm, t->count) && ARENA_NEW(mem, t->own, trains) &&
                 ARENA_NEW(mem, t->p, t->count * n)
             ? DKHO_OK
             : DKHO_E_MEMORY;
}

/* All penalties for one kernel; the best so far is kept in *best. */
static dkho_status try_penalties(trial *t, ridge_fit fit, int stride, ridge_fit *best) {
  const ridge *r = t->r;
  double trace = 0;
  size_t bytes = (size_t)(r->trains * t->count) * sizeof *t->weight;
  train_kernel(r, &fit, t->own, t->kernel);
  memcpy(t->cross, t->inner, bytes);
  apply_kernel(r, &fit, t->count, t->norm, t->cross);
  for (int64_t i = 0; i < r->trains; i++) trace += t->kernel[i * r->trains + i];
  for (int e = 0; e < RIDGE_GRID; e += stride) {
    fit.lambda = fmax(trace / (double)r->trains, 1e-300) * pow(10, RIDGE_TOP - e);
    memcpy(t->weight, t->cross, bytes);
    dkho_status s = solve(r, t->kernel, fit.lambda, t->count, t->weight, t->room);
    if (s == DKHO_E_NOCONV) return isinf(best->error) ? s : DKHO_OK; /* smaller ones will not do either */
    TRY(s);
    TRY(ridge_combine(r, t->target, t->weight, t->count, t->p));
    fit.error = mean_error(r, t->target, t->count, t->sample, t->p);
    if (fit.error < best->error) *best = fit;
  }
  return DKHO_OK;
}

dkho_status ridge_choose(const ridge *r, int target, ridge_kernel kernel, int64_t count, const int64_t *sample,
                         ridge_fit *fit) {
  static const double lengths[RIDGE_KERNELS][5] = {{1}, {0.1, 1, 10}, {0.5, 1, 2, 4, 8}};
  trial t = {.r = r, .target = target, .count = count < RIDGE_VAL ? count : RIDGE_VAL, .sample = sample};
  arena mem = {0};
  dkho_status s;
  *fit = (ridge_fit){.kernel = kernel, .error = INFINITY};
  TRY(dataset_prove(r->d, target, r->trains, r->train));
  TRY(dataset_prove(r->d, target, t.count, sample));
  columns x = input_columns(r);
  TRY_GOTO(trial_room(&t, &mem));
  TRY_GOTO(gram_of_samples(&x, t.count, sample, t.inner));
  TRY_GOTO(find_norms(&x, t.count, sample, t.norm));
  for (int i = 0; i < 5 && lengths[kernel][i] > 0; i++)
    TRY_GOTO(try_penalties(&t, (ridge_fit){.kernel = kernel, .length = lengths[kernel][i]},
                           kernel == RIDGE_LINEAR ? 1 : 2, fit));
done:
  arena_free(&mem);
  return s;
}
