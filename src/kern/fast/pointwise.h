/* pointwise.h: norms, activations and phasors on tiles: everything that treats a simplex by itself. */
#ifndef KERN_FAST_POINTWISE_H
#define KERN_FAST_POINTWISE_H

#include "kern/fast/vmath.h"

/* Running sums over the channels of d = x - x_0 and d², two of each. Shifted by the first channel the variance needs no
 * second pass: (mean - x_0)² ≤ ch·var, so at most that factor is lost. */
typedef struct {
  vf shift, s[2], q[2];
} moments;

INLINE void moments_add(moments *m, int k, vf x) {
  if (k == 0) *m = (moments){x, {vset(0), vset(0)}, {vset(0), vset(0)}};
  vf d = vsub(x, m->shift);
  m->s[k & 1] = vadd(m->s[k & 1], d);
  m->q[k & 1] = vfma(d, d, m->q[k & 1]);
}

/* mean and 1/√(var + eps) of ch channels */
INLINE vf moments_close(const moments *m, int ch, vf *mean) {
  vf scale = vset(1.0F / (float)ch), off = vmul(vadd(m->s[0], m->s[1]), scale);
  vf var = vfnma(off, off, vmul(vadd(m->q[0], m->q[1]), scale));
  *mean = vadd(m->shift, off);
  return vdiv(vset(1), vsqrt(vadd(vmax(vset(0), var), vset(1e-5F))));
}

INLINE void normalise(int ch, const float *u, vf mean, vf rstd, float *xhat) {
  for (int k = 0; k < ch; k++) vstore(xhat + k * LANES, vmul(vsub(vload(u + k * LANES), mean), rstd));
}

static void fast_norm(int tiles, int ch, const float *u, size_t us, float *xhat, size_t hs, float *rstd) {
  for (int t = 0; t < tiles; t++, u += us, xhat += hs, rstd += LANES)
    for (int v = 0; v < LANES; v += VL) {
      moments m;
      int k = 0;
      moments_add(&m, 0, vload(u + v));
      for (k = 1; k + 1 < ch; k += 2) {
        moments_add(&m, 1, vload(u + v + k * LANES));
        moments_add(&m, 2, vload(u + v + (k + 1) * LANES));
      }
      if (k < ch) moments_add(&m, 1, vload(u + v + k * LANES));
      vf mean, r = moments_close(&m, ch, &mean);
      vstore(rstd + v, r);
      normalise(ch, u + v, mean, r, xhat + v);
    }
}

/* gelu of n channels into g and the moments; with `keep` the slopes replace a. `first`: no moments yet. */
INLINE void gelu_into(moments *m, int first, int n, int keep, float *a, float *g) {
  vf x[GROUP], y[GROUP], slope[GROUP];
  UNROLL for (int j = 0; j < n; j++) x[j] = vload(a + j * LANES);
  if (keep)
    vgelu_slopes(n, x, y, slope);
  else
    vgelus(n, x, y);
  UNROLL for (int j = 0; j < n; j++) {
    moments_add(m, first && j == 0 ? 0 : j + 1, y[j]);
    vstore(g + j * LANES, y[j]);
    if (keep) vstore(a + j * LANES, slope[j]);
  }
}

/* xhat = norm(gelu(a)) of one lane group; returns rstd. */
INLINE vf gelu_norm_lanes(int ch, int keep, float *a, float *xhat) {
  moments m;
  int k = 0;
  if (ch >= GROUP)
    gelu_into(&m, 1, GROUP, keep, a, xhat), k = GROUP;
  else
    gelu_into(&m, 1, 1, keep, a, xhat), k = 1;
  for (; k + GROUP <= ch; k += GROUP) gelu_into(&m, 0, GROUP, keep, a + k * LANES, xhat + k * LANES);
  for (; k < ch; k++) gelu_into(&m, 0, 1, keep, a + k * LANES, xhat + k * LANES);
  vf mean, rstd = moments_close(&m, ch, &mean);
  normalise(ch, xhat, mean, rstd, xhat);
  return rstd;
}

static void fast_gelu_norm_keep(int tiles, int ch, float *a, size_t as, float *xhat, size_t hs, float *rstd) {
  for (int t = 0; t < tiles; t++, a += as, xhat += hs, rstd += LANES)
    for (int v = 0; v < LANES; v += VL) vstore(rstd + v, gelu_norm_lanes(ch, 1, a + v, xhat + v));
}

/* a is only read, xhat may be a. */
static void fast_gelu_norm(int tiles, int ch, float *a, size_t as, float *xhat, size_t hs) {
  for (int t = 0; t < tiles; t++, a += as, xhat += hs)
    for (int v = 0; v < LANES; v += VL) gelu_norm_lanes(ch, 0, a + v, xhat + v);
}

/* The lane groups at v of T tiles: q = gain⊙g, then g_u = slope ⊙ rstd (q - mean q - xhat mean(q⊙xhat)). */
typedef struct {
  int ch;
  const float *g, *h, *rstd, *gain, *slope;
  float *gu, *lanes;
  size_t gs, hs, ss, us;
} norm_job;

INLINE void norm_back_lanes(const norm_job *j, int T, int v) {
  vf s[2], d[2], r[2];
  UNROLL for (int t = 0; t < T; t++) {
    s[t] = d[t] = vset(0);
    r[t] = vload(j->rstd + t * LANES + v);
  }
  for (int k = 0; k < j->ch; k++) {
    float *along = j->lanes + k * LANES + v, *plain = along + j->ch * LANES;
    vf a = vload(along), p = vload(plain), gain = vset(j->gain[k]);
    UNROLL for (int t = 0; t < T; t++) {
      vf g = vload(j->g + (size_t)t * j->gs + (size_t)(k * LANES + v));
      vf h = vload(j->h + (size_t)t * j->hs + (size_t)(k * LANES + v)), q = vmul(gain, g);
      a = vfma(g, h, a);
      p = vadd(g, p);
      s[t] = vadd(s[t], q);
      d[t] = vfma(q, h, d[t]);
    }
    vstore(along, a);
    vstore(plain, p);
  }
  vf scale = vset(1.0F / (float)j->ch);
  UNROLL for (int t = 0; t < T; t++) {
    s[t] = vmul(s[t], scale);
    d[t] = vmul(d[t], scale);
  }
  for (int k = 0; k < j->ch; k++) UNROLL for (int t = 0; t < T; t++) {
      vf q = vmul(vset(j->gain[k]), vload(j->g + (size_t)t * j->gs + (size_t)(k * LANES + v)));
      vf h = vload(j->h + (size_t)t * j->hs + (size_t)(k * LANES + v));
      vf u = vmul(r[t], vfnma(h, d[t], vsub(q, s[t])));
      if (j->slope) u = vmul(u, vload(j->slope + (size_t)t * j->ss + (size_t)(k * LANES + v)));
      vstore(j->gu + (size_t)t * j->us + (size_t)(k * LANES + v), u);
    }
}

static void fast_norm_back(int tiles, int ch, const float *gy, size_t gs, const float *xhat, size_t hs,
                           const float *rstd, const float *gain, const float *slope, size_t ss, float *gu, size_t us,
                           float *lanes) {
  norm_job j = {ch, gy, xhat, rstd, gain, slope, gu, lanes, gs, hs, ss, us};
  for (int t = 0; t < tiles; t += 2) {
    int two = t + 1 < tiles;
    for (int v = 0; v < LANES; v += VL)
      if (two)
        norm_back_lanes(&j, 2, v);
      else
        norm_back_lanes(&j, 1, v);
    j.g += 2 * gs, j.h += 2 * hs, j.rstd += 2 * LANES, j.gu += 2 * us;
    if (slope) j.slope += 2 * ss;
  }
}

static void fast_cond(int tiles, int c, float scale, float *maps) {
  for (int t = 0; t < tiles; t++, maps += 3 * c * LANES)
    for (int e = c * LANES; e < 3 * c * LANES; e += VL) {
      vf y = vtanh(vload(maps + e));
      vstore(maps + e, e < 2 * c * LANES ? y : vmul(vset(scale), y));
    }
}

static void fast_cond_back(int tiles, int c, float scale, const float *maps, const float *g_maps, float *g_pre,
                           size_t ps) {
  vf one = vset(1), top = vset(scale), inverse = vset(1 / scale);
  int n = c * LANES;
  for (int t = 0; t < tiles; t++, maps += 3 * n, g_maps += 3 * n, g_pre += ps)
    for (int e = 0; e < n; e += VL) {
      vf gate = vload(maps + n + e), lag = vload(maps + 2 * n + e);
      vstore(g_pre + e, vload(g_maps + e));
      vstore(g_pre + n + e, vmul(vload(g_maps + n + e), vfnma(gate, gate, one)));
      vstore(g_pre + 2 * n + e, vmul(vload(g_maps + 2 * n + e), vfnma(vmul(lag, inverse), lag, top)));
    }
}

#endif
