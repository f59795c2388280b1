/* honest.h: what a learned operator has to be compared with: predictors that know next to nothing, and regressions on the
 * same training samples, all judged by the target's own metrics. */
#ifndef RUN_HONEST_H
#define RUN_HONEST_H

#include "run/score.h"

/* Rows that the target has, in this order:
 *   zero     û = 0
 *   mean     the mean of the training targets                                   (one complex)
 *   copy     the input field whose name is the target's with a 0 behind it: the state at the start of an evolution
 *   rotated  that state carried round the z axis by `turn` radians: the exact flow of a problem that says so, without diffusion
 *   ridge, quadratic, kernel   regressions from all inputs (run/ridge.h), chosen on validation (one complex)
 * out: a JSON array of {"name", "what", "metrics": {…}}; regressions have "lambda", "inputs", "val_rel_l2", "seconds" too.
 * train_samples > 0: only the first so many of the training split. turn 0: no flow is known. */
dkho_status honest_rows(const dataset *d, int target, const char *list, int64_t train_samples, data_split split,
                        double turn, pool *threads, json_t **out);

#endif
