/* meter.c: progress on stderr. On a terminal one line is redrawn at most ten times a second; elsewhere a plain line every
 * ten seconds. Nothing is shown for work shorter than two seconds. The rate is that of the last minute or two: what was done
 * before a pause, or before work was resumed, says nothing about the time that is left. */
#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SPAN 60.0 /* seconds between marks */

static struct {
  int terminal, shown;
  char label[64];
  double start, last;
  struct {
    double at;
    uint64_t done;
  } mark[2]; /* the older one begins the span of the rate */
} meter;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_span(char *out, size_t size, double seconds) {
  long s = (long)(seconds + 0.5);
  if (s < 100)
    snprintf(out, size, "%ld s", s);
  else if (s < 3600)
    snprintf(out, size, "%ld:%02ld min", s / 60, s % 60);
  else
    snprintf(out, size, "%ld:%02ld h", s / 3600, s / 60 % 60);
}

static void draw_meter(uint64_t done, uint64_t total, const char *note, double t) {
  char rate[48] = "", left[24] = "", bar[32] = "";
  double here = (double)(done - meter.mark[0].done), span = t - meter.mark[0].at, speed = span > 0 ? here / span : 0;
  if (speed >= 10)
    snprintf(rate, sizeof rate, "%.0f/s", speed);
  else if (speed > 0)
    snprintf(rate, sizeof rate, "%.2f/s", speed);
  print_span(left, sizeof left, speed > 0 && done < total ? (double)(total - done) / speed : t - meter.start);
  if (total) {
    int full = (int)(20 * done / total);
    for (int i = 0; i < 20; i++) bar[i] = i < full ? '#' : '.';
  }
  const char *word = total && done < total ? "left" : "total";
  if (!meter.terminal) {
    fprintf(stderr, "%s: %llu/%llu  %s  %s %s  %s\n", meter.label, (unsigned long long)done, (unsigned long long)total,
            rate, left, word, note);
    return;
  }
  struct winsize w;
  int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 80;
  char line[256];
  snprintf(line, sizeof line, "%s [%s] %3.0f%%  %s  %s %s  %s", meter.label, bar,
           total ? 100.0 * (double)done / (double)total : 0.0, rate, left, word, note);
  fprintf(stderr, "\r\033[K%.*s", width - 1, line);
  fflush(stderr);
  meter.shown = 1;
}

void meter_end(void) {
  if (meter.shown) fputc('\n', stderr);
  meter.shown = 0;
  meter.label[0] = 0;
}

static void progress(void *user, const char *label, uint64_t done, uint64_t total, const char *note) {
  (void)user;
  double t = now();
  if (strncmp(meter.label, label, sizeof meter.label - 1) != 0) {
    meter_end();
    snprintf(meter.label, sizeof meter.label, "%s", label);
    meter.start = t;
    meter.mark[0].at = meter.mark[1].at = t, meter.mark[0].done = meter.mark[1].done = done;
    meter.last = t + (meter.terminal ? 1.9 : 0); /* the first two seconds are silent */
    if (done < total || !total) return;
  }
  if (t - meter.mark[1].at >= SPAN) {
    meter.mark[0] = meter.mark[1];
    meter.mark[1].at = t, meter.mark[1].done = done;
  }
  int last = total && done >= total, due = t - meter.last >= (meter.terminal ? 0.1 : 10.0);
  if (due || (last && (meter.shown || t - meter.start > 10))) {
    meter.last = t;
    draw_meter(done, total, note, t);
  }
  if (last) meter_end();
}

static void log_line(void *user, const char *line) {
  (void)user;
  meter_end();
  fprintf(stderr, "%s\n", line);
}

void meter_install(int quiet) {
  meter.terminal = isatty(STDERR_FILENO);
  dkho_report sink = {.log = log_line, .progress = progress};
  dkho_report_set(quiet ? NULL : &sink);
}
