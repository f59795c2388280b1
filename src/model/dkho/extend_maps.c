/* extend_maps.c: the fixed maps of extend.h: the order of the simplices, transports between degrees, low modes. */
#include "model/dkho/extend.h"
#include "model/dkho/fused.h"

#include <math.h>

static void destroy_sparse(void *m) {
  sparse_free(m);
}
static void destroy_geometry(void *g) {
  geometry_free(g);
}

/* From compressed rows; the tape becomes its owner. */
static dkho_status own_sparse(tape *t, int64_t rows, int64_t cols, const int64_t *ptr, const int32_t *col,
                              const double *val, const sparse **out) {
  sparse *m = NULL;
  dkho_status s = sparse_create(&m, rows, cols, ptr, col, val);
  if (s == DKHO_OK) tape_own(t, destroy_sparse, m);
  *out = m;
  return s;
}

/* y_i = x_{order[i]} */
static dkho_status make_order(tape *t, int64_t n, const int32_t *order, const sparse **out) {
  int64_t *ptr = NULL;
  double *one = NULL;
  dkho_status s = DKHO_E_MEMORY;
  if (MEM_NEW(ptr, n + 1) && MEM_NEW(one, n)) {
    for (int64_t i = 0; i < n; i++) ptr[i + 1] = i + 1, one[i] = 1;
    s = own_sparse(t, n, n, ptr, order, one, out);
  }
  mem_free(ptr);
  mem_free(one);
  return s;
}

static dkho_status prepare_order(const dkho_config *f, const geometry *g, tape *t, extension_maps *out) {
  int32_t *order[CX_DEGREES], *place[CX_DEGREES];
  fused_mesh mesh = {0};
  geometry *held = NULL;
  arena work = {0};
  for (int k = 0; k + 1 < f->degrees; k++) {
    mesh.face[k + 1] = g->d[k]->a.col;
    mesh.coptr[k] = g->d[k]->at.ptr, mesh.coface[k] = g->d[k]->at.col;
  }
  dkho_status s = order_simplices(&mesh, f->degrees, g->n, &t->mem, order, &work, place);
  if (s == DKHO_OK) s = geometry_renumber(&held, g, f->degrees, order, place);
  arena_free(&work);
  TRY(s);
  tape_own(t, destroy_geometry, held);
  out->g = held;
  for (int k = 0; k < f->degrees; k++) {
    out->held[k] = order[k];
    TRY(make_order(t, g->n[k], order[k], &out->order[k]));
  }
  return t->status;
}

/* The entries of one crossing, row by row. */
typedef struct {
  int64_t *ptr, at;
  int32_t *col;
  double *val;
} entries;

static void add_entry(entries *e, int64_t col, double val) {
  e->col[e->at] = (int32_t)col;
  e->val[e->at++] = val;
}

/* Part q (signed 1, unsigned 2) of the rows that `from` gives the receiving simplices: its weights, or the mean's. */
static double part_weight(const sparse_half *from, int64_t i, int64_t p, int part) {
  return part == DKHO_EXCHANGE_SIGNED ? (double)from->val[p] : 1 / (double)(from->ptr[i + 1] - from->ptr[i]);
}

/* What row i takes from its neighbours in place q of S: with `faces` those of the q-th sign with weight one, else all with the weight of
 * the q-th part of `parts`. */
static void add_row(entries *e, const sparse_half *from, const crossing *c, dkho_exchange parts, int64_t i, int q) {
  int wide = c->maps_first ? (parts == DKHO_EXCHANGE_BOTH ? 2 : 1) : 1;
  int part = parts == DKHO_EXCHANGE_BOTH ? q + 1 : (int)parts;
  for (int64_t p = from->ptr[i]; p < from->ptr[i + 1]; p++) {
    int64_t col = (int64_t)from->col[p] * wide + (c->maps_first ? q : 0);
    if (!c->faces)
      add_entry(e, col, part_weight(from, i, p, part));
    else if ((from->val[p] < 0) == q)
      add_entry(e, col, 1);
  }
}

/* Of `others` simplices of the neighbouring degree; maps_first is set. */
static dkho_status make_crossing(tape *t, const sparse_half *from, int64_t others, dkho_exchange parts, int down,
                                 crossing *c) {
  int both = parts == DKHO_EXCHANGE_BOTH, count = both ? 2 : 1;
  int64_t n = from->rows, nnz = from->ptr[n] * count, row = 0;
  entries e = {0};
  dkho_status s = DKHO_E_MEMORY;
  c->faces = both && down ? (int)(from->ptr[1] - from->ptr[0]) : 0;
  if (MEM_NEW(e.ptr, n * count + 1) && MEM_NEW(e.col, nnz) && MEM_NEW(e.val, nnz)) {
    for (int64_t i = 0; i < n; i++)
      for (int q = 0; q < count; q++) {
        add_row(&e, from, c, parts, i, q);
        if (!c->maps_first || q + 1 == count) e.ptr[++row] = e.at;
      }
    s = own_sparse(t, row, others * (c->maps_first ? count : 1), e.ptr, e.col, e.val, &c->m);
  }
  mem_free(e.ptr);
  mem_free(e.col);
  mem_free(e.val);
  return s;
}

/* Maps of whole states stand on the side with fewer simplices; narrow ones travel narrow. */
static int maps_first(const dkho_config *f, int64_t here, int64_t there) {
  return there < here && !dkho_narrows(f);
}

/* d_{k-1} and δ_{k+1} and means over the same neighbours. */
static dkho_status prepare_exchange(const dkho_config *f, tape *t, extension_maps *out) {
  const geometry *g = out->g;
  for (int k = 0; k + 1 < f->degrees; k++) {
    out->below[k + 1].maps_first = maps_first(f, g->n[k + 1], g->n[k]);
    out->above[k].maps_first = maps_first(f, g->n[k], g->n[k + 1]);
    const sparse_half *up = g->delta[k + 1] ? &g->delta[k + 1]->a : &g->d[k]->at;
    TRY(make_crossing(t, &g->d[k]->a, g->n[k], f->exchange, 1, &out->below[k + 1]));
    TRY(make_crossing(t, up, g->n[k + 1], f->exchange, 0, &out->above[k]));
  }
  return DKHO_OK;
}

/* Column j of the basis into both matrices, with entries of order 1. */
static void fill_mode(const double *vec, const double *star, int64_t n, const int32_t *held, int j, int modes,
                      real *analyse, real *synth) {
  double size = sqrt((double)n);
  for (int64_t i = 0; i < n; i++) {
    int64_t from = held ? held[i] : i;
    analyse[i * modes + j] = (real)(star[from] * vec[from] / size);
    synth[i * modes + j] = (real)(vec[from] * size);
  }
}

/* Harmonic fields first, then the lowest others; degrees with fewer leave columns of zeros. */
static dkho_status fill_degree(const dkho_config *f, const dec *metric, int k, const dec_basis *low,
                               const int32_t *held, real *analyse, real *synth) {
  int64_t n = metric->c->n[k];
  int modes = f->spectral, at = 0;
  dec_basis kernel = {0};
  TRY(dec_harmonic(metric, k, &kernel));
  for (int64_t j = 0; j < kernel.count && at < modes; j++)
    fill_mode(kernel.vec + j * n, metric->star[k], n, held, at++, modes, analyse, synth);
  for (int64_t j = 0; j < low->count && at < modes; j++)
    fill_mode(low->vec + j * n, metric->star[k], n, held, at++, modes, analyse, synth);
  dec_basis_free(&kernel);
  return DKHO_OK;
}

dkho_status extend_modes(const dkho_config *f, const dec *metric, const int32_t *const *held, arena *mem,
                         real *analyse[CX_DEGREES], real *synth[CX_DEGREES]) {
  dec_basis low[CX_DEGREES] = {0};
  dkho_status s = dec_spectrum(metric, f->degrees - 1, f->spectral, low);
  for (int k = 0; s == DKHO_OK && k < f->degrees; k++) {
    int64_t count = metric->c->n[k] * f->spectral;
    s = ARENA_NEW(mem, analyse[k], count) && ARENA_NEW(mem, synth[k], count) ? DKHO_OK : DKHO_E_MEMORY;
    if (s == DKHO_OK) s = fill_degree(f, metric, k, &low[k], held ? held[k] : NULL, analyse[k], synth[k]);
  }
  for (int k = 0; k < CX_DEGREES; k++) dec_basis_free(&low[k]);
  return s;
}

static dkho_status prepare_modes(const dkho_config *f, const dec *metric, tape *t, extension_maps *out) {
  real *analyse[CX_DEGREES], *synth[CX_DEGREES];
  TRY(extend_modes(f, metric, out->held, &t->mem, analyse, synth));
  for (int k = 0; k < f->degrees; k++) {
    out->analyse[k] = tape_const(t, metric->c->n[k], f->spectral, analyse[k]);
    out->synthesise[k] = tape_const(t, metric->c->n[k], f->spectral, synth[k]);
  }
  return t->status;
}

dkho_status extend_prepare(const dkho_config *f, const dec *metric, const geometry *g, tape *t, extension_maps *out) {
  out->g = g;
  if (f->exchange == DKHO_EXCHANGE_OFF && !f->spectral) return DKHO_OK;
  TRY(prepare_order(f, g, t, out));
  if (f->exchange != DKHO_EXCHANGE_OFF) TRY(prepare_exchange(f, t, out));
  return f->spectral ? prepare_modes(f, metric, t, out) : DKHO_OK;
}

var extend_enter(const extension_maps *m, tape *t, int k, var x) {
  return x == VAR_NONE || !m->order[k] ? x : op_sparse(t, m->order[k], 0, x);
}

var extend_leave(const extension_maps *m, tape *t, int k, var x) {
  return x == VAR_NONE || !m->order[k] ? x : op_sparse(t, m->order[k], 1, x);
}
