/* blocks.c: named maps, forms and the maps of vertices; see blocks.h. Grids are in blocks_grid.c. */
#include "model/blocks.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *const block_form_names[] = {"auto", "plane", "surface", "volume", NULL};

const char *block_name(block_label out, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(out, sizeof(block_label), fmt, args);
  va_end(args);
  return out;
}

var block_affine(tape *t, const char *name, int n, const var *x) {
  block_label w, b;
  return op_affine(t, n, x, tape_param(t, block_name(w, "%s.w", name)), tape_param(t, block_name(b, "%s.b", name)));
}

var block_norm(tape *t, const char *name, var x) {
  block_label g, b;
  return op_norm(t, x, tape_param(t, block_name(g, "%s.g", name)), tape_param(t, block_name(b, "%s.b", name)));
}

var block_feature(const model_setup *s, const model_view *v, tape *t, int k, model_net *net) {
  return net->feature[k] = tape_input(t, v->c->n[k], s->features[k]);
}

void block_finish(const model_setup *s, const model_view *v, tape *t, var predicted, model_net *net) {
  net->predicted = predicted = geometry_impose(v->g, t, predicted, &net->given);
  if (t->status != DKHO_OK) return;
  tape_keep(t, predicted);
  net->target = tape_input(t, t->var[predicted].rows, t->var[predicted].cols);
  net->loss = op_rel_l2(t, predicted, net->target, s->loss_eps);
}

block_form block_form_of(const model_setup *s, int asked) {
  if (asked != FORM_AUTO) return (block_form)asked;
  return s->dim == 3 ? FORM_VOLUME : s->gdim == 3 && s->target == 0 ? FORM_SURFACE : FORM_PLANE;
}

int block_vertices_alone(int dim, int target) {
  (void)dim, (void)target;
  return 1;
}

const char *block_reader(const model_setup *s, int asked) {
  return block_form_of(s, asked) == FORM_PLANE ? "vertex" : "point";
}

int block_size(const model_setup *s, int which, block_form form, int plane, int surface, int volume) {
  int value = model_int(s, which);
  return value ? value : form == FORM_PLANE ? plane : form == FORM_SURFACE ? surface : volume;
}

/* n numbers in the tape's arena; NULL and a failed tape when there is no room. */
static real *take_reals(tape *t, int64_t n) {
  real *x = NULL;
  if (t->status == DKHO_OK && !ARENA_NEW(&t->mem, x, n)) t->status = DKHO_E_MEMORY;
  return x;
}

var block_points(tape *t, const cx *c, int k) {
  real *x = take_reals(t, 3 * c->n[k]);
  double *raw;
  if (!x) return VAR_NONE;
  if (!MEM_NEW(raw, c->n[k] * c->gdim)) {
    t->status = DKHO_E_MEMORY;
    return VAR_NONE;
  }
  cx_centroids(c, k, raw);
  for (int64_t i = 0; i < c->n[k]; i++)
    for (int a = 0; a < c->gdim; a++) x[3 * i + a] = (real)raw[i * c->gdim + a];
  mem_free(raw);
  return tape_const(t, c->n[k], 3, x);
}

static void destroy_sparse(void *m) {
  sparse_free(m);
}

const sparse *block_sparse(tape *t, int64_t rows, int64_t cols, const int64_t *ptr, const int32_t *col,
                           const double *val) {
  sparse *m = NULL;
  if (t->status != DKHO_OK) return NULL;
  t->status = sparse_create(&m, rows, cols, ptr, col, val);
  tape_own(t, destroy_sparse, m);
  return t->status == DKHO_OK ? m : NULL;
}

/* Room for a map with equally many entries in every row; 0 and a failed tape when there is none. */
static int take_rows(tape *t, int64_t rows, int64_t each, int64_t **ptr, double **val) {
  *ptr = NULL, *val = NULL;
  if (t->status != DKHO_OK) return 0;
  if (!MEM_NEW(*ptr, rows + 1) || !MEM_NEW(*val, rows * each)) {
    t->status = DKHO_E_MEMORY;
    return 0;
  }
  for (int64_t i = 0; i <= rows; i++) (*ptr)[i] = i * each;
  return 1;
}

var block_pool(tape *t, const cx *c, int k, var x) {
  if (k == 0) return x;
  int64_t *ptr;
  double *val;
  const sparse *m = NULL;
  if (take_rows(t, c->n[k], k + 1, &ptr, &val)) {
    for (int64_t i = 0; i < c->n[k] * (k + 1); i++) val[i] = 1.0 / (k + 1);
    m = block_sparse(t, c->n[k], c->n[0], ptr, c->vert[k], val);
  }
  mem_free(ptr);
  mem_free(val);
  return m ? op_sparse(t, m, 0, x) : VAR_NONE;
}

/* ---- neighbours within a radius: vertices sorted by the first coordinate, so that a window of them is searched ---- */

typedef struct {
  double x;
  int32_t i;
} ranked;

static int by_rank(const void *a, const void *b) {
  const ranked *p = a, *q = b;
  if (p->x != q->x) return p->x < q->x ? -1 : 1;
  return p->i < q->i ? -1 : p->i > q->i;
}
static int by_index(const void *a, const void *b) {
  return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b;
}

typedef struct {
  const cx *c;
  double radius;
  int strict;
  const ranked *order;
} search;

static int is_near(const search *s, int32_t i, int32_t j) {
  double square = 0, r2 = s->radius * s->radius;
  for (int a = 0; a < s->c->gdim; a++) {
    double d = s->c->x[(int64_t)i * s->c->gdim + a] - s->c->x[(int64_t)j * s->c->gdim + a];
    square += d * d;
  }
  return s->strict ? square < r2 : square <= r2;
}

/* The neighbours of the vertex at place p, ascending, into list unless NULL; returns how many there are. */
static int64_t list_near(const search *s, int64_t p, int32_t *list) {
  int64_t found = 0, n = s->c->n[0];
  int32_t i = s->order[p].i;
  for (int step = -1; step <= 1; step += 2)
    for (int64_t q = p + step; q >= 0 && q < n && fabs(s->order[q].x - s->order[p].x) <= s->radius; q += step) {
      if (!is_near(s, i, s->order[q].i)) continue;
      if (list) list[found] = s->order[q].i;
      found++;
    }
  if (list) qsort(list, (size_t)found, sizeof *list, by_index);
  return found;
}

static const sparse *fill_neighbours(tape *t, const search *s, int64_t *ptr) {
  int64_t n = s->c->n[0];
  int32_t *col = NULL;
  double *val = NULL;
  const sparse *m = NULL;
  for (int64_t p = 0; p < n; p++) ptr[s->order[p].i + 1] = list_near(s, p, NULL);
  for (int64_t i = 0; i < n; i++) ptr[i + 1] += ptr[i];
  if (MEM_NEW(col, ptr[n]) && MEM_NEW(val, ptr[n])) {
    for (int64_t p = 0; p < n; p++) {
      int64_t i = s->order[p].i, count = list_near(s, p, col + ptr[i]);
      for (int64_t q = 0; q < count; q++) val[ptr[i] + q] = 1 / (s->strict ? (double)count + 1e-6 : (double)count);
    }
    m = block_sparse(t, n, n, ptr, col, val);
  } else
    t->status = DKHO_E_MEMORY;
  mem_free(col);
  mem_free(val);
  return m;
}

const sparse *block_neighbours(tape *t, const cx *c, double radius, int strict) {
  ranked *order = NULL;
  int64_t *ptr = NULL;
  const sparse *m = NULL;
  if (t->status != DKHO_OK) return NULL;
  if (MEM_NEW(order, c->n[0]) && MEM_NEW(ptr, c->n[0] + 1)) {
    for (int64_t i = 0; i < c->n[0]; i++) order[i] = (ranked){c->x[i * c->gdim], (int32_t)i};
    qsort(order, (size_t)c->n[0], sizeof *order, by_rank);
    m = fill_neighbours(t, &(search){c, radius, strict, order}, ptr);
  } else
    t->status = DKHO_E_MEMORY;
  mem_free(order);
  mem_free(ptr);
  return m;
}

/* ---- directed edges ---- */

typedef struct {
  int32_t to, from, length; /* length: number of the undirected edge */
} arrow;

static int by_receiver(const void *a, const void *b) {
  const arrow *p = a, *q = b;
  if (p->to != q->to) return p->to < q->to ? -1 : 1;
  return p->from < q->from ? -1 : p->from > q->from;
}

static void fill_shape(const cx *c, int64_t count, const arrow *list, real *out) {
  for (int64_t e = 0; e < count; e++) {
    const double *a = c->x + (int64_t)list[e].from * c->gdim, *b = c->x + (int64_t)list[e].to * c->gdim;
    double length = c->gdim == 2 ? c->measure[1][list[e].length] : 1;
    for (int j = 0; j < c->gdim; j++) out[3 * e + j] = (real)((b[j] - a[j]) / length);
    if (c->gdim == 2) out[3 * e + 2] = (real)length;
  }
}

/* The two maps from the sorted list; col and val have two entries per directed edge. */
static void fill_edges(tape *t, const cx *c, int64_t count, const arrow *list, int64_t *ptr, int32_t *col, double *val,
                       block_edges *out) {
  for (int64_t e = 0; e < count; e++) {
    ptr[e] = 2 * e;
    col[2 * e] = list[e].from;
    col[2 * e + 1] = (int32_t)c->n[0] + list[e].to;
  }
  ptr[count] = 2 * count;
  for (int64_t p = 0; p < 2 * count; p++) val[p] = 1;
  out->ends = block_sparse(t, count, 2 * c->n[0], ptr, col, val);
  for (int64_t e = 0; e < count; e++) col[e] = (int32_t)e;
  for (int64_t i = 0, e = 0; i <= c->n[0]; i++) {
    while (e < count && list[e].to < i) e++;
    ptr[i] = e;
  }
  out->gather = block_sparse(t, c->n[0], count, ptr, col, val);
}

block_edges block_directed_edges(tape *t, const cx *c) {
  int64_t count = 2 * c->n[1], *ptr = NULL;
  arrow *list = NULL;
  int32_t *col = NULL;
  double *val = NULL;
  block_edges out = {.shape = VAR_NONE};
  real *shape = take_reals(t, 3 * count);
  assert(c->dim >= 1 && count >= c->n[0]);
  if (shape && MEM_NEW(list, count) && MEM_NEW(ptr, count + 1) && MEM_NEW(col, 2 * count) && MEM_NEW(val, 2 * count)) {
    for (int64_t e = 0; e < c->n[1]; e++) {
      int32_t tail = c->vert[1][2 * e], head = c->vert[1][2 * e + 1];
      list[2 * e] = (arrow){head, tail, (int32_t)e};
      list[2 * e + 1] = (arrow){tail, head, (int32_t)e};
    }
    qsort(list, (size_t)count, sizeof *list, by_receiver);
    fill_shape(c, count, list, shape);
    fill_edges(t, c, count, list, ptr, col, val, &out);
    out.shape = tape_const(t, count, 3, shape);
  } else if (t->status == DKHO_OK)
    t->status = DKHO_E_MEMORY;
  mem_free(list);
  mem_free(ptr);
  mem_free(col);
  mem_free(val);
  return out;
}
