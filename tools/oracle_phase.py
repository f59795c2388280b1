"""The phase–PDE diagnostic on given scores: smoothing, top-q overlap, enrichment, rank correlation, case selection.

FILE is a container with the mesh and "phase", "pde" [S, N_k] (nonnegative scores, unsmoothed); optional: "permutation" [S, N_k]
(the random-alignment reference), "error" [S] (relative errors, for the choice of cases). Usage: oracle_phase.py FILE DEGREE Q;
prints JSON.
"""
import json
import math
import sys

import numpy as np
import scipy.sparse as sp
import scipy.stats

import oracle


def adjacency(topo, degree):
    """Faces of a surface by shared edges, edges by shared vertices and triangles, vertices by edges; diagonals are kept."""
    if degree == 0:
        return abs(topo.d[0]).T @ abs(topo.d[0])
    if degree == topo.dim:
        return abs(topo.d[degree - 1]) @ abs(topo.d[degree - 1]).T
    return abs(topo.d[degree - 1]) @ abs(topo.d[degree - 1]).T + abs(topo.d[degree]).T @ abs(topo.d[degree])


def smooth(a, v, rounds=2):
    a = sp.csr_matrix(a) + sp.identity(a.shape[0])
    total = np.asarray(a.sum(axis=1)).ravel()
    for _ in range(rounds):
        v = (a @ v.T).T / total
    return v


def overlap(phase, pde, q):
    """(Dice, enrichment) of the top-q masks of one instance."""
    chosen = phase >= np.quantile(phase, 1 - q)
    strong = pde >= np.quantile(pde, 1 - q)
    dice = 2 * (chosen & strong).sum() / max(chosen.sum() + strong.sum(), 1)
    return dice, pde[chosen].mean() / max(pde.mean(), 1e-12)


def spearman(a, b):
    a, b = (scipy.stats.rankdata(v) for v in (a, b))
    a, b = a - a.mean(), b - b.mean()
    return (a @ b) / max(math.sqrt((a @ a) * (b @ b)), 1e-12)


def salience(pde):
    """Mean percentile rank of robust contrast, peak share and coefficient of variation: [S]."""
    low, high = np.quantile(pde, [0.1, 0.9], axis=1)
    peak = np.array([row[row >= h].mean() for row, h in zip(pde, high)])
    parts = [(high - low) / (high + low), peak / pde.mean(axis=1), pde.std(axis=1) / pde.mean(axis=1)]
    return np.mean([scipy.stats.rankdata(p) / len(p) for p in parts], axis=0)


def cases(error, dice, enrichment, rho, pde, count=3):
    """The best eligible instances of the composite, best first."""
    n, shown = len(error), salience(pde)
    accurate = error <= np.quantile(error, 0.4)
    wanted = min(max(5, math.ceil(0.03 * n)), int(accurate.sum()))
    for bound in (0.55, 0.50, 0.40, -math.inf):
        eligible = accurate & (shown >= bound)
        if eligible.sum() >= wanted:
            break
    rank = lambda v: scipy.stats.rankdata(v) / n
    score = 0.15 * rank(-error) + 0.25 * shown + 0.30 * rank(dice) + 0.20 * rank(enrichment) + 0.10 * rank(rho)
    order = np.argsort(np.where(eligible, -score, np.inf), kind="stable")
    return [int(i) for i in order[:min(count, int(eligible.sum()))]]


def diagnose(topo, degree, q, phase, pde, permutation=None, error=None):
    a = adjacency(topo, degree)
    phase, pde = smooth(a, phase), smooth(a, pde)
    dice, enrichment = np.array([overlap(s, p, q) for s, p in zip(phase, pde)]).T
    rho = np.array([spearman(s, p) for s, p in zip(phase, pde)])
    out = {"dice": dice, "lift": dice / q, "enrichment": enrichment, "rho": rho}
    mean = {name: [v.mean(), v.std()] for name, v in out.items()}
    mean["above_chance"] = ((dice > q) & (enrichment > 1)).mean()
    if permutation is not None:
        shuffled = [overlap(s[i], p, q) for s, p, i in zip(phase, pde, permutation)]
        mean["permuted_dice"], mean["permuted_enrichment"] = np.mean(shuffled, axis=0)
    if error is not None:
        mean["cases"] = cases(error, dice, enrichment, rho, pde)
    return {"instances": out, "population": mean}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source = oracle.Source(sys.argv[1])
    get = lambda name: source.tensors.get(name)
    found = diagnose(oracle.Mesh(source).topo, int(sys.argv[2]), float(sys.argv[3]), source.array("phase"), source.array("pde"),
                     get("permutation"), get("error"))
    print(json.dumps(found, default=oracle.plain))


if __name__ == "__main__":
    main()
