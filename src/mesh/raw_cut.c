/* raw_cut.c: elements into simplices. Every cut is decided by the smallest vertex: a polygon is fanned from its smallest corner, a
 * solid is coned from its smallest corner over its faces that lack it, each fanned likewise. So the two cells at a face cut it alike,
 * whatever their numbers. Simplices keep the file's order of corners. Polygons of a surface whose fan would fold or flatten are in
 * raw_polygon.c. */
#include "mesh/raw.h"

#include <string.h>

static int all_differ(int n, const int32_t *v) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (v[i] == v[j]) return 0;
  return 1;
}

/* One simplex of degree k, unless a vertex is repeated. *made counts. */
static dkho_status push_simplex(raw *m, int k, const int32_t *v, int32_t tag, int32_t from, int64_t *made) {
  raw_part *p = &m->part[k];
  size_t width = (size_t)k + 1;
  if (!all_differ(k + 1, v)) return DKHO_OK;
  if (p->n == INT32_MAX) return fail(DKHO_E_FORMAT, "%s: more than %d simplices of degree %d", m->file, INT32_MAX, k);
  if (p->n == p->room) {
    int64_t room = p->room, same = p->room;
    void *block = p->vert;
    TRY(raw_grow(&block, p->n, &room, width * sizeof *p->vert));
    p->vert = block;
    block = p->tag;
    TRY(raw_grow(&block, p->n, &same, sizeof *p->tag));
    p->tag = block;
    block = p->from;
    TRY(raw_grow(&block, p->n, &p->room, sizeof *p->from));
    p->from = block;
  }
  memcpy(p->vert + (size_t)p->n * width, v, width * sizeof *v);
  p->tag[p->n] = tag;
  p->from[p->n++] = from;
  (*made)++;
  return DKHO_OK;
}

/* Corners of face f of a pyramid or prism, by place; their number, 0 behind the last face. */
static int solid_face(raw_shape shape, int corners, int f, int *place) {
  int base = shape == RAW_PRISM ? corners / 2 : corners - 1, side = f - (shape == RAW_PRISM ? 2 : 1);
  if (side >= base) return 0;
  if (side < 0) {
    for (int i = 0; i < base; i++) place[i] = f * base + i;
    return base;
  }
  int next = (side + 1) % base;
  place[0] = side, place[1] = next, place[2] = shape == RAW_PRISM ? base + next : base;
  place[3] = base + side;
  return shape == RAW_PRISM ? 4 : 3;
}

/* Corners that follow themselves round the rim are taken out; the number left. */
static int64_t squeeze(int64_t n, const int32_t *v, int32_t *out) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; i++)
    if (kept == 0 || out[kept - 1] != v[i]) out[kept++] = v[i];
  while (kept > 1 && out[kept - 1] == out[0]) kept--;
  return kept;
}

static int64_t smallest(int64_t n, const int32_t *v) {
  int64_t at = 0;
  for (int64_t i = 1; i < n; i++)
    if (v[i] < v[at]) at = i;
  return at;
}

/* The cone from `apex` over a face of n corners, unless it has the apex. `clean` has room for n. */
static dkho_status cut_cone(raw *m, const raw_cell *e, int32_t apex, int64_t n, const int32_t *rim, int32_t *clean,
                            int32_t from, int64_t *made) {
  int64_t left = squeeze(n, rim, clean), low = smallest(left, clean);
  for (int64_t i = 0; i < left; i++)
    if (clean[i] == apex) return DKHO_OK;
  for (int64_t i = 1; i + 1 < left; i++) {
    int32_t tet[4] = {apex, clean[low], clean[(low + i) % left], clean[(low + i + 1) % left]};
    raw_orient_tet(m->x, tet); /* a cone has no orientation of its own */
    TRY(push_simplex(m, 3, tet, e->tag, from, made));
  }
  return DKHO_OK;
}

static dkho_status cut_solid(raw *m, const raw_cell *e, int32_t from, int64_t *made) {
  const int32_t *v = m->vert + e->first;
  int32_t apex = v[smallest(e->corners, v)], rim[RAW_SOLID_MAX], clean[RAW_SOLID_MAX];
  int place[RAW_SOLID_MAX], n;
  for (int f = 0; (n = solid_face(e->shape, e->corners, f, place)); f++) {
    for (int i = 0; i < n; i++) rim[i] = v[place[i]];
    TRY(cut_cone(m, e, apex, n, rim, clean, from, made));
  }
  return DKHO_OK;
}

/* Room for the widest element. */
typedef struct {
  int surface; /* label elements of a body are fanned like its faces, those of a surface with more care */
  int32_t *clean, *scratch, (*triangle)[3];
} knife;

static dkho_status cut_polygon(raw *m, knife *t, const raw_cell *e, int32_t from, int64_t *made) {
  int64_t n = squeeze(e->corners, m->vert + e->first, t->clean), low = smallest(n, t->clean);
  if (t->surface && n > 3)
    raw_cut_polygon(m->x, n, t->clean, t->scratch, t->triangle);
  else
    for (int64_t i = 0; i + 2 < n; i++) {
      t->triangle[i][0] = t->clean[low];
      for (int64_t j = 1; j < 3; j++) t->triangle[i][j] = t->clean[(low + i + j) % n];
    }
  for (int64_t i = 0; i + 2 < n; i++) TRY(push_simplex(m, 2, t->triangle[i], e->tag, from, made));
  return DKHO_OK;
}

static dkho_status cut_polyhedron(raw *m, knife *t, const raw_cell *e, int32_t from, int64_t *made) {
  const int32_t *v = m->vert + e->first;
  int32_t apex = INT32_MAX;
  for (int32_t i = 0; i < e->corners; i++)
    if (v[i] >= 0 && v[i] < apex) apex = v[i];
  for (int32_t start = 0, i = 0; i <= e->corners; i++) {
    if (i < e->corners && v[i] >= 0) continue;
    if (i > start) TRY(cut_cone(m, e, apex, i - start, v + start, t->clean, from, made));
    start = i + 1;
  }
  return DKHO_OK;
}

/* Runs of `width` neighbouring corners: points, segments of a chain, triangles of a strip (every other one turned). */
static dkho_status cut_run(raw *m, const raw_cell *e, int k, int32_t from, int64_t *made) {
  for (int64_t i = 0; i + k < e->corners; i++) {
    int32_t v[3] = {0};
    memcpy(v, m->vert + e->first + i, (size_t)(k + 1) * sizeof *v);
    if (k == 2 && i % 2) {
      int32_t t = v[0];
      v[0] = v[1], v[1] = t;
    }
    TRY(push_simplex(m, k, v, e->tag, from, made));
  }
  return DKHO_OK;
}

static int is_simplex(const raw_cell *e) {
  return e->shape == RAW_TET || (e->shape <= RAW_POLYGON && e->corners == (int)e->shape + 1);
}

static dkho_status cut_element(raw *m, knife *t, const raw_cell *e, int32_t from) {
  int k = raw_dimension(e->shape), whole = is_simplex(e);
  int64_t made = 0;
  if (whole)
    TRY(push_simplex(m, k, m->vert + e->first, e->tag, from, &made));
  else if (e->shape == RAW_POLYGON)
    TRY(cut_polygon(m, t, e, from, &made));
  else if (e->shape == RAW_POLYHEDRON)
    TRY(cut_polyhedron(m, t, e, from, &made));
  else if (k == 3)
    TRY(cut_solid(m, e, from, &made));
  else
    TRY(cut_run(m, e, k, from, &made));
  m->report->count[MESH_CUT] += made && !whole;
  m->report->count[MESH_COLLAPSED] += !made;
  return DKHO_OK;
}

dkho_status raw_cut(raw *m) {
  int64_t number[CX_DEGREES] = {0}, widest = 0;
  knife t = {.surface = m->report->elements[3] == 0};
  dkho_status s = DKHO_OK;
  for (int64_t i = 0; i < m->cells; i++)
    if (m->cell[i].corners > widest) widest = m->cell[i].corners;
  if (!MEM_NEW(t.clean, widest) || !MEM_NEW(t.scratch, widest) || !MEM_NEW(t.triangle, widest)) s = DKHO_E_MEMORY;
  for (int64_t i = 0; s == DKHO_OK && i < m->cells; i++) {
    int32_t from = (int32_t)number[raw_dimension(m->cell[i].shape)]++;
    if (m->cell[i].corners) s = cut_element(m, &t, &m->cell[i], from); /* without corners: taken out before */
  }
  mem_free(t.clean);
  mem_free(t.scratch);
  mem_free(t.triangle);
  return s;
}
