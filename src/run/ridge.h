/* ridge.h: regression with an L2 penalty from the raw inputs of a sample to a target, in its dual form: linear, quadratic, or by a
 * Matérn kernel.
 *
 * x_s: all input fields and globals of sample s, each by its own scaling and by the root of its number of entries (so that a few
 * globals count as much as a whole cochain), less the training mean; y_s: the target less its training mean. With K (n × n) the kernel of
 * the training samples the prediction is ŷ = ȳ + k(x)ᵀ (K + λI)⁻¹ Y: the memory is n² doubles however large
 * the mesh is, and targets are read in blocks of columns. Knows data sets on one complex only.
 *
 * Kernels, of u = ⟨x, x'⟩ / s and r² = ‖x - x'‖² / (s ℓ²), s the mean of ‖x_s‖²: all of them need the inner products alone.
 *   linear     ⟨x, x'⟩
 *   quadratic  u + ℓ u²: the inputs and all products of two of them
 *   matern     (1 + √5 r + 5 r²/3) exp(-√5 r) */
#ifndef RUN_RIDGE_H
#define RUN_RIDGE_H

#include "base/pool.h"
#include "data/dataset.h"

typedef struct ridge { /* to be read only */
  const dataset *d;
  int64_t trains, inputs; /* training samples; length of x */
  const int64_t *train;
  pool *threads;
  double *mean; /* inputs */
  double *gram; /* trains × trains: inner products */
  double unit;  /* the mean of its diagonal */
} ridge;
/* The Gram matrix of the training samples. The data set, the list and the pool (NULL: this thread) are borrowed. */
dkho_status ridge_create(ridge **out, const dataset *d, int64_t trains, const int64_t *train, pool *threads);
void ridge_free(ridge *r);

/* What else can be had from inner products. inner ← ⟨x_train, x_sample⟩ (trains × count, column-major) and norm ← ‖x_sample‖² (count),
 * of the inputs (target -1) or of a target, less the training mean; sample may be r->train. */
dkho_status ridge_inner(const ridge *r, int target, int64_t count, const int64_t *sample, double *inner, double *norm);
/* ŷ = ȳ + Wᵀ(Y - ȳ) into out (count × entries): the training targets combined with weights W, trains × count. */
dkho_status ridge_combine(const ridge *r, int target, const double *weight, int64_t count, float *out);

typedef enum { RIDGE_LINEAR, RIDGE_QUADRATIC, RIDGE_MATERN, RIDGE_KERNELS } ridge_kernel;
typedef struct ridge_fit {
  ridge_kernel kernel;
  double length; /* ℓ */
  double lambda;
  double error; /* mean relative error on the samples by which it was chosen */
} ridge_fit;
/* Predictions of the target field for `count` samples into out (count × entries, physical units). DKHO_E_NOCONV when the
 * penalty is too small for K + λI to be positive definite in double. */
dkho_status ridge_predict(const ridge *r, int target, const ridge_fit *fit, int64_t count, const int64_t *sample,
                          float *out);

/* The ℓ of the kernel's few and the λ = tr(K)/n · 10^(RIDGE_TOP - e), e = 0 … RIDGE_GRID-1 (every second one where ℓ is chosen too), with
 * the least mean relative error on these samples (at most RIDGE_VAL of them are looked at). */
enum { RIDGE_TOP = 2, RIDGE_GRID = 14, RIDGE_VAL = 128 };
dkho_status ridge_choose(const ridge *r, int target, ridge_kernel kernel, int64_t count, const int64_t *sample,
                         ridge_fit *fit);

#endif
