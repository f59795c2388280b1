/* fused_content.c: encoder, content update and decoder over one chunk of simplices of one degree, block by block; the
 * reverse passes recompute a block's inner activations and accumulate the chunk's weight gradients. */
#include "kern/fused_int.h"

#include <string.h>

/* One block: tiles first … first+n-1 of degree k in layer l. */
typedef struct block {
  const fused *f;
  const kern *K;
  sample_state *s;
  scratch *w;
  int k, l, first, n, h, c;
} block;

static real *tile_at(real *x, int tile, int ch) {
  return x + (size_t)tile * (size_t)ch * LANES;
}

static block block_of(const pass *p, const chunk *c, scratch *w, int first) {
  int n = c->last - first < p->f->block ? c->last - first : p->f->block;
  return (block){p->f, p->f->k, p->s, w, c->k, p->layer, first, n, p->f->s.h, p->f->s.c};
}

/* z_l = gain ⊙ xhat + shift by the norm of the layer before; the encoder's output stands for itself. */
static void load_content(const block *b, int l, real *to, size_t stride) {
  const packed_rank *r = l ? &b->f->layer[l - 1].rank[b->k] : NULL;
  b->K->affine(b->n, b->h, tile_at(b->s->z[l][b->k], b->first, b->h), (size_t)b->h * LANES, r ? r->gain : NULL,
               r ? r->shift : NULL, to, stride);
}

/* x = [z_l, cos θ, sin θ] with θ after `step` substeps. */
static void load_input(const block *b, int l, int step) {
  size_t xs = (size_t)(b->h + 2 * b->c) * LANES;
  load_content(b, l, b->w->x, xs);
  b->K->phasor(b->n, b->c, tile_at(b->s->theta[b->k][step], b->first, b->c), b->w->x + b->h * LANES, xs);
}

/* Drive, gate and lag of layer l from its content z [n][h]. */
static void map_content(const block *b, int l, const real *z) {
  const packed_maps *m = &b->f->layer[l].rank[b->k].maps;
  int c3 = 3 * b->c;
  real *maps = tile_at(b->s->maps[l][b->k], b->first, c3);
  b->K->mm(b->n, z, (size_t)b->h * LANES, b->h, m->w, c3, c3, m->b, 0, maps, (size_t)c3 * LANES);
  b->K->cond(b->n, b->c, b->f->s.lag_scale, maps);
}

/* Reverse of map_content: gz += g_pre Wᵀ; g_W += zᵀ g_pre; g_b += g_pre. */
static void map_back(const block *b, int l, const real *z, real *gz, const grad_unit *u, real *partial) {
  const packed_maps *m = &b->f->layer[l].rank[b->k].maps;
  int c3 = 3 * b->c;
  size_t ps = (size_t)c3 * LANES, hs = (size_t)b->h * LANES;
  b->K->cond_back(b->n, b->c, b->f->s.lag_scale, tile_at(b->s->maps[l][b->k], b->first, c3),
                  tile_at(b->s->gmaps[b->k], b->first, c3), b->w->small, ps);
  b->K->mm(b->n, b->w->small, ps, c3, m->wt, b->h, b->h, NULL, 1, gz, hs);
  b->K->transpose(b->n, b->w->small, ps, c3, b->w->rows);
  b->K->grad_w(b->n, z, hs, b->h, b->w->rows, c3, partial + u->maps_w);
  b->K->grad_b(b->n, b->w->rows, c3, partial + u->maps_b);
}

/* a = static product + varying W_1 + row */
static void encoder_input(const block *b) {
  size_t hs = (size_t)b->h * LANES;
  int in = b->f->s.varying[b->k].count;
  b->K->affine(b->n, b->h, tile_at(b->f->fixed_product[b->k], b->first, b->h), hs, NULL, NULL, b->w->a, hs);
  b->K->mm(b->n, tile_at(b->s->varying[b->k], b->first, in), (size_t)in * LANES, in, b->f->encoder[b->k].w1, b->h, b->h,
           b->s->row[b->k], 1, b->w->a, hs);
}

void encoder_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)partial;
  const packed_codec *e = &p->f->encoder[c->k];
  for (int t = c->first; t < c->last; t += p->f->block) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)b.h * LANES;
    real *z = tile_at(b.s->z[0][b.k], t, b.h);
    encoder_input(&b);
    b.K->gelu_norm(b.n, b.h, w->a, hs, e->gain, e->shift, w->a, hs);
    b.K->mm(b.n, w->a, hs, b.h, e->w2, b.h, b.h, e->b2, 0, z, hs);
    map_content(&b, 0, z);
  }
}

/* u = z + gelu_norm(x W_1 + b_1) W_2 + b_2 + z_0 S;  z' = norm(u) */
void content_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)partial;
  const packed_rank *r = &p->f->layer[p->layer].rank[c->k];
  int last = p->layer + 1 == p->f->s.layers;
  for (int t = c->first; t < c->last; t += p->f->block) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)b.h * LANES, xs = (size_t)(b.h + 2 * b.c) * LANES;
    load_input(&b, b.l, (b.l + 1) * p->f->s.substeps);
    b.K->mm(b.n, w->x, xs, b.h + 2 * b.c, r->w1, b.h, b.h, r->b1, 0, w->a, hs);
    b.K->gelu_norm(b.n, b.h, w->a, hs, r->gain1, r->shift1, w->a, hs);
    b.K->mm(b.n, w->a, hs, b.h, r->w2, b.h, b.h, r->b2, 1, w->x, xs);
    b.K->mm(b.n, tile_at(b.s->z[0][b.k], t, b.h), hs, b.h, r->skip, b.h, b.h, NULL, 1, w->x, xs);
    b.K->norm(b.n, b.h, w->x, xs, r->gain, r->shift, tile_at(b.s->z[b.l + 1][b.k], t, b.h), hs,
              tile_at(b.s->rstd[b.l + 1][b.k], t, 1), w->a, hs);
    if (!last) map_content(&b, b.l + 1, w->a);
  }
}

void decoder_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)partial;
  const packed_codec *d = &p->f->decoder;
  int outs = p->f->s.outputs;
  for (int t = c->first; t < c->last; t += p->f->block) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)b.h * LANES, xs = (size_t)(b.h + 2 * b.c) * LANES;
    load_input(&b, p->f->s.layers, p->f->s.layers * p->f->s.substeps);
    b.K->mm(b.n, w->x, xs, b.h + 2 * b.c, d->w1, b.h, b.h, d->b1, 0, w->a, hs);
    b.K->gelu_norm(b.n, b.h, w->a, hs, d->gain, d->shift, w->a, hs);
    b.K->mm(b.n, w->a, hs, b.h, d->w2, outs, outs, d->b2, 0, tile_at(b.s->y, t, outs), (size_t)outs * LANES);
  }
}

/* Weight and bias gradients of y = x W + b from g_y [n][out]. */
static void linear_grads(const block *b, const real *x, size_t xs, int in, const real *gy, int out, real *gw,
                         real *gb) {
  b->K->transpose(b->n, gy, (size_t)out * LANES, out, b->w->rows);
  b->K->grad_w(b->n, x, xs, in, b->w->rows, out, gw);
  b->K->grad_b(b->n, b->w->rows, out, gb);
}

/* Lane sums to channels, pairwise in a fixed order. */
static void add_lanes(real *out, const real *lanes, int h) {
  for (int q = 0; q < 2; q++)
    for (int i = 0; i < h; i++) {
      double s = 0;
      for (int l = 0; l < LANES; l++) s += (double)lanes[(q * h + i) * LANES + l];
      out[q * kern_pad(h) + i] += (real)s;
    }
}

/* [g_z, g_cos, g_sin] = g_a W_1ᵀ: gz set or added to, phases added. */
static void input_back(const block *b, const real *w1t, const real *ga, int add, real *gz) {
  int in = b->h + 2 * b->c;
  size_t hs = (size_t)b->h * LANES, cs = (size_t)(2 * b->c) * LANES;
  b->K->mm(b->n, ga, hs, b->h, w1t, in, b->h, NULL, add, gz, hs);
  b->K->mm(b->n, ga, hs, b->h, w1t + b->h, in, 2 * b->c, NULL, 0, b->w->small, cs);
  b->K->phasor_back(b->n, b->c, b->w->x + b->h * LANES, (size_t)in * LANES, b->w->small, cs,
                    tile_at(b->s->gt[b->k], b->first, b->c));
}

/* Reverse of u = z + hid W_2 + b_2 + z_0 S, hid = norm(gelu(a)), a = x W_1 + b_1; gz holds g_u and becomes g_z. */
static void update_back(const block *b, const packed_rank *r, const grad_unit *u, real *gz, real *partial) {
  scratch *w = b->w;
  size_t hs = (size_t)b->h * LANES, xs = (size_t)(b->h + 2 * b->c) * LANES;
  int h = b->h;
  load_input(b, b->l, (b->l + 1) * b->f->s.substeps);
  b->K->mm(b->n, w->x, xs, h + 2 * b->c, r->w1, h, h, r->b1, 0, w->a, hs);
  b->K->gelu_norm_keep(b->n, h, w->a, hs, r->gain1, r->shift1, w->hat, hs, w->rstd, w->hid, hs);
  linear_grads(b, w->hid, hs, h, gz, h, partial + u->w2, partial + u->b2);
  b->K->grad_w(b->n, tile_at(b->s->z[0][b->k], b->first, h), hs, h, w->rows, h, partial + u->skip);
  b->K->mm(b->n, gz, hs, h, r->skipt, h, h, NULL, 1, tile_at(b->s->gz0[b->k], b->first, h), hs);
  b->K->mm(b->n, gz, hs, h, r->w2t, h, h, NULL, 0, w->g, hs);
  b->K->norm_back(b->n, h, w->g, hs, w->hat, hs, w->rstd, r->gain1, w->a, hs, w->g, hs, w->lanes);
  linear_grads(b, w->x, xs, h + 2 * b->c, w->g, h, partial + u->w1, partial + u->b1);
  input_back(b, r->w1t, w->g, 1, gz);
}

void content_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_rank *r = &p->f->layer[p->layer].rank[c->k];
  const grad_unit *u = &p->f->unit[p->layer][c->k];
  int h = p->f->s.h, last = p->layer + 1 == p->f->s.layers;
  memset(w->lanes, 0, (size_t)(4 * h) * LANES * sizeof *w->lanes);
  for (int t = c->first; t < c->last; t += p->f->block) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)h * LANES;
    real *gz = tile_at(b.s->gz[b.k], t, h);
    if (!last) {
      load_content(&b, b.l + 1, w->a, hs);
      map_back(&b, b.l + 1, w->a, gz, u, partial);
    }
    b.K->norm_back(b.n, h, gz, hs, tile_at(b.s->z[b.l + 1][b.k], t, h), hs, tile_at(b.s->rstd[b.l + 1][b.k], t, 1),
                   r->gain, NULL, 0, gz, hs, w->lanes + 2 * h * LANES);
    update_back(&b, r, u, gz, partial);
  }
  add_lanes(partial + u->norm1, w->lanes, h);
  add_lanes(partial + u->norm2, w->lanes + 2 * h * LANES, h);
}

void encoder_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_codec *e = &p->f->encoder[c->k];
  const grad_unit *u = &p->f->enc_unit[c->k];
  int h = p->f->s.h, fixed = p->f->s.fixed[c->k].count, in = p->f->s.varying[c->k].count;
  memset(w->lanes, 0, (size_t)(2 * h) * LANES * sizeof *w->lanes);
  for (int t = c->first; t < c->last; t += p->f->block) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)h * LANES;
    real *gz = tile_at(b.s->gz[b.k], t, h);
    b.K->axpy((size_t)b.n * hs, 1, tile_at(b.s->gz0[b.k], t, h), gz);
    map_back(&b, 0, tile_at(b.s->z[0][b.k], t, h), gz, u, partial);
    encoder_input(&b);
    b.K->gelu_norm_keep(b.n, h, w->a, hs, e->gain, e->shift, w->hat, hs, w->rstd, w->hid, hs);
    linear_grads(&b, w->hid, hs, h, gz, h, partial + u->w2, partial + u->b2);
    b.K->mm(b.n, gz, hs, h, e->w2t, h, h, NULL, 0, w->g, hs);
    b.K->norm_back(b.n, h, w->g, hs, w->hat, hs, w->rstd, e->gain, w->a, hs, w->g, hs, w->lanes);
    linear_grads(&b, tile_at(p->s->varying[c->k], t, in), (size_t)in * LANES, in, w->g, h, partial + u->w1,
                 partial + u->b1);
    b.K->grad_w(b.n, tile_at(p->f->fixed[c->k], t, fixed), (size_t)fixed * LANES, fixed, w->rows, h,
                partial + u->fixed);
  }
  add_lanes(partial + u->norm1, w->lanes, h);
}

void decoder_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_codec *d = &p->f->decoder;
  const grad_unit *u = &p->f->dec_unit;
  int h = p->f->s.h, outs = p->f->s.outputs, in = h + 2 * p->f->s.c;
  size_t hs = (size_t)h * LANES, xs = (size_t)in * LANES, os = (size_t)outs * LANES;
  memset(w->lanes, 0, (size_t)(2 * h) * LANES * sizeof *w->lanes);
  for (int t = c->first; t < c->last; t += p->f->block) {
    block b = block_of(p, c, w, t);
    const real *gy = tile_at(b.s->g_y, t, outs);
    load_input(&b, p->f->s.layers, p->f->s.layers * p->f->s.substeps);
    b.K->mm(b.n, w->x, xs, in, d->w1, h, h, d->b1, 0, w->a, hs);
    b.K->gelu_norm_keep(b.n, h, w->a, hs, d->gain, d->shift, w->hat, hs, w->rstd, w->hid, hs);
    linear_grads(&b, w->hid, hs, h, gy, outs, partial + u->w2, partial + u->b2);
    b.K->mm(b.n, gy, os, outs, d->w2t, h, h, NULL, 0, w->g, hs);
    b.K->norm_back(b.n, h, w->g, hs, w->hat, hs, w->rstd, d->gain, w->a, hs, w->g, hs, w->lanes);
    linear_grads(&b, w->x, xs, in, w->g, h, partial + u->w1, partial + u->b1);
    input_back(&b, d->w1t, w->g, 0, tile_at(b.s->gz[b.k], t, h));
  }
  add_lanes(partial + u->norm1, w->lanes, h);
}
