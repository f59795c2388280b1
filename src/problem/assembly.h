/* assembly.h: sparse matrices summed from those of elements, many times on one pattern: where each entry of an element's matrix goes is found
 * once, and so is the order of elimination. What a matrix means is its problem's business. */
#ifndef PROBLEM_ASSEMBLY_H
#define PROBLEM_ASSEMBLY_H

#include "la/la.h"

/* What all matrices of a pattern share; threads may. */
typedef struct assembly {
  int64_t elements, n; /* matrices of local × local entries; n unknowns */
  int local;
  int32_t *place; /* elements × local²: index into a matrix's values; -1: nowhere */
  csr pattern;    /* n × n, values zero */
  chol *analysed; /* by assembly_analyse, else NULL */
} assembly;

/* unknown: elements × local, those of each element, -1 where a value is given; read here only. To be freed whether or not this succeeds. */
dkho_status assembly_make(assembly *a, int64_t elements, int local, int64_t n, const int32_t *unknown);
/* Makes it ready for assembled_open: the pattern is that of positive definite matrices. */
dkho_status assembly_analyse(assembly *a);
void assembly_free(assembly *a);

/* A zero matrix of the pattern, to be freed by csr_free. */
dkho_status assembly_matrix(csr *out, const assembly *a);
/* m ← m + K of one element, K: local × local, row-major. */
void assembly_add(const assembly *a, int64_t element, const double *K, csr *m);

/* One thread's positive definite matrix and its factor. */
typedef struct assembled {
  csr matrix;
  chol *factor;
  chol_work *work;
} assembled;
/* To be closed whether or not this succeeds. */
dkho_status assembled_open(assembled *m, const assembly *a);
void assembled_close(assembled *m);
void assembled_clear(assembled *m);
/* Factors the matrix, then x ← matrix⁻¹ b. DKHO_E_NOCONV: not positive definite. */
dkho_status assembled_solve(assembled *m, const double *b, double *x);

#endif
