/* pace.h: how fast a configuration trains and predicts here, from a few steps. */
#ifndef RUN_PACE_H
#define RUN_PACE_H

#include "base/pool.h"
#include "run/config.h"

typedef struct pace {
  double train, predict; /* seconds per sample */
} pace;
dkho_status pace_measure(pace *out, const dataset *d, const run_config *cfg, pool *threads);
/* Seconds that a whole run takes: epochs over `trains` samples, each followed by a look at `vals`. */
double pace_total(const pace *p, int64_t epochs, int64_t trains, int64_t vals);

#endif
