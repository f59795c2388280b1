/* proof.h: bases from files, proved before they are believed. */
#ifndef DEC_PROOF_H
#define DEC_PROOF_H

#include "base/st.h"
#include "dec/dec.h"

/* Whether the columns are M-orthonormal eigenvectors of Δ_k for ascending λ (zero in a harmonic basis, lambda NULL); the error names
 * the file that they came from and the tensor. */
dkho_status dec_basis_prove(const dec *d, const st_file *f, const char *name, int k, const dec_basis *b);

#endif
