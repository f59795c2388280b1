/* report.c: the process-wide report sink. */
#include "base/comm.h"
#include "base/report.h"
#include "dkho.h"

#include <stdarg.h>
#include <stdio.h>

static dkho_report sink;

void dkho_report_set(const dkho_report *fresh) {
  sink = fresh ? *fresh : (dkho_report){0};
}

void report_log(const char *fmt, ...) {
  if (!sink.log || comm_world()->rank) return;
  char line[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  sink.log(sink.user, line);
}

void report_progress(const char *label, uint64_t done, uint64_t total, const char *note) {
  if (sink.progress && comm_world()->rank == 0) sink.progress(sink.user, label, done, total, note ? note : "");
}
