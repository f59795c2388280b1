/* raw_rules.c: from what a file said to a complex: the rules of docs/FORMATS.md, the same for every format. */
#include "mesh/raw.h"
#include "mesh/cx_impl.h"
#include "base/report.h"

#include <stdlib.h>
#include <string.h>

static dkho_status check_elements(const raw *m, int k) {
  const raw_part *p = &m->part[k];
  for (int64_t i = 0; i < p->n; i++) {
    const int32_t *v = p->vert + i * (k + 1);
    for (int j = 0; j <= k; j++) {
      if (v[j] < 0 || v[j] >= m->points)
        return fail(DKHO_E_FORMAT, "%s: %s %lld: vertex %d, but there are %lld points (counting from 0)", m->file,
                    cx_noun(k), (long long)i, v[j], (long long)m->points);
      for (int o = 0; o < j; o++)
        if (v[o] == v[j])
          return fail(DKHO_E_FORMAT, "%s: %s %lld has point %d twice (counting from 0)", m->file, cx_noun(k),
                      (long long)i, v[j]);
    }
  }
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
  for (int64_t i = 0; dropped && i < p->n; i++) {
    if (p->tag[i] < 0) continue;
    memmove(p->vert + kept * (k + 1), p->vert + i * (k + 1), (size_t)(k + 1) * sizeof *p->vert);
    p->tag[kept++] = p->tag[i];
  }
  if (!dropped) return DKHO_OK;
  p->n = kept;
  report_log("%s: %lld repeated elements (%s) dropped", m->file, (long long)dropped, cx_noun(k));
  return DKHO_OK;
}

/* Points of no top simplex go; the others keep their order. Elements that lose a point are marked by vertex -1. */
static dkho_status drop_points(raw *m, int dim) {
  int32_t *fresh;
  int64_t kept = 0;
  if (!MEM_NEW(fresh, m->points)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < m->part[dim].n * (dim + 1); i++) fresh[m->part[dim].vert[i]] = 1;
  for (int64_t i = 0; i < m->points; i++) {
    if (fresh[i]) memmove(m->x + 3 * kept, m->x + 3 * i, 3 * sizeof *m->x);
    fresh[i] = fresh[i] ? (int32_t)kept++ : -1;
  }
  for (int k = 0; k <= dim; k++)
    for (int64_t i = 0; i < m->part[k].n * (k + 1); i++) m->part[k].vert[i] = fresh[m->part[k].vert[i]];
  mem_free(fresh);
  if (kept < m->points)
    report_log("%s: %lld points belong to no %s and are dropped", m->file, (long long)(m->points - kept), cx_noun(dim));
  m->points = kept;
  return DKHO_OK;
}

/* Points at the same place are kept apart: a slit is a mesh too. Only said, since it is often an accident. */
static int by_place(const void *a, const void *b) {
  const double *p = a, *q = b;
  for (int i = 0; i < 3; i++)
    if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
  return 0;
}

static dkho_status report_coincident(const raw *m) {
  double(*x)[3];
  int64_t same = 0;
  if (!MEM_NEW(x, m->points)) return DKHO_E_MEMORY;
  memcpy(x, m->x, (size_t)m->points * sizeof *x);
  qsort(x, (size_t)m->points, sizeof *x, by_place);
  for (int64_t i = 1; i < m->points; i++) same += by_place(x[i - 1], x[i]) == 0;
  mem_free(x);
  if (same) report_log("%s: %lld points coincide with another; they are kept apart", m->file, (long long)same);
  return DKHO_OK;
}

/* A mesh in the plane z = 0 lives in two dimensions: its third coordinates are squeezed out. */
static int flatten(raw *m, int dim) {
  for (int64_t i = 0; i < m->points; i++)
    if (m->x[3 * i + 2] != 0 || dim == 3) return 3;
  for (int64_t i = 0; i < m->points; i++) memmove(m->x + 2 * i, m->x + 3 * i, 2 * sizeof *m->x);
  return 2;
}

dkho_status raw_complex(raw *m, cx **out) {
  int dim = 3;
  *out = NULL;
  while (dim > 0 && m->part[dim].n == 0) dim--;
  if (dim == 0) return fail(DKHO_E_FORMAT, "%s: no line, triangle or tetrahedron in it", m->file);
  for (int k = 0; k <= dim; k++) TRY(check_elements(m, k));
  TRY(drop_duplicates(m, dim));
  TRY(drop_points(m, dim));
  TRY(report_coincident(m));
  if (dim == 3) raw_orient_tets(m);
  int gdim = flatten(m, dim);
  if (dim == 2 && gdim == 3) TRY(raw_orient_surface(m));
  cx *c;
  dkho_status s = cx_build(&c, gdim, m->points, m->x, dim, m->part[dim].n, m->part[dim].vert, CX_LEX);
  if (s == DKHO_OK) s = raw_labels(m, c);
  if (s != DKHO_OK) {
    cx_free(c);
    return s == DKHO_E_MEMORY ? s : fail_prefix(s == DKHO_E_INPUT ? DKHO_E_FORMAT : s, "%s", m->file);
  }
  *out = c;
  return DKHO_OK;
}
