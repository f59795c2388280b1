/* fused_run.c: a sample forward and back, buffers for samples in flight, and a batch over the threads. */
#include "kern/fused_int.h"

#include <assert.h>
#include <string.h>

typedef struct {
  pass *p;
  unsigned mask;
  chunk_fn fn;
  const grad_unit *(*unit_of)(const pass *p, int k);
} sweep;

static void one_chunk(const sweep *w, int i, int worker, int slot) {
  const chunk *c = &w->p->f->chunks[i];
  real *partial = w->unit_of ? w->p->s->partial + (size_t)slot * w->p->f->unit_max : NULL;
  if (w->unit_of) memset(partial, 0, w->unit_of(w->p, c->k)->size * sizeof *partial);
  w->fn(w->p, c, &w->p->work[worker], partial);
}

static void add_partial(const sweep *w, int i, int slot) {
  const fused *f = w->p->f;
  if (!w->unit_of) return;
  const grad_unit *u = w->unit_of(w->p, f->chunks[i].k);
  f->k->axpy(u->size, 1, w->p->s->partial + (size_t)slot * f->unit_max, w->p->s->packed + u->base);
}

/* The i-th chunk in the direction of the pass. */
static int chunk_at(const pass *p, int i) {
  return p->turned ? p->f->chunk_count - 1 - i : i;
}

static dkho_status chunk_task(void *ctx, size_t task, int worker) {
  const sweep *w = ctx;
  int i = chunk_at(w->p, (int)task);
  if (w->mask >> w->p->f->chunks[i].k & 1U) one_chunk(w, i, worker, i);
  return DKHO_OK;
}

dkho_status run_chunks(pass *p, unsigned mask, chunk_fn fn, const grad_unit *(*unit_of)(const pass *p, int k)) {
  sweep w = {p, mask, fn, unit_of};
  int count = p->f->chunk_count;
  if (p->p) TRY(pool_run(p->p, (size_t)count, chunk_task, &w));
  for (int at = 0; at < count; at++) {
    int i = chunk_at(p, at);
    if (!(mask >> p->f->chunks[i].k & 1U)) continue;
    if (!p->p) one_chunk(&w, i, p->worker, 0);
    add_partial(&w, i, p->p ? i : 0);
  }
  return DKHO_OK;
}

/* A pass over the big arrays runs against the one before: it begins where that one ended, with what is still in cache. */
static dkho_status run_turned(pass *p, unsigned mask, chunk_fn fn, const grad_unit *(*unit_of)(const pass *p, int k)) {
  p->turned = !p->turned;
  return run_chunks(p, mask, fn, unit_of);
}

static const grad_unit *content_unit(const pass *p, int k) {
  return &p->f->unit[p->layer][k];
}
static const grad_unit *encoder_unit(const pass *p, int k) {
  return &p->f->enc_unit[k];
}
static const grad_unit *decoder_unit(const pass *p, int k) {
  (void)k;
  return &p->f->dec_unit;
}

/* Varying columns into tiles; the encoder's row: b_1 + global W. */
static void load_sample(const pass *p, const fused_sample *in) {
  const fused *f = p->f;
  int h = f->s.h;
  for (int k = 0; k < f->s.degrees; k++) {
    if (!fused_lives(f, 0, k)) continue;
    if (f->s.varying[k].count)
      kern_tile(f->s.n[k], f->s.varying[k].count, f->order[k], in->varying[k], p->s->varying[k]);
    memcpy(p->s->row[k], f->encoder[k].b1, (size_t)h * sizeof(real));
    for (int j = 0; j < f->s.global[k].count; j++)
      for (int i = 0; i < h; i++) p->s->row[k][i] += in->global[j] * f->encoder[k].global[j * h + i];
  }
}

static dkho_status forward(pass *p, const fused_sample *in) {
  const fused *f = p->f;
  int substeps = f->s.relation == FUSED_CARRIER ? 0 : f->s.substeps;
  load_sample(p, in);
  TRY(run_turned(p, f->live[0], encoder_chunk, NULL));
  for (int l = 0; l < f->s.layers; l++) {
    for (int r = 0; r < substeps; r++) TRY(relation_forward(p, l * substeps + r));
    p->layer = l;
    TRY(run_turned(p, f->live[l + 1], content_chunk, NULL));
  }
  return run_turned(p, 1U << f->s.target, decoder_chunk, NULL);
}

/* g_global-rows = global ⊗ g_row, once the row's gradient is complete. */
static void global_grads(const pass *p, const fused_sample *in) {
  const fused *f = p->f;
  for (int k = 0; k < f->s.degrees; k++) {
    const grad_unit *u = &f->enc_unit[k];
    real *g = p->s->packed + u->base;
    for (int j = 0; fused_lives(f, 0, k) && j < f->s.global[k].count; j++)
      for (int i = 0; i < f->s.h; i++)
        g[u->global + (size_t)(j * kern_pad(f->s.h) + i)] = in->global[j] * g[u->b1 + (size_t)i];
  }
}

static void zero(real *x, int tiles, int ch) {
  memset(x, 0, (size_t)tiles * (size_t)ch * LANES * sizeof *x);
}

/* Phases of layer l: its maps' cotangents, and g_θ before it. */
static dkho_status phases_backward(pass *p, int l) {
  const fused *f = p->f;
  for (int k = 0; k < f->s.degrees; k++)
    if (fused_lives(f, l, k)) zero(p->s->gmaps[k], f->tiles[k], 3 * f->s.c);
  for (int r = f->s.substeps - 1; r >= 0; r--) TRY(relation_backward(p, l * f->s.substeps + r));
  return DKHO_OK;
}

static dkho_status backward(pass *p, const fused_sample *in) {
  const fused *f = p->f;
  sample_state *s = p->s;
  memset(s->packed, 0, f->grads * sizeof *s->packed);
  for (int k = 0; k < f->s.degrees; k++)
    if (fused_lives(f, 0, k)) zero(s->gt[k], f->tiles[k], f->s.c);
  TRY(run_turned(p, 1U << f->s.target, decoder_back_chunk, decoder_unit));
  for (int l = f->s.layers - 1; l >= 0; l--) {
    p->layer = l;
    TRY(run_turned(p, f->live[l + 1], content_back_chunk, content_unit));
    TRY(f->s.relation == FUSED_CARRIER ? carrier_backward(p, l) : phases_backward(p, l));
  }
  TRY(run_turned(p, f->live[0], encoder_back_chunk, encoder_unit));
  global_grads(p, in);
  return DKHO_OK;
}

typedef struct {
  fused_team *t;
  const fused_sample *samples;
  fused_loss loss;
  void *ctx;
  real *const *y;
  int first; /* of the samples in flight */
} batch;

/* Forward, and the way back when there is a loss, of sample i in the state of `worker`. */
static dkho_status run_sample(const batch *b, int i, int worker, pool *blocks) {
  fused_team *t = b->t;
  const fused *f = t->f;
  sample_state *s = &t->state[worker];
  if (b->loss) s->packed = t->packed + (size_t)(i - b->first) * f->grads;
  pass p = {.f = f, .s = s, .work = t->work, .p = blocks, .worker = worker};
  int64_t n = f->s.n[f->s.target];
  TRY(forward(&p, &b->samples[i]));
  assert(b->loss || b->y);
  kern_untile(n, f->s.outputs, f->order[f->s.target], s->y, b->loss ? s->flat_y : b->y[i]);
  if (!b->loss) return DKHO_OK;
  TRY(b->loss(b->ctx, i, s->flat_y, s->flat_g));
  kern_tile(n, f->s.outputs, f->order[f->s.target], s->flat_g, s->g_y);
  return backward(&p, &b->samples[i]);
}

static dkho_status sample_task(void *ctx, size_t task, int worker) {
  const batch *b = ctx;
  return run_sample(b, b->first + (int)task, worker, NULL);
}

/* Groups of at most t->samples samples, a sample per thread; a group of one goes over the chunks instead. The sum over samples
 * is in their order either way. */
static dkho_status run_batch(batch *b, int count, real *packed) {
  fused_team *t = b->t;
  size_t grads = t->f->grads;
  if (packed) memset(packed, 0, grads * sizeof *packed);
  for (b->first = 0; b->first < count; b->first += t->samples) {
    int group = count - b->first < t->samples ? count - b->first : t->samples;
    if (group == 1)
      TRY(run_sample(b, b->first, 0, pool_width(t->p) > 1 ? t->p : NULL));
    else
      TRY(pool_run(t->p, (size_t)group, sample_task, b));
    for (int i = 0; packed && i < group; i++) t->f->k->axpy(grads, 1, t->packed + (size_t)i * grads, packed);
  }
  return DKHO_OK;
}

dkho_status fused_predict(fused_team *t, int count, const fused_sample *samples, real *const *y) {
  batch b = {.t = t, .samples = samples, .y = y};
  return run_batch(&b, count, NULL);
}

dkho_status fused_train(fused_team *t, int count, const fused_sample *samples, fused_loss loss, void *ctx,
                        real *packed) {
  assert(!t->predicts);
  batch b = {.t = t, .samples = samples, .loss = loss, .ctx = ctx};
  return run_batch(&b, count, packed);
}
