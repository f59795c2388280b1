/* vec_avx512.h: the vocabulary of vec.h in AVX-512 (F and DQ), 16 lanes. Included by vec.h only. */
#ifndef KERN_FAST_VEC_AVX512_H
#define KERN_FAST_VEC_AVX512_H

#include <immintrin.h>
typedef __m512 vf;
typedef __m512i vi;
enum { VL = 16, MM_T = 4, MM_O = 6, GW_I = 12, GW_V = 2, GL_I = 4, GL_O = 6, RM_R = 12, RM_V = 2, MR_R = 8, MR_V = 2 };
INLINE vf vset(float a) {
  return _mm512_set1_ps(a);
}
INLINE vf vload(const float *p) {
  return _mm512_loadu_ps(p);
}
INLINE void vstore(float *p, vf a) {
  _mm512_storeu_ps(p, a);
}
/* The first n lanes, 0 < n < VL; the others are zero, and left alone. */
INLINE vf vload_part(const float *p, int n) {
  return _mm512_maskz_loadu_ps((__mmask16)((1U << n) - 1), p);
}
INLINE void vstore_part(float *p, vf a, int n) {
  _mm512_mask_storeu_ps(p, (__mmask16)((1U << n) - 1), a);
}
INLINE vf vadd(vf a, vf b) {
  return _mm512_add_ps(a, b);
}
INLINE vf vsub(vf a, vf b) {
  return _mm512_sub_ps(a, b);
}
INLINE vf vmul(vf a, vf b) {
  return _mm512_mul_ps(a, b);
}
INLINE vf vfma(vf a, vf b, vf c) {
  return _mm512_fmadd_ps(a, b, c);
} /* a b + c */
INLINE vf vfnma(vf a, vf b, vf c) {
  return _mm512_fnmadd_ps(a, b, c);
} /* c - a b */
INLINE vf vmin(vf a, vf b) {
  return _mm512_min_ps(a, b);
}
INLINE vf vmax(vf a, vf b) {
  return _mm512_max_ps(a, b);
}
INLINE vf vsqrt(vf a) {
  return _mm512_sqrt_ps(a);
}
INLINE vf vround(vf a) {
  return _mm512_roundscale_ps(a, 0);
}
/* a/b to about one unit in the last place for ordinary b: the divider is six times slower. */
INLINE vf vdiv(vf a, vf b) {
  vf r = _mm512_rcp14_ps(b);
  r = vfma(r, vfnma(b, r, vset(1)), r);
  vf q = vmul(a, r);
  return vfma(r, vfnma(b, q, a), q);
}
INLINE vi vint(vf a) {
  return _mm512_cvtps_epi32(a);
} /* nearest */
INLINE vf vfloat(vi a) {
  return _mm512_cvtepi32_ps(a);
}
INLINE vi viset(int32_t a) {
  return _mm512_set1_epi32(a);
}
INLINE vi viload(const void *p) {
  return _mm512_loadu_si512(p);
}
INLINE vi viadd(vi a, vi b) {
  return _mm512_add_epi32(a, b);
}
INLINE vi visub(vi a, vi b) {
  return _mm512_sub_epi32(a, b);
}
INLINE vi viand(vi a, vi b) {
  return _mm512_and_si512(a, b);
}
INLINE vi vixor(vi a, vi b) {
  return _mm512_xor_si512(a, b);
}
INLINE vi vishl(vi a, int n) {
  return _mm512_slli_epi32(a, (unsigned)n);
}
INLINE vi vishr(vi a, int n) {
  return _mm512_srai_epi32(a, (unsigned)n);
}
INLINE vi vbits(vf a) {
  return _mm512_castps_si512(a);
}
INLINE vf vfrom(vi a) {
  return _mm512_castsi512_ps(a);
}
/* where the integer m is not zero a, else b */
INLINE vf vpick(vi m, vf a, vf b) {
  return _mm512_mask_blend_ps(_mm512_test_epi32_mask(m, m), b, a);
}
INLINE vf vgather(const float *p, vi at) {
  return _mm512_i32gather_ps(at, p, 4);
}
/* a 2^n for whole n ≥ -126 */
INLINE vf vldexp(vf a, vf n) {
  return _mm512_scalef_ps(a, n);
}
INLINE void vistore(void *p, vi a) {
  _mm512_storeu_si512(p, a);
}
/* In every 128-bit group m: the two floats at x[at[4m]], then the two at x[at[4m+1]]. */
INLINE __m128 vpair(const float *x, const uint32_t *at) {
  __m128 low = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)(x + at[0])));
  return _mm_loadh_pi(low, (const __m64 *)(const void *)(x + at[1]));
}
INLINE vf vload_pairs(const float *x, const uint32_t *at) {
  __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(vpair(x, at)), vpair(x, at + 4), 1);
  __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(vpair(x, at + 8)), vpair(x, at + 12), 1);
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
/* In every 128-bit group m: the four floats at x[at[4m]]; and back, to x[4m·stride]. */
INLINE vf vload_quads(const float *x, const uint32_t *at) {
  __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + at[0])), _mm_loadu_ps(x + at[4]), 1);
  __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + at[8])), _mm_loadu_ps(x + at[12]), 1);
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
INLINE void vstore_quads(float *x, size_t stride, vf a) {
  _mm_storeu_ps(x, _mm512_castps512_ps128(a));
  _mm_storeu_ps(x + 4 * stride, _mm512_extractf32x4_ps(a, 1));
  _mm_storeu_ps(x + 8 * stride, _mm512_extractf32x4_ps(a, 2));
  _mm_storeu_ps(x + 12 * stride, _mm512_extractf32x4_ps(a, 3));
}
/* Within 128-bit groups: the even places of a then of b, the odd ones, a and b in turns from the low and the high half,
 * and the low and high halves of both. */
INLINE vf vevens(vf a, vf b) {
  return _mm512_shuffle_ps(a, b, 0x88);
}
INLINE vf vodds(vf a, vf b) {
  return _mm512_shuffle_ps(a, b, 0xdd);
}
INLINE vf vlows(vf a, vf b) {
  return _mm512_unpacklo_ps(a, b);
}
INLINE vf vhighs(vf a, vf b) {
  return _mm512_unpackhi_ps(a, b);
}
INLINE vf vlow_pairs(vf a, vf b) {
  return _mm512_shuffle_ps(a, b, 0x44);
}
INLINE vf vhigh_pairs(vf a, vf b) {
  return _mm512_shuffle_ps(a, b, 0xee);
}
/* 2·VL floats to two planes and back. */
INLINE void vpairs_get(const float *x, vf *p) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  vf a = vload(x), b = vload(x + VL);
  p[0] = _mm512_permutex2var_ps(a, even, b);
  p[1] = _mm512_permutex2var_ps(a, _mm512_or_si512(even, _mm512_set1_epi32(1)), b);
}
INLINE void vpairs_put(float *x, const vf *p) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  vstore(x, _mm512_permutex2var_ps(p[0], low, p[1]));
  vstore(x + VL, _mm512_permutex2var_ps(p[0], _mm512_add_epi32(low, _mm512_set1_epi32(8)), p[1]));
}
/* dst[l·ds + k] = src[k·ss + l] for a block of VL × VL; rows k ≥ rows count as zero. */
INLINE void vtranspose(const float *src, size_t ss, int rows, float *dst, size_t ds) {
  vf a[16], b[16];
  UNROLL for (int k = 0; k < 16; k++) a[k] = k < rows ? vload(src + (size_t)k * ss) : vset(0);
  UNROLL for (int k = 0; k < 16; k += 2) {
    b[k] = _mm512_unpacklo_ps(a[k], a[k + 1]);
    b[k + 1] = _mm512_unpackhi_ps(a[k], a[k + 1]);
  }
  UNROLL for (int k = 0; k < 16; k += 4) UNROLL for (int j = 0; j < 2; j++) {
    __m512d lo = _mm512_castps_pd(b[k + j]), hi = _mm512_castps_pd(b[k + j + 2]);
    a[k + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi));
    a[k + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi));
  }
  UNROLL for (int k = 0; k < 16; k += 8) UNROLL for (int j = 0; j < 4; j++) {
    b[k + j] = _mm512_shuffle_f32x4(a[k + j], a[k + j + 4], 0x88);
    b[k + j + 4] = _mm512_shuffle_f32x4(a[k + j], a[k + j + 4], 0xdd);
  }
  float *high = dst + 8 * ds;
  UNROLL for (int j = 0; j < 8; j++, dst += ds, high += ds) {
    vstore(dst, _mm512_shuffle_f32x4(b[j], b[j + 8], 0x88));
    vstore(high, _mm512_shuffle_f32x4(b[j], b[j + 8], 0xdd));
  }
}

#endif
