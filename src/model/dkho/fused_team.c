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
    st->z[l][k] = t->predicts && l > 1 ? st->z[1][k] : tiles(t, n, h + 2 * c, &s);
    st->rstd[l][k] = t->predicts && l > 0 ? st->rstd[0][k] : tiles(t, n, 1, &s);
    if (l == f->s.layers && !carrier) continue;
    st->maps[l][k] = t->predicts && l > 0 ? st->maps[0][k] : tiles(t, n, 3 * c, &s);
  }
  if (!ARENA_NEW(&t->mem, st->theta[k], steps + 1)) return DKHO_E_MEMORY;
  for (int i = 0; i <= steps; i++)
    st->theta[k][i] = t->predicts && i > 2 ? st->theta[k][i - 2] : tiles(t, near + 1, c, &s);
  if (f->s.relation != FUSED_ALONE) st->res_a[k] = tiles(t, near + 1, c, &s);
  if (f->s.relation == FUSED_COUPLED) st->res_b[k] = tiles(t, near + 1, c, &s);
  if (t->predicts) return s;
  st->gt[k] = tiles(t, near + 1, c, &s);
  st->gz[k] = tiles(t, n, h, &s);
  st->gz0[k] = tiles(t, n, h, &s);
  if (!carrier) st->gmaps[k] = tiles(t, n, 3 * c, &s);
  return s;
}

static dkho_status plan_state(fused_team *t, sample_state *st) {
  const fused *f = t->f;
  int k = f->s.target, outs = f->s.outputs;
  dkho_status s = DKHO_OK;
  for (int d = 0; d < f->s.degrees; d++) TRY(plan_degree(t, st, d));
  st->y = tiles(t, f->tiles[k], outs, &s);
  if (t->predicts) return s;
  st->g_y = tiles(t, f->tiles[k], outs, &s);
  st->flat_y = reals(t, (size_t)f->whole[k] * (size_t)outs, &s);
  st->flat_g = reals(t, (size_t)f->whole[k] * (size_t)outs, &s);
  st->dots = tiles(t, f->chunk_count, 3, &s);
  st->partial = reals(t, (size_t)t->partials * f->unit_max, &s);
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
  t->partials = t->f->levels + 1;
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
