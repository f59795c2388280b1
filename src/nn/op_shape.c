/* op_shape.c: cutting, joining, spreading and gathering of rows and columns. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* Copies a block of rows × width entries between two row-major arrays of cs and cd columns, adding when `add`. */
static void move(const lane *l, int64_t rows, int64_t width, const real *src, int64_t cs, real *dst, int64_t cd,
                 int add) {
  assert(src && dst); /* a backward step runs only where both sides have cotangents */
  if (width == cs && width == cd) {
    width *= rows;
    rows = 1;
  }
  for (int64_t r = 0; r < rows; r++) {
    if (add)
      l->k->axpy((size_t)width, 1, src + r * cs, dst + r * cd);
    else
      memcpy(dst + r * cd, src + r * cs, (size_t)width * sizeof(real));
  }
}

typedef struct {
  int64_t r0, c0;
} slice_attr;
static void slice_forward(const op *o, const lane *l) {
  const slice_attr *a = o->attr;
  const tape_var *y = op_out(o, l, 0);
  int64_t cols = op_in(o, l, 0)->cols;
  move(l, y->rows, y->cols, op_x(o, l, 0) + a->r0 * cols + a->c0, cols, op_y(o, l, 0), y->cols, 0);
}
static void slice_backward(const op *o, const lane *l) {
  const slice_attr *a = o->attr;
  const tape_var *y = op_out(o, l, 0);
  int64_t cols = op_in(o, l, 0)->cols;
  move(l, y->rows, y->cols, op_gy(o, l, 0), y->cols, op_gx(o, l, 0) + a->r0 * cols + a->c0, cols, 1);
}
static const op_kind slice = {"slice", slice_forward, slice_backward, 0, 0};

/* All rows of some columns. */
static void columns_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  const slice_attr *a = o->attr;
  int64_t from = op_in(o, l, 0)->cols, to = op_out(o, l, 0)->cols;
  move(l, r1 - r0, to, row_x(o, l, 0, r0) + a->c0, from, row_y(o, l, 0, r0), to, 0);
}
static void columns_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  const slice_attr *a = o->attr;
  int64_t from = op_in(o, l, 0)->cols, to = op_out(o, l, 0)->cols;
  real *gx = row_gx(o, l, 0, r0);
  (void)partial;
  assert(gx);
  if (!op_adds(o, l, 0)) memset(gx, 0, (size_t)((r1 - r0) * from) * sizeof(real));
  move(l, r1 - r0, to, row_gy(o, l, 0, r0), to, gx + a->c0, from, 1);
}
static const row_kind columns = {{"columns", NULL, NULL, 0, 0}, columns_rows, columns_rows_back, NULL};

var op_slice(tape *t, var x, int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(0 <= r0 && r0 < r1 && r1 <= t->var[x].rows && 0 <= c0 && c0 < c1 && c1 <= t->var[x].cols);
  const int64_t shape[][2] = {{r1 - r0, c1 - c0}};
  op *o = r1 - r0 == t->var[x].rows ? tape_row_op(t, &columns, 0, 1, &x, 1, shape, sizeof(slice_attr))
                                    : tape_op(t, &slice, 1, &x, 1, shape, sizeof(slice_attr));
  if (!o) return VAR_NONE;
  *(slice_attr *)o->attr = (slice_attr){r0, c0};
  return o->out[0];
}

/* One on top of the other: the inputs' storage in a row. */
static void stack_forward(const op *o, const lane *l) {
  real *y = op_y(o, l, 0);
  for (int i = 0; i < o->ins; i++) {
    const tape_var *x = op_in(o, l, i);
    move(l, x->rows, x->cols, op_x(o, l, i), x->cols, y, x->cols, 0);
    y += x->rows * x->cols;
  }
}
static void stack_backward(const op *o, const lane *l) {
  const real *gy = op_gy(o, l, 0);
  for (int i = 0; i < o->ins; i++) {
    const tape_var *x = op_in(o, l, i);
    if (op_gx(o, l, i)) move(l, x->rows, x->cols, gy, x->cols, op_gx(o, l, i), x->cols, op_adds(o, l, i));
    gy += x->rows * x->cols;
  }
}
static const op_kind stack = {"stack", stack_forward, stack_backward, 0, 0};

/* Side by side. */
static void concat_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  real *y = row_y(o, l, 0, r0);
  for (int i = 0; i < o->ins; i++) {
    int64_t width = op_in(o, l, i)->cols;
    move(l, r1 - r0, width, row_x(o, l, i, r0), width, y, cols, 0);
    y += width;
  }
}
/* g_x_i = its columns of g_y. */
static void concat_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t cols = op_out(o, l, 0)->cols;
  const real *gy = row_gy(o, l, 0, r0);
  (void)partial;
  for (int i = 0; i < o->ins; i++) {
    int64_t width = op_in(o, l, i)->cols;
    real *gx = row_gx(o, l, i, r0);
    if (gx) move(l, r1 - r0, width, gy, cols, gx, width, op_adds(o, l, i));
    gy += width;
  }
}
static const row_kind concat = {{"concat", NULL, NULL, 0, 0}, concat_rows, concat_rows_back, NULL};

var op_concat(tape *t, int n, const var *x) {
  int64_t cols = 0;
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) {
    assert(t->var[x[i]].rows == t->var[x[0]].rows);
    cols += t->var[x[i]].cols;
  }
  op *o = tape_row_op(t, &concat, 0, n, x, 1, (const int64_t[][2]){{t->var[x[0]].rows, cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}

var op_stack(tape *t, int n, const var *x) {
  int64_t rows = 0;
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) {
    assert(t->var[x[i]].cols == t->var[x[0]].cols);
    rows += t->var[x[i]].rows;
  }
  op *o = tape_op(t, &stack, n, x, 1, (const int64_t[][2]){{rows, t->var[x[0]].cols}}, 0);
  if (!o) return VAR_NONE;
  o->fresh = OP_ALL;
  return o->out[0];
}

static void broadcast_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  real *y = row_y(o, l, 0, r0);
  for (int64_t r = r0; r < r1; r++, y += cols) memcpy(y, op_x(o, l, 0), (size_t)cols * sizeof(real));
}
static void broadcast_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  if (partial) l->k->col_sum(r1 - r0, (int)op_out(o, l, 0)->cols, 1, row_gy(o, l, 0, r0), partial);
}
static const row_kind broadcast = {{"broadcast", NULL, NULL, 0, 0}, broadcast_rows, broadcast_rows_back, NULL};

var op_broadcast(tape *t, var row, int64_t n) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(t->var[row].rows == 1);
  op *o = tape_row_op(t, &broadcast, 1, 1, &row, 1, (const int64_t[][2]){{n, t->var[row].cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}

static void total_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  int64_t cols = op_out(o, l, 0)->cols;
  l->k->col_sum(r1 - r0, (int)cols, *(const real *)o->attr, op_x(o, l, 0) + r0 * cols, partial);
}
static void total_forward(const op *o, const lane *l) {
  const sum_to to = {op_y(o, l, 0), o->partial};
  memset(to.dst, 0, (size_t)o->partial * sizeof(real));
  par_sums(o, l, op_in(o, l, 0)->rows, total_sums, 1, &to);
}
/* g_x_r += a g_y for every r */
static void total_rows_back(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  for (int64_t r = r0; r < r1; r++)
    l->k->axpy((size_t)cols, *(const real *)o->attr, op_gy(o, l, 0), op_gx(o, l, 0) + r * cols);
}
static void total_backward(const op *o, const lane *l) {
  par_rows(o, l, op_in(o, l, 0)->rows, total_rows_back);
}
static const op_kind total = {"sum_rows", total_forward, total_backward, 0, 0};

var op_sum_rows(tape *t, double a, var x) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t rows = t->var[x].rows, cols = t->var[x].cols;
  op *o = tape_op(t, &total, 1, &x, 1, (const int64_t[][2]){{1, cols}}, sizeof(real));
  if (!o) return VAR_NONE;
  *(real *)o->attr = (real)a;
  op_reduces(o, rows, cols);
  return o->out[0];
}
