/* carry.h: sums of neighbours' rows at full width. A simplex adds up whole vectors of channels in registers; sixteen of them are then
 * turned into a tile while they are in the first cache. */
#ifndef KERN_FAST_CARRY_H
#define KERN_FAST_CARRY_H

#include "kern/fast/vec.h"
#include "kern/kern.h"

enum { CARRY_CH = 32, CARRY_V = CARRY_CH / VL }; /* channels at a time */
typedef float carry_sums[2][LANES][CARRY_CH];

/* Channels ch … ch + V·VL - 1 of simplex i: P sums over all lists. P and V are constants at every call. */
INLINE void carry_simplex(int P, int V, int count, const kern_carry *from, int64_t i, int lane, carry_sums out) {
  vf s[2][CARRY_V];
  UNROLL for (int p = 0; p < P; p++) UNROLL for (int v = 0; v < V; v++) s[p][v] = vset(0);
  for (int q = 0; q < count; q++)
    for (int64_t e = from[q].list.ptr[i]; e < from[q].list.ptr[i + 1]; e++) {
      const float *row = from[q].rows + from[q].list.col[e], *w = from[q].list.val + e * P;
      const float *next = from[q].rows + from[q].list.col[e + KERN_AHEAD];
      for (int v = 0; v < V * VL; v += LANES) __builtin_prefetch(next + v, 0, 3);
      UNROLL for (int v = 0; v < V; v++) {
        vf x = vload(row + v * VL);
        UNROLL for (int p = 0; p < P; p++) s[p][v] = vfma(vset(w[p]), x, s[p][v]);
      }
    }
  UNROLL for (int p = 0; p < P; p++) UNROLL for (int v = 0; v < V; v++) vstore(&out[p][lane][v * VL], s[p][v]);
}

/* The first `rows` of VL channels of a tile from the sums of its simplices. */
INLINE void carry_turn(const float *sums, int rows, int add, float *y) {
  float turned[VL * LANES];
  int direct = !add && rows >= VL;
  float *to = direct ? y : turned;
  UNROLL for (int l = 0; l < LANES; l += VL) vtranspose(sums + l * CARRY_CH, CARRY_CH, VL, to + l, LANES);
  if (direct) return;
  for (int k = 0; k < (rows < VL ? rows : VL) * LANES; k += VL) {
    vf x = vload(turned + k);
    vstore(y + k, add ? vadd(vload(y + k), x) : x);
  }
}

/* V vectors of channels from ch on, for one tile. */
INLINE void carry_strip(int P, int V, int h, int ch, int count, const kern_carry *from, int64_t first, int add,
                        float *y) {
  carry_sums sums;
  for (int l = 0; l < LANES; l++) carry_simplex(P, V, count, from, first + l, l, sums);
  for (int p = 0; p < P; p++)
    for (int v = 0; v < V && ch + v * VL < h; v++)
      carry_turn(&sums[p][0][v * VL], h - ch - v * VL, add, y + (size_t)(p * h + ch + v * VL) * LANES);
}

INLINE void carry_tile(int P, int h, int count, const kern_carry *from, int64_t first, size_t ld, int add, float *y) {
  kern_carry here[2];
  for (int q = 0; q < count; q++) here[q] = from[q];
  int ch = 0;
  for (; ch + CARRY_CH <= (int)ld; ch += CARRY_CH) {
    carry_strip(P, CARRY_V, h, ch, count, here, first, add, y);
    for (int q = 0; q < count; q++) here[q].rows += CARRY_CH;
  }
  if (ch < (int)ld) carry_strip(P, CARRY_V / 2, h, ch, count, here, first, add, y);
}

static void fast_carry(int first, int last, int parts, int h, int count, const kern_carry *from, int add, float *y,
                       size_t ys) {
  size_t ld = (size_t)kern_pad(h);
  for (int64_t t = first; t < last; t++, y += ys)
    if (parts == 1)
      carry_tile(1, h, count, from, t * LANES, ld, add, y);
    else
      carry_tile(2, h, count, from, t * LANES, ld, add, y);
}

#endif
