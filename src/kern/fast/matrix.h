/* matrix.h: products of plain row-major matrices and their gradients. Vectors run along the outputs, accumulators stay in
 * registers; results with few columns are turned by 90°, so that vectors run down the rows instead. Every output is one
 * running sum in the order of its inputs. */
#ifndef KERN_FAST_MATRIX_H
#define KERN_FAST_MATRIX_H

#include "kern/fast/rows.h"
#include "kern/kern.h"

enum { FEW = 8, STRIP = 64 }; /* outputs up to which a product is turned; inputs that are turned at a time */

/* The last of V vectors has `part` lanes (0: all). */
INLINE vf load_of(const float *p, int V, int v, int part) {
  return part && v == V - 1 ? vload_part(p + v * VL, part) : vload(p + v * VL);
}
INLINE void store_of(float *p, int V, int v, int part, vf a) {
  if (part && v == V - 1)
    vstore_part(p + v * VL, a, part);
  else
    vstore(p + v * VL, a);
}

/* R rows × V vectors of Y from row r, output o on. R and V are constants at every call; part is one too when 0. */
INLINE void rm_panel(const kern_rows *j, int R, int V, int part, size_t r, int o) {
  vf s[RM_R][RM_V];
  float *y = j->y + r * j->ys + o;
  UNROLL for (int v = 0; v < V; v++) {
    vf start = j->shift ? load_of(j->shift + o, V, v, part) : vset(0);
    UNROLL for (int i = 0; i < R; i++) s[i][v] =
        j->add ? vadd(start, load_of(y + (size_t)i * j->ys, V, v, part)) : start;
  }
  for (int q = 0; q < j->terms; q++) {
    const kern_term *m = &j->term[q];
    size_t xs = m->xs, ld = (size_t)m->ld;
    const float *x = m->x + r * xs, *w = m->w + o, *end = x + m->in;
    for (; x < end; x++, w += ld) {
      vf d[RM_V];
      UNROLL for (int v = 0; v < V; v++) d[v] = load_of(w, V, v, part);
      UNROLL for (int i = 0; i < R; i++) {
        vf b = vset(x[(size_t)i * xs]);
        UNROLL for (int v = 0; v < V; v++) s[i][v] = vfma(b, d[v], s[i][v]);
      }
    }
  }
  UNROLL for (int i = 0; i < R; i++) UNROLL for (int v = 0; v < V; v++)
      store_of(y + (size_t)i * j->ys, V, v, part, s[i][v]);
}

INLINE void rm_rows(const kern_rows *j, int V, int part, size_t first, int o) {
  size_t r = first, rows = (size_t)j->rows;
  for (; r + RM_R <= rows; r += RM_R) rm_panel(j, RM_R, V, part, r, o);
  for (; r + 4 <= rows; r += 4) rm_panel(j, 4, V, part, r, o);
  for (; r < rows; r++) rm_panel(j, 1, V, part, r, o);
}

/* All outputs of the rows from `first` on. */
INLINE void rm_outputs(const kern_rows *j, size_t first) {
  int o = 0, part = j->out % VL;
  for (; o + RM_V * VL <= j->out; o += RM_V * VL) rm_rows(j, RM_V, 0, first, o);
  for (; o + VL <= j->out; o += VL) rm_rows(j, 1, 0, first, o);
  if (part) rm_rows(j, 1, part, first, o);
}

/* t[k][16] = x[l·xs + k] for k < n, lanes l of 16 rows. */
INLINE void turn_rows(const float *x, size_t xs, int n, float *t) {
  int k = 0;
  for (; k + VL <= n; k += VL)
    for (int l = 0; l < LANES; l += VL) vtranspose(x + (size_t)l * xs + k, xs, VL, t + k * LANES + l, LANES);
  for (; k < n; k++)
    for (int l = 0; l < LANES; l++) t[k * LANES + l] = x[(size_t)l * xs + (size_t)k];
}

/* acc[O][16] += Σ_k w[k·ld + o] t[k], k < n. */
INLINE void turned_panel(int O, int n, const float *w, size_t ld, const float *t, float *acc) {
  vf s[4][TV];
  UNROLL for (int o = 0; o < O; o++) UNROLL for (int v = 0; v < TV; v++) s[o][v] = vload(acc + o * LANES + v * VL);
  for (int k = 0; k < n; k++, w += ld, t += LANES)
    UNROLL for (int o = 0; o < O; o++) UNROLL for (int v = 0; v < TV; v++) s[o][v] =
        vfma(vset(w[o]), vload(t + v * VL), s[o][v]);
  UNROLL for (int o = 0; o < O; o++) UNROLL for (int v = 0; v < TV; v++) vstore(acc + o * LANES + v * VL, s[o][v]);
}

INLINE void turned_outputs(int out, int n, const float *w, size_t ld, const float *t, float *acc) {
  int o = 0;
  for (; o + 4 <= out; o += 4) turned_panel(4, n, w + o, ld, t, acc + o * LANES);
  if (o + 2 <= out) turned_panel(2, n, w + o, ld, t, acc + o * LANES), o += 2;
  if (o < out) turned_panel(1, n, w + o, ld, t, acc + o * LANES);
}

/* 16 rows of Y from row r on, out ≤ FEW. */
INLINE void rm_turned(const kern_rows *j, size_t r) {
  _Alignas(64) float t[STRIP * LANES], acc[FEW * LANES];
  float *y = j->y + r * j->ys;
  for (int o = 0; o < j->out; o++)
    for (int l = 0; l < LANES; l++)
      acc[o * LANES + l] = (j->shift ? j->shift[o] : 0) + (j->add ? y[(size_t)l * j->ys + (size_t)o] : 0);
  for (int q = 0; q < j->terms; q++) {
    const kern_term *m = &j->term[q];
    for (int k = 0; k < m->in; k += STRIP) {
      int n = m->in - k < STRIP ? m->in - k : STRIP;
      turn_rows(m->x + r * m->xs + k, m->xs, n, t);
      turned_outputs(j->out, n, m->w + (size_t)k * (size_t)m->ld, (size_t)m->ld, t, acc);
    }
  }
  int o = 0;
  for (; o + 4 <= j->out; o += 4)
    for (int l = 0; l < LANES; l += VL) {
      vf p[4];
      UNROLL for (int k = 0; k < 4; k++) p[k] = vload(acc + (o + k) * LANES + l);
      rows_put((int)j->ys, 4, y + (size_t)l * j->ys + o, p);
    }
  if (j->out == 2 && j->ys == 2) {
    for (int l = 0; l < LANES; l += VL) vpairs_put(y + 2 * l, (const vf[]){vload(acc + l), vload(acc + LANES + l)});
    return;
  }
  for (; o < j->out; o++)
    for (int l = 0; l < LANES; l++) y[(size_t)l * j->ys + (size_t)o] = acc[o * LANES + l];
}

static void fast_row_mm(const kern_rows *j) {
  size_t r = 0;
  if (j->out <= FEW)
    for (; r + LANES <= (size_t)j->rows; r += LANES) rm_turned(j, r);
  rm_outputs(j, r);
}

/* I rows × V vectors of s[I × V·VL] += Xᵀ G over all rows; s has row length ld. */
INLINE void rg_panel(int64_t rows, int I, int V, int part, const float *x, size_t xs, const float *g, size_t gs,
                     float *out, size_t ld) {
  vf s[RM_R][RM_V];
  UNROLL for (int i = 0; i < I; i++) UNROLL for (int v = 0; v < V; v++) s[i][v] =
      load_of(out + (size_t)i * ld, V, v, part);
  for (int64_t r = 0; r < rows; r++, x += xs, g += gs) {
    vf d[RM_V];
    UNROLL for (int v = 0; v < V; v++) d[v] = load_of(g, V, v, part);
    UNROLL for (int i = 0; i < I; i++) {
      vf b = vset(x[i]);
      UNROLL for (int v = 0; v < V; v++) s[i][v] = vfma(b, d[v], s[i][v]);
    }
  }
  UNROLL for (int i = 0; i < I; i++) UNROLL for (int v = 0; v < V; v++)
      store_of(out + (size_t)i * ld, V, v, part, s[i][v]);
}

/* All `in` rows of V vectors: panels of RM_R, then of 8, 4, 2, 1. */
INLINE void rg_columns(int64_t rows, int V, int part, const float *x, size_t xs, int in, const float *g, size_t gs,
                       float *out, size_t ld) {
  int i = 0;
  for (; i + RM_R <= in && in - i != 16; i += RM_R)
    rg_panel(rows, RM_R, V, part, x + i, xs, g, gs, out + (size_t)i * ld, ld);
  for (; RM_R > 8 && i + 8 <= in; i += 8)
    rg_panel(rows, RM_R > 8 ? 8 : 1, V, part, x + i, xs, g, gs, out + (size_t)i * ld, ld);
  for (; i + 4 <= in; i += 4) rg_panel(rows, 4, V, part, x + i, xs, g, gs, out + (size_t)i * ld, ld);
  if (i + 2 <= in) rg_panel(rows, 2, V, part, x + i, xs, g, gs, out + (size_t)i * ld, ld), i += 2;
  if (i < in) rg_panel(rows, 1, V, part, x + i, xs, g, gs, out + (size_t)i * ld, ld);
}

/* The turned form for few outputs: Gᵀ X by strips of the inputs, added to g_W by single numbers. */
static void rg_turned(int64_t rows, int in, int out, const float *x, size_t xs, const float *g, size_t gs, float *gw) {
  enum { WIDE = RM_V * VL };
  for (int k = 0; k < in; k += WIDE) {
    float s[FEW * WIDE] = {0};
    int n = in - k < WIDE ? in - k : WIDE, whole = n / VL * VL;
    if (n == WIDE)
      rg_columns(rows, RM_V, 0, g, gs, out, x + k, xs, s, WIDE);
    else
      for (int v = 0; v < whole; v += VL) rg_columns(rows, 1, 0, g, gs, out, x + k + v, xs, s + v, WIDE);
    if (n > whole) rg_columns(rows, 1, n - whole, g, gs, out, x + k + whole, xs, s + whole, WIDE);
    for (int i = 0; i < n; i++)
      for (int o = 0; o < out; o++) gw[(k + i) * out + o] += s[o * WIDE + i];
  }
}

static void fast_row_grad(int64_t rows, int in, int out, const float *x, size_t xs, const float *g, size_t gs,
                          float *gw) {
  size_t ld = (size_t)out;
  int o = 0, part = out % VL;
  if (out <= FEW && in > out) {
    rg_turned(rows, in, out, x, xs, g, gs, gw);
    return;
  }
  for (; o + RM_V * VL <= out; o += RM_V * VL) rg_columns(rows, RM_V, 0, x, xs, in, g + o, gs, gw + o, ld);
  for (; o + VL <= out; o += VL) rg_columns(rows, 1, 0, x, xs, in, g + o, gs, gw + o, ld);
  if (part) rg_columns(rows, 1, part, x, xs, in, g + o, gs, gw + o, ld);
}

#endif
