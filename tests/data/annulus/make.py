"""Makes the arrays of this fixture: heat flow on a ring, its two rims held at their own temperatures.

u_t = 0.1 Δu to t = 0.1 from a random smooth state u0, with u = rim[0] on the inner and rim[1] on the outer rim: linear elements,
Crank-Nicolson after two steps of backward Euler. Kept per sample: u0 and u on vertices, the heat flux q = -0.1 du on edges, rim. Any other solver would
do; the arrays only have to be numbered like the complex. Usage, in this directory:

    dkho mesh annulus.msh -o annulus.st && python3 make.py annulus.st
"""
import json
import struct
import sys

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

KAPPA, STEP, STEPS, SAMPLES = 0.1, 0.005, 20, 48
TYPES = {"F64": "<f8", "I32": "<i4", "U8": "<u1", "F32": "<f4", "I64": "<i8", "I8": "<i1"}


def read_complex(path):
    """The tensors of a container: 8 bytes of header length, a JSON header, the arrays one after the other."""
    with open(path, "rb") as stream:
        blob = stream.read()
    (length,) = struct.unpack_from("<Q", blob)
    header = json.loads(blob[8:8 + length])
    return {name: np.frombuffer(blob[8 + length:], TYPES[t["dtype"]], int(np.prod(t["shape"])), t["data_offsets"][0]).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


def elements(x, faces):
    """Mass and stiffness matrices of linear elements."""
    a, b, c = (x[faces[:, j]] for j in range(3))
    side = np.stack([c - b, a - c, b - a], axis=1)
    area = 0.5 * abs(side[:, 2, 0] * side[:, 1, 1] - side[:, 2, 1] * side[:, 1, 0])
    stiff = np.einsum("fai,fbi->fab", side, side) / (4 * area)[:, None, None]
    mass = area[:, None, None] / 12 * (np.ones((3, 3)) + np.eye(3))
    rows, cols = np.repeat(faces, 3, axis=1).ravel(), np.tile(faces, 3).ravel()
    return [sp.csr_matrix((m.ravel(), (rows, cols)), shape=(len(x), len(x))) for m in (mass, stiff)]


def initial_states(x, rng):
    """Waves of random direction and phase, long ones strongest: [N0, SAMPLES]."""
    waves = rng.normal(size=(6, 2, SAMPLES)) * 2.5
    phase = rng.uniform(0, 2 * np.pi, (6, SAMPLES))
    height = rng.normal(size=(6, SAMPLES)) / (1 + np.linalg.norm(waves, axis=1) / 2)
    return np.einsum("ks,nks->ns", height, np.cos(np.einsum("ni,kis->nks", x, waves) + phase))


def flow(mass, stiff, u, held):
    """Steps u forward in place; the vertices in `held` keep their values."""
    free = np.setdiff1d(np.arange(len(u)), held)
    solver = {}
    for step in range(STEPS):
        theta = 1.0 if step < 2 else 0.5
        left, right = mass + theta * KAPPA * STEP * stiff, mass - (1 - theta) * KAPPA * STEP * stiff
        if theta not in solver:
            solver[theta] = spla.splu(left[free][:, free].tocsc())
        u[free] = solver[theta].solve(right[free] @ u - left[free][:, held] @ u[held])
    return u


def main():
    mesh = read_complex(sys.argv[1])
    x, edges, label = mesh["x"], mesh["vert1"], mesh["label0"]
    names = bytes(mesh["label_names"]).decode().split("\0")
    rims = [np.flatnonzero(label == names.index(name)) for name in ("inner", "outer")]
    mass, stiff = elements(x, mesh["vert2"])
    rng = np.random.default_rng(7)
    u0 = initial_states(x, rng).astype(np.float32)
    rim = rng.uniform(-1, 1, (SAMPLES, 2))
    u = u0.astype(np.float64)
    for j in range(2):
        u[rims[j]] = rim[:, j]
    u = flow(mass, stiff, u, np.concatenate(rims))
    q = -KAPPA * (u[edges[:, 1]] - u[edges[:, 0]])
    np.save("rim.npy", rim)
    for name, value in (("u0", u0), ("u", u), ("q", q)):
        np.save(name + ".npy", np.ascontiguousarray(value.T.astype(np.float32)))


if __name__ == "__main__":
    main()
