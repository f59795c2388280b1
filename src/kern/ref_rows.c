/* ref_rows.c: the definition of the kernels on matrices and plain vectors, in plain loops; sums in double, as in ref.c. */
#include "kern/ref_impl.h"

#include <math.h>

static const double norm_eps = 1e-5;

static double old(int add, const real *y) {
  return add ? (double)*y : 0;
}

void ref_row_mm(const kern_rows *j) {
  for (int64_t r = 0; r < j->rows; r++)
    for (int o = 0; o < j->out; o++) {
      real *y = j->y + (size_t)r * j->ys + o;
      double s = old(j->add, y) + (j->shift ? (double)j->shift[o] : 0);
      for (int q = 0; q < j->terms; q++) {
        const kern_term *m = &j->term[q];
        for (int i = 0; i < m->in; i++)
          s += (double)m->x[(size_t)r * m->xs + (size_t)i] * (double)m->w[(size_t)i * (size_t)m->ld + (size_t)o];
      }
      *y = (real)s;
    }
}

void ref_row_grad(int64_t rows, int in, int out, const real *x, size_t xs, const real *g, size_t gs, real *gw) {
  for (int i = 0; i < in; i++)
    for (int o = 0; o < out; o++) {
      double s = (double)gw[i * out + o];
      for (size_t r = 0; r < (size_t)rows; r++) s += (double)x[r * xs + (size_t)i] * (double)g[r * gs + (size_t)o];
      gw[i * out + o] = (real)s;
    }
}

/* Mean and 1/√(var + eps) of n numbers. */
static double moments_of(int n, const real *x, double *mean) {
  double m = 0, v = 0;
  for (int i = 0; i < n; i++) m += (double)x[i] / n;
  for (int i = 0; i < n; i++) v += ((double)x[i] - m) * ((double)x[i] - m) / n;
  *mean = m;
  return 1 / sqrt(v + norm_eps);
}

void ref_row_norm(int64_t rows, int n, const real *x, const real *gain, const real *shift, real *y) {
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    double mean, rstd = moments_of(n, x, &mean);
    for (int i = 0; i < n; i++) y[i] = (real)(((double)x[i] - mean) * rstd * (double)gain[i] + (double)shift[i]);
  }
}

void ref_row_norm_back(int64_t rows, int n, const real *x, const real *gain, const real *gy, int add, real *gx,
                       real *sums) {
  for (int64_t r = 0; r < rows; r++, x += n, gy += n) {
    double m, rstd = moments_of(n, x, &m), mean = 0, along = 0;
    for (int i = 0; i < n; i++) {
      double q = (double)gain[i] * (double)gy[i], h = ((double)x[i] - m) * rstd;
      mean += q / n;
      along += q * h / n;
      if (!sums) continue;
      sums[i] += (real)((double)gy[i] * h);
      sums[n + i] += gy[i];
    }
    for (int i = 0; gx && i < n; i++) {
      double q = (double)gain[i] * (double)gy[i], h = ((double)x[i] - m) * rstd;
      gx[r * n + i] = (real)(old(add, gx + r * n + i) + rstd * (q - mean - h * along));
    }
  }
}

void ref_col_sum(int64_t rows, int n, real a, const real *x, real *sum) {
  for (int i = 0; i < n; i++) {
    double s = 0;
    for (int64_t r = 0; r < rows; r++) s += (double)x[r * n + i];
    sum[i] += (real)((double)a * s);
  }
}

void ref_col_dot(int64_t rows, int n, const real *x, const real *centre, const real *y, real *sum) {
  for (int i = 0; i < n; i++) {
    double s = (double)sum[i];
    for (int64_t r = 0; r < rows; r++) {
      double d = (double)x[r * n + i] - (centre ? (double)centre[i] : 0);
      s += d * (y ? (double)y[r * n + i] : d);
    }
    sum[i] = (real)s;
  }
}

void ref_col_affine(int64_t rows, int n, const real *x, const real *centre, const real *scale, const real *shift,
                    int add, real *y) {
  for (int64_t r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) {
      double d = ((double)x[r * n + i] - (double)centre[i]) * (double)scale[i] + (double)shift[i];
      y[r * n + i] = (real)(old(add, y + r * n + i) + d);
    }
}

void ref_col_scale(int64_t rows, int n, const real *s, const real *x, int add, real *y) {
  for (int64_t r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) y[r * n + i] = (real)(old(add, y + r * n + i) + (double)s[i] * (double)x[r * n + i]);
}

void ref_gather(const kern_csr *a, int64_t first, int64_t last, int n, const real *x, int add, real *y) {
  for (int64_t i = first; i < last; i++)
    for (int k = 0; k < n; k++) {
      double s = old(add, y + i * n + k);
      for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++)
        s += (double)a->val[p] * (double)x[(int64_t)a->col[p] * n + k];
      y[i * n + k] = (real)s;
    }
}

void ref_mode_mm(const kern_mode *m, real *yr, real *yi) {
  const real *w = m->w, *u = w + (int64_t)m->in * m->out;
  for (int j = 0; j < m->out; j++) {
    double re = 0, im = 0;
    for (int i = 0; i < m->in; i++) {
      double x = (double)m->xr[i], z = (double)m->xi[i], a = (double)w[i * m->out + j], b = (double)u[i * m->out + j];
      re += x * a - z * b;
      im += x * b + z * a;
    }
    yr[j] = (real)re, yi[j] = (real)im;
  }
}

void ref_mode_back(const kern_mode *m, const real *gr, const real *gi, real *gxr, real *gxi, real *gw) {
  const real *w = m->w, *u = w + (int64_t)m->in * m->out;
  real *gu = gw ? gw + (int64_t)m->in * m->out : NULL;
  for (int i = 0; i < m->in; i++) {
    double re = 0, im = 0, x = (double)m->xr[i], z = (double)m->xi[i];
    for (int j = 0; j < m->out; j++) {
      int at = i * m->out + j;
      double a = (double)gr[j], b = (double)gi[j];
      re += a * (double)w[at] + b * (double)u[at];
      im += b * (double)w[at] - a * (double)u[at];
      if (gw) gw[at] = (real)((double)gw[at] + x * a + z * b), gu[at] = (real)((double)gu[at] + x * b - z * a);
    }
    if (gxr) gxr[i] = (real)((double)gxr[i] + re), gxi[i] = (real)((double)gxi[i] + im);
  }
}

void ref_unary(kern_fn f, size_t n, real a, real b, const real *x, real *y) {
  for (size_t i = 0; i < n; i++) y[i] = (real)((double)a * ref_apply(f, (double)x[i]) + (double)b);
}

static double slope_of(kern_fn f, double x) {
  double y = ref_apply(f, x);
  switch (f) {
  case KERN_SIN:
    return cos(x);
  case KERN_COS:
    return -sin(x);
  case KERN_TANH:
    return 1 - y * y;
  case KERN_ERF:
    return 1.12837916709551257390 * exp(-x * x);
  case KERN_EXP:
    return y;
  case KERN_LOG1P:
    return 1 / (1 + x);
  case KERN_SOFTPLUS:
    return ref_apply(KERN_SIGMOID, x);
  case KERN_SIGMOID:
    return y * (1 - y);
  case KERN_GELU:
    return ref_apply(KERN_GELU_SLOPE, x);
  case KERN_SILU: {
    double s = ref_apply(KERN_SIGMOID, x);
    return s * (1 + x * (1 - s));
  }
  case KERN_GELU_SLOPE:
  case KERN_FN_COUNT:
    break;
  }
  return 0;
}

void ref_unary_back(kern_fn f, size_t n, real a, const real *x, const real *gy, int add, real *gx) {
  for (size_t i = 0; i < n; i++)
    gx[i] = (real)(old(add, gx + i) + (double)a * slope_of(f, (double)x[i]) * (double)gy[i]);
}

void ref_relu(size_t n, real slope, const real *x, real *y) {
  for (size_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

void ref_relu_back(size_t n, real slope, const real *x, const real *gy, int add, real *gx) {
  for (size_t i = 0; i < n; i++) gx[i] = (real)(old(add, gx + i) + (double)(x[i] > 0 ? gy[i] : slope * gy[i]));
}

void ref_gate(size_t n, const real *a, const real *b, real *y) {
  for (size_t i = 0; i < n; i++) y[i] = (real)((double)a[i] * ref_apply(KERN_SILU, (double)b[i]));
}

void ref_gate_back(size_t n, const real *a, const real *b, const real *gy, int add_a, real *ga, int add_b, real *gb) {
  for (size_t i = 0; i < n; i++) {
    double x = (double)b[i], g = (double)gy[i];
    if (ga) ga[i] = (real)(old(add_a, ga + i) + ref_apply(KERN_SILU, x) * g);
    if (gb) gb[i] = (real)(old(add_b, gb + i) + (double)a[i] * slope_of(KERN_SILU, x) * g);
  }
}

void ref_combine(size_t n, int terms, const real *a, const real *const *x, real *y) {
  for (size_t i = 0; i < n; i++) {
    double s = 0;
    for (int k = 0; k < terms; k++) s += (double)a[k] * (double)x[k][i];
    y[i] = (real)s;
  }
}

void ref_mul(size_t n, const real *a, const real *b, int add, real *y) {
  for (size_t i = 0; i < n; i++) y[i] = (real)(old(add, y + i) + (double)a[i] * (double)b[i]);
}
