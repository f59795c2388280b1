/* dec_impl.h: what the files of dec share. Private to dec.
 *
 * Numerical work is done in symmetrised coordinates x = M_k^{1/2} u, where the inner product is Euclidean,
 * d_k becomes D_k = M_{k+1}^{1/2} d_k M_k^{-1/2}, and δ_{k+1} becomes D_kᵀ. */
#ifndef DEC_DEC_IMPL_H
#define DEC_DEC_IMPL_H

#include "dec/dec.h"

dkho_status dec_symmetric_d(const dec *d, int k, csr *out); /* D_k: n[k+1] × n[k], 0 ≤ k < dim */
void dec_to_symmetric(const dec *d, int k, const double *u, double *x);
void dec_from_symmetric(const dec *d, int k, const double *x, double *u);
/* Turns v so that its entry of largest modulus is positive; entries within 1e-9 of it tie, the first one decides. */
void dec_fix_sign(int64_t n, double *v);

/* Kernel of a sparse ±1 matrix modulo a prime. Equations are rows; row r has the unknowns idx[p] with coefficients
 * sign[p] for p = ptr[r] … ptr[r+1]-1 (ptr NULL: width unknowns each). Skipped rows say nothing, skipped unknowns are
 * zero. */
typedef struct elim_matrix {
  int64_t rows, cols;
  const int64_t *ptr;
  int width;
  const int32_t *idx;
  const int8_t *sign;
  const uint8_t *skip_row, *skip_col; /* NULL: none */
} elim_matrix;
typedef struct elim {
  int64_t nullity;
  int32_t *free_col;  /* nullity unknowns that no equation determines, ascending */
  uint8_t *pivot_row; /* rows, 1: independent equation chosen as pivot */
  struct elim_state *state;
  arena mem;
} elim;
enum { ELIM_PRIME = 2147483647, ELIM_PRIME_2 = 2147483629 };
dkho_status elim_run(elim **out, const elim_matrix *m, uint32_t prime);
void elim_free(elim *e);
/* The rational kernel vector whose free unknown number f is 1 and whose other free unknowns are 0 (cols entries). */
dkho_status elim_kernel(const elim *e, int64_t f, double *x);

/* One representative space per degree: for k ≤ 1 closed cochains modulo exact ones, for k ≥ 2 cycles modulo boundaries;
 * the nullity is β_k. relative: simplices of the boundary left out. */
typedef struct classes {
  elim *of[CX_DEGREES]; /* NULL where not computed */
} classes;
enum { CLASSES_ALL = -1 };
dkho_status classes_find(classes *out, const cx *c, int k, int relative, uint32_t prime); /* of[k], or all */
void classes_free(classes *s);

/* Orthogonal projector onto im D_0 ⊂ C^1 (through potentials on vertices) or onto im D_{dim-1}ᵀ ⊂ C^{dim-1} (through
 * potentials on the top simplices). These two sides have sparse, well-behaved Laplacians; every other part follows by
 * subtraction. */
typedef struct part {
  csr down, up; /* C^k → potentials, potentials → C^k */
  chol *factor;
  chol_work *work;
  double *rest, *potential, *step;
} part;
typedef enum { PART_EXACT_1, PART_COEXACT_TOP } part_kind;
/* kernel: the classes of degree 0 or dim, NULL to have them found. */
dkho_status part_open(part *p, const dec *d, part_kind kind, const elim *kernel);
void part_close(part *p);
dkho_status part_project(part *p, const double *x, double *out); /* out = Π x; out may not be x */

/* Harmonic basis in symmetrised coordinates; vec is orthonormal. */
dkho_status harmonic_symmetric(const dec *d, int k, dec_basis *out);
void harmonic_remove(const dec_basis *h, double *x); /* x ← x - H Hᵀ x */

#endif
