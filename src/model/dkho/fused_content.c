/* fused_content.c: encoder, content update and decoder over one chunk of simplices of one degree, block by block; the
 * reverse passes recompute a block's inner activations and accumulate the chunk's weight gradients. */
#include "model/dkho/fused_impl.h"

#include <string.h>

static block block_of(const pass *p, const chunk *c, scratch *w, int first) {
  int n = c->last - first < BLOCK ? c->last - first : BLOCK;
  return (block){p->f, p->f->k, p->s, w, c->k, p->layer, first, n, p->f->s.h, p->f->s.c, p->f->wide[c->k], w->a, NULL};
}

static int is_carrier(const block *b) {
  return b->f->s.relation == FUSED_CARRIER;
}

/* The carrier's [m, x] in state l; in the last state [x, tanh gate], of which map_content has left the second. */
static void load_carrier(const block *b, int l) {
  const real *x = tile_at(b->s->theta[b->k][l], b->first, b->c);
  real *to = state_at(b, l) + b->h * LANES;
  if (l < b->f->s.layers) {
    carrier_hop(b->f, b->s, b->k, l, b->first, b->first + b->n);
    b->K->from_rows(b->n, b->c, tile_at(b->s->res_a[b->k], b->first, b->c), to, state_stride(b));
    to += b->c * LANES;
  }
  b->K->from_rows(b->n, b->c, x, to, state_stride(b));
}

/* Fills in the phases of state l, θ after `step` substeps, or the carrier. */
static void load_relation(const block *b, int l, int step) {
  if (!b->c) return;
  if (is_carrier(b))
    load_carrier(b, l);
  else
    b->K->phasor(b->n, b->c, tile_at(b->s->theta[b->k][step], b->first, b->c), state_at(b, l) + b->h * LANES,
                 state_stride(b));
}

/* Lines of one block of `ch` channels: what comes next in an array lies one block further on. */
static size_t block_lines(int ch) {
  return (size_t)(BLOCK * ch) * LANES * sizeof(real) / 64;
}
static const real *next_block(const real *x, int ch) {
  return x + (size_t)(BLOCK * ch) * LANES;
}

/* a = [state l] W_1 + b_1 on `in` of its channels; in a layer, also what links bring ready and what the modes bring, Φ_k T_k. */
static void first_map(const block *b, int l, int in, const real *w1, const real *b1) {
  const real *x = state_at(b, l);
  int modes = l < b->f->s.layers ? b->f->s.modes : 0;
  size_t hs = (size_t)b->h * LANES;
  kern_sum j = {.tiles = b->n,
                .out = b->h,
                .terms = 1,
                .term = {{x, state_stride(b), in, w1, b->h}},
                .base = b->base,
                .bs = hs,
                .shift = b1,
                .y = b->a,
                .ys = hs,
                .ahead = {next_block(x, b->wide)},
                .lines = {block_lines(b->wide)}};
  if (modes) {
    const real *phi = tile_at(b->f->synthesise[b->k], b->first, modes);
    j.terms = 2;
    j.term[1] = (kern_term){phi, (size_t)modes * LANES, modes, b->s->far + (int64_t)b->k * modes * b->h, b->h};
    j.ahead[1] = next_block(phi, modes), j.lines[1] = block_lines(modes);
  }
  b->K->mm_sum(&j);
}

/* An array of ch channels whose next block a product brings. */
typedef struct {
  const real *x;
  int ch;
} ahead;

/* y = (add ? y : 0) + x W for W of h rows and columns. */
static void square_map(const block *b, const real *x, const real *w, int ld, int add, real *y, ahead one, ahead two) {
  size_t hs = (size_t)b->h * LANES;
  b->K->mm_sum(&(kern_sum){.tiles = b->n,
                           .out = b->h,
                           .terms = 1,
                           .term = {{x, hs, b->h, w, ld}},
                           .base = add ? y : NULL,
                           .bs = hs,
                           .y = y,
                           .ys = hs,
                           .ahead = {next_block(one.x, one.ch), next_block(two.x, two.ch)},
                           .lines = {block_lines(one.ch), block_lines(two.ch)}});
}

/* g = z + hid W_2 + b_2 + z_0 S, hid the normalised hidden layer in a. */
static void second_map(const block *b, const packed_rank *r) {
  size_t hs = (size_t)b->h * LANES, zs = state_stride(b);
  const real *z0 = state_at(b, 0);
  b->K->mm_sum(&(kern_sum){.tiles = b->n,
                           .out = b->h,
                           .terms = 2,
                           .term = {{b->w->a, hs, b->h, r->w2, b->h}, {z0, zs, b->h, r->skip, b->h}},
                           .base = state_at(b, b->l),
                           .bs = zs,
                           .gain = r->carry,
                           .shift = r->lift,
                           .y = b->w->g,
                           .ys = hs,
                           .ahead = {next_block(z0, b->wide), next_block(state_at(b, b->l + 1), b->wide)},
                           .lines = {block_lines(b->wide), block_lines(b->wide)}});
}

static const packed_maps *maps_of(const block *b, int l) {
  return l < b->f->s.layers ? &b->f->layer[l].rank[b->k].maps : &b->f->view;
}
/* Where the last state has tanh gate; other states have none. */
static real *turn_at(const block *b, int l) {
  return l < b->f->s.layers ? NULL : state_at(b, l) + (b->h + b->c) * LANES;
}

/* Drive, gate and lag of layer l from its state. */
static void map_content(const block *b, int l) {
  if (!b->c) return;
  const packed_maps *m = maps_of(b, l);
  int c3 = 3 * b->c;
  real *maps = tile_at(b->s->maps[l][b->k], b->first, c3);
  kern_mm(b->K, b->n, state_at(b, l), state_stride(b), b->h, m->w, c3, c3, m->b, 0, maps, (size_t)c3 * LANES);
  if (is_carrier(b))
    b->K->carrier(b->n, b->c, maps, tile_at(b->s->theta[b->k][l], b->first, b->c), turn_at(b, l), state_stride(b));
  else
    b->K->cond(b->n, b->c, b->f->s.lag_scale, maps);
}

/* From the cotangents that first_back left for state l: of [x, tanh gate] in the last, else of x in res_a. */
static void carrier_back(const block *b, int l, real *g_pre, size_t ps) {
  const real *a = tile_at(b->s->res_a[b->k], b->first, b->c), *t = tile_at(b->s->gt[b->k], b->first, b->c);
  const real *turn = turn_at(b, l), *maps = tile_at(b->s->maps[l][b->k], b->first, 3 * b->c);
  b->K->carrier_back(b->n, b->c, maps, turn ? t : a, turn, state_stride(b), turn ? a : NULL, g_pre, ps);
}

void linear_grads(const block *b, const real *x, size_t xs, int in, const real *gy, int out, real *gw, real *gb) {
  b->K->transpose(b->n, gy, (size_t)out * LANES, out, b->w->rows);
  b->K->grad_w(b->n, x, xs, in, b->w->rows, out, gw);
  b->K->grad_b(b->n, b->w->rows, out, gb);
}

/* The same for the conditioning maps and the decoder's output; with few outputs into the lane sums of the chunk. */
static void thin_grads(const block *b, const real *x, size_t xs, const real *gy, int out, real *lanes, real *gw,
                       real *gb) {
  if (fused_thin(out))
    b->K->grad_lanes(b->n, x, xs, b->h, gy, (size_t)out * LANES, out, lanes);
  else
    linear_grads(b, x, xs, b->h, gy, out, gw, gb);
}

static void thin_begin(real *lanes, int h, int out) {
  if (fused_thin(out)) memset(lanes, 0, (size_t)((h + 1) * out) * LANES * sizeof *lanes);
}

/* Lane sums, summed over the lanes, to the rows of g_W and to g_b. */
static void thin_end(const fused *f, scratch *w, int out, const real *lanes, real *gw, real *gb) {
  int h = f->s.h, count = (h + 1) * out;
  if (!fused_thin(out)) return;
  real *total = w->sums + kern_pad(count) * LANES;
  memset(total, 0, (size_t)kern_pad(count) * sizeof *total);
  f->k->transpose(1, lanes, (size_t)count * LANES, count, w->sums);
  f->k->grad_b(1, w->sums, count, total);
  for (int i = 0; i <= h; i++)
    for (int o = 0; o < out; o++) (i < h ? gw + i * kern_pad(out) : gb)[o] += total[i * out + o];
}

/* Reverse of map_content: g_z = (add ? g_z : 0) + g_pre Wᵀ; g_W += stateᵀ g_pre; g_b += g_pre. */
static void map_back(const block *b, int l, int add, real *gz, const grad_unit *u, real *partial) {
  const packed_maps *m = maps_of(b, l);
  int c3 = 3 * b->c;
  size_t ps = (size_t)c3 * LANES;
  if (is_carrier(b))
    carrier_back(b, l, b->w->small, ps);
  else
    b->K->cond_back(b->n, b->c, b->f->s.lag_scale, tile_at(b->s->maps[l][b->k], b->first, c3),
                    tile_at(b->s->gmaps[b->k], b->first, c3), b->w->small, ps);
  kern_mm(b->K, b->n, b->w->small, ps, c3, m->wt, b->h, b->h, NULL, add, gz, (size_t)b->h * LANES);
  thin_grads(b, state_at(b, l), state_stride(b), b->w->small, c3, b->w->thin[0], partial + u->maps_w,
             partial + u->maps_b);
}

/* a = static product + varying W_1 + row */
static void encoder_input(const block *b) {
  size_t hs = (size_t)b->h * LANES;
  int in = b->f->s.varying[b->k].count;
  const real *x = tile_at(b->s->varying[b->k], b->first, in);
  b->K->mm_sum(&(kern_sum){.tiles = b->n,
                           .out = b->h,
                           .terms = 1,
                           .term = {{x, (size_t)in * LANES, in, b->f->encoder[b->k].w1, b->h}},
                           .base = tile_at(b->f->fixed_product[b->k], b->first, b->h),
                           .bs = hs,
                           .shift = b->s->row[b->k],
                           .y = b->w->a,
                           .ys = hs});
}

static const double PI = 3.14159265358979323846;

/* θ at the start: π tanh(z_0 W + b), or b everywhere. */
static void start_phases(const block *b) {
  const packed_maps *m = &b->f->start[b->k];
  real *theta = tile_at(b->s->theta[b->k][0], b->first, b->c), *pre = b->w->small;
  size_t cs = (size_t)b->c * LANES, count = (size_t)b->n * cs;
  if (b->f->s.start == FUSED_COMMON) {
    for (size_t e = 0; e < count; e++) theta[e] = m->b[e % (size_t)b->c];
    return;
  }
  kern_mm(b->K, b->n, state_at(b, 0), state_stride(b), b->h, m->w, b->c, b->c, m->b, 0, pre, cs);
  b->K->map(KERN_TANH, count, pre, pre);
  for (size_t e = 0; e < count; e++) pre[e] *= (real)PI;
  b->K->to_rows(b->n, b->c, pre, cs, theta);
}

/* Its reverse from g_θ in gt: g_pre = g_θ (π - θ²/π); g_z += g_pre Wᵀ. */
static void start_back(const block *b, const grad_unit *u, real *gz, real *partial) {
  size_t cs = (size_t)b->c * LANES;
  real *g = b->w->small, *theta = b->w->rows;
  b->K->from_rows(b->n, b->c, tile_at(b->s->gt[b->k], b->first, b->c), g, cs);
  if (b->f->s.start == FUSED_CONTENT) {
    b->K->from_rows(b->n, b->c, tile_at(b->s->theta[b->k][0], b->first, b->c), theta, cs);
    for (size_t e = 0; e < (size_t)b->n * cs; e++) g[e] *= (real)PI - theta[e] * theta[e] * (real)(1 / PI);
    kern_mm(b->K, b->n, g, cs, b->c, b->f->start[b->k].wt, b->h, b->h, NULL, 1, gz, (size_t)b->h * LANES);
  }
  b->K->transpose(b->n, g, cs, b->c, b->w->rows);
  if (b->f->s.start == FUSED_CONTENT)
    b->K->grad_w(b->n, state_at(b, 0), state_stride(b), b->h, b->w->rows, b->c, partial + u->start_w);
  b->K->grad_b(b->n, b->w->rows, b->c, partial + u->start_b);
}

static int has_start(const block *b) {
  return b->f->s.start != FUSED_ZERO && fused_wants(b->f, 0, b->k);
}

/* For those who read state l from elsewhere: rows, and this block's share of the coefficients Φᵀ M z. */
static void leave_state(const block *b, int l, real *coefficients) {
  int modes = b->f->s.modes;
  if (fused_extended(b->f)) cross_send(b, l);
  if (modes && l < b->f->s.layers)
    b->K->grad_w(b->n, tile_at(b->f->analyse[b->k], b->first, modes), (size_t)modes * LANES, modes,
                 cross_rows(b, l, b->k, 0, 0), b->h, coefficients);
}

void encoder_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_codec *e = &p->f->encoder[c->k];
  for (int t = c->first; t < c->last; t += BLOCK) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)b.h * LANES;
    encoder_input(&b);
    b.K->gelu_norm(b.n, b.h, w->a, hs, w->a, hs);
    kern_mm(b.K, b.n, w->a, hs, b.h, e->w2, b.h, b.h, e->b2, 0, state_at(&b, 0), state_stride(&b));
    map_content(&b, 0);
    if (has_start(&b)) start_phases(&b);
    leave_state(&b, 0, partial);
  }
}

/* Where layer b->l keeps what stands before GELU. */
static real *kept_at(const block *b) {
  real *kept = b->s->pre[b->l][b->k];
  return kept ? tile_at(kept, b->first, b->h) : b->w->a;
}

/* u = z + norm(gelu([z, cos θ, sin θ, …] W_1 + b_1)) W_2 + b_2 + z_0 S;  next state = norm(u) */
void content_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_rank *r = &p->f->layer[p->layer].rank[c->k];
  int last = p->layer + 1 == p->f->s.layers;
  for (int t = c->first; t < c->last; t += BLOCK) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)b.h * LANES, zs = state_stride(&b);
    load_relation(&b, b.l, (b.l + 1) * p->f->s.substeps);
    b.a = kept_at(&b);
    if (p->f->parts) cross_load(&b);
    first_map(&b, b.l, b.wide, r->w1, r->b1);
    b.K->gelu_norm(b.n, b.h, b.a, hs, w->a, hs);
    second_map(&b, r);
    b.K->norm(b.n, b.h, w->g, hs, state_at(&b, b.l + 1), zs, tile_at(b.s->rstd[b.l + 1][b.k], t, 1));
    if (!last || is_carrier(&b)) map_content(&b, b.l + 1);
    leave_state(&b, b.l + 1, partial);
  }
}

void decoder_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  (void)partial;
  const packed_codec *d = &p->f->decoder;
  int outs = p->f->s.outputs, layers = p->f->s.layers;
  for (int t = c->first; t < c->last; t += BLOCK) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)b.h * LANES;
    load_relation(&b, layers, layers * p->f->s.substeps);
    first_map(&b, layers, b.h + 2 * b.c, d->w1, d->b1);
    b.K->gelu_norm(b.n, b.h, w->a, hs, w->a, hs);
    kern_mm(b.K, b.n, w->a, hs, b.h, d->w2, outs, outs, d->b2, 0, tile_at(b.s->y, t, outs), (size_t)outs * LANES);
  }
}

/* Lane sums to channels, in lane order. */
static void add_lanes(real *out, const real *lanes, int h) {
  for (int q = 0; q < 2; q++)
    for (int i = 0; i < h; i++) {
      double s = 0;
      for (int l = 0; l < LANES; l++) s += (double)lanes[(q * h + i) * LANES + l];
      out[q * kern_pad(h) + i] += (real)s;
    }
}

/* g_W1 += stateᵀ g_a, g_b1 += g_a; of a layer with low modes also g_T += Φᵀ g_a. The rows of g_a stay where neighbours read them. */
static void first_grads(const block *b, int l, int in, const grad_unit *u, real *partial) {
  int reads = l < b->f->s.layers, modes = reads ? b->f->s.modes : 0;
  real *rows = reads && b->s->rows[l & 1][b->k][0] ? cross_rows(b, l, b->k, 0, 0) : b->w->rows;
  b->K->transpose(b->n, b->w->g, (size_t)b->h * LANES, b->h, rows);
  b->K->grad_w(b->n, state_at(b, l), state_stride(b), in, rows, b->h, partial + u->w1);
  b->K->grad_b(b->n, rows, b->h, partial + u->b1);
  if (modes)
    b->K->grad_w(b->n, tile_at(b->f->synthesise[b->k], b->first, modes), (size_t)modes * LANES, modes, rows, b->h,
                 partial + u->low);
}

/* Reverse of hid = norm(gelu(a)), a = [state l] W_1 + b_1 on `in` channels, from g_hid in w->g: gradients of W_1, b_1 and the norm;
 * g_z = (add ? g_z : 0) + g_a W_zᵀ; phases added, or the two carrier columns put in gt and res_a. w->a, hat and rstd as left by gelu_norm_keep. */
static void first_back(const block *b, int l, int in, const real *gain, const real *w1t, const grad_unit *u, int add,
                       real *gz, real *partial) {
  scratch *w = b->w;
  int h = b->h;
  size_t hs = (size_t)h * LANES, cs = (size_t)(2 * b->c) * LANES;
  b->K->norm_back(b->n, h, w->g, hs, w->hat, hs, w->rstd, gain, w->a, hs, w->g, hs, w->lanes);
  first_grads(b, l, in, u, partial);
  square_map(b, w->g, w1t, in, add, gz, (ahead){gz, h}, (ahead){gz, 0});
  if (!b->c) return;
  kern_mm(b->K, b->n, w->g, hs, h, w1t + h, in, 2 * b->c, NULL, 0, w->small, cs);
  real *gt = tile_at(b->s->gt[b->k], b->first, b->c);
  if (is_carrier(b)) {
    b->K->to_rows(b->n, b->c, w->small, cs, gt);
    b->K->to_rows(b->n, b->c, w->small + b->c * LANES, cs, tile_at(b->s->res_a[b->k], b->first, b->c));
  } else {
    b->K->phasor_back(b->n, b->c, state_at(b, l) + h * LANES, state_stride(b), w->small, cs, gt);
  }
}

/* Reverse of u = z + hid W_2 + b_2 + z_0 S; gz holds g_u and becomes g_z; `fresh`: nothing in g_z0 yet. */
static void update_back(const block *b, const packed_rank *r, const grad_unit *u, int fresh, real *gz, real *partial) {
  scratch *w = b->w;
  size_t hs = (size_t)b->h * LANES;
  int h = b->h;
  if (b->a == w->a)
    first_map(b, b->l, b->wide, r->w1, r->b1);
  else
    memcpy(w->a, b->a, (size_t)b->n * hs * sizeof *w->a);
  b->K->gelu_norm_keep(b->n, h, w->a, hs, w->hat, hs, w->rstd);
  linear_grads(b, w->hat, hs, h, gz, h, partial + u->w2, partial + u->b2);
  b->K->grad_w(b->n, state_at(b, 0), state_stride(b), h, w->rows, h, partial + u->skip);
  real *gz0 = tile_at(b->s->gz0[b->k], b->first, h);
  int state = b->wide;
  square_map(b, gz, r->skipt, h, !fresh, gz0, (ahead){gz0, h}, (ahead){gz, 0});
  square_map(b, gz, r->w2t, h, 0, w->g, (ahead){state_at(b, 0), state}, (ahead){state_at(b, b->l + 1), state});
  first_back(b, b->l, b->wide, r->gain1, r->w1t, u, 1, gz, partial);
  cross_back(b, r);
}

/* g_z of state l += what its readers elsewhere give back: the maps of the relation, links, modes; `begun`: g_z holds something. */
static void return_state(const block *b, int l, int begun, real *gz, const grad_unit *u, real *partial) {
  if (l >= b->f->s.layers) return;
  if (b->c)
    map_back(b, l, begun, gz, u, partial);
  else if (!begun)
    memset(gz, 0, (size_t)(b->n * b->h) * LANES * sizeof *gz);
  if (fused_extended(b->f)) cross_return(b, l, u, gz, partial);
}

/* The target degree's g_z comes from the decoder, the others' begins with the maps of the last layer. */
void content_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_rank *r = &p->f->layer[p->layer].rank[c->k];
  const grad_unit *u = &p->f->unit[p->layer][c->k];
  int h = p->f->s.h, layers = p->f->s.layers, last = p->layer + 1 == layers, target = c->k == p->f->s.target;
  int fresh = last || !fused_lives(p->f, p->layer + 2, c->k);
  int c3 = 3 * p->f->s.c;
  memset(w->lanes, 0, (size_t)(4 * h) * LANES * sizeof *w->lanes);
  thin_begin(w->thin[0], h, last ? LANES : c3);
  for (int t = c->first; t < c->last; t += BLOCK) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)h * LANES;
    real *gz = tile_at(b.s->gz[b.k], t, h);
    b.a = kept_at(&b);
    return_state(&b, b.l + 1, target || !fresh, gz, u, partial);
    b.K->norm_back(b.n, h, gz, hs, state_at(&b, b.l + 1), state_stride(&b), tile_at(b.s->rstd[b.l + 1][b.k], t, 1),
                   r->gain, NULL, 0, gz, hs, w->lanes + 2 * h * LANES);
    update_back(&b, r, u, fresh, gz, partial);
  }
  add_lanes(partial + u->norm1, w->lanes, h);
  add_lanes(partial + u->norm2, w->lanes + 2 * h * LANES, h);
  thin_end(p->f, w, last ? LANES : c3, w->thin[0], partial + u->maps_w, partial + u->maps_b);
}

/* g_z0 = what came through the layers and through the skips, if there is any, through the maps and the start. */
static void encoder_cotangent(const block *b, const grad_unit *u, real *gz, real *partial) {
  int reached = fused_lives(b->f, 1, b->k);
  if (reached) b->K->axpy((size_t)b->n * (size_t)b->h * LANES, 1, tile_at(b->s->gz0[b->k], b->first, b->h), gz);
  return_state(b, 0, reached, gz, u, partial);
  if (has_start(b)) start_back(b, u, gz, partial);
}

void encoder_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_codec *e = &p->f->encoder[c->k];
  const grad_unit *u = &p->f->enc_unit[c->k];
  int h = p->f->s.h, fixed = p->f->s.fixed[c->k].count, in = p->f->s.varying[c->k].count;
  memset(w->lanes, 0, (size_t)(2 * h) * LANES * sizeof *w->lanes);
  thin_begin(w->thin[0], h, 3 * p->f->s.c);
  for (int t = c->first; t < c->last; t += BLOCK) {
    block b = block_of(p, c, w, t);
    size_t hs = (size_t)h * LANES;
    real *gz = tile_at(b.s->gz[b.k], t, h);
    encoder_cotangent(&b, u, gz, partial);
    encoder_input(&b);
    b.K->gelu_norm_keep(b.n, h, w->a, hs, w->hat, hs, w->rstd);
    linear_grads(&b, w->hat, hs, h, gz, h, partial + u->w2, partial + u->b2);
    kern_mm(b.K, b.n, gz, hs, h, e->w2t, h, h, NULL, 0, w->g, hs);
    b.K->norm_back(b.n, h, w->g, hs, w->hat, hs, w->rstd, e->gain, w->a, hs, w->g, hs, w->lanes);
    linear_grads(&b, tile_at(p->s->varying[c->k], t, in), (size_t)in * LANES, in, w->g, h, partial + u->w1,
                 partial + u->b1);
    b.K->grad_w(b.n, tile_at(p->f->fixed[c->k], t, fixed), (size_t)fixed * LANES, fixed, w->rows, h,
                partial + u->fixed);
  }
  add_lanes(partial + u->norm1, w->lanes, h);
  thin_end(p->f, w, 3 * p->f->s.c, w->thin[0], partial + u->maps_w, partial + u->maps_b);
}

void decoder_back_chunk(const pass *p, const chunk *c, scratch *w, real *partial) {
  const packed_codec *d = &p->f->decoder;
  const grad_unit *u = &p->f->dec_unit;
  int h = p->f->s.h, outs = p->f->s.outputs, layers = p->f->s.layers;
  size_t hs = (size_t)h * LANES;
  memset(w->lanes, 0, (size_t)(2 * h) * LANES * sizeof *w->lanes);
  int maps = p->f->s.relation == FUSED_CARRIER ? 3 * p->f->s.c : LANES;
  thin_begin(w->thin[0], h, maps);
  thin_begin(w->thin[1], h, outs);
  for (int t = c->first; t < c->last; t += BLOCK) {
    block b = block_of(p, c, w, t);
    const real *gy = tile_at(b.s->g_y, t, outs);
    first_map(&b, layers, h + 2 * b.c, d->w1, d->b1);
    b.K->gelu_norm_keep(b.n, h, w->a, hs, w->hat, hs, w->rstd);
    thin_grads(&b, w->hat, hs, gy, outs, w->thin[1], partial + u->w2, partial + u->b2);
    kern_mm(b.K, b.n, gy, (size_t)outs * LANES, outs, d->w2t, h, h, NULL, 0, w->g, hs);
    real *gz = tile_at(b.s->gz[b.k], t, h);
    first_back(&b, layers, h + 2 * b.c, d->gain, d->w1t, u, 0, gz, partial);
    if (is_carrier(&b)) map_back(&b, layers, 1, gz, u, partial);
  }
  add_lanes(partial + u->norm1, w->lanes, h);
  thin_end(p->f, w, maps, w->thin[0], partial + u->maps_w, partial + u->maps_b);
  thin_end(p->f, w, outs, w->thin[1], partial + u->w2, partial + u->b2);
}
