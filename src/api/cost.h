/* cost.h: the price of a prediction and of a classical solve. */
#ifndef API_COST_H
#define API_COST_H

#include "api/opened.h"

/* Times whole solves of the benchmark that made the data: {"seconds_per_sample", "setup_seconds", "samples", "what"}. *out is
 * NULL when no benchmark of ours made them. */
dkho_status cost_classical(const dataset *d, pool *threads, json_t **out);
/* {"threads", "learned_seconds_per_sample", "classical", "training_seconds", "break_even_solves": a number of samples after which
 * training has paid for itself, or "never"}. classical may be NULL; it is referenced. */
dkho_status cost_compare(const opened *r, const char *run, json_t *classical, json_t **out);

#endif
