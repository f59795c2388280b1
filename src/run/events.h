/* events.h: the history of a run as a TensorBoard event file: losses and the rate of every epoch. */
#ifndef RUN_EVENTS_H
#define RUN_EVENTS_H

#include "base/status.h"

/* Name of the file in a run's directory. */
#define EVENTS_FILE "events.out.tfevents.dkho"

typedef struct event_row {
  int64_t step;   /* 1, 2, … */
  double seconds; /* since the start of the run */
  int values;
  const char *const *tag;
  const double *value; /* stored as float */
} event_row;

/* Brings the file up to date: what it holds of rows first … count-1 as it should be is kept, byte for byte, since a reader may have
 * read it; everything behind that (a record cut short by a kill, epochs after the checkpoint that a run resumed from) is cut off, and the
 * missing rows are appended. A new file begins now: `start` seconds after 1970 stand for second 0 of the run. row(ctx, i) is row i. */
dkho_status events_update(const char *path, double start, int64_t count, event_row (*row)(void *ctx, int64_t i),
                          void *ctx);

#endif
