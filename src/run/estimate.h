/* estimate.h: how long training will take here, from a few steps. */
#ifndef RUN_ESTIMATE_H
#define RUN_ESTIMATE_H

#include "base/pool.h"
#include "run/config.h"

/* Seconds that a training step takes per sample. */
dkho_status estimate_step(double *seconds, const dataset *d, const run_config *cfg, pool *threads);
/* Seconds of a whole run: epochs over `trains` samples, each followed by a look at `vals`, whose forward pass is a third of a
 * step. */
double estimate_run(double seconds, int64_t epochs, int64_t trains, int64_t vals);
/* As many epochs as fit into so many minutes here, one at least. */
dkho_status epochs_in_time(int64_t *epochs, double minutes, const dataset *d, const run_config *cfg, pool *threads);

#endif
