/* chol_impl.h: CHOLMOD behind the sparse solvers, shared by the files of this floor alone. */
#ifndef LA_CHOL_IMPL_H
#define LA_CHOL_IMPL_H

#include "la/blas_impl.h"
#include "la/la.h"

#include <cholmod.h>

struct chol {
  cholmod_common common;
  cholmod_factor *factor; /* symbolic until the first numeric factorisation */
  int64_t n;
};

/* A common block as all of ours are: silent, L Lᵀ. */
void chol_start(cholmod_common *c);
/* The upper half of A by columns, which is its lower half by rows, as CHOLMOD's stype > 0 wants: freed by the caller; NULL: no memory. */
cholmod_sparse *chol_half(const csr *a, cholmod_common *c);
/* cholmod_analyze, one at a time. */
cholmod_factor *chol_analysis(cholmod_sparse *m, cholmod_common *c);

#endif
