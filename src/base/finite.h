/* finite.h: where an array stops being numbers. */
#ifndef BASE_FINITE_H
#define BASE_FINITE_H

#include <stdint.h>

/* Index of the first entry that is infinite or not a number; n when there is none. */
int64_t finite_until_f32(const float *x, int64_t n);
int64_t finite_until_f64(const double *x, int64_t n);

#endif
