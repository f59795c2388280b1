/* status.c: error texts, one buffer per thread. */
#include "base/status.h"
#include "version.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1024 };
static _Thread_local char text[TEXT_MAX];

const char *dkho_version(void) {
  return DKHO_VERSION;
}

const char *dkho_status_text(dkho_status status) {
  static const char *const texts[] = {
#define DKHO_X(code, words) words,
      DKHO_STATUS_LIST(DKHO_X)
#undef DKHO_X
  };
  size_t i = (size_t)status;
  return i < sizeof texts / sizeof *texts ? texts[i] : "unknown status";
}

const char *dkho_error(void) {
  return text;
}
const char *fail_text(void) {
  return text;
}

dkho_status(fail)(dkho_status code, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char line[TEXT_MAX]; /* an argument may be the present text */
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  memcpy(text, line, sizeof text);
  return code;
}

dkho_status(fail_prefix)(dkho_status code, const char *fmt, ...) {
  char prefix[TEXT_MAX / 2], rest[TEXT_MAX];
  va_list args;
  va_start(args, fmt);
  vsnprintf(prefix, sizeof prefix, fmt, args);
  va_end(args);
  memcpy(rest, text, sizeof rest);
  return fail(code, "%s: %.*s", prefix, TEXT_MAX / 2, rest);
}
