/* raw_labels.c: groups of elements become labels of simplices. */
#include "mesh/raw.h"
#include "mesh/cx_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A group that occurs, and its label. */
typedef struct {
  int32_t dim, tag, label;
} group;

typedef struct {
  int count; /* of groups */
  group *group;
  int labels; /* of names, "interior" included */
  const char **name;
  char (*spare)[32]; /* room for names we make up */
} table;

static int by_group(const void *a, const void *b) {
  const group *p = a, *q = b;
  if (p->dim != q->dim) return p->dim < q->dim ? -1 : 1;
  return (p->tag > q->tag) - (p->tag < q->tag);
}

/* The groups of degree k, ascending by tag, each once. */
static dkho_status gather_groups(const raw *m, int k, table *t) {
  const raw_part *p = &m->part[k];
  int64_t n = 0;
  int32_t last = 0;
  group *all;
  if (!MEM_NEW(all, p->n)) return DKHO_E_MEMORY;
  for (int64_t i = 0; i < p->n; i++) {
    if (p->tag[i] == 0 || p->tag[i] == last) continue; /* elements come in runs of one tag */
    last = p->tag[i];
    all[n++] = (group){k, last, 0};
  }
  qsort(all, (size_t)n, sizeof *all, by_group);
  for (int64_t i = 0; i < n; i++) {
    if (i > 0 && all[i].tag == all[i - 1].tag) continue;
    if (t->count == CX_LABELS_MAX - 1)
      m->report->count[MESH_GROUPS]++;
    else
      t->group[t->count++] = all[i];
  }
  mem_free(all);
  return DKHO_OK;
}

/* Groups of one name share a label: what they label differs in degree. */
static void name_group(const raw *m, table *t, group *g) {
  static const char *const noun[CX_DEGREES] = {"point", "curve", "surface", "volume"};
  const char *name = NULL;
  for (int any = 0; any < 2 && !name; any++) /* a name for every dimension gives way to one for this */
    for (int i = 0; i < m->names && !name; i++)
      if (m->name[i].dim == (any ? -1 : g->dim) && m->name[i].tag == g->tag) name = m->name[i].name;
  if (!name) {
    assert(0 <= g->dim && g->dim < CX_DEGREES);
    snprintf(t->spare[t->labels], sizeof *t->spare, "%s %d", noun[g->dim], g->tag);
    name = t->spare[t->labels];
  }
  for (g->label = 1; g->label < t->labels; g->label++)
    if (strcmp(t->name[g->label], name) == 0) return;
  t->name[t->labels++] = name;
}

static dkho_status make_table(const raw *m, int dim, table *t) {
  if (!MEM_NEW(t->group, CX_LABELS_MAX) || !MEM_NEW(t->name, CX_LABELS_MAX) || !MEM_NEW(t->spare, CX_LABELS_MAX))
    return DKHO_E_MEMORY;
  t->name[0] = "interior";
  t->labels = 1;
  if (m->exact) {
    if (m->names >= CX_LABELS_MAX) return fail(DKHO_E_FORMAT, "more than %d labels", CX_LABELS_MAX - 1);
    for (int i = 0; i < m->names; i++) t->name[t->labels++] = m->name[i].name;
    return DKHO_OK;
  }
  for (int k = 0; k <= dim; k++) TRY(gather_groups(m, k, t));
  for (int i = 0; i < t->count; i++) name_group(m, t, &t->group[i]);
  return DKHO_OK;
}

static dkho_status label_of(const raw *m, const table *t, int k, int64_t element, int32_t *out) {
  int32_t tag = m->part[k].tag[element];
  *out = 0;
  if (tag == 0) return DKHO_OK;
  if (m->exact) {
    *out = tag;
    if (tag < t->labels) return DKHO_OK;
    return fail(DKHO_E_FORMAT, "%s %lld: label %d, but only %d have names", cx_noun(k), (long long)element, tag,
                t->labels - 1);
  }
  group key = {k, tag, 0};
  const group *hit = bsearch(&key, t->group, (size_t)t->count, sizeof key, by_group);
  *out = hit ? hit->label : 0;
  return DKHO_OK;
}

/* The simplex with these vertices, or -1: vert[k] is sorted, because the complex was built with CX_LEX. */
static int64_t find_simplex(const cx *c, int k, const int32_t *vert) {
  int32_t v[CX_DEGREES];
  memcpy(v, vert, (size_t)(k + 1) * sizeof *v);
  cx_sort_vertices(k, v);
  if (v[0] < 0) return -1;
  if (k == 0) return v[0];
  for (int64_t lo = 0, hi = c->n[k] - 1; lo <= hi;) {
    int64_t mid = lo + (hi - lo) / 2;
    const int32_t *w = c->vert[k] + mid * (k + 1);
    int j = 0;
    while (j < k && w[j] == v[j]) j++;
    if (w[j] == v[j]) return mid;
    if (w[j] < v[j])
      lo = mid + 1;
    else
      hi = mid - 1;
  }
  return -1;
}

/* Labels the faces of simplex i that have none yet. */
static void close_down(const cx *c, int k, int64_t i, int32_t value, int32_t *const *label) {
  for (int j = 0; k > 0 && j <= k; j++) {
    int32_t f = c->face[k][i * (k + 1) + j];
    if (label[k - 1][f] == 0) label[k - 1][f] = value;
    close_down(c, k - 1, f, value, label);
  }
}

/* Elements of degree k < dim: their simplex takes the label; in a second sweep its faces do, where still free. So a
 * simplex takes the label of the group of its own degree before that of a group it only borders on. */
static dkho_status label_faces(const raw *m, const table *t, const cx *c, int k, int32_t *const *label, int64_t *lost) {
  for (int sweep = 0; sweep < (m->exact ? 1 : 2); sweep++) {
    for (int64_t i = 0; i < m->part[k].n; i++) {
      int32_t value;
      TRY(label_of(m, t, k, i, &value));
      int64_t at = find_simplex(c, k, m->part[k].vert + i * (k + 1));
      if (sweep == 0) *lost += at < 0;
      if (at < 0 || value == 0) continue;
      if (sweep == 0 && label[k][at] == 0) label[k][at] = value;
      if (sweep == 1) close_down(c, k, at, value, label);
    }
  }
  return DKHO_OK;
}

static dkho_status fill_labels(const raw *m, const table *t, cx *c, int32_t *const *label) {
  int64_t lost = 0;
  for (int k = 0; k < c->dim; k++) TRY(label_faces(m, t, c, k, label, &lost));
  for (int64_t i = 0; i < c->n[c->dim]; i++) TRY(label_of(m, t, c->dim, i, &label[c->dim][i]));
  m->report->count[MESH_LOOSE] += lost;
  TRY(cx_name_labels(c, t->labels, t->name));
  for (int k = 0; k <= c->dim; k++) {
    int used = 0;
    assert(label[k]);
    for (int64_t i = 0; i < c->n[k]; i++) used |= label[k][i] != 0;
    if (used) TRY(cx_set_labels(c, k, label[k]));
  }
  return DKHO_OK;
}

dkho_status raw_labels(const raw *m, cx *c) {
  table t = {0};
  int32_t *label[CX_DEGREES] = {0};
  dkho_status s = make_table(m, c->dim, &t);
  for (int k = 0; s == DKHO_OK && k <= c->dim; k++)
    if (!MEM_NEW(label[k], c->n[k])) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) s = fill_labels(m, &t, c, label);
  for (int k = 0; k < CX_DEGREES; k++) mem_free(label[k]);
  mem_free(t.group);
  mem_free(t.name);
  mem_free(t.spare);
  return s;
}
