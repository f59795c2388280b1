/* ridge.h: linear regression with an L2 penalty from the raw inputs of a sample to a target, in its dual form.
 *
 * x_s: all input fields and globals of sample s, each by its own scaling and by the root of its number of entries (so that a few
 * globals count as much as a whole cochain), less the training mean; y_s: the target less its training mean. With K = X Xᵀ (n × n) the prediction is ŷ = ȳ + k(x)ᵀ (K + λI)⁻¹ Y: the memory is n² doubles however large
 * the mesh is, and targets are read in blocks of columns. Knows data sets on one complex only. */
#ifndef RUN_RIDGE_H
#define RUN_RIDGE_H

#include "base/pool.h"
#include "data/dataset.h"

typedef struct ridge ridge;
/* The Gram matrix of the training samples. The data set, the list and the pool (NULL: this thread) are borrowed. */
dkho_status ridge_create(ridge **out, const dataset *d, int64_t trains, const int64_t *train, pool *threads);
void ridge_free(ridge *r);
int64_t ridge_inputs(const ridge *r); /* length of x */

/* Predictions of the target field for `count` samples into out (count × entries, physical units). DKHO_E_NOCONV when the
 * penalty is too small for K + λI to be positive definite in double. */
dkho_status ridge_predict(const ridge *r, int target, double lambda, int64_t count, const int64_t *sample, float *out);

/* The λ = tr(K)/n · 10^(RIDGE_TOP - e), e = 0 … RIDGE_GRID-1, with the least mean relative error on these samples (at most RIDGE_VAL of
 * them are looked at); error may be NULL. */
enum { RIDGE_TOP = 2, RIDGE_GRID = 14, RIDGE_VAL = 128 };
dkho_status ridge_choose(const ridge *r, int target, int64_t count, const int64_t *sample, double *lambda,
                         double *error);

#endif
