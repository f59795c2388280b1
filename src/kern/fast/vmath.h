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

/* 2^s for s ≥ -126 */
INLINE vf vexp2(vf s) {
  vf n = vround(s), r = vsub(s, n);
  vf p = vfma(r, vset(1.547630023e-04F), vset(1.340026966e-03F));
  p = vfma(r, p, vset(9.618003890e-03F));
  p = vfma(r, p, vset(5.550327791e-02F));
  p = vfma(r, p, vset(2.402265135e-01F));
  p = vfma(r, p, vset(6.931472062e-01F));
  return vldexp(vfma(r, p, vset(1)), n);
}

/* Φ(-a) = 2^G(a) for a ≥ 0, Φ the normal distribution function. No division, and accurate in the tail. */
INLINE vf vcdf_tail(vf a) {
  vf g = vfma(a, vset(-2.772011858e-06F), vset(3.862036739e-05F));
  g = vfma(a, g, vset(-1.825460817e-04F));
  g = vfma(a, g, vset(-1.458731925e-04F));
  g = vfma(a, g, vset(7.075475055e-03F));
  g = vfma(a, g, vset(-5.250503053e-02F));
  g = vfma(a, g, vset(-4.592049068e-01F));
  g = vfma(a, g, vset(-1.151105724e+00F));
  g = vfma(a, g, vset(-9.999999783e-01F));
  return vexp2(vmax(vset(-126), g));
}

/* erf x = x P(x²) for |x| < 0.6, ±(1 - 2Φ(-√2|x|)) beyond. */
INLINE vf verf(vf x) {
  vf a = vabs(x), v = vmul(x, x);
  vf p = vfma(v, vset(4.516140425e-03F), vset(-2.664971927e-02F));
  p = vfma(v, p, vset(1.128105352e-01F));
  p = vfma(v, p, vset(-3.761251709e-01F));
  p = vmul(x, vfma(v, p, vset(1.128379158e+00F)));
  vf far = vfnma(vset(2), vcdf_tail(vmul(a, vset(1.41421356F))), vset(1));
  return vpick(vishr(vbits(vsub(a, vset(0.6F))), 31), p, vneg_where(far, vsign(x)));
}

/* x Φ(x) = max(x, 0) - |x| Φ(-|x|) */
INLINE vf vgelu(vf x) {
  vf a = vabs(x);
  return vfnma(a, vcdf_tail(a), vmax(vset(0), x));
}

/* gelu' = Φ(x) + x φ(x), φ = e^(-x²/2)/√(2π) */
INLINE vf vgelu_both(vf x, vf *slope) {
  vf a = vabs(x), tail = vcdf_tail(a), cdf = vpick(vsign(x), tail, vsub(vset(1), tail));
  vf density = vexp2(vmax(vset(-126), vmul(vmul(a, a), vset(-0.721347520F))));
  *slope = vfma(vmul(x, vset(0.398942280F)), density, cdf);
  return vfnma(a, tail, vmax(vset(0), x));
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
