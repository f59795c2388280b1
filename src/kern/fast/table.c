/* table.c: the fast table, compiled once per instruction set with KERN_TABLE the table's name and KERN_NAME its text. */
#include "kern/kern.h"
#include "kern/fast/carry.h"
#include "kern/fast/columns.h"
#include "kern/fast/matrix.h"
#include "kern/fast/modes.h"
#include "kern/fast/pointwise.h"
#include "kern/fast/product.h"
#include "kern/fast/relation.h"

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
    .mm_rows = fast_mm_rows,
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
    .carry = fast_carry,
    .row_mm = fast_row_mm,
    .row_grad = fast_row_grad,
    .row_norm = fast_row_norm,
    .row_norm_back = fast_row_norm_back,
    .col_sum = fast_col_sum,
    .col_scale = fast_col_scale,
    .col_dot = fast_col_dot,
    .col_affine = fast_col_affine,
    .gather = fast_gather,
    .mode_mm = fast_mode_mm,
    .mode_back = fast_mode_back,
    .map = fast_map,
    .unary = fast_unary,
    .unary_back = fast_unary_back,
    .relu = fast_relu,
    .relu_back = fast_relu_back,
    .gate = fast_gate,
    .gate_back = fast_gate_back,
    .combine = fast_combine,
    .mul = fast_mul,
    .axpy = fast_axpy,
    .peak = fast_peak,
};
