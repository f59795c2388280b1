/* samples.h: samples of a data set as a runner takes them: inputs and targets are read where the file is mapped, predictions are put
 * side by side. The one way from data to runners, for training, evaluation, estimates and measurements alike. */
#ifndef RUN_SAMPLES_H
#define RUN_SAMPLES_H

#include "run/runner.h"

/* Everything is borrowed while the batch runs. */
typedef struct sample_list {
  const dataset *d;
  int target;            /* field */
  const int64_t *sample; /* numbers of samples, all on one complex */
  float *out;            /* predicting: extent numbers each; NULL when training */
  int64_t extent;
} sample_list;

/* The first `count` of the list, which lie on this complex. */
runner_batch samples_batch(sample_list *l, int complex, int64_t count);

#endif
