/* subject.h: an operator under measurement: its threads, its runners, and the calls that are timed. */
#ifndef STUDY_SUBJECT_H
#define STUDY_SUBJECT_H

#include "kern/kern.h"
#include "nn/optim.h"
#include "run/samples.h"

enum { SUBJECT_BATCH = 16 };

typedef struct subject {
  const dataset *d;
  const neural_operator *o;
  const kern *k;
  pool *p;
  runner *train, *predict;
  optim *opt;
  real *value, *g; /* its own weights, which the steps move */
  float *out;
  int64_t extent;
  int64_t *turn;      /* the samples of the data set in turn, for the largest batch */
  size_t train_bytes; /* what training took from memory */
  double peak;        /* multiply-adds per second of all threads together, the best seen */
} subject;

/* predicting: also what predictions need. On failure the subject is closed. */
dkho_status subject_open(subject *s, const dataset *d, const neural_operator *o, int threads, int predicting);
void subject_close(subject *s);
/* A whole training step: gradients of the batch, clipping, AdamW, and what the kernels prepare from the new weights. */
dkho_status subject_train(subject *s, int64_t batch);
dkho_status subject_predict(subject *s, int64_t batch); /* at most SUBJECT_BATCH */
/* A few short goes, all threads at the same time, that may raise s->peak. */
dkho_status subject_peak(subject *s);

double subject_work(void);               /* processor seconds of all threads, which other programs do not lengthen */
double subject_clock(void);              /* seconds */
double subject_median(double *x, int n); /* sorts x */

#endif
