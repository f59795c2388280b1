/* ridge.c: Gram matrices in tiles, Cholesky, products in blocks of columns. Tiles and blocks are cut by the problem, so the
 * bits do not depend on the threads. */
#include "run/ridge.h"

#include "la/la.h"
#include "run/metrics.h"

#include <math.h>
#include <string.h>

enum { TILE = 128, BLOCK = 256 };

struct ridge {
  const dataset *d;
  int64_t trains, inputs;
  const int64_t *train;
  pool *threads;
  double *mean; /* inputs */
  double *gram; /* trains × trains */
};

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

/* Rows of one block of inputs, centred: width × count column-major. */
static void read_block(const ridge *r, int64_t count, const int64_t *sample, int64_t from, int64_t width, double *out) {
  for (int64_t s = 0; s < count; s++) {
    read_inputs(r->d, sample[s], from, width, out + s * width);
    for (int64_t k = 0; k < width; k++) out[s * width + k] -= r->mean[from + k];
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

/* out += <x_train, x_sample>: trains × count, block after block of inputs. */
static dkho_status gram(const ridge *r, int64_t count, const int64_t *sample, double *out) {
  double *a, *b = NULL;
  int same = sample == r->train;
  if (!MEM_NEW(a, r->trains * BLOCK)) return DKHO_E_MEMORY;
  if (!same && !MEM_NEW(b, count * BLOCK)) {
    mem_free(a);
    return DKHO_E_MEMORY;
  }
  dkho_status s = DKHO_OK;
  for (int64_t from = 0; s == DKHO_OK && from < r->inputs; from += BLOCK) {
    int64_t width = r->inputs - from < BLOCK ? r->inputs - from : BLOCK;
    read_block(r, r->trains, r->train, from, width, a);
    if (!same) read_block(r, count, sample, from, width, b);
    gram_job g = {r->trains, count, width, (r->trains + TILE - 1) / TILE, a, same ? a : b, out};
    s = pool_run(r->threads, (size_t)(g.tiles * ((count + TILE - 1) / TILE)), gram_tile, &g);
  }
  mem_free(a);
  mem_free(b);
  return s;
}

static dkho_status find_mean(ridge *r) {
  double *x;
  if (!MEM_NEW(x, r->inputs)) return DKHO_E_MEMORY;
  for (int64_t s = 0; s < r->trains; s++) {
    read_inputs(r->d, r->train[s], 0, r->inputs, x);
    for (int64_t k = 0; k < r->inputs; k++) r->mean[k] += x[k] / (double)r->trains;
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
  if (!MEM_NEW(r, 1)) return DKHO_E_MEMORY;
  r->d = d, r->trains = trains, r->train = train, r->threads = threads;
  for (int i = 0; i < dataset_fields(d); i++)
    if (varies(&dataset_field(d)[i])) r->inputs += entries(d, &dataset_field(d)[i]);
  dkho_status s = MEM_NEW(r->mean, r->inputs) && MEM_NEW(r->gram, trains * trains) ? DKHO_OK : DKHO_E_MEMORY;
  if (s == DKHO_OK) s = find_mean(r);
  if (s == DKHO_OK) s = gram(r, trains, train, r->gram);
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

int64_t ridge_inputs(const ridge *r) {
  return r->inputs;
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

/* Ŷ = ȳ + Wᵀ(Y - ȳ), W the solved weights. */
static dkho_status product(const ridge *r, int target, const double *weight, int64_t count, float *out) {
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

/* weight ← (K + λI)⁻¹ weight; room: trains² doubles. */
static dkho_status solve(const ridge *r, double lambda, int64_t count, double *weight, double *room) {
  memcpy(room, r->gram, (size_t)(r->trains * r->trains) * sizeof *room);
  for (int64_t i = 0; i < r->trains; i++) room[i * r->trains + i] += lambda;
  return dense_solve_spd(r->trains, count, room, weight);
}

dkho_status ridge_predict(const ridge *r, int target, double lambda, int64_t count, const int64_t *sample, float *out) {
  double *weight, *room = NULL;
  TRY(dataset_prove(r->d, target, r->trains, r->train));
  TRY(dataset_prove(r->d, -1, count, sample));
  if (!MEM_NEW(weight, r->trains * count)) return DKHO_E_MEMORY;
  dkho_status s = MEM_NEW(room, r->trains * r->trains) ? DKHO_OK : DKHO_E_MEMORY;
  if (s == DKHO_OK) s = gram(r, count, sample, weight);
  if (s == DKHO_OK) s = solve(r, lambda, count, weight, room);
  if (s == DKHO_OK) s = product(r, target, weight, count, out);
  mem_free(weight);
  mem_free(room);
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

dkho_status ridge_choose(const ridge *r, int target, int64_t count, const int64_t *sample, double *lambda,
                         double *error) {
  if (count > RIDGE_VAL) count = RIDGE_VAL;
  TRY(dataset_prove(r->d, target, r->trains, r->train));
  TRY(dataset_prove(r->d, target, count, sample));
  int64_t n = entries(r->d, &dataset_field(r->d)[target]);
  double trace = 0, best = INFINITY, *cross = NULL, *weight = NULL, *room = NULL;
  float *p = NULL;
  arena mem = {0};
  dkho_status s = DKHO_E_MEMORY;
  if (!ARENA_NEW(&mem, cross, r->trains * count) || !ARENA_NEW(&mem, weight, r->trains * count) ||
      !ARENA_NEW(&mem, room, r->trains * r->trains) || !ARENA_NEW(&mem, p, count * n))
    goto done;
  for (int64_t i = 0; i < r->trains; i++) trace += r->gram[i * r->trains + i];
  s = gram(r, count, sample, cross);
  for (int e = 0; s == DKHO_OK && e < RIDGE_GRID; e++) {
    double l = fmax(trace / (double)r->trains, 1e-300) * pow(10, RIDGE_TOP - e);
    memcpy(weight, cross, (size_t)(r->trains * count) * sizeof *weight);
    s = solve(r, l, count, weight, room);
    if (s == DKHO_E_NOCONV) { /* smaller ones will not do either */
      s = isinf(best) ? s : DKHO_OK;
      break;
    }
    if (s == DKHO_OK) s = product(r, target, weight, count, p);
    double found = s == DKHO_OK ? mean_error(r, target, count, sample, p) : 0;
    if (s == DKHO_OK && found < best) best = found, *lambda = l;
  }
  if (error) *error = best;
done:
  arena_free(&mem);
  return s;
}
