"""Solves the wells problem again, from the stored mesh, permeability and pressures, with SciPy alone, and compares.

q/k + ½|q|q/√k = -∇p, ∇·q = 0, p = 0 on the outer square (label 1), given on the rims (labels 2, 3, …). Usage: oracle_wells.py FILE
[--samples N] [--tolerance T]; prints JSON, exit status 1 when a field differs by more than T.
"""
import numpy as np

import oracle
from planar_fem import Sheet


def main():
    source, mesh, samples, tolerance = oracle.arguments(__doc__)
    label = np.asarray(mesh.label[0])
    sheet = Sheet(mesh, np.flatnonzero(label == 0))
    found = {"p": [], "q": []}
    for logk, rim in zip(source.array("logk")[:samples, :, 0], source.array("pressure")[:samples]):
        a = np.exp(-logk[sheet.faces].mean(axis=1))
        b = 0.5 * np.sqrt(a)
        flux = lambda h: (np.sqrt(a * a + 4 * b * h) - a) / (2 * b)
        law = lambda h: (2 * h / (a + np.sqrt(a * a + 4 * b * h)), 1 / np.sqrt(a * a + 4 * b * h))
        p = np.concatenate([[0, 0], rim])[label]
        p = sheet.solve(0, p, law)
        u = sheet.field(0, p)
        h = np.maximum(np.linalg.norm(u, axis=1), 1e-300)  # a triangle may have all its corners on the square
        found["p"].append(p)
        found["q"].append(sheet.line_integrals(-(flux(h) / h)[:, None] * u))
    oracle.compare(source, {name: np.array(v)[..., None] for name, v in found.items()}, tolerance)


if __name__ == "__main__":
    main()
