/* elim.c: kernels of sparse integer matrices, exactly, modulo a 31-bit prime.
 *
 * Equations are eliminated shortest first, each for its rarest unknown: an equation with one unknown deletes it, one
 * with two merges them, and only what these cannot contract costs fill. On meshes that is what collapsing does, and
 * nearly nothing is left over. Arithmetic is over Z/p; kernel vectors come back to the rationals at the end. */
#include "dec/dec_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct {
  int32_t col;
  uint32_t val; /* 1 … p-1 */
} entry;

typedef struct {
  int32_t row, next; /* next: -1 ends the list */
} occurrence;

typedef struct elim_state {
  uint32_t p;
  int64_t cols;
  entry **row;
  int32_t *len, *room;
  uint8_t *done;          /* rows that are pivots already */
  int32_t *seen, *number; /* per unknown: head of its occurrence list (may hold stale rows), live occurrences */
  occurrence *occ;
  int64_t occ_used, occ_room;
  uint64_t *heap; /* length << 32 | row, smallest first; stale items are skipped */
  int64_t heap_used, heap_room;
  entry *scratch;            /* cols */
  int32_t *pivot, *pivot_at; /* rows in order of elimination, and the place of the pivot unknown in the row */
  int64_t pivots;
} elim_state;

static uint32_t mul(uint32_t a, uint32_t b, uint32_t p) {
  return (uint32_t)((uint64_t)a * b % p);
}

static uint32_t inverse(uint32_t a, uint32_t p) { /* a^(p-2); nearly always a is ±1 */
  if (a == 1 || a == p - 1) return a;
  uint32_t result = 1;
  for (uint32_t e = p - 2; e; e >>= 1, a = mul(a, a, p))
    if (e & 1) result = mul(result, a, p);
  return result;
}

static dkho_status heap_push(elim_state *s, int32_t row) {
  if (s->heap_used == s->heap_room) {
    uint64_t *more = mem_resize(s->heap, (size_t)s->heap_used, (size_t)s->heap_room * 2, sizeof *more);
    if (!more) return DKHO_E_MEMORY;
    s->heap = more;
    s->heap_room *= 2;
  }
  uint64_t key = (uint64_t)s->len[row] << 32 | (uint32_t)row;
  int64_t at = s->heap_used++;
  for (; at > 0 && s->heap[(at - 1) / 2] > key; at = (at - 1) / 2) s->heap[at] = s->heap[(at - 1) / 2];
  s->heap[at] = key;
  return DKHO_OK;
}

static uint64_t heap_pop(elim_state *s) {
  uint64_t top = s->heap[0], key = s->heap[--s->heap_used];
  int64_t at = 0;
  for (int64_t kid; (kid = 2 * at + 1) < s->heap_used; at = kid) {
    if (kid + 1 < s->heap_used && s->heap[kid + 1] < s->heap[kid]) kid++;
    if (s->heap[kid] >= key) break;
    s->heap[at] = s->heap[kid];
  }
  s->heap[at] = key;
  return top;
}

static dkho_status occurs(elim_state *s, int32_t col, int32_t row) {
  if (s->occ_used == s->occ_room) {
    occurrence *more = mem_resize(s->occ, (size_t)s->occ_used, (size_t)s->occ_room * 2, sizeof *more);
    if (!more) return DKHO_E_MEMORY;
    s->occ = more;
    s->occ_room *= 2;
  }
  s->occ[s->occ_used] = (occurrence){row, s->seen[col]};
  s->seen[col] = (int32_t)s->occ_used++;
  s->number[col]++;
  return DKHO_OK;
}

static int32_t find_entry_of_row(const elim_state *s, int32_t row, int32_t col) {
  const entry *e = s->row[row];
  int32_t lo = 0, hi = s->len[row];
  while (lo < hi) {
    int32_t mid = (lo + hi) / 2;
    if (e[mid].col < col)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < s->len[row] && e[lo].col == col ? lo : -1;
}

/* row r ← row r + f·(row i), which makes its pivot unknown vanish. */
static dkho_status combine(elim *e, int32_t r, int32_t i, uint32_t f) {
  elim_state *s = e->state;
  const entry *a = s->row[r], *b = s->row[i];
  int32_t la = s->len[r], lb = s->len[i], put = 0;
  for (int32_t x = 0, y = 0; x < la || y < lb;) {
    if (y == lb || (x < la && a[x].col < b[y].col)) {
      s->scratch[put++] = a[x++];
    } else if (x == la || b[y].col < a[x].col) {
      s->scratch[put++] = (entry){b[y].col, mul(f, b[y].val, s->p)};
      TRY(occurs(s, b[y++].col, r));
    } else {
      uint32_t v = (uint32_t)(((uint64_t)f * b[y].val + a[x].val) % s->p);
      if (v)
        s->scratch[put++] = (entry){a[x].col, v};
      else
        s->number[a[x].col]--;
      x++, y++;
    }
  }
  if (put > s->room[r]) {
    if (!ARENA_NEW(&e->mem, s->row[r], 2 * put)) return DKHO_E_MEMORY;
    s->room[r] = 2 * put;
  }
  memcpy(s->row[r], s->scratch, (size_t)put * sizeof(entry));
  s->len[r] = put;
  return put ? heap_push(s, r) : DKHO_OK;
}

/* Solves equation i for its rarest unknown and puts that into every other equation. */
static dkho_status eliminate_row(elim *e, int32_t i) {
  elim_state *s = e->state;
  const entry *row = s->row[i];
  int32_t at = 0;
  for (int32_t x = 1; x < s->len[i]; x++)
    if (s->number[row[x].col] < s->number[row[at].col]) at = x;
  int32_t col = row[at].col;
  uint32_t scale = s->p - inverse(row[at].val, s->p);
  s->done[i] = e->pivot_row[i] = 1;
  s->pivot[s->pivots] = i;
  s->pivot_at[s->pivots++] = at;
  for (int32_t x = 0; x < s->len[i]; x++) s->number[row[x].col]--;
  for (int32_t q = s->seen[col]; q >= 0; q = s->occ[q].next) {
    int32_t r = s->occ[q].row, place = s->done[r] ? -1 : find_entry_of_row(s, r, col);
    if (place >= 0) TRY(combine(e, r, i, mul(scale, s->row[r][place].val, s->p)));
  }
  s->number[col] = -1; /* settled */
  return DKHO_OK;
}

static dkho_status load_columns(elim *e, const elim_matrix *m) {
  elim_state *s = e->state;
  entry *slab; /* rows that grow move out of it */
  if (!ARENA_NEW(&e->mem, slab, m->ptr ? m->ptr[m->rows] : m->rows * m->width)) return DKHO_E_MEMORY;
  for (int64_t r = 0; r < m->rows; r++) {
    if (m->skip_row && m->skip_row[r]) continue;
    int64_t from = m->ptr ? m->ptr[r] : r * m->width, to = m->ptr ? m->ptr[r + 1] : from + m->width;
    s->row[r] = slab + from;
    s->room[r] = (int32_t)(to - from);
    for (int64_t q = from; q < to; q++) {
      if (m->skip_col && m->skip_col[m->idx[q]]) continue;
      s->row[r][s->len[r]++] = (entry){m->idx[q], m->sign[q] > 0 ? 1 : s->p - 1};
      TRY(occurs(s, m->idx[q], (int32_t)r));
    }
    if (s->len[r]) TRY(heap_push(s, (int32_t)r));
  }
  return DKHO_OK;
}

static dkho_status prepare_elimination(elim *e, const elim_matrix *m, uint32_t prime) {
  elim_state *s;
  arena *a = &e->mem;
  if (!ARENA_NEW(a, s, 1)) return DKHO_E_MEMORY;
  e->state = s;
  s->p = prime;
  s->cols = m->cols;
  s->occ_room = 4 * m->rows + 64;
  s->heap_room = 2 * m->rows + 64;
  if (!ARENA_NEW(a, s->row, m->rows) || !ARENA_NEW(a, s->len, m->rows) || !ARENA_NEW(a, s->room, m->rows) ||
      !ARENA_NEW(a, s->done, m->rows) || !ARENA_NEW(a, s->seen, m->cols) || !ARENA_NEW(a, s->number, m->cols) ||
      !ARENA_NEW(a, s->scratch, m->cols) || !ARENA_NEW(a, s->pivot, m->rows) || !ARENA_NEW(a, s->pivot_at, m->rows) ||
      !ARENA_NEW(a, e->pivot_row, m->rows) || !MEM_NEW(s->occ, s->occ_room) || !MEM_NEW(s->heap, s->heap_room))
    return DKHO_E_MEMORY;
  for (int64_t c = 0; c < m->cols; c++) s->seen[c] = -1;
  return DKHO_OK;
}

static dkho_status collect_free(elim *e, const elim_matrix *m) {
  const elim_state *s = e->state;
  for (int round = 0; round < 2; round++) {
    int64_t put = 0;
    for (int64_t c = 0; c < m->cols; c++) {
      if (s->number[c] < 0 || (m->skip_col && m->skip_col[c])) continue;
      if (round) e->free_col[put] = (int32_t)c;
      put++;
    }
    e->nullity = put;
    if (!round && !ARENA_NEW(&e->mem, e->free_col, put)) return DKHO_E_MEMORY;
  }
  return DKHO_OK;
}

dkho_status elim_run(elim **out, const elim_matrix *m, uint32_t prime) {
  *out = NULL;
  elim *e;
  if (!MEM_NEW(e, 1)) return DKHO_E_MEMORY;
  dkho_status s;
  TRY_GOTO(prepare_elimination(e, m, prime));
  TRY_GOTO(load_columns(e, m));
  elim_state *t = e->state;
  while (t->heap_used) {
    uint64_t key = heap_pop(t);
    int32_t i = (int32_t)(key & UINT32_MAX);
    if (!t->done[i] && (uint64_t)t->len[i] == key >> 32) TRY_GOTO(eliminate_row(e, i));
  }
  s = collect_free(e, m);
done:
  if (s != DKHO_OK) {
    elim_free(e);
    return s;
  }
  *out = e;
  return DKHO_OK;
}

void elim_free(elim *e) {
  if (!e) return;
  if (e->state) {
    mem_free(e->state->occ);
    mem_free(e->state->heap);
  }
  arena_free(&e->mem);
  mem_free(e);
}

/* The fraction n/d ≡ a (mod p) with |n|, d ≤ √(p/2), unique if it exists: half-way Euclid. */
static int rational(uint32_t a, uint32_t p, double *out) {
  int64_t r0 = p, r1 = a, t0 = 0, t1 = 1, bound = (int64_t)sqrt(p / 2.0);
  while (r1 > bound) {
    int64_t q = r0 / r1, r = r0 - q * r1, t = t0 - q * t1;
    r0 = r1, r1 = r;
    t0 = t1, t1 = t;
  }
  if (t1 > bound || t1 < -bound) return 0;
  *out = (double)r1 / (double)t1;
  return 1;
}

dkho_status elim_kernel(const elim *e, int64_t f, double *x) {
  const elim_state *s = e->state;
  assert(f >= 0 && f < e->nullity);
  uint32_t *v;
  if (!MEM_NEW(v, s->cols)) return DKHO_E_MEMORY;
  v[e->free_col[f]] = 1;
  for (int64_t q = s->pivots - 1; q >= 0; q--) {
    const entry *row = s->row[s->pivot[q]], *lead = row + s->pivot_at[q];
    uint64_t sum = 0;
    for (int32_t y = 0; y < s->len[s->pivot[q]]; y++)
      if (row + y != lead) sum = (sum + (uint64_t)row[y].val * v[row[y].col]) % s->p;
    if (sum) v[lead->col] = mul(s->p - (uint32_t)sum, inverse(lead->val, s->p), s->p);
  }
  int good = 1;
  for (int64_t c = 0; c < s->cols && good; c++) good = rational(v[c], s->p, &x[c]);
  mem_free(v);
  return good ? DKHO_OK : fail(DKHO_E_INTERNAL, "homology: a generator's coefficients exceed the range of the modulus");
}
