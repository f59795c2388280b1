/* plain.h: what is done to the entries, rows and columns of plain row-major matrices: functions, sums, norms, gathers. */
#ifndef KERN_FAST_PLAIN_H
#define KERN_FAST_PLAIN_H

#include "kern/fast/vmath.h"
#include "kern/kern.h"

/* n numbers from p on, n ≤ VL; the lanes beyond them are zero. */
INLINE vf load_some(const float *p, size_t n) {
  return n >= VL ? vload(p) : vload_part(p, (int)n);
}
INLINE void store_some(float *p, size_t n, vf a) {
  if (n >= VL)
    vstore(p, a);
  else
    vstore_part(p, a, (int)n);
}

INLINE vf slope_of(kern_fn f, vf x) {
  vf s, c;
  switch (f) {
  case KERN_SIN:
    vsincos(x, &s, &c);
    return c;
  case KERN_COS:
    return vsub(vset(0), vsin(x));
  case KERN_TANH:
    s = vtanh(x);
    return vfnma(s, s, vset(1));
  case KERN_ERF:
    return vmul(vset(1.12837917F), vexp(vsub(vset(0), vmul(x, x))));
  case KERN_EXP:
    return vexp(x);
  case KERN_LOG1P:
    return vdiv(vset(1), vadd(vset(1), x));
  case KERN_SOFTPLUS:
    return vsigmoid(x);
  case KERN_SIGMOID:
    s = vsigmoid(x);
    return vfnma(s, s, s);
  case KERN_SILU:
    s = vsigmoid(x);
    return vfma(vmul(x, s), vsub(vset(1), s), s);
  default:
    break;
  }
  return x;
}

INLINE vf value_of(kern_fn f, vf x) {
  vf s, c;
  switch (f) {
  case KERN_SIN:
    return vsin(x);
  case KERN_COS:
    vsincos(x, &s, &c);
    return c;
  case KERN_TANH:
    return vtanh(x);
  case KERN_ERF:
    return verf(x);
  case KERN_EXP:
    return vexp(x);
  case KERN_LOG1P:
    return vlog1p(x);
  case KERN_SOFTPLUS:
    return vsoftplus(x);
  case KERN_SIGMOID:
    return vsigmoid(x);
  case KERN_SILU:
    return vmul(x, vsigmoid(x));
  default:
    break;
  }
  return x;
}

/* f, or f' when `slope`, of n ≤ GROUP vectors; the long chains behind gelu run side by side. */
INLINE void apply_group(kern_fn f, int slope, int n, const vf *x, vf *y) {
  vf unused[GROUP];
  if (f == KERN_GELU_SLOPE || (f == KERN_GELU && slope))
    vgelu_slopes(n, x, unused, y);
  else if (f == KERN_GELU)
    vgelus(n, x, y);
  else
    UNROLL for (int i = 0; i < n; i++) y[i] = slope ? slope_of(f, x[i]) : value_of(f, x[i]);
}

/* What a pass over entries does: y = a f(x) + b, or y (+)= a f'(x) ⊙ g. */
typedef struct {
  size_t n;
  vf a, b;
  const float *x, *g;
  int add;
  float *y;
} entry_job;

INLINE void entry_group(const entry_job *j, kern_fn f, int slope, int n, size_t i, size_t left) {
  vf x[GROUP], y[GROUP];
  UNROLL for (int k = 0; k < n; k++) x[k] = load_some(j->x + i + (size_t)(k * VL), left);
  apply_group(f, slope, n, x, y);
  UNROLL for (int k = 0; k < n; k++) {
    size_t e = i + (size_t)(k * VL);
    if (!slope)
      y[k] = vfma(j->a, y[k], j->b);
    else if (j->add)
      y[k] = vfma(vmul(j->a, y[k]), load_some(j->g + e, left), load_some(j->y + e, left));
    else
      y[k] = vmul(vmul(j->a, y[k]), load_some(j->g + e, left));
    store_some(j->y + e, left, y[k]);
  }
}

INLINE void entry_pass(const entry_job *j, kern_fn f, int slope) {
  size_t i = 0;
  for (; i + GROUP * VL <= j->n; i += GROUP * VL) entry_group(j, f, slope, GROUP, i, VL);
  for (; i + VL <= j->n; i += VL) entry_group(j, f, slope, 1, i, VL);
  if (i < j->n) entry_group(j, f, slope, 1, i, j->n - i);
}

/* One pass per function, so that the choice is made outside the loop. */
INLINE void entries(const entry_job *j, kern_fn f, int slope) {
  switch (f) {
  case KERN_SIN:
    entry_pass(j, KERN_SIN, slope);
    break;
  case KERN_COS:
    entry_pass(j, KERN_COS, slope);
    break;
  case KERN_TANH:
    entry_pass(j, KERN_TANH, slope);
    break;
  case KERN_ERF:
    entry_pass(j, KERN_ERF, slope);
    break;
  case KERN_EXP:
    entry_pass(j, KERN_EXP, slope);
    break;
  case KERN_LOG1P:
    entry_pass(j, KERN_LOG1P, slope);
    break;
  case KERN_SOFTPLUS:
    entry_pass(j, KERN_SOFTPLUS, slope);
    break;
  case KERN_SIGMOID:
    entry_pass(j, KERN_SIGMOID, slope);
    break;
  case KERN_GELU:
    entry_pass(j, KERN_GELU, slope);
    break;
  case KERN_GELU_SLOPE:
    if (!slope) entry_pass(j, KERN_GELU_SLOPE, 0);
    break;
  case KERN_SILU:
    entry_pass(j, KERN_SILU, slope);
    break;
  case KERN_FN_COUNT:
    break;
  }
}

static void fast_unary(kern_fn f, size_t n, float a, float b, const float *x, float *y) {
  entry_job j = {.n = n, .a = vset(a), .b = vset(b), .x = x, .y = y};
  entries(&j, f, 0);
}

static void fast_map(kern_fn f, size_t n, const float *x, float *y) {
  fast_unary(f, n, 1, 0, x, y);
}

static void fast_unary_back(kern_fn f, size_t n, float a, const float *x, const float *gy, int add, float *gx) {
  entry_job j = {.n = n, .a = vset(a), .b = vset(0), .x = x, .g = gy, .add = add, .y = gx};
  entries(&j, f, 1);
}

/* a where x > 0, b elsewhere: by the sign of -x. */
INLINE vf where_positive(vf x, vf a, vf b) {
  return vpick(vishr(vbits(vsub(vset(0), x)), 31), a, b);
}

static void fast_relu(size_t n, float slope, const float *x, float *y) {
  for (size_t i = 0; i < n; i += VL) {
    vf v = load_some(x + i, n - i);
    store_some(y + i, n - i, where_positive(v, v, vmul(vset(slope), v)));
  }
}

static void fast_relu_back(size_t n, float slope, const float *x, const float *gy, int add, float *gx) {
  for (size_t i = 0; i < n; i += VL) {
    vf g = load_some(gy + i, n - i);
    g = where_positive(load_some(x + i, n - i), g, vmul(vset(slope), g));
    store_some(gx + i, n - i, add ? vadd(g, load_some(gx + i, n - i)) : g);
  }
}

static void fast_gate(size_t n, const float *a, const float *b, float *y) {
  for (size_t i = 0; i < n; i += VL)
    store_some(y + i, n - i, vmul(load_some(a + i, n - i), value_of(KERN_SILU, load_some(b + i, n - i))));
}

static void fast_gate_back(size_t n, const float *a, const float *b, const float *gy, int add_a, float *ga, int add_b,
                           float *gb) {
  for (size_t i = 0; i < n; i += VL) {
    size_t left = n - i;
    vf x = load_some(b + i, left), g = load_some(gy + i, left), s = vsigmoid(x), y = vmul(x, s);
    vf slope = vfma(y, vsub(vset(1), s), s);
    if (ga) store_some(ga + i, left, vfma(y, g, add_a ? load_some(ga + i, left) : vset(0)));
    if (gb)
      store_some(gb + i, left, vfma(vmul(load_some(a + i, left), slope), g, add_b ? load_some(gb + i, left) : vset(0)));
  }
}

static void fast_axpy(size_t n, float a, const float *x, float *y) {
  size_t i = 0;
  for (; i + VL <= n; i += VL) vstore(y + i, vfma(vset(a), vload(x + i), vload(y + i)));
  for (; i < n; i++) y[i] += a * x[i];
}

static void fast_combine(size_t n, int terms, const float *a, const float *const *x, float *y) {
  for (size_t i = 0; i < n; i += VL) {
    size_t left = n - i;
    vf s = vmul(vset(a[0]), load_some(x[0] + i, left));
    for (int k = 1; k < terms; k++) s = vfma(vset(a[k]), load_some(x[k] + i, left), s);
    store_some(y + i, left, s);
  }
}

static void fast_mul(size_t n, const float *a, const float *b, int add, float *y) {
  for (size_t i = 0; i < n; i += VL) {
    size_t left = n - i;
    vf p = load_some(a + i, left), q = load_some(b + i, left);
    store_some(y + i, left, add ? vfma(p, q, load_some(y + i, left)) : vmul(p, q));
  }
}

#endif
