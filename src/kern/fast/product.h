/* product.h: thin products on tiles and their gradients. The weights (a few KB) and the tiles at hand stay in the first
 * cache; accumulators stay in registers. Every output is one running sum in the order of its inputs. */
#ifndef KERN_FAST_PRODUCT_H
#define KERN_FAST_PRODUCT_H

#include "kern/fast/vec.h"

typedef struct {
  int in, out, ld, add;
  const float *w, *b;
  size_t xs, ys;
  const char *ahead, *ahead_end;
} mm_job;

/* T tiles × O outputs from output o on. T and O are constants at every call. */
INLINE void mm_panel(mm_job *j, int T, int O, const float *x, float *y, int o) {
  vf s[MM_T * TV][MM_O];
  UNROLL for (int k = 0; k < O; k++) {
    vf b = j->b ? vset(j->b[o + k]) : vset(0);
    UNROLL for (int t = 0; t < T * TV; t++) {
      const float *old = y + (size_t)(t / TV) * j->ys + (size_t)((o + k) * LANES + t % TV * VL);
      s[t][k] = j->add ? vadd(vload(old), b) : b;
    }
  }
  const float *w = j->w + o;
  const char *ahead = j->ahead;
  j->ahead = ahead < j->ahead_end ? ahead + 64 * (size_t)j->in : ahead;
  _Pragma("GCC unroll 4") for (int i = 0; i < j->in; i++, w += j->ld) {
    vf v[MM_T * TV];
    if (T > 1) __builtin_prefetch(ahead + 64 * (size_t)i, 0, 2);
    UNROLL for (int t = 0; t < T * TV; t++) v[t] =
        vload(x + (size_t)(t / TV) * j->xs + (size_t)(i * LANES + t % TV * VL));
    UNROLL for (int k = 0; k < O; k++) {
      vf b = vset(w[k]);
      UNROLL for (int t = 0; t < T * TV; t++) s[t][k] = vfma(v[t], b, s[t][k]);
    }
  }
  UNROLL for (int k = 0; k < O; k++) UNROLL for (int t = 0; t < T * TV; t++)
      vstore(y + (size_t)(t / TV) * j->ys + (size_t)((o + k) * LANES + t % TV * VL), s[t][k]);
}

INLINE void mm_tiles(mm_job *j, int T, const float *x, float *y) {
  int o = 0;
  for (; o + MM_O <= j->out; o += MM_O) mm_panel(j, T, MM_O, x, y, o);
  if (MM_O > 4 && j->out - o >= 4) mm_panel(j, T, MM_O > 4 ? 4 : 1, x, y, o), o += 4;
  if (j->out - o >= 2) mm_panel(j, T, 2, x, y, o), o += 2;
  if (j->out - o >= 1) mm_panel(j, T, 1, x, y, o);
}

static void fast_mm_ahead(int tiles, const float *x, size_t xs, int in, const float *w, int ld, int out, const float *b,
                          int add, float *y, size_t ys, const float *ahead, size_t lines) {
  const char *first = (const char *)ahead;
  mm_job j = {in, out, ld, add, w, b, xs, ys, first, first + 64 * lines};
  int t = 0;
  for (; t + MM_T <= tiles; t += MM_T) mm_tiles(&j, MM_T, x + (size_t)t * xs, y + (size_t)t * ys);
  if (MM_T > 2 && t + 2 <= tiles) mm_tiles(&j, MM_T > 2 ? 2 : 1, x + (size_t)t * xs, y + (size_t)t * ys), t += 2;
  if (t < tiles) mm_tiles(&j, 1, x + (size_t)t * xs, y + (size_t)t * ys);
}

static void fast_mm(int tiles, const float *x, size_t xs, int in, const float *w, int ld, int out, const float *b,
                    int add, float *y, size_t ys) {
  fast_mm_ahead(tiles, x, xs, in, w, ld, out, b, add, y, ys, x, 0);
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

INLINE void grad_columns(int tiles, int V, const float *x, size_t xs, int in, const float *r, size_t ldr, float *gw) {
  int i = 0;
  for (; i + GW_I <= in; i += GW_I) grad_panel(tiles, GW_I, V, x + i * LANES, xs, r, ldr, gw + (size_t)i * ldr);
  for (; i + 4 <= in; i += 4) grad_panel(tiles, 4, V, x + i * LANES, xs, r, ldr, gw + (size_t)i * ldr);
  for (; i < in; i++) grad_panel(tiles, 1, V, x + i * LANES, xs, r, ldr, gw + (size_t)i * ldr);
}

static void fast_grad_w(int tiles, const float *x, size_t xs, int in, const float *r, int out, float *gw) {
  int pad = (out + LANES - 1) / LANES * LANES, o = 0;
  for (; o + GW_V * VL <= pad; o += GW_V * VL) grad_columns(tiles, GW_V, x, xs, in, r + o, (size_t)pad, gw + o);
  for (; o < pad; o += VL) grad_columns(tiles, 1, x, xs, in, r + o, (size_t)pad, gw + o);
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
