/* op_spectral.c: truncated spectral convolution. With F the map from a real grid to the kept modes (real and imaginary
 * parts), the complex-to-real transform is Fᵀ Γ, Γ the diagonal of γ_k / G^dim; so y = Fᵀ Γ mix(F x), and F is one small
 * matrix per axis (op_axis). Only the product of a mode's channels with its weights is an operation of its own. */
#include "nn/block.h"
#include "nn/op_grid.h"

#include <assert.h>
#include <math.h>

typedef struct {
  int64_t modes;
  const int32_t *slot;
} mix_attr;

static kern_mode mode_of(const op *o, const lane *l, int64_t q) {
  const mix_attr *a = o->attr;
  int64_t in = op_in(o, l, 0)->cols, out = op_out(o, l, 0)->cols;
  const real *x = op_x(o, l, 0) + q * in;
  return (kern_mode){(int)in, (int)out, x, x + a->modes * in, op_x(o, l, 1) + a->slot[q] * 2 * in * out};
}

/* y = x W at every mode */
static void mix_modes(const op *o, const lane *l, int64_t q0, int64_t q1) {
  const mix_attr *a = o->attr;
  int64_t out = op_out(o, l, 0)->cols;
  for (int64_t q = q0; q < q1; q++) {
    const kern_mode m = mode_of(o, l, q);
    real *y = op_y(o, l, 0) + q * out;
    l->k->mode_mm(&m, y, y + a->modes * out);
  }
}
static void mix_forward(const op *o, const lane *l) {
  par_rows(o, l, ((const mix_attr *)o->attr)->modes, mix_modes);
}
/* g_x += g_y Wᴴ, g_W += xᴴ g_y */
static void mix_modes_back(const op *o, const lane *l, int64_t q0, int64_t q1) {
  const mix_attr *a = o->attr;
  int64_t in = op_in(o, l, 0)->cols, out = op_out(o, l, 0)->cols;
  real *gx = op_gx(o, l, 0), *gw = op_gx(o, l, 1);
  for (int64_t q = q0; q < q1; q++) {
    const kern_mode m = mode_of(o, l, q);
    const real *g = op_gy(o, l, 0) + q * out;
    l->k->mode_back(&m, g, g + a->modes * out, gx ? gx + q * in : NULL, gx ? gx + (a->modes + q) * in : NULL,
                    gw ? gw + a->slot[q] * 2 * in * out : NULL);
  }
}
static void mix_backward(const op *o, const lane *l) {
  par_rows(o, l, ((const mix_attr *)o->attr)->modes, mix_modes_back);
}
static const op_kind mix = {"mix", mix_forward, mix_backward, 3, 0};

var op_mix(tape *t, var x, var w, int64_t modes, const int32_t *slot) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(t->var[x].rows == 2 * modes && t->var[w].rows % (2 * t->var[x].cols) == 0);
  op *o =
      tape_op(t, &mix, 2, (const var[]){x, w}, 1, (const int64_t[][2]){{2 * modes, t->var[w].cols}}, sizeof(mix_attr));
  if (!o) return VAR_NONE;
  *(mix_attr *)o->attr = (mix_attr){modes, slot};
  o->work = 4 * (double)(modes * t->var[x].cols * t->var[w].cols);
  return o->out[0];
}

/* The i-th kept frequency of an axis that is not the last; *sign 1 and *at its place when it is of the second range. */
static int frequency_of(const spectral *s, int i, int *sign, int *at) {
  int g = s->points, m = s->modes, f = i < s->rows - m ? i : g - s->rows + i;
  *sign = f >= g - m;
  *at = *sign ? f - (g - m) : f;
  return f;
}

/* Rows (part, k), columns (n, part): [[cos, sin], [-sin, cos]] of 2π f n / G. */
static void fill_axis(spectral *s) {
  int g = s->points, k = s->rows, sign, at;
  for (int i = 0; i < k; i++)
    for (int n = 0, f = frequency_of(s, i, &sign, &at); n < g; n++) {
      double angle = 2 * M_PI * (double)(f * n % g) / g;
      real *re = s->axis + i * 2 * g + 2 * n, *im = s->axis + (k + i) * 2 * g + 2 * n;
      re[0] = im[1] = (real)cos(angle);
      re[1] = (real)sin(angle);
      im[0] = (real)-sin(angle);
    }
}

/* The last axis, whose input is real: rows cos and -sin of its kept frequencies, and back with weight 2 for those that stand for their
 * conjugates too, over the number of cells. */
static void fill_end(spectral *s) {
  int g = s->points, k = s->last;
  for (int i = 0; i < k; i++) {
    double weight = (i == 0 || 2 * i == g ? 1.0 : 2.0) / (double)s->cells;
    for (int n = 0; n < g; n++) {
      double angle = 2 * M_PI * (double)(i * n % g) / g;
      s->end[i * g + n] = (real)cos(angle);
      s->end[(k + i) * g + n] = (real)-sin(angle);
      s->back[i * g + n] = (real)(weight * cos(angle));
      s->back[(k + i) * g + n] = (real)(-weight * sin(angle));
    }
  }
}

/* Which block of weights mode q uses: the published layout has a block for every sign of the leading frequencies, modes^dim weights each. */
static void fill_slots(spectral *s) {
  int m = s->modes;
  for (int64_t q = 0; q < s->kept; q++) {
    int sign[2] = {0}, at[2] = {0}, last = (int)(q % s->last);
    int64_t rest = q / s->last, slot = 0;
    for (int d = s->dim - 2; d >= 0; d--, rest /= s->rows) frequency_of(s, (int)(rest % s->rows), &sign[d], &at[d]);
    for (int d = 0; d < s->dim - 1; d++) slot = slot * m + at[d];
    slot = slot * m + last;
    for (int64_t d = 0, block = s->weights >> (s->dim - 1); d < s->dim - 1; d++) slot += sign[d] * (block << d);
    s->slot[q] = (int32_t)slot;
  }
}

dkho_status spectral_create(spectral **out, int dim, int points, int modes) {
  spectral *s;
  *out = NULL;
  assert((dim == 2 || dim == 3) && points >= 2 && modes >= 1 && modes <= points / 2 + 1);
  if (!MEM_NEW(s, 1)) return DKHO_E_MEMORY;
  *s = (spectral){.dim = dim, .points = points, .modes = modes, .cells = 1, .weights = 1, .last = modes};
  s->rows = 2 * modes < points ? 2 * modes : points;
  s->kept = modes;
  for (int d = 0; d < dim; d++) s->cells *= points, s->weights *= modes;
  for (int d = 1; d < dim; d++) s->kept *= s->rows, s->weights *= 2;
  int64_t end = 2 * (int64_t)modes * points;
  if (!ARENA_NEW(&s->mem, s->axis, 4 * (int64_t)s->rows * points) || !ARENA_NEW(&s->mem, s->end, end) ||
      !ARENA_NEW(&s->mem, s->back, end) || !ARENA_NEW(&s->mem, s->slot, s->kept)) {
    spectral_free(s);
    return DKHO_E_MEMORY;
  }
  fill_axis(s);
  fill_end(s);
  fill_slots(s);
  *out = s;
  return DKHO_OK;
}

void spectral_free(spectral *s) {
  if (!s) return;
  arena_free(&s->mem);
  mem_free(s);
}

/* Arrays on the way: [n₁][n₂][n₃] → [n₁][n₂][part][k₃] → [n₁][part][k₂][k₃] → [part][k₁][k₂][k₃]. */
var op_spectral(tape *t, const spectral *s, var x, var w) {
  if (t->status != DKHO_OK) return VAR_NONE;
  assert(t->var[x].rows == s->cells && t->var[w].rows == s->weights * 2 * t->var[x].cols);
  var axis = tape_const(t, 2 * s->rows, 2 * s->points, s->axis);
  var end = tape_const(t, 2 * s->last, s->points, s->end), back = tape_const(t, 2 * s->last, s->points, s->back);
  int64_t batches = s->cells / s->points;
  var y = op_axis(t, end, 0, batches, x);
  for (int d = s->dim - 2; d >= 0; d--) y = op_axis(t, axis, 0, batches /= s->points, y);
  y = op_mix(t, y, w, s->kept, s->slot);
  for (int d = 0; d < s->dim - 1; d++, batches *= s->points) y = op_axis(t, axis, 1, batches, y);
  return op_axis(t, back, 1, batches, y);
}
