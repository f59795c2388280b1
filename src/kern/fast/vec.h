/* vec.h: the vector vocabulary of the fast kernels: vf, VL floats; vi, VL 32-bit integers. A tile row of 16 lanes is TV
 * vectors. One file per instruction set, chosen by the compiler's flags; all define the same names.
 * Constants beside them size the register blocks: MM_T × MM_O accumulators (in tiles and outputs) for products, GW_I ×
 * GW_V for weight gradients, GL_I × GL_O for those lane by lane,
 * RM_R rows × RM_V vectors for products and gradients of matrices, MR_R lanes × MR_V vectors for products that leave rows. */
#ifndef KERN_FAST_VEC_H
#define KERN_FAST_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#if defined(__AVX512F__)
#include "kern/fast/vec_avx512.h"
#elif defined(__AVX2__)
#include "kern/fast/vec_avx2.h"
#elif defined(__ARM_NEON)
#include "kern/fast/vec_neon.h"
#else
#error "no vector file for this target"
#endif

enum { LANES = 16, TV = LANES / VL };

#endif
