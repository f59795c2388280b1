#!/usr/bin/python3
"""Fixture of the optimisers: a few steps of Muon and SOAP in NumPy, written from their definitions.

Muon's iteration is a polynomial in the singular values, so here it is applied to them through an SVD, and not by matrix products
as the library does. SOAP is written with explicit inverses of the bases' rotation, on the matrices as they stand.

    tools/make_optim_fixtures.py DIRECTORY
"""
import os
import sys

import numpy as np

import st

SHAPES = {"wide": (9, 14), "tall": (16, 8), "thin": (9, 3), "vector": (7,)}
STEPS, LR, DECAY, CLIP, REFRESH = 11, 0.02, 0.1, 1.0, 3


def orthogonal(u):
    """The quintic, five times, on the singular values of u / ‖u‖."""
    left, s, right = np.linalg.svd(u / (np.linalg.norm(u) + 1e-7), full_matrices=False)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    return (left * s) @ right


class Adam:
    def __init__(self, shape, b1, b2):
        self.b1, self.b2, self.m, self.v = b1, b2, np.zeros(shape), np.zeros(shape)

    def update(self, g, t):
        self.m = self.b1 * self.m + (1 - self.b1) * g
        self.v = self.b2 * self.v + (1 - self.b2) * g * g
        return self.m / (1 - self.b1**t) / (np.sqrt(self.v / (1 - self.b2**t)) + 1e-8)


class Muon:
    def __init__(self, shape):
        self.m, self.scale = np.zeros(shape), 0.2 * np.sqrt(max(shape))

    def update(self, g, t):
        self.m = 0.95 * self.m + g
        return self.scale * orthogonal(g + 0.95 * self.m)


class Soap:
    def __init__(self, shape):
        self.m, self.v = np.zeros(shape), np.zeros(shape)
        self.left, self.right = np.zeros((shape[0],) * 2), np.zeros((shape[1],) * 2)
        self.ql, self.qr = np.eye(shape[0]), np.eye(shape[1])

    def update(self, g, t, b=0.95):
        self.left = b * self.left + (1 - b) * g @ g.T
        self.right = b * self.right + (1 - b) * g.T @ g
        self.m = b * self.m + (1 - b) * g
        self.v = b * self.v + (1 - b) * (self.ql.T @ g @ self.qr)**2
        turned = (self.ql.T @ self.m @ self.qr) / (1 - b**t) / (np.sqrt(self.v / (1 - b**t)) + 1e-8)
        out = self.ql @ turned @ self.qr.T
        if t == REFRESH:
            (row, self.ql), (col, self.qr) = (np.linalg.eigh(c) for c in (self.left, self.right))
            self.ql, self.qr, self.v = self.ql[:, ::-1], self.qr[:, ::-1], np.outer(row, col)[::-1, ::-1] / col.sum()
        elif t % REFRESH == 0:
            self.ql, self.qr = np.linalg.qr(self.left @ self.ql)[0], np.linalg.qr(self.right @ self.qr)[0]
        return out


def rules(kind):
    out = {}
    for name, shape in SHAPES.items():
        betas = (0.95, 0.95) if kind == "soap" else (0.9, 0.999)
        if len(shape) == 2 and min(shape) >= 8:
            out[name] = Muon(shape) if kind == "muon" else Soap(shape)
        else:
            out[name] = Adam(shape, *betas)
    return out


def main(directory):
    rng = np.random.default_rng(11)
    start = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    # gradients of unequal rows, columns and steps, so that bases and moments have something to find
    slope = {
        name: rng.standard_normal((STEPS, *shape)) * np.exp(rng.standard_normal((STEPS, *shape[:-1], 1))) *
        np.linspace(0.1, 2, shape[-1])
        for name, shape in SHAPES.items()
    }
    tensors = {f"start.{n}": a for n, a in start.items()} | {f"slope.{n}": a for n, a in slope.items()}
    for kind in ("muon", "soap"):
        value, rule = {n: a.copy() for n, a in start.items()}, rules(kind)
        for t in range(1, STEPS + 1):
            norm = np.sqrt(sum((slope[n][t - 1]**2).sum() for n in SHAPES))
            factor = min(1, CLIP / (norm + 1e-6))
            for n in SHAPES:
                value[n] = value[n] * (1 - LR * DECAY) - LR * rule[n].update(factor * slope[n][t - 1], t)
        tensors |= {f"{kind}.{n}": a for n, a in value.items()}
    os.makedirs(directory, exist_ok=True)
    st.write(os.path.join(directory, "steps.st"), tensors)


if __name__ == "__main__":
    main(sys.argv[1])
