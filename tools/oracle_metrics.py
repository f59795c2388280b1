"""Every test metric of the three benchmarks in NumPy and SciPy, to check the C metrics against.

FILE is a container with the mesh (x, vert*, label0 where the interior matters), "pred" and "target" [S, N, ch] in physical units, and
for Darcy C1 "harmonic" [N1, β] (orthonormal columns); optional "other" [S, N2, 1], a C2 prediction to pair with Darcy C1. Usage:
oracle_metrics.py FILE LIST, LIST one of darcy_c0 darcy_c1 darcy_c2 torus_c0 torus_c1 torus_c2 cavity; prints JSON. Where a paper column is
not what its caption says, the column name holds the formula that fits the printed numbers and a second entry the captioned one.
"""
import json
import sys

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import oracle

THREE = (0.2, 0.5, 0.8)


def norms(a):
    return np.linalg.norm(a.reshape(len(a), -1), axis=1)


def relative(p, y, floor=1e-12):
    return (norms(p - y) / np.maximum(norms(y), floor)).mean()


def common(p, y):
    size = lambda a: abs(a).reshape(len(a), -1).sum(axis=1)
    return {"mse": ((p - y) ** 2).mean(), "rel_l2": relative(p, y), "rel_l1": (size(p - y) / np.maximum(size(y), 1e-12)).mean()}


def each(op, a):
    """op applied to every row of a [S, N]."""
    return (op @ a.T).T


def cosine(a, b, eta, weight=1.0):
    """Mean over samples of ½(1 + <a, b>/(‖a‖‖b‖ + η))."""
    dot = lambda u, v: (u * v * weight).sum(axis=1)
    return (0.5 * (1 + dot(a, b) / (np.sqrt(dot(a, a)) * np.sqrt(dot(b, b)) + eta))).mean()


def ratio_fidelity(e_pred, e_true, add):
    return (1 / (1 + abs(np.log((e_pred + add) / (e_true + add))))).mean()


def levels(y, fractions):
    """Thresholds [S, levels] from the reference alone."""
    low, high = y.min(axis=1, keepdims=True), y.max(axis=1, keepdims=True)
    return low + np.asarray(fractions) * (high - low)


def components(adjacent, mask):
    if not mask.any():
        return 0
    return connected_components(adjacent[mask][:, mask], directed=False)[0]


def component_score(adjacent, p, y):
    total = 0.0
    for row_p, row_y, cuts in zip(p, y, levels(y, THREE)):
        for cut in cuts:
            a, b = components(adjacent, row_p >= cut), components(adjacent, row_y >= cut)
            total += np.exp(-1.5 * abs(a - b) / max(a, b, 1))
    return total / (len(y) * len(THREE))


def mean_overlap(p, y, measure, fractions, weight):
    """Mean over samples of Σ_levels weight · measure(P ∩ Y) / measure(P ∪ Y)."""
    share, total = measure / measure.sum(), 0.0
    for row_p, row_y, cuts in zip(p, y, levels(y, fractions)):
        for cut, w in zip(cuts, weight):
            a, b = row_p >= cut, row_y >= cut
            total += w * share[a & b].sum() / max(share[a | b].sum(), 1e-12)
    return total / len(y)


def regions(adjacent, measure, p, y, fractions=THREE, weight=(1 / 3, 1 / 3, 1 / 3)):
    iou = mean_overlap(p, y, measure, fractions, weight)
    return {"s_beta0": component_score(adjacent, p, y), "iou": np.sqrt(iou), "iou_plain": iou}


class Geometry:
    def __init__(self, mesh):
        self.topo, self.x, self.label = mesh.topo, mesh.x, mesh.label
        self.d0, self.d1 = mesh.topo.d[0], mesh.topo.d[1]
        self.by_edge = abs(self.d0).T @ abs(self.d0)  # vertices joined by an edge
        self.by_side = abs(self.d1) @ abs(self.d1).T  # faces sharing an edge
        p = mesh.x[mesh.topo.vert[2]]
        if p.shape[2] == 2:
            p = np.concatenate([p, np.zeros((*p.shape[:2], 1))], axis=2)
        self.area = np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1) / 2

    def vertex_area(self):
        out = np.zeros(len(self.x))
        np.add.at(out, self.topo.vert[2].ravel(), np.repeat(self.area / 3, 3))
        return out


def darcy_c0(source, geo, p, y):
    inside = geo.label[0] == 0
    return {**common(p, y), "rel_l2_interior": relative(p[:, inside], y[:, inside]),
            "grad_fid": cosine(each(geo.d0, p), each(geo.d0, y), 1e-12), **regions(geo.by_edge, geo.vertex_area(), p, y)}


def darcy_c1(source, geo, p, y):
    basis, curl = source.array("harmonic"), each(geo.d1, p)
    out = {**common(p, y), "codiff_fid": cosine(each(geo.d0.T, p), each(geo.d0.T, y), 1e-12),
           "curl_fid": cosine(curl, each(geo.d1, y), 1e-12), "rel_l2_harmonic": relative(p @ basis, y @ basis),
           "rel_l2_curl": relative(curl, each(geo.d1, y))}
    if "other" in source.tensors:
        out["pair"] = relative(curl, source.array("other")[..., 0])
    return out


def darcy_c2(source, geo, p, y):
    return {**common(p, y), "coboundary_fid": cosine(each(geo.d1.T, p), each(geo.d1.T, y), 1e-12),
            **regions(geo.by_side, geo.area, p, y)}


def torus_c0(source, geo, p, y):
    fractions = np.arange(1, 11) / 11
    weight = np.exp(-4 * (fractions - 0.5) ** 2)
    return {**common(p, y), "rel_l2": (norms(p - y) / np.sqrt(norms(y) ** 2 + 1e-10)).mean(),
            "grad_fid": cosine(each(geo.d0, p), each(geo.d0, y), 1e-10),
            **regions(geo.by_edge, geo.vertex_area(), p, y, fractions, weight / weight.sum())}


def torus_c1(source, geo, p, y):
    energy = ratio_fidelity((p ** 2).sum(axis=1), (y ** 2).sum(axis=1), 1e-12)
    return {**common(p, y), "codiff_fid": cosine(each(geo.d0.T, p), each(geo.d0.T, y), 1e-12),
            "curl_fid": cosine(each(geo.d1, p), each(geo.d1, y), 1e-12), "energy_fid": energy}


def cavity(source, geo, p, y):
    tail, head = geo.topo.vert[1].T
    line = lambda v: np.einsum("sei,ei->se", 0.5 * (v[:, tail] + v[:, head]), geo.x[head] - geo.x[tail])
    fp, fy = line(p), line(y)
    div_p, div_y = each(geo.d0.T, fp), each(geo.d0.T, fy)
    vort = lambda f: each(geo.d1, f) / np.maximum(geo.area, 1e-10)
    vp, vy, share = vort(fp), vort(fy), geo.area / geo.area.sum()
    enstrophy = lambda v: (share * v ** 2).sum(axis=1)
    cross = (share * vp * vy).sum(axis=1) / (np.sqrt(enstrophy(vp) * enstrophy(vy)) + 1e-10)
    two = np.asarray(abs(geo.d1).sum(axis=0)).ravel() == 2
    manifold = abs(geo.d1) @ sp.diags(two.astype(float)) @ abs(geo.d1).T
    iou = mean_overlap(abs(vp), abs(vy), geo.area, np.arange(1, 11) / 11, np.full(10, 0.1))
    return {
        "mse": ((fp - fy) ** 2).mean(), "mse_nodal": ((p - y) ** 2).mean(),
        "rel_l2": (norms(p - y) / (norms(y) + 1e-12)).mean(),
        "div_fid": min(max(np.exp(-10 * ((div_p - div_y) ** 2).mean()), 0), 1), "div_cosine": cosine(div_p, div_y, 1e-12),
        "curl_mse": enstrophy(vp - vy).mean(), "vort_fid": (0.5 * (1 + cross)).mean(),
        "enst_fid": ratio_fidelity(enstrophy(vp), enstrophy(vy), 1e-10),
        "energy_fid": ratio_fidelity((fp ** 2).sum(axis=1), (fy ** 2).sum(axis=1), 1e-10),
        "iou": np.sqrt(iou), "iou_plain": iou, "s_beta0": component_score(manifold.tocsr(), abs(vp), abs(vy)),
    }


LISTS = {"darcy_c0": darcy_c0, "darcy_c1": darcy_c1, "darcy_c2": darcy_c2, "torus_c0": torus_c0, "torus_c1": torus_c1,
         "torus_c2": darcy_c2, "cavity": cavity}


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in LISTS:
        sys.exit(__doc__)
    source = oracle.Source(sys.argv[1])
    p, y = source.array("pred"), source.array("target")
    if sys.argv[2] != "cavity":
        p, y = p[..., 0], y[..., 0]
    print(json.dumps(LISTS[sys.argv[2]](source, Geometry(oracle.Mesh(source)), p, y), default=oracle.plain))


if __name__ == "__main__":
    main()
