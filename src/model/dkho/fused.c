/* fused.c: the network on one complex: gather lists, what each substep must compute, where gradients go. */
#include "model/dkho/fused_impl.h"

#include <assert.h>
#include <string.h>

/* Compressed rows of degree k against k-1 from the fixed-length face lists. */
static dkho_status face_rows(int64_t n, int k, int64_t **ptr) {
  if (!MEM_NEW(*ptr, n + 1)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i <= n; i++) (*ptr)[i] = i * (k + 1);
  return DKHO_OK;
}

/* One list into the arena. weight NULL: ±1. */
static dkho_status add_list(fused *f, kern_gather *g, int64_t n, const int64_t *ptr, const int32_t *col,
                            const int8_t *sign, const double *weight, int64_t cols) {
  int64_t slots = kern_gather_slots(n, ptr);
  int32_t *start;
  uint32_t *at;
  real *val = NULL;
  if (!ARENA_NEW(&f->mem, start, kern_tiles(n) + 1) || !ARENA_NEW(&f->mem, at, slots * LANES)) return DKHO_E_MEMORY;
  if (weight && !ARENA_NEW(&f->mem, val, slots * LANES)) return DKHO_E_MEMORY;
  *g = (kern_gather){kern_tiles(n), start, at, val};
  return kern_gather_fill(n, ptr, col, sign, weight, cols, f->s.c, start, at, val);
}

/* sign·m_col/m_row (δ) or sign·m_row/m_col (its transpose) per entry; NULL stars give no weights. */
static dkho_status weights(int64_t n, const int64_t *ptr, const int32_t *col, const int8_t *sign, const double *row,
                           const double *other, int transposed, double **out) {
  *out = NULL;
  if (!row || !other) return DKHO_OK;
  if (!MEM_NEW(*out, ptr[n])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    for (int64_t p = ptr[i]; p < ptr[i + 1]; p++)
      (*out)[p] = sign[p] * (transposed ? row[i] / other[col[p]] : other[col[p]] / row[i]);
  return DKHO_OK;
}

/* down: d_{k-1}; down_adj: (δ_k)ᵀ, which is M_k d_{k-1} M_{k-1}⁻¹. */
static dkho_status down_lists(fused *f, const fused_mesh *m, int k) {
  int64_t *ptr = NULL, n = f->s.n[k], below = f->cols[k - 1];
  double *w = NULL;
  dkho_status s;
  TRY_GOTO(face_rows(n, k, &ptr));
  TRY_GOTO(add_list(f, &f->down[k], n, ptr, m->face[k], m->sign[k], NULL, below));
  TRY_GOTO(weights(n, ptr, m->face[k], m->sign[k], m->star[k], m->star[k - 1], 1, &w));
  f->down_adj[k] = f->down[k];
  if (w) TRY_GOTO(add_list(f, &f->down_adj[k], n, ptr, m->face[k], m->sign[k], w, below));
done:
  mem_free(ptr);
  mem_free(w);
  return s;
}

/* up: δ_{k+1}; up_adj: d_kᵀ. */
static dkho_status up_lists(fused *f, const fused_mesh *m, int k) {
  int64_t n = f->s.n[k], above = f->cols[k + 1];
  const int64_t *ptr = m->coptr[k];
  double *w = NULL;
  dkho_status s;
  TRY_GOTO(add_list(f, &f->up_adj[k], n, ptr, m->coface[k], m->cosign[k], NULL, above));
  TRY_GOTO(weights(n, ptr, m->coface[k], m->cosign[k], m->star[k], m->star[k + 1], 0, &w));
  f->up[k] = f->up_adj[k];
  if (w) TRY_GOTO(add_list(f, &f->up[k], n, ptr, m->coface[k], m->cosign[k], w, above));
done:
  mem_free(w);
  return s;
}

/* The output reads state `layers` of the target degree; a layer of coupled phases is taken to reach all degrees, as low modes do, a hop
 * reaches the neighbours. */
static void plan_live(fused *f) {
  unsigned all = (1U << f->s.degrees) - 1, m = f->live[f->s.layers] = 1U << f->s.target;
  for (int l = f->s.layers - 1; l >= 0; l--) {
    if (f->s.relation == FUSED_COUPLED || f->s.modes) m = all;
    if (f->s.relation == FUSED_CARRIER || f->s.exchange) m = (m | m << 1 | m >> 1) & all;
    f->live[l] = m;
  }
}

/* θ at the end is wanted on the target degree; inside a substep a degree feels itself and, when coupled, its neighbours;
 * at the end of every layer but the last all live degrees are read. */
static dkho_status plan_needs(fused *f) {
  int steps = f->s.layers * f->s.substeps, coupled = f->s.relation == FUSED_COUPLED;
  if (!ARENA_NEW(&f->mem, f->need, (steps + 1) * DEG)) return DKHO_E_MEMORY;
  f->need[steps * DEG + f->s.target] = 1;
  for (int i = steps - 1; i >= 0; i--)
    for (int k = 0; k < f->s.degrees; k++) {
      int read = i % f->s.substeps == 0 && i > 0 && fused_lives(f, i / f->s.substeps, k);
      int near = coupled && (fused_wants(f, i + 1, k - 1) || fused_wants(f, i + 1, k + 1));
      f->need[i * DEG + k] = (unsigned char)(read || near || fused_wants(f, i + 1, k));
    }
  return DKHO_OK;
}

static dkho_status plan_chunks(fused *f) {
  for (int k = 0; k < f->s.degrees; k++) f->chunk_count += (f->tiles[k] + CHUNK - 1) / CHUNK;
  if (!ARENA_NEW(&f->mem, f->chunks, f->chunk_count)) return DKHO_E_MEMORY;
  int at = 0;
  for (int k = 0; k < f->s.degrees; k++) {
    const int32_t *leaf = share_leaves(f, k);
    for (int t = 0; t < f->tiles[k]; t += CHUNK)
      f->chunks[at++] = (chunk){.k = k,
                                .first = t,
                                .last = t + CHUNK < f->tiles[k] ? t + CHUNK : f->tiles[k],
                                .leaf = leaf ? leaf[t / CHUNK] : t / CHUNK};
  }
  return DKHO_OK;
}

size_t take_place(size_t *at, size_t rows, int cols) {
  size_t here = *at;
  *at += rows * (size_t)kern_pad(cols);
  return here;
}

/* Places of a unit's gradients: w1 of `in` rows, then the rest; `maps` when a pass feeds conditioning maps. */
static void plan_unit(fused *f, grad_unit *u, int in, int out, int skip, int maps) {
  int h = f->s.h, c = f->s.c;
  size_t at = 0;
  u->base = f->grads;
  u->w1 = take_place(&at, (size_t)in, h);
  u->b1 = take_place(&at, 1, h);
  u->norm1 = take_place(&at, 2, h);
  u->w2 = take_place(&at, (size_t)h, out);
  u->b2 = take_place(&at, 1, out);
  u->skip = take_place(&at, skip ? (size_t)h : 0, h);
  u->norm2 = take_place(&at, skip ? 2 : 0, h);
  u->maps_w = take_place(&at, maps ? (size_t)h : 0, 3 * c);
  u->maps_b = take_place(&at, maps ? 1 : 0, 3 * c);
  u->size = at;
}

static void close_unit(fused *f, grad_unit *u) {
  f->grads += u->size;
  if (u->size > f->unit_max) f->unit_max = u->size;
}

static void plan_units(fused *f) {
  const fused_shape *s = &f->s;
  for (int k = 0; k < s->degrees; k++) {
    grad_unit *u = &f->enc_unit[k];
    if (!fused_lives(f, 0, k)) continue;
    plan_unit(f, u, s->varying[k].count, s->h, 0, 1);
    plan_cross(f, 0, k, u);
    u->fixed = take_place(&u->size, (size_t)s->fixed[k].count, s->h);
    u->global = take_place(&u->size, (size_t)s->global[k].count, s->h);
    u->start_w = take_place(&u->size, s->start == FUSED_CONTENT ? (size_t)s->h : 0, s->c);
    u->start_b = take_place(&u->size, s->start != FUSED_ZERO, s->c);
    close_unit(f, u);
  }
  for (int l = 0; l < s->layers; l++)
    for (int k = 0; k < s->degrees; k++) {
      if (!fused_lives(f, l + 1, k)) continue;
      plan_unit(f, &f->unit[l][k], f->wide[k], s->h, 1, l + 1 < s->layers);
      plan_cross(f, l + 1, k, &f->unit[l][k]);
      f->unit[l][k].low = take_place(&f->unit[l][k].size, (size_t)s->modes, s->h);
      close_unit(f, &f->unit[l][k]);
    }
  plan_unit(f, &f->dec_unit, s->h + 2 * s->c, s->outputs, 0, s->relation == FUSED_CARRIER);
  close_unit(f, &f->dec_unit);
  f->scalars = f->grads;
  f->grads += (size_t)kern_pad(s->layers * (DEG + 1));
  plan_mix(f);
}

static dkho_status take_reals(fused *f, size_t n, real **out) {
  return ARENA_NEW(&f->mem, *out, n) ? DKHO_OK : DKHO_E_MEMORY;
}

static dkho_status alloc_maps(fused *f, int width, packed_maps *m) {
  size_t h = (size_t)f->s.h, out = (size_t)width;
  TRY(take_reals(f, h * out, &m->w));
  TRY(take_reals(f, out, &m->b));
  return take_reals(f, h * out, &m->wt);
}

static dkho_status alloc_rank(fused *f, packed_rank *r, int wide) {
  size_t h = (size_t)f->s.h, in = (size_t)wide;
  TRY(take_reals(f, in * h, &r->w1));
  TRY(take_reals(f, in * h, &r->w1t));
  real **square[] = {&r->w2, &r->w2t, &r->skip, &r->skipt};
  real **row[] = {&r->b1, &r->gain1, &r->carry, &r->lift, &r->gain};
  for (int i = 0; i < 4; i++) TRY(take_reals(f, h * h, square[i]));
  for (int i = 0; i < 5; i++) TRY(take_reals(f, h, row[i]));
  return alloc_maps(f, 3 * f->s.c, &r->maps);
}

static dkho_status alloc_codec(fused *f, packed_codec *p, int in, int out, int fixed, int global) {
  size_t h = (size_t)f->s.h;
  TRY(take_reals(f, h, &p->b1));
  TRY(take_reals(f, h, &p->gain));
  TRY(take_reals(f, (size_t)in * h, &p->w1));
  TRY(take_reals(f, (size_t)in * h, &p->w1t));
  TRY(take_reals(f, h * (size_t)out, &p->w2));
  TRY(take_reals(f, h * (size_t)out, &p->w2t));
  TRY(take_reals(f, (size_t)out, &p->b2));
  TRY(take_reals(f, (size_t)fixed * h, &p->fixed));
  return take_reals(f, (size_t)global * h, &p->global);
}

static dkho_status alloc_weights(fused *f) {
  const fused_shape *s = &f->s;
  for (int k = 0; k < s->degrees; k++) {
    TRY(alloc_codec(f, &f->encoder[k], s->varying[k].count, s->h, s->fixed[k].count, s->global[k].count));
    for (int l = 0; l < s->layers; l++) TRY(alloc_rank(f, &f->layer[l].rank[k], f->wide[k]));
    if (s->start != FUSED_ZERO) TRY(alloc_maps(f, s->c, &f->start[k]));
  }
  if (s->relation == FUSED_CARRIER) TRY(alloc_maps(f, 3 * s->c, &f->view));
  TRY(alloc_links(f));
  return alloc_codec(f, &f->decoder, s->h + 2 * s->c, s->outputs, 0, 0);
}

/* Static features in tiles, and copies of the column lists. */
static dkho_status keep_inputs(fused *f, const real *const *fixed) {
  for (int k = 0; k < f->s.degrees; k++) {
    fused_columns *groups[] = {&f->s.fixed[k], &f->s.varying[k], &f->s.global[k]};
    for (int g = 0; g < 3; g++) {
      int32_t *copy;
      if (!ARENA_NEW(&f->mem, copy, groups[g]->count)) return DKHO_E_MEMORY;
      if (groups[g]->count) memcpy(copy, groups[g]->row, (size_t)groups[g]->count * sizeof *copy);
      groups[g]->row = copy;
    }
    int ch = f->s.fixed[k].count;
    TRY(take_reals(f, (size_t)f->tiles[k] * (size_t)ch * LANES, &f->fixed[k]));
    TRY(take_reals(f, (size_t)f->tiles[k] * (size_t)f->s.h * LANES, &f->fixed_product[k]));
    if (ch) kern_tile(f->s.n[k], ch, f->order[k], fixed[k], f->fixed[k]);
  }
  return DKHO_OK;
}

/* All of the mesh, or this rank's part of it. */
static dkho_status take_rows(fused *f, const mesh_share *how, int32_t *order[DEG], fused_mesh *m, arena *a) {
  for (int k = 0; k < f->s.degrees; k++) f->whole[k] = f->cols[k] = f->s.n[k];
  if (how) return share_create(f, how, order, m, a);
  for (int k = 0; k < f->s.degrees; k++) {
    if (!ARENA_NEW(&f->mem, f->order[k], f->s.n[k])) return DKHO_E_MEMORY;
    memcpy(f->order[k], order[k], (size_t)f->s.n[k] * sizeof *order[k]);
  }
  return DKHO_OK;
}

static dkho_status build_lists(fused *f, const fused_mesh *mesh) {
  arena ordered = {0};
  fused_mesh whole, m;
  int32_t *order[DEG];
  dkho_status s;
  TRY_GOTO(order_mesh(f, mesh, order, &whole, &ordered));
  m = whole;
  TRY_GOTO(take_rows(f, mesh->share, order, &m, &ordered));
  for (int k = 0; k < f->s.degrees; k++) {
    f->tiles[k] = kern_tiles(f->s.n[k]);
    if (f->s.relation != FUSED_COUPLED && f->s.relation != FUSED_CARRIER) continue;
    if (k > 0) TRY_GOTO(down_lists(f, &m, k));
    if (k + 1 < f->s.degrees) TRY_GOTO(up_lists(f, &m, k));
  }
  TRY_GOTO(plan_links(f, &whole));
  TRY_GOTO(plan_chunks(f));
  TRY_GOTO(plan_trees(f));
  plan_live(f);
  TRY_GOTO(plan_needs(f));
  plan_units(f);
  TRY_GOTO(share_plan(f));
  TRY_GOTO(plan_partials(f));
done:
  arena_free(&ordered);
  return s;
}

static dkho_status build(fused *f, const fused_mesh *mesh, const real *const *fixed) {
  TRY(build_lists(f, mesh));
  TRY(plan_modes(f, mesh));
  TRY(alloc_weights(f));
  return keep_inputs(f, fixed);
}

dkho_status fused_create(fused **out, const kern *k, const fused_shape *shape, const fused_mesh *mesh,
                         const real *const *fixed) {
  assert(shape->degrees >= 1 && shape->degrees <= DEG && shape->layers >= 1 && shape->layers <= FUSED_LAYERS);
  int none = shape->relation == FUSED_NONE, extended = shape->exchange || shape->modes;
  assert(shape->h >= 1 && (none || (shape->c >= 1 && shape->substeps >= 1)) && shape->outputs >= 1);
  assert(shape->target >= 0 && shape->target < shape->degrees);
  assert((shape->relation != FUSED_CARRIER && !none) || shape->start == FUSED_ZERO);
  assert(!extended || none || shape->relation == FUSED_COUPLED);
  *out = NULL;
  fused *f;
  if (!MEM_NEW(f, 1)) return DKHO_E_MEMORY;
  f->k = k;
  f->s = *shape;
  if (shape->relation == FUSED_CARRIER) f->s.substeps = 1;
  if (none) f->s.c = f->s.substeps = 0;
  if (!shape->width) f->s.width = shape->h;
  if (!shape->slots) f->s.slots = shape->degrees * shape->modes;
  dkho_status s = build(f, mesh, fixed);
  if (s == DKHO_OK)
    *out = f;
  else
    fused_free(f);
  return s;
}

void fused_free(fused *f) {
  if (!f) return;
  share_free(f->ranks);
  arena_free(&f->mem);
  mem_free(f);
}

size_t fused_grads(const fused *f) {
  return f->grads;
}

/* Of degree k in the layers: maps of the relation and of links, the update, low modes. */
static void count_layers(const fused *f, int k, double count[2]) {
  const fused_shape *s = &f->s;
  double n = (double)s->n[k], h = s->h, maps = 3 * h * s->c, update = f->wide[k] * h + 2 * h * h;
  for (int l = 0; l < s->layers && fused_lives(f, l, k); l++) {
    int lives = fused_lives(f, l + 1, k);
    count[0] += n * (maps + (lives ? update : 0));
    for (int up = 0; up < 2; up++) {
      const fused_link *link = fused_sends(f, l, k, up);
      if (link && link->maps_first) count[0] += n * h * f->parts * h;
    }
    count[1] += n * h * s->modes * (1 + lives);
    if (lives) count[0] += s->modes * h * h;
  }
}

/* Products of one pass over all simplices: [0] those with gradients on both sides, [1] those with one. */
static void count_products(const fused *f, double count[2]) {
  const fused_shape *s = &f->s;
  double h = s->h, c = s->c, all = s->degrees * s->modes;
  count[0] = count[1] = 0;
  for (int k = 0; k < s->degrees; k++) {
    double n = (double)s->n[k];
    if (!fused_lives(f, 0, k)) continue;
    count[0] += n * h * h;
    count[1] += n * h * s->varying[k].count;
    if (s->start == FUSED_CONTENT && fused_wants(f, 0, k)) count[0] += n * h * c;
    count_layers(f, k, count);
  }
  count[0] += s->layers * (2 * all * s->slots * h + all * h * h);
  count[0] += (double)s->n[s->target] * ((h + 2 * c) * h + h * s->outputs);
  if (s->relation == FUSED_CARRIER) count[0] += (double)s->n[s->target] * 3 * h * c;
}

double fused_work_forward(const fused *f) {
  double count[2];
  count_products(f, count);
  return count[0] + count[1];
}

double fused_work_step(const fused *f) {
  double count[2];
  count_products(f, count);
  return 3 * count[0] + 2 * count[1];
}
