/* rng.h: counter-based random numbers (Philox 4x32-10, Random123). A stream is named by (seed, stream, index); what it
 * gives depends on nothing else, so sample i is the same whatever the thread, the rank or the number of samples. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* What a stream is for. Never renumber: stored data depend on it. */
typedef enum {
  RNG_MESH = 1,     /* point scattering in generators */
  RNG_SPLIT = 2,    /* permutation behind a train/val/test split */
  RNG_MATERIAL = 3, /* coefficients fixed over a data set */
  RNG_SAMPLE = 4,   /* index = sample number */
  RNG_INIT = 5,     /* index = number of the parameter tensor */
  RNG_SHUFFLE = 6,  /* index = epoch */
  RNG_PERMUTE = 7,  /* permutation references of diagnostics */
  RNG_TEST = 8,
  RNG_SOLVER = 9 /* start vectors of iterative solvers */
} rng_stream;

typedef struct rng {
  uint32_t key[2], counter[4], out[4];
  int left;     /* unused words in out */
  double spare; /* second normal of a pair */
  int has_spare;
} rng;

rng rng_open(uint64_t seed, rng_stream stream, uint64_t index);
uint32_t rng_u32(rng *r);
double rng_uniform(rng *r);                      /* [0, 1), 53 bits */
double rng_range(rng *r, double lo, double hi);  /* lo + (hi - lo)·uniform */
double rng_normal(rng *r);                       /* Box–Muller in pairs */
uint64_t rng_below(rng *r, uint64_t n);          /* 0 … n-1, unbiased; n ≥ 1 */
void rng_permute(rng *r, int64_t *p, int64_t n); /* fills p with a uniform permutation of 0 … n-1 */

#endif
