/* scan.h: reading text and binary values from a bounded range of bytes, with messages that name file and place.
 *
 * The range is a mapped file or a part of one: nothing is NUL-terminated, nothing is copied. Numbers are read the same
 * way whatever the locale. */
#ifndef MESH_SCAN_H
#define MESH_SCAN_H

#include "base/status.h"

typedef struct scan {
  const char *name; /* file, for messages */
  const unsigned char *bytes;
  size_t size, at; /* a part of a file keeps `bytes` and narrows [at, size), so that places in messages stay right */
  int binary;      /* messages give the byte offset, else the line; typed values are bytes, else words */
} scan;

/* A piece of the text, not terminated. */
typedef struct scan_view {
  const char *p;
  size_t n;
} scan_view;
/* For "%.*s": long pieces are cut. */
#define SCAN_SHOW(v) ((v).n < 40 ? (int)(v).n : 40), ((v).p ? (v).p : "")
int scan_is(scan_view v, const char *word);
int scan_is_any_case(scan_view v, const char *word);
int scan_is_space(int byte); /* blank, tab, line ends, form feed: the C locale's set */

/* DKHO_E_FORMAT with "FILE: line N: " or "FILE: byte N: " before the text, which may quote the file: bytes that are not
 * printing ASCII become '?'. */
dkho_status scan_fail(const scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#ifdef DKHO_BUILDING /* as in base/status.h */
#define scan_fail(...) fail_known(scan_fail(__VA_ARGS__), DKHO_E_FORMAT)
#endif
size_t scan_left(const scan *s);
void scan_space(scan *s); /* to the next byte that is not white */
/* The next run of bytes that are not white; 0 at the end of the range. */
int scan_word(scan *s, scan_view *out);
/* The next line as a range of its own, without its line end and without what follows `comment` (0: no comments); 0 at
 * the end of the range. */
int scan_line(scan *s, scan *line, char comment);

/* A decimal number, correctly rounded; not hexadecimal. "nan" and "inf" are read, so that the caller can say that they
 * are not wanted. `field` names it in messages. */
dkho_status scan_double(scan *s, const char *field, double *out);
/* A whole decimal number in lo … hi. */
dkho_status scan_int(scan *s, const char *field, int64_t lo, int64_t hi, int64_t *out);
/* The word as a number, all of it; 0 when it is none. */
int scan_view_double(scan_view v, double *out);
int scan_view_int(scan_view v, int64_t *out);

/* The next n bytes in the machine's order. */
dkho_status scan_bytes(scan *s, const char *field, void *out, size_t n);

/* A type of binary numbers. */
typedef struct scan_type {
  char kind; /* 'i' signed, 'u' unsigned, 'f' floating */
  int size;  /* bytes: 1, 2, 4, 8 */
} scan_type;
/* The bits of a value of `size` bytes, whatever the order of its bytes and of the machine's. */
uint64_t scan_bits(const unsigned char *p, size_t size, int big_endian);
/* Those bits as a number. Whole: unsigned values beyond 2^63 become -1, which no index may be. */
int64_t scan_bits_int(scan_type t, uint64_t bits);
double scan_bits_double(scan_type t, uint64_t bits);
/* The next value: binary as the type says, or a word of text. */
dkho_status scan_typed_int(scan *s, const char *field, scan_type t, int big_endian, int64_t *out);
dkho_status scan_typed_double(scan *s, const char *field, scan_type t, int big_endian, double *out);

#endif
