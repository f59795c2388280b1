"""Temperatures of a cold plate, by linear finite elements and Newton's method. Reads plate.msh, writes k.npy, q.npy, channels.npy, T.npy and
spec.json; knows nothing of dkho.

    -div(k grad T) + 0.3 ((1 + T)^4 - 1) = q        T = channels[j] on coolant channel j, no heat through the outer rim

T: temperature above the surroundings, which are at 1; k: conductivity of every triangle, 1 or 0.05 (a random pattern of pores); q: power
of every triangle (three chips, each with its own place and power); the second term is radiation. Usage: python3 solve.py [samples]
"""
import json
import sys
import time

import meshio
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 800
mesh = meshio.read("plate.msh")
x = mesh.points[:, :2]
triangles = mesh.cells_dict["triangle"]
lines, tags = mesh.cells_dict["line"], mesh.cell_data_dict["gmsh:physical"]["line"]
channel = [np.unique(lines[tags == mesh.field_data[f"channel{j}"][0]]) for j in (1, 2)]
free = np.setdiff1d(np.unique(triangles), np.concatenate(channel))

# Element matrices: stiffness for unit conductivity, and the lumped area of every vertex.
a, b, c = (x[triangles[:, j]] for j in range(3))
side = np.stack([c - b, a - c, b - a], axis=1)
area = 0.5 * np.abs(side[:, 2, 0] * side[:, 1, 1] - side[:, 2, 1] * side[:, 1, 0])
stiff = np.einsum("fai,fbi->fab", side, side) / (4 * area)[:, None, None]
rows, cols = np.repeat(triangles, 3, axis=1).ravel(), np.tile(triangles, 3).ravel()
middle = (a + b + c) / 3


def lump(value):
    """∫ value φ_i for one value per triangle."""
    return np.bincount(triangles.ravel(), np.repeat(value * area / 3, 3), len(x))


lumped = lump(np.ones(len(triangles)))


def solve(k, q, wall):
    T = np.zeros(len(x))
    for nodes, value in zip(channel, wall):
        T[nodes] = value
    A = sp.csr_matrix(((k[:, None, None] * stiff).ravel(), (rows, cols)), shape=(len(x), len(x)))
    load = lump(q)
    for _ in range(50):
        residual = A @ T + lumped * 0.3 * ((1 + T)**4 - 1) - load
        step = sla.spsolve((A + sp.diags(lumped * 1.2 * (1 + T)**3))[free][:, free].tocsc(), residual[free])
        T[free] -= step
        if np.abs(step).max() < 1e-10:
            return T
    raise RuntimeError("Newton's method did not converge")


def pores(random):
    """Waves of random direction and phase, cut at a level: about a third of the plate is porous."""
    waves, phase = random.normal(0, 9, (24, 2)), random.uniform(0, 2 * np.pi, 24)
    field = np.cos(middle @ waves.T + phase).sum(axis=1)
    return np.where(field > np.quantile(field, 0.67), 0.05, 1.0)


def chips(random):
    """Power of three chips."""
    q = np.zeros(len(triangles))
    for _ in range(3):
        at, power = random.uniform([0.1, 0.1], [1.5, 0.9]), random.uniform(2, 20)
        q[(np.abs(middle - at) < [0.12, 0.1]).all(axis=1)] += power
    return q


random = np.random.default_rng(1)
k = np.array([pores(random) for _ in range(SAMPLES)])
q = np.array([chips(random) for _ in range(SAMPLES)])
wall = random.uniform(-0.2, 0.2, (SAMPLES, 2))
start = time.time()
T = np.array([solve(*sample) for sample in zip(k, q, wall)])
seconds = (time.time() - start) / SAMPLES
print(f"{SAMPLES} solves of {seconds * 1e3:.1f} ms; T from {T.min():.2f} to {T.max():.2f}")
for name, array in (("k", k), ("q", q), ("channels", wall), ("T", T)):
    np.save(name + ".npy", array if name == "channels" else array.astype(np.float32))

place = {"rows": "file", "degree": 2}  # a row for every triangle of plate.msh, in its order
json.dump({
    "problem": "cold plate",
    "mesh": "plate.msh",
    "fields": [
        {"name": "k", "role": "input", "file": "k.npy", **place},
        {"name": "q", "role": "input", "file": "q.npy", **place},
        {"name": "channels", "role": "global", "file": "channels.npy"},
        {"name": "T", "role": "target", "file": "T.npy", "degree": 0, "rows": "file"},
    ],
    "known": [
        {"target": "T", "label": "channel1", "global": "channels", "component": 0},
        {"target": "T", "label": "channel2", "global": "channels", "component": 1},
    ],
    "split": {"train": 0.8, "val": 0.1, "test": 0.1},
    "classical_seconds": round(seconds, 5),
}, open("spec.json", "w"), indent=2)
