/* columns.h: sums, scalings and norms along the rows and columns of plain row-major matrices, and sparse rows. */
#ifndef KERN_FAST_COLUMNS_H
#define KERN_FAST_COLUMNS_H

#include "kern/fast/plain.h"

/* Columns c … c+left-1 (one vector): sum += a Σ_r x_r, or Σ_r x_r ⊙ y_r when y is given. Four sums run side by side. */
INLINE void column_sum(int64_t rows, size_t n, size_t left, float a, const float *x, const float *y, float *sum) {
  vf s[4] = {vset(0), vset(0), vset(0), vset(0)};
  for (int64_t r = 0; r < rows; r += 4) UNROLL for (int k = 0; k < 4; k++) {
      if (r + k >= rows) break;
      size_t e = (size_t)(r + k) * n;
      s[k] = y ? vfma(load_some(x + e, left), load_some(y + e, left), s[k]) : vadd(s[k], load_some(x + e, left));
    }
  vf total = vadd(vadd(s[0], s[1]), vadd(s[2], s[3]));
  store_some(sum, left, vfma(vset(a), total, load_some(sum, left)));
}

/* Few columns: VL rows are VL·n numbers close together, whose place decides the column. */
static void narrow_sum(int64_t rows, size_t n, float a, const float *x, const float *y, float *sum) {
  enum { NARROW = 8 };
  vf s[NARROW];
  float lanes[NARROW * VL];
  int64_t r = 0;
  for (size_t k = 0; k < n; k++) s[k] = vset(0);
  for (; r + VL <= rows; r += VL)
    for (size_t k = 0; k < n; k++) {
      size_t e = (size_t)r * n + k * VL;
      s[k] = y ? vfma(vload(x + e), vload(y + e), s[k]) : vadd(s[k], vload(x + e));
    }
  float total[NARROW] = {0};
  for (size_t k = 0; k < n; k++) vstore(lanes + k * VL, s[k]);
  for (size_t e = 0; e < n * VL; e++) total[e % n] += lanes[e];
  for (size_t e = (size_t)r * n; e < (size_t)rows * n; e++) total[e % n] += y ? x[e] * y[e] : x[e];
  for (size_t k = 0; k < n; k++) sum[k] += a * total[k];
}

INLINE void column_sums(int64_t rows, int n, float a, const float *x, const float *y, float *sum) {
  size_t w = (size_t)n;
  if (n <= 8) {
    narrow_sum(rows, w, a, x, y, sum);
    return;
  }
  for (size_t c = 0; c < w; c += VL) column_sum(rows, w, w - c, a, x + c, y ? y + c : NULL, sum + c);
}

static void fast_col_sum(int64_t rows, int n, float a, const float *x, float *sum) {
  column_sums(rows, n, a, x, NULL, sum);
}

static void fast_col_dot(int64_t rows, int n, const float *x, const float *y, float *sum) {
  column_sums(rows, n, 1, x, y, sum);
}

/* y (+)= s ⊙ x on n numbers, s one vector that repeats. */
INLINE void scale_by(vf s, size_t n, const float *x, int add, float *y) {
  for (size_t i = 0; i < n; i += VL) {
    vf v = load_some(x + i, n - i);
    store_some(y + i, n - i, add ? vfma(s, v, load_some(y + i, n - i)) : vmul(s, v));
  }
}

static void fast_col_scale(int64_t rows, int n, const float *s, const float *x, int add, float *y) {
  size_t w = (size_t)n;
  if (VL % n == 0) {
    float repeated[VL];
    for (int l = 0; l < VL; l++) repeated[l] = s[l % n];
    scale_by(vload(repeated), (size_t)rows * w, x, add, y);
    return;
  }
  for (int64_t r = 0; r < rows; r++, x += w, y += w)
    for (size_t c = 0; c < w; c += VL) scale_by(load_some(s + c, w - c), w - c < VL ? w - c : VL, x + c, add, y + c);
}

/* The sums of the lanes of each of VL vectors. */
INLINE vf lane_sums(const float *s) {
  _Alignas(64) float t[VL * VL];
  vtranspose(s, VL, VL, t, VL);
  vf a[4] = {vset(0), vset(0), vset(0), vset(0)};
  UNROLL for (int k = 0; k < VL; k++) a[k & 3] = vadd(a[k & 3], vload(t + k * VL));
  return vadd(vadd(a[0], a[1]), vadd(a[2], a[3]));
}

/* Lane sums of x - centre over a row of n numbers, or of its square. */
INLINE vf row_lanes(size_t n, const float *x, float centre, int square) {
  vf s = vset(0), mid = vset(centre);
  size_t c = 0;
  for (; c + VL <= n; c += VL) {
    vf d = vsub(vload(x + c), mid);
    s = square ? vfma(d, d, s) : vadd(s, d);
  }
  if (c == n) return s;
  float same[VL];
  vstore(same, mid);
  vf d = vsub(vload_part(x + c, (int)(n - c)), vload_part(same, (int)(n - c)));
  return square ? vfma(d, d, s) : vadd(s, d);
}

/* Means and 1/√(var + eps) of m ≤ VL rows of n numbers. */
INLINE void row_moments(int m, size_t n, const float *x, float *mean, float *rstd) {
  _Alignas(64) float s[VL * VL];
  vf scale = vset(1.0F / (float)n);
  if (m < VL) memset(s, 0, sizeof s);
  for (int i = 0; i < m; i++) vstore(s + i * VL, row_lanes(n, x + (size_t)i * n, 0, 0));
  vstore(mean, vmul(lane_sums(s), scale));
  for (int i = 0; i < m; i++) vstore(s + i * VL, row_lanes(n, x + (size_t)i * n, mean[i], 1));
  vf var = vmul(lane_sums(s), scale);
  vstore(rstd, vdiv(vset(1), vsqrt(vadd(var, vset(1e-5F)))));
}

static void fast_row_norm(int64_t rows, int width, const float *x, const float *gain, const float *shift, float *y) {
  size_t n = (size_t)width;
  for (int64_t r = 0; r < rows; r += VL) {
    _Alignas(64) float mean[VL], rstd[VL];
    int m = rows - r < VL ? (int)(rows - r) : VL;
    row_moments(m, n, x, mean, rstd);
    for (int i = 0; i < m; i++, x += n, y += n) {
      vf mu = vset(mean[i]), rs = vset(rstd[i]);
      for (size_t c = 0; c < n; c += VL) {
        size_t left = n - c;
        vf h = vmul(vsub(load_some(x + c, left), mu), rs);
        store_some(y + c, left, vfma(h, load_some(gain + c, left), load_some(shift + c, left)));
      }
    }
  }
}

/* xhat of one vector; the lanes beyond n hold anything finite, and meet zeros of g_y. */
INLINE vf hat_of(const float *x, size_t left, float mean, float rstd) {
  return vmul(vsub(load_some(x, left), vset(mean)), vset(rstd));
}

/* Σ q and Σ q ⊙ xhat of a row as lanes, and the row's share of the sums. */
INLINE void norm_back_sums(size_t n, const float *x, const float *gain, const float *gy, float mean, float rstd,
                           float *sums, float *q0, float *q1) {
  vf s = vset(0), d = vset(0);
  for (size_t c = 0; c < n; c += VL) {
    size_t left = n - c;
    vf h = hat_of(x + c, left, mean, rstd), g = load_some(gy + c, left), q = vmul(load_some(gain + c, left), g);
    s = vadd(s, q);
    d = vfma(q, h, d);
    if (!sums) continue;
    store_some(sums + c, left, vfma(g, h, load_some(sums + c, left)));
    store_some(sums + n + c, left, vadd(g, load_some(sums + n + c, left)));
  }
  vstore(q0, s);
  vstore(q1, d);
}

INLINE void norm_back_row(size_t n, const float *x, const float *gain, const float *gy, float mean, float rstd,
                          float q0, float q1, int add, float *gx) {
  for (size_t c = 0; c < n; c += VL) {
    size_t left = n - c;
    vf h = hat_of(x + c, left, mean, rstd), q = vmul(load_some(gain + c, left), load_some(gy + c, left));
    vf u = vmul(vset(rstd), vfnma(h, vset(q1), vsub(q, vset(q0))));
    store_some(gx + c, left, add ? vadd(load_some(gx + c, left), u) : u);
  }
}

static void fast_row_norm_back(int64_t rows, int width, const float *x, const float *gain, const float *gy, int add,
                               float *gx, float *sums) {
  size_t n = (size_t)width;
  for (int64_t r = 0; r < rows; r += VL, x += VL * n, gy += VL * n, gx += gx ? VL * n : 0) {
    _Alignas(64) float mean[VL], rstd[VL], q0[VL * VL], q1[VL * VL], m0[VL], m1[VL];
    int m = rows - r < VL ? (int)(rows - r) : VL;
    if (m < VL) memset(q0, 0, sizeof q0), memset(q1, 0, sizeof q1);
    row_moments(m, n, x, mean, rstd);
    for (size_t i = 0; i < (size_t)m; i++)
      norm_back_sums(n, x + i * n, gain, gy + i * n, mean[i], rstd[i], sums, q0 + i * VL, q1 + i * VL);
    vstore(m0, vmul(lane_sums(q0), vset(1.0F / (float)n)));
    vstore(m1, vmul(lane_sums(q1), vset(1.0F / (float)n)));
    for (size_t i = 0; gx && i < (size_t)m; i++)
      norm_back_row(n, x + i * n, gain, gy + i * n, mean[i], rstd[i], m0[i], m1[i], add, gx + i * n);
  }
}

/* Rows of N ≤ 4 columns; N is a constant at every call. */
INLINE void gather_few(const kern_csr *a, int64_t first, int64_t last, int N, const float *x, int add, float *y) {
  for (int64_t i = first; i < last; i++) {
    float s[4] = {0};
    float *row = y + i * N;
    if (add) UNROLL for (int k = 0; k < N; k++) s[k] = row[k];
    for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++) {
      const float *from = x + (int64_t)a->col[p] * N;
      UNROLL for (int k = 0; k < N; k++) s[k] += a->val[p] * from[k];
    }
    UNROLL for (int k = 0; k < N; k++) row[k] = s[k];
  }
}

static void gather_wide(const kern_csr *a, int64_t first, int64_t last, size_t n, const float *x, int add, float *y) {
  for (int64_t i = first; i < last; i++) {
    float *row = y + (size_t)i * n;
    for (size_t c = 0; c < n; c += VL) {
      size_t left = n - c;
      vf s = add ? load_some(row + c, left) : vset(0);
      for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++)
        s = vfma(vset(a->val[p]), load_some(x + (size_t)a->col[p] * n + c, left), s);
      store_some(row + c, left, s);
    }
  }
}

static void fast_gather(const kern_csr *a, int64_t first, int64_t last, int n, const float *x, int add, float *y) {
  if (n == 1)
    gather_few(a, first, last, 1, x, add, y);
  else if (n == 2)
    gather_few(a, first, last, 2, x, add, y);
  else if (n == 4)
    gather_few(a, first, last, 4, x, add, y);
  else
    gather_wide(a, first, last, (size_t)n, x, add, y);
}

#endif
