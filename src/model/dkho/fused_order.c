/* fused_order.c: the order in which simplices are held. Neighbours should lie near each other, so that gathers find them
 * in cache, whatever order the caller's mesh has: vertices breadth first, then every degree by its faces' places. Inputs
 * and outputs are permuted on their way in and out; nothing else knows. */
#include "model/dkho/fused_impl.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  uint64_t key;
  int32_t old;
} ranked;

static int by_key(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->old > y->old) - (x->old < y->old);
}

/* Breadth first from vertex `from` over vertices not yet seen, appended to `queue` at `count`; the new count. */
static int64_t spread(const fused_mesh *m, int32_t from, unsigned char *seen, int32_t *queue, int64_t count) {
  int64_t head = count;
  queue[count++] = from;
  seen[from] = 1;
  for (; head < count; head++) {
    int32_t v = queue[head];
    for (int64_t p = m->coptr[0][v]; p < m->coptr[0][v + 1]; p++)
      for (int e = 0; e < 2; e++) {
        int32_t w = m->face[1][2 * m->coface[0][p] + e];
        if (seen[w]) continue;
        seen[w] = 1;
        queue[count++] = w;
      }
  }
  return count;
}

/* Each component from a vertex at its rim: the last one that a first search reaches. */
static dkho_status order_vertices(const fused_mesh *m, int64_t n, int32_t *order) {
  unsigned char *seen;
  if (!MEM_NEW(seen, n)) return DKHO_E_MEMORY;
  for (int64_t v = 0, count = 0; v < n; v++) {
    if (seen[v]) continue;
    int64_t end = spread(m, (int32_t)v, seen, order, count);
    int32_t rim = order[end - 1];
    for (int64_t i = count; i < end; i++) seen[order[i]] = 0;
    count = spread(m, rim, seen, order, count);
  }
  mem_free(seen);
  return DKHO_OK;
}

/* Simplices of degree k by the first and last place of their faces. */
static dkho_status order_by_faces(const fused_mesh *m, int k, int64_t n, const int32_t *place, int32_t *order) {
  ranked *r;
  if (!MEM_NEW(r, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) {
    uint32_t low = UINT32_MAX, high = 0;
    for (int j = 0; j <= k; j++) {
      uint32_t at = (uint32_t)place[m->face[k][i * (k + 1) + j]];
      low = at < low ? at : low;
      high = at > high ? at : high;
    }
    r[i] = (ranked){(uint64_t)low << 32 | high, (int32_t)i};
  }
  qsort(r, (size_t)n, sizeof *r, by_key);
  for (int64_t i = 0; i < n; i++) order[i] = r[i].old;
  mem_free(r);
  return DKHO_OK;
}

static dkho_status move_faces(arena *a, const fused_mesh *m, fused_mesh *out, int k, int64_t n, const int32_t *order,
                              const int32_t *below) {
  int32_t *face;
  int8_t *sign;
  if (!ARENA_NEW(a, face, n * (k + 1)) || !ARENA_NEW(a, sign, n * (k + 1))) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    for (int j = 0; j <= k; j++) {
      int64_t from = (int64_t)order[i] * (k + 1) + j;
      face[i * (k + 1) + j] = below[m->face[k][from]];
      sign[i * (k + 1) + j] = m->sign[k][from];
    }
  out->face[k] = face;
  out->sign[k] = sign;
  return DKHO_OK;
}

static dkho_status move_cofaces(arena *a, const fused_mesh *m, fused_mesh *out, int k, int64_t n, const int32_t *order,
                                const int32_t *above) {
  int64_t *ptr, at = 0;
  int32_t *coface;
  int8_t *sign;
  if (!ARENA_NEW(a, ptr, n + 1) || !ARENA_NEW(a, coface, m->coptr[k][n]) || !ARENA_NEW(a, sign, m->coptr[k][n]))
    return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) {
    ptr[i] = at;
    for (int64_t p = m->coptr[k][order[i]]; p < m->coptr[k][order[i] + 1]; p++, at++) {
      coface[at] = above[m->coface[k][p]];
      sign[at] = m->cosign[k][p];
    }
  }
  ptr[n] = at;
  out->coptr[k] = ptr;
  out->coface[k] = coface;
  out->cosign[k] = sign;
  return DKHO_OK;
}

static dkho_status move_star(arena *a, const fused_mesh *m, fused_mesh *out, int k, int64_t n, const int32_t *order) {
  double *star;
  if (!m->star[k]) return DKHO_OK;
  if (!ARENA_NEW(a, star, n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++) star[i] = m->star[k][order[i]];
  out->star[k] = star;
  return DKHO_OK;
}

dkho_status order_simplices(const fused_mesh *m, int degrees, const int64_t *n, arena *keep, int32_t **order,
                            arena *temporary, int32_t **place) {
  for (int k = 0; k < degrees; k++) {
    if (!ARENA_NEW(keep, order[k], n[k]) || !ARENA_NEW(temporary, place[k], n[k])) return DKHO_E_MEMORY;
    if (k)
      TRY(order_by_faces(m, k, n[k], place[k - 1], order[k]));
    else
      TRY(order_vertices(m, n[k], order[k]));
    for (int32_t i = 0; i < n[k]; i++) place[k][order[k][i]] = i;
  }
  return DKHO_OK;
}

/* Simplices that never meet stay as they are. */
static dkho_status keep_order(const fused *f, int32_t *order[DEG], arena *a) {
  for (int k = 0; k < f->s.degrees; k++) {
    if (!ARENA_NEW(a, order[k], f->s.n[k])) return DKHO_E_MEMORY;
    for (int32_t i = 0; i < f->s.n[k]; i++) order[k][i] = i;
  }
  return DKHO_OK;
}

dkho_status order_mesh(const fused *f, const fused_mesh *m, int32_t *order[DEG], fused_mesh *out, arena *a) {
  int32_t *place[DEG];
  int top = f->s.degrees - 1;
  *out = *m;
  if (!top || !fused_meets(f)) return keep_order(f, order, a);
  *out = (fused_mesh){.star = {0}};
  TRY(order_simplices(m, f->s.degrees, f->s.n, a, order, a, place));
  for (int k = 0; k <= top; k++) {
    if (k > 0) TRY(move_faces(a, m, out, k, f->s.n[k], order[k], place[k - 1]));
    if (k < top) TRY(move_cofaces(a, m, out, k, f->s.n[k], order[k], place[k + 1]));
    TRY(move_star(a, m, out, k, f->s.n[k], order[k]));
  }
  return DKHO_OK;
}
