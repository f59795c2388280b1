/* optim.h: AdamW, clipping by global norm, learning-rate schedules, running average of the weights. Arithmetic order as
 * in PyTorch, so that a step can be compared with it. */
#ifndef NN_OPTIM_H
#define NN_OPTIM_H

#include "nn/param.h"

typedef struct optim_config {
  double beta1, beta2, eps;
  double decay; /* decoupled: θ ← θ (1 - lr·decay) before the step, on every live tensor */
  double clip;  /* bound of the gradient's global norm, 0: none */
  double ema;   /* rate of the running average, average ← ema·average + (1 - ema)·θ; 0: none is kept */
} optim_config;
optim_config optim_defaults(void); /* 0.9, 0.999, 1e-8, 0, 1, 0 */

typedef struct optim {
  optim_config cfg;
  const params *p;       /* borrowed */
  real *m, *v, *average; /* slabs, owned; average is NULL without ema */
  int64_t step;          /* steps taken */
} optim;
/* The average starts at `value`. */
dkho_status optim_create(optim **out, const params *p, const optim_config *cfg, const real *value);
void optim_free(optim *o);
/* √Σ g² over live tensors, in double, in table order. */
double optim_norm(const params *p, const real *g);
/* One step with learning rate lr; *norm ← the gradient's norm before clipping (may be NULL). A gradient that is not finite
 * gives DKHO_E_NONFINITE, naming the tensor, and nothing is touched. */
dkho_status optim_step(optim *o, double lr, real *value, const real *g, double *norm);

double lr_cosine(double lr, int64_t epoch, int64_t epochs); /* lr (1 + cos(π e/E))/2 */
/* Factor (step + 1)/warmup while step < warmup, then 1. */
double lr_warmup(int64_t step, int64_t warmup);

#endif
