"""5,000 Darcy samples, from random numbers to potential, line flux and circulation: dkho against SciPy in one run.

SciPy does the same work as well as it can: everything that does not depend on the sample is a matrix made once (waves at the vertices,
mass, line flux, coboundary), the stiffness matrix is factored once by SuperLU, and samples go through in blocks of the size that
suits it best. Set-up is timed apart on both sides. Both go in 25 rounds, the quickest of which counts: a busy machine slows either.
Exit status 1 below the factor asked for.
Usage: data_vs_scipy.py BUILD_DIR [--samples N] [--least 5]   (after: cmake --build BUILD_DIR --target bench_data dkho_cli)
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
sys.dont_write_bytecode = True
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import oracle
import oracle_darcy

ROUNDS = 25
MODES = [(m, n) for m in range(-3, 4) for n in range(-3, 4) if (m, n) != (0, 0)]


class Solver:
    """Matrices of the Darcy problem on a stored mesh with a stored permeability."""

    def __init__(self, mesh, k_face):
        x, faces, n = mesh.x, mesh.topo.vert[2], len(mesh.x)
        area, grad = oracle_darcy.gradients(x, faces)
        tensor = k_face.reshape(-1, 2, 2)
        stiff = oracle_darcy.assemble(faces, np.einsum("fai,fij,fbj,f->fab", grad, tensor, grad, area), n)
        mass = oracle_darcy.assemble(faces, area[:, None, None] / 12 * (np.ones((3, 3)) + np.eye(3)), n)
        self.label, self.inside = mesh.label[0], np.flatnonzero(mesh.label[0] == 0)
        self.factor = spla.splu(stiff[self.inside][:, self.inside].tocsc())
        self.mass = mass[self.inside]
        self.lift = np.stack([stiff[self.inside] @ (self.label == 2 + j) for j in (0, 1)], axis=1)
        phase = np.pi * (x @ np.array(MODES).T)
        height = 0.6 / (1 + (np.array(MODES) ** 2).sum(axis=1))
        self.wave = np.concatenate([height * np.cos(phase), height * np.sin(phase)], axis=1)
        edge, (tail, head) = mesh.topo.d[1].T.tocsr(), mesh.topo.vert[1].T
        share = sp.diags(1 / np.asarray(abs(edge) @ area)) @ abs(edge) @ sp.diags(area)
        rows = np.repeat(np.arange(len(faces)), 3)
        slope = [sp.csr_matrix((grad[..., i].ravel(), (rows, faces.ravel())), shape=(len(faces), n)) for i in (0, 1)]
        flow = [-sum(sp.diags(tensor[:, i, j]) @ slope[j] for j in (0, 1)) for i in (0, 1)]
        self.flux = sum(sp.diags((x[head] - x[tail])[:, i]) @ share @ flow[i] for i in (0, 1)).tocsr()
        self.d1 = mesh.topo.d[1]

    def solve(self, f, g):
        """f [N0, S], g [2, S] → p, q, w with samples in columns; q and w as kept in a file."""
        p = np.zeros_like(f)
        p[self.label == 2], p[self.label == 3] = g[0], g[1]
        p[self.inside] = self.factor.solve(self.mass @ f - self.lift @ g)
        q = (self.flux @ p).astype(np.float32).astype(np.float64)
        return p, q, self.d1 @ q

    def sample(self, count, rng):
        f = (self.wave @ rng.standard_normal((2 * len(MODES), count))).astype(np.float32).astype(np.float64)
        return self.solve(f, rng.uniform(0.5, 1.5, (2, count)))


def per_sample(solver, count, block, rng, clock=time.perf_counter):
    """Seconds, the quickest of ROUNDS rounds."""
    best = np.inf
    size = max(count // ROUNDS // block, 1)
    for _ in range(ROUNDS):
        start = clock()
        for _ in range(size):
            solver.sample(block, rng)
        best = min(best, (clock() - start) / (size * block))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--least", type=float, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "darcy.st")
        subprocess.run([os.path.join(options.build, "dkho"), "data", "darcy", "--samples", "8", "--quiet", "-o", path], check=True, stdout=subprocess.DEVNULL)
        source = oracle.Source(path)
        source.tensors = {name: a.copy() for name, a in source.tensors.items()}
    mesh = oracle.Mesh(source)
    start = time.perf_counter()
    solver = Solver(mesh, source.array("K2"))
    set_up = time.perf_counter() - start
    p, _, w = solver.solve(source.array("f")[:, :, 0].T, source.array("g").T)
    for found, name in ((p, "p"), (w, "w")):
        want = source.array(name)[..., 0].T
        assert np.linalg.norm(found - want) < 2e-6 * np.linalg.norm(want), name
    rng = np.random.default_rng(1)
    block = min((8, 16, 32, 64), key=lambda b: per_sample(solver, 800, b, rng))
    ours = json.loads(subprocess.run([os.path.join(options.build, "bench", "bench_data"), "darcy", str(options.samples)], check=True, capture_output=True).stdout)
    theirs = per_sample(solver, options.samples, block, rng) * ours["samples"]
    work = 1e3 * per_sample(solver, options.samples, block, rng, time.process_time)
    ratio = theirs / ours["seconds_2"]
    print(json.dumps({**ours, "scipy_set_up_seconds": round(set_up, 4), "scipy_seconds": round(theirs, 4), "scipy_block": block,
                      "scipy_ms_per_sample": round(1e3 * theirs / ours["samples"], 4), "ratio_2": round(ratio, 2),
                      "ratio_1": round(theirs / ours["seconds_1"], 2), "scipy_cpu_ms_per_sample": round(work, 4),
                      "ratio_cpu": round(work / ours["cpu_ms_per_sample_1"], 2)}, indent=1))
    sys.exit(0 if ratio >= options.least else 1)


if __name__ == "__main__":
    main()
