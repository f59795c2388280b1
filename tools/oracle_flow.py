"""Solves the flow problem again, from the stored mesh, stirring, speeds and Reynolds number, with SciPy alone, and compares.

Re (u·∇)u + ∇p - Δu = curl ψ, ∇·u = 0 with Taylor–Hood elements, all triangles assembled at a time with a product rule of Gauss points (the
library has another); walls of the holes (labels 2, 3, …) turn. Newton's method from rest by way of growing Reynolds numbers, every step
solved by SciPy. Usage: oracle_flow.py FILE [--samples N] [--tolerance T]; prints JSON, exit status 1 when a field differs by more than T.
"""
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import oracle
from oracle_lamination import circle
from planar_fem import gradients


def quadrature(points=5):
    """Barycentric points [Q, 3] and weights that add up to 1, exact to degree 2·points - 2."""
    x, w = np.polynomial.legendre.leggauss(points)
    x, w = (x + 1) / 2, w / 2
    a, b = np.meshgrid(x, x, indexing="ij")
    weight = np.outer(w, w) * (1 - a) * 2
    second = b * (1 - a)
    return np.stack([1 - a - second, a, second], -1).reshape(-1, 3), weight.ravel()


class TaylorHood:
    def __init__(self, mesh):
        self.mesh, self.n = mesh, len(mesh.x)
        faces = mesh.topo.vert[2]
        edge = {tuple(e): i for i, e in enumerate(mesh.topo.vert[1])}
        middle = [[self.n + edge[tuple(sorted((f[a], f[b])))] for a, b in ((1, 2), (2, 0), (0, 1))] for f in faces]
        self.node = np.hstack([faces, np.array(middle)])
        self.nodes = self.n + len(mesh.topo.vert[1])
        self.area, grad = gradients(mesh.x, faces)
        bary, self.weight = quadrature()
        # functions [Q, 6], gradients [F, Q, 6, 2]
        other = [(1, 2), (2, 0), (0, 1)]
        self.shape = np.stack([l * (2 * l - 1) for l in bary.T] + [4 * bary[:, a] * bary[:, b] for a, b in other], -1)
        corner = [np.einsum("q,fi->fqi", 4 * bary[:, i] - 1, grad[:, i]) for i in range(3)]
        mid = [4 * (np.einsum("q,fi->fqi", bary[:, a], grad[:, b]) + np.einsum("q,fi->fqi", bary[:, b], grad[:, a])) for a, b in other]
        self.dshape = np.stack(corner + mid, axis=2)
        self.bary = bary
        self.faces = faces
        boundary = np.asarray(abs(mesh.topo.d[1]).sum(axis=0)).ravel() == 1
        given = np.zeros(self.nodes, bool)
        given[mesh.topo.vert[1][boundary].ravel()] = True
        given[self.n:][boundary] = True
        free = np.concatenate([~given, ~given, np.ones(self.n, bool)])
        free[2 * self.nodes] = False  # one pressure is held; the mean is taken out in the end
        self.free, self.given, self.boundary = np.flatnonzero(free), given, boundary
        self.local = np.hstack([self.node, self.nodes + self.node, 2 * self.nodes + faces])

    def assemble(self, z, psi, reynolds):
        """Residual and Jacobian of the unknowns z = (u_x, u_y, p)."""
        u = np.stack([z[self.node], z[self.nodes + self.node]], -1)  # [F, 6, 2]
        value = np.einsum("qa,fai->fqi", self.shape, u)
        slope = np.einsum("fqaj,fai->fqij", self.dshape, u)  # ∂u_i/∂x_j
        p = np.einsum("qa,fa->fq", self.bary, z[2 * self.nodes + self.faces])
        stir = np.einsum("qa,fa->fq", self.bary, psi[self.faces])
        w = np.einsum("f,q->fq", self.area, self.weight)
        carried = np.einsum("fqij,fqj->fqi", slope, value)
        drive = np.einsum("fqaj,fqj->fqa", self.dshape, value)
        momentum = np.einsum("fq,fqaj,fqij->fia", w, self.dshape, slope) + reynolds * np.einsum("fq,qa,fqi->fia", w, self.shape, carried)
        momentum -= np.einsum("fq,fqai,fq->fia", w, self.dshape, p)
        momentum[:, 0] += np.einsum("fq,fqa,fq->fa", w, self.dshape[..., 1], stir)
        momentum[:, 1] -= np.einsum("fq,fqa,fq->fa", w, self.dshape[..., 0], stir)
        mass = -np.einsum("fq,qa,fqii->fa", w, self.bary, slope)
        F = np.bincount(self.local.ravel(), np.hstack([momentum[:, 0], momentum[:, 1], mass]).ravel(), 2 * self.nodes + self.n)
        same = np.einsum("fq,fqaj,fqbj->fab", w, self.dshape, self.dshape) + reynolds * np.einsum("fq,qa,fqb->fab", w, self.shape, drive)
        mixed = reynolds * np.einsum("fq,qa,qb,fqij->fijab", w, self.shape, self.shape, slope)
        press = -np.einsum("fq,fqai,qb->fiab", w, self.dshape, self.bary)
        zero = np.zeros((len(self.faces), 3, 3))
        K = np.block([[same + mixed[:, 0, 0], mixed[:, 0, 1], press[:, 0]],
                      [mixed[:, 1, 0], same + mixed[:, 1, 1], press[:, 1]],
                      [press[:, 0].swapaxes(1, 2), press[:, 1].swapaxes(1, 2), zero]])
        rows = np.repeat(self.local, self.local.shape[1], axis=1).ravel()
        cols = np.tile(self.local, (1, self.local.shape[1])).ravel()
        J = sp.csc_matrix((K.ravel(), (rows, cols)), shape=(len(F), len(F)))
        return F[self.free], J[self.free][:, self.free]

    def walls(self, speed):
        """u on the boundary, zero inside."""
        u = np.zeros((self.nodes, 2))
        label = np.asarray(self.mesh.label[0])
        for j, s in enumerate(speed):
            rim = np.flatnonzero(label == 2 + j)
            arm = self.mesh.x[rim] - circle(self.mesh.x[rim])
            u[rim] = s * np.column_stack([-arm[:, 1], arm[:, 0]]) / np.linalg.norm(arm, axis=1)[:, None]
        ends = self.mesh.topo.vert[1][self.boundary]
        u[self.n:][self.boundary] = u[ends].mean(axis=1)
        return u

    def solve(self, psi, speed, reynolds):
        u = self.walls(speed)
        z = np.concatenate([u[:, 0], u[:, 1], np.zeros(self.n)])
        for share in (0, 0.25, 0.5, 1):
            for _ in range(30):
                F, J = self.assemble(z, psi, share * reynolds)
                step = spla.spsolve(J, F)
                z[self.free] -= step
                if np.linalg.norm(step) <= 1e-13 * np.linalg.norm(z):
                    break
        assert np.linalg.norm(step) <= 1e-9 * np.linalg.norm(z), "the oracle's own iteration failed"
        lumped = np.bincount(self.faces.ravel(), np.repeat(self.area / 3, 3), self.n)
        p = z[2 * self.nodes:] - lumped @ z[2 * self.nodes:] / lumped.sum()
        return z[:2 * self.nodes].reshape(2, -1).T, p

    def line_integrals(self, u):
        tail, head = self.mesh.topo.vert[1].T
        mean = (u[tail] + 4 * u[self.n:] + u[head]) / 6
        return (mean * (self.mesh.x[head] - self.mesh.x[tail])).sum(axis=1)

    def fluxes(self, u):
        """Through edges, along their tangents turned by -90 degrees, by three Gauss points."""
        tail, head = self.mesh.topo.vert[1].T
        x, w = np.polynomial.legendre.leggauss(3)
        along = self.mesh.x[head] - self.mesh.x[tail]
        out = 0
        for s, weight in zip((1 + x) / 2, w / 2):
            at = (1 - s) * (1 - 2 * s) * u[tail] + 4 * s * (1 - s) * u[self.n:] + s * (2 * s - 1) * u[head]
            out = out + weight * (at[:, 0] * along[:, 1] - at[:, 1] * along[:, 0])
        return out


def main():
    source, mesh, samples, tolerance = oracle.arguments(__doc__)
    elements = TaylorHood(mesh)
    found = {"u": [], "w": [], "p": [], "flux": []}
    for psi, speed, reynolds in zip(source.array("psi")[:samples, :, 0], source.array("speed")[:samples], source.array("reynolds")[:samples, 0]):
        u, p = elements.solve(psi, speed, reynolds)
        edge = elements.line_integrals(u)
        found["u"].append(edge)
        found["w"].append(mesh.topo.d[1] @ edge)
        found["p"].append(p)
        found["flux"].append(elements.fluxes(u))
    oracle.compare(source, {name: np.array(v)[..., None] for name, v in found.items()}, tolerance)


if __name__ == "__main__":
    main()
