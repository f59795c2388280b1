"""Complexes and calculus: identities, views without copies, refusals."""
import gc
import xml.etree.ElementTree as xml

import dkho
import numpy as np
import pytest


@pytest.fixture(scope="module")
def torus():
    return dkho.Complex.torus(nu=12, nv=8)


def test_topology(torus):
    assert torus.dim == 2 and torus.counts == (96, 288, 192) and torus.betti() == (1, 2, 1)
    assert np.all(torus.edges[:, 0] < torus.edges[:, 1]) and torus.faces.shape == (192, 3)
    disk = dkho.Complex.planar([(0, 0, 0.3)], h_near=0.2, h_far=0.3)
    assert disk.betti() == (1, 1, 0) and disk.betti(relative=True) == (0, 1, 1)
    assert disk.describe()["simplices"] == list(disk.counts)


def test_incidence(torus):
    d0, d1 = torus.incidence(0), torus.incidence(1)
    assert abs(d1 @ d0).max() == 0
    u = np.arange(torus.counts[0], dtype=float)
    tail, head = torus.edges.T
    assert np.array_equal(d0 @ u, u[head] - u[tail])
    assert np.array_equal(d0 @ u, dkho.Calculus(torus).d(u, 0))


def test_views_are_not_copies_and_keep_the_complex():
    shape = dkho.Complex.generate("darcy", "smoke")
    points, again = shape.points, shape.points
    assert points.ctypes.data == again.ctypes.data and not points.flags.writeable and not points.flags.owndata
    total = points.sum()
    shape.close()
    del again
    gc.collect()
    assert points.sum() == total
    with pytest.raises(dkho.Error, match="closed"):
        shape.counts


def test_build_and_measure():
    square = dkho.Complex.build([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    assert np.allclose(square.measures(2), 0.5) and np.isclose(square.measures(1).max(), np.sqrt(2))
    assert square.labels(1) is None
    with pytest.raises(dkho.Error, match="two axes"):
        dkho.Complex.build([0, 1], [[0, 1, 2]])
    with pytest.raises(dkho.Error):
        dkho.Complex.build([[0, 0], [1, 0], [1, 1]], [[0, 1, 7]])
    with pytest.raises(dkho.Error, match="degree 3"):
        square.cells


@pytest.mark.parametrize("metric", ["unit", "hodge"])
def test_hodge(torus, metric):
    calculus = dkho.Calculus(torus, metric)
    u = np.random.default_rng(1).normal(size=(torus.counts[1], 2))
    parts = calculus.decompose(u, 1)
    assert np.allclose(sum(parts), u)
    star = calculus.star(1)[:, None]
    for i in range(3):
        for j in range(i):
            assert np.allclose((star * parts[i] * parts[j]).sum(0), 0, atol=1e-8)
    h = calculus.harmonic(1)
    assert h.shape == (torus.counts[1], 2) and np.allclose(h.T @ (star * h), np.eye(2))
    assert np.allclose(calculus.d(h, 1), 0, atol=1e-9) and np.allclose(calculus.delta(h, 1), 0, atol=1e-9)
    values, vectors = calculus.spectrum(0, 3)
    assert np.all(np.diff(values) >= 0) and np.allclose(calculus.laplacian(vectors, 0), vectors * values, atol=1e-8)
    with pytest.raises(dkho.Error, match="rows"):
        calculus.d(u[:-1], 1)
    with pytest.raises(dkho.Error, match="unit or hodge"):
        dkho.Calculus(torus, "euclid")


def test_files(torus, tmp_path):
    torus.save(tmp_path / "t.st")
    back = dkho.Complex.read(tmp_path / "t.st")
    assert np.array_equal(back.points, torus.points) and np.array_equal(back.edges, torus.edges)
    with pytest.raises(dkho.Error, match="exists"):
        torus.save(tmp_path / "t.st")
    torus.export(tmp_path / "t.vtm", {"u": (0, torus.points[:, 0]), "w": (1, np.ones((torus.counts[1], 1)))})
    blocks = [e.get("name") for e in xml.parse(tmp_path / "t.vtm").getroot().iter("DataSet")]
    assert blocks == ["vertices", "edges", "faces"]
    dkho.view(tmp_path / "t.st", tmp_path / "t.html")
    assert (tmp_path / "t.html").stat().st_size > 10000
    assert dkho.describe(tmp_path / "t.st")["kind"] == "complex"
