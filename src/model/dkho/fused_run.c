/* fused_run.c: a sample forward and back, buffers for samples in flight, and a batch over the threads. */
#include "model/dkho/fused_impl.h"

#include <assert.h>
#include <string.h>

/* A pass over the chunks, from which everybody takes the next one. */
struct sweep {
  const pass *p;
  unsigned mask;
  chunk_fn fn;
  const grad_unit *(*unit_of)(const pass *p, int k);
  _Atomic int next;
  tree_pile waiting;
};

static real *slot_at(const pass *p, int slot) {
  return p->s->partial + (size_t)slot * p->f->unit_max;
}

/* Chunk i into slot `slot` of the partial gradients. */
static void one_chunk(const sweep *w, int i, int worker, int slot) {
  const chunk *c = &w->p->f->chunks[i];
  real *partial = w->unit_of ? slot_at(w->p, slot) : NULL;
  if (w->unit_of) memset(partial, 0, w->unit_of(w->p, c->k)->size * sizeof *partial);
  w->fn(w->p, c, &w->p->work[worker], partial);
}

/* Sums of slots and the unit that they are of. */
typedef struct slot_sums {
  const pass *p;
  const grad_unit *u;
} slot_sums;

static void add_slots(void *ctx, int into, int from) {
  const slot_sums *s = ctx;
  s->p->f->k->axpy(s->u->size, 1, slot_at(s->p, from), slot_at(s->p, into));
}

/* Takes chunk i, whose share is in slot `slot`, up its tree; a root's sum goes where it belongs. */
static void fold_partial(sweep *w, int i, int slot) {
  const fused *f = w->p->f;
  const chunk *c = &f->chunks[i];
  slot_sums sums = {w->p, w->unit_of(w->p, c->k)};
  tree_node x = {c->k, 0, c->leaf, slot};
  if (!tree_climb(f, &w->waiting, &x, add_slots, &sums)) return;
  const chunk_tree *t = &f->tree[c->k];
  size_t root = (size_t)t->root[t->before[x.at << x.level]];
  real *to = sums.u->apart ? w->p->s->low + root * fused_low_size(f) : w->p->s->packed + root * f->grads;
  memcpy(to + sums.u->base, slot_at(w->p, x.slot), sums.u->size * sizeof *to);
}

/* A slot that no node waits in. */
static int free_slot(const sweep *w) {
  for (int slot = 0;; slot++) {
    int taken = 0;
    for (int i = 0; i < w->waiting.count; i++) taken |= w->waiting.node[i].slot == slot;
    if (!taken) return slot;
  }
}

/* The chunk at place `at` in the direction of the pass; -1: one that it leaves out. */
static int chunk_at(const sweep *w, int at) {
  int i = fused_chunk_at(w->p->f, w->p->which, w->p->turned, at);
  return i >= 0 && w->mask >> w->p->f->chunks[i].k & 1U ? i : -1;
}

static void take_chunks(sweep *w, int worker) {
  for (int at, i; (at = atomic_fetch_add(&w->next, 1)) < w->p->f->chunk_count;)
    if ((i = chunk_at(w, at)) >= 0) one_chunk(w, i, worker, i);
}

/* Shows the pass to whoever has no sample, takes part in it, and waits until the guests are gone. */
static void share(sweep *w, post *here, int worker) {
  atomic_store(&w->next, 0);
  atomic_store(&here->open, w);
  take_chunks(w, worker);
  atomic_store(&here->open, NULL);
  for (unsigned turn = 0; atomic_load(&here->guests); turn++) pool_breathe(turn);
}

/* The chunks of the pass's range. `shared`: with whoever has no sample, each chunk then in a slot of its own. */
static void run_range(sweep *w, int shared) {
  const pass *p = w->p;
  if (shared) share(w, p->post, p->worker);
  for (int at = 0; at < p->f->chunk_count; at++) {
    int i = chunk_at(w, at);
    if (i < 0) continue;
    int slot = shared || !w->unit_of ? i : free_slot(w);
    if (!shared) one_chunk(w, i, p->worker, slot);
    if (w->unit_of) fold_partial(w, i, slot);
  }
}

static int has_help(const pass *p) {
  return p->post && atomic_load(p->free) > 0;
}

void run_chunks(pass *p, unsigned mask, chunk_fn fn, const grad_unit *(*unit_of)(const pass *p, int k)) {
  sweep w = {.p = p, .mask = mask, .fn = fn, .unit_of = unit_of, .waiting = {p->s->waiting, 0}};
  run_range(&w, has_help(p));
}

void run_across(pass *p, share_kind kind, unsigned mask, chunk_fn fn,
                const grad_unit *(*unit_of)(const pass *p, int k)) {
  sweep w = {.p = p, .mask = mask, .fn = fn, .unit_of = unit_of, .waiting = {p->s->waiting, 0}};
  int shared = has_help(p);
  if (!p->f->ranks) {
    run_range(&w, shared);
    return;
  }
  p->which = INNER_CHUNKS;
  run_range(&w, shared);
  share_finish(p, kind);
  p->which = RIM_CHUNKS;
  run_range(&w, shared);
  p->which = ALL_CHUNKS;
}

/* A pass over the big arrays runs against the one before: it begins where that one ended, with what is still in cache. `across`: it
 * reads what neighbours left on links. */
static void run_turned(pass *p, int across, unsigned mask, chunk_fn fn,
                       const grad_unit *(*unit_of)(const pass *p, int k)) {
  p->turned = !p->turned;
  if (across && p->f->parts)
    run_across(p, SHARE_CONTENT, mask, fn, unit_of);
  else
    run_chunks(p, mask, fn, unit_of);
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

static const grad_unit *low_unit(const pass *p, int k) {
  return &p->f->low_unit[k];
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

/* A pass that makes state l; its rows for other ranks; and, with low modes, what they bring to the layer that reads it. */
static void make_state(pass *p, int l, chunk_fn fn) {
  int mixes = p->f->s.modes && l < p->f->s.layers;
  run_turned(p, l > 0, p->f->live[l], fn, mixes ? low_unit : NULL);
  cross_begin(p, l, 0);
  if (mixes) mix_forward(p, l);
}

static void forward(pass *p, const fused_sample *in) {
  const fused *f = p->f;
  int substeps = f->s.relation == FUSED_CARRIER ? 0 : f->s.substeps;
  load_sample(p, in);
  make_state(p, 0, encoder_chunk);
  for (int l = 0; l < f->s.layers; l++) {
    for (int r = 0; r < substeps; r++) relation_forward(p, l * substeps + r);
    if (f->s.relation == FUSED_CARRIER) {
      p->turned = !p->turned;
      carrier_forward(p, l);
      continue;
    }
    p->layer = l;
    make_state(p, l + 1, content_chunk);
  }
  run_turned(p, 0, 1U << f->s.target, decoder_chunk, NULL);
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
static void phases_backward(pass *p, int l) {
  const fused *f = p->f;
  for (int k = 0; k < f->s.degrees; k++)
    if (fused_lives(f, l, k)) zero(p->s->gmaps[k], f->tiles[k], 3 * f->s.c);
  for (int r = f->s.substeps - 1; r >= 0; r--) relation_backward(p, l * f->s.substeps + r);
}

static void backward(pass *p, const fused_sample *in) {
  const fused *f = p->f;
  sample_state *s = p->s;
  memset(s->packed, 0, (size_t)f->roots * f->grads * sizeof *s->packed);
  for (int k = 0; k < f->s.degrees; k++)
    if (fused_lives(f, 0, k) && f->s.c) zero(s->gt[k], f->tiles[k], f->s.c);
  run_turned(p, 0, 1U << f->s.target, decoder_back_chunk, decoder_unit);
  for (int l = f->s.layers - 1; l >= 0; l--) {
    p->layer = l;
    run_turned(p, l + 1 < f->s.layers, f->live[l + 1], content_back_chunk, content_unit);
    cross_begin(p, l, 1);
    if (f->s.modes) mix_backward(p, l);
    if (f->s.relation == FUSED_CARRIER)
      carrier_backward(p, l);
    else if (f->s.relation != FUSED_NONE)
      phases_backward(p, l);
  }
  run_turned(p, 1, f->live[0], encoder_back_chunk, encoder_unit);
  share_gradient(p);
  if (f->s.relation == FUSED_COUPLED || f->s.relation == FUSED_ALONE) relation_scalars(p);
  global_grads(p, in);
}

typedef struct {
  fused_team *t;
  const fused_sample *samples;
  fused_loss loss;
  void *ctx;
  real *const *y;
  int first, group; /* samples in flight */
  _Atomic int left; /* of them; 0 also when one has failed */
} batch;

/* Forward, and the way back when there is a loss, of sample i. */
static dkho_status run_sample(const batch *b, int i, int worker) {
  fused_team *t = b->t;
  const fused *f = t->f;
  sample_state *s = &t->state[b->group > 1 ? worker : 0];
  size_t gradient = (size_t)f->roots * f->grads;
  if (b->loss) s->packed = t->packed + (size_t)(i - b->first) * gradient;
  pass p = {
      .f = f, .s = s, .work = t->work, .worker = worker, .post = t->post ? &t->post[worker] : NULL, .free = &t->free};
  int64_t n = f->s.n[f->s.target];
  s->status = DKHO_OK;
  forward(&p, &b->samples[i]);
  assert(b->loss || b->y);
  TRY(s->status);
  kern_untile(n, f->s.outputs, f->order[f->s.target], s->y, b->loss ? s->flat_y : b->y[i]);
  if (!b->loss) return DKHO_OK;
  TRY(b->loss(b->ctx, i, s->flat_y, s->flat_g));
  kern_tile(n, f->s.outputs, f->order[f->s.target], s->flat_g, s->g_y);
  backward(&p, &b->samples[i]);
  return s->status;
}

/* Without a sample of its own, a worker goes from post to post. A guest is counted before it looks, and an owner closes its
 * pass before it looks for guests: so no guest holds a pass that is over. */
static void help(batch *b, int worker) {
  fused_team *t = b->t;
  int width = pool_width(t->p);
  atomic_fetch_add(&t->free, 1);
  for (unsigned turn = 0; atomic_load(&b->left) > 0; turn++) {
    post *there = &t->post[turn % (unsigned)width];
    if (atomic_load(&there->open)) {
      atomic_fetch_add(&there->guests, 1);
      sweep *w = atomic_load(&there->open);
      if (w) take_chunks(w, worker);
      atomic_fetch_sub(&there->guests, 1);
    } else
      pool_breathe(turn);
  }
  atomic_fetch_sub(&t->free, 1);
}

/* Tasks behind the last sample are help for those who still have one. Where ranks share a mesh it is the caller who talks to them:
 * each worker then takes one task and stays with it, and the caller's is the sample. */
static dkho_status batch_task(void *ctx, size_t task, int worker) {
  batch *b = ctx;
  int sample = b->t->f->ranks ? worker : (int)task;
  if (sample >= b->group) return help(b, worker), DKHO_OK;
  if (!atomic_load(&b->left)) return DKHO_OK;
  dkho_status s = run_sample(b, b->first + sample, worker);
  if (s == DKHO_OK)
    atomic_fetch_sub(&b->left, 1);
  else
    atomic_store(&b->left, 0);
  return s;
}

/* Groups of at most t->samples samples, a sample per thread, and threads without one take part in the passes of others. The
 * sums over chunks and samples are in their order whoever took them. */
static dkho_status run_batch(batch *b, int count, real *packed) {
  fused_team *t = b->t;
  size_t grads = t->f->grads, gradient = (size_t)t->f->roots * grads;
  if (packed) memset(packed, 0, grads * sizeof *packed);
  for (b->first = 0; b->first < count; b->first += b->group) {
    b->group = count - b->first < t->samples ? count - b->first : t->samples;
    atomic_store(&b->left, b->group);
    TRY(pool_run(t->p, (size_t)(b->group + pool_width(t->p) - 1), batch_task, b));
    for (int i = 0; packed && i < b->group; i++) t->f->k->axpy(grads, 1, t->packed + (size_t)i * gradient, packed);
  }
  return DKHO_OK;
}

dkho_status fused_predict(fused_team *t, int count, const fused_sample *samples, real *const *y) {
  batch b = {.t = t, .samples = samples, .y = y};
  return run_batch(&b, count, NULL);
}

dkho_status fused_train(fused_team *t, int count, const fused_sample *samples, fused_loss loss, void *ctx,
                        real *packed) {
  assert(!t->predicts && (packed || count <= t->samples));
  batch b = {.t = t, .samples = samples, .loss = loss, .ctx = ctx};
  return run_batch(&b, count, packed);
}

real *fused_gradient(fused_team *t, int i, int64_t *stride) {
  *stride = (int64_t)((size_t)t->f->roots * t->f->grads);
  return t->packed + i * *stride;
}
