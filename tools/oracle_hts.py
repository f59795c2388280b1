"""Solves the superconducting wires again, from the stored mesh, critical densities and drives, with SciPy alone, and compares.

h_t = -curl E, E = 0.01 (|j|/J_c)^20 along j = dh in the wires, dh = 0 in the air, net currents and the field on the outer square given; 50 steps of
implicit Euler, 40 a cycle. Here h is unknown on every edge and the conditions are rows of a saddle-point system, where the library has a potential
in the air and cochains of currents. Masses by the middles of sides. Usage: oracle_hts.py FILE [--samples N] [--tolerance T]; prints JSON,
exit status 1 when a field differs by more than T.
"""
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import oracle
from oracle_lamination import angles, circle
from planar_fem import gradients

FIELD, POWER, CYCLE = 0.01, 20, 40


def whitney_mass(mesh, area, grad):
    """∫ w_e·w_f, exact by the middles of the three sides."""
    d, faces, (tail, head) = mesh.topo.d[1].tocsr(), mesh.topo.vert[2], mesh.topo.vert[1].T
    edges = d.indices.reshape(-1, 3)
    place = lambda v: (faces[:, None, :] == v[edges][:, :, None]).argmax(axis=2)
    a, b = place(tail), place(head)
    row = np.arange(len(faces))[:, None]
    local = 0
    for middle in np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2:
        base = middle[a][..., None] * grad[row, b] - middle[b][..., None] * grad[row, a]
        local = local + np.einsum("fei,fgi,f->feg", base, base, area / 3)
    rows, cols = np.repeat(edges, 3, axis=1).ravel(), np.tile(edges, (1, 3)).ravel()
    return sp.csr_matrix((local.ravel(), (rows, cols)), shape=2 * (len(tail),))


class Wires:
    def __init__(self, mesh):
        self.mesh = mesh
        label, faces = np.asarray(mesh.label[0]), mesh.topo.vert[2]
        corner = label[faces]
        self.wire = np.where((corner[:, 0] >= 2) & (corner == corner[:, :1]).all(axis=1), corner[:, 0] - 2, -1)
        self.count = self.wire.max() + 1
        self.area, grad = gradients(mesh.x, faces)
        self.mass = whitney_mass(mesh, self.area, grad)
        self.curl = mesh.topo.d[1][self.wire >= 0]
        tail, head = mesh.topo.vert[1].T
        outer = abs(mesh.topo.d[1]).sum(axis=0).A1 == 1
        centre = [circle(mesh.x[np.unique(faces[self.wire == j])][self.on_rim(j)]) for j in range(self.count)]
        cochain = [angles(mesh, c) for c in centre] + list((mesh.x[head] - mesh.x[tail]).T)
        inside = sp.csr_matrix([self.wire == j for j in range(self.count)], dtype=float) @ mesh.topo.d[1]
        # the last current follows from the others and the square
        rows = [mesh.topo.d[1][self.wire < 0], sp.eye(len(tail), format="csr")[outer], inside[:-1]]
        self.rows = sp.vstack(rows).tocsr()
        given = np.zeros((self.rows.shape[0], len(cochain)))
        start = rows[0].shape[0]
        given[start:start + outer.sum()] = np.array(cochain).T[outer]
        for j in range(self.count - 1):
            given[start + outer.sum() + j, j] = 1
        self.given = given
        self.still = spla.splu(self.saddle(self.mass))

    def on_rim(self, j):
        """Of the wire's vertices in ascending order: whether a face of another kind has them too."""
        faces = self.mesh.topo.vert[2]
        return np.isin(np.unique(faces[self.wire == j]), faces[self.wire != j])

    def saddle(self, matrix):
        return sp.bmat([[matrix, self.rows.T], [self.rows, None]], format="csc")

    def step(self, old, drive, jc):
        """h after a step: from the nearest field that meets the new conditions, by Newton's method inside them."""
        area, edges = self.area[self.wire >= 0], len(old)
        ratio = lambda h: (self.curl @ h) / area / jc
        energy = lambda h: (0.5 * CYCLE * (h - old) @ (self.mass @ (h - old))
                            + (area * jc * FIELD * np.abs(ratio(h))**(POWER + 1)).sum() / (POWER + 1))
        lack = self.given @ drive - self.rows @ old
        h = old + self.still.solve(np.concatenate([np.zeros(edges), lack]))[:edges]
        for _ in range(100):
            u = ratio(h)
            force = CYCLE * (self.mass @ (h - old)) + self.curl.T @ (FIELD * np.abs(u)**(POWER - 1) * u)
            slope = POWER * FIELD * np.abs(u)**(POWER - 1) / (jc * area)
            K = CYCLE * self.mass + self.curl.T @ sp.diags(slope) @ self.curl
            move = spla.spsolve(self.saddle(K), np.concatenate([-force, np.zeros(len(lack))]))[:edges]
            t, here = 1.0, energy(h)
            while t > 1e-6 and energy(h + t * move) > here + 1e-4 * t * (force @ move) + 1e-13 * abs(here):
                t /= 2
            h = h + t * move
            if np.linalg.norm(move) <= 1e-11 * np.linalg.norm(h):
                return h
        raise RuntimeError("the oracle's own iteration failed")

    def cycle(self, density, cos, sin):
        """h at the end, peak |j| and loss of the faces, over 5/4 of a cycle of which the last half is measured twice."""
        inside = self.wire >= 0
        jc = density[self.mesh.topo.vert[2][inside]].mean(axis=1)
        h, peak, loss = np.zeros(self.mass.shape[0]), np.zeros(len(inside)), np.zeros(len(inside))
        for k in range(1, 5 * CYCLE // 4 + 1):
            t = k / CYCLE
            rise = np.sin(2 * np.pi * min(t, 0.25))**2
            h = self.step(h, rise * (cos * np.cos(2 * np.pi * t) + sin * np.sin(2 * np.pi * t)), jc)
            if t > 0.75:
                j = np.abs(self.curl @ h) / self.area[inside]
                peak[inside] = np.maximum(peak[inside], j)
                loss[inside] += 2 / CYCLE * FIELD * (j / jc)**POWER * j
        return h, peak, loss


def main():
    source, mesh, samples, tolerance = oracle.arguments(__doc__)
    wires = Wires(mesh)
    found = {"h": [], "peak": [], "loss": []}
    for given in zip(source.array("jc")[:samples, :, 0], source.array("drive_cos")[:samples], source.array("drive_sin")[:samples]):
        for name, value in zip(found, wires.cycle(*given)):
            found[name].append(value)
    oracle.compare(source, {name: np.array(v)[..., None] for name, v in found.items()}, tolerance)


if __name__ == "__main__":
    main()
