/* table.c: the fast table, compiled once per instruction set with KERN_TABLE the table's name and KERN_NAME its text. */
#include "kern/kern.h"
#include "kern/fast/pointwise.h"
#include "kern/fast/product.h"
#include "kern/fast/relation.h"

INLINE vf apply(kern_fn f, vf x) {
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
  case KERN_GELU:
    vgelus(1, &x, &c);
    return c;
  case KERN_GELU_SLOPE:
    vgelu_slopes(1, &x, &c, &s);
    return s;
  case KERN_FN_COUNT:
    break;
  }
  return x;
}

/* Whole vectors, then the rest through a padded copy. */
INLINE void map_all(kern_fn f, size_t n, const float *x, float *y) {
  size_t i = 0;
  for (; i + VL <= n; i += VL) vstore(y + i, apply(f, vload(x + i)));
  if (i == n) return;
  float rest[VL] = {0};
  memcpy(rest, x + i, (n - i) * sizeof *x);
  vstore(rest, apply(f, vload(rest)));
  memcpy(y + i, rest, (n - i) * sizeof *y);
}

static void fast_map(kern_fn f, size_t n, const float *x, float *y) {
  switch (f) {
  case KERN_SIN:
    map_all(KERN_SIN, n, x, y);
    break;
  case KERN_COS:
    map_all(KERN_COS, n, x, y);
    break;
  case KERN_TANH:
    map_all(KERN_TANH, n, x, y);
    break;
  case KERN_ERF:
    map_all(KERN_ERF, n, x, y);
    break;
  case KERN_EXP:
    map_all(KERN_EXP, n, x, y);
    break;
  case KERN_LOG1P:
    map_all(KERN_LOG1P, n, x, y);
    break;
  case KERN_SOFTPLUS:
    map_all(KERN_SOFTPLUS, n, x, y);
    break;
  case KERN_SIGMOID:
    map_all(KERN_SIGMOID, n, x, y);
    break;
  case KERN_GELU:
    map_all(KERN_GELU, n, x, y);
    break;
  case KERN_GELU_SLOPE:
    map_all(KERN_GELU_SLOPE, n, x, y);
    break;
  case KERN_FN_COUNT:
    break;
  }
}

static void fast_axpy(size_t n, float a, const float *x, float *y) {
  size_t i = 0;
  for (; i + VL <= n; i += VL) vstore(y + i, vfma(vset(a), vload(x + i), vload(y + i)));
  for (; i < n; i++) y[i] += a * x[i];
}

static double fast_peak(size_t rounds, float *sink) {
  enum { CHAINS = VL == 16 ? 24 : 12 };
  vf s[CHAINS], a = vset(0.999F), b = vset(1e-3F);
  for (int i = 0; i < CHAINS; i++) s[i] = vset((float)i);
  for (size_t r = 0; r < rounds; r++) _Pragma("GCC unroll 24") for (int i = 0; i < CHAINS; i++) s[i] = vfma(s[i], a, b);
  float lanes[VL];
  for (int i = 0; i < CHAINS; i++) {
    vstore(lanes, s[i]);
    *sink += lanes[0];
  }
  return (double)rounds * CHAINS * VL;
}

extern const kern KERN_TABLE;
const kern KERN_TABLE = {
    .name = KERN_NAME,
    .mm_sum = fast_mm_sum,
    .transpose = fast_transpose,
    .grad_w = fast_grad_w,
    .grad_lanes = fast_grad_lanes,
    .grad_b = fast_grad_b,
    .norm = fast_norm,
    .gelu_norm = fast_gelu_norm,
    .gelu_norm_keep = fast_gelu_norm_keep,
    .norm_back = fast_norm_back,
    .to_rows = fast_to_rows,
    .from_rows = fast_from_rows,
    .phasor = fast_phasor,
    .phasor_back = fast_phasor_back,
    .cond = fast_cond,
    .cond_back = fast_cond_back,
    .carrier = fast_carrier,
    .carrier_back = fast_carrier_back,
    .rel_sin = fast_rel_sin,
    .rel_step = fast_rel_step,
    .rel_sin_back = fast_rel_sin_back,
    .rel_step_back = fast_rel_step_back,
    .rel_drive_back = fast_rel_drive_back,
    .rel_alone = fast_rel_alone,
    .rel_alone_back = fast_rel_alone_back,
    .map = fast_map,
    .axpy = fast_axpy,
    .peak = fast_peak,
};
