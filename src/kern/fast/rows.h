/* rows.h: fields kept simplex by simplex, channels inside: [t][16][c], the form that gathers want, because one load then
 * brings all channels of a neighbour. Scalar loads put together beat the gather instruction, which several processors
 * have been slowed down in. Kernels work on planes, one vector per channel; C ≤ 4 channels at a time, C = 4, 2 or 1. */
#ifndef KERN_FAST_ROWS_H
#define KERN_FAST_ROWS_H

#include "kern/fast/vec.h"

enum { CG = 4 };

/* p[k] = channel k of the VL simplices whose rows start at x[at[lane]]. */
INLINE void rows_pick(int C, const float *x, const uint32_t *at, vf *p) {
  if (C == 1) {
    p[0] = vgather(x, viload(at));
  } else if (C == 2) {
    vf a = vload_pairs(x, at), b = vload_pairs(x, at + 2);
    p[0] = vevens(a, b);
    p[1] = vodds(a, b);
  } else {
    vf a = vload_quads(x, at), b = vload_quads(x, at + 1), c = vload_quads(x, at + 2), d = vload_quads(x, at + 3);
    vf lo = vlows(a, b), hi = vhighs(a, b), lo2 = vlows(c, d), hi2 = vhighs(c, d);
    p[0] = vlow_pairs(lo, lo2);
    p[1] = vhigh_pairs(lo, lo2);
    p[2] = vlow_pairs(hi, hi2);
    p[3] = vhigh_pairs(hi, hi2);
  }
}

/* The same for VL neighbouring simplices of c channels. */
INLINE void rows_get(int c, int C, const float *x, vf *p) {
  if (C == 2 && c == 2) {
    vpairs_get(x, p);
    return;
  }
  uint32_t at[VL];
  for (int l = 0; l < VL; l++) at[l] = (uint32_t)(l * c);
  rows_pick(C, x, at, p);
}

INLINE void rows_put(int c, int C, float *x, const vf *p) {
  if (C == 2 && c == 2) {
    vpairs_put(x, p);
    return;
  }
  if (C == 4) {
    vf lo = vlows(p[0], p[1]), hi = vhighs(p[0], p[1]), lo2 = vlows(p[2], p[3]), hi2 = vhighs(p[2], p[3]);
    vstore_quads(x, (size_t)c, vlow_pairs(lo, lo2));
    vstore_quads(x + c, (size_t)c, vhigh_pairs(lo, lo2));
    vstore_quads(x + 2 * c, (size_t)c, vlow_pairs(hi, hi2));
    vstore_quads(x + 3 * c, (size_t)c, vhigh_pairs(hi, hi2));
    return;
  }
  float lane[CG][VL];
  UNROLL for (int k = 0; k < C; k++) vstore(lane[k], p[k]);
  for (int l = 0; l < VL; l++) UNROLL for (int k = 0; k < C; k++) x[l * c + k] = lane[k][l];
}

/* Channels k0 … k0+C-1 of the lane group at v of tile t: where they start. */
INLINE size_t rows_at(int c, int t, int v, int k0) {
  return ((size_t)t * LANES + (size_t)v) * (size_t)c + (size_t)k0;
}

#endif
