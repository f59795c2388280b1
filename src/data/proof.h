/* proof.h: what a data set or a model file keeps beside its samples, checked against what it claims to be. */
#ifndef DATA_PROOF_H
#define DATA_PROOF_H

#include "base/st.h"
#include "mesh/cx.h"

/* Static fields enter a network as they are, in single precision: larger ones are refused. */
#define DATA_STATIC_MAX 1e18
/* The numbers of a static field (F64); the columns of a harmonic basis (F64 [n[k], count]): Δh = 0, orthonormal in the unit metric.
 */
dkho_status data_prove_static(const st_file *f, const st_tensor *t);
dkho_status data_prove_harmonic(const st_file *f, const st_tensor *t, const cx *c, int k);

#endif
