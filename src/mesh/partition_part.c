/* part.c: what one part of a complex holds, sends and receives; see partition.h. */
#include "mesh/partition.h"

#include <string.h>

/* While a part is made: what is known of every simplex of the whole mesh. */
typedef struct survey {
  const partition *p;
  const incidence *m;
  int rank;
  uint8_t *wanted[CX_DEGREES]; /* PART_ABOVE and PART_BELOW: ghosts of the mesh_part */
  int32_t *row[CX_DEGREES];    /* the part's row, where there is one */
  int64_t *stamp;              /* by part: the last row that is to go there */
  arena mem;
} survey;

static int is_own(const survey *s, int k, int64_t simplex) {
  return partition_owner(s->p, k, simplex) == s->rank;
}

static dkho_status take_blocks(mesh_part *t, const survey *s, int k) {
  part_degree *d = &t->at[k];
  const partition *p = s->p;
  for (int b = 0; b < p->blocks[k]; b++) d->blocks += p->owner[k][b] == s->rank;
  if (!ARENA_NEW(&t->mem, d->block, d->blocks)) return DKHO_E_MEMORY;
  for (int b = 0, at = 0; b < p->blocks[k]; b++) {
    if (p->owner[k][b] != s->rank) continue;
    int64_t left = p->n[k] - (int64_t)b * p->block;
    d->block[at++] = b;
    d->own += left < p->block ? left : p->block;
  }
  return DKHO_OK;
}

/* Marks the faces and cofaces of own simplices of degree k. */
static void mark_wanted(const mesh_part *t, survey *s, int k) {
  const incidence *m = s->m;
  const int64_t *up = k + 1 < t->degrees ? m->coptr[k] : NULL;
  for (int64_t r = 0; r < t->at[k].own; r++) {
    int64_t i = part_simplex(t, k, r);
    for (int j = 0; k > 0 && j <= k; j++) s->wanted[k - 1][m->face[k][i * (k + 1) + j]] |= PART_BELOW;
    for (int64_t e = up ? up[i] : 0; up && e < up[i + 1]; e++) s->wanted[k + 1][m->coface[k][e]] |= PART_ABOVE;
  }
}

/* Ghosts by owner, then in order; rows of own simplices and of ghosts. */
static dkho_status take_ghosts(mesh_part *t, survey *s, int k, int align) {
  part_degree *d = &t->at[k];
  int64_t n = s->p->n[k], *at;
  if (!ARENA_NEW(&s->mem, at, t->parts + 1)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < n; i++)
    if (s->wanted[k][i] && !is_own(s, k, i)) at[partition_owner(s->p, k, i) + 1]++;
  for (int q = 0; q < t->parts; q++) at[q + 1] += at[q];
  d->ghosts = at[t->parts];
  d->ghost_at = (d->own + align - 1) / align * align;
  if (!ARENA_NEW(&t->mem, d->ghost, d->ghosts)) return DKHO_E_MEMORY;
  for (int64_t i = 0, own = 0; i < n; i++) {
    if (is_own(s, k, i)) {
      s->row[k][i] = (int32_t)own++;
    } else if (s->wanted[k][i]) {
      int64_t g = at[partition_owner(s->p, k, i)]++;
      d->ghost[g] = (int32_t)i;
      s->row[k][i] = (int32_t)(d->ghost_at + g);
    }
  }
  return DKHO_OK;
}

/* Ghosts of a kind are received in their order. */
static dkho_status list_receives(mesh_part *t, const survey *s, int k, int kind) {
  const part_degree *d = &t->at[k];
  part_rows *list = &t->at[k].receive[kind];
  int64_t count = 0;
  for (int64_t g = 0; g < d->ghosts; g++) count += (s->wanted[k][d->ghost[g]] & kind) != 0;
  if (!ARENA_NEW(&t->mem, list->ptr, t->parts + 1) || !ARENA_NEW(&t->mem, list->row, count)) return DKHO_E_MEMORY;
  count = 0;
  for (int64_t g = 0; g < d->ghosts; g++) {
    if (!(s->wanted[k][d->ghost[g]] & kind)) continue;
    list->ptr[partition_owner(s->p, k, d->ghost[g]) + 1]++;
    list->row[count++] = (int32_t)(d->ghost_at + g);
  }
  for (int q = 0; q < t->parts; q++) list->ptr[q + 1] += list->ptr[q];
  return DKHO_OK;
}

/* The others among the owners of `entries` simplices of degree k, each counted once a row: at[q]++, or row at[q]++ of `list`. */
static void note_owners(survey *s, int k, int64_t row, int64_t entries, const int32_t *near, int64_t *at,
                        int32_t *list) {
  for (int64_t e = 0; e < entries; e++) {
    int q = partition_owner(s->p, k, near[e]);
    if (q == s->rank || s->stamp[q] == row + 1) continue;
    s->stamp[q] = row + 1;
    if (list) list[at[q]] = (int32_t)row;
    at[q]++;
  }
}

/* A simplex is a ghost of kind ABOVE where one of its faces is owned, of kind BELOW where one of its cofaces is. */
static void walk_sends(const mesh_part *t, survey *s, int k, int kind, int64_t *at, int32_t *list) {
  const incidence *m = s->m;
  memset(s->stamp, 0, (size_t)t->parts * sizeof *s->stamp);
  for (int64_t r = 0; r < t->at[k].own; r++) {
    int64_t i = part_simplex(t, k, r);
    if (kind & PART_ABOVE && k > 0) note_owners(s, k - 1, r, k + 1, m->face[k] + i * (k + 1), at, list);
    if (kind & PART_BELOW && k + 1 < t->degrees)
      note_owners(s, k + 1, r, m->coptr[k][i + 1] - m->coptr[k][i], m->coface[k] + m->coptr[k][i], at, list);
  }
}

static dkho_status list_sends(mesh_part *t, survey *s, int k, int kind) {
  part_rows *list = &t->at[k].send[kind];
  int64_t *at;
  if (!ARENA_NEW(&t->mem, list->ptr, t->parts + 1) || !ARENA_NEW(&s->mem, at, t->parts)) return DKHO_E_MEMORY;
  walk_sends(t, s, k, kind, list->ptr + 1, NULL);
  for (int q = 0; q < t->parts; q++) {
    at[q] = list->ptr[q];
    list->ptr[q + 1] += list->ptr[q];
  }
  if (!ARENA_NEW(&t->mem, list->row, list->ptr[t->parts])) return DKHO_E_MEMORY;
  walk_sends(t, s, k, kind, at, list->row);
  return DKHO_OK;
}

static dkho_status take_faces(mesh_part *t, const survey *s, int k) {
  part_degree *d = &t->at[k];
  int64_t wide = k + 1;
  if (!ARENA_NEW(&t->mem, d->face, d->own * wide) || !ARENA_NEW(&t->mem, d->sign, d->own * wide)) return DKHO_E_MEMORY;
  for (int64_t r = 0; r < d->own; r++)
    for (int64_t j = 0, i = part_simplex(t, k, r); j < wide; j++) {
      d->face[r * wide + j] = s->row[k - 1][s->m->face[k][i * wide + j]];
      if (s->m->sign[k]) d->sign[r * wide + j] = s->m->sign[k][i * wide + j];
    }
  return DKHO_OK;
}

static dkho_status take_cofaces(mesh_part *t, const survey *s, int k) {
  part_degree *d = &t->at[k];
  const int64_t *ptr = s->m->coptr[k];
  if (!ARENA_NEW(&t->mem, d->coptr, d->own + 1)) return DKHO_E_MEMORY;
  for (int64_t r = 0; r < d->own; r++) {
    int64_t i = part_simplex(t, k, r);
    d->coptr[r + 1] = d->coptr[r] + ptr[i + 1] - ptr[i];
  }
  if (!ARENA_NEW(&t->mem, d->coface, d->coptr[d->own]) || !ARENA_NEW(&t->mem, d->cosign, d->coptr[d->own]))
    return DKHO_E_MEMORY;
  for (int64_t r = 0, to = 0; r < d->own; r++)
    for (int64_t i = part_simplex(t, k, r), e = ptr[i]; e < ptr[i + 1]; e++, to++) {
      d->coface[to] = s->row[k + 1][s->m->coface[k][e]];
      if (s->m->cosign[k]) d->cosign[to] = s->m->cosign[k][e];
    }
  return DKHO_OK;
}

static dkho_status fill_part(mesh_part *t, survey *s, int align) {
  if (!ARENA_NEW(&s->mem, s->stamp, t->parts)) return DKHO_E_MEMORY;
  for (int k = 0; k < t->degrees; k++) {
    if (!ARENA_NEW(&s->mem, s->wanted[k], s->p->n[k]) || !ARENA_NEW(&s->mem, s->row[k], s->p->n[k]))
      return DKHO_E_MEMORY;
    TRY(take_blocks(t, s, k));
  }
  for (int k = 0; k < t->degrees; k++) mark_wanted(t, s, k);
  for (int k = 0; k < t->degrees; k++) {
    TRY(take_ghosts(t, s, k, align));
    for (int kind = 1; kind < PART_KINDS; kind++) {
      TRY(list_receives(t, s, k, kind));
      TRY(list_sends(t, s, k, kind));
    }
  }
  for (int k = 0; k < t->degrees; k++) {
    if (k > 0) TRY(take_faces(t, s, k));
    if (k + 1 < t->degrees) TRY(take_cofaces(t, s, k));
  }
  return DKHO_OK;
}

dkho_status part_create(mesh_part **out, const partition *p, const incidence *m, int rank, int align) {
  mesh_part *t;
  survey s = {.p = p, .m = m, .rank = rank};
  *out = NULL;
  if (!MEM_NEW(t, 1)) return DKHO_E_MEMORY;
  t->rank = rank, t->parts = p->parts, t->degrees = p->degrees, t->block = p->block;
  dkho_status st = fill_part(t, &s, align);
  arena_free(&s.mem);
  if (st == DKHO_OK)
    *out = t;
  else
    part_free(t);
  return st;
}

void part_free(mesh_part *p) {
  if (!p) return;
  arena_free(&p->mem);
  mem_free(p);
}
