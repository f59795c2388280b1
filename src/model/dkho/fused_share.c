/* fused_share.c: one mesh over several ranks. Each holds whole chunks and, behind its rows, those of other ranks that are faces or
 * cofaces of its own. What crosses between ranks: c numbers a row, of phases and of residuals, once each per substep and direction; over
 * links h numbers a row, once per layer and direction, and as many for each mode; few numbers per chunk for sums over the mesh; and one
 * gradient per node of the trees where ranks meet. Sums and gradients are in fused_share_sum.c. */
#include "model/dkho/fused_share_impl.h"

#include <string.h>

static incidence incidence_in(const fused *f, const fused_mesh *m) {
  incidence i = {.degrees = f->s.degrees};
  for (int k = 0; k < f->s.degrees; k++) {
    i.n[k] = f->s.n[k];
    i.face[k] = m->face[k], i.sign[k] = m->sign[k];
    i.coptr[k] = m->coptr[k], i.coface[k] = m->coface[k], i.cosign[k] = m->cosign[k];
  }
  return i;
}

/* The first rank divides: what METIS finds need not be the same on every machine. */
static dkho_status divide_mesh(shared_mesh *s, const incidence *m, const mesh_share *how) {
  TRY(comm_agree(s->ranks, partition_create(&s->p, m, CHUNK * LANES, s->ranks->size)));
  TRY(comm_agree(s->ranks, s->ranks->rank ? DKHO_OK : partition_divide(s->p, m, how->method, how->seed)));
  TRY(comm_broadcast(s->ranks, 0, s->p->owner[0], (size_t)s->p->total * sizeof **s->p->owner));
  return comm_agree(s->ranks, part_create(&s->own, s->p, m, s->ranks->rank, LANES));
}

/* Stars of own rows and of neighbours. */
static dkho_status take_stars(const fused *f, const part_degree *d, int k, const double *star, const double **out,
                              arena *a) {
  double *x;
  if (!star) return DKHO_OK;
  if (!ARENA_NEW(a, x, f->cols[k])) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < d->own; i++) x[i] = star[part_simplex(f->ranks->own, k, i)];
  for (int64_t g = 0; g < d->ghosts; g++) x[d->ghost_at + g] = star[d->ghost[g]];
  *out = x;
  return DKHO_OK;
}

static dkho_status take_degree(fused *f, int k, const int32_t *order, fused_mesh *m, arena *a) {
  const part_degree *d = &f->ranks->own->at[k];
  f->s.n[k] = d->own;
  f->cols[k] = d->ghost_at + d->ghosts;
  if (!ARENA_NEW(&f->mem, f->order[k], d->own)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < d->own; i++) f->order[k][i] = order[part_simplex(f->ranks->own, k, i)];
  m->face[k] = d->face, m->sign[k] = d->sign;
  m->coptr[k] = d->coptr, m->coface[k] = d->coface, m->cosign[k] = d->cosign;
  return take_stars(f, d, k, m->star[k], &m->star[k], a);
}

/* The rows of the output, rank by rank: what fused_gather puts where. */
static dkho_status list_rows(shared_mesh *s, const fused *f, const int32_t *order) {
  int k = f->s.target;
  int64_t at = 0;
  if (!ARENA_NEW(&s->mem, s->rows, f->whole[k])) return DKHO_E_MEMORY;
  for (int q = 0; q < s->ranks->size; q++)
    for (int b = 0; b < s->p->blocks[k]; b++)
      for (int64_t i = (int64_t)b * s->p->block; i < (int64_t)(b + 1) * s->p->block && i < f->whole[k]; i++)
        if (s->p->owner[k][b] == q) s->rows[at++] = order[i];
  return DKHO_OK;
}

/* Of content every part of a link is a field. */
static dkho_status create_exchanges(const fused *f) {
  shared_mesh *s = f->ranks;
  int c = f->s.c, h = f->s.h, parts = f->s.exchange == (FUSED_SIGNED | FUSED_UNSIGNED) ? 2 : 1;
  exchange_shape relation = {.width = c, .stride = c, .fields = 1, .tag = SHARE_RELATION},
                 content = {.width = h, .stride = kern_pad(h), .fields = parts, .tag = SHARE_CONTENT};
  if (c) TRY(exchange_create(&s->ghosts[SHARE_RELATION], s->own, s->ranks, &relation));
  return f->s.exchange ? exchange_create(&s->ghosts[SHARE_CONTENT], s->own, s->ranks, &content) : DKHO_OK;
}

dkho_status share_create(fused *f, const mesh_share *how, int32_t *order[DEG], fused_mesh *m, arena *a) {
  incidence in = incidence_in(f, m);
  if (!MEM_NEW(f->ranks, 1)) return DKHO_E_MEMORY;
  shared_mesh *s = f->ranks;
  s->ranks = how->ranks;
  TRY(divide_mesh(s, &in, how));
  TRY(list_rows(s, f, order[f->s.target]));
  for (int k = 0; k < f->s.degrees; k++) TRY(take_degree(f, k, order[k], m, a));
  return create_exchanges(f);
}

int64_t share_simplex(const fused *f, int k, int64_t i) {
  return part_simplex(f->ranks->own, k, i);
}

void share_places(const fused *f, int k, int32_t *place) {
  const part_degree *d = &f->ranks->own->at[k];
  for (int64_t i = 0; i < d->own; i++) place[share_simplex(f, k, i)] = (int32_t)i;
  for (int64_t g = 0; g < d->ghosts; g++) place[d->ghost[g]] = (int32_t)(d->ghost_at + g);
}

void share_free(shared_mesh *s) {
  if (!s) return;
  for (int kind = 0; kind < SHARE_KINDS; kind++) exchange_free(s->ghosts[kind]);
  part_free(s->own);
  partition_free(s->p);
  mem_free(s->sums);
  mem_free(s->output);
  arena_free(&s->mem);
  mem_free(s);
}

const int32_t *share_leaves(const fused *f, int k) {
  return f->ranks ? f->ranks->own->at[k].block : NULL;
}

/* Whether some neighbour of rows first … last-1 is a ghost. */
static int meets_ghosts(const fused *f, int k, int64_t first, int64_t last) {
  const part_degree *d = &f->ranks->own->at[k];
  for (int64_t e = first * (k + 1); k > 0 && e < last * (k + 1); e++)
    if (d->face[e] >= d[-1].ghost_at) return 1;
  for (int64_t e = k + 1 < f->s.degrees ? d->coptr[first] : 0; k + 1 < f->s.degrees && e < d->coptr[last]; e++)
    if (d->coface[e] >= d[1].ghost_at) return 1;
  return 0;
}

static void find_rims(fused *f) {
  for (int i = 0; i < f->chunk_count; i++) {
    chunk *c = &f->chunks[i];
    int64_t first = (int64_t)c->first * LANES, last = (int64_t)c->last * LANES;
    c->rim = meets_ghosts(f, c->k, first, last < f->s.n[c->k] ? last : f->s.n[c->k]);
  }
}

dkho_status share_plan(fused *f) {
  if (!f->ranks) return DKHO_OK;
  find_rims(f);
  return share_plan_sums(f);
}

/* ---- rows of neighbours ---- */

void share_begin(const pass *p, share_kind kind, int count, const exchange_field *field) {
  if (p->f->ranks && p->s->status == DKHO_OK) p->s->status = exchange_begin(p->f->ranks->ghosts[kind], count, field);
}

void share_finish(const pass *p, share_kind kind) {
  if (p->f->ranks && p->s->status == DKHO_OK) p->s->status = exchange_finish(p->f->ranks->ghosts[kind]);
}

/* ---- for the caller ---- */

comm *fused_ranks(const fused *f) {
  return f->ranks ? f->ranks->ranks : NULL;
}

dkho_status fused_gather(const fused *f, real *y) {
  shared_mesh *s = f->ranks;
  int k = f->s.target;
  size_t outs = (size_t)f->s.outputs, row = outs * sizeof *y;
  if (!s) return DKHO_OK;
  if (!s->output && !MEM_NEW(s->output, (size_t)f->whole[k] * outs)) return DKHO_E_MEMORY;
  memset(s->offset, 0, (size_t)(s->ranks->size + 1) * sizeof *s->offset);
  for (int b = 0; b < s->p->blocks[k]; b++) {
    int64_t left = f->whole[k] - (int64_t)b * s->p->block;
    s->offset[s->p->owner[k][b] + 1] += (size_t)(left < s->p->block ? left : s->p->block) * row;
  }
  for (int q = 0; q < s->ranks->size; q++) s->offset[q + 1] += s->offset[q];
  size_t first = s->offset[s->ranks->rank] / row;
  for (int64_t i = 0; i < f->s.n[k]; i++)
    memcpy(s->output + (first + (size_t)i) * outs, y + (size_t)f->order[k][i] * outs, row);
  TRY(comm_gather(s->ranks, s->offset, s->output));
  for (int64_t i = 0; i < f->whole[k]; i++) memcpy(y + (size_t)s->rows[i] * outs, s->output + (size_t)i * outs, row);
  return DKHO_OK;
}
