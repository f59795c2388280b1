"""Solves the lamination problem again, from the stored mesh, saturation and currents, with SciPy alone, and compares.

B = (0.02 + S/(1 + |H|))H, or the law of Brauer where the file names it; H = Σ I_j h_j + dφ. Any closed h_j with the right periods will do: here the angles under which edges are seen from
the centres of the windows, which are not the harmonic ones that the library takes. Usage: oracle_lamination.py FILE [--samples N]
[--tolerance T]; prints JSON, exit status 1 when a field differs by more than T.
"""
import numpy as np

import oracle
from planar_fem import Sheet


def centres(mesh):
    """Of the circles through the rims, labels 2, 3, …"""
    label = np.asarray(mesh.label[0])
    return [circle(mesh.x[label == k]) for k in range(2, label.max() + 1)]


def circle(points):
    a = np.column_stack([2 * points, np.ones(len(points))])
    return np.linalg.lstsq(a, (points**2).sum(axis=1), rcond=None)[0][:2]


def angles(mesh, centre):
    """Of every edge as a vector on triangles and as a cochain."""
    tail, head = mesh.topo.vert[1].T
    a, b = mesh.x[tail] - centre, mesh.x[head] - centre
    return np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], (a * b).sum(axis=1)) / (2 * np.pi)


def on_triangles(sheet, cochain):
    """The constant vector whose integrals along the sides are those of a closed cochain."""
    edge = {tuple(e): i for i, e in enumerate(sheet.mesh.topo.vert[1])}
    out = np.zeros((len(sheet.faces), 2))
    for corner in (1, 2):
        pair = sheet.faces[:, [0, corner]]
        index = np.array([edge[tuple(sorted(p))] for p in pair])
        value = cochain[index] * np.where(pair[:, 0] < pair[:, 1], 1, -1)
        out += value[:, None] * sheet.grad[:, corner]
    return out


VACUUM = 0.02


class Froehlich:
    def __init__(self, S):
        self.S = S

    def flux(self, h):
        """|B| and its derivative."""
        return (VACUUM + self.S / (1 + h)) * h, VACUUM + self.S / (1 + h)**2

    def energy(self, h, B):
        return h * B - (VACUUM / 2 * h**2 + self.S * (h - np.log1p(h)))


class Brauer:
    """h = B (k1 exp(k2 B²) + k3) with slope S + VACUUM at rest; where dB/dh = VACUUM, k2 B² is 8 and B - VACUUM h is S, as from there on."""

    def __init__(self, S, end=8):
        rest = 1 / (S + VACUUM)
        top = (1 / VACUUM - rest) / (1 + 2 * end - np.exp(-end))  # k1 exp(k2 B²) at the end
        self.S, self.k1 = S, top * np.exp(-end)
        self.k3 = rest - self.k1
        self.last = S / (1 - VACUUM * (top + self.k3))
        self.k2 = end / self.last**2

    def field(self, B):
        return B * (self.k1 * np.exp(self.k2 * B**2) + self.k3)

    def flux(self, h):
        low, high = np.zeros_like(self.last), self.last.copy()
        for _ in range(64):
            middle = (low + high) / 2
            above = self.field(middle) > h
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        slope = 1 / (self.k1 * (1 + 2 * self.k2 * low**2) * np.exp(self.k2 * low**2) + self.k3)
        beyond = h > self.field(self.last)
        return np.where(beyond, self.S + VACUUM * h, low), np.where(beyond, VACUUM, slope)

    def energy(self, h, B):
        inner = np.minimum(B, self.last)
        rise = self.k3 * inner**2 / 2 + self.k1 / (2 * self.k2) * np.expm1(self.k2 * inner**2)
        return rise + (B - inner) * ((B + inner) / 2 - self.S) / VACUUM


LAWS = {None: Froehlich, "froehlich": Froehlich, "brauer": Brauer}


class Iron:
    def __init__(self, mesh, law=None):
        self.law = LAWS[law]
        free = np.arange(len(mesh.x) - 1)
        self.mesh, self.sheet = mesh, Sheet(mesh, free)
        self.cochain = np.array([angles(mesh, c) for c in centres(mesh)])
        self.vector = np.array([on_triangles(self.sheet, w) for w in self.cochain])

    def magnetise(self, saturation, current, phi):
        """φ, H on edges and on triangles, B on triangles."""
        law = self.law(saturation[self.sheet.faces].mean(axis=1))
        start = np.tensordot(current, self.vector, 1)
        phi = self.sheet.solve(start, phi, law.flux)
        field = self.sheet.field(start, phi)
        h = np.linalg.norm(field, axis=1)
        B = law.flux(h)[0]
        flux = (B / np.maximum(h, 1e-300))[:, None] * field
        return phi, current @ self.cochain + self.mesh.topo.d[0] @ phi, flux, law.energy(h, B)


def main():
    source, mesh, samples, tolerance = oracle.arguments(__doc__)
    iron = Iron(mesh, source.law())
    found = {"H": [], "B": [], "energy": []}
    for saturation, current in zip(source.array("saturation")[:samples, :, 0], source.array("current")[:samples]):
        _, H, B, energy = iron.magnetise(saturation, current, np.zeros(len(mesh.x)))
        found["H"].append(H)
        found["B"].append(np.linalg.norm(B, axis=1))
        found["energy"].append(energy)
    oracle.compare(source, {name: np.array(v)[..., None] for name, v in found.items()}, tolerance)


if __name__ == "__main__":
    main()
