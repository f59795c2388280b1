/* runner.h: an operator at work: raw samples in, gradients or fields in physical units out. A runner holds the buffers for one complex
 * at a time; a batch on another complex takes their place. As long as the complex stays, only a batch larger
 * than any before asks for memory. */
#ifndef RUN_RUNNER_H
#define RUN_RUNNER_H

#include "run/operator.h"

/* Where the samples of a call come from and go to. i counts 0 … count-1; the functions are called in worker threads. */
typedef struct runner_batch {
  int complex; /* all of them lie on it */
  int64_t count;
  comm *ranks;           /* gradients: that share the samples, all with the same batch; NULL: this process alone */
  const int64_t *sample; /* their numbers, for messages; NULL: 0 … count-1 */
  /* The raw values of input and global fields, in field order, as features_eval wants them. */
  void (*inputs)(void *ctx, int64_t i, const float **in, const double **global);
  const float *(*target)(void *ctx, int64_t i); /* training: the raw target */
  float *(*out)(void *ctx, int64_t i);          /* predicting: where the field goes */
  void *ctx;
} runner_batch;

typedef struct runner runner;
/* The operator and the pool (NULL: this thread) are borrowed. Ready for the first complex. */
dkho_status runner_create(runner **out, const neural_operator *o, engine_mode mode, pool *threads);
void runner_free(runner *r);
/* The weights of the coming calls (borrowed); again after every change. */
void runner_bind(runner *r, const real *weights);
/* g += weight · Σ ∂loss/∂θ, *sum = weight · Σ loss. A loss or gradient that is not finite gives DKHO_E_NONFINITE with a text that
 * names tensor and sample; g is then to be thrown away. */
dkho_status runner_gradient(runner *r, const runner_batch *b, double weight, double *sum, real *g);
dkho_status runner_predict(runner *r, const runner_batch *b);
const char *runner_engine(const runner *r);  /* the fast path's name, or "tape" */
const char *runner_kernels(const runner *r); /* the instruction set of the kernels */
/* Seconds spent so far on the descriptors of samples, which ranks that share a mesh compute whole each; 0 on the tape. */
double runner_described(const runner *r);
/* Multiply-adds of one sample forward, or in a training step: those of its products, on the rows of this rank. */
dkho_status runner_work(const runner *r, double *work);

#endif
