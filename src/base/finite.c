/* finite.c: blocks are looked at as a whole, so that a clean array costs one pass at the speed of memory; only the block that
 * holds the first offender is looked at entry by entry. */
#include "base/finite.h"

#include <math.h>

enum { BLOCK = 64 };

/* Eight sums of 0·x: zero unless some x is not finite. */
static int clean_f32(const float *x) {
  float sum[8] = {0};
  for (int i = 0; i < BLOCK; i += 8)
    for (int j = 0; j < 8; j++) sum[j] += 0 * x[i + j];
  float all = 0;
  for (int j = 0; j < 8; j++) all += sum[j];
  return all == 0;
}

static int clean_f64(const double *x) {
  double sum[8] = {0};
  for (int i = 0; i < BLOCK; i += 8)
    for (int j = 0; j < 8; j++) sum[j] += 0 * x[i + j];
  double all = 0;
  for (int j = 0; j < 8; j++) all += sum[j];
  return all == 0;
}

int64_t finite_until_f32(const float *x, int64_t n) {
  int64_t i = 0;
  while (n - i >= BLOCK && clean_f32(x + i)) i += BLOCK;
  while (i < n && isfinite(x[i])) i++;
  return i;
}

int64_t finite_until_f64(const double *x, int64_t n) {
  int64_t i = 0;
  while (n - i >= BLOCK && clean_f64(x + i)) i += BLOCK;
  while (i < n && isfinite(x[i])) i++;
  return i;
}
