/* vmath.h: elementary functions on vectors. Coefficients from tools/minimax.py. Bounds on the error, tested in
 * tests/test_kern.c against double libm: sin, cos 1.2e-7 for |x| ≤ 1e4; tanh, erf, sigmoid 1.2e-7; exp 2 ulp between -87
 * and 88 (0 below, e^88 above); log1p 2 ulp; softplus, gelu 2 ulp + 1e-7; gelu' 2e-7. NaN in, NaN out. */
#ifndef KERN_FAST_VMATH_H
#define KERN_FAST_VMATH_H

#include "kern/fast/vec.h"

INLINE vf vneg_where(vf a, vi sign_bit) {
  return vfrom(vixor(vbits(a), sign_bit));
}
INLINE vi vsign(vf a) {
  return viand(vbits(a), viset(INT32_MIN));
}
INLINE vf vabs(vf a) {
  return vfrom(viand(vbits(a), viset(INT32_MAX)));
}

/* x - n·(q1 + q2 + q3), three parts of the period's fraction. */
INLINE vf vreduce(vf x, vf n, float q1, float q2, float q3) {
  return vfnma(n, vset(q3), vfnma(n, vset(q2), vfnma(n, vset(q1), x)));
}

/* sin x: x = nπ + r, |r| ≤ π/2, sign by the parity of n. */
INLINE vf vsin(vf x) {
  vf n = vround(vmul(x, vset(0.318309886F)));
  vf r = vreduce(x, n, 3.14159274F, -8.74227766e-8F, -3.43057890e-15F), r2 = vmul(r, r);
  vf p = vfma(r2, vset(2.600054754e-06F), vset(-1.980661519e-04F));
  p = vfma(r2, p, vset(8.333017291e-03F));
  p = vfma(r2, p, vset(-1.666665710e-01F));
  vf y = vfma(vmul(r2, r), p, r);
  return vneg_where(y, vishl(vint(n), 31));
}

/* Both at once: x = nπ/2 + r, |r| ≤ π/4. */
INLINE void vsincos(vf x, vf *sine, vf *cosine) {
  vf n = vround(vmul(x, vset(0.636619772F)));
  vf r = vreduce(x, n, 1.57079637F, -4.37113883e-8F, -1.71528945e-15F), r2 = vmul(r, r);
  vf s = vfma(r2, vset(-1.949563620e-04F), vset(8.331978663e-03F));
  s = vfma(r2, s, vset(-1.666665067e-01F));
  s = vfma(vmul(r2, r), s, r);
  vf c = vfma(r2, vset(2.443845152e-05F), vset(-1.388736752e-03F));
  c = vfma(r2, c, vset(4.166664687e-02F));
  c = vfma(vmul(r2, r2), c, vfma(r2, vset(-0.5F), vset(1)));
  vi q = vint(n), odd = viand(q, viset(1));
  *sine = vneg_where(vpick(odd, c, s), vishl(viand(q, viset(2)), 30));
  *cosine = vneg_where(vpick(odd, s, c), vishl(viand(viadd(q, viset(1)), viset(2)), 30));
}

/* e^x = 2^n e^r, |r| ≤ ln2/2. Below -87 the result is 0, above 88 that of 88. */
INLINE vf vexp(vf x) {
  vf low = vmin(vset(88), vmax(vset(-88), x));
  vf n = vround(vmul(low, vset(1.44269504F)));
  vf r = vfnma(n, vset(-2.12194440e-4F), vfnma(n, vset(0.693359375F), low));
  vf p = vfma(r, vset(1.395047883e-03F), vset(8.368882235e-03F));
  p = vfma(r, p, vset(4.166620599e-02F));
  p = vfma(r, p, vset(1.666651890e-01F));
  p = vfma(r, p, vset(5.000000095e-01F));
  p = vadd(vset(1), vfma(vmul(r, r), p, r));
  vf y = vmul(p, vfrom(vishl(viadd(vint(n), viset(127)), 23)));
  vi under = vishr(vbits(vsub(x, vset(-87))), 31); /* all ones where x < -87 */
  return vpick(under, vset(0), y);
}

/* tanh x = x + x³ P(x²) for |x| < 0.6, ±(1 - 2/(e^(2|x|) + 1)) beyond. */
INLINE vf vtanh(vf x) {
  vf a = vabs(x), v = vmul(x, x);
  vf p = vfma(v, vset(-5.905868501e-03F), vset(2.080538468e-02F));
  p = vfma(v, p, vset(-5.378668360e-02F));
  p = vfma(v, p, vset(1.333195824e-01F));
  p = vfma(v, p, vset(-3.333329927e-01F));
  p = vfma(vmul(v, x), p, x);
  vf far = vsub(vset(1), vdiv(vset(2), vadd(vexp(vadd(a, a)), vset(1))));
  return vpick(vishr(vbits(vsub(a, vset(0.6F))), 31), p, vneg_where(far, vsign(x)));
}

/* The functions behind gelu work on n ≤ GROUP vectors side by side: their chains of dependent steps are long, and the
 * core's window of waiting instructions holds too few of them one after the other. */
enum { GROUP = 4 };

/* y = 2^s for s ≥ -126 */
INLINE void vexp2s(int n, const vf *s, vf *y) {
  static const float c[5] = {1.340026966e-03F, 9.618003890e-03F, 5.550327791e-02F, 2.402265135e-01F, 6.931472062e-01F};
  vf whole[GROUP], r[GROUP];
  UNROLL for (int j = 0; j < n; j++) whole[j] = vround(s[j]);
  UNROLL for (int j = 0; j < n; j++) r[j] = vsub(s[j], whole[j]);
  UNROLL for (int j = 0; j < n; j++) y[j] = vset(1.547630023e-04F);
  UNROLL for (int k = 0; k < 5; k++) UNROLL for (int j = 0; j < n; j++) y[j] = vfma(r[j], y[j], vset(c[k]));
  UNROLL for (int j = 0; j < n; j++) y[j] = vldexp(vfma(r[j], y[j], vset(1)), whole[j]);
}

/* tail = Φ(-a) = 2^G(a) for a ≥ 0, Φ the normal distribution function. No division, and accurate in the tail. */
INLINE void vcdf_tails(int n, const vf *a, vf *tail) {
  static const float c[8] = {3.862036739e-05F,  -1.825460817e-04F, -1.458731925e-04F, 7.075475055e-03F,
                             -5.250503053e-02F, -4.592049068e-01F, -1.151105724e+00F, -9.999999783e-01F};
  vf g[GROUP];
  UNROLL for (int j = 0; j < n; j++) g[j] = vset(-2.772011858e-06F);
  UNROLL for (int k = 0; k < 8; k++) UNROLL for (int j = 0; j < n; j++) g[j] = vfma(a[j], g[j], vset(c[k]));
  UNROLL for (int j = 0; j < n; j++) g[j] = vmax(vset(-126), g[j]);
  vexp2s(n, g, tail);
}

/* erf x = x P(x²) for |x| < 0.6, ±(1 - 2Φ(-√2|x|)) beyond. */
INLINE vf verf(vf x) {
  vf a = vabs(x), v = vmul(x, x), scaled = vmul(a, vset(1.41421356F)), tail;
  vf p = vfma(v, vset(4.516140425e-03F), vset(-2.664971927e-02F));
  p = vfma(v, p, vset(1.128105352e-01F));
  p = vfma(v, p, vset(-3.761251709e-01F));
  p = vmul(x, vfma(v, p, vset(1.128379158e+00F)));
  vcdf_tails(1, &scaled, &tail);
  vf far = vfnma(vset(2), tail, vset(1));
  return vpick(vishr(vbits(vsub(a, vset(0.6F))), 31), p, vneg_where(far, vsign(x)));
}

/* y = x Φ(x) = max(x, 0) - |x| Φ(-|x|) */
INLINE void vgelus(int n, const vf *x, vf *y) {
  vf a[GROUP], tail[GROUP];
  UNROLL for (int j = 0; j < n; j++) a[j] = vabs(x[j]);
  vcdf_tails(n, a, tail);
  UNROLL for (int j = 0; j < n; j++) y[j] = vfnma(a[j], tail[j], vmax(vset(0), x[j]));
}

/* and slope = gelu' = Φ(x) + x φ(x), φ = e^(-x²/2)/√(2π) */
INLINE void vgelu_slopes(int n, const vf *x, vf *y, vf *slope) {
  vf a[GROUP], tail[GROUP], e[GROUP];
  UNROLL for (int j = 0; j < n; j++) a[j] = vabs(x[j]);
  vcdf_tails(n, a, tail);
  UNROLL for (int j = 0; j < n; j++) e[j] = vmax(vset(-126), vmul(vmul(a[j], a[j]), vset(-0.721347520F)));
  vexp2s(n, e, e);
  UNROLL for (int j = 0; j < n; j++) {
    vf cdf = vpick(vsign(x[j]), tail[j], vsub(vset(1), tail[j]));
    slope[j] = vfma(vmul(x[j], vset(0.398942280F)), e[j], cdf);
    y[j] = vfnma(a[j], tail[j], vmax(vset(0), x[j]));
  }
}

INLINE vf vsigmoid(vf x) {
  return vdiv(vset(1), vadd(vset(1), vexp(vsub(vset(0), x))));
}

/* log(1 + x): u = 1 + x = 2^n (1 + r), 1 + r in [√½, √2); what u lost of x comes back as a first-order term. */
INLINE vf vlog1p(vf x) {
  vf u = vadd(vset(1), x), lost = vsub(x, vsub(u, vset(1)));
  vi e = vishr(visub(vbits(u), viset(0x3f3504f3)), 23);
  vf r = vsub(vfrom(visub(vbits(u), vishl(e, 23))), vset(1)), n = vfloat(e);
  vf p = vfma(r, vset(8.734842773e-02F), vset(-1.430752166e-01F));
  p = vfma(r, p, vset(1.491797367e-01F));
  p = vfma(r, p, vset(-1.657050818e-01F));
  p = vfma(r, p, vset(1.996207213e-01F));
  p = vfma(r, p, vset(-2.500175525e-01F));
  p = vfma(r, p, vset(3.333395022e-01F));
  p = vfma(r, p, vset(-4.999999161e-01F));
  vf tail = vfma(n, vset(-2.12194440e-4F), vdiv(lost, u));
  return vfma(n, vset(0.693359375F), vadd(r, vfma(vmul(r, r), p, tail)));
}

INLINE vf vsoftplus(vf x) {
  return vadd(vmax(x, vset(0)), vlog1p(vexp(vsub(vset(0), vabs(x)))));
}

#endif
