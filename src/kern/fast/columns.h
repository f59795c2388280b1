/* columns.h: sums, scalings and norms along the rows and columns of plain row-major matrices, and sparse rows. */
#ifndef KERN_FAST_COLUMNS_H
#define KERN_FAST_COLUMNS_H

#include "kern/fast/plain.h"

/* One term of a sum over rows: x (PLAIN), (x - m) y (PAIR), (x - m)² (SQUARE), added to s. */
typedef enum { PLAIN, PAIR, SQUARE } term_of_sum;
INLINE vf add_term(term_of_sum what, vf x, vf m, const float *y, size_t left, vf s) {
  if (what == PLAIN) return vadd(s, x);
  vf d = vsub(x, m);
  return vfma(d, what == PAIR ? load_some(y, left) : d, s);
}

/* Columns c … c+left-1 (one vector): sum += a Σ_r of the terms. Four sums run side by side. */
INLINE void column_sum(term_of_sum what, int64_t rows, size_t n, size_t left, float a, const float *x, vf m,
                       const float *y, float *sum) {
  vf s[4] = {vset(0), vset(0), vset(0), vset(0)};
  for (int64_t r = 0; r < rows; r += 4) UNROLL for (int k = 0; k < 4; k++) {
      if (r + k >= rows) break;
      size_t e = (size_t)(r + k) * n;
      s[k] = add_term(what, load_some(x + e, left), m, y + e, left, s[k]);
    }
  vf total = vadd(vadd(s[0], s[1]), vadd(s[2], s[3]));
  store_some(sum, left, vfma(vset(a), total, load_some(sum, left)));
}

enum { NARROW = 8 };
/* Few columns: VL rows are VL·n numbers close together, whose place decides the column; the rows left over are padded, so
 * that their terms vanish. */
INLINE void narrow_sum(term_of_sum what, int64_t rows, size_t n, float a, const float *x, const float *centre,
                       const float *y, float *sum) {
  float lanes[NARROW * VL] = {0}, mid[NARROW * VL], rest[2][NARROW * VL];
  size_t each = n * VL, all = (size_t)rows * n, whole = all / each * each;
  for (size_t e = 0; e < each; e++) mid[e] = centre ? centre[e % n] : 0;
  memcpy(rest[0], what == PLAIN ? lanes : mid, each * sizeof *mid);
  memcpy(rest[1], lanes, each * sizeof *lanes);
  memcpy(rest[0], x + whole, (all - whole) * sizeof *x);
  if (what == PAIR) memcpy(rest[1], y + whole, (all - whole) * sizeof *y);
  for (size_t at = 0; at <= whole; at += each) {
    const float *from = at < whole ? x + at : rest[0], *other = at < whole && what == PAIR ? y + at : rest[1];
    for (size_t e = 0; e < each; e += VL)
      vstore(lanes + e, add_term(what, vload(from + e), vload(mid + e), other + e, VL, vload(lanes + e)));
  }
  float total[NARROW] = {0};
  for (size_t e = 0; e < each; e++) total[e % n] += lanes[e];
  for (size_t k = 0; k < n; k++) sum[k] += a * total[k];
}

INLINE void column_sums(term_of_sum what, int64_t rows, int n, float a, const float *x, const float *centre,
                        const float *y, float *sum) {
  size_t w = (size_t)n;
  if (n <= NARROW) {
    narrow_sum(what, rows, w, a, x, centre, y, sum);
    return;
  }
  for (size_t c = 0; c < w; c += VL)
    column_sum(what, rows, w, w - c, a, x + c, centre ? load_some(centre + c, w - c) : vset(0), y + c, sum + c);
}

static void fast_col_sum(int64_t rows, int n, float a, const float *x, float *sum) {
  column_sums(PLAIN, rows, n, a, x, NULL, x, sum);
}

static void fast_col_dot(int64_t rows, int n, const float *x, const float *centre, const float *y, float *sum) {
  if (y)
    column_sums(PAIR, rows, n, 1, x, centre, y, sum);
  else
    column_sums(SQUARE, rows, n, 1, x, centre, x, sum);
}

/* n numbers of which centre, scale and shift are one vector that repeats. */
INLINE void affine_by(vf centre, vf scale, vf shift, size_t n, const float *x, int add, float *y) {
  for (size_t i = 0; i < n; i += VL) {
    vf v = vfma(vsub(load_some(x + i, n - i), centre), scale, shift);
    store_some(y + i, n - i, add ? vadd(v, load_some(y + i, n - i)) : v);
  }
}

INLINE vf repeated(int n, const float *x) {
  float all[VL];
  for (int l = 0; l < VL; l++) all[l] = x[l % n];
  return vload(all);
}

static void fast_col_affine(int64_t rows, int n, const float *x, const float *centre, const float *scale,
                            const float *shift, int add, float *y) {
  size_t w = (size_t)n;
  if (VL % n == 0) {
    affine_by(repeated(n, centre), repeated(n, scale), repeated(n, shift), (size_t)rows * w, x, add, y);
    return;
  }
  for (int64_t r = 0; r < rows; r++, x += w, y += w)
    for (size_t c = 0; c < w; c += VL) {
      size_t left = w - c;
      affine_by(load_some(centre + c, left), load_some(scale + c, left), load_some(shift + c, left),
                left < VL ? left : VL, x + c, add, y + c);
    }
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
    scale_by(repeated(n, s), (size_t)rows * w, x, add, y);
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

/* V ≤ 4 whole vectors of row i, side by side; V is a constant at every call. */
INLINE void gather_strip(const kern_csr *a, int64_t i, int V, size_t n, const float *x, int add, float *row) {
  vf s[4];
  UNROLL for (int v = 0; v < V; v++) s[v] = add ? vload(row + v * VL) : vset(0);
  for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++) {
    const float *from = x + (size_t)a->col[p] * n;
    vf w = vset(a->val[p]);
    UNROLL for (int v = 0; v < V; v++) s[v] = vfma(w, vload(from + v * VL), s[v]);
  }
  UNROLL for (int v = 0; v < V; v++) vstore(row + v * VL, s[v]);
}

static void gather_wide(const kern_csr *a, int64_t first, int64_t last, size_t n, const float *x, int add, float *y) {
  for (int64_t i = first; i < last; i++) {
    float *row = y + (size_t)i * n;
    size_t c = 0;
    for (; c + 4 * VL <= n; c += 4 * VL) gather_strip(a, i, 4, n, x + c, add, row + c);
    if (c + 2 * VL <= n) gather_strip(a, i, 2, n, x + c, add, row + c), c += 2 * VL;
    if (c + VL <= n) gather_strip(a, i, 1, n, x + c, add, row + c), c += VL;
    if (c == n) continue;
    int left = (int)(n - c);
    vf s = add ? vload_part(row + c, left) : vset(0);
    for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++)
      s = vfma(vset(a->val[p]), vload_part(x + (size_t)a->col[p] * n + c, left), s);
    vstore_part(row + c, s, left);
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
