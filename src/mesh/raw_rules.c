/* raw_rules.c: from what a file said to a complex: the rules of docs/FORMATS.md, the same for every format. */
#include "mesh/raw.h"
#include "mesh/cx_impl.h"

#include <stdlib.h>
#include <string.h>

/* Corners that are no points refuse an element of the mesh; one that only carries a label is taken out. */
static dkho_status check_corners(raw *m, int dim) {
  int64_t number = 0;
  for (int64_t i = 0; i < m->cells; i++) {
    raw_cell *e = &m->cell[i];
    int top = raw_dimension(e->shape) == dim;
    for (int32_t j = 0; j < e->corners; j++) {
      int32_t v = m->vert[e->first + j];
      if ((v >= 0 && v < m->points) || (v == -1 && e->shape == RAW_POLYHEDRON)) continue;
      if (top)
        return fail(DKHO_E_FORMAT, "%s: %s %lld: vertex %d, but there are %lld points (counting from 0)", m->file,
                    e->corners == dim + 1 ? cx_noun(dim) : "element", (long long)number, v, (long long)m->points);
      e->corners = 0;
      m->report->count[MESH_BAD_LABEL]++;
    }
    number += top;
  }
  return DKHO_OK;
}

static void keep_simplex(raw_part *p, int k, int64_t *kept, int64_t i) {
  memmove(p->vert + *kept * (k + 1), p->vert + i * (k + 1), (size_t)(k + 1) * sizeof *p->vert);
  p->tag[*kept] = p->tag[i];
  p->from[(*kept)++] = p->from[i];
}

/* Whether a face of the simplex has no extent; `times` the complex's own bound. */
static int is_flat(const cx *place, int k, const int32_t *v, double mean, double times) {
  int32_t part[CX_DEGREES];
  for (int set = 3; set < 1 << (k + 1); set++) {
    int degree = -1;
    for (int j = 0; j <= k; j++)
      if (set >> j & 1) part[++degree] = v[j];
    if (degree < 1) continue;
    if (cx_simplex_measure(place, degree, part) <= times * cx_least_measure(place, degree, part, mean)) return 1;
  }
  return 0;
}

/* Top simplices without extent refuse the file, or go if it is to be repaired: without them the mesh may have gaps. What goes is a little
 * more than what refuses, since the complex measures in other ways. */
static dkho_status drop_flat(raw *m, int dim, int repair) {
  raw_part *p = &m->part[dim];
  cx place = {.gdim = 3, .x = m->x}; /* as much of a complex as measuring needs */
  double sum = 0;
  int64_t kept = 0;
  for (int64_t i = 0; i < p->n; i++) sum += cx_simplex_measure(&place, 1, p->vert + i * (dim + 1));
  for (int64_t i = 0; i < p->n; i++) {
    if (!is_flat(&place, dim, p->vert + i * (dim + 1), sum / (double)p->n, repair ? 4 : 1))
      keep_simplex(p, dim, &kept, i);
    else if (!repair)
      return fail(DKHO_E_FORMAT, "%s: %s %d of the file has no extent (counting from 0); --repair drops such elements",
                  m->file, cx_noun(dim), p->from[i]);
  }
  m->report->count[MESH_FLAT] += p->n - kept;
  p->n = kept;
  return DKHO_OK;
}

typedef struct {
  int32_t vert[CX_DEGREES]; /* ascending, -1 behind */
  int32_t index;
} item;

static int by_vertices(const void *a, const void *b) {
  const item *p = a, *q = b;
  for (int i = 0; i < CX_DEGREES; i++)
    if (p->vert[i] != q->vert[i]) return p->vert[i] < q->vert[i] ? -1 : 1;
  return (p->index > q->index) - (p->index < q->index);
}

/* Of elements with the same vertices the first stays, with the first tag that any of them has. Gmsh 2.2 repeats an
 * element for each physical group it is in. */
static dkho_status drop_duplicates(raw *m, int k) {
  raw_part *p = &m->part[k];
  item *list;
  if (!MEM_NEW(list, p->n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < p->n; i++) {
    memset(list[i].vert, 0xff, sizeof list[i].vert);
    memcpy(list[i].vert, p->vert + i * (k + 1), (size_t)(k + 1) * sizeof *p->vert);
    cx_sort_vertices(k, list[i].vert);
    list[i].index = (int32_t)i;
  }
  qsort(list, (size_t)p->n, sizeof *list, by_vertices);
  int64_t kept = 0, dropped = 0;
  for (int64_t i = 0, first = 0; i < p->n; i++) {
    if (i == 0 || memcmp(list[i].vert, list[first].vert, sizeof list->vert) != 0) {
      first = i;
      continue;
    }
    int32_t *tag = &p->tag[list[first].index], *own = &p->tag[list[i].index];
    if (*tag == 0) *tag = *own;
    *own = -1; /* tags are never negative: marks the element */
    dropped++;
  }
  mem_free(list);
  for (int64_t i = 0; dropped && i < p->n; i++)
    if (p->tag[i] >= 0) keep_simplex(p, k, &kept, i);
  if (dropped) p->n = kept;
  m->report->count[MESH_REPEATED] += dropped;
  return DKHO_OK;
}

/* Points of no top simplex go; the others keep their order and are noted as vertices' origin. Elements that lose a point are marked
 * by vertex -1. */
static dkho_status drop_points(raw *m, int dim) {
  int32_t *fresh, *origin;
  int64_t kept = 0;
  if (!MEM_NEW(fresh, m->points)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < m->part[dim].n * (dim + 1); i++) fresh[m->part[dim].vert[i]] = 1;
  for (int64_t i = 0; i < m->points; i++) kept += fresh[i];
  if (!MEM_NEW(origin, kept)) {
    mem_free(fresh);
    return DKHO_E_MEMORY;
  }
  m->report->origin[0] = origin;
  m->report->n[0] = kept;
  kept = 0;
  for (int64_t i = 0; i < m->points; i++) {
    if (fresh[i]) memmove(m->x + 3 * kept, m->x + 3 * i, 3 * sizeof *m->x);
    if (fresh[i]) origin[kept] = (int32_t)i;
    fresh[i] = fresh[i] ? (int32_t)kept++ : -1;
  }
  for (int k = 0; k <= dim; k++)
    for (int64_t i = 0; i < m->part[k].n * (k + 1); i++) m->part[k].vert[i] = fresh[m->part[k].vert[i]];
  mem_free(fresh);
  m->report->count[MESH_UNUSED] = m->points - kept - m->report->count[MESH_MERGED];
  m->points = kept;
  return DKHO_OK;
}

/* A mesh in the plane z = 0 lives in two dimensions: its third coordinates are squeezed out. */
static int flatten(raw *m, int dim) {
  for (int64_t i = 0; i < m->points; i++)
    if (m->x[3 * i + 2] != 0 || dim == 3) return 3;
  for (int64_t i = 0; i < m->points; i++) memmove(m->x + 2 * i, m->x + 3 * i, 2 * sizeof *m->x);
  return 2;
}

/* What the file says, repaired: top simplices in part[dim], points that belong to one. */
static dkho_status apply_rules(raw *m, const mesh_options *o, int dim) {
  m->report->points = m->points;
  TRY(check_corners(m, dim));
  if (o->merge || m->loose) TRY(raw_merge(m, o->merge ? o->tolerance : 0));
  TRY(raw_cut(m));
  TRY(drop_flat(m, dim, o->repair));
  if (m->part[dim].n == 0) return fail(DKHO_E_FORMAT, "%s: no element with any extent is left of it", m->file);
  TRY(drop_duplicates(m, dim));
  TRY(drop_points(m, dim));
  if (!o->merge && !m->loose) TRY(raw_coincident(m, &m->report->count[MESH_COINCIDENT]));
  return DKHO_OK;
}

static dkho_status build_complex(raw *m, int dim, cx **out) {
  if (dim == 3) raw_orient_tets(m);
  int gdim = flatten(m, dim);
  if (dim == 2 && gdim == 3) TRY(raw_orient_surface(m));
  TRY(cx_build(out, gdim, m->points, m->x, dim, m->part[dim].n, m->part[dim].vert, CX_LEX));
  TRY(raw_labels(m, *out));
  m->report->n[dim] = m->part[dim].n;
  m->report->origin[dim] = m->part[dim].from; /* the complex keeps the order of the top simplices */
  m->part[dim].from = NULL;
  return DKHO_OK;
}

dkho_status raw_complex(raw *m, const mesh_options *o, cx **out) {
  int dim = 3;
  *out = NULL;
  while (dim > 0 && m->report->elements[dim] == 0) dim--;
  if (dim == 0) return fail(DKHO_E_FORMAT, "%s: no line, surface or solid element in it", m->file);
  TRY(apply_rules(m, o, dim));
  dkho_status s = build_complex(m, dim, out);
  if (s == DKHO_OK) return s;
  cx_free(*out);
  *out = NULL;
  return s == DKHO_E_MEMORY ? s : fail_prefix(s == DKHO_E_INPUT ? DKHO_E_FORMAT : s, "%s", m->file);
}
