/* fused_share.c: one mesh over several ranks. Each holds whole chunks and, behind its rows, those of other ranks that are faces or
 * cofaces of its own. What crosses between ranks: c numbers a row, of phases and of residuals, once each per substep and direction;
 * few numbers per chunk for sums over the mesh; and one gradient per node of the trees where ranks meet. */
#include "model/dkho/fused_impl.h"

#include <assert.h>
#include <string.h>

enum { TAG_GRADIENT = 101, SHARE_UNITS = FUSED_LAYERS + 2 };

/* The tree of one degree, as all ranks know it. A root (chunk_tree) is known by its first leaf. */
typedef struct share_tree {
  const int32_t *owner; /* by leaf */
  int *run;             /* by leaf: where the run of leaves with one owner ends that it belongs to */
  int *root;            /* by leaf: number of the root that begins with it, roots by rank; -1: none */
  int *first;           /* ranks + 1: number of each rank's first root */
} share_tree;

struct shared_mesh {
  comm *ranks;
  partition *p;
  mesh_part *own;
  exchange *ghosts;
  share_tree tree[DEG];
  size_t *offset;         /* ranks + 1: of bytes in a gathered array */
  int32_t *rows;          /* the caller's rows of the target degree by rank, in order */
  unsigned char *message; /* a degree's gradient */
  double *sums;           /* room for all roots' sums, */
  size_t sums_room;       /* so many of them */
  real *output;           /* the output by rank, for fused_gather */
  arena mem;
};

/* ---- rows ---- */

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

dkho_status share_create(fused *f, const mesh_share *how, int32_t *order[DEG], fused_mesh *m, arena *a) {
  incidence in = incidence_in(f, m);
  if (!MEM_NEW(f->ranks, 1)) return DKHO_E_MEMORY;
  shared_mesh *s = f->ranks;
  s->ranks = how->ranks;
  TRY(divide_mesh(s, &in, how));
  TRY(list_rows(s, f, order[f->s.target]));
  for (int k = 0; k < f->s.degrees; k++) TRY(take_degree(f, k, order[k], m, a));
  return exchange_create(&s->ghosts, s->own, s->ranks, f->s.c);
}

void share_free(shared_mesh *s) {
  if (!s) return;
  exchange_free(s->ghosts);
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

/* ---- trees ---- */

/* Whether one rank holds all leaves of a node. */
static int has_one_owner(const share_tree *t, int leaves, int level, int at) {
  int64_t first = (int64_t)at << level, end = (int64_t)(at + 1) << level;
  return t->run[first] >= (end < leaves ? end : leaves);
}

/* Level of the root that begins with this leaf. */
static int root_level(const share_tree *t, const chunk_tree *c, int leaf) {
  int level = 0;
  while (level < c->levels && has_one_owner(t, c->leaves, level + 1, leaf >> (level + 1))) level++;
  return level;
}

static void number_all_roots(share_tree *t, const chunk_tree *c, int ranks) {
  for (int leaf = c->leaves - 1; leaf >= 0; leaf--) {
    int same = leaf + 1 < c->leaves && t->owner[leaf + 1] == t->owner[leaf];
    t->run[leaf] = same ? t->run[leaf + 1] : leaf + 1;
    t->root[leaf] = -1;
  }
  for (int q = 0; q < ranks; q++) {
    t->first[q + 1] = t->first[q];
    for (int leaf = 0; leaf < c->leaves; leaf += 1 << root_level(t, c, leaf))
      if (t->owner[leaf] == q) t->root[leaf] = t->first[q + 1]++;
  }
}

/* The gradients of degree k: where they are in a packed one. */
static int units_of(const fused *f, int k, const grad_unit *list[SHARE_UNITS]) {
  int count = 0;
  if (fused_lives(f, 0, k)) list[count++] = &f->enc_unit[k];
  for (int l = 0; l < f->s.layers; l++)
    if (fused_lives(f, l + 1, k)) list[count++] = &f->unit[l][k];
  if (k == f->s.target) list[count++] = &f->dec_unit;
  return count;
}

static int substeps_of(const fused *f) {
  return f->s.relation == FUSED_CARRIER ? 0 : f->s.layers * f->s.substeps;
}

/* A message: the sums of all substeps, then the units. */
static size_t message_bytes(const fused *f, int k) {
  const grad_unit *unit[SHARE_UNITS];
  size_t bytes = (size_t)substeps_of(f) * 3 * sizeof(double);
  for (int i = units_of(f, k, unit) - 1; i >= 0; i--) bytes += unit[i]->size * sizeof(real);
  return bytes;
}

dkho_status share_plan(fused *f) {
  shared_mesh *s = f->ranks;
  size_t longest = 0;
  if (!s) return DKHO_OK;
  find_rims(f);
  for (int k = 0; k < f->s.degrees; k++) {
    share_tree *t = &s->tree[k];
    int leaves = f->tree[k].leaves;
    t->owner = s->p->owner[k];
    if (!ARENA_NEW(&s->mem, t->run, leaves + 1) || !ARENA_NEW(&s->mem, t->root, leaves + 1) ||
        !ARENA_NEW(&s->mem, t->first, s->ranks->size + 1))
      return DKHO_E_MEMORY;
    number_all_roots(t, &f->tree[k], s->ranks->size);
    assert(t->first[s->ranks->rank + 1] - t->first[s->ranks->rank] == f->tree[k].roots);
    size_t bytes = message_bytes(f, k);
    longest = bytes > longest ? bytes : longest;
  }
  return ARENA_NEW(&s->mem, s->message, longest) && ARENA_NEW(&s->mem, s->offset, s->ranks->size + 1) ? DKHO_OK
                                                                                                      : DKHO_E_MEMORY;
}

/* Grows with the first sum of its width, and never again. */
static dkho_status room_for_sums(shared_mesh *s, size_t count) {
  if (count <= s->sums_room) return DKHO_OK;
  mem_free(s->sums);
  s->sums_room = 0;
  if (!MEM_NEW(s->sums, count)) return DKHO_E_MEMORY;
  s->sums_room = count;
  return DKHO_OK;
}

/* Everybody gets the sums of all roots and goes up the rest of the tree by itself. */
dkho_status share_total(const fused *f, int k, int m, double *value, double *total) {
  shared_mesh *s = f->ranks;
  const share_tree *t = &s->tree[k];
  const chunk_tree *c = &f->tree[k];
  int ranks = s->ranks->size;
  TRY(room_for_sums(s, (size_t)(t->first[ranks] * m)));
  tree_sum(c, m, value);
  for (int i = 0; i < c->before[c->leaves]; i++)
    if (c->root[i] >= 0)
      memcpy(s->sums + (t->first[s->ranks->rank] + c->root[i]) * m, value + (int64_t)i * m, (size_t)m * sizeof *value);
  for (int q = 0; q <= ranks; q++) s->offset[q] = (size_t)(t->first[q] * m) * sizeof *value;
  TRY(comm_gather(s->ranks, s->offset, s->sums));
  for (int level = 0; level < c->levels; level++)
    for (int at = 0; tree_has(c, level, at + 1); at += 2) {
      if (has_one_owner(t, c->leaves, level + 1, at >> 1)) continue;
      double *one = s->sums + t->root[at << level] * m;
      const double *two = s->sums + t->root[(at + 1) << level] * m;
      for (int i = 0; i < m; i++) one[i] += two[i];
    }
  memcpy(total, s->sums + t->root[0] * m, (size_t)m * sizeof *total);
  return DKHO_OK;
}

/* ---- a sample's gradient ---- */

/* The gradients of degree k of a root into the message. */
static void write_message(const pass *p, int k, int root) {
  const fused *f = p->f;
  const grad_unit *unit[SHARE_UNITS];
  unsigned char *to = f->ranks->message;
  int units = units_of(f, k, unit);
  for (int step = 0; step < substeps_of(f); step++, to += 3 * sizeof(double))
    memcpy(to, sums_at(f, p->s, root, step, k), 3 * sizeof(double));
  for (int i = 0; i < units; to += unit[i]->size * sizeof(real), i++)
    memcpy(to, p->s->packed + (size_t)root * f->grads + unit[i]->base, unit[i]->size * sizeof(real));
}

/* The message to, or added to, those of a root. */
static void read_message(const pass *p, int k, int root, int add) {
  const fused *f = p->f;
  const grad_unit *unit[SHARE_UNITS];
  const unsigned char *from = f->ranks->message;
  int units = units_of(f, k, unit);
  for (int step = 0; step < substeps_of(f); step++, from += 3 * sizeof(double)) {
    double sum[3], *to = sums_at(f, p->s, root, step, k);
    memcpy(sum, from, sizeof sum);
    for (int i = 0; i < 3; i++) to[i] = (add ? to[i] : 0) + sum[i];
  }
  for (int i = 0; i < units; from += unit[i]->size * sizeof(real), i++) {
    real *to = p->s->packed + (size_t)root * f->grads + unit[i]->base;
    if (add)
      f->k->axpy(unit[i]->size, 1, (const real *)(const void *)from, to);
    else
      memcpy(to, from, unit[i]->size * sizeof(real));
  }
}

/* Root b of rank `from` to, or added to, root a of rank `to`. */
static dkho_status move_gradient(const pass *p, int k, int from, int b, int to, int a, int add) {
  shared_mesh *s = p->f->ranks;
  int me = s->ranks->rank;
  if (me == from) write_message(p, k, b);
  if (me == from && from != to) return comm_send(s->ranks, to, TAG_GRADIENT, s->message, message_bytes(p->f, k));
  if (me != to) return DKHO_OK;
  if (from != to) TRY(comm_receive(s->ranks, from, TAG_GRADIENT, s->message, message_bytes(p->f, k)));
  read_message(p, k, a, add);
  return DKHO_OK;
}

/* A node's gradient is with the owner of its first leaf. All go through the nodes in one order, so nobody waits in a circle. */
static dkho_status add_degree(const pass *p, int k) {
  const share_tree *t = &p->f->ranks->tree[k];
  const chunk_tree *c = &p->f->tree[k];
  for (int level = 0; level < c->levels; level++)
    for (int at = 0; tree_has(c, level, at + 1); at += 2) {
      if (has_one_owner(t, c->leaves, level + 1, at >> 1)) continue;
      int one = at << level, two = (at + 1) << level, to = t->owner[one], from = t->owner[two];
      TRY(move_gradient(p, k, from, t->root[two] - t->first[from], to, t->root[one] - t->first[to], 1));
    }
  return t->owner[0] ? move_gradient(p, k, t->owner[0], 0, 0, 0, 0) : DKHO_OK;
}

void share_gradient(const pass *p) {
  if (!p->f->ranks) return;
  for (int k = 0; k < p->f->s.degrees && p->s->status == DKHO_OK; k++) p->s->status = add_degree(p, k);
  if (p->f->ranks->ranks->rank == 0) return;
  memset(p->s->packed, 0, p->f->grads * sizeof *p->s->packed);
  memset(p->s->sums, 0, (size_t)substeps_of(p->f) * DEG * 3 * sizeof *p->s->sums);
}

/* ---- rows of neighbours ---- */

void share_begin(const pass *p, int count, const exchange_field *field) {
  if (p->f->ranks && p->s->status == DKHO_OK) p->s->status = exchange_begin(p->f->ranks->ghosts, count, field);
}

void share_finish(const pass *p) {
  if (p->f->ranks && p->s->status == DKHO_OK) p->s->status = exchange_finish(p->f->ranks->ghosts);
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
