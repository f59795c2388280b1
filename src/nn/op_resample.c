/* op_resample.c: multilinear interpolation between a regular grid and scattered points, both ways, differentiable in the
 * positions too (the cell a point lies in counts as fixed). What is scattered is summed in the order of the points by one
 * thread: these arrays are small. */
#include "nn/block.h"
#include "nn/op_grid.h"

#include <assert.h>
#include <string.h>
#include <tgmath.h>

static const real LEAST = (real)1e-6; /* of a cell's weight */

/* The 2^dim corners of the cell of one point: rows of the grid, weights, and slopes of the weights by each coordinate. */
typedef struct {
  int corners;
  int64_t cell[8];
  real weight[8], slope[8][3];
} stencil;

/* The 2^dim grid points round `at` in [0, 1]^dim with their multilinear weights Π (1 - f_a or f_a), and with slopes ∂weight/∂at. Points
 * outside are moved to the border. */
static void find_stencil(int dim, int points, const real *at, int slopes, stencil *s) {
  int64_t low[3];
  real part[3][2]; /* 1 - fraction, fraction */
  for (int a = 0; a < dim; a++) {
    real x = at[a] * (real)(points - 1), top = (real)(points - 1);
    x = x < 0 ? 0 : x > top ? top : x;
    low[a] = (int64_t)x;
    if (low[a] > points - 2) low[a] = points - 2;
    part[a][1] = x - (real)low[a];
    part[a][0] = 1 - part[a][1];
  }
  s->corners = 1 << dim;
  for (int c = 0; c < s->corners; c++) {
    s->cell[c] = 0;
    s->weight[c] = 1;
    for (int a = 0; a < dim; a++) {
      s->cell[c] = s->cell[c] * points + low[a] + (c >> a & 1);
      s->weight[c] *= part[a][c >> a & 1];
    }
    for (int a = 0; slopes && a < dim; a++) {
      s->slope[c][a] = (real)(points - 1) * (c >> a & 1 ? 1 : -1);
      for (int b = 0; b < dim; b++)
        if (b != a) s->slope[c][a] *= part[b][c >> b & 1];
    }
  }
}

typedef struct {
  int points;
} resample_attr;
static int points_of(const op *o) {
  return ((const resample_attr *)o->attr)->points;
}

/* Inputs grid, at. y_n = Σ_v w_nv grid_v */
static void sample_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int dim = (int)op_in(o, l, 1)->cols;
  int64_t ch = op_out(o, l, 0)->cols;
  stencil s;
  for (int64_t r = r0; r < r1; r++) {
    real *y = op_y(o, l, 0) + r * ch;
    find_stencil(dim, points_of(o), op_x(o, l, 1) + r * dim, 0, &s);
    memset(y, 0, (size_t)ch * sizeof *y);
    for (int c = 0; c < s.corners; c++)
      for (int64_t j = 0; j < ch; j++) y[j] += s.weight[c] * op_x(o, l, 0)[s.cell[c] * ch + j];
  }
}
static void sample_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, sample_rows);
}
/* g_grid_v += Σ_n w_nv g_n;  g_at_na += Σ_v ∂w_nv/∂at_a <g_n, grid_v> */
static void sample_backward(const op *o, const lane *l) {
  int dim = (int)op_in(o, l, 1)->cols;
  int64_t ch = op_out(o, l, 0)->cols;
  real *g_grid = op_gx(o, l, 0), *g_at = op_gx(o, l, 1);
  stencil s;
  for (int64_t r = 0; r < op_out(o, l, 0)->rows; r++) {
    const real *g = op_gy(o, l, 0) + r * ch;
    find_stencil(dim, points_of(o), op_x(o, l, 1) + r * dim, 1, &s);
    for (int c = 0; c < s.corners; c++) {
      const real *grid = op_x(o, l, 0) + s.cell[c] * ch;
      real dot = 0;
      for (int64_t j = 0; g_grid && j < ch; j++) g_grid[s.cell[c] * ch + j] += s.weight[c] * g[j];
      for (int64_t j = 0; j < ch; j++) dot += g[j] * grid[j];
      for (int a = 0; g_at && a < dim; a++) g_at[r * dim + a] += s.slope[c][a] * dot;
    }
  }
}
static const op_kind sample = {"sample", sample_forward, sample_backward, 3, 0};

static int64_t power(int64_t base, int64_t times) {
  int64_t p = 1;
  while (times-- > 0) p *= base;
  return p;
}

var op_sample(tape *t, var grid, int points, var at) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t dim = t->var[at].cols;
  assert((dim == 2 || dim == 3) && points >= 2 && t->var[grid].rows == power(points, dim));
  op *o = tape_op(t, &sample, 2, (const var[]){grid, at}, 1, (const int64_t[][2]){{t->var[at].rows, t->var[grid].cols}},
                  sizeof(resample_attr));
  if (!o) return VAR_NONE;
  ((resample_attr *)o->attr)->points = points;
  return o->out[0];
}

/* Inputs f, at; outputs the grid and the weight S_v of every cell. */
static void splat_forward(const op *o, const lane *l) {
  int dim = (int)op_in(o, l, 1)->cols;
  int64_t ch = op_out(o, l, 0)->cols, cells = op_out(o, l, 0)->rows;
  real *grid = op_y(o, l, 0), *sum = op_y(o, l, 1);
  stencil s;
  memset(grid, 0, (size_t)(cells * ch) * sizeof *grid);
  memset(sum, 0, (size_t)cells * sizeof *sum);
  for (int64_t r = 0; r < op_in(o, l, 0)->rows; r++) {
    const real *f = op_x(o, l, 0) + r * ch;
    find_stencil(dim, points_of(o), op_x(o, l, 1) + r * dim, 0, &s);
    for (int c = 0; c < s.corners; c++) {
      sum[s.cell[c]] += s.weight[c];
      for (int64_t j = 0; j < ch; j++) grid[s.cell[c] * ch + j] += s.weight[c] * f[j];
    }
  }
  for (int64_t v = 0; v < cells; v++)
    for (int64_t j = 0; j < ch; j++) grid[v * ch + j] /= fmax(sum[v], LEAST);
}
/* g_f_n += Σ_v w_nv g_v / S_v;  g_at_na += Σ_v ∂w_nv/∂at_a <g_v, f_n - grid_v> / S_v, without grid_v where S_v was raised. */
static void splat_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int dim = (int)op_in(o, l, 1)->cols;
  int64_t ch = op_out(o, l, 0)->cols;
  const real *grid = l->val[o->out[0]], *sum = l->val[o->out[1]], *gy = op_gy(o, l, 0);
  real *g_f = op_gx(o, l, 0), *g_at = op_gx(o, l, 1);
  stencil s;
  for (int64_t r = r0; r < r1; r++) {
    const real *f = op_x(o, l, 0) + r * ch;
    find_stencil(dim, points_of(o), op_x(o, l, 1) + r * dim, 1, &s);
    for (int c = 0; c < s.corners; c++) {
      const real *g = gy + s.cell[c] * ch, *v = grid + s.cell[c] * ch;
      real inverse = 1 / fmax(sum[s.cell[c]], LEAST), pull = sum[s.cell[c]] > LEAST ? 1 : 0, dot = 0;
      for (int64_t j = 0; g_f && j < ch; j++) g_f[r * ch + j] += s.weight[c] * inverse * g[j];
      for (int64_t j = 0; j < ch; j++) dot += g[j] * (f[j] - pull * v[j]);
      for (int a = 0; g_at && a < dim; a++) g_at[r * dim + a] += s.slope[c][a] * dot * inverse;
    }
  }
}
static void splat_backward(const op *o, const lane *l) {
  par_rows(o, l, op_in(o, l, 0)->rows, splat_rows_back);
}
static const op_kind splat = {"splat", splat_forward, splat_backward, 3, 3};

var op_splat(tape *t, var f, int points, var at) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t dim = t->var[at].cols;
  assert((dim == 2 || dim == 3) && points >= 2 && t->var[at].rows == t->var[f].rows);
  int64_t cells = power(points, dim);
  op *o = tape_op(t, &splat, 2, (const var[]){f, at}, 2, (const int64_t[][2]){{cells, t->var[f].cols}, {cells, 1}},
                  sizeof(resample_attr));
  if (!o) return VAR_NONE;
  ((resample_attr *)o->attr)->points = points;
  return o->out[0];
}
