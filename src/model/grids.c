/* grids.c: see grids.h. */
#include "model/grids.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const grid_behaviour_names[] = {"repaired", "published", NULL};

enum { G = GRID_POINTS, CORNERS = 8 };

/* Positions of degree k and the box of the vertices. */
typedef struct {
  int gdim;
  int64_t n;
  double *x; /* n × gdim, owned by the caller */
  double lo[3], hi[3];
} cloud;

static dkho_status cloud_open(cloud *p, const cx *c, int k) {
  *p = (cloud){.gdim = c->gdim, .n = c->n[k]};
  if (!MEM_NEW(p->x, p->n * p->gdim)) return DKHO_E_MEMORY;
  cx_centroids(c, k, p->x);
  for (int a = 0; a < p->gdim; a++) {
    p->lo[a] = INFINITY, p->hi[a] = -INFINITY;
    for (int64_t i = 0; i < c->n[0]; i++) {
      p->lo[a] = fmin(p->lo[a], c->x[i * c->gdim + a]);
      p->hi[a] = fmax(p->hi[a], c->x[i * c->gdim + a]);
    }
  }
  return DKHO_OK;
}

static int nearest_index(double unit) {
  double i = nearbyint(unit * (G - 1));
  return (int)fmin(fmax(i, 0), G - 1);
}

/* Row y, column x. */
static int32_t planar_cell(const cloud *p, int64_t i, int published) {
  int at[2];
  for (int a = 0; a < 2; a++) {
    double lo = published ? -1 : p->lo[a], hi = published ? 1 : p->hi[a];
    at[a] = nearest_index(hi > lo ? (p->x[i * p->gdim + a] - lo) / (hi - lo) : 0);
  }
  return (int32_t)(G * at[1] + at[0]);
}

/* 15 p̂ by axis */
static void spatial_place(const cloud *p, int64_t i, double at[3]) {
  for (int a = 0; a < 3; a++)
    at[a] = a < p->gdim ? (G - 1) * (p->x[i * p->gdim + a] - p->lo[a]) / (p->hi[a] - p->lo[a] + 1e-6) : 0;
}
static int32_t spatial_cell(const cloud *p, int64_t i) {
  double at[3];
  spatial_place(p, i, at);
  return (int32_t)((G * (int)at[0] + (int)at[1]) * G + (int)at[2]);
}

/* Compressed rows being filled, at most `room` entries. */
typedef struct {
  int64_t rows, cols, *ptr;
  int32_t *col;
  double *val;
} rows_draft;

static dkho_status draft_open(rows_draft *d, int64_t rows, int64_t cols, int64_t room) {
  *d = (rows_draft){.rows = rows, .cols = cols};
  return MEM_NEW(d->ptr, rows + 1) && MEM_NEW(d->col, room) && MEM_NEW(d->val, room) ? DKHO_OK : DKHO_E_MEMORY;
}
static const sparse *draft_close(rows_draft *d, tape *t, dkho_status s) {
  const sparse *m = NULL;
  if (t->status == DKHO_OK) t->status = s;
  if (s == DKHO_OK) m = block_sparse(t, d->rows, d->cols, d->ptr, d->col, d->val);
  mem_free(d->ptr);
  mem_free(d->col);
  mem_free(d->val);
  return m;
}

/* Cells × vertices from the cell of every vertex: all of a cell's vertices with equal weights, or the last alone. */
static void fill_by_cell(rows_draft *d, int64_t n, const int32_t *cell, int last_alone) {
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) d->ptr[cell[i] + 1]++;
  for (int64_t v = 0; v < d->rows; v++) d->ptr[v + 1] += d->ptr[v];
  for (int64_t i = 0; i < n; i++) { /* ptr[v] moves to the end of row v and is set back below */
    int64_t p = d->ptr[cell[i]]++;
    d->col[p] = (int32_t)i;
  }
  for (int64_t v = d->rows; v > 0; v--) d->ptr[v] = d->ptr[v - 1];
  d->ptr[0] = 0;
  for (int64_t v = 0, begin = 0; v < d->rows; v++) {
    int64_t end = d->ptr[v + 1], count = end - begin;
    for (int64_t p = last_alone && count ? end - 1 : begin; p < end; p++) {
      d->col[at] = d->col[p];
      d->val[at++] = last_alone ? 1 : 1 / (double)count;
    }
    begin = end;
    d->ptr[v + 1] = at;
  }
}

static const sparse *map_to_cells(tape *t, const cloud *p, int dim, int published) {
  int64_t cells = dim == 2 ? G * G : G * G * G;
  rows_draft d;
  int32_t *cell = NULL;
  dkho_status s = draft_open(&d, cells, p->n, p->n);
  if (s == DKHO_OK && !MEM_NEW(cell, p->n)) s = DKHO_E_MEMORY;
  if (s == DKHO_OK) {
    for (int64_t i = 0; i < p->n; i++) cell[i] = dim == 2 ? planar_cell(p, i, published) : spatial_cell(p, i);
    fill_by_cell(&d, p->n, cell, dim == 3);
  }
  mem_free(cell);
  return draft_close(&d, t, s);
}

/* The eight corners around `at`, axis 0 slowest. */
static void fill_trilinear(rows_draft *d, int64_t i, const double at[3]) {
  int low[3];
  double part[3];
  for (int a = 0; a < 3; a++) {
    low[a] = (int)at[a] > G - 2 ? G - 2 : (int)at[a];
    part[a] = at[a] - low[a];
  }
  d->ptr[i + 1] = d->ptr[i];
  for (int q = 0; q < CORNERS; q++) {
    int64_t cell = 0, p = d->ptr[i + 1]++;
    d->val[p] = 1;
    for (int a = 0; a < 3; a++) {
      int up = q >> (2 - a) & 1;
      cell = cell * G + low[a] + up;
      d->val[p] *= up ? part[a] : 1 - part[a];
    }
    d->col[p] = (int32_t)cell;
  }
}

static const sparse *map_from_cells(tape *t, const cloud *p, int dim, int published) {
  rows_draft d;
  dkho_status s = draft_open(&d, p->n, dim == 2 ? G * G : G * G * G, CORNERS * p->n);
  for (int64_t i = 0; s == DKHO_OK && i < p->n; i++) {
    if (dim == 2) {
      d.ptr[i + 1] = i + 1;
      d.col[i] = planar_cell(p, i, published);
      d.val[i] = 1;
      continue;
    }
    double at[3];
    spatial_place(p, i, at);
    if (published) {
      double first = at[0];
      at[0] = at[2];
      at[2] = first;
    }
    fill_trilinear(&d, i, at);
  }
  return draft_close(&d, t, s);
}

static var occupied_cells(tape *t, const sparse *there) {
  real *x;
  if (t->status != DKHO_OK) return VAR_NONE;
  if (!ARENA_NEW(&t->mem, x, there->a.rows)) {
    t->status = DKHO_E_MEMORY;
    return VAR_NONE;
  }
  for (int64_t v = 0; v < there->a.rows; v++) x[v] = there->a.ptr[v + 1] > there->a.ptr[v];
  return tape_const(t, there->a.rows, 1, x);
}

grid_maps grid_maps_make(tape *t, const cx *c, int k, int dim, int published) {
  grid_maps m = {.dim = dim, .occupied = VAR_NONE};
  cloud vertex = {0}, target = {0};
  if (t->status != DKHO_OK) return m;
  t->status = cloud_open(&vertex, c, 0);
  if (t->status == DKHO_OK) t->status = cloud_open(&target, c, k);
  if (t->status == DKHO_OK) m.there = map_to_cells(t, &vertex, dim, published);
  if (t->status == DKHO_OK) m.back = map_from_cells(t, &target, dim, published);
  if (dim == 3) m.occupied = occupied_cells(t, m.there);
  mem_free(vertex.x);
  mem_free(target.x);
  return m;
}

void grid_layers_declare(const grid_layers *g, params *p) {
  block_label n;
  int64_t modes = 1;
  for (int d = 0; d < g->dim; d++) modes *= g->modes;
  for (int l = 0; l < g->layers; l++) {
    params_add_modes(p, block_name(n, "%slayer%d.spec.w", g->prefix, l), modes << (g->dim - 1), g->width, g->width);
    params_add_affine(p, block_name(n, "%slayer%d.local", g->prefix, l), g->width, g->width, 1);
    params_add_batch_norm(p, block_name(n, "%slayer%d.norm", g->prefix, l), g->width);
  }
}

static void destroy_spectral(void *s) {
  spectral_free(s);
}

var grid_layers_record(const grid_layers *g, tape *t, var h) {
  block_label n;
  spectral *s = NULL;
  if (t->status != DKHO_OK) return VAR_NONE;
  t->status = spectral_create(&s, g->dim, G, g->modes);
  tape_own(t, destroy_spectral, s);
  for (int l = 0; t->status == DKHO_OK && l < g->layers; l++) {
    var wide = op_spectral(t, s, h, tape_param(t, block_name(n, "%slayer%d.spec.w", g->prefix, l)));
    var local = block_affine(t, block_name(n, "%slayer%d.local", g->prefix, l), 1, &h);
    h = op_batch_norm(t, block_name(n, "%slayer%d.norm", g->prefix, l), op_axpy(t, 1, wide, local));
    if (l + 1 < g->layers) h = op_fn(t, FN_GELU, h);
  }
  return h;
}

void grid_net_declare(const grid_layers *g, int in, int out, params *p) {
  block_label n;
  params_add_affine(p, block_name(n, "%slift", g->prefix), in, g->width, 1);
  grid_layers_declare(g, p);
  params_add_affine(p, block_name(n, "%sproj1", g->prefix), g->width, g->width, 1);
  params_add_affine(p, block_name(n, "%sproj2", g->prefix), g->width, out, 1);
}

var grid_net_record(const grid_layers *g, tape *t, int n, const var *x) {
  block_label name;
  var h = grid_layers_record(g, t, block_affine(t, block_name(name, "%slift", g->prefix), n, x));
  h = op_fn(t, FN_GELU, block_affine(t, block_name(name, "%sproj1", g->prefix), 1, &h));
  return block_affine(t, block_name(name, "%sproj2", g->prefix), 1, &h);
}
