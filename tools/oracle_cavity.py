"""Computes the cavity benchmark's targets again from the stored tetrahedra and nodal sources, with SciPy alone, and compares.

The response is synthetic: the gradient of a potential solve plus fields of the source's first two moments, tapered, softly clamped
and normalised per sample. Usage: oracle_cavity.py FILE [--samples N] [--tolerance T]; prints JSON, exit status 1 when the target
differs by more than T (relative l2 per sample; by default 1e-8 for fields stored in double, 2e-6 in float).
"""
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import oracle

INNER, OUTER = 0.4, 2.0


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def elements(x, tets):
    """Volumes [N3] and gradients of the barycentric coordinates [N3, 4, 3]."""
    edges = x[tets[:, 1:]] - x[tets[:, :1]]
    inverse = np.linalg.inv(edges)
    grad = np.swapaxes(inverse, 1, 2)
    return abs(np.linalg.det(edges)) / 6, np.concatenate([-grad.sum(axis=1, keepdims=True), grad], axis=1)


def assemble(tets, local, n):
    rows = np.repeat(tets, 4, axis=1).ravel()
    cols = np.tile(tets, (1, 4)).ravel()
    return sp.csr_matrix((local.ravel(), (rows, cols)), shape=(n, n))


def local_response(x, tets, source):
    """Volume-weighted nodal mean of +∇φ, (K + 1e-8 I) φ = M X, φ = 0 where r > 1.6: [S, N0, 3]."""
    n, (volume, grad) = len(x), elements(x, tets)
    stiff = assemble(tets, np.einsum("tai,tbi,t->tab", grad, grad, volume), n) + 1e-8 * sp.identity(n)
    mass = assemble(tets, volume[:, None, None] / 20 * (np.ones((4, 4)) + np.eye(4)), n)
    free = np.flatnonzero(np.linalg.norm(x, axis=1) <= 0.8 * OUTER)
    phi = np.zeros_like(source)
    phi[:, free] = spla.splu(stiff.tocsr()[free][:, free].tocsc()).solve((mass @ source.T)[free]).T
    slope = np.einsum("tai,sta->sti", grad, phi[:, tets])
    touch = sp.csr_matrix((np.repeat(volume, 4), (tets.ravel(), np.repeat(np.arange(len(tets)), 4))), shape=(n, len(tets)))
    weight = np.asarray(touch.sum(axis=1)).ravel()
    return np.stack([(touch @ slope[..., i].T).T / weight for i in range(3)], -1)


def global_response(x, tets, source):
    """Q h + 0.3 D(p) with the true first moment p of the source: [S, N0, 3]."""
    volume, _ = elements(x, tets)
    mean, centre = source[:, tets].mean(axis=2), x[tets].mean(axis=1)
    charge = mean @ volume
    dipole = np.einsum("st,t,ti->si", mean, volume, centre)
    r = np.linalg.norm(x, axis=1)
    unit = x / r[:, None]
    h = unit / r[:, None] ** 2
    h = h / np.linalg.norm(h, axis=1)[(r > 0.48) & (r < 1.8)].mean()
    h = h * (sigmoid(15 * (r - INNER - 0.04)) * sigmoid(10 * (1.8 - r)))[:, None]
    along = np.einsum("si,ni->sn", dipole, unit)
    field = (3 * along[..., None] * unit - dipole[:, None, :]) * (sigmoid(20 * (r - INNER - 0.05)) / r ** 3)[:, None]
    return charge[:, None, None] * h + 0.3 * field


def solve(x, tets, source):
    y = 0.5 * local_response(x, tets, source) + 0.8 * global_response(x, tets, source)
    r = np.linalg.norm(x, axis=1)
    y = y * (sigmoid(25 * (r - INNER - 0.03)) * sigmoid(15 * (OUTER - r - 0.1)))[:, None]
    size = np.linalg.norm(y, axis=2, keepdims=True)
    bound = 5 * np.maximum(size.mean(axis=1, keepdims=True), 1e-8)
    y = y * np.tanh(size / bound) * bound / (size + 1e-8)
    return y / np.maximum(np.linalg.norm(y, axis=2, keepdims=True).max(axis=1, keepdims=True), 1e-10)


def main():
    stored, mesh, samples, tolerance = oracle.arguments(__doc__)
    source = stored.field("source")[:samples, :, 0]
    oracle.compare(stored, {"response": solve(mesh.x, mesh.topo.vert[3], source)}, tolerance)


if __name__ == "__main__":
    main()
