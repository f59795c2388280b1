/* vec_avx2.h: the vocabulary of vec.h in AVX2 with FMA, 8 lanes. Included by vec.h only. */
#ifndef KERN_FAST_VEC_AVX2_H
#define KERN_FAST_VEC_AVX2_H

#include <immintrin.h>
typedef __m256 vf;
typedef __m256i vi;
enum { VL = 8, MM_T = 1, MM_O = 6, GW_I = 6, GW_V = 2, GL_I = 4, GL_O = 3, RM_R = 6, RM_V = 2, MR_R = 4, MR_V = 2 };
INLINE vf vset(float a) {
  return _mm256_set1_ps(a);
}
INLINE vf vload(const float *p) {
  return _mm256_loadu_ps(p);
}
INLINE void vstore(float *p, vf a) {
  _mm256_storeu_ps(p, a);
}
INLINE __m256i vpart_mask(int n) {
  static const int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(const void *)(mask + 8 - n));
}
INLINE vf vload_part(const float *p, int n) {
  return _mm256_maskload_ps(p, vpart_mask(n));
}
INLINE void vstore_part(float *p, vf a, int n) {
  _mm256_maskstore_ps(p, vpart_mask(n), a);
}
INLINE vf vadd(vf a, vf b) {
  return _mm256_add_ps(a, b);
}
INLINE vf vsub(vf a, vf b) {
  return _mm256_sub_ps(a, b);
}
INLINE vf vmul(vf a, vf b) {
  return _mm256_mul_ps(a, b);
}
INLINE vf vfma(vf a, vf b, vf c) {
  return _mm256_fmadd_ps(a, b, c);
}
INLINE vf vfnma(vf a, vf b, vf c) {
  return _mm256_fnmadd_ps(a, b, c);
}
INLINE vf vmin(vf a, vf b) {
  return _mm256_min_ps(a, b);
}
INLINE vf vmax(vf a, vf b) {
  return _mm256_max_ps(a, b);
}
INLINE vf vsqrt(vf a) {
  return _mm256_sqrt_ps(a);
}
INLINE vf vround(vf a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE vf vdiv(vf a, vf b) {
  return _mm256_div_ps(a, b);
}
INLINE vi vint(vf a) {
  return _mm256_cvtps_epi32(a);
}
INLINE vf vfloat(vi a) {
  return _mm256_cvtepi32_ps(a);
}
INLINE vi viset(int32_t a) {
  return _mm256_set1_epi32(a);
}
INLINE vi viload(const void *p) {
  return _mm256_loadu_si256(p);
}
INLINE vi viadd(vi a, vi b) {
  return _mm256_add_epi32(a, b);
}
INLINE vi visub(vi a, vi b) {
  return _mm256_sub_epi32(a, b);
}
INLINE vi viand(vi a, vi b) {
  return _mm256_and_si256(a, b);
}
INLINE vi vixor(vi a, vi b) {
  return _mm256_xor_si256(a, b);
}
INLINE vi vishl(vi a, int n) {
  return _mm256_slli_epi32(a, n);
}
INLINE vi vishr(vi a, int n) {
  return _mm256_srai_epi32(a, n);
}
INLINE vi vbits(vf a) {
  return _mm256_castps_si256(a);
}
INLINE vf vfrom(vi a) {
  return _mm256_castsi256_ps(a);
}
INLINE vf vpick(vi m, vf a, vf b) {
  return _mm256_blendv_ps(a, b, _mm256_castsi256_ps(_mm256_cmpeq_epi32(m, _mm256_setzero_si256())));
}
INLINE vf vgather(const float *p, vi at) {
  return _mm256_i32gather_ps(p, at, 4);
}
INLINE vf vldexp(vf a, vf n) {
  __m256i e = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_mul_ps(a, _mm256_castsi256_ps(e));
}
INLINE void vistore(void *p, vi a) {
  _mm256_storeu_si256(p, a);
}
INLINE __m128 vpair(const float *x, const uint32_t *at) {
  __m128 low = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)(x + at[0])));
  return _mm_loadh_pi(low, (const __m64 *)(const void *)(x + at[1]));
}
INLINE vf vload_pairs(const float *x, const uint32_t *at) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(vpair(x, at)), vpair(x, at + 4), 1);
}
INLINE vf vload_quads(const float *x, const uint32_t *at) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + at[0])), _mm_loadu_ps(x + at[4]), 1);
}
INLINE void vstore_quads(float *x, size_t stride, vf a) {
  _mm_storeu_ps(x, _mm256_castps256_ps128(a));
  _mm_storeu_ps(x + 4 * stride, _mm256_extractf128_ps(a, 1));
}
INLINE vf vevens(vf a, vf b) {
  return _mm256_shuffle_ps(a, b, 0x88);
}
INLINE vf vodds(vf a, vf b) {
  return _mm256_shuffle_ps(a, b, 0xdd);
}
INLINE vf vlows(vf a, vf b) {
  return _mm256_unpacklo_ps(a, b);
}
INLINE vf vhighs(vf a, vf b) {
  return _mm256_unpackhi_ps(a, b);
}
INLINE vf vlow_pairs(vf a, vf b) {
  return _mm256_shuffle_ps(a, b, 0x44);
}
INLINE vf vhigh_pairs(vf a, vf b) {
  return _mm256_shuffle_ps(a, b, 0xee);
}
INLINE void vpairs_get(const float *x, vf *p) {
  vf a = vload(x), b = vload(x + VL);
  vf low = _mm256_permute2f128_ps(a, b, 0x20), high = _mm256_permute2f128_ps(a, b, 0x31);
  p[0] = vevens(low, high);
  p[1] = vodds(low, high);
}
INLINE void vpairs_put(float *x, const vf *p) {
  vf low = vlows(p[0], p[1]), high = vhighs(p[0], p[1]);
  vstore(x, _mm256_permute2f128_ps(low, high, 0x20));
  vstore(x + VL, _mm256_permute2f128_ps(low, high, 0x31));
}
INLINE void vtranspose(const float *src, size_t ss, int rows, float *dst, size_t ds) {
  vf a[8], b[8];
  UNROLL for (int k = 0; k < 8; k++) a[k] = k < rows ? vload(src + (size_t)k * ss) : vset(0);
  UNROLL for (int k = 0; k < 8; k += 2) {
    b[k] = _mm256_unpacklo_ps(a[k], a[k + 1]);
    b[k + 1] = _mm256_unpackhi_ps(a[k], a[k + 1]);
  }
  UNROLL for (int k = 0; k < 8; k += 4) UNROLL for (int j = 0; j < 2; j++) {
    a[k + 2 * j] = _mm256_shuffle_ps(b[k + j], b[k + j + 2], 0x44);
    a[k + 2 * j + 1] = _mm256_shuffle_ps(b[k + j], b[k + j + 2], 0xee);
  }
  UNROLL for (int j = 0; j < 4; j++) {
    vstore(dst + (size_t)j * ds, _mm256_permute2f128_ps(a[j], a[j + 4], 0x20));
    vstore(dst + (size_t)(j + 4) * ds, _mm256_permute2f128_ps(a[j], a[j + 4], 0x31));
  }
}

#endif
