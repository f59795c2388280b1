/* op_shape.c: cutting, joining, spreading and gathering of rows and columns. */
#include "nn/block.h"
#include "nn/op.h"

#include <assert.h>
#include <string.h>

/* Copies a block of rows × width entries between two row-major arrays of cs and cd columns, adding when `add`. */
static void move(int64_t rows, int64_t width, const real *src, int64_t cs, real *dst, int64_t cd, int add) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < width; j++) dst[r * cd + j] = (add ? dst[r * cd + j] : 0) + src[r * cs + j];
}

typedef struct {
  int64_t r0, c0;
} slice_attr;
static void slice_forward(const op *o, const lane *l) {
  const slice_attr *a = o->attr;
  const tape_var *y = op_out(o, l, 0);
  int64_t cols = op_in(o, l, 0)->cols;
  move(y->rows, y->cols, op_x(o, l, 0) + a->r0 * cols + a->c0, cols, op_y(o, l, 0), y->cols, 0);
}
static void slice_backward(const op *o, const lane *l) {
  const slice_attr *a = o->attr;
  const tape_var *y = op_out(o, l, 0);
  int64_t cols = op_in(o, l, 0)->cols;
  move(y->rows, y->cols, op_gy(o, l, 0), y->cols, op_gx(o, l, 0) + a->r0 * cols + a->c0, cols, 1);
}
static const op_kind slice = {"slice", slice_forward, slice_backward, 0, 0};

var op_slice(tape *t, var x, int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(0 <= r0 && r0 < r1 && r1 <= t->var[x].rows && 0 <= c0 && c0 < c1 && c1 <= t->var[x].cols);
  op *o = tape_op(t, &slice, 1, &x, 1, (const int64_t[][2]){{r1 - r0, c1 - c0}}, sizeof(slice_attr));
  if (!o) return VAR_NONE;
  *(slice_attr *)o->attr = (slice_attr){r0, c0};
  return o->out[0];
}

/* Side by side or stacked: input i begins at offset `at` of the output's storage and keeps its rows. */
static int64_t join_next(const op *o, const lane *l, int i) {
  const tape_var *x = op_in(o, l, i), *y = op_out(o, l, 0);
  return x->cols == y->cols ? x->rows * x->cols : x->cols;
}
static void join_forward(const op *o, const lane *l) {
  int64_t at = 0, cols = op_out(o, l, 0)->cols;
  for (int i = 0; i < o->ins; i++) {
    const tape_var *x = op_in(o, l, i);
    move(x->rows, x->cols, op_x(o, l, i), x->cols, op_y(o, l, 0) + at, cols, 0);
    at += join_next(o, l, i);
  }
}
static void join_backward(const op *o, const lane *l) {
  int64_t at = 0, cols = op_out(o, l, 0)->cols;
  for (int i = 0; i < o->ins; i++) {
    const tape_var *x = op_in(o, l, i);
    if (op_gx(o, l, i)) move(x->rows, x->cols, op_gy(o, l, 0) + at, cols, op_gx(o, l, i), x->cols, 1);
    at += join_next(o, l, i);
  }
}
static const op_kind join = {"join", join_forward, join_backward, 0, 0};

static var record_join(tape *t, int n, const var *x, int64_t rows, int64_t cols) {
  op *o = tape_op(t, &join, n, x, 1, (const int64_t[][2]){{rows, cols}}, 0);
  return o ? o->out[0] : VAR_NONE;
}

var op_concat(tape *t, int n, const var *x) {
  int64_t cols = 0;
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) {
    assert(t->var[x[i]].rows == t->var[x[0]].rows);
    cols += t->var[x[i]].cols;
  }
  return record_join(t, n, x, t->var[x[0]].rows, cols);
}

var op_stack(tape *t, int n, const var *x) {
  int64_t rows = 0;
  if (t->status != DKHO_OK) return VAR_NONE;
  for (int i = 0; i < n; i++) {
    assert(t->var[x[i]].cols == t->var[x[0]].cols);
    rows += t->var[x[i]].rows;
  }
  return record_join(t, n, x, rows, t->var[x[0]].cols);
}

/* partial or dst += a Σ_r src_r */
static void add_rows(int64_t r0, int64_t r1, int64_t cols, real a, const real *src, real *dst) {
  for (int64_t r = r0; r < r1; r++)
    for (int64_t j = 0; j < cols; j++) dst[j] += a * src[r * cols + j];
}
/* dst_r += a·row for every r */
static void spread_row(int64_t r0, int64_t r1, int64_t cols, real a, const real *row, real *dst) {
  for (int64_t r = r0; r < r1; r++)
    for (int64_t j = 0; j < cols; j++) dst[r * cols + j] += a * row[j];
}

static void broadcast_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  int64_t cols = op_out(o, l, 0)->cols;
  for (int64_t r = r0; r < r1; r++) memcpy(op_y(o, l, 0) + r * cols, op_x(o, l, 0), (size_t)cols * sizeof(real));
}
static void broadcast_forward(const op *o, const lane *l) {
  par_rows(o, l, op_out(o, l, 0)->rows, broadcast_rows);
}
static void broadcast_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  add_rows(r0, r1, op_out(o, l, 0)->cols, 1, op_gy(o, l, 0), partial);
}
static void broadcast_backward(const op *o, const lane *l) {
  const sum_to to = {op_gx(o, l, 0), o->partial};
  par_sums(o, l, op_out(o, l, 0)->rows, broadcast_sums, 1, &to);
}
static const op_kind broadcast = {"broadcast", broadcast_forward, broadcast_backward, 0, 0};

var op_broadcast(tape *t, var row, int64_t n) {
  if (t->status != DKHO_OK) return VAR_NONE;
  int64_t cols = t->var[row].cols;
  assert(t->var[row].rows == 1);
  op *o = tape_op(t, &broadcast, 1, &row, 1, (const int64_t[][2]){{n, cols}}, 0);
  if (!o) return VAR_NONE;
  op_reduces(o, n, cols);
  return o->out[0];
}

static void total_sums(const op *o, const lane *l, int64_t r0, int64_t r1, real *partial) {
  add_rows(r0, r1, op_out(o, l, 0)->cols, *(const real *)o->attr, op_x(o, l, 0), partial);
}
static void total_forward(const op *o, const lane *l) {
  const sum_to to = {op_y(o, l, 0), o->partial};
  memset(to.dst, 0, (size_t)o->partial * sizeof(real));
  par_sums(o, l, op_in(o, l, 0)->rows, total_sums, 1, &to);
}
static void total_rows(const op *o, const lane *l, int64_t r0, int64_t r1) {
  spread_row(r0, r1, op_out(o, l, 0)->cols, *(const real *)o->attr, op_gy(o, l, 0), op_gx(o, l, 0));
}
static void total_backward(const op *o, const lane *l) {
  par_rows(o, l, op_in(o, l, 0)->rows, total_rows);
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
