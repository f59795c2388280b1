#!/usr/bin/python3
"""Harmonic bases and the 16 lowest eigenpairs of every degree of the Darcy main mesh: bench_dec against SciPy.

SciPy does it the straightforward way: per degree one shift-invert eigsh on the unweighted Laplacian near zero, asking for
the kernel and 16 pairs above it, to full precision. CPU seconds of one core on both sides.

    cmake --build build/release --target bench_dec
    python3 bench/dec_vs_scipy.py build/release/bench/bench_dec [darcy|torus]
"""
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

PAIRS, LEAST_RATIO = 16, 3.0


def coboundary(path):
    row, col, sign = np.loadtxt(path, dtype=np.int64).T
    return sp.csr_matrix((sign.astype(float), (row, col)))


def main():
    tool, mesh = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "darcy"
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "d")
        text = subprocess.run([tool, mesh, "main", "unit", str(PAIRS), prefix], check=True, capture_output=True,
                              text=True).stdout
        d0, d1 = coboundary(prefix + "0.txt"), coboundary(prefix + "1.txt")
        degree, values = np.loadtxt(prefix + "spectrum.txt").T
    print(text, end="")
    ours = float(next(line.split()[1] for line in text.splitlines() if line.startswith("total")))
    betti = [int(word) for word in next(line for line in text.splitlines() if line.startswith("betti")).split()[1:4]]

    worst, start = 0.0, time.process_time()
    for k, laplacian in enumerate((d0.T @ d0, d0 @ d0.T + d1.T @ d1, d1 @ d1.T)):
        found, vectors = eigsh(laplacian.tocsc(), k=betti[k] + PAIRS, sigma=-1e-8, which="LM", tol=0)
        found = np.sort(found)
        theirs_zero, theirs = found[: betti[k]], found[betti[k]:]
        assert np.all(np.abs(theirs_zero) < 1e-8), theirs_zero
        worst = max(worst, np.max(np.abs(theirs / values[degree == k] - 1)))
    scipy_time = time.process_time() - start
    print(f"eigenvalues agree to {worst:.1e} (relative)")
    print(f"bench_dec {ours:.2f} s, SciPy {scipy_time:.2f} s of CPU: {scipy_time / ours:.1f} times faster")
    if worst > 1e-8 or scipy_time < LEAST_RATIO * ours:
        sys.exit(f"expected agreement to 1e-8 and at least {LEAST_RATIO} times the speed")


if __name__ == "__main__":
    main()
