/* modes.h: the product of a few complex numbers with a complex matrix, by parts: what a spectral convolution does at each of its
 * modes. Vectors run along the outputs. */
#ifndef KERN_FAST_MODES_H
#define KERN_FAST_MODES_H

#include "kern/fast/columns.h"
#include "kern/fast/matrix.h"

/* V vectors of y from output o on; four sums each, so that no multiply-add waits for the one before. */
INLINE void mode_panel(const kern_mode *m, int V, int part, int o, float *yr, float *yi) {
  vf a[2], b[2], c[2], d[2];
  const float *p = m->w + o, *q = p + (size_t)m->in * (size_t)m->out;
  UNROLL for (int v = 0; v < V; v++) a[v] = b[v] = c[v] = d[v] = vset(0);
  for (int i = 0; i < m->in; i++, p += m->out, q += m->out) {
    vf x = vset(m->xr[i]), z = vset(m->xi[i]);
    UNROLL for (int v = 0; v < V; v++) {
      vf w = load_of(p, V, v, part), u = load_of(q, V, v, part);
      a[v] = vfma(x, w, a[v]);
      b[v] = vfma(z, u, b[v]);
      c[v] = vfma(x, u, c[v]);
      d[v] = vfma(z, w, d[v]);
    }
  }
  UNROLL for (int v = 0; v < V; v++) {
    store_of(yr + o, V, v, part, vsub(a[v], b[v]));
    store_of(yi + o, V, v, part, vadd(c[v], d[v]));
  }
}

static void fast_mode_mm(const kern_mode *m, float *yr, float *yi) {
  int o = 0;
  for (; o + 2 * VL <= m->out; o += 2 * VL) mode_panel(m, 2, 0, o, yr, yi);
  int left = m->out - o;
  if (left > VL)
    mode_panel(m, 2, left - VL, o, yr, yi);
  else if (left == VL)
    mode_panel(m, 1, 0, o, yr, yi);
  else if (left)
    mode_panel(m, 1, left, o, yr, yi);
}

/* Input i: its share of g_W, and the lanes of its g_x' and g_x''. */
INLINE void mode_back_row(const kern_mode *m, int i, const float *gr, const float *gi, float *gw, float *sr,
                          float *si) {
  size_t n = (size_t)m->out, row = (size_t)i * n, half = (size_t)m->in * n;
  vf x = vset(m->xr[i]), z = vset(m->xi[i]), r = vset(0), s = vset(0);
  for (size_t o = 0; o < n; o += VL) {
    size_t left = n - o;
    vf a = load_some(gr + o, left), b = load_some(gi + o, left);
    vf w = load_some(m->w + row + o, left), u = load_some(m->w + half + row + o, left);
    r = vfma(b, u, vfma(a, w, r));
    s = vfnma(a, u, vfma(b, w, s));
    if (!gw) continue;
    float *to = gw + row + o;
    store_some(to, left, vfma(z, b, vfma(x, a, load_some(to, left))));
    store_some(to + half, left, vfnma(z, a, vfma(x, b, load_some(to + half, left))));
  }
  vstore(sr, r);
  vstore(si, s);
}

static void fast_mode_back(const kern_mode *m, const float *gr, const float *gi, float *gxr, float *gxi, float *gw) {
  _Alignas(64) float sr[VL * VL], si[VL * VL];
  for (int i = 0; i < m->in; i += VL) {
    int rows = m->in - i < VL ? m->in - i : VL;
    size_t left = (size_t)(m->in - i);
    if (rows < VL) memset(sr, 0, sizeof sr), memset(si, 0, sizeof si);
    for (int k = 0; k < rows; k++) mode_back_row(m, i + k, gr, gi, gw, sr + k * VL, si + k * VL);
    if (!gxr) continue;
    store_some(gxr + i, left, vadd(load_some(gxr + i, left), lane_sums(sr)));
    store_some(gxi + i, left, vadd(load_some(gxi + i, left), lane_sums(si)));
  }
}

#endif
