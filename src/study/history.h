/* history.h: the epochs of a run, from its metrics.csv. */
#ifndef STUDY_HISTORY_H
#define STUDY_HISTORY_H

#include "base/mem.h"

typedef struct history {
  int64_t n;
  double *epoch, *minutes; /* n each; minutes of training so far */
  double *train, *val;     /* relative errors on the training samples as they were seen, and on validation */
} history;
/* Arrays are from mem. Lines that are no epoch are passed over. */
dkho_status history_read(history *out, const char *run, arena *mem);

#endif
