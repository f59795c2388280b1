/* fused_pack.c: from the caller's parameters to the matrices that the passes use, and gradients the way back.
 * The folds are linear in each factor, so their reverse runs once per step on the summed gradient. */
#include "model/dkho/fused_impl.h"

#include <math.h>
#include <string.h>

static void copy(real *to, const real *from, size_t n) {
  memcpy(to, from, n * sizeof *to);
}

void flip(real *to, const real *from, int rows, int cols) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) to[j * rows + i] = from[i * cols + j];
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

affine state_affine(const fused *f, const real *p, int l, int k) {
  if (l == 0) return (affine){NULL, NULL};
  const fused_rank *at = &f->s.layer[l - 1].rank[k];
  return (affine){p + at->gain, p + at->shift};
}

void absorb(const affine *a, int h, int out, real *w, real *b) {
  if (!a->gain) return;
  for (int o = 0; o < out; o++) {
    double s = (double)b[o];
    for (int i = 0; i < h; i++) {
      s += (double)a->shift[i] * (double)w[i * out + o];
      w[i * out + o] *= a->gain[i];
    }
    b[o] = (real)s;
  }
}

static void pack_maps(const fused *f, const fused_rank *at, const real *p, const affine *state, packed_maps *m) {
  int h = f->s.h, c = f->s.c;
  const real *w[] = {p + at->drive_w, p + at->gate_w, p + at->lag_w};
  const real *b[] = {p + at->drive_b, p + at->gate_b, p + at->lag_b};
  for (int g = 0; g < 3; g++) {
    for (int i = 0; i < h; i++) copy(m->w + (i * 3 + g) * c, w[g] + i * c, (size_t)c);
    copy(m->b + g * c, b[g], (size_t)c);
  }
  flip(m->wt, m->w, h, 3 * c);
  absorb(state, h, 3 * c, m->w, m->b);
}

/* The factors that a carrier network has folded away: m = σ_k·hop, update = τ·(…). */
static real hop_scale(const fused *f, int l, int k) {
  return f->s.relation == FUSED_CARRIER ? f->layer[l].rank[k].sigma : 1;
}
static real update_scale(const fused *f, int l) {
  return f->s.relation == FUSED_CARRIER ? f->layer[l].tau : 1;
}

/* First linear map on [z, p], p = [cos θ, sin θ] W_r + b_r:  z W_z + [cos, sin] (W_r W_p) + (b_1 + b_r W_p); the first c
 * rows of W_r W_p times `scale`. Without a relation it is z W_1 + b_1. */
static void fold(const fused *f, const fused_rank *at, const real *p, real scale, packed_rank *r) {
  int h = f->s.h, c2 = 2 * f->s.c;
  if (!c2) {
    copy(r->w1, p + at->update.w1, (size_t)(h * h));
    copy(r->b1, p + at->update.b1, (size_t)h);
    return;
  }
  const real *wp = p + at->update.w1 + h * h, *read = p + at->read_w, *bias = p + at->read_b;
  copy(r->w1, p + at->update.w1, (size_t)(h * h));
  for (int o = 0; o < h; o++) {
    for (int i = 0; i < c2; i++) {
      double s = 0;
      for (int j = 0; j < h; j++) s += (double)read[i * h + j] * (double)wp[j * h + o];
      r->w1[(h + i) * h + o] = (i < f->s.c ? scale : 1) * (real)s;
    }
    double s = (double)p[at->update.b1 + (size_t)o];
    for (int j = 0; j < h; j++) s += (double)bias[j] * (double)wp[j * h + o];
    r->b1[o] = (real)s;
  }
}

/* Second linear map times `scale`, the inner norm absorbed. */
static void pack_second(const fused *f, const fused_mlp *at, const real *p, int out, real scale, real *w2, real *b2,
                        real *w2t, real *gain) {
  int h = f->s.h;
  affine inner = {p + at->gain, p + at->shift};
  for (int i = 0; i < h * out; i++) w2[i] = scale * p[at->w2 + (size_t)i];
  for (int i = 0; i < out; i++) b2[i] = scale * p[at->b2 + (size_t)i];
  copy(gain, inner.gain, (size_t)h);
  flip(w2t, w2, h, out);
  absorb(&inner, h, out, w2, b2);
}

/* σ_k = softplus(s_k) + 1e-4 and τ */
static void pack_scalars(fused *f, int l, const real *p) {
  const fused_shape *s = &f->s;
  if (s->relation == FUSED_NONE) return;
  f->layer[l].tau = s->tau_min + s->tau_range * (real)sigmoid((double)p[s->layer[l].tau]);
  for (int k = 0; k < s->degrees; k++) {
    double x = (double)p[s->layer[l].rank[k].sigma];
    f->layer[l].rank[k].sigma = (real)(fmax(x, 0) + log1p(exp(-fabs(x))) + 1e-4);
  }
}

static void pack_rank(const fused *f, int l, int k, const real *p, packed_rank *r) {
  const fused_rank *at = &f->s.layer[l].rank[k];
  int h = f->s.h;
  affine state = state_affine(f, p, l, k);
  fold(f, at, p, hop_scale(f, l, k), r);
  pack_gathered(f, l, k, p, r->w1);
  flip(r->w1t, r->w1, f->wide[k], h);
  absorb(&state, h, h, r->w1, r->b1);
  if (f->s.c) pack_maps(f, at, p, &state, &r->maps);
  pack_second(f, &at->update, p, h, update_scale(f, l), r->w2, r->lift, r->w2t, r->gain1);
  for (int i = 0; i < h; i++) {
    r->carry[i] = state.gain ? state.gain[i] : 1;
    r->lift[i] += state.gain ? state.shift[i] : 0;
  }
  copy(r->skip, p + at->skip, (size_t)(h * h));
  copy(r->gain, p + at->gain, (size_t)h);
  flip(r->skipt, r->skip, h, h);
  pack_links(f, l, k, p);
}

static void pack_start(const fused *f, int k, const real *p) {
  const packed_maps *m = &f->start[k];
  int h = f->s.h, c = f->s.c;
  if (f->s.start != FUSED_ZERO) copy(m->b, p + f->s.start_b[k], (size_t)c);
  if (f->s.start != FUSED_CONTENT) return;
  copy(m->w, p + f->s.start_w[k], (size_t)(h * c));
  flip(m->wt, m->w, h, c);
}

static void pack_codec(const fused *f, const fused_mlp *at, const real *p, int out, packed_codec *w) {
  copy(w->b1, p + at->b1, (size_t)f->s.h);
  pack_second(f, at, p, out, 1, w->w2, w->b2, w->w2t, w->gain);
}

static void pick_rows(real *to, const real *from, const fused_columns *c, int h) {
  for (int i = 0; i < c->count; i++) copy(to + i * h, from + c->row[i] * h, (size_t)h);
}

static dkho_status fixed_task(void *ctx, size_t task, int worker) {
  (void)worker;
  const fused *f = ctx;
  const chunk *c = &f->chunks[task];
  int in = f->s.fixed[c->k].count, h = f->s.h;
  size_t xs = (size_t)in * LANES, ys = (size_t)h * LANES, first = (size_t)c->first;
  if (!fused_lives(f, 0, c->k)) return DKHO_OK;
  kern_mm(f->k, c->last - c->first, f->fixed[c->k] + first * xs, xs, in, f->encoder[c->k].fixed, h, h, NULL, 0,
          f->fixed_product[c->k] + first * ys, ys);
  return DKHO_OK;
}

void fused_prepare(fused *f, pool *p, const real *params) {
  const fused_shape *s = &f->s;
  for (int l = 0; l < s->layers; l++) {
    pack_scalars(f, l, params);
    pack_modes(f, l, params);
  }
  for (int k = 0; k < s->degrees; k++) {
    packed_codec *e = &f->encoder[k];
    if (!fused_lives(f, 0, k)) continue;
    const real *w1 = params + s->encoder[k].w1;
    pack_codec(f, &s->encoder[k], params, s->h, e);
    pick_rows(e->w1, w1, &s->varying[k], s->h);
    pick_rows(e->fixed, w1, &s->fixed[k], s->h);
    pick_rows(e->global, w1, &s->global[k], s->h);
    for (int l = 0; l < s->layers; l++) pack_rank(f, l, k, params, &f->layer[l].rank[k]);
    pack_start(f, k, params);
  }
  affine state = state_affine(f, params, s->layers, s->target);
  if (s->relation == FUSED_CARRIER) pack_maps(f, &s->layer[s->layers - 1].rank[s->target], params, &state, &f->view);
  pack_codec(f, &s->decoder, params, s->outputs, &f->decoder);
  copy(f->decoder.w1, params + s->decoder.w1, (size_t)((s->h + 2 * s->c) * s->h));
  flip(f->decoder.w1t, f->decoder.w1, s->h + 2 * s->c, s->h);
  absorb(&state, s->h, s->h, f->decoder.w1, f->decoder.b1);
  pool_run(p, (size_t)f->chunk_count, fixed_task, f);
}

/* to (rows × cols) += from, whose rows are padded to whole lanes */
static void add_rows(real *to, const real *from, int rows, int cols) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) to[i * cols + j] += from[i * kern_pad(cols) + j];
}

void release(const affine *a, int h, int out, real *gw, const real *gb) {
  if (!a->gain) return;
  int ld = kern_pad(out);
  for (int i = 0; i < h; i++)
    for (int o = 0; o < out; o++) gw[i * ld + o] = a->gain[i] * gw[i * ld + o] + a->shift[i] * gb[o];
}

/* Of maps that read the state of this affine part; g is the unit's gradient. */
static void collect_maps(const fused *f, const fused_rank *at, const grad_unit *u, const affine *state, real *g,
                         real *out) {
  int h = f->s.h, c = f->s.c, ld = kern_pad(3 * c);
  release(state, h, 3 * c, g + u->maps_w, g + u->maps_b);
  real *w[] = {out + at->drive_w, out + at->gate_w, out + at->lag_w};
  real *b[] = {out + at->drive_b, out + at->gate_b, out + at->lag_b};
  for (int q = 0; q < 3; q++)
    for (int j = 0; j < c; j++) {
      for (int i = 0; i < h; i++) w[q][i * c + j] += g[u->maps_w + (size_t)(i * ld + q * c + j)];
      b[q][j] += g[u->maps_b + (size_t)(q * c + j)];
    }
}

/* Reverse of w·scale: g ← scale·g; returns the scale's cotangent <w, g>, g as it was. w rows × cols, g padded. */
static double strip(real scale, int rows, int cols, const real *w, real *g) {
  double s = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      real *at = &g[i * kern_pad(cols) + j];
      s += (double)w[i * cols + j] * (double)*at;
      *at *= scale;
    }
  return s;
}

/* Reverse of fold: with F = W_r W_p and β = b_1 + b_r W_p,
 * g_Wr += g_F W_pᵀ; g_br += g_β W_pᵀ; g_Wp += W_rᵀ g_F + b_rᵀ g_β; g_b1 += g_β. */
static void unfold(const fused *f, const fused_rank *at, const real *p, const real *gw, const real *gb, real *out) {
  int h = f->s.h, c2 = 2 * f->s.c, ld = kern_pad(h);
  const real *wp = p + at->update.w1 + h * h, *read = p + at->read_w, *bias = p + at->read_b;
  real *g_wp = out + at->update.w1 + h * h;
  add_rows(out + at->update.w1, gw, h, h);
  add_rows(out + at->update.b1, gb, 1, h);
  for (int i = 0; c2 && i <= c2; i++) { /* row c2 stands for the bias */
    const real *g = i < c2 ? gw + (h + i) * ld : gb, *r = i < c2 ? read + i * h : bias;
    real *g_r = i < c2 ? out + at->read_w + i * h : out + at->read_b;
    for (int j = 0; j < h; j++) {
      double s = 0;
      for (int o = 0; o < h; o++) {
        s += (double)g[o] * (double)wp[j * h + o];
        g_wp[j * h + o] += r[j] * g[o];
      }
      g_r[j] += (real)s;
    }
  }
}

/* The second map stands times `scale`, whose cotangent is returned. */
static double collect_mlp(const fused *f, const fused_mlp *at, const grad_unit *u, const real *p, real *g, int outs,
                          real scale, real *out) {
  int h = f->s.h;
  affine inner = {p + at->gain, p + at->shift};
  release(&inner, h, outs, g + u->w2, g + u->b2);
  double g_scale = strip(scale, h, outs, p + at->w2, g + u->w2) + strip(scale, 1, outs, p + at->b2, g + u->b2);
  add_rows(out + at->gain, g + u->norm1, 1, h);
  add_rows(out + at->shift, g + u->norm1 + kern_pad(h), 1, h);
  add_rows(out + at->w2, g + u->w2, h, outs);
  add_rows(out + at->b2, g + u->b2, 1, outs);
  return g_scale;
}

/* The update of layer l; a carrier network's σ_k and τ get their cotangents here, those of phases have them. */
static void collect_update(const fused *f, int l, int k, const real *params, real *packed, real *out) {
  const fused_rank *at = &f->s.layer[l].rank[k];
  const packed_rank *r = &f->layer[l].rank[k];
  const grad_unit *u = &f->unit[l][k];
  real *g = packed + u->base, *scalar = packed + f->scalars + (size_t)(l * (DEG + 1));
  int h = f->s.h, carrier = f->s.relation == FUSED_CARRIER;
  affine state = state_affine(f, params, l, k);
  release(&state, h, h, g + u->w1, g + u->b1);
  if (carrier)
    scalar[k] =
        (real)(strip(r->sigma, f->s.c, h, r->w1 + h * h, g + u->w1 + (size_t)(h * kern_pad(h))) / (double)r->sigma);
  unfold(f, at, params, g + u->w1, g + u->b1, out);
  double g_scale = collect_mlp(f, &at->update, u, params, g, h, update_scale(f, l), out);
  if (carrier) scalar[DEG] += (real)g_scale;
  add_rows(out + at->skip, g + u->skip, h, h);
  add_rows(out + at->gain, g + u->norm2, 1, h);
  add_rows(out + at->shift, g + u->norm2 + kern_pad(h), 1, h);
}

static void collect_rank(const fused *f, int l, int k, const real *params, real *packed, real *out) {
  const fused_rank *at = &f->s.layer[l].rank[k];
  const grad_unit *before = l ? &f->unit[l - 1][k] : &f->enc_unit[k];
  affine state = state_affine(f, params, l, k);
  if (fused_lives(f, l + 1, k)) {
    collect_update(f, l, k, params, packed, out);
    collect_links(f, l, k, params, packed, out);
  }
  if (!f->s.c) return;
  collect_maps(f, at, before, &state, packed + before->base, out);
  out[at->sigma] += packed[f->scalars + (size_t)(l * (DEG + 1) + k)] * (real)sigmoid((double)params[at->sigma]);
}

static void collect_encoder(const fused *f, int k, const real *params, real *packed, real *out) {
  const fused_shape *s = &f->s;
  const grad_unit *u = &f->enc_unit[k];
  real *g = packed + u->base;
  const fused_columns *groups[] = {&s->varying[k], &s->fixed[k], &s->global[k]};
  size_t from[] = {u->w1, u->fixed, u->global};
  for (int q = 0; q < 3; q++)
    for (int i = 0; i < groups[q]->count; i++)
      add_rows(out + s->encoder[k].w1 + groups[q]->row[i] * s->h, g + from[q] + i * kern_pad(s->h), 1, s->h);
  add_rows(out + s->encoder[k].b1, g + u->b1, 1, s->h);
  collect_mlp(f, &s->encoder[k], u, params, g, s->h, 1, out);
  if (s->start == FUSED_CONTENT) add_rows(out + s->start_w[k], g + u->start_w, s->h, s->c);
  if (s->start != FUSED_ZERO) add_rows(out + s->start_b[k], g + u->start_b, 1, s->c);
}

void fused_collect(const fused *f, const real *params, real *packed, real *grads) {
  const fused_shape *s = &f->s;
  for (int k = 0; k < s->degrees; k++) {
    if (fused_lives(f, 0, k)) collect_encoder(f, k, params, packed, grads);
    for (int l = 0; l < s->layers && fused_lives(f, l, k); l++) collect_rank(f, l, k, params, packed, grads);
  }
  for (int l = 0; l < s->layers; l++) collect_modes(f, l, packed, grads);
  for (int l = 0; l < s->layers && s->relation != FUSED_NONE; l++) {
    double e = sigmoid((double)params[s->layer[l].tau]);
    grads[s->layer[l].tau] += packed[f->scalars + (size_t)(l * (DEG + 1) + DEG)] * s->tau_range * (real)(e * (1 - e));
  }
  real *g = packed + f->dec_unit.base;
  affine state = state_affine(f, params, s->layers, s->target);
  release(&state, s->h, s->h, g + f->dec_unit.w1, g + f->dec_unit.b1);
  add_rows(grads + s->decoder.w1, g + f->dec_unit.w1, s->h + 2 * s->c, s->h);
  add_rows(grads + s->decoder.b1, g + f->dec_unit.b1, 1, s->h);
  collect_mlp(f, &s->decoder, &f->dec_unit, params, g, s->outputs, 1, grads);
  if (s->relation == FUSED_CARRIER)
    collect_maps(f, &s->layer[s->layers - 1].rank[s->target], &f->dec_unit, &state, g, grads);
}
