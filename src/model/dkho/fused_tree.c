/* fused_tree.c: sums over the chunks of a degree along a tree that depends on the mesh alone, so that whoever holds the chunks, and in
 * whatever order they are done, the bits are the same. */
#include "model/dkho/fused_impl.h"

#include <string.h>

int fused_blocks(const fused *f) {
  const chunk_tree *t = &f->tree[f->s.target];
  return t->before[t->leaves];
}

const int32_t *fused_block(const fused *f, int b, int *count) {
  int k = f->s.target;
  const chunk *c = &f->chunks[f->tree[k].first + b];
  int64_t first = (int64_t)c->first * LANES, last = (int64_t)c->last * LANES;
  *count = (int)((last < f->s.n[k] ? last : f->s.n[k]) - first);
  return f->order[k] + first;
}

dkho_status fused_sum(const fused *f, int m, double *value, double *total) {
  if (f->ranks) return share_total(f, f->s.target, m, value, total);
  tree_sum(&f->tree[f->s.target], m, value);
  memcpy(total, value, (size_t)m * sizeof *total);
  return DKHO_OK;
}

/* Whether all leaves of node `at` are held. */
static int node_held(const chunk_tree *t, int level, int at) {
  int64_t first = (int64_t)at << level, end = (int64_t)(at + 1) << level;
  if (end > t->leaves) end = t->leaves;
  return t->before[end] - t->before[first] == end - first;
}

int tree_is_root(const chunk_tree *t, int level, int at) {
  return level == t->levels || !node_held(t, level + 1, at >> 1);
}

/* The roots, numbered by their first leaf. */
static void number_roots(chunk_tree *t) {
  for (int leaf = 0, level; leaf < t->leaves; leaf += 1 << level) {
    level = 0;
    if (t->before[leaf + 1] == t->before[leaf]) continue;
    while (!tree_is_root(t, level, leaf >> level)) level++;
    t->root[t->before[leaf]] = t->roots++;
  }
}

static dkho_status plan_tree(fused *f, int k) {
  chunk_tree *t = &f->tree[k];
  t->leaves = (kern_tiles(f->whole[k]) + CHUNK - 1) / CHUNK;
  while (1 << t->levels < t->leaves) t->levels++;
  if (!ARENA_NEW(&f->mem, t->before, t->leaves + 1) || !ARENA_NEW(&f->mem, t->root, t->leaves)) return DKHO_E_MEMORY;
  for (int i = f->chunk_count - 1; i >= 0; i--)
    if (f->chunks[i].k == k) t->before[f->chunks[i].leaf + 1] = 1, t->first = i;
  for (int i = 0; i < t->leaves; i++) t->before[i + 1] += t->before[i], t->root[i] = -1;
  number_roots(t);
  if (t->roots > f->roots) f->roots = t->roots;
  return DKHO_OK;
}

dkho_status plan_trees(fused *f) {
  f->roots = 1; /* a rank without chunks may still be the one that gets the sum */
  for (int k = 0; k < f->s.degrees; k++) TRY(plan_tree(f, k));
  return DKHO_OK;
}

/* The node beside x among those that wait, out of the pile; NULL: it does not. */
static int take_sibling(tree_pile *pile, const tree_node *x, tree_node *out) {
  for (int i = 0; i < pile->count; i++) {
    const tree_node *o = &pile->node[i];
    if (o->k != x->k || o->level != x->level || o->at != (x->at ^ 1)) continue;
    *out = *o;
    pile->node[i] = pile->node[--pile->count];
    return 1;
  }
  return 0;
}

int tree_climb(const fused *f, tree_pile *pile, tree_node *x, void (*add)(void *ctx, int into, int from), void *ctx) {
  const chunk_tree *t = &f->tree[x->k];
  tree_node other;
  for (; !tree_is_root(t, x->level, x->at); x->level++, x->at >>= 1) {
    if (!tree_has(t, x->level, x->at ^ 1)) continue;
    if (!take_sibling(pile, x, &other)) {
      pile->node[pile->count++] = *x;
      return 0;
    }
    if (add) add(ctx, other.slot, x->slot);
    x->slot = other.slot;
  }
  return 1;
}

/* The most nodes that wait in a pass in this direction that takes these ranges one after the other. */
static int most_waiting(const fused *f, tree_node *room, int turned, int ranges, const chunk_range *range) {
  tree_pile pile = {room, 0};
  int most = 0;
  for (int r = 0; r < ranges; r++)
    for (int at = 0; at < f->chunk_count; at++) {
      int i = fused_chunk_at(f, range[r], turned, at);
      if (i < 0) continue;
      tree_climb(f, &pile, &(tree_node){.k = f->chunks[i].k, .at = f->chunks[i].leaf}, NULL, NULL);
      if (pile.count > most) most = pile.count;
    }
  return most;
}

dkho_status plan_partials(fused *f) {
  static const chunk_range all[] = {ALL_CHUNKS}, apart[] = {INNER_CHUNKS, RIM_CHUNKS};
  tree_node *room;
  if (!MEM_NEW(room, f->chunk_count + 1)) return DKHO_E_MEMORY;
  for (int turned = 0; turned < 2; turned++) {
    int one = most_waiting(f, room, turned, 1, all), two = f->parts ? most_waiting(f, room, turned, 2, apart) : 0;
    if (one >= f->partials) f->partials = one + 1;
    if (two >= f->partials) f->partials = two + 1;
  }
  mem_free(room);
  if (f->partials < 1) f->partials = 1;
  return DKHO_OK;
}

void tree_sum(const chunk_tree *t, int m, double *value) {
  for (int level = 0; level < t->levels; level++)
    for (int at = 0; tree_has(t, level, at + 1); at += 2) {
      if (!node_held(t, level + 1, at >> 1)) continue;
      double *one = value + (int64_t)t->before[at << level] * m;
      const double *two = value + (int64_t)t->before[(at + 1) << level] * m;
      for (int i = 0; i < m; i++) one[i] += two[i];
    }
}
