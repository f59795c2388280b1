"""Complexes and exterior calculus on them."""
from __future__ import annotations

import ctypes as c
import os
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from ._library import Error, Owner, check, doubles, json_of, lib, path_bytes, structures, view

Path = "str | os.PathLike"


class Complex(Owner):
    """An oriented simplicial complex of degrees 0 … dim with vertex coordinates. Edges run from the smaller to the larger vertex
    number. Make one by read, generate, planar, torus or build."""

    def __init__(self) -> None:
        super().__init__(lib.dkho_complex_free)

    @classmethod
    def read(cls, path: Path, repair: bool = False, merge: float | None = None) -> Complex:
        """From a container of ours or a mesh file. repair: drop elements without extent. merge: merge points at most so far apart."""
        self = cls()
        options = structures["dkho_import_options"](repair=repair, merge=merge is not None, tolerance=merge or 0.0)
        if repair or merge is not None:
            check(lib.dkho_complex_import(c.byref(self._handle), path_bytes(path), c.byref(options)))
        else:
            check(lib.dkho_complex_read(c.byref(self._handle), path_bytes(path)))
        return self

    @classmethod
    def generate(cls, problem: str, resolution: str = "main") -> Complex:
        """The domain of a benchmark ("darcy", "torus", …) at resolution "main" or "smoke"."""
        self = cls()
        check(lib.dkho_complex_generate(c.byref(self._handle), problem.encode(), resolution.encode()))
        return self

    @classmethod
    def planar(cls, holes: Sequence[tuple[float, float, float]] = (), half: float = 1.0, h_near: float = 0.05, h_far: float = 0.1,
               near: float = 0.05, far: float = 0.5, interior: int = 0) -> Complex:
        """[-half, half]² without round holes (x, y, radius), triangles of size h_near at holes and h_far away from them."""
        self, list_ = cls(), doubles(holes).reshape(-1, 3)
        check(lib.dkho_complex_planar(c.byref(self._handle), half, len(list_), list_.ctypes.data, h_near, h_far, near, far, interior))
        return self

    @classmethod
    def torus(cls, major: float = 1.0, minor: float = 0.4, nu: int = 40, nv: int = 20) -> Complex:
        """A torus about z: a periodic nu × nv grid on the radii, each quad cut in two."""
        self = cls()
        check(lib.dkho_complex_torus(c.byref(self._handle), major, minor, nu, nv))
        return self

    @classmethod
    def build(cls, points: Any, simplices: Any) -> Complex:
        """From n × 2 or n × 3 points and m × (dim + 1) vertex numbers of the top simplices."""
        self, x, top = cls(), doubles(points), np.ascontiguousarray(simplices, np.int32)
        if x.ndim != 2 or top.ndim != 2:
            raise Error(f"points have shape {x.shape} and simplices {top.shape}: expected two axes each")
        check(lib.dkho_complex_build(c.byref(self._handle), x.shape[1], len(x), x.ctypes.data, top.shape[1] - 1, len(top),
                                     top.ctypes.data))
        return self

    @property
    def dim(self) -> int:
        """The top degree."""
        return lib.dkho_complex_dim(self._handle)

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of vertices, edges, faces, cells, up to dim."""
        return tuple(lib.dkho_complex_count(self._handle, k) for k in range(self.dim + 1))

    @property
    def points(self) -> np.ndarray:
        """Vertex coordinates, N₀ × 2 or 3; a view."""
        shape = self.counts[0], lib.dkho_complex_space(self._handle)
        return view(lib.dkho_complex_points(self._handle), c.c_double, shape, self._held)

    def _array(self, function: Any, kind: Any, k: int, width: int) -> np.ndarray:
        if not 0 < k <= self.dim:
            raise Error(f"degree {k}: expected 1 … {self.dim}")
        shape = (self.counts[k], width) if width else (self.counts[k],)
        return view(function(self._handle, k), kind, shape, self._held)

    def vertices(self, k: int) -> np.ndarray:
        """Vertex numbers of the simplices of degree k ≥ 1, N_k × (k + 1); a view."""
        return self._array(lib.dkho_complex_vertices, c.c_int32, k, k + 1)

    @property
    def edges(self) -> np.ndarray:
        """Tail and head of every edge, N₁ × 2; a view."""
        return self.vertices(1)

    @property
    def faces(self) -> np.ndarray:
        """Vertices of every triangle, N₂ × 3; a view."""
        return self.vertices(2)

    @property
    def cells(self) -> np.ndarray:
        """Vertices of every tetrahedron, N₃ × 4; a view."""
        return self.vertices(3)

    def boundary(self, k: int) -> np.ndarray:
        """Numbers of the (k - 1)-faces of every k-simplex, N_k × (k + 1); a view."""
        return self._array(lib.dkho_complex_faces, c.c_int32, k, k + 1)

    def signs(self, k: int) -> np.ndarray:
        """Their signs ±1 in d_{k-1}, N_k × (k + 1); a view."""
        return self._array(lib.dkho_complex_signs, c.c_int8, k, k + 1)

    def measures(self, k: int) -> np.ndarray:
        """Lengths, areas or volumes, N_k; a view."""
        return self._array(lib.dkho_complex_measures, c.c_double, k, 0)

    def incidence(self, k: int):
        """d_k as a SciPy CSR matrix, N_{k+1} × N_k."""
        from scipy.sparse import csr_matrix
        columns, signs = self.boundary(k + 1), self.signs(k + 1)
        rows = np.arange(0, columns.size + 1, k + 2)
        return csr_matrix((signs.ravel().astype(float), columns.ravel(), rows), (self.counts[k + 1], self.counts[k]))

    def labels(self, k: int) -> np.ndarray | None:
        """Label numbers of the k-simplices, or None; a view."""
        if not 0 <= k <= self.dim:
            raise Error(f"degree {k}: expected 0 … {self.dim}")
        at = lib.dkho_complex_labels(self._handle, k)
        return view(at, c.c_int32, (self.counts[k],), self._held) if at else None

    @property
    def label_names(self) -> list[str]:
        """What the label numbers mean, from 0."""
        names = []
        while (name := lib.dkho_complex_label_name(self._handle, len(names))) is not None:
            names.append(name.decode())
        return names

    def betti(self, relative: bool = False) -> tuple[int, ...]:
        """Betti numbers over the rationals, exact; relative: of the pair (complex, boundary)."""
        out = (c.c_int64 * 4)()
        check(lib.dkho_complex_betti(self._handle, relative, out))
        return tuple(out[:self.dim + 1])

    def describe(self) -> dict:
        """Counts, topology, quality, labels."""
        return json_of(lib.dkho_complex_describe, self._handle)

    def find_bases(self, modes: int) -> None:
        """Finds eigenvectors and harmonic fields and keeps them with the complex, to be saved with it."""
        check(lib.dkho_complex_bases(self._handle, modes))

    def save(self, path: Path, force: bool = False) -> None:
        """Writes a container (.st)."""
        check(lib.dkho_complex_save(self._handle, path_bytes(path), force))

    def export(self, path: Path, fields: Mapping[str, tuple[int, Any]] | None = None, force: bool = False) -> None:
        """Writes .vtm (a block per degree) or .vtu for ParaView. fields: name → (degree, values of N_k or N_k × channels)."""
        kept, list_ = [], (structures["dkho_field"] * len(fields or {}))()
        for entry, (name, (degree, values)) in zip(list_, (fields or {}).items()):
            array = as_rows(self, degree, values, name)
            kept.append((array, name.encode()))
            entry.name, entry.degree, entry.channels, entry.data = kept[-1][1], degree, array.shape[1], array.ctypes.data
        check(lib.dkho_complex_export(self._handle, path_bytes(path), force, len(list_), list_))


def as_rows(shape: Complex, degree: int, values: Any, name: str = "field") -> np.ndarray:
    """Values on the simplices of a degree as N × channels doubles."""
    array = doubles(values)
    rows = shape.counts[degree] if 0 <= degree <= shape.dim else -1
    if array.ndim not in (1, 2) or array.shape[0] != rows:
        raise Error(f"{name}: shape {array.shape}, expected {rows} rows for degree {degree}" if rows >= 0 else
                    f"{name}: degree {degree}, expected 0 … {shape.dim}")
    return array.reshape(rows, -1)


class Parts(NamedTuple):
    """u = exact + harmonic + coexact."""
    exact: np.ndarray
    harmonic: np.ndarray
    coexact: np.ndarray


class Calculus(Owner):
    """d, its adjoint δ, Hodge Laplacians, harmonic fields and spectra, in the metric "unit" (M = I) or "hodge". Fields are arrays of N_k,
    or N_k × channels."""

    def __init__(self, shape: Complex, metric: str = "unit") -> None:
        super().__init__(lib.dkho_calculus_free)
        if metric not in ("unit", "hodge"):
            raise Error(f"metric '{metric}': expected unit or hodge")
        self.complex = shape
        check(lib.dkho_calculus_create(c.byref(self._handle), shape._handle, ("unit", "hodge").index(metric)))
        self._held.complex = shape._held  # the library's calculus borrows it

    def star(self, k: int) -> np.ndarray:
        """The diagonal of M_k; a view."""
        return view(lib.dkho_calculus_star(self._handle, k), c.c_double, (self.complex.counts[k],), self._held)

    def _apply(self, function: Any, u: Any, k: int, to: int) -> np.ndarray:
        rows = as_rows(self.complex, k, u)
        out = np.empty((self.complex.counts[to] if 0 <= to <= self.complex.dim else 0, rows.shape[1]))
        check(function(self._handle, k, rows.shape[1], rows.ctypes.data, out.ctypes.data))
        return out if np.ndim(u) == 2 else out[:, 0]

    def d(self, u: Any, k: int) -> np.ndarray:
        """The exterior derivative, C^k → C^{k+1}."""
        return self._apply(lib.dkho_calculus_d, u, k, k + 1)

    def delta(self, u: Any, k: int) -> np.ndarray:
        """Its adjoint, C^k → C^{k-1}."""
        return self._apply(lib.dkho_calculus_delta, u, k, k - 1)

    def laplacian(self, u: Any, k: int) -> np.ndarray:
        """dδ + δd."""
        return self._apply(lib.dkho_calculus_laplacian, u, k, k)

    def decompose(self, u: Any, k: int) -> Parts:
        """The Hodge decomposition, orthogonal in M_k."""
        rows = as_rows(self.complex, k, u)
        out = [np.empty_like(rows) for _ in range(3)]
        check(lib.dkho_calculus_decompose(self._handle, k, rows.shape[1], rows.ctypes.data, *[a.ctypes.data for a in out]))
        return Parts(*(a if np.ndim(u) == 2 else a[:, 0] for a in out))

    def harmonic(self, k: int) -> np.ndarray:
        """An M_k-orthonormal basis of the harmonic fields, N_k × β_k."""
        count = c.c_int64()
        check(lib.dkho_calculus_harmonic(self._handle, k, 0, None, c.byref(count), None))
        out = np.empty((count.value, self.complex.counts[k]))
        check(lib.dkho_calculus_harmonic(self._handle, k, count.value, out.ctypes.data, c.byref(count), None))
        return out.T

    def spectrum(self, k: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The lowest positive eigenvalues of the Laplacian, ascending, and their eigenvectors, N_k × found."""
        values, vectors, found = np.empty(count), np.empty((count, self.complex.counts[k])), c.c_int64()
        check(lib.dkho_calculus_spectrum(self._handle, k, count, values.ctypes.data, vectors.ctypes.data, c.byref(found)))
        return values[:found.value], vectors[:found.value].T
