/* scale.c: ranges, scales and ticks. */
#include "report/scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_VALUE 1e290 /* beyond it values are cut so that differences stay finite */
#define TINY_VALUE 1e-290
#define FAR_OFF 1e3 /* lengths of a scale */
#define NARROW                                                                                                         \
  3.2 /* hi / lo of a logarithmic scale below which ticks are those of a linear one: single digits are too few */

void range_add(range *r, int64_t n, const double *v) {
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(v[i])) continue;
    double x = fmax(fmin(v[i], HUGE_VALUE), -HUGE_VALUE);
    if (r->count++ == 0) r->min = r->max = x;
    r->min = fmin(r->min, x);
    r->max = fmax(r->max, x);
    if (x > TINY_VALUE && (r->min_positive <= 0 || x < r->min_positive)) r->min_positive = x;
  }
}

static int ascending_values(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int64_t finite_sorted(int64_t n, const double *v, double *out) {
  int64_t m = 0;
  for (int64_t i = 0; i < n; i++)
    if (isfinite(v[i])) out[m++] = v[i];
  qsort(out, (size_t)m, sizeof *out, ascending_values);
  return m;
}

double quantile(int64_t m, const double *sorted, double q) {
  double t = q * (double)(m - 1);
  int64_t i = (int64_t)t;
  return sorted[i] + (i + 1 < m ? (t - (double)i) * (sorted[i + 1] - sorted[i]) : 0);
}

/* A scale of positive length that rounding cannot collapse. */
static scale widened(double lo, double hi) {
  double size = fmax(fabs(lo), fabs(hi));
  if (hi - lo <= 1e-9 * size || hi - lo < TINY_VALUE) {
    double half = size > TINY_VALUE ? 0.5 * size : 1;
    double mid = lo / 2 + hi / 2;
    lo = mid - half, hi = mid + half;
  }
  return (scale){lo, hi, 0};
}

scale scale_linear(const range *r) {
  return r->count ? widened(r->min, r->max) : (scale){0, 1, 0};
}

scale scale_about_zero(const range *r) {
  double m = r->count ? fmax(fabs(r->min), fabs(r->max)) : 1;
  if (m < TINY_VALUE) m = 1;
  return (scale){-m, m, 0};
}

scale scale_from_zero(const range *r) {
  double lo = r->count ? fmin(r->min, 0) : 0, hi = r->count ? fmax(r->max, 0) : 1;
  if (hi - lo < TINY_VALUE) hi = lo + 1;
  return (scale){lo, hi, 0};
}

scale scale_log(const range *r, double decades) {
  if (r->min_positive <= 0) return (scale){0.1, 1, 1};
  double lo = r->min_positive, hi = r->max;
  if (decades > 0) lo = fmax(lo, hi * pow(10, -decades));
  if (hi < lo * 1.01) lo /= 3, hi *= 3;
  return (scale){lo, hi, 1};
}

scale scale_pad(scale s, double low, double high) {
  if (s.log) {
    double length = log10(s.hi / s.lo);
    return (scale){s.lo * pow(10, -low * length), s.hi * pow(10, high * length), 1};
  }
  double length = s.hi - s.lo;
  return (scale){s.lo - low * length, s.hi + high * length, 0};
}

double scale_unit(const scale *s, double v) {
  double t = !s->log ? (v - s->lo) / (s->hi - s->lo) : v > 0 ? log(v / s->lo) / log(s->hi / s->lo) : -FAR_OFF;
  return fmax(fmin(t, FAR_OFF), -FAR_OFF);
}

/* n in superscript digits. */
static void superscript(char *out, size_t room, int n) {
  static const char *const digit[10] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  char plain[16];
  snprintf(plain, sizeof plain, "%d", n);
  out[0] = 0;
  for (const char *p = plain; *p; p++) strncat(out, *p == '-' ? "⁻" : digit[*p - '0'], room - strlen(out) - 1);
}

/* printf's number with a true minus sign, and no "-0". */
static void decimal_text(char out[32], double v, int decimals) {
  char plain[32];
  if (fabs(v) < 0.5 * pow(10, -decimals)) v = 0;
  snprintf(plain, sizeof plain, "%.*f", decimals, fabs(v));
  snprintf(out, 32, "%s%.24s", v < 0 ? "−" : "", plain);
}

void count_text(char out[32], int64_t n) {
  char plain[32];
  int length = snprintf(plain, sizeof plain, "%lld", (long long)n), at = 0;
  for (int i = 0; i < length; i++) {
    out[at++] = plain[i];
    int left = length - 1 - i;
    if (left > 0 && left % 3 == 0 && plain[i] != '-') out[at++] = ',';
  }
  out[at] = 0;
}

void number_text(char out[32], double v) {
  double a = fabs(v);
  if (!isfinite(v)) {
    snprintf(out, 32, "–");
  } else if (a >= 1e15 || (a > 0 && a < 5e-4)) {
    int e = (int)floor(log10(a) + 1e-12);
    char power[16], digits[32];
    superscript(power, sizeof power, e);
    decimal_text(digits, v / pow(10, e), 1);
    snprintf(out, 32, "%.8s×10%.15s", digits, power);
  } else if (a >= 1e4) {
    count_text(out, (int64_t)llround(v));
  } else {
    decimal_text(out, v, a >= 100 || a == 0 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : a >= 0.1 ? 3 : 4);
  }
}

static void linear_ticks(ticks *t, const scale *s, int wanted) {
  static const double nice[4] = {1, 2, 5, 10};
  double raw = (s->hi - s->lo) / wanted, base = pow(10, floor(log10(raw))), step = 10 * base;
  for (int i = 3; i >= 0; i--)
    if (nice[i] * base >= raw * 0.999) step = nice[i] * base;
  double first = ceil(s->lo / step - 1e-9), last = floor(s->hi / step + 1e-9);
  if (last - first < 1) { /* one tick tells no scale: half a decade is fine enough for two */
    step /= step > 4 * base ? 5 : 2;
    first = ceil(s->lo / step - 1e-9), last = floor(s->hi / step + 1e-9);
  }
  double largest = fmax(fabs(s->lo), fabs(s->hi));
  int power = (int)floor(log10(fmax(largest, TINY_VALUE)) + 1e-9), shift = power >= 4 || power < -2 ? power : 0;
  int decimals = shift - (int)floor(log10(step) + 1e-9);
  if (decimals < 0) decimals = 0;
  if (decimals > 12) decimals = 12;
  if (shift) {
    char up[24];
    superscript(up, sizeof up, shift);
    snprintf(t->factor, sizeof t->factor, "×10%.20s", up);
  }
  for (double k = first; k <= last && t->count < TICKS_MAX; k++) {
    tick *at = &t->at[t->count++];
    at->value = k * step;
    decimal_text(at->label, k * (step / pow(10, shift)), decimals);
  }
}

/* m·10^e, m one digit. */
static void plain_tick(char out[32], int m, int e) {
  char up[16];
  superscript(up, sizeof up, e);
  if (e >= 4 && e < 12)
    count_text(out, (int64_t)llround(m * pow(10, e)));
  else if (e >= -3 && e < 4)
    snprintf(out, 32, "%g", m * pow(10, e));
  else
    snprintf(out, 32, "%d×10%.15s", m % 10, up);
}

/* Decades labelled as powers of ten; with fewer than two of them also 2 and 5 (or more) between, as plain numbers. */
static void log_ticks(ticks *t, const scale *s, int wanted) {
  double low = log10(s->lo), high = log10(s->hi);
  int first = (int)floor(low + 1e-9), last = (int)ceil(high - 1e-9), inside = 0;
  for (int e = first; e <= last; e++) inside += e >= low - 1e-9 && e <= high + 1e-9;
  int stride = 1 + (inside - 1) / (wanted > 1 ? wanted : 1), plain = inside < 2;
  if (stride < 1) stride = 1;
  for (int e = first; e <= last; e++)
    for (int m = 1; m < 10; m++) {
      double value = m * pow(10, e);
      if (value < s->lo * (1 - 1e-9) || value > s->hi * (1 + 1e-9) || t->count == TICKS_MAX) continue;
      int major = m == 1 && e % stride == 0, extra = plain && (high - low < 0.75 || m == 1 || m == 2 || m == 5);
      if (m > 1 && !plain && (stride > 1 || last - first > 7)) continue;
      if (!major && stride > 4) continue;
      tick *at = &t->at[t->count++];
      at->value = value;
      at->minor = !major && !extra;
      at->rank = m == 1 ? 0 : m == 2 || m == 5 ? 1 : 2;
      if (at->minor) continue;
      if (plain) {
        plain_tick(at->label, m, e);
      } else {
        char up[24];
        superscript(up, sizeof up, e);
        snprintf(at->label, sizeof at->label, "10%.20s", up);
      }
    }
}

void ticks_make(ticks *t, const scale *s, int wanted) {
  memset(t, 0, sizeof *t);
  if (s->log && s->hi > NARROW * s->lo)
    log_ticks(t, s, wanted);
  else
    linear_ticks(t, s, wanted < 1 ? 1 : wanted);
}
