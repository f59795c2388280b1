/* lanes.h: the columns of a block of right-hand sides as one vector.
 *
 * GCC's vector extension says what the loops mean; the clones let the processor at hand decide how many registers that
 * takes. Products and sums stay apart (-ffp-contract=off), so every clone gives the same bits. */
#ifndef LA_LANES_H
#define LA_LANES_H

#include "la/la.h"

typedef double lanes __attribute__((vector_size(CHOL_WIDE * sizeof(double)), aligned(sizeof(double)), may_alias));

/* Half of them. Loops that carry a sum work on halves: GCC keeps a 64-byte sum in memory where registers have 32 bytes, and the
 * chain of subtractions takes as long with 64. */
typedef double lanes_half
    __attribute__((vector_size(CHOL_WIDE / 2 * sizeof(double)), aligned(sizeof(double)), may_alias));

typedef float lanes_float __attribute__((vector_size(CHOL_WIDE * sizeof(float)), aligned(sizeof(float)), may_alias));

/* What a clone calls must be part of it, or it is compiled for the default processor. */
#define LANES_INLINE inline __attribute__((always_inline))

/* A resolver runs before a sanitizer has its shadow memory. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&                                 \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define LANES_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LANES_CLONES
#endif

#endif
