/* closed_impl.h: what the files of the solver for closed 1-forms share. */
#ifndef PROBLEM_CLOSED_IMPL_H
#define PROBLEM_CLOSED_IMPL_H

#include "problem/assembly.h"
#include "problem/closed.h"

struct closed {
  const cx *c;
  int64_t n;
  int32_t *unknown; /* N0, -1: held */
  double *grad;     /* N2 × 6 */
  int32_t *side;    /* N2 × 2: edges between the first corner and the others */
  double *turn;     /* N2 × 2: 1, or -1 for an edge that ends in the first corner */
  assembly matrix;  /* an element's unknowns are its corners */
  arena mem;
};

#endif
