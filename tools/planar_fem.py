"""Linear elements on planar triangles with a nonlinear law, for the oracles of lamination, ironloss, wells and subsonic: SciPy alone, assembled all
triangles at a time, none of the library's code.

The unknown φ makes u = u₀ + ∇φ, constant on triangles, stationary for Σ |T| W(|u|); flux(h) and its derivative by h say the law.
"""
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla


def gradients(x, faces):
    """Areas [N2] and gradients of the barycentric coordinates [N2, 3, 2]."""
    p = x[faces]
    opposite = np.stack([p[:, 2] - p[:, 1], p[:, 0] - p[:, 2], p[:, 1] - p[:, 0]], axis=1)
    u, v = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    double = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    turned = np.stack([-opposite[..., 1], opposite[..., 0]], axis=-1)
    return double / 2, turned / double[:, None, None]


class Sheet:
    """mesh and the vertices where φ is free."""

    def __init__(self, mesh, free):
        self.mesh, self.free = mesh, free
        self.faces, self.n = mesh.topo.vert[2], len(mesh.x)
        self.area, self.grad = gradients(mesh.x, self.faces)

    def field(self, start, phi):
        return start + np.einsum("fv,fvi->fi", phi[self.faces], self.grad)

    def residual(self, start, phi, law):
        u = self.field(start, phi)
        h = np.maximum(np.linalg.norm(u, axis=1), 1e-300)
        flux, slope = law(h)
        nu, unit = flux / h, u / h[:, None]
        local = self.area[:, None] * nu[:, None] * np.einsum("fvi,fi->fv", self.grad, u)
        F = np.bincount(self.faces.ravel(), local.ravel(), self.n)
        tensor = nu[:, None, None] * np.eye(2) + (slope - nu)[:, None, None] * np.einsum("fi,fj->fij", unit, unit)
        return F, tensor, np.linalg.norm(local)

    def solve(self, start, phi, law):
        """Newton's method, steps halved until the residual shrinks, to the rounding errors of F."""
        phi = phi.copy()
        rows, cols = np.repeat(self.faces, 3, axis=1).ravel(), np.tile(self.faces, (1, 3)).ravel()
        F, tensor, size = self.residual(start, phi, law)
        for _ in range(60):
            if np.linalg.norm(F[self.free]) <= 1e-13 * size:
                break
            local = np.einsum("fai,fij,fbj,f->fab", self.grad, tensor, self.grad, self.area)
            K = sp.csc_matrix((local.ravel(), (rows, cols)), shape=(self.n, self.n))[self.free][:, self.free]
            step = spla.spsolve(K.tocsc(), F[self.free])
            for halving in range(40):
                trial = phi.copy()
                trial[self.free] -= 0.5**halving * step
                fresh = self.residual(start, trial, law)
                if np.linalg.norm(fresh[0][self.free]) < np.linalg.norm(F[self.free]):
                    break
            else:
                break
            phi, (F, tensor, _) = trial, fresh
        assert np.linalg.norm(F[self.free]) <= 1e-10 * size, "the oracle's own iteration failed"
        return phi

    def line_integrals(self, vector):
        """Along edges, of the area-weighted mean over the triangles of an edge."""
        touch = abs(self.mesh.topo.d[1]).T @ sp.diags(self.area)
        mean = (touch @ vector) / np.asarray(touch.sum(axis=1))
        tail, head = self.mesh.topo.vert[1].T
        return np.einsum("ei,ei->e", mean, self.mesh.x[head] - self.mesh.x[tail])
