/* history.c: lines of a metrics.csv. */
#include "study/history.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

enum { PATH_ROOM = 4096 };

static void read_line(history *h, const char *line) {
  double epoch, train, val, seconds;
  if (sscanf(line, "%lf,%*f,%lf,%lf,%lf", &epoch, &train, &val, &seconds) != 4) return;
  h->epoch[h->n] = epoch, h->minutes[h->n] = seconds / 60, h->train[h->n] = train, h->val[h->n] = val;
  h->n++;
}

dkho_status history_read(history *h, const char *run, arena *mem) {
  char path[PATH_ROOM];
  file_map m;
  *h = (history){0};
  snprintf(path, sizeof path, "%.*s/metrics.csv", PATH_ROOM - 64, run);
  TRY(file_map_open(&m, path));
  int64_t lines = 1;
  for (size_t i = 0; i < m.size; i++) lines += m.bytes[i] == '\n';
  dkho_status s = ARENA_NEW(mem, h->epoch, lines) && ARENA_NEW(mem, h->minutes, lines) &&
                          ARENA_NEW(mem, h->train, lines) && ARENA_NEW(mem, h->val, lines)
                      ? DKHO_OK
                      : DKHO_E_MEMORY;
  for (size_t at = 0; s == DKHO_OK && at < m.size;) {
    char line[256];
    size_t end = at;
    while (end < m.size && m.bytes[end] != '\n') end++;
    size_t length = end - at < sizeof line - 1 ? end - at : sizeof line - 1;
    memcpy(line, m.bytes + at, length);
    line[length] = 0;
    read_line(h, line);
    at = end + 1;
  }
  file_map_close(&m);
  return s;
}
