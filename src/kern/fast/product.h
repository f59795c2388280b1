/* product.h: thin products on tiles and their gradients. The weights (a few KB) and the tiles at hand stay in the first
 * cache; accumulators stay in registers. Every output is one running sum in the order of its inputs. */
#ifndef KERN_FAST_PRODUCT_H
#define KERN_FAST_PRODUCT_H

#include "kern/fast/vec.h"
#include "kern/kern.h"

typedef vf mm_sums[MM_T * TV][MM_O];

/* s = gain ⊙ base + shift for T tiles × O outputs from output o on. */
INLINE void mm_start(const kern_sum *j, int T, int O, size_t tile, int o, mm_sums s) {
  UNROLL for (int k = 0; k < O; k++) s[0][k] = vset(0);
  if (j->shift) UNROLL for (int k = 0; k < O; k++) s[0][k] = vset(j->shift[o + k]);
  UNROLL for (int k = 0; k < O; k++) UNROLL for (int t = 1; t < T * TV; t++) s[t][k] = s[0][k];
  if (!j->base) return;
  const float *base = j->base + tile * j->bs + (size_t)(o * LANES);
  vf gain[MM_O];
  UNROLL for (int k = 0; k < O; k++) gain[k] = vset(1);
  if (j->gain) UNROLL for (int k = 0; k < O; k++) gain[k] = vset(j->gain[o + k]);
  UNROLL for (int k = 0; k < O; k++) UNROLL for (int t = 0; t < T * TV; t++) s[t][k] =
      vfma(gain[k], vload(base + (size_t)(t / TV) * j->bs + (size_t)(k * LANES + t % TV * VL)), s[t][k]);
}

/* Which line to bring next: array and line. Behind the last array it stays on one line that is in cache. */
typedef struct {
  int array;
  size_t line;
} mm_ahead;

INLINE const char *mm_next(const kern_sum *j, mm_ahead *a, size_t *step) {
  if (a->array < 2 && a->line >= j->lines[a->array]) *a = (mm_ahead){a->array + 1, 0};
  int there = a->array < 2 && a->line < j->lines[a->array];
  *step = there ? 64 : 0;
  return there ? (const char *)j->ahead[a->array] + 64 * a->line : (const char *)j->y;
}

/* T tiles × O outputs from output o on. T and O are constants at every call. */
INLINE void mm_panel(const kern_sum *j, int T, int O, size_t tile, int o, mm_ahead *a) {
  mm_sums s;
  size_t more;
  const char *next = mm_next(j, a, &more);
  mm_start(j, T, O, tile, o, s);
  for (int q = 0; q < j->terms; q++) {
    size_t xs = j->term[q].xs, ld = (size_t)j->term[q].ld;
    a->line += (size_t)j->term[q].in;
    const float *x = j->term[q].x + tile * xs, *w = j->term[q].w + o, *end = x + j->term[q].in * LANES;
    _Pragma("GCC unroll 4") for (; x < end; x += LANES, w += ld, next += more) {
      vf v[MM_T * TV];
      __builtin_prefetch(next, 0, 2);
      UNROLL for (int t = 0; t < T * TV; t++) v[t] = vload(x + (size_t)(t / TV) * xs + (size_t)(t % TV * VL));
      UNROLL for (int k = 0; k < O; k++) {
        vf b = vset(w[k]);
        UNROLL for (int t = 0; t < T * TV; t++) s[t][k] = vfma(v[t], b, s[t][k]);
      }
    }
  }
  float *y = j->y + tile * j->ys;
  UNROLL for (int k = 0; k < O; k++) UNROLL for (int t = 0; t < T * TV; t++)
      vstore(y + (size_t)(t / TV) * j->ys + (size_t)((o + k) * LANES + t % TV * VL), s[t][k]);
}

/* Panels of MM_O outputs, then of 4, 2, 1; two of 4 rather than 6 and 2, which would wait for its own sums. */
INLINE void mm_tiles(const kern_sum *j, int T, size_t tile, mm_ahead *ahead) {
  int o = 0;
  for (; o + MM_O <= j->out && (MM_O <= 4 || j->out - o != 8); o += MM_O) mm_panel(j, T, MM_O, tile, o, ahead);
  for (; MM_O > 4 && o + 4 <= j->out; o += 4) mm_panel(j, T, MM_O > 4 ? 4 : 1, tile, o, ahead);
  if (j->out - o >= 2) mm_panel(j, T, 2, tile, o, ahead), o += 2;
  if (j->out - o >= 1) mm_panel(j, T, 1, tile, o, ahead);
}

static void fast_mm_sum(const kern_sum *j) {
  mm_ahead ahead = {0, 0};
  int t = 0;
  for (; t + MM_T <= j->tiles; t += MM_T) mm_tiles(j, MM_T, (size_t)t, &ahead);
  for (; MM_T > 2 && t + 2 <= j->tiles; t += 2) mm_tiles(j, MM_T > 2 ? 2 : 1, (size_t)t, &ahead);
  for (; t < j->tiles; t++) mm_tiles(j, 1, (size_t)t, &ahead);
}

/* R lanes × V vectors of outputs; n > 0: of one vector, its first n. R and V are constants at every call. */
INLINE void rows_panel(int R, int V, int n, const float *x, int in, const float *w, size_t ld, const float *b, float *r,
                       size_t ldr) {
  vf s[MR_R][MR_V], d[MR_V];
  UNROLL for (int v = 0; v < V; v++) {
    vf from = !b ? vset(0) : n ? vload_part(b, n) : vload(b + v * VL);
    UNROLL for (int l = 0; l < R; l++) s[l][v] = from;
  }
  for (int i = 0; i < in; i++, x += LANES, w += ld) {
    UNROLL for (int v = 0; v < V; v++) d[v] = n ? vload_part(w, n) : vload(w + v * VL);
    UNROLL for (int l = 0; l < R; l++) {
      vf a = vset(x[l]);
      UNROLL for (int v = 0; v < V; v++) s[l][v] = vfma(a, d[v], s[l][v]);
    }
  }
  UNROLL for (int l = 0; l < R; l++) UNROLL for (int v = 0; v < V; v++) vstore(r + (size_t)l * ldr + v * VL, s[l][v]);
}

static void fast_mm_rows(int tiles, const float *x, size_t xs, int in, const float *w, int ld, int out, const float *b,
                         float *r) {
  size_t ldr = (size_t)kern_pad(out), lw = (size_t)ld;
  for (int t = 0; t < tiles; t++, x += xs)
    for (int l = 0; l < LANES; l += MR_R, r += MR_R * ldr) {
      int o = 0;
      for (; o + MR_V * VL <= out; o += MR_V * VL)
        rows_panel(MR_R, MR_V, 0, x + l, in, w + o, lw, b ? b + o : NULL, r + o, ldr);
      for (; o + VL <= out; o += VL) rows_panel(MR_R, 1, 0, x + l, in, w + o, lw, b ? b + o : NULL, r + o, ldr);
      if (o < out) rows_panel(MR_R, 1, out - o, x + l, in, w + o, lw, b ? b + o : NULL, r + o, ldr);
    }
}

static void fast_transpose(int tiles, const float *x, size_t xs, int ch, float *r) {
  int pad = (ch + LANES - 1) / LANES * LANES;
  for (int t = 0; t < tiles; t++, x += xs, r += LANES * pad)
    for (int k = 0; k < pad; k += VL)
      for (int l = 0; l < LANES; l += VL)
        vtranspose(x + k * LANES + l, LANES, ch - k, r + (size_t)l * (size_t)pad + k, (size_t)pad);
}

/* GW: I rows × V vectors of g_W over all rows of R. */
INLINE void grad_panel(int tiles, int I, int V, const float *x, size_t xs, const float *r, size_t ldr, float *gw) {
  vf s[GW_I][GW_V];
  UNROLL for (int i = 0; i < I; i++) UNROLL for (int v = 0; v < V; v++) s[i][v] =
      vload(gw + (size_t)i * ldr + (size_t)(v * VL));
  for (int t = 0; t < tiles; t++, x += xs)
    for (int l = 0; l < LANES; l++, r += ldr) {
      vf d[GW_V];
      UNROLL for (int v = 0; v < V; v++) d[v] = vload(r + v * VL);
      UNROLL for (int i = 0; i < I; i++) {
        vf b = vset(x[i * LANES + l]);
        UNROLL for (int v = 0; v < V; v++) s[i][v] = vfma(b, d[v], s[i][v]);
      }
    }
  UNROLL for (int i = 0; i < I; i++) UNROLL for (int v = 0; v < V; v++)
      vstore(gw + (size_t)i * ldr + (size_t)(v * VL), s[i][v]);
}

/* Panels of GW_I rows, then of 8, 4, 1; two of 8 rather than 12 and 4, which would wait for its own sums. */
INLINE void grad_columns(int tiles, int V, const float *x, size_t xs, int in, const float *r, size_t ldr, float *gw) {
  int i = 0;
  for (; i + GW_I <= in && in - i != 16; i += GW_I)
    grad_panel(tiles, GW_I, V, x + i * LANES, xs, r, ldr, gw + (size_t)i * ldr);
  for (; GW_I > 8 && i + 8 <= in; i += 8)
    grad_panel(tiles, GW_I > 8 ? 8 : 1, V, x + i * LANES, xs, r, ldr, gw + (size_t)i * ldr);
  for (; i + 4 <= in; i += 4) grad_panel(tiles, 4, V, x + i * LANES, xs, r, ldr, gw + (size_t)i * ldr);
  for (; i < in; i++) grad_panel(tiles, 1, V, x + i * LANES, xs, r, ldr, gw + (size_t)i * ldr);
}

static void fast_grad_w(int tiles, const float *x, size_t xs, int in, const float *r, int out, float *gw) {
  int pad = (out + LANES - 1) / LANES * LANES, o = 0;
  for (; o + GW_V * VL <= pad; o += GW_V * VL) grad_columns(tiles, GW_V, x, xs, in, r + o, (size_t)pad, gw + o);
  for (; o < pad; o += VL) grad_columns(tiles, 1, x, xs, in, r + o, (size_t)pad, gw + o);
}

/* I rows × O outputs of lane sums over all tiles; `ones`: the row of the bias. */
INLINE void lane_panel(int tiles, int I, int O, int ones, const float *x, size_t xs, const float *g, size_t gs, int out,
                       float *lanes) {
  vf s[GL_I][GL_O];
  UNROLL for (int i = 0; i < I; i++) UNROLL for (int o = 0; o < O; o++) s[i][o] = vload(lanes + (i * out + o) * LANES);
  for (int t = 0; t < tiles; t++, x += xs, g += gs) {
    vf d[GL_O];
    UNROLL for (int o = 0; o < O; o++) d[o] = vload(g + o * LANES);
    UNROLL for (int i = 0; i < I; i++) {
      vf a = ones ? vset(1) : vload(x + i * LANES);
      UNROLL for (int o = 0; o < O; o++) s[i][o] = vfma(a, d[o], s[i][o]);
    }
  }
  UNROLL for (int i = 0; i < I; i++) UNROLL for (int o = 0; o < O; o++) vstore(lanes + (i * out + o) * LANES, s[i][o]);
}

INLINE void lane_columns(int tiles, int O, const float *x, size_t xs, int in, const float *g, size_t gs, int out,
                         float *lanes) {
  int i = 0;
  for (; i + GL_I <= in; i += GL_I, lanes += GL_I * out * LANES)
    lane_panel(tiles, GL_I, O, 0, x + i * LANES, xs, g, gs, out, lanes);
  for (; i < in; i++, lanes += out * LANES) lane_panel(tiles, 1, O, 0, x + i * LANES, xs, g, gs, out, lanes);
  lane_panel(tiles, 1, O, 1, x, xs, g, gs, out, lanes);
}

static void fast_grad_lanes(int tiles, const float *x, size_t xs, int in, const float *g, size_t gs, int out,
                            float *lanes) {
  for (int v = 0; v < LANES; v += VL) {
    int o = 0;
    for (; o + GL_O <= out; o += GL_O)
      lane_columns(tiles, GL_O, x + v, xs, in, g + o * LANES + v, gs, out, lanes + o * LANES + v);
    for (; o < out; o++) lane_columns(tiles, 1, x + v, xs, in, g + o * LANES + v, gs, out, lanes + o * LANES + v);
  }
}

static void fast_grad_b(int tiles, const float *r, int out, float *gb) {
  int pad = (out + LANES - 1) / LANES * LANES;
  for (int o = 0; o < pad; o += LANES) {
    vf s[4][TV];
    UNROLL for (int k = 0; k < 4; k++) UNROLL for (int v = 0; v < TV; v++) s[k][v] = vset(0);
    for (int row = 0; row < tiles * LANES; row += 4)
      UNROLL for (int k = 0; k < 4; k++) UNROLL for (int v = 0; v < TV; v++) s[k][v] =
          vadd(s[k][v], vload(r + (size_t)(row + k) * (size_t)pad + o + v * VL));
    UNROLL for (int v = 0; v < TV; v++) {
      vf sum = vadd(vadd(s[0][v], s[1][v]), vadd(s[2][v], s[3][v]));
      vstore(gb + o + v * VL, vadd(vload(gb + o + v * VL), sum));
    }
  }
}

#endif
