/* pcanet.c: components by subspace iteration in the space of samples, the network on the tape, a piece of a batch per lane. */
#include "run/pcanet.h"

#include "base/rng.h"
#include "la/la.h"
#include "nn/engine.h"
#include "nn/op.h"
#include "nn/optim.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 16, PIECES = 4, BATCH = ROWS * PIECES, HIDDEN = 3, LAYER_NAME = 32 };
enum { MOST = 128, SPARE = 16, TURNS = 6, JUDGED = 256 };
enum { EPOCHS = 120, LOOK = 4 };  /* LOOK: epochs from one look at validation to the next */
static const double RATE = 0.001; /* AdamW's, falling to zero along a cosine */
/* The shapes tried: at most so many components, units; from so many training samples on. */
static const struct shape {
  int components, width, samples;
} shapes[] = {{32, 128, 0}, {MOST, 128, 64}, {MOST, 384, 256}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

dkho_status pcanet_leading(int64_t n, const double *a, int64_t count, double *lambda, double *vector) {
  int64_t wide = count + SPARE < n ? count + SPARE : n;
  double *q, *z, *small, *value;
  arena mem = {0};
  rng r = rng_open(0, RNG_SOLVER, (uint64_t)n);
  dkho_status s = DKHO_E_MEMORY;
  if (!ARENA_NEW(&mem, q, n * wide) || !ARENA_NEW(&mem, z, n * wide) || !ARENA_NEW(&mem, small, wide * wide) ||
      !ARENA_NEW(&mem, value, wide))
    goto done;
  for (int64_t i = 0; i < n * wide; i++) q[i] = rng_normal(&r);
  for (int turn = 0; turn <= TURNS; turn++) {
    TRY_GOTO(dense_qr(n, wide, q));
    dense_gemm(0, 0, n, wide, n, 1, a, n, q, n, 0, z, n);
    if (turn < TURNS) memcpy(q, z, (size_t)(n * wide) * sizeof *q);
  }
  dense_gemm(1, 0, wide, wide, n, 1, q, n, z, n, 0, small, wide); /* Qᵀ A Q */
  TRY_GOTO(dense_eig(wide, small, value));
  for (int64_t i = 0; i < count; i++) {
    int64_t from = wide - 1 - i; /* ascending there */
    lambda[i] = fmax(value[from], 0);
    dense_gemm(0, 0, n, 1, wide, 1, q, n, small + from * wide, wide, 0, vector + i * n, n);
  }
done:
  arena_free(&mem);
  return s;
}

/* One side of the map: components of the training samples, and how others are projected. */
typedef struct side {
  int64_t count;
  double *lambda, *vector; /* MOST; trains × MOST: Gram matrix = V Λ Vᵀ */
  double unit;             /* root mean square of a training sample */
} side;

/* Components that carry anything: beyond rounding of the data, which are floats. */
static dkho_status find_side(const ridge *r, int target, side *out, arena *mem) {
  int64_t n = r->trains, most = n < MOST ? n : MOST;
  double *inner, *norm, trace = 0;
  arena room = {0};
  dkho_status s = DKHO_E_MEMORY;
  if (!ARENA_NEW(mem, out->lambda, MOST) || !ARENA_NEW(mem, out->vector, n * MOST) || !ARENA_NEW(&room, inner, n * n) ||
      !ARENA_NEW(&room, norm, n))
    goto done;
  TRY_GOTO(ridge_inner(r, target, n, r->train, inner, norm));
  TRY_GOTO(pcanet_leading(n, inner, most, out->lambda, out->vector));
  for (int64_t i = 0; i < n; i++) trace += norm[i];
  while (out->count < most && out->lambda[out->count] > 1e-10 * trace) out->count++;
  out->unit = sqrt(fmax(trace / (double)n, 1e-300));
done:
  arena_free(&room);
  return s;
}

/* c_k = λ_k^(-½) Σ_i V_ik ⟨x_i, x⟩ / unit, count × MOST; inner: trains × count. */
static void project_samples(const side *b, int64_t trains, int64_t count, const double *inner, double *out) {
  dense_gemm(1, 0, MOST, count, trains, 1, b->vector, trains, inner, trains, 0, out, MOST);
  for (int64_t s = 0; s < count; s++)
    for (int64_t k = 0; k < MOST; k++)
      out[s * MOST + k] = k < b->count ? out[s * MOST + k] / (sqrt(b->lambda[k]) * b->unit) : 0;
}

/* Samples as the network sees them. */
typedef struct coefficients {
  int64_t count;
  double *in, *out; /* count × MOST; out NULL: not known */
  double *size;     /* ‖y‖ / unit of the target */
  double *lost;     /* ‖y - its components‖² / unit² */
} coefficients;

/* Relative errors refer to the field itself, mean included. */
static double field_norm(const dataset *d, int target, int64_t sample) {
  const data_field *f = &dataset_field(d)[target];
  int64_t n = dataset_count(d, 0, f->degree) * f->channels;
  const float *y = dataset_value(d, target, sample);
  double sum = 0;
  for (int64_t k = 0; k < n; k++) sum += (double)y[k] * (double)y[k];
  return sqrt(sum);
}

static dkho_status find_coefficients(const ridge *r, int target, const side half[2], int64_t count,
                                     const int64_t *sample, coefficients *out, arena *mem) {
  int64_t n = r->trains;
  double *inner, *norm;
  arena room = {0};
  dkho_status s = DKHO_E_MEMORY;
  out->count = count;
  if (!ARENA_NEW(&room, inner, n * count) || !ARENA_NEW(&room, norm, count) || !ARENA_NEW(mem, out->in, count * MOST))
    goto done;
  TRY_GOTO(ridge_inner(r, -1, count, sample, inner, norm));
  project_samples(&half[0], n, count, inner, out->in);
  if (target < 0) goto done;
  s = DKHO_E_MEMORY;
  if (!ARENA_NEW(mem, out->out, count * MOST) || !ARENA_NEW(mem, out->size, count) || !ARENA_NEW(mem, out->lost, count))
    goto done;
  TRY_GOTO(ridge_inner(r, target, count, sample, inner, norm));
  project_samples(&half[1], n, count, inner, out->out);
  for (int64_t i = 0; i < count; i++) {
    double unit = half[1].unit, kept = 0;
    for (int64_t k = 0; k < MOST; k++) kept += out->out[i * MOST + k] * out->out[i * MOST + k];
    out->lost[i] = fmax(norm[i] / (unit * unit) - kept, 0);
    out->size[i] = field_norm(r->d, target, sample[i]) / unit;
  }
done:
  arena_free(&room);
  return s;
}

/* A network of one shape, in training. */
typedef struct pcanet {
  int64_t p, q, width;
  params *table;
  tape *t, *use; /* in training, and in prediction */
  engine *learn, *apply;
  var x, y, weight, loss, use_x, use_y;
  optim *opt;
  real *value, *gradient, *best;
  double error; /* of best, on validation */
} pcanet;

static void pcanet_free(pcanet *n) {
  engine_free(n->learn);
  engine_free(n->apply);
  tape_free(n->t);
  tape_free(n->use);
  optim_free(n->opt);
  params_free(n->table);
  mem_free(n->value);
  mem_free(n->gradient);
  mem_free(n->best);
}

static const char *layer_name(char name[LAYER_NAME], const char *part, int l) {
  snprintf(name, LAYER_NAME, "layer%d.%s", l, part);
  return name;
}

static dkho_status declare_layers(pcanet *n) {
  char name[LAYER_NAME];
  TRY(params_create(&n->table));
  for (int l = 0; l < HIDDEN; l++) {
    snprintf(name, sizeof name, "layer%d", l);
    params_add_affine(n->table, name, l ? n->width : n->p, n->width, 1);
  }
  params_add_affine(n->table, "out", n->width + n->p, n->q, 1);
  return params_layout(n->table);
}

/* b = [h | a] W + c, h = GELU(… GELU(a W₁ + c₁) …) */
static var record_layers(tape *t, var a) {
  char name[LAYER_NAME];
  var h = a;
  for (int l = 0; l < HIDDEN; l++)
    h = op_fn(t, FN_GELU,
              op_affine(t, 1, &h, tape_param(t, layer_name(name, "w", l)), tape_param(t, layer_name(name, "b", l))));
  return op_affine(t, 2, (const var[]){h, a}, tape_param(t, "out.w"), tape_param(t, "out.b"));
}

/* The loss of ROWS samples: √(mean of squared relative errors), since each is divided by its own ‖y‖. */
static dkho_status open_net(pcanet *n, pool *threads) {
  optim_config c = optim_defaults(OPTIM_ADAMW);
  TRY(declare_layers(n));
  TRY(tape_create(&n->t, n->table));
  n->x = tape_input(n->t, ROWS, n->p), n->y = tape_input(n->t, ROWS, n->q), n->weight = tape_input(n->t, ROWS, n->q);
  n->loss = op_rel_l2(n->t, op_mul(n->t, record_layers(n->t, n->x), n->weight), n->y, 1e-12);
  TRY(engine_create(&n->learn, n->t, ENGINE_TRAIN, n->loss, threads));
  TRY(tape_create(&n->use, n->table));
  n->use_x = tape_input(n->use, ROWS, n->p);
  n->use_y = record_layers(n->use, n->use_x);
  tape_keep(n->use, n->use_y);
  TRY(engine_create(&n->apply, n->use, ENGINE_PREDICT, VAR_NONE, threads));
  TRY(params_slab(n->table, &n->value));
  TRY(params_slab(n->table, &n->gradient));
  TRY(params_slab(n->table, &n->best));
  params_init(n->table, 0, n->value);
  return optim_create(&n->opt, n->table, &c, n->value, threads);
}

/* A network and the samples it is shown. */
typedef struct walk {
  const pcanet *n;
  const coefficients *of;
  double scale;         /* of the inputs */
  const int64_t *order; /* NULL: as they come */
  int64_t at;
  double *out; /* prediction: count × MOST */
} walk;

static void fill_inputs(const walk *w, int64_t s, real *x) {
  for (int64_t k = 0; k < w->n->p; k++) x[k] = (real)(w->of->in[s * MOST + k] * w->scale);
}

static dkho_status fill_training(void *ctx, const lane *l, int64_t piece) {
  const walk *w = ctx;
  const pcanet *n = w->n;
  real *x = lane_input(l, n->x), *y = lane_input(l, n->y), *weight = lane_input(l, n->weight);
  for (int64_t i = 0; i < ROWS; i++) {
    int64_t s = w->order[(w->at + piece * ROWS + i) % w->of->count];
    double unit = w->of->size[s] > 0 ? 1 / w->of->size[s] : 0;
    fill_inputs(w, s, x + i * n->p);
    for (int64_t k = 0; k < n->q; k++)
      y[i * n->q + k] = (real)(unit * w->of->out[s * MOST + k]), weight[i * n->q + k] = (real)unit;
  }
  return DKHO_OK;
}

static dkho_status fill_prediction(void *ctx, const lane *l, int64_t piece) {
  const walk *w = ctx;
  real *x = lane_input(l, w->n->use_x);
  for (int64_t i = 0; i < ROWS; i++) {
    int64_t s = piece * ROWS + i;
    fill_inputs(w, s < w->of->count ? s : 0, x + i * w->n->p);
  }
  return DKHO_OK;
}

static dkho_status take_prediction(void *ctx, const lane *l, int64_t piece) {
  const walk *w = ctx;
  const real *y = lane_value(l, w->n->use_y);
  for (int64_t i = 0, s = piece * ROWS; i < ROWS && s < w->of->count; i++, s++)
    for (int64_t k = 0; k < MOST; k++) w->out[s * MOST + k] = k < w->n->q ? (double)y[i * w->n->q + k] : 0;
  return DKHO_OK;
}

static dkho_status predict_coefficients(walk *w, const real *value) {
  engine_bind(w->n->apply, value);
  engine_batch b = {
      .count = (w->of->count + ROWS - 1) / ROWS, .fill = fill_prediction, .take = take_prediction, .ctx = w};
  return engine_predict(w->n->apply, &b);
}

/* Mean of ‖y - ŷ‖/‖y‖, what the components lose included. */
static double coefficient_error(const coefficients *c, const double *found) {
  double sum = 0;
  int64_t counted = 0;
  for (int64_t s = 0; s < c->count; s++) {
    double miss = c->lost[s];
    if (!(c->size[s] > 0)) continue;
    for (int64_t k = 0; k < MOST; k++) miss += pow(found[s * MOST + k] - c->out[s * MOST + k], 2);
    sum += sqrt(miss) / c->size[s];
    counted++;
  }
  return counted ? sum / (double)counted : 0;
}

static dkho_status train_epoch(pcanet *n, walk *w, int64_t epoch) {
  int64_t steps = (w->of->count + BATCH - 1) / BATCH;
  engine_batch b = {.count = PIECES, .fill = fill_training, .ctx = w};
  for (int64_t step = 0; step < steps; step++) {
    double mean, lr = lr_at(LR_COSINE_STEP, RATE, &(lr_clock){epoch, EPOCHS, step, steps});
    w->at = step * BATCH;
    memset(n->gradient, 0, (size_t)n->table->size * sizeof *n->gradient);
    engine_bind(n->learn, n->value);
    TRY(engine_gradient(n->learn, &b, 1.0 / PIECES, NULL, &mean, n->gradient));
    TRY(optim_step(n->opt, lr, n->value, n->gradient, NULL));
  }
  return DKHO_OK;
}

/* All epochs; n->best is the one with the least validation error. */
static dkho_status train_net(pcanet *n, const coefficients *train, const coefficients *val, double scale,
                             int64_t *order, double *found) {
  walk learning = {n, train, scale, order, 0, NULL}, judging = {n, val, scale, NULL, 0, found};
  n->error = INFINITY;
  for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
    rng r = rng_open(0, RNG_SHUFFLE, (uint64_t)epoch);
    rng_permute(&r, order, train->count);
    TRY(train_epoch(n, &learning, epoch));
    if ((epoch + 1) % LOOK) continue;
    TRY(predict_coefficients(&judging, n->value));
    double error = coefficient_error(val, found);
    if (!(error < n->error)) continue;
    n->error = error;
    memcpy(n->best, n->value, (size_t)n->table->size * sizeof *n->best);
  }
  return isfinite(n->error) ? DKHO_OK : fail(DKHO_E_NONFINITE, "PCA-Net: no epoch had a finite validation error");
}

/* Weights of the training targets: W = V Λ^(-½) b, trains × count. */
static void spread_coefficients(const side *b, int64_t trains, int64_t count, double *found, double *weight) {
  for (int64_t s = 0; s < count; s++)
    for (int64_t k = 0; k < b->count; k++) found[s * MOST + k] *= b->unit / sqrt(b->lambda[k]);
  dense_gemm(0, 0, trains, count, b->count, 1, b->vector, trains, found, MOST, 0, weight, trains);
}

/* The part of a fit that outlives its steps. */
typedef struct pcanet_job {
  const ridge *r;
  int target;
  side side[2];
  coefficients train, val, asked;
  double scale; /* of the inputs: the leading component to variance 1 */
  pcanet net[SHAPES];
  arena mem;
} pcanet_job;

static dkho_status open_job(pcanet_job *j, int64_t vals, const int64_t *val, int64_t count, const int64_t *sample) {
  const ridge *r = j->r;
  TRY(find_side(r, -1, &j->side[0], &j->mem));
  TRY(find_side(r, j->target, &j->side[1], &j->mem));
  if (!j->side[0].count || !j->side[1].count) return DKHO_OK;
  TRY(find_coefficients(r, j->target, j->side, r->trains, r->train, &j->train, &j->mem));
  TRY(find_coefficients(r, j->target, j->side, vals < JUDGED ? vals : JUDGED, val, &j->val, &j->mem));
  TRY(find_coefficients(r, -1, j->side, count, sample, &j->asked, &j->mem));
  /* One factor for all: given the same variance, the last components, which are mostly noise, would be fitted as eagerly as the first. */
  j->scale = j->side[0].unit * sqrt((double)r->trains / j->side[0].lambda[0]);
  for (int i = 0; i < SHAPES && r->trains >= shapes[i].samples; i++) {
    pcanet *n = &j->net[i];
    int64_t most = shapes[i].components;
    n->p = j->side[0].count < most ? j->side[0].count : most;
    n->q = j->side[1].count < most ? j->side[1].count : most;
    n->width = shapes[i].width;
    TRY(open_net(n, r->threads));
  }
  return DKHO_OK;
}

static dkho_status run_job(pcanet_job *j, float *out, pcanet_fit *fit) {
  const ridge *r = j->r;
  double *found, *weight;
  int64_t *order, most = j->asked.count > j->val.count ? j->asked.count : j->val.count;
  const pcanet *best = NULL;
  if (!ARENA_NEW(&j->mem, order, r->trains) || !ARENA_NEW(&j->mem, found, most * MOST) ||
      !ARENA_NEW(&j->mem, weight, r->trains * j->asked.count))
    return DKHO_E_MEMORY;
  for (int i = 0; i < SHAPES && j->net[i].table; i++) {
    TRY(train_net(&j->net[i], &j->train, &j->val, j->scale, order, found));
    if (!best || j->net[i].error < best->error) best = &j->net[i];
  }
  assert(best); /* the caller has seen the first net open */
  walk asked = {best, &j->asked, j->scale, NULL, 0, found};
  TRY(predict_coefficients(&asked, best->best));
  spread_coefficients(&j->side[1], r->trains, j->asked.count, found, weight);
  *fit = (pcanet_fit){best->p, best->q, best->width, best->error};
  return ridge_combine(r, j->target, weight, j->asked.count, out);
}

dkho_status pcanet_predict(const ridge *r, int target, int64_t vals, const int64_t *val, int64_t count,
                           const int64_t *sample, float *out, pcanet_fit *fit) {
  pcanet_job j = {.r = r, .target = target};
  *fit = (pcanet_fit){0};
  dkho_status s = open_job(&j, vals, val, count, sample);
  if (s == DKHO_OK && j.net[0].table) s = run_job(&j, out, fit);
  for (int i = 0; i < SHAPES; i++) pcanet_free(&j.net[i]);
  arena_free(&j.mem);
  return s;
}
