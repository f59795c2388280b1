#!/usr/bin/python3
"""Near-minimax coefficients of the vector math in src/kern/fast/vmath.h.

f(x) is approached by P(v)/Q(v), Q(0) = 1, in the stated weight, by linearised least squares with Lawson's
reweighting on Chebyshev points in double precision. Prints C initialisers and the largest weighted error found.
"""
import numpy as np
from scipy import special


def fit(name, f, weight, lo, hi, dp, dq, rounds=400):
    n = 4000
    v = 0.5 * (lo + hi) - 0.5 * (hi - lo) * np.cos(np.pi * (np.arange(n) + 0.5) / n)
    y, w = f(v), weight(v)
    s = hi if abs(hi) >= abs(lo) else -lo
    lawson, q = np.full(n, 1.0 / n), np.ones(n)
    best, keep = np.inf, None
    for _ in range(rounds):
        cols = [(v / s) ** i for i in range(dp + 1)] + [-y * (v / s) ** i for i in range(1, dq + 1)]
        a = np.stack(cols, 1) * (w / q)[:, None]
        root = np.sqrt(lawson)
        c = np.linalg.lstsq(a * root[:, None], y * w / q * root, rcond=None)[0]
        p = sum(c[i] * (v / s) ** i for i in range(dp + 1))
        q = 1 + sum(c[dp + i] * (v / s) ** i for i in range(1, dq + 1)) if dq else np.ones(n)
        e = np.abs((p / q - y) * w)
        if e.max() < best and np.all(q > 0):
            best, keep = e.max(), c.copy()
        lawson *= e / e.max() + 1e-3
        lawson /= lawson.sum()
    num = [keep[i] / s**i for i in range(dp + 1)]
    den = [1.0] + [keep[dp + i] / s**i for i in range(1, dq + 1)]
    print(f"{name}: largest weighted error {best:.2e}")
    print("  num", ", ".join(f"{x:.9e}F" for x in num))
    if dq:
        print("  den", ", ".join(f"{x:.9e}F" for x in den))


def sinc(v):
    r = np.sqrt(np.maximum(v, 1e-300))
    return np.where(v < 1e-6, -1 / 6 + v / 120, (np.sin(r) / r - 1) / np.where(v < 1e-6, 1, v))


def cosc(v):
    r = np.sqrt(np.maximum(v, 1e-300))
    return np.where(v < 1e-4, 1 / 24 - v / 720 + v * v / 40320, (np.cos(r) - 1 + v / 2) / np.where(v < 1e-4, 1, v * v))


def over_root(g, at_zero):
    def h(v):
        r = np.sqrt(np.maximum(v, 1e-300))
        return np.where(v < 1e-12, at_zero, g(r) / r)

    return h


half_pi2, quarter_pi2 = (np.pi / 2) ** 2, (np.pi / 4) ** 2
# sin r = r + r³ P(r²) for |r| ≤ π/2 and ≤ π/4; cos r = 1 - r²/2 + r⁴ P(r²) for |r| ≤ π/4
fit("sin, half period", sinc, lambda v: v**1.5, 0, half_pi2, 3, 0)
fit("sin, quadrant", sinc, lambda v: v**1.5 + 1e-9, 0, quarter_pi2, 2, 0)
fit("cos, quadrant", cosc, lambda v: v**2 + 1e-9, 0, quarter_pi2, 2, 0)
# exp r = 1 + r + r² P(r) for |r| ≤ ln2/2
ln2 = np.log(2)
fit("exp", lambda v: (np.exp(v) - 1 - v) / v**2, lambda v: v**2, -ln2 / 2, ln2 / 2, 4, 0)
# log2 Φ(-a) for 0 ≤ a ≤ 5.7, Φ the normal distribution function; the error is that of Φ. The leading coefficient must
# be negative: beyond 5.7 the polynomial has to fall on.
fit("log2 cdf", lambda a: special.log_ndtr(-a) / ln2, lambda a: ln2 * (special.ndtr(-a) + 1e-9), 0, 5.7, 8, 0)
# 2^r = 1 + r P(r) for |r| ≤ ½
fit("exp2", lambda r: (2.0**r - 1) / r, np.abs, -0.5, 0.5, 5, 0)
# erf x = x P(x²) for |x| ≤ 0.6
fit("erf", over_root(special.erf, 2 / np.sqrt(np.pi)), np.ones_like, 0, 0.36, 4, 0)
# tanh x = x + x³ P(x²) for |x| ≤ 0.6


def tanhc(v):
    r = np.sqrt(np.maximum(v, 1e-300))
    return np.where(v < 1e-4, -1 / 3 + v * 2 / 15 - v * v * 17 / 315, (np.tanh(r) / r - 1) / np.where(v < 1e-4, 1, v))


fit("tanh", tanhc, lambda v: v, 0, 0.36, 4, 0)
# log(1+r) = r + r² P(r) for 1+r in [√½, √2]
fit("log1p", lambda v: (np.log1p(v) - v) / v**2, lambda v: v**2 / np.abs(np.log1p(v)), np.sqrt(0.5) - 1, np.sqrt(2) - 1, 7, 0)
