/* vec_neon.h: the vocabulary of vec.h in AArch64 NEON, 4 lanes. Included by vec.h only. */
#ifndef KERN_FAST_VEC_NEON_H
#define KERN_FAST_VEC_NEON_H

#include <arm_neon.h>
typedef float32x4_t vf;
typedef int32x4_t vi;
enum { VL = 4, MM_T = 1, MM_O = 4, GW_I = 6, GW_V = 4, GL_I = 4, GL_O = 6, RM_R = 6, RM_V = 4, MR_R = 4, MR_V = 4 };
INLINE vf vset(float a) {
  return vdupq_n_f32(a);
}
INLINE vf vload(const float *p) {
  return vld1q_f32(p);
}
INLINE void vstore(float *p, vf a) {
  vst1q_f32(p, a);
}
INLINE vf vload_part(const float *p, int n) {
  float v[4] = {p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, 0};
  return vld1q_f32(v);
}
INLINE void vstore_part(float *p, vf a, int n) {
  float v[4];
  vst1q_f32(v, a);
  for (int l = 0; l < n; l++) p[l] = v[l];
}
INLINE vf vadd(vf a, vf b) {
  return vaddq_f32(a, b);
}
INLINE vf vsub(vf a, vf b) {
  return vsubq_f32(a, b);
}
INLINE vf vmul(vf a, vf b) {
  return vmulq_f32(a, b);
}
INLINE vf vfma(vf a, vf b, vf c) {
  return vfmaq_f32(c, a, b);
}
INLINE vf vfnma(vf a, vf b, vf c) {
  return vfmsq_f32(c, a, b);
}
INLINE vf vmin(vf a, vf b) {
  return vminq_f32(a, b);
}
INLINE vf vmax(vf a, vf b) {
  return vmaxq_f32(a, b);
}
INLINE vf vsqrt(vf a) {
  return vsqrtq_f32(a);
}
INLINE vf vround(vf a) {
  return vrndnq_f32(a);
}
INLINE vf vdiv(vf a, vf b) {
  return vdivq_f32(a, b);
}
INLINE vi vint(vf a) {
  return vcvtnq_s32_f32(a);
}
INLINE vf vfloat(vi a) {
  return vcvtq_f32_s32(a);
}
INLINE vi viset(int32_t a) {
  return vdupq_n_s32(a);
}
INLINE vi viload(const void *p) {
  return vld1q_s32(p);
}
INLINE vi viadd(vi a, vi b) {
  return vaddq_s32(a, b);
}
INLINE vi visub(vi a, vi b) {
  return vsubq_s32(a, b);
}
INLINE vi viand(vi a, vi b) {
  return vandq_s32(a, b);
}
INLINE vi vixor(vi a, vi b) {
  return veorq_s32(a, b);
}
INLINE vi vishl(vi a, int n) {
  return vshlq_s32(a, vdupq_n_s32(n));
}
INLINE vi vishr(vi a, int n) {
  return vshlq_s32(a, vdupq_n_s32(-n));
}
INLINE vi vbits(vf a) {
  return vreinterpretq_s32_f32(a);
}
INLINE vf vfrom(vi a) {
  return vreinterpretq_f32_s32(a);
}
INLINE vf vpick(vi m, vf a, vf b) {
  return vbslq_f32(vtstq_s32(m, m), a, b);
}
INLINE vf vgather(const float *p, vi at) {
  float v[4] = {p[vgetq_lane_s32(at, 0)], p[vgetq_lane_s32(at, 1)], p[vgetq_lane_s32(at, 2)], p[vgetq_lane_s32(at, 3)]};
  return vld1q_f32(v);
}
INLINE vf vldexp(vf a, vf n) {
  int32x4_t e = vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)), 23);
  return vmulq_f32(a, vreinterpretq_f32_s32(e));
}
INLINE void vistore(void *p, vi a) {
  vst1q_s32(p, a);
}
INLINE vf vload_pairs(const float *x, const uint32_t *at) {
  return vcombine_f32(vld1_f32(x + at[0]), vld1_f32(x + at[1]));
}
INLINE vf vload_quads(const float *x, const uint32_t *at) {
  return vld1q_f32(x + at[0]);
}
INLINE void vstore_quads(float *x, size_t stride, vf a) {
  (void)stride;
  vst1q_f32(x, a);
}
INLINE vf vevens(vf a, vf b) {
  return vuzp1q_f32(a, b);
}
INLINE vf vodds(vf a, vf b) {
  return vuzp2q_f32(a, b);
}
INLINE vf vlows(vf a, vf b) {
  return vzip1q_f32(a, b);
}
INLINE vf vhighs(vf a, vf b) {
  return vzip2q_f32(a, b);
}
INLINE vf vlow_pairs(vf a, vf b) {
  return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}
INLINE vf vhigh_pairs(vf a, vf b) {
  return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}
INLINE void vpairs_get(const float *x, vf *p) {
  float32x4x2_t a = vld2q_f32(x);
  p[0] = a.val[0];
  p[1] = a.val[1];
}
INLINE void vpairs_put(float *x, const vf *p) {
  float32x4x2_t pair = {{p[0], p[1]}};
  vst2q_f32(x, pair);
}
INLINE void vtranspose(const float *src, size_t ss, int rows, float *dst, size_t ds) {
  vf a[4];
  UNROLL for (int k = 0; k < 4; k++) a[k] = k < rows ? vload(src + (size_t)k * ss) : vset(0);
  float32x4x2_t p = vtrnq_f32(a[0], a[1]), q = vtrnq_f32(a[2], a[3]);
  vstore(dst, vcombine_f32(vget_low_f32(p.val[0]), vget_low_f32(q.val[0])));
  vstore(dst + ds, vcombine_f32(vget_low_f32(p.val[1]), vget_low_f32(q.val[1])));
  vstore(dst + 2 * ds, vcombine_f32(vget_high_f32(p.val[0]), vget_high_f32(q.val[0])));
  vstore(dst + 3 * ds, vcombine_f32(vget_high_f32(p.val[1]), vget_high_f32(q.val[1])));
}

#endif
