/* kern_cases.h: what the tests of the kernels share: every fast table of this machine, noise, widths with tails. */
#ifndef TESTS_KERN_CASES_H
#define TESTS_KERN_CASES_H

#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { W = KERN_LANES };
static const int widths[] = {1, 2, 3, 5, 6, 7, 8, 12, 13, 16, 17, 32, 36, 47, 64, 68};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* Calls check(k) for every fast table that runs here. */
static void each_isa(void (*check)(const kern *k)) {
  for (int i = 0; kern_isa(i); i++) {
    const kern *k = kern_find(kern_isa(i));
    if (k && k != &kern_ref) check(k);
  }
}

static float *noise(size_t n, uint64_t stream, double scale) {
  float *x = mem_alloc(n, sizeof *x);
  assert_non_null(x);
  rng r = rng_open(1, RNG_TEST, stream);
  for (size_t i = 0; i < n; i++) x[i] = (float)(scale * rng_normal(&r));
  return x;
}

static void assert_close(const char *what, const kern *k, size_t n, const float *x, const float *ref, double tol) {
  for (size_t i = 0; i < n; i++)
    if (!(fabs((double)x[i] - (double)ref[i]) <= tol * (1 + fabs((double)ref[i]))))
      fail_msg("%s on %s: element %zu is %.9g, ref %.9g", what, k->name, i, (double)x[i], (double)ref[i]);
}

#endif
