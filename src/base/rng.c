/* rng.c: Philox streams. */
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <Random123/philox.h>

rng rng_open(uint64_t seed, rng_stream stream, uint64_t index) {
  rng r = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
           .counter = {0, (uint32_t)stream, (uint32_t)index, (uint32_t)(index >> 32)}};
  return r;
}

static void refill(rng *r) {
  philox4x32_ctr_t c = {{r->counter[0], r->counter[1], r->counter[2], r->counter[3]}};
  philox4x32_key_t k = {{r->key[0], r->key[1]}};
  c = philox4x32(c, k);
  for (int i = 0; i < 4; i++) r->out[i] = c.v[i];
  r->counter[0]++;
  assert(r->counter[0] != 0); /* 2^34 words from one stream: none of ours comes near */
  r->left = 4;
}

uint32_t rng_u32(rng *r) {
  if (r->left == 0) refill(r);
  return r->out[4 - r->left--];
}

double rng_uniform(rng *r) {
  uint32_t a = rng_u32(r) >> 5, b = rng_u32(r) >> 6;
  return ((double)a * 67108864.0 + (double)b) * 0x1p-53;
}

double rng_range(rng *r, double lo, double hi) {
  return lo + (hi - lo) * rng_uniform(r);
}

double rng_normal(rng *r) {
  if (r->has_spare) {
    r->has_spare = 0;
    return r->spare;
  }
  double radius = sqrt(-2.0 * log1p(-rng_uniform(r))), angle = 6.283185307179586476925 * rng_uniform(r);
  r->spare = radius * sin(angle);
  r->has_spare = 1;
  return radius * cos(angle);
}

uint64_t rng_below(rng *r, uint64_t n) {
  assert(n >= 1);
  uint64_t limit = UINT64_MAX - UINT64_MAX % n, word;
  do {
    uint64_t high = rng_u32(r);
    word = high << 32 | rng_u32(r);
  } while (word >= limit);
  return word % n;
}

void rng_permute(rng *r, int64_t *p, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t j = (int64_t)rng_below(r, (uint64_t)i + 1);
    if (j < i) p[i] = p[j];
    p[j] = i;
  }
}
