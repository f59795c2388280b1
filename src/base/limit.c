/* limit.c: see limit.h. */
#include "base/limit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static const struct {
  const char *name, *unit;
  uint64_t scale;
} table[LIMITS] = {
    {"DKHO_LIMIT_MEMORY", " MB", 1000000}, {"DKHO_LIMIT_FILE", " MB", 1000000}, {"DKHO_LIMIT_SIMPLICES", "", 1}};

static uint64_t ceiling[LIMITS];
static const char *wrong[LIMITS]; /* the text that is no number */

static void read_limits(void) {
  for (int i = 0; i < LIMITS; i++) {
    const char *text = getenv(table[i].name);
    char *end;
    ceiling[i] = UINT64_MAX;
    if (!text || !*text) continue;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9') wrong[i] = text, n = 0;
    ceiling[i] = n <= UINT64_MAX / table[i].scale ? n * table[i].scale : UINT64_MAX;
  }
}

dkho_status limit_check(limit_kind kind, uint64_t wanted, dkho_status error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_limits);
  if (wanted <= ceiling[kind]) return DKHO_OK;
  if (wrong[kind]) return fail(error, "%s: found '%.40s', expected a whole number", table[kind].name, wrong[kind]);
  return fail(error, "%.6g%s wanted, but %s allows %llu%s", (double)wanted / (double)table[kind].scale,
              table[kind].unit, table[kind].name, (unsigned long long)(ceiling[kind] / table[kind].scale),
              table[kind].unit);
}
