/* restart.h: a prediction as the start of the classical solver, which keeps its own accuracy: what is saved. */
#ifndef STUDY_RESTART_H
#define STUDY_RESTART_H

#include "study/opened.h"

/* Of a solve, from the solver's own start and from the prediction. */
typedef struct restart_cost {
  int samples;                 /* means over so many; 0: the solver has no use for the model's target */
  double steps[2], seconds[2]; /* of Newton's method; of processor time */
  double difference;           /* the largest relative difference of the two solutions */
} restart_cost;
/* Solves a few test samples both ways, in turns. */
dkho_status restart_compare(const opened *r, restart_cost *out);

#endif
