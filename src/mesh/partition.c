/* partition.c: see partition.h. METIS sees the graph of blocks, with the number of incidences between two of them as the weight of
 * an edge; it is the only thing here that could depend on a library's version, so ranks get the owners from one of them. */
#include "mesh/partition.h"

#include "base/rng.h"

#include <metis.h>
#include <string.h>

incidence incidence_of(const cx *c) {
  incidence m = {.degrees = c->dim + 1};
  for (int k = 0; k <= c->dim; k++) {
    m.n[k] = c->n[k];
    m.face[k] = c->face[k], m.sign[k] = c->sign[k];
    m.coptr[k] = c->coptr[k], m.coface[k] = c->coface[k], m.cosign[k] = c->cosign[k];
  }
  return m;
}

dkho_status partition_create(partition **out, const incidence *m, int block, int parts) {
  partition *p;
  *out = NULL;
  if (!MEM_NEW(p, 1)) return DKHO_E_MEMORY;
  p->parts = parts, p->degrees = m->degrees, p->block = block;
  for (int k = 0; k < m->degrees; k++) {
    p->n[k] = m->n[k];
    p->blocks[k] = (int)((m->n[k] + block - 1) / block);
    p->total += p->blocks[k];
  }
  if (!ARENA_NEW(&p->mem, p->owner[0], p->total + 1)) {
    partition_free(p);
    return DKHO_E_MEMORY;
  }
  for (int k = 1; k < m->degrees; k++) p->owner[k] = p->owner[k - 1] + p->blocks[k - 1];
  *out = p;
  return DKHO_OK;
}

void partition_free(partition *p) {
  if (!p) return;
  arena_free(&p->mem);
  mem_free(p);
}

int64_t partition_cut(const partition *p, const incidence *m) {
  int64_t cut = 0;
  for (int k = 1; k < p->degrees; k++)
    for (int64_t i = 0; i < p->n[k]; i++)
      for (int j = 0; j <= k; j++)
        cut += partition_owner(p, k, i) != partition_owner(p, k - 1, m->face[k][i * (k + 1) + j]);
  return cut;
}

/* The graph of blocks by compressed rows, as METIS wants it. */
typedef struct block_graph {
  idx_t *ptr, *to, *weight, *size;
  idx_t *count; /* scratch: incidences of the block at hand with every other */
} block_graph;

/* One list of neighbouring simplices counted by block; a block met for the first time is put on the list `to`, unless NULL. */
static int64_t count_near(const partition *p, int k, int64_t entries, const int32_t *near, idx_t *count, idx_t *to) {
  int64_t found = 0, base = p->owner[k] - p->owner[0];
  for (int64_t e = 0; e < entries; e++) {
    int64_t b = base + near[e] / p->block;
    if (count[b]++) continue;
    if (to) to[found] = (idx_t)b;
    found++;
  }
  return found;
}

/* The neighbours of block b of degree k, of degrees below and above. */
static int64_t block_neighbours(const partition *p, const incidence *m, int k, int64_t b, idx_t *count, idx_t *to) {
  int64_t first = b * p->block, last = first + p->block < p->n[k] ? first + p->block : p->n[k], found = 0;
  if (k > 0) found = count_near(p, k - 1, (last - first) * (k + 1), m->face[k] + first * (k + 1), count, to);
  if (k + 1 < p->degrees)
    found += count_near(p, k + 1, m->coptr[k][last] - m->coptr[k][first], m->coface[k] + m->coptr[k][first], count,
                        to ? to + found : NULL);
  return found;
}

/* Rows of the graph one after the other; with to NULL their lengths alone. */
static void walk_blocks(const partition *p, const incidence *m, block_graph *g) {
  idx_t at = 0;
  for (int k = 0, row = 0; k < p->degrees; k++)
    for (int64_t b = 0; b < p->blocks[k]; b++, row++) {
      int64_t left = p->n[k] - b * p->block;
      memset(g->count, 0, (size_t)p->total * sizeof *g->count);
      idx_t found = (idx_t)block_neighbours(p, m, k, b, g->count, g->to ? g->to + at : NULL);
      for (idx_t e = at; g->to && e < at + found; e++) g->weight[e] = g->count[g->to[e]];
      g->size[row] = (idx_t)(left < p->block ? left : p->block);
      g->ptr[row] = at;
      at += found;
    }
  g->ptr[p->total] = at;
}

static dkho_status make_graph(const partition *p, const incidence *m, block_graph *g, arena *mem) {
  if (!ARENA_NEW(mem, g->ptr, p->total + 1) || !ARENA_NEW(mem, g->size, p->total) ||
      !ARENA_NEW(mem, g->count, p->total))
    return DKHO_E_MEMORY;
  walk_blocks(p, m, g);
  idx_t edges = g->ptr[p->total];
  if (!ARENA_NEW(mem, g->weight, edges + 1) || !ARENA_NEW(mem, g->to, edges + 1)) return DKHO_E_MEMORY;
  walk_blocks(p, m, g);
  return DKHO_OK;
}

/* Recursive bisection balances best, and is affordable for few parts. */
static dkho_status divide_graph(partition *p, block_graph *g, idx_t *owner, uint64_t seed) {
  idx_t nodes = p->total, one = 1, parts = p->parts, cut, options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = (idx_t)(seed & 0x7fffffff);
  int found = (p->parts <= 16 ? METIS_PartGraphRecursive : METIS_PartGraphKway)(
      &nodes, &one, g->ptr, g->to, g->size, NULL, g->weight, &parts, NULL, NULL, options, &cut, owner);
  if (found == METIS_ERROR_MEMORY) return fail(DKHO_E_MEMORY, "no memory to divide a mesh into %d parts", p->parts);
  if (found != METIS_OK) return fail(DKHO_E_INPUT, "METIS could not divide a mesh into %d parts", p->parts);
  for (int i = 0; i < p->total; i++) p->owner[0][i] = (int32_t)owner[i];
  return DKHO_OK;
}

static dkho_status divide_by_metis(partition *p, const incidence *m, uint64_t seed) {
  arena mem = {0};
  block_graph g = {0};
  idx_t *owner;
  dkho_status s = make_graph(p, m, &g, &mem);
  if (s == DKHO_OK && !ARENA_NEW(&mem, owner, p->total)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) s = divide_graph(p, &g, owner, seed);
  arena_free(&mem);
  return s;
}

dkho_status partition_divide(partition *p, const incidence *m, partition_method method, uint64_t seed) {
  rng r = rng_open(seed, RNG_PERMUTE, (uint64_t)p->parts);
  if (method == PARTITION_RANDOM)
    for (int i = 0; i < p->total; i++) p->owner[0][i] = (int32_t)rng_below(&r, (uint64_t)p->parts);
  else if (p->parts >= p->total) /* some have nothing */
    for (int i = 0; i < p->total; i++) p->owner[0][i] = i;
  else if (p->parts > 1)
    return divide_by_metis(p, m, seed);
  return DKHO_OK;
}
