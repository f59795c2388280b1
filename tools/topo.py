"""Oriented simplicial complexes for the Python tools, by the rules of src/mesh/cx.h, written with SciPy's sparse matrices.

Edges run from the smaller to the larger vertex. A surface numbers its edges in order of first appearance walking its triangles as
(a,b), (b,c), (c,a); a tetrahedral complex numbers edges and (ascending) triangles lexicographically. Top simplices keep the order
they were given in.
"""
from itertools import combinations

import numpy as np
import scipy.sparse as sp


def parity(order):
    """+1 for an even permutation of distinct numbers, -1 for an odd one."""
    return (-1) ** sum(a > b for a, b in combinations(order, 2))


class Topo:
    """vert[k]: N_k × (k+1) vertex lists; d[k]: the coboundary C^k → C^{k+1} as CSR with entries ±1."""

    def __init__(self, n0, tops):
        tops = np.asarray(tops, dtype=np.int64)
        self.dim = tops.shape[1] - 1
        self.vert = {0: np.arange(n0)[:, None], self.dim: tops}
        if self.dim == 2:
            seen = {}
            for a, b, c in tops:
                for u, v in ((a, b), (b, c), (c, a)):
                    seen.setdefault((min(u, v), max(u, v)), len(seen))
            self.vert[1] = np.array(list(seen))
        elif self.dim == 3:
            for k in (1, 2):
                faces = {tuple(sorted(f)) for top in tops for f in combinations(top, k + 1)}
                self.vert[k] = np.array(sorted(faces))
        self._incidence()

    @classmethod
    def from_lists(cls, n0, vert):
        """From stored vertex lists of every degree 1 … dim."""
        self = cls.__new__(cls)
        self.dim = max(vert)
        self.vert = {0: np.arange(n0)[:, None], **{k: np.asarray(v, dtype=np.int64) for k, v in vert.items()}}
        self._incidence()
        return self

    def _incidence(self):
        self.n = [len(self.vert[k]) for k in range(self.dim + 1)]
        self.d = []
        for k in range(self.dim):
            index = {tuple(sorted(v)): (i, parity(v)) for i, v in enumerate(map(tuple, self.vert[k]))}
            rows, cols, vals = [], [], []
            for i, simplex in enumerate(map(tuple, self.vert[k + 1])):
                for omitted in range(k + 2):
                    face = simplex[:omitted] + simplex[omitted + 1:]
                    j, stored = index[tuple(sorted(face))]
                    rows.append(i)
                    cols.append(j)
                    vals.append((-1) ** omitted * parity(face) * stored)
            self.d.append(sp.csr_matrix((vals, (rows, cols)), shape=(self.n[k + 1], self.n[k]), dtype=np.float64))
        for a, b in zip(self.d, self.d[1:]):
            assert abs(b @ a).max() == 0

    def eigenpairs(self, k, star=None):
        """(λ ascending, M_k-orthonormal eigenvectors of Δ_k) by a dense eigensolve; star: list of vectors or None for M = I."""
        root = [np.ones(n) if star is None else np.sqrt(star[j]) for j, n in enumerate(self.n)]
        total = np.zeros((self.n[k], self.n[k]))
        if k > 0:
            down = sp.diags(1 / root[k - 1]) @ self.d[k - 1].T @ sp.diags(root[k])
            total += (down.T @ down).toarray()
        if k < self.dim:
            up = sp.diags(root[k + 1]) @ self.d[k] @ sp.diags(1 / root[k])
            total += (up.T @ up).toarray()
        lam, vec = np.linalg.eigh(total)
        return lam, vec / root[k][:, None]

    def harmonic(self, k, star=None):
        """An M_k-orthonormal basis (N_k × β) of ker Δ_k."""
        lam, vec = self.eigenpairs(k, star)
        return vec[:, lam < 1e-9 * max(lam[-1], 1.0)]

    def modes(self, k, count, star=None):
        """The `count` lowest eigenvectors (N_k × count), the entry of largest modulus positive, the first of those that tie. None of them may
        share an eigenvalue with another."""
        lam, vec = self.eigenpairs(k, star)
        assert all(b - a > 1e-3 * lam[-1] for a, b in zip(lam[:count], lam[1:count + 1])), lam[:count + 1]
        size = np.abs(vec[:, :count])
        first = (size > (1 - 1e-9) * size.max(axis=0)).argmax(axis=0)
        return vec[:, :count] * np.sign(vec[first, np.arange(count)])
