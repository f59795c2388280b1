"""Solves the subsonic problem again, from the stored mesh, depth, wind, circulations and Mach number, with SciPy alone, and compares.

u = wind + Σ Γ_j h_j + dφ, div(b ρ u) = 0, ρ = (1 + 0.2 M² (1 - |u|²))^2.5, φ = 0 on the outer square (label 1). The h_j have period 1 round
one post and no divergence: angles, corrected by a linear solve with natural conditions everywhere. Usage: oracle_subsonic.py FILE
[--samples N] [--tolerance T]; prints JSON, exit status 1 when a field differs by more than T.
"""
import numpy as np

import oracle
from oracle_lamination import angles, centres, on_triangles
from planar_fem import Sheet


def windings(mesh):
    """Cochains [3, N1] and vectors on triangles [3, N2, 2]."""
    sheet = Sheet(mesh, np.arange(len(mesh.x) - 1))
    cochain, vector = [], []
    for centre in centres(mesh):
        angle = angles(mesh, centre)
        start = on_triangles(sheet, angle)
        phi = sheet.solve(start, np.zeros(len(mesh.x)), lambda h: (h, np.ones_like(h)))
        cochain.append(angle + mesh.topo.d[0] @ phi)
        vector.append(sheet.field(start, phi))
    return np.array(cochain), np.array(vector)


def gas(depth, M):
    """Mass flux and its derivative by the speed; the solution stays below the speed of sound."""
    def law(h):
        T = np.maximum(1 + 0.2 * M**2 * (1 - h**2), 1e-3)
        return depth * T**2.5 * h, depth * T**1.5 * (T - M**2 * h**2)
    return law


def main():
    source, mesh, samples, tolerance = oracle.arguments(__doc__)
    sheet = Sheet(mesh, np.flatnonzero(np.asarray(mesh.label[0]) != 1))
    cochain, vector = windings(mesh)
    tail, head = mesh.topo.vert[1].T
    found = {"u": [], "mach": []}
    arrays = [source.array(name)[:samples] for name in ("depth", "wind", "circulation", "stream")]
    for depth, wind, circulation, (M,) in zip(*arrays):
        start = wind + np.tensordot(circulation, vector, 1)
        phi = np.zeros(len(mesh.x))
        for share in (0.5, 0.8, 1):
            phi = sheet.solve(start, phi, gas(depth[sheet.faces, 0].mean(axis=1), share * M))
        h2 = (sheet.field(start, phi)**2).sum(axis=1)
        found["u"].append((mesh.x[head] - mesh.x[tail]) @ wind + circulation @ cochain + mesh.topo.d[0] @ phi)
        found["mach"].append(M * np.sqrt(h2 / (1 + 0.2 * M**2 * (1 - h2))))
    oracle.compare(source, {name: np.array(v)[..., None] for name, v in found.items()}, tolerance)


if __name__ == "__main__":
    main()
