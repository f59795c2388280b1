/* fast.c: the fused way through the network as the model interface wants it: forward to ũ (fused.h), head and loss (head.h), the way
 * back, gradients of samples to be added along the batch's tree: those of the fused network, packed, and those of the head. */
#include "model/dkho/fast.h"

#include "model/dkho/fused_map.h"
#include "model/dkho/head.h"

typedef struct fast {
  fused *f;
  fused_team *team;
  head *head;
  const kern *kernels;
  pool *threads;
  engine_mode mode;
  const real *weights; /* borrowed */
  int samples;         /* at most so many at a time */
  int globals, *slot;  /* broadcast summary entries */
  fused_sample *input; /* per sample */
  real **global, **out;
  real *own; /* the head's gradients, of all samples */
  /* the call at hand */
  const model_sample *now;
  double weight, *loss;
  arena mem;
} fast;

static int fast_serves(const model_setup *s, const features *f) {
  dkho_config cfg = dkho_config_of(s);
  return dkho_fused_serves(&cfg, f);
}

static void fast_destroy(void *v) {
  fast *f = v;
  if (!f) return;
  head_free(f->head);
  fused_team_free(f->team);
  fused_free(f->f);
  arena_free(&f->mem);
  mem_free(f);
}

static dkho_status create_parts(fast *f, const dkho_config *cfg, const params *p, const model_view *v) {
  TRY(kern_get(&f->kernels));
  TRY(dkho_fused_create(&f->f, f->kernels, cfg, p, v));
  TRY(f->mode == ENGINE_TRAIN ? fused_team_create(&f->team, f->f, f->threads, f->samples)
                              : fused_team_create_predict(&f->team, f->f, f->threads, f->samples));
  TRY(head_create(&f->head, cfg, f->f, p, v->g, f->samples));
  if (!ARENA_NEW(&f->mem, f->slot, DKHO_FUSED_GLOBALS) || !ARENA_NEW(&f->mem, f->input, f->samples) ||
      !ARENA_NEW(&f->mem, f->global, f->samples) || !ARENA_NEW(&f->mem, f->out, f->samples) ||
      !ARENA_NEW(&f->mem, f->own, f->samples * head_grads(f->head)))
    return DKHO_E_MEMORY;
  f->globals = dkho_fused_globals(cfg, v->f, f->slot);
  for (int i = 0; i < f->samples; i++)
    if (!ARENA_NEW(&f->mem, f->global[i], f->globals + 1)) return DKHO_E_MEMORY;
  return DKHO_OK;
}

static dkho_status fast_create(void **out, const model_setup *s, const params *p, const model_view *v, engine_mode mode,
                               pool *threads, int samples) {
  fast *f;
  *out = NULL;
  if (!MEM_NEW(f, 1)) return DKHO_E_MEMORY;
  f->threads = threads, f->mode = mode, f->samples = samples;
  dkho_config cfg = dkho_config_of(s);
  dkho_status st = create_parts(f, &cfg, p, v);
  if (st == DKHO_OK)
    *out = f;
  else
    fast_destroy(f);
  return st;
}

static void fast_bind(void *v, const real *weights) {
  fast *f = v;
  f->weights = weights;
  fused_prepare(f->f, f->threads, weights);
  head_bind(f->head, weights);
}

static void take_inputs(fast *f, int count, const model_sample *sample) {
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < CX_DEGREES; k++) f->input[i].varying[k] = sample[i].varying[k];
    for (int j = 0; j < f->globals; j++) f->global[i][j] = sample[i].summary[f->slot[j]];
    f->input[i].global = f->global[i];
    f->out[i] = sample[i].out;
  }
  f->now = sample;
}

static dkho_status sample_loss(void *ctx, int i, const real *u, real *g_u) {
  fast *f = ctx;
  return head_loss(f->head, i, f->now[i].summary, u, f->now[i].target, f->now[i].given, f->weight, &f->loss[i], g_u);
}

static int64_t fast_grads(const void *v) {
  const fast *f = v;
  return (int64_t)fused_grads(f->f) + head_grads(f->head);
}

static dkho_status fast_gradient(void *v, int count, const model_sample *sample, double weight, double *loss,
                                 sum_tree *sum) {
  fast *f = v;
  sum_piece piece[2] = {{.size = (int64_t)fused_grads(f->f)}, {.size = head_grads(f->head)}};
  take_inputs(f, count, sample);
  f->weight = weight, f->loss = loss;
  TRY(fused_train(f->team, count, f->input, sample_loss, f, NULL));
  piece[0].at = fused_gradient(f->team, 0, &piece[0].stride);
  piece[1].at = f->own, piece[1].stride = piece[1].size;
  for (int i = 0; i < count; i++) head_gradient(f->head, i, sample[i].summary, f->own + i * piece[1].stride);
  return sum_tree_add(sum, f->threads, count, 2, piece, loss);
}

static void fast_collect(void *v, real *total, real *g) {
  const fast *f = v;
  fused_collect(f->f, f->weights, total, g);
  head_collect(f->head, total + fused_grads(f->f), g);
}

static dkho_status finish_output(void *ctx, size_t i, int worker) {
  fast *f = ctx;
  (void)worker;
  return head_predict(f->head, (int)i, f->now[i].summary, f->now[i].out);
}

static dkho_status fast_predict(void *v, int count, const model_sample *sample) {
  fast *f = v;
  take_inputs(f, count, sample);
  TRY(fused_predict(f->team, count, f->input, f->out));
  if (!fused_ranks(f->f)) return pool_run(f->threads, (size_t)count, finish_output, f);
  for (int i = 0; i < count; i++) {
    TRY(finish_output(f, (size_t)i, 0));
    TRY(fused_gather(f->f, f->out[i]));
  }
  return DKHO_OK;
}

static const char *fast_kernels(const void *v) {
  return ((const fast *)v)->kernels->name;
}

static double fast_work(const void *v) {
  const fast *f = v;
  return f->mode == ENGINE_TRAIN ? fused_work_step(f->f) : fused_work_forward(f->f);
}

const model_fast dkho_fast = {
    "fused",      fast_serves,  fast_create,  fast_destroy, fast_bind, fast_grads, fast_gradient,
    fast_collect, fast_predict, fast_kernels, fast_work,    1,         1};
