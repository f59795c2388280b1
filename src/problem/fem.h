/* fem.h: piecewise linear finite elements on the top simplices of a complex (triangles in the plane or on a surface,
 * tetrahedra), in double. */
#ifndef PROBLEM_FEM_H
#define PROBLEM_FEM_H

#include "la/la.h"
#include "mesh/cx.h"

/* ∇λ_j of simplex t, tangent to it: (dim+1) × gdim. */
void fem_gradients(const cx *c, int64_t t, double *grad);
/* S_ij = Σ_T |T| ∇λ_i·K_T ∇λ_j; K: N_top × gdim × gdim, or NULL for the identity. */
dkho_status fem_stiffness(csr *out, const cx *c, const double *K);
/* M_ij = ∫ λ_i λ_j = Σ_T |T| (1+δ_ij)/((dim+1)(dim+2)) */
dkho_status fem_mass(csr *out, const cx *c);
/* A_ij = -∫ λ_j v·∇λ_i, v linear on each simplex from vertex vectors (N_0 × gdim). Columns sum to zero, so M u' = -A u keeps
 * Σ M u. */
dkho_status fem_advection(csr *out, const cx *c, const double *v);
/* Tetrahedra: ∫ w_i·w_j of Whitney's fields of edges (line integral 1 along one edge, N1 × N1) and of faces (flux 1 through one, N2 × N2). */
dkho_status fem_edge_mass(csr *out, const cx *c);
dkho_status fem_face_mass(csr *out, const cx *c);

#endif
