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


PLACES = ("", "c0/", "c0/in/", "c0/target/", "c0/static/", "global/")


class Source:
    """Arrays of one file by plain name, wherever a data set keeps them (its first complex)."""

    def __init__(self, path, tensors=None):
        self.path = path
        self.tensors, self.meta = st.read(path) if tensors is None else (tensors, {})

    def find(self, name):
        """As stored, or None."""
        hits = [self.tensors[place + name] for place in PLACES if place + name in self.tensors]
        return hits[0] if hits else None

    def law(self):
        """The material law that made the data; None: the problem's first."""
        described = json.loads(self.meta.get("dkho.dataset", "{}"))
        return described.get("provenance", {}).get("parameters", {}).get("law", self.meta.get("law"))

    def stored(self, name):
        found = self.find(name)
        if found is None:
            sys.exit(f"{self.path}: no tensor {name}")
        return found

    def array(self, name):
        """In double when it holds real numbers."""
        a = self.stored(name)
        return a.astype(np.float64) if a.dtype.kind == "f" else a


class Mesh:
    """x [N0, gdim], topo, label[k] where there are labels."""

    def __init__(self, source):
        pick = lambda stem: {k: source.find(f"{stem}{k}") for k in range(4) if source.find(f"{stem}{k}") is not None}
        self.x = source.array("x")
        self.topo = Topo.from_lists(len(self.x), pick("vert"))
        self.label = pick("label")


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
        want = source.array(name)[:len(value)]
        error = [np.linalg.norm(v - w) / max(np.linalg.norm(w), 1e-300) for v, w in zip(value, want)]
        worst = float(np.max(error))  # not a number when any is
        bound = tolerance if tolerance is not None else 2e-6 if single else 1e-8
        result[name] = {"error": worst, "tolerance": bound, "samples": len(value)}
        good = good and worst <= bound
    print(json.dumps({"fields": result, "good": good}))
    sys.exit(0 if good else 1)
