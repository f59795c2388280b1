/* scan.c: bounded scanning of text and binary values. */
#include "mesh/scan.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = 127 }; /* longest number in characters */

int scan_is(scan_view v, const char *word) {
  return strlen(word) == v.n && memcmp(v.p, word, v.n) == 0;
}

int scan_is_any_case(scan_view v, const char *word) {
  return strlen(word) == v.n && strncasecmp(v.p, word, v.n) == 0;
}

int scan_is_space(int byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static int is_digit(int byte) {
  return byte >= '0' && byte <= '9';
}

size_t scan_left(const scan *s) {
  return s->size - s->at;
}

dkho_status(scan_fail)(const scan *s, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  for (char *p = text; *p; p++)
    if (*p < ' ' || *p > '~') *p = '?';
  if (s->binary) return fail(DKHO_E_FORMAT, "%s: byte %zu: %s", s->name, s->at, text);
  size_t line = 1;
  for (size_t i = 0; i < s->at; i++) line += s->bytes[i] == '\n';
  return fail(DKHO_E_FORMAT, "%s: line %zu: %s", s->name, line, text);
}

void scan_space(scan *s) {
  while (s->at < s->size && scan_is_space(s->bytes[s->at])) s->at++;
}

int scan_word(scan *s, scan_view *out) {
  scan_space(s);
  size_t from = s->at;
  while (s->at < s->size && !scan_is_space(s->bytes[s->at])) s->at++;
  *out = (scan_view){(const char *)s->bytes + from, s->at - from};
  return out->n > 0;
}

int scan_line(scan *s, scan *line, char comment) {
  if (s->at >= s->size) return 0;
  *line = *s;
  const unsigned char *from = s->bytes + s->at, *end = memchr(from, '\n', scan_left(s));
  line->size = end ? (size_t)(end - s->bytes) : s->size;
  s->at = line->size + (end != NULL);
  const unsigned char *cut = comment ? memchr(from, comment, line->size - line->at) : NULL;
  if (cut) line->size = (size_t)(cut - s->bytes);
  return 1;
}

/* The parts of a decimal number: mantissa (the first 19 significant digits) and power of ten. 0: not a number. */
static int decimal(scan_view v, int *negative, uint64_t *mantissa, int *exponent, int *exact) {
  size_t i = 0;
  int digits = 0, taken = 0, point = 0, scale = 0;
  *mantissa = 0;
  *exact = 1;
  *negative = v.n > 0 && v.p[0] == '-';
  if (v.n > 0 && (v.p[0] == '-' || v.p[0] == '+')) i++;
  for (; i < v.n && (is_digit(v.p[i]) || (v.p[i] == '.' && !point)); i++) {
    if (v.p[i] == '.') {
      point = 1;
      continue;
    }
    digits++;
    if (taken < 19) {
      *mantissa = *mantissa * 10 + (uint64_t)(v.p[i] - '0');
      taken += *mantissa != 0;
      scale -= point;
    } else {
      *exact = 0;
      scale += !point;
    }
  }
  if (digits == 0) return 0;
  int power = 0;
  if (i < v.n && (v.p[i] == 'e' || v.p[i] == 'E')) {
    int minus = ++i < v.n && v.p[i] == '-';
    if (i < v.n && (v.p[i] == '-' || v.p[i] == '+')) i++;
    if (i == v.n) return 0;
    for (; i < v.n && is_digit(v.p[i]); i++) power = power < 100000 ? power * 10 + (v.p[i] - '0') : power;
    if (minus) power = -power;
  }
  *exponent = scale + power;
  return i == v.n;
}

/* What the fast path leaves over goes to the C library in its own "C" locale, so that a comma never counts. */
static double slow_double(scan_view v) {
  char text[NUMBER_MAX + 1];
  memcpy(text, v.p, v.n);
  text[v.n] = 0;
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return NAN;
  double x = strtod_l(text, NULL, plain);
  freelocale(plain);
  return x;
}

static int not_finite_word(scan_view v, double *out) {
  int minus = v.n > 0 && v.p[0] == '-';
  if (v.n > 0 && (v.p[0] == '-' || v.p[0] == '+')) v = (scan_view){v.p + 1, v.n - 1};
  *out = minus ? -INFINITY : INFINITY;
  if (v.n == 3 && strncasecmp(v.p, "nan", 3) == 0) *out = NAN;
  return v.n == 3 && (strncasecmp(v.p, "nan", 3) == 0 || strncasecmp(v.p, "inf", 3) == 0);
}

int scan_view_double(scan_view v, double *out) {
  static const double ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  int negative, exponent, exact;
  uint64_t mantissa;
  if (v.n > NUMBER_MAX) return 0;
  if (!decimal(v, &negative, &mantissa, &exponent, &exact)) return not_finite_word(v, out);
  if (exact && mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
    /* Both factors are exact, so the one operation rounds correctly. */
    double m = (double)mantissa, x = exponent < 0 ? m / ten[-exponent] : m * ten[exponent];
    *out = negative ? -x : x;
  } else {
    *out = slow_double(v);
  }
  return 1;
}

int scan_view_int(scan_view v, int64_t *out) {
  size_t i = v.n > 0 && (v.p[0] == '-' || v.p[0] == '+');
  if (i == v.n || v.n > NUMBER_MAX) return 0;
  int64_t x = 0;
  for (; i < v.n; i++) {
    if (!is_digit(v.p[i]) || __builtin_mul_overflow(x, 10, &x)) return 0;
    if (__builtin_sub_overflow(x, v.p[i] - '0', &x)) return 0; /* built negative: INT64_MIN fits too */
  }
  if (v.p[0] != '-' && x == INT64_MIN) return 0;
  *out = v.p[0] == '-' ? x : -x;
  return 1;
}

dkho_status scan_double(scan *s, const char *field, double *out) {
  scan_view v;
  scan_space(s);
  scan before = *s;
  if (!scan_word(s, &v)) return scan_fail(&before, "%s: the data end here, expected a number", field);
  if (!scan_view_double(v, out))
    return scan_fail(&before, "%s: found \"%.*s\", expected a number", field, SCAN_SHOW(v));
  return DKHO_OK;
}

dkho_status scan_int(scan *s, const char *field, int64_t lo, int64_t hi, int64_t *out) {
  scan_view v;
  scan_space(s);
  scan before = *s;
  if (!scan_word(s, &v)) return scan_fail(&before, "%s: the data end here, expected a whole number", field);
  if (!scan_view_int(v, out))
    return scan_fail(&before, "%s: found \"%.*s\", expected a whole number", field, SCAN_SHOW(v));
  if (*out < lo || *out > hi)
    return scan_fail(&before, "%s: found %lld, expected %lld to %lld", field, (long long)*out, (long long)lo,
                     (long long)hi);
  return DKHO_OK;
}

dkho_status scan_bytes(scan *s, const char *field, void *out, size_t n) {
  if (scan_left(s) < n) return scan_fail(s, "%s: %zu bytes left, expected %zu", field, scan_left(s), n);
  memcpy(out, s->bytes + s->at, n);
  s->at += n;
  return DKHO_OK;
}

uint64_t scan_bits(const unsigned char *p, size_t size, int big_endian) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size; i++) bits = bits << 8 | p[big_endian ? i : size - 1 - i];
  return bits;
}

int64_t scan_bits_int(scan_type t, uint64_t bits) {
  unsigned shift = 64 - 8 * (unsigned)t.size;
  if (t.kind == 'i') return (int64_t)(bits << shift) >> shift;
  return bits > INT64_MAX ? -1 : (int64_t)bits;
}

double scan_bits_double(scan_type t, uint64_t bits) {
  double wide;
  float narrow;
  uint32_t low = (uint32_t)bits;
  if (t.kind != 'f') return (double)scan_bits_int(t, bits);
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return t.size == 8 ? wide : narrow;
}

static dkho_status next_bits(scan *s, const char *field, scan_type t, int big_endian, uint64_t *bits) {
  size_t n = (size_t)t.size;
  if (scan_left(s) < n) return scan_fail(s, "%s: %zu bytes left, expected %zu", field, scan_left(s), n);
  *bits = scan_bits(s->bytes + s->at, n, big_endian);
  s->at += n;
  return DKHO_OK;
}

dkho_status scan_typed_int(scan *s, const char *field, scan_type t, int big_endian, int64_t *out) {
  uint64_t bits;
  if (!s->binary) return scan_int(s, field, INT64_MIN, INT64_MAX, out);
  if (t.kind == 'f') return scan_fail(s, "%s: floating-point type, expected whole numbers", field);
  TRY(next_bits(s, field, t, big_endian, &bits));
  *out = scan_bits_int(t, bits);
  return DKHO_OK;
}

dkho_status scan_typed_double(scan *s, const char *field, scan_type t, int big_endian, double *out) {
  uint64_t bits;
  if (!s->binary) return scan_double(s, field, out);
  TRY(next_bits(s, field, t, big_endian, &bits));
  *out = scan_bits_double(t, bits);
  return DKHO_OK;
}
