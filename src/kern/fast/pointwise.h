/* pointwise.h: norms, activations and phasors on tiles: everything that treats a simplex by itself. */
#ifndef KERN_FAST_POINTWISE_H
#define KERN_FAST_POINTWISE_H

#include "kern/fast/vmath.h"

static void fast_affine(int tiles, int ch, const float *x, size_t xs, const float *gain, const float *shift, float *y,
                        size_t ys) {
  for (int t = 0; t < tiles; t++, x += xs, y += ys)
    for (int k = 0; k < ch; k++) UNROLL for (int v = 0; v < TV; v++) {
        vf a = vload(x + k * LANES + v * VL);
        vstore(y + k * LANES + v * VL, gain ? vfma(vset(gain[k]), a, vset(shift[k])) : a);
      }
}

/* Σ_k x_k of one lane group, in four running sums. */
INLINE vf channel_sum(int ch, const float *x) {
  vf s[4] = {vset(0), vset(0), vset(0), vset(0)};
  int k = 0;
  for (; k + 4 <= ch; k += 4) UNROLL for (int j = 0; j < 4; j++) s[j] = vadd(s[j], vload(x + (k + j) * LANES));
  for (; k < ch; k++) s[0] = vadd(s[0], vload(x + k * LANES));
  return vadd(vadd(s[0], s[1]), vadd(s[2], s[3]));
}

/* Σ_k (x_k - mean)² */
INLINE vf channel_square(int ch, const float *x, vf mean) {
  vf s[4] = {vset(0), vset(0), vset(0), vset(0)};
  int k = 0;
  for (; k + 4 <= ch; k += 4) UNROLL for (int j = 0; j < 4; j++) {
      vf a = vsub(vload(x + (k + j) * LANES), mean);
      s[j] = vfma(a, a, s[j]);
    }
  for (; k < ch; k++) {
    vf a = vsub(vload(x + k * LANES), mean);
    s[0] = vfma(a, a, s[0]);
  }
  return vadd(vadd(s[0], s[1]), vadd(s[2], s[3]));
}

/* xhat (may be u, or NULL when only y is wanted), rstd and y of one lane group. */
INLINE vf norm_lanes(int ch, const float *u, const float *gain, const float *shift, float *xhat, float *y) {
  vf scale = vset(1.0F / (float)ch), mean = vmul(channel_sum(ch, u), scale);
  vf var = vmul(channel_square(ch, u, mean), scale);
  vf rstd = vdiv(vset(1), vsqrt(vadd(var, vset(1e-5F))));
  for (int k = 0; k < ch; k++) {
    vf h = vmul(vsub(vload(u + k * LANES), mean), rstd);
    if (xhat) vstore(xhat + k * LANES, h);
    vstore(y + k * LANES, vfma(vset(gain[k]), h, vset(shift[k])));
  }
  return rstd;
}

static void fast_norm(int tiles, int ch, const float *u, size_t us, const float *gain, const float *shift, float *xhat,
                      size_t hs, float *rstd, float *y, size_t ys) {
  for (int t = 0; t < tiles; t++, u += us, xhat += hs, y += ys, rstd += LANES)
    UNROLL for (int v = 0; v < TV; v++)
        vstore(rstd + v * VL, norm_lanes(ch, u + v * VL, gain, shift, xhat + v * VL, y + v * VL));
}

static void fast_gelu_norm(int tiles, int ch, const float *a, size_t as, const float *gain, const float *shift,
                           float *y, size_t ys) {
  for (int t = 0; t < tiles; t++, a += as, y += ys) {
    for (int e = 0; e < ch * LANES; e += VL) vstore(y + e, vgelu(vload(a + e)));
    UNROLL for (int v = 0; v < TV; v++) norm_lanes(ch, y + v * VL, gain, shift, NULL, y + v * VL);
  }
}

static void fast_gelu_norm_keep(int tiles, int ch, float *a, size_t as, const float *gain, const float *shift,
                                float *xhat, size_t hs, float *rstd, float *y, size_t ys) {
  for (int t = 0; t < tiles; t++, a += as, xhat += hs, y += ys, rstd += LANES) {
    for (int e = 0; e < ch * LANES; e += VL) {
      vf slope, g = vgelu_both(vload(a + e), &slope);
      vstore(xhat + e, g);
      vstore(a + e, slope);
    }
    UNROLL for (int v = 0; v < TV; v++)
        vstore(rstd + v * VL, norm_lanes(ch, xhat + v * VL, gain, shift, xhat + v * VL, y + v * VL));
  }
}

/* One lane group: q = gain⊙g, then g_u = slope ⊙ rstd (q - mean q - xhat mean(q⊙xhat)). */
INLINE void norm_back_lanes(int ch, const float *g, const float *h, vf rstd, const float *gain, const float *slope,
                            float *gu, float *lanes) {
  vf s[2] = {vset(0), vset(0)}, d[2] = {vset(0), vset(0)};
  for (int k = 0; k < ch; k++) {
    vf gk = vload(g + k * LANES), hk = vload(h + k * LANES), q = vmul(vset(gain[k]), gk);
    float *along = lanes + k * LANES, *plain = along + ch * LANES;
    vstore(along, vfma(gk, hk, vload(along)));
    vstore(plain, vadd(gk, vload(plain)));
    s[0] = vadd(s[0], q);
    d[0] = vfma(q, hk, d[0]);
    vf swap = s[0];
    s[0] = s[1], s[1] = swap;
    swap = d[0];
    d[0] = d[1], d[1] = swap;
  }
  vf scale = vset(1.0F / (float)ch), mean = vmul(vadd(s[0], s[1]), scale), along = vmul(vadd(d[0], d[1]), scale);
  for (int k = 0; k < ch; k++) {
    vf q = vmul(vset(gain[k]), vload(g + k * LANES));
    vf u = vmul(rstd, vfnma(vload(h + k * LANES), along, vsub(q, mean)));
    vstore(gu + k * LANES, slope ? vmul(vload(slope + k * LANES), u) : u);
  }
}

static void fast_norm_back(int tiles, int ch, const float *gy, size_t gs, const float *xhat, size_t hs,
                           const float *rstd, const float *gain, const float *slope, size_t ss, float *gu, size_t us,
                           float *lanes) {
  for (int t = 0; t < tiles; t++, gy += gs, xhat += hs, rstd += LANES, slope += slope ? ss : 0, gu += us)
    UNROLL for (int v = 0; v < TV; v++) norm_back_lanes(ch, gy + v * VL, xhat + v * VL, vload(rstd + v * VL), gain,
                                                        slope ? slope + v * VL : NULL, gu + v * VL, lanes + v * VL);
}

static void fast_phasor(int tiles, int c, const float *theta, float *cs, size_t ss) {
  for (int t = 0; t < tiles; t++, theta += c * LANES, cs += ss)
    for (int e = 0; e < c * LANES; e += VL) {
      vf s, k;
      vsincos(vload(theta + e), &s, &k);
      vstore(cs + e, k);
      vstore(cs + c * LANES + e, s);
    }
}

static void fast_phasor_back(int tiles, int c, const float *cs, size_t ss, const float *g, size_t gs, float *g_theta) {
  for (int t = 0; t < tiles; t++, cs += ss, g += gs, g_theta += c * LANES)
    for (int e = 0; e < c * LANES; e += VL) {
      vf sum = vfma(vload(cs + e), vload(g + c * LANES + e), vload(g_theta + e));
      vstore(g_theta + e, vfnma(vload(cs + c * LANES + e), vload(g + e), sum));
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
