/* runner.h: an operator at work on one of its complexes: raw samples in, gradients or fields in physical units out. All buffers
 * are made at the start; running allocates nothing. */
#ifndef RUN_RUNNER_H
#define RUN_RUNNER_H

#include "run/oper.h"

/* Where the samples of a call come from and go to. i counts 0 … count-1; the functions are called in worker threads. */
typedef struct runner_batch {
  int64_t count;
  const int64_t *sample; /* their numbers, for messages; NULL: 0 … count-1 */
  /* The raw values of input and global fields, in field order, as features_eval wants them. */
  void (*inputs)(void *ctx, int64_t i, const float **in, const double **global);
  const float *(*target)(void *ctx, int64_t i); /* training: the raw target */
  float *(*out)(void *ctx, int64_t i);          /* predicting: where the field goes */
  void *ctx;
} runner_batch;

typedef struct runner runner;
/* The operator and the pool (NULL: this thread) are borrowed. */
dkho_status runner_create(runner **out, const oper *o, int site, engine_mode mode, pool *threads);
void runner_free(runner *r);
/* The weights of the coming calls (borrowed); again after every change. */
void runner_bind(runner *r, const real *weights);
/* g += weight · Σ ∂loss/∂θ, *sum = weight · Σ loss, as engine_gradient. */
dkho_status runner_gradient(runner *r, const runner_batch *b, double weight, double *sum, real *g);
dkho_status runner_predict(runner *r, const runner_batch *b);
const char *runner_engine(const runner *r);  /* "fused" or "tape" */
const char *runner_kernels(const runner *r); /* the instruction set of the fused way; "plain" on the tape */
/* Multiply-adds of one sample forward, or in a training step: the useful ones (model/dkho/fused.h); 0 on the tape. */
double runner_work(const runner *r);

#endif
