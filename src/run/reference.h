/* reference.h: what a learned operator has to be compared with: predictors that know next to nothing, and regressions on the
 * same training samples, all judged by the target's own metrics. */
#ifndef RUN_REFERENCE_H
#define RUN_REFERENCE_H

#include "run/score.h"

enum { REFERENCE_ROWS = 9 };

typedef struct reference_row {
  const char *name;
  char what[96]; /* in words */
  score_result found;
  int fitted;                                 /* 1: a regression, of which the rest tells */
  double lambda, length, val_rel_l2, seconds; /* lambda: 0: no penalty; length: of the kernel, 0: it has none */
  int64_t inputs, components, width;          /* components of the inputs and units of a layer, 0: no network */
} reference_row;

typedef struct references {
  int count;
  reference_row row[REFERENCE_ROWS];
} references;

/* Rows that the target has, in this order:
 *   zero     û = 0
 *   mean     the mean of the training targets                                   (one complex)
 *   copy     the input field whose name is the target's with a 0 behind it: the state at the start of an evolution
 *   rotated  that state carried round the z axis by `turn` radians: the exact flow of a problem that says so, without diffusion
 *   coarse   the input field named "coarse_" and the target: the solution on a coarser mesh
 *   ridge, quadratic, kernel   regressions from all inputs (run/ridge.h), chosen on validation (one complex)
 *   pca-net  a network between principal components (run/pcanet.h), on the same terms
 * train_samples > 0: only the first so many of the training split. turn 0: no flow is known.
 * On success references_free is due. */
dkho_status reference_rows(const dataset *d, int target, const char *list, int64_t train_samples, data_split split,
                           double turn, pool *threads, references *out);
void references_free(references *r); /* zero is fine */

#endif
