"""Solves the Darcy benchmark again, from the stored mesh, permeability, source and hole values, with SciPy alone, and compares.

-∇·(K∇p) = f with linear elements, p = 0 on the outer square (label 1), p = g_j on hole j (label 1 + j); edge flux q1 and face
circulation w2 = d1 q1 follow from p. Usage: oracle_darcy.py FILE [--samples N] [--tolerance T]; prints JSON, exit status 1 when a
field differs by more than T (relative l2 per sample; by default 1e-8 for fields stored in double, 2e-6 in float).
"""
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import oracle


def gradients(x, faces):
    """Areas [N2] and gradients of the barycentric coordinates [N2, 3, 2]."""
    p = x[faces]
    opposite = np.stack([p[:, 2] - p[:, 1], p[:, 0] - p[:, 2], p[:, 1] - p[:, 0]], axis=1)
    u, v = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    double = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    turned = np.stack([-opposite[..., 1], opposite[..., 0]], axis=-1)
    return double / 2, turned / double[:, None, None]


def assemble(faces, local, n):
    rows = np.repeat(faces, 3, axis=1).ravel()
    cols = np.tile(faces, (1, 3)).ravel()
    return sp.csr_matrix((local.ravel(), (rows, cols)), shape=(n, n))


def solve(mesh, k_face, f, g):
    """Fields (p0, q1, w2) of every sample; f [S, N0], g [S, holes]."""
    x, faces, n = mesh.x, mesh.topo.vert[2], len(mesh.x)
    area, grad = gradients(x, faces)
    tensor = k_face.reshape(-1, 2, 2)
    stiff = assemble(faces, np.einsum("fai,fij,fbj,f->fab", grad, tensor, grad, area), n)
    mass = assemble(faces, area[:, None, None] / 12 * (np.ones((3, 3)) + np.eye(3)), n)
    inside, fixed = np.flatnonzero(mesh.label[0] == 0), np.flatnonzero(mesh.label[0] > 0)
    factor = spla.splu(stiff[inside][:, inside].tocsc())
    p = np.zeros_like(f)
    for hole in range(g.shape[1]):
        p[:, mesh.label[0] == 2 + hole] = g[:, hole:hole + 1]
    load = mass @ f.T - stiff[:, fixed] @ p[:, fixed].T
    p[:, inside] = factor.solve(load[inside]).T
    flow = -np.einsum("fij,fvj,sfv->sfi", tensor, grad, p[:, faces])
    touch = abs(mesh.topo.d[1]).T @ sp.diags(area)
    mean = np.stack([(touch @ flow[..., i].T).T for i in (0, 1)], -1) / np.asarray(touch.sum(axis=1)).ravel()[None, :, None]
    tail, head = mesh.topo.vert[1].T
    q = np.einsum("sei,ei->se", mean, x[head] - x[tail])
    return {"p0": p, "q1": q, "w2": (mesh.topo.d[1] @ q.T).T}


def main():
    source, mesh, samples, tolerance = oracle.arguments(__doc__)
    f = source.field("f")[:samples, :, 0]
    g = source.field("g")[:samples]
    found = solve(mesh, source.static("K"), f, g)
    oracle.compare(source, {name: v[..., None] for name, v in found.items()}, tolerance)


if __name__ == "__main__":
    main()
