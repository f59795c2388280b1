/* status.h: how failures travel. A function that can fail for a reason of the world returns dkho_status and sets one
 * line of text, kept per thread; a programmer's mistake is an assert. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "dkho.h"

/* Sets the thread's error text and returns `code`: `return fail(DKHO_E_INPUT, "…", …);` */
dkho_status fail(dkho_status code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "PREFIX: " before the present text, to name the file or the object; returns `code`. */
dkho_status fail_prefix(dkho_status code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Inside the library a compiler sees that these return `code`, so it knows what is set after TRY. Tests do without:
 * cmocka has a macro `fail` too. */
static inline dkho_status fail_known(dkho_status same, dkho_status code) {
  (void)same;
  return code;
}
#ifdef DKHO_BUILDING
#define fail(code, ...) fail_known(fail(code, __VA_ARGS__), code)
#define fail_prefix(code, ...) fail_known(fail_prefix(code, __VA_ARGS__), code)
#endif
/* The thread's text, never NULL. */
const char *fail_text(void);

/* Returns early from a function that owns nothing (or whose owner cleans up). */
#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    dkho_status try_status = (call);                                                                                   \
    if (try_status != DKHO_OK) return try_status;                                                                      \
  } while (0)

/* The same for functions with a local `dkho_status s` and one exit label `done`. */
#define TRY_GOTO(call)                                                                                                 \
  do {                                                                                                                 \
    s = (call);                                                                                                        \
    if (s != DKHO_OK) goto done;                                                                                       \
  } while (0)

#endif
