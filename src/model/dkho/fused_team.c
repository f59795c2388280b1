/* fused_team.c: the buffers of samples in flight and of threads, planned up front. */
#include "model/dkho/fused_impl.h"

/* `count` numbers from the arena; the first failure is remembered and makes the rest do nothing. Arrays begin at
 * different places within a page: loads that lie a multiple of 4096 bytes behind a recent store would wait for it. */
static real *reals(fused_team *t, size_t count, dkho_status *s) {
  if (*s != DKHO_OK) return NULL;
  enum { PAGE_LINES = 64 };
  t->stagger = (t->stagger + 17) % PAGE_LINES;
  real *x = arena_take(&t->mem, count + PAGE_LINES * LANES, sizeof *x);
  if (!x) return (*s = DKHO_E_MEMORY), NULL;
  return x + t->stagger * LANES;
}

static real *tiles(fused_team *t, int count, int ch, dkho_status *s) {
  return reals(t, (size_t)count * (size_t)ch * LANES, s);
}

/* Whether any layer leaves rows q of degree k, forward or back: z itself where somebody gathers it, or has maps that come first; parts
 * over links with the degree below and above. */
static int leaves_rows(const fused *f, int k, int q) {
  if (q) return f->link[k][q - 1].used;
  return f->s.modes || f->link[k][0].used || f->link[k][1].used;
}

/* Rows for neighbours, and states before GELU, of degree k. */
static dkho_status plan_rows(fused_team *t, sample_state *st, int k) {
  const fused *f = t->f;
  size_t row = (size_t)fused_near(f, k) * (size_t)kern_pad(f->s.h);
  dkho_status s = DKHO_OK;
  for (int odd = 0; odd < 2; odd++)
    for (int q = 0; q < 3; q++)
      if (leaves_rows(f, k, q)) st->rows[odd][k][q] = reals(t, row * (size_t)(q ? f->parts : 1), &s);
  for (int l = 0; l < f->s.layers && fused_extended(f) && !t->predicts; l++)
    if (fused_lives(f, l + 1, k)) st->pre[l][k] = tiles(t, f->tiles[k], f->s.h, &s);
  return s;
}

/* What the low modes need. */
static dkho_status plan_mixing(fused_team *t, sample_state *st) {
  const fused *f = t->f;
  size_t all = (size_t)(f->s.degrees * f->s.modes);
  dkho_status s = DKHO_OK;
  if (!all) return s;
  st->low = reals(t, (size_t)f->roots * fused_low_size(f), &s);
  st->far = reals(t, all * (size_t)f->s.h, &s);
  st->g_low = reals(t, all * (size_t)f->s.h, &s);
  st->mix_work = reals(t, mix_room(f), &s);
  for (int l = 0; l < f->s.layers; l++) st->mixed[l] = t->predicts && l ? st->mixed[0] : reals(t, mix_room(f), &s);
  return s;
}

static dkho_status plan_degree(fused_team *t, sample_state *st, int k) {
  const fused *f = t->f;
  int n = f->tiles[k], h = f->s.h, c = f->s.c, steps = f->s.layers * f->s.substeps;
  int near = kern_tiles(f->cols[k]); /* with the neighbours' rows */
  int carrier = f->s.relation == FUSED_CARRIER;
  dkho_status s = DKHO_OK;
  if (!fused_lives(f, 0, k)) return s;
  st->varying[k] = tiles(t, n, f->s.varying[k].count, &s);
  st->row[k] = reals(t, (size_t)h, &s);
  for (int l = 0; l <= f->s.layers; l++) {
    if (!fused_lives(f, l, k)) continue;
    st->z[l][k] = t->predicts && l > 1 ? st->z[1][k] : tiles(t, n, f->wide[k], &s);
    st->rstd[l][k] = t->predicts && l > 0 ? st->rstd[0][k] : tiles(t, n, 1, &s);
    if ((l == f->s.layers && !carrier) || !c) continue;
    st->maps[l][k] = t->predicts && l > 0 ? st->maps[0][k] : tiles(t, n, 3 * c, &s);
  }
  TRY(plan_rows(t, st, k));
  if (!ARENA_NEW(&t->mem, st->theta[k], steps + 1)) return DKHO_E_MEMORY;
  for (int i = 0; c && i <= steps; i++)
    st->theta[k][i] = t->predicts && i > 2 ? st->theta[k][i - 2] : tiles(t, near + 1, c, &s);
  if (f->s.relation != FUSED_ALONE && c) st->res_a[k] = tiles(t, near + 1, c, &s);
  if (f->s.relation == FUSED_COUPLED) st->res_b[k] = tiles(t, near + 1, c, &s);
  if (t->predicts) return s;
  if (c) st->gt[k] = tiles(t, near + 1, c, &s);
  st->gz[k] = tiles(t, n, h, &s);
  st->gz0[k] = tiles(t, n, h, &s);
  if (!carrier && c) st->gmaps[k] = tiles(t, n, 3 * c, &s);
  return s;
}

static dkho_status plan_state(fused_team *t, sample_state *st) {
  const fused *f = t->f;
  int k = f->s.target, outs = f->s.outputs;
  dkho_status s = DKHO_OK;
  for (int d = 0; d < f->s.degrees; d++) TRY(plan_degree(t, st, d));
  TRY(plan_mixing(t, st));
  st->y = tiles(t, f->tiles[k], outs, &s);
  if (f->s.modes || !t->predicts) st->partial = reals(t, (size_t)t->partials * f->unit_max, &s);
  if (!ARENA_NEW(&t->mem, st->waiting, t->partials)) return DKHO_E_MEMORY;
  if (t->predicts) return s;
  st->g_y = tiles(t, f->tiles[k], outs, &s);
  st->flat_y = reals(t, (size_t)f->whole[k] * (size_t)outs, &s);
  st->flat_g = reals(t, (size_t)f->whole[k] * (size_t)outs, &s);
  st->dots = tiles(t, f->chunk_count, 3, &s);
  if (!ARENA_NEW(&t->mem, st->leaf, f->chunk_count * 3) ||
      !ARENA_NEW(&t->mem, st->sums, (size_t)(f->roots * f->s.layers * f->s.substeps) * DEG * 3))
    return DKHO_E_MEMORY;
  return s;
}

static dkho_status plan_scratch(fused_team *t, scratch *w) {
  const fused *f = t->f;
  int n = BLOCK, h = f->s.h, c = f->s.c, small = 3 * c > f->s.outputs ? 3 * c : f->s.outputs;
  dkho_status s = DKHO_OK;
  w->a = tiles(t, n, h, &s);
  w->hat = tiles(t, n, h, &s);
  w->g = tiles(t, n, h, &s);
  if (f->parts) w->base = tiles(t, n, h, &s), w->parts = tiles(t, n, f->parts * h, &s);
  if (f->parts && small < f->parts * h) small = f->parts * h;
  w->small = tiles(t, n, small, &s);
  w->rows = tiles(t, n, kern_pad(h > small ? h : small), &s);
  w->rstd = tiles(t, n, 1, &s);
  w->lanes = tiles(t, 4, h, &s);
  for (int i = 0; i < 2; i++) w->thin[i] = tiles(t, h + 1, LANES / 2, &s);
  w->sums = reals(t, (size_t)kern_pad((h + 1) * LANES / 2) * (LANES + 1), &s);
  return s;
}

static dkho_status plan(fused_team *t) {
  int width = pool_width(t->p), states = t->samples > 1 ? width : 1;
  if (!ARENA_NEW(&t->mem, t->state, states) || !ARENA_NEW(&t->mem, t->work, width)) return DKHO_E_MEMORY;
  size_t gradients = (size_t)t->samples * (size_t)t->f->roots;
  if (!t->predicts && !ARENA_NEW(&t->mem, t->packed, gradients * t->f->grads)) return DKHO_E_MEMORY;
  if (width > 1 && !ARENA_NEW(&t->mem, t->post, width)) return DKHO_E_MEMORY;
  t->partials = t->f->partials;
  if (width > 1 && t->partials < t->f->chunk_count) t->partials = t->f->chunk_count;
  for (int i = 0; i < states; i++) TRY(plan_state(t, &t->state[i]));
  for (int i = 0; i < width; i++) TRY(plan_scratch(t, &t->work[i]));
  return DKHO_OK;
}

static dkho_status create(fused_team **out, const fused *f, pool *p, int samples, int predicts) {
  *out = NULL;
  fused_team *t;
  if (!MEM_NEW(t, 1)) return DKHO_E_MEMORY;
  t->f = f;
  t->p = p;
  t->samples = samples < 1 || f->ranks ? 1 : samples; /* ranks take one sample after the other */
  t->predicts = predicts;
  dkho_status s = plan(t);
  if (s == DKHO_OK)
    *out = t;
  else
    fused_team_free(t);
  return s;
}

dkho_status fused_team_create(fused_team **out, const fused *f, pool *p, int samples) {
  return create(out, f, p, samples, 0);
}

dkho_status fused_team_create_predict(fused_team **out, const fused *f, pool *p, int samples) {
  return create(out, f, p, samples, 1);
}

void fused_team_free(fused_team *t) {
  if (!t) return;
  arena_free(&t->mem);
  mem_free(t);
}
