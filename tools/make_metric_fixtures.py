"""Writes tests/data/metrics/*.st: predictions and references on small complexes, judged by tools/oracle_metrics.py.

Each file holds a complex, "pred" and "target" [S, N, ch], for degree 1 "harmonic" [N1, β]; metadata "list" and "degree" choose the
metrics, "expected" is their values as JSON. Usage: make_metric_fixtures.py DIRECTORY
"""
import json
import os
import sys

import numpy as np

import oracle
import oracle_metrics
import st
from make_twin_fixtures import MESHES
from topo import Topo

CASES = {"darcy_c0": "annulus", "darcy_c1": "annulus", "darcy_c2": "annulus", "torus_c0": "torus", "torus_c1": "torus",
         "torus_c2": "torus", "cavity": "shell"}
SAMPLES = 4


def make(name, seed):
    rng = np.random.default_rng(seed)
    mesh = CASES[name]
    x, tops = MESHES[mesh](rng)
    topo, degree = Topo(len(x), tops), int(name[-1]) if name[-1].isdigit() else 0
    out = {"x": x, **{f"vert{k}": topo.vert[k].astype(np.int32) for k in range(1, topo.dim + 1)}}
    if mesh == "annulus":
        rim = np.asarray(abs(topo.d[1]).sum(axis=0)).ravel() == 1
        out["label0"] = np.isin(np.arange(len(x)), topo.vert[1][rim]).astype(np.int32)
        out["label_names"] = np.frombuffer(b"interior\0rim\0", dtype=np.uint8)
    y = rng.standard_normal((SAMPLES, topo.n[degree], 3 if name == "cavity" else 1))
    p = y + np.array([0.02, 0.3, 1.0, 0.0])[:, None, None] * rng.standard_normal(y.shape)
    p[-1] = 0  # a prediction without level sets, norm or energy
    out.update({"pred": p, "target": y})
    if degree == 1:
        out["harmonic"] = topo.harmonic(1)
    expected = oracle_metrics.judge(oracle.Source(name, out), name)
    return out, {"list": name.split("_")[0], "degree": str(degree), "expected": json.dumps(expected)}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    for seed, name in enumerate(CASES):
        tensors, meta = make(name, seed)
        st.write(os.path.join(sys.argv[1], name + ".st"), tensors, meta)


if __name__ == "__main__":
    main()
