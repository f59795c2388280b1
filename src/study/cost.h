/* cost.h: the price of a prediction and of a classical solve. */
#ifndef STUDY_COST_H
#define STUDY_COST_H

#include "study/opened.h"

/* Times whole solves of the benchmark that made the data: {"seconds_per_sample", "setup_seconds", "samples", "what"}. *out is
 * NULL when no benchmark of ours made them. */
dkho_status cost_classical(const dataset *d, pool *threads, json_t **out);
/* {"threads", "learned_seconds_per_sample", "classical", "training_seconds", "break_even_solves": a number of samples after which
 * training and the solves that made the data have paid for themselves, or "never",
 * or "unknown" without the time of a classical solve or of the training}. classical may be NULL (null in the result); it is referenced. */
dkho_status cost_compare(const opened *r, const char *run, json_t *classical, json_t **out);
/* {"target", "rows": references_json, "cost": cost_compare} of a run. */
dkho_status cost_and_rows(const char *run, const char *data, int threads, json_t **out);

#endif
