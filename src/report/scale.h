/* scale.h: ranges of values, linear and logarithmic scales made from them, tidy ticks. Values that are not finite are
 * passed over; an empty or constant range still gives a scale with lo < hi. */
#ifndef REPORT_SCALE_H
#define REPORT_SCALE_H

#include <stdint.h>

typedef struct range {
  int64_t count; /* finite values seen */
  double min, max;
  double min_positive; /* 0: none seen */
} range;
void range_add(range *r, int64_t n, const double *v); /* start from {0} */

/* The finite ones of n values in ascending order (out: room for n); their number. */
int64_t finite_sorted(int64_t n, const double *v, double *out);
/* Of m > 0 sorted values, linear between neighbours. */
double quantile(int64_t m, const double *sorted, double q);

typedef struct scale {
  double lo, hi; /* lo < hi; both positive on a logarithmic scale */
  int log;
} scale;
scale scale_linear(const range *r);
scale scale_about_zero(const range *r);            /* [-m, m] */
scale scale_from_zero(const range *r);             /* 0 is inside */
scale scale_log(const range *r, double decades);   /* the upper `decades` at most; 0: all */
scale scale_pad(scale s, double low, double high); /* longer by these fractions of its length */
double scale_unit(const scale *s, double v); /* 0 at lo, 1 at hi; cut at ±1000, which v ≤ 0 has on a log scale */

enum { TICKS_MAX = 96, TICK_RANKS = 3 };
typedef struct tick {
  double value;
  int minor; /* without label */
  int rank;  /* where labels are too dense, those of a higher rank go first */
  char label[32];
} tick;
typedef struct ticks {
  int count;
  char factor[32]; /* "×10⁻⁴" when the labels leave it out, or empty */
  tick at[TICKS_MAX];
} ticks;
/* About `wanted` labelled ticks inside the scale. */
void ticks_make(ticks *t, const scale *s, int wanted);
/* A number of three or four digits for reading: 0.0123, 1.2×10⁻⁵, 12,345. */
void number_text(char out[32], double v);
/* An integer with commas between thousands. */
void count_text(char out[32], int64_t n);

#endif
