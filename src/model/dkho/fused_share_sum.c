/* fused_share_sum.c: sums over a mesh that ranks share, along the trees of its chunks: few numbers, low modes' coefficients, gradients. */
#include "model/dkho/fused_share_impl.h"

#include <assert.h>
#include <string.h>

enum { TAG_GRADIENT = 101, SHARE_UNITS = FUSED_LAYERS + 2 };

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

dkho_status share_plan_sums(fused *f) {
  shared_mesh *s = f->ranks;
  size_t longest = 0;
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

/* ---- sums over the mesh ---- */

/* A sum over each of the degrees in `mask`: `bytes` a root, `count` numbers of them. */
typedef struct root_sums {
  const fused *f;
  unsigned mask;
  size_t bytes, count;
  void (*add)(const struct root_sums *r, void *into, const void *from);
} root_sums;

static void add_doubles(const root_sums *r, void *into, const void *from) {
  double *x = into;
  const double *y = from;
  for (size_t i = 0; i < r->count; i++) x[i] += y[i];
}
static void add_reals(const root_sums *r, void *into, const void *from) {
  r->f->k->axpy(r->count, 1, from, into);
}

/* Roots of all ranks before rank q, and of it before degree k, in the degrees of the sum. */
static size_t roots_before(const root_sums *r, int q, int k) {
  const shared_mesh *s = r->f->ranks;
  size_t count = 0;
  for (int j = 0; j < r->f->s.degrees; j++)
    if (r->mask >> j & 1U) count += (size_t)s->tree[j].first[j < k ? q + 1 : q];
  return count;
}

/* The place of root i of rank q of degree k: roots lie by rank, degree and number. */
static unsigned char *root_place(const root_sums *r, int k, int q, int i) {
  return r->f->ranks->sums + (roots_before(r, q, k) + (size_t)i) * r->bytes;
}
/* Of the root that begins with this leaf. */
static unsigned char *leaf_place(const root_sums *r, int k, int leaf) {
  const share_tree *t = &r->f->ranks->tree[k];
  int q = t->owner[leaf];
  return root_place(r, k, q, t->root[leaf] - t->first[q]);
}

/* Grows with the first sum of its width, and never again. */
static dkho_status room_for_sums(const root_sums *r) {
  shared_mesh *s = r->f->ranks;
  size_t bytes = roots_before(r, s->ranks->size, 0) * r->bytes;
  if (bytes <= s->sums_room) return DKHO_OK;
  mem_free(s->sums);
  s->sums_room = 0;
  if (!MEM_NEW(s->sums, bytes)) return DKHO_E_MEMORY;
  s->sums_room = bytes;
  return DKHO_OK;
}

/* Own roots are in their places: everybody gets those of all and goes up the rest of the trees by itself. */
static dkho_status sum_roots(const root_sums *r) {
  const fused *f = r->f;
  shared_mesh *s = f->ranks;
  for (int q = 0; q <= s->ranks->size; q++) s->offset[q] = roots_before(r, q, 0) * r->bytes;
  TRY(comm_gather(s->ranks, s->offset, s->sums));
  for (int k = 0; k < f->s.degrees; k++) {
    const chunk_tree *c = &f->tree[k];
    for (int level = 0; (r->mask >> k & 1U) && level < c->levels; level++)
      for (int at = 0; tree_has(c, level, at + 1); at += 2)
        if (!has_one_owner(&s->tree[k], c->leaves, level + 1, at >> 1))
          r->add(r, leaf_place(r, k, at << level), leaf_place(r, k, (at + 1) << level));
  }
  return DKHO_OK;
}

dkho_status share_total(const fused *f, int k, int m, double *value, double *total) {
  const chunk_tree *c = &f->tree[k];
  root_sums r = {f, 1U << k, (size_t)m * sizeof *value, (size_t)m, add_doubles};
  TRY(room_for_sums(&r));
  tree_sum(c, m, value);
  for (int i = 0; i < c->before[c->leaves]; i++)
    if (c->root[i] >= 0) memcpy(root_place(&r, k, f->ranks->ranks->rank, c->root[i]), value + (int64_t)i * m, r.bytes);
  TRY(sum_roots(&r));
  memcpy(total, leaf_place(&r, k, 0), r.bytes);
  return DKHO_OK;
}

static dkho_status total_of_low(const fused *f, unsigned mask, const real *const *from, size_t stride, real *to) {
  size_t each = (size_t)f->s.modes * (size_t)kern_pad(f->s.h);
  root_sums r = {f, mask, each * sizeof *to, each, add_reals};
  TRY(room_for_sums(&r));
  for (int k = 0; k < f->s.degrees; k++)
    for (int i = 0; (mask >> k & 1U) && i < f->tree[k].roots; i++)
      memcpy(root_place(&r, k, f->ranks->ranks->rank, i), from[k] + (size_t)i * stride, r.bytes);
  TRY(sum_roots(&r));
  for (int k = 0; k < f->s.degrees; k++)
    if (mask >> k & 1U) memcpy(to + (size_t)k * each, leaf_place(&r, k, 0), r.bytes);
  return DKHO_OK;
}

void share_low(const pass *p, unsigned mask, const real *const *from, size_t stride, real *to) {
  if (p->s->status == DKHO_OK) p->s->status = total_of_low(p->f, mask, from, stride, to);
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
