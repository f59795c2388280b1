/* fused_tree.c: sums over the chunks of a degree along a tree that depends on the mesh alone, so that whoever holds the chunks, and in
 * whatever order they are done, the bits are the same. */
#include "model/dkho/fused_impl.h"

#include <assert.h>
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
  assert(t->levels < TREE_LEVELS);
  if (!ARENA_NEW(&f->mem, t->before, t->leaves + 1) || !ARENA_NEW(&f->mem, t->root, t->leaves)) return DKHO_E_MEMORY;
  for (int i = f->chunk_count - 1; i >= 0; i--)
    if (f->chunks[i].k == k) t->before[f->chunks[i].leaf + 1] = 1, t->first = i;
  for (int i = 0; i < t->leaves; i++) t->before[i + 1] += t->before[i], t->root[i] = -1;
  number_roots(t);
  if (t->levels > f->levels) f->levels = t->levels;
  if (t->roots > f->roots) f->roots = t->roots;
  return DKHO_OK;
}

dkho_status plan_trees(fused *f) {
  f->roots = 1; /* a rank without chunks may still be the one that gets the sum */
  for (int k = 0; k < f->s.degrees; k++) TRY(plan_tree(f, k));
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
