/* measure.h: an operator under measurement: its threads, its runners, and the calls that are timed. */
#ifndef STUDY_MEASURE_H
#define STUDY_MEASURE_H

#include "kern/kern.h"
#include "nn/optim.h"
#include "run/samples.h"

enum { MEASURE_BATCH = 16 };

typedef struct measured {
  const dataset *d;
  const neural_operator *o;
  const kern *k;
  pool *p;
  comm *ranks; /* that share the batches of measure_train; NULL: none */
  runner *train, *predict;
  optim *opt;
  real *value, *g; /* its own weights, which the steps move */
  float *out;
  int64_t extent;
  int64_t *turn;      /* the samples of the data set in turn, for the largest batch */
  size_t train_bytes; /* what training took from memory */
  double peak;        /* multiply-adds per second of all threads together, the best seen */
} measured;

/* predicting: also what predictions need. On failure it is closed. */
dkho_status measure_open(measured *s, const dataset *d, const neural_operator *o, int threads, int predicting);
void measure_close(measured *s);
/* A whole training step: gradients of the batch, clipping, AdamW, and what the kernels prepare from the new weights. */
dkho_status measure_train(measured *s, int64_t batch);
dkho_status measure_predict(measured *s, int64_t batch); /* at most MEASURE_BATCH */
/* A few short goes, all threads at the same time, that may raise s->peak. */
dkho_status measure_peak(measured *s);

double measure_processor(void);          /* processor seconds of all threads, which other programs do not lengthen */
double measure_clock(void);              /* seconds */
double measure_median(double *x, int n); /* sorts x */

#endif
