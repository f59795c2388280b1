/* op_nearest.c: means of scattered values in the nearest cells of a grid. Rounding has no derivative: none goes to the positions. */
#include "nn/block.h"
#include "nn/op_grid.h"

#include <assert.h>
#include <string.h>
#include <tgmath.h>

typedef struct {
  int points;
} nearest_attr;

static int64_t nearest_cell(const op *o, const lane *l, int64_t r) {
  int dim = (int)op_in(o, l, 1)->cols, points = ((const nearest_attr *)o->attr)->points;
  const real *at = op_x(o, l, 1) + r * dim;
  int64_t cell = 0;
  for (int a = 0; a < dim; a++) {
    real i = nearbyint(at[a] * (real)(points - 1)), top = (real)(points - 1);
    cell = cell * points + (int64_t)(i < 0 ? 0 : i > top ? top : i);
  }
  return cell;
}

/* Inputs f, at; outputs the grid and the number of points in every cell. */
static void nearest_forward(const op *o, const lane *l) {
  int64_t ch = op_out(o, l, 0)->cols, cells = op_out(o, l, 0)->rows;
  real *grid = op_y(o, l, 0), *count = op_y(o, l, 1);
  memset(grid, 0, (size_t)(cells * ch) * sizeof *grid);
  memset(count, 0, (size_t)cells * sizeof *count);
  for (int64_t r = 0; r < op_in(o, l, 0)->rows; r++) {
    int64_t v = nearest_cell(o, l, r);
    count[v] += 1;
    for (int64_t j = 0; j < ch; j++) grid[v * ch + j] += op_x(o, l, 0)[r * ch + j];
  }
  for (int64_t v = 0; v < cells; v++)
    for (int64_t j = 0; count[v] > 1 && j < ch; j++) grid[v * ch + j] /= count[v];
}
/* g_f_n += g_v / count_v for the cell v of point n */
static void nearest_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t ch = op_out(o, l, 0)->cols;
  const real *count = l->val[o->out[1]], *gy = op_gy(o, l, 0);
  real *gf = op_gx(o, l, 0);
  for (int64_t r = r0; gf && r < r1; r++) {
    int64_t v = nearest_cell(o, l, r);
    for (int64_t j = 0; j < ch; j++) gf[r * ch + j] += gy[v * ch + j] / count[v];
  }
}
static void nearest_backward(const op *o, const lane *l) {
  par_rows(o, l, op_in(o, l, 0)->rows, nearest_rows_back);
}
static const op_kind nearest = {"nearest", nearest_forward, nearest_backward, 2, 2};

var op_nearest(tape *t, var f, int points, var at) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t dim = t->var[at].cols, cells = points;
  assert(points >= 2 && t->var[at].rows == t->var[f].rows);
  for (int64_t a = 1; a < dim; a++) cells *= points;
  op *o = tape_op(t, &nearest, 2, (const var[]){f, at}, 2, (const int64_t[][2]){{cells, t->var[f].cols}, {cells, 1}},
                  sizeof(nearest_attr));
  if (!o) return VAR_NONE;
  ((nearest_attr *)o->attr)->points = points;
  return o->out[0];
}
