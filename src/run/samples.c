/* samples.c: the three calls by which a runner asks for a sample. */
#include "run/samples.h"

static void sample_inputs(void *ctx, int64_t i, const float **in, const double **global) {
  const sample_list *l = ctx;
  dataset_inputs(l->d, l->sample[i], in, global);
}

static const float *sample_target(void *ctx, int64_t i) {
  const sample_list *l = ctx;
  return dataset_value(l->d, l->target, l->sample[i]);
}

static float *sample_out(void *ctx, int64_t i) {
  const sample_list *l = ctx;
  return l->out + i * l->extent;
}

runner_batch samples_batch(sample_list *l, int complex, int64_t count) {
  return (runner_batch){.complex = complex,
                        .count = count,
                        .sample = l->sample,
                        .inputs = sample_inputs,
                        .target = sample_target,
                        .out = sample_out,
                        .ctx = l};
}
