/* alignment.h: whether two nonnegative scores on the simplices of one degree are large at the same places: smoothing, overlap of
 * their top fractions, enrichment, rank correlation, and the choice of instances to show. Arrays alone, no model. */
#ifndef RUN_ALIGNMENT_H
#define RUN_ALIGNMENT_H

#include "la/la.h"
#include "mesh/cx.h"

/* S = D⁻¹(A + I), D the row sums. A: simplices of degree k by common faces, |d||d|ᵀ, plus by common cofaces, |d|ᵀ|d|, as far
 * as there are such; products of incidence matrices, so A has a diagonal of its own (3 for triangles, the valence for
 * vertices) unless zero_diagonal takes it out. */
dkho_status align_smoother(csr *s, const cx *c, int degree, int zero_diagonal);

/* The value at fraction `at` of n values, linear between order statistics. scratch: n doubles. */
double align_quantile(int64_t n, const double *v, double at, double *scratch);
/* Average ranks of ties, 1 … n. order: n indices of scratch. */
void align_ranks(int64_t n, const double *v, double *rank, int64_t *order);

typedef struct alignment {
  double dice, lift, enrichment, rho;
  double permuted_dice, permuted_enrichment; /* the same after permuting the first score */
  double contrast, peak, variation;          /* of the second score: how much there is to see */
  double error;                              /* of the prediction; set by the caller */
} alignment;

typedef struct align_work {
  double *value[3]; /* n each */
  uint8_t *mask[2];
  int64_t *order, *permutation; /* permutation: given by the caller */
} align_work;
dkho_status align_work_take(align_work *w, arena *mem, int64_t n);

/* Smooths both scores in place, two rounds, and compares their top fractions q. */
void align_compare(const csr *smoother, double q, double *phase, double *pde, align_work *w, alignment *out);

/* Mean and population deviation over instances. */
typedef struct align_summary {
  double rho[2], dice[2], lift[2], enrichment[2];
  double permuted_dice, permuted_enrichment, above_chance;
} align_summary;
void align_summarise(int64_t count, const alignment *a, double q, align_summary *out);

/* The best instances to show, best first: among the 40 % most accurate, those with enough to see, by a weighted sum of
 * percentile ranks. Gives how many (at most `wanted`). */
dkho_status align_cases(int64_t count, const alignment *a, int wanted, int64_t *chosen, int *found);

#endif
