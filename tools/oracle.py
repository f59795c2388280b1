"""What the oracles share: arrays of a container by name, its mesh, and the comparison that ends an oracle run.

A file is either a data set (docs/FORMATS.md) or a bare container in which a test has written the same arrays under their plain
names, in double where agreement beyond float's seven digits is asked for.
"""
import argparse
import json
import sys

import numpy as np

import st
from topo import Topo


class Source:
    """Arrays of one file; fields [S, N, ch], globals [S, n], statics [N, ch], always as doubles."""

    def __init__(self, path):
        self.tensors, self.meta = st.read(path)

    def stored(self, *names):
        for name in names:
            if name in self.tensors:
                return self.tensors[name]
        raise SystemExit(f"no tensor {' or '.join(names)} in the file")

    def array(self, *names):
        a = self.stored(*names)
        return a.astype(np.float64) if a.dtype.kind == "f" else a

    def field(self, name):
        return self.array(name)

    def static(self, name):
        return self.array(name)


class Mesh:
    """x [N0, gdim], topo, label[k] where there are labels."""

    def __init__(self, source):
        self.x = source.array("x")
        vert = {k: source.tensors[f"vert{k}"] for k in (1, 2, 3) if f"vert{k}" in source.tensors}
        self.topo = Topo.from_lists(len(self.x), vert)
        self.label = {k: source.tensors[f"label{k}"] for k in range(4) if f"label{k}" in source.tensors}


def plain(value):
    return value.tolist()


def arguments(text):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--samples", type=int, default=None)
    parser.add_argument("--tolerance", type=float, default=None)
    options = parser.parse_args()
    source = Source(options.file)
    return source, Mesh(source), options.samples, options.tolerance


def compare(source, found, tolerance):
    """Largest relative l2 difference over samples of each field; prints JSON and leaves with status 0 or 1."""
    result, good = {}, True
    for name, value in found.items():
        single = source.stored(name).dtype == np.float32
        want = source.field(name)[:len(value)]
        error = [np.linalg.norm(v - w) / max(np.linalg.norm(w), 1e-300) for v, w in zip(value, want)]
        worst = float(np.max(error))  # not a number when any is
        bound = tolerance if tolerance is not None else 2e-6 if single else 1e-8
        result[name] = {"error": worst, "tolerance": bound, "samples": len(value)}
        good = good and worst <= bound
    print(json.dumps({"fields": result, "good": good}))
    sys.exit(0 if good else 1)
