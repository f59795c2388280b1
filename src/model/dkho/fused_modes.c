/* fused_modes.c: content over low modes: C_k = Φ_kᵀ M z_k of all degrees, V = A₂ GELU(A₁ C B), and Φ_k V_k R_k for the first map of the
 * update. Sums over simplices belong to the passes over chunks; here is what is small, one sample at a time by one thread. */
#include "model/dkho/fused_impl.h"

#include <string.h>

/* The matrices of a layer that the way back needs, degrees·modes × h or slots × h. */
typedef struct mixed {
  real *c, *cb, *v;
  real *pre, *act; /* slots */
} mixed;

static size_t mixed_size(const fused *f) {
  return (size_t)(f->s.degrees * f->s.modes) * (size_t)f->s.h;
}
static size_t slots_size(const fused *f) {
  return (size_t)f->s.slots * (size_t)f->s.h;
}
static mixed mixed_at(const fused *f, const sample_state *s, int l) {
  size_t n = mixed_size(f);
  real *x = s->mixed[l];
  return (mixed){x, x + n, x + 2 * n, x + 3 * n, x + 3 * n + slots_size(f)};
}
size_t mix_room(const fused *f) {
  return 3 * mixed_size(f) + 2 * slots_size(f);
}

static dkho_status keep_modes(fused *f, const real *from, int k, real **out) {
  if (!ARENA_NEW(&f->mem, *out, (size_t)(f->tiles[k] * f->s.modes) * LANES)) return DKHO_E_MEMORY;
  kern_tile(f->s.n[k], f->s.modes, f->order[k], from, *out);
  return DKHO_OK;
}

/* Entries of one map across modes. */
static size_t mix_across(const fused *f) {
  return (size_t)(f->s.degrees * f->s.modes) * (size_t)f->s.slots;
}

static dkho_status alloc_mix(fused *f) {
  size_t h = (size_t)f->s.h, across = mix_across(f);
  for (int l = 0; l < f->s.layers; l++) {
    packed_layer *p = &f->layer[l];
    if (!ARENA_NEW(&f->mem, p->mix, h * h) || !ARENA_NEW(&f->mem, p->mix_t, h * h) ||
        !ARENA_NEW(&f->mem, p->mix1, across) || !ARENA_NEW(&f->mem, p->mix2, across))
      return DKHO_E_MEMORY;
    for (int k = 0; k < f->s.degrees; k++)
      if (!ARENA_NEW(&f->mem, p->rank[k].ret, h * h) || !ARENA_NEW(&f->mem, p->rank[k].ret_t, h * h))
        return DKHO_E_MEMORY;
  }
  return DKHO_OK;
}

dkho_status plan_modes(fused *f, const fused_mesh *m) {
  if (!f->s.modes) return DKHO_OK;
  for (int k = 0; k < f->s.degrees; k++) {
    TRY(keep_modes(f, m->analyse[k], k, &f->analyse[k]));
    f->synthesise[k] = f->analyse[k];
    f->grow[k] = m->synthesise[k] ? 1 : (real)f->whole[k];
    if (m->synthesise[k]) TRY(keep_modes(f, m->synthesise[k], k, &f->synthesise[k]));
  }
  return alloc_mix(f);
}

/* Places of the sums: coefficients of a degree apart, gradients of the maps at the end of the packed ones. */
void plan_mix(fused *f) {
  size_t h = (size_t)f->s.h, across = mix_across(f);
  if (!f->s.modes) return;
  for (int k = 0; k < f->s.degrees; k++) {
    size_t size = (size_t)f->s.modes * (size_t)kern_pad(f->s.h);
    f->low_unit[k] = (grad_unit){.base = (size_t)k * size, .size = size, .apart = 1};
    if (size > f->unit_max) f->unit_max = size;
  }
  for (int l = 0; l < f->s.layers; l++) {
    mix_unit *u = &f->mix[l];
    u->mix = f->grads, u->mix1 = u->mix + h * h, u->mix2 = u->mix1 + across, f->grads = u->mix2 + across;
    for (int k = 0; k < f->s.degrees; k++) u->ret[k] = f->grads, f->grads += h * h;
  }
  f->grads = (f->grads + LANES - 1) / LANES * LANES;
}

static void keep_matrix(real *to, real *turned, const real *from, int rows, int cols) {
  memcpy(to, from, (size_t)(rows * cols) * sizeof *to);
  if (turned) flip(turned, from, rows, cols);
}

void pack_modes(const fused *f, int l, const real *params) {
  const fused_layer *at = &f->s.layer[l];
  const packed_layer *p = &f->layer[l];
  int h = f->s.h, all = f->s.degrees * f->s.modes;
  if (!f->s.modes) return;
  keep_matrix(p->mix, p->mix_t, params + at->mix, h, h);
  keep_matrix(p->mix1, NULL, params + at->mix1, f->s.slots, all);
  keep_matrix(p->mix2, NULL, params + at->mix2, all, f->s.slots);
  for (int k = 0; k < f->s.degrees; k++) {
    const packed_rank *r = &p->rank[k];
    for (int i = 0; i < h * h; i++) r->ret[i] = f->grow[k] * params[at->rank[k].ret + (size_t)i];
    flip(r->ret_t, r->ret, h, h);
  }
}

void collect_modes(const fused *f, int l, const real *packed, real *out) {
  const fused_layer *at = &f->s.layer[l];
  const mix_unit *u = &f->mix[l];
  size_t h = (size_t)f->s.h, across = mix_across(f);
  if (!f->s.modes) return;
  f->k->axpy(h * h, 1, packed + u->mix, out + at->mix);
  f->k->axpy(across, 1, packed + u->mix1, out + at->mix1);
  f->k->axpy(across, 1, packed + u->mix2, out + at->mix2);
  for (int k = 0; k < f->s.degrees; k++) f->k->axpy(h * h, f->grow[k], packed + u->ret[k], out + at->rank[k].ret);
}

/* y = x W: rows × in by in × out. */
static void product(const fused *f, int rows, int in, int out, const real *x, const real *w, real *y) {
  kern_term one = {x, (size_t)in, in, w, out};
  f->k->row_mm(&(kern_rows){.rows = rows, .out = out, .terms = 1, .term = &one, .y = y, .ys = (size_t)out});
}
/* y (in × out) = xᵀ g: rows × in, rows × out. */
static void product_turned(const fused *f, int rows, int in, int out, const real *x, const real *g, real *y) {
  memset(y, 0, (size_t)(in * out) * sizeof *y);
  f->k->row_grad(rows, in, out, x, (size_t)in, g, (size_t)out, y);
}

/* To `low` of the first root: sums over the whole mesh of the coefficients of state l, which the roots of `low` have; on the way back of
 * g_T of layer l, which those of its units have. */
static void total_low(const pass *p, int l, int back) {
  const fused *f = p->f;
  size_t each = (size_t)f->s.modes * (size_t)kern_pad(f->s.h);
  const real *from[DEG];
  for (int k = 0; k < f->s.degrees; k++)
    from[k] = back ? p->s->packed + f->unit[l][k].base + f->unit[l][k].low : p->s->low + (size_t)k * each;
  unsigned mask = f->live[l + back];
  if (f->ranks)
    share_low(p, mask, from, back ? f->grads : fused_low_size(f), p->s->low);
  else
    for (int k = 0; back && k < f->s.degrees; k++)
      if (mask >> k & 1U) memcpy(p->s->low + (size_t)k * each, from[k], each * sizeof *p->s->low);
}

void mix_forward(const pass *p, int l) {
  const fused *f = p->f;
  const packed_layer *w = &f->layer[l];
  mixed m = mixed_at(f, p->s, l);
  int h = f->s.h, all = f->s.degrees * f->s.modes, modes = f->s.modes, slots = f->s.slots;
  total_low(p, l, 0);
  for (int i = 0; i < all; i++) memcpy(m.c + i * h, p->s->low + i * kern_pad(h), (size_t)h * sizeof *m.c);
  product(f, all, h, h, m.c, w->mix, m.cb);
  product(f, slots, all, h, w->mix1, m.cb, m.pre);
  f->k->map(KERN_GELU, slots_size(f), m.pre, m.act);
  product(f, all, slots, h, w->mix2, m.act, m.v);
  for (int k = 0; k < f->s.degrees; k++)
    if (fused_lives(f, l + 1, k))
      product(f, modes, h, h, m.v + k * modes * h, w->rank[k].ret, p->s->far + k * modes * h);
}

/* g_V = g_T Rᵀ, g_R = Vᵀ g_T degree by degree; g_v zero where the layer has no update. */
static void return_back(const pass *p, int l, const mixed *m, real *g_v, real *g_t) {
  const fused *f = p->f;
  int h = f->s.h, modes = f->s.modes;
  memset(g_v, 0, mixed_size(f) * sizeof *g_v);
  for (int k = 0; k < f->s.degrees; k++) {
    if (!fused_lives(f, l + 1, k)) continue;
    for (int i = 0; i < modes; i++)
      memcpy(g_t + i * h, p->s->low + (k * modes + i) * kern_pad(h), (size_t)h * sizeof *g_t);
    product(f, modes, h, h, g_t, f->layer[l].rank[k].ret_t, g_v + k * modes * h);
    product_turned(f, modes, h, h, m->v + k * modes * h, g_t, p->s->packed + f->mix[l].ret[k]);
  }
}

/* Of V = A₂ act, act = GELU(pre), pre = A₁ (C B). */
void mix_backward(const pass *p, int l) {
  const fused *f = p->f;
  const packed_layer *w = &f->layer[l];
  mixed m = mixed_at(f, p->s, l);
  int h = f->s.h, all = f->s.degrees * f->s.modes, slots = f->s.slots;
  size_t n = mixed_size(f), inner = slots_size(f);
  real *g_v = p->s->mix_work, *g_act = g_v + n, *turned = g_act + inner, *packed = p->s->packed;
  total_low(p, l, 1);
  return_back(p, l, &m, g_v, turned);
  product_turned(f, all, slots, h, w->mix2, g_v, g_act);
  flip(turned, m.act, slots, h);
  product(f, all, h, slots, g_v, turned, packed + f->mix[l].mix2);
  f->k->unary_back(KERN_GELU, inner, 1, m.pre, g_act, 0, g_act);
  flip(turned, m.cb, all, h);
  product(f, slots, h, all, g_act, turned, packed + f->mix[l].mix1);
  product_turned(f, slots, all, h, w->mix1, g_act, g_v);
  product_turned(f, all, h, h, m.c, g_v, packed + f->mix[l].mix);
  product(f, all, h, h, g_v, w->mix_t, p->s->g_low);
}
