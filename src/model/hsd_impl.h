/* hsd_impl.h: the spectral bases of the Hodge spectral network (hsd.c), found when it is recorded. */
#ifndef MODEL_HSD_IMPL_H
#define MODEL_HSD_IMPL_H

#include "model/model.h"

/* Φ_k: the `modes` eigenvectors of smallest eigenvalue of the combinatorial Laplacian L_k, kernel included, ascending, the entry of
 * largest modulus positive; or, normalised, of D^-½ L_k D^-½ with D its diagonal. Zero columns where a degree has fewer. Arrays are
 * the tape's. */
typedef struct hsd_bases {
  int modes;
  var basis[3];       /* Φ_k, [N_k × modes] */
  var gradient;       /* d_0ᵀ Φ_1, [N_0 × modes]: its coefficients of u are those of d_0 u in Φ_1 */
  var up[2], down[2]; /* for rows: c_k up[k] = M c_k and c_{k+1} down[k] = Mᵀ c_{k+1}, M = Φ_{k+1}ᵀ d_k Φ_k */
} hsd_bases;
dkho_status hsd_bases_make(hsd_bases *out, tape *t, const cx *c, int modes, int normalised);

#endif
