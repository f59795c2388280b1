"""Writes tests/data/phase/*.st: random scores on small complexes with what tools/oracle_phase.py finds in them.

Each file holds a complex, "phase", "pde", "permutation" [S, N_k] and "error" [S]; metadata: "degree", "q", "expected" (JSON).
Usage: make_phase_fixtures.py DIRECTORY
"""
import json
import os
import sys

import numpy as np

import oracle
import oracle_phase
import st
from make_twin_fixtures import MESHES
from topo import Topo

CASES = {"faces": ("annulus", 2, 0.24), "edges": ("torus", 1, 0.20), "nodes": ("shell", 0, 0.18)}
SAMPLES = 24


def make(name, seed):
    rng = np.random.default_rng(seed)
    mesh, degree, q = CASES[name]
    x, tops = MESHES[mesh](rng)
    topo = Topo(len(x), tops)
    n = topo.n[degree]
    pde = abs(rng.standard_normal((SAMPLES, n))) ** 2
    phase = abs(rng.uniform(0, 1, (SAMPLES, 1)) * pde + 0.7 * rng.standard_normal((SAMPLES, n)))
    permutation = np.array([rng.permutation(n) for _ in range(SAMPLES)])
    error = rng.uniform(0.01, 0.2, SAMPLES)
    found = oracle_phase.diagnose(topo, degree, q, phase, pde, permutation, error)
    out = {"x": x, **{f"vert{k}": topo.vert[k].astype(np.int32) for k in range(1, topo.dim + 1)}, "phase": phase, "pde": pde,
           "permutation": permutation.astype(np.int64), "error": error}
    return out, {"degree": str(degree), "q": str(q), "expected": json.dumps(found, default=oracle.plain)}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for seed, name in enumerate(CASES):
        tensors, meta = make(name, seed)
        st.write(os.path.join(sys.argv[1], name + ".st"), tensors, meta)


if __name__ == "__main__":
    main()
