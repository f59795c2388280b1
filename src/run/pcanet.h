/* pcanet.h: a network between principal components, the regression that a neural operator has to beat (Bhattacharya, Hosseini, Kovachki,
 * Stuart 2021).
 *
 * Inputs x and target y of the training samples (run/ridge.h) are cut to their leading principal components, a ∈ R^p and b ∈ R^q; three
 * hidden layers of GELU units, and a linear map beside them, take a to b. Components come from the n × n inner products alone, so the mesh
 * may be as fine as it likes. A few shapes are trained, and the shape and epoch with the least validation error are kept. Nothing
 * depends on the number of threads. */
#ifndef RUN_PCANET_H
#define RUN_PCANET_H

#include "run/ridge.h"

typedef struct pcanet_fit {
  int64_t inputs, outputs, width; /* p, q, units of a hidden layer */
  double error;                   /* mean relative error on the validation samples */
} pcanet_fit;

/* Trains on the samples of r, chooses on `val`, and predicts the target for `count` samples into out (count × entries, physical units). */
dkho_status pcanet_predict(const ridge *r, int target, int64_t vals, const int64_t *val, int64_t count,
                           const int64_t *sample, float *out, pcanet_fit *fit);

/* The `count` leading eigenpairs of a positive semidefinite n × n matrix, descending, by subspace iteration; vectors n × count,
 * column-major, orthonormal. Accurate where the spectrum falls; elsewhere any basis of about the same space will do here. */
dkho_status pcanet_leading(int64_t n, const double *a, int64_t count, double *lambda, double *vector);

#endif
