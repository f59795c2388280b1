"""Writes tests/data/baselines/*.st: small baselines with everything the C models must reproduce, computed by tools/baselines_torch.py
in double.

Each file holds a complex (x, top), inputs of three samples (f0 …, y), all parameters in one vector (param), and what follows from
them in training mode: output, loss, gradient (grad); the losses of three AdamW steps on the same batch (losses), and after them the
running statistics of batch norms (running, "NAME.mean" and "NAME.var" in one vector) and the output in evaluation (evaluated). Metadata: "config" is the model; "params" and "state" have a line "name offset count" for each tensor of the vectors.
Usage: make_baseline_fixtures.py DIRECTORY
"""
import json
import os
import sys

import numpy as np
import scipy.spatial
import torch

import baselines_torch as baselines
import st
from make_twin_fixtures import annulus, positive, torus
from topo import Topo

SAMPLES, STEPS = 3, 3
INPUTS = [3, 2, 4]
# The floor in the divisor is large: a bias before a batch norm has no gradient but rounding, which AdamW would blow up.
OPTIMISER = {"lr": 1e-3, "wd": 1e-2, "clip": 1.0, "floor": 1e-3}


def patch(rng):
    """Delaunay triangles of 11 random points: without symmetry, so that no eigenvalue of a Laplacian is multiple."""
    x = rng.uniform(-1, 1, (11, 2))
    tops = scipy.spatial.Delaunay(x).simplices
    edges = x[tops[:, 1:]] - x[tops[:, :1]]
    turned = np.linalg.det(edges) < 0
    tops[turned] = tops[turned][:, [0, 2, 1]]
    return x, tops


def sphere(rng):
    """The convex hull of 9 random directions, triangles outward."""
    x = rng.standard_normal((9, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    tops = scipy.spatial.ConvexHull(x).simplices
    turned = np.linalg.det(x[tops]) < 0
    tops[turned] = tops[turned][:, [0, 2, 1]]
    return x, tops


def lump(rng):
    """Delaunay tetrahedra of 9 random points."""
    x = rng.uniform(-1, 1, (9, 3))
    return x, positive(x, scipy.spatial.Delaunay(x).simplices)


MESHES = {"annulus": annulus, "torus": torus, "patch": patch, "sphere": sphere, "lump": lump}

GNO, MGN = dict(h=6, project=5, layers=2), dict(h=6, steps=2)
SLICES = dict(mixer="slices", w=6, layers=2, heads=2, tokens=4)
DEEP = dict(branch=6, trunk=5, last=4, basis=5)
# name: (model, mesh, target, channels, options)
CASES = {
    "gno_plane": ("gno", "annulus", 2, 1, dict(GNO, radius=0.6)),
    "gno_form": ("gno", "torus", 1, 1, dict(GNO, radius=0.9)),
    "gno_surface": ("gno", "torus", 0, 1, dict(GNO, radius=0.7)),
    "gno_volume": ("gno", "lump", 0, 3, dict(GNO, radius=0.9)),
    "gno_published": ("gno", "lump", 0, 3, dict(GNO, radius=0.9, behaviour="published")),
    "mgn_plane": ("mgn", "annulus", 1, 1, MGN),
    "mgn_form": ("mgn", "torus", 2, 1, MGN),
    "mgn_surface": ("mgn", "torus", 0, 1, MGN),
    "mgn_volume": ("mgn", "lump", 0, 3, MGN),
    "deeponet_plane": ("deeponet", "annulus", 2, 1, DEEP),
    "deeponet_form": ("deeponet", "torus", 1, 1, DEEP),
    "deeponet_surface": ("deeponet", "torus", 0, 1, DEEP),
    "deeponet_volume": ("deeponet", "lump", 0, 3, DEEP),
    "fno_plane": ("fno", "annulus", 1, 1, dict(w=2, layers=2)),
    "fno_form": ("fno", "torus", 2, 1, dict(w=2, layers=2, modes=5, behaviour="published")),
    "fno_surface": ("fno", "torus", 0, 1, dict(w=3, layers=2, modes=3)),
    "fno_volume": ("fno", "lump", 0, 3, dict(w=3, layers=3, modes=2)),
    "fno_published": ("fno", "lump", 0, 3, dict(w=3, layers=2, modes=2, behaviour="published")),
    "geofno_plane": ("geofno", "annulus", 1, 1, dict(w=3, layers=2, modes=4)),
    "geofno_form": ("geofno", "torus", 2, 1, dict(w=2, layers=2)),
    "geofno_surface": ("geofno", "torus", 0, 1, dict(w=3, layers=2, modes=2)),
    "geofno_volume": ("geofno", "lump", 0, 3, dict(w=3, layers=2, modes=3)),
    "geofno_published": ("geofno", "lump", 0, 3, dict(w=3, layers=2, modes=2, behaviour="published")),
    "hsd_plane": ("hsd", "patch", 1, 1, dict(h=5, modes=4, w=3, layers=2, grid_modes=4)),
    "hsd_face": ("hsd", "patch", 2, 1, dict(h=5, modes=3, w=2, layers=2)),
    "hsd_surface": ("hsd", "sphere", 0, 1, dict(h=5, modes=4, w=3, layers=2, grid_modes=2)),
    "hsd_volume": ("hsd", "lump", 0, 3, dict(h=5, modes=4, w=3, layers=2, grid_modes=2)),
    "hsd_published": ("hsd", "lump", 0, 3, dict(h=5, modes=3, w=3, layers=2, grid_modes=2, behaviour="published")),
    "tno_plane": ("tno", "annulus", 1, 1, dict(w=5, layers=3)),
    "tno_torus": ("tno", "torus", 1, 1, dict(w=4, layers=2)),
    "tno_volume": ("tno", "lump", 0, 3, dict(w=5, layers=2)),
    "attention_slices": ("attention", "annulus", 2, 1, SLICES),
    "attention_latent": ("attention", "torus", 1, 1, dict(SLICES, mixer="latent", ratio=1)),
    "attention_volume": ("attention", "lump", 0, 3, dict(SLICES, heads=3, ratio=3)),
}


def draw(model, rng):
    """Values with nothing at a neutral place."""
    for name, p in model.named_parameters():
        if p.is_complex():
            value = (rng.uniform(-1, 1, p.shape) + 1j * rng.uniform(-1, 1, p.shape)) / p.shape[1]
        elif "norm" in name or p.dim() == 1:
            value = p.detach().numpy() + 0.3 * rng.standard_normal(p.shape)
        else:
            value = rng.uniform(-1, 1, p.shape) / np.sqrt(p.shape[-1]) * 1.5
        if name.startswith("gain"):
            value = 1 + 0.3 * rng.standard_normal(p.shape)
        if name.startswith("deform"):  # spread the points over the grid
            value = 2 * value
        half = np.complex64 if p.is_complex() else np.float32  # kept as floats
        p.data = torch.as_tensor(np.asarray(value).astype(half)).to(p.dtype)


def flat(model, pick):
    return np.concatenate([baselines.stored(model, n, pick(p)).ravel() for n, p in model.named_parameters()])


def table(model, items):
    rows, offset = [], 0
    for name, p in items:
        count = p.numel() * (2 if p.is_complex() else 1)
        rows.append(f"{baselines.stored_name(model, name)} {offset} {count}")
        offset += count
    return "\n".join(rows)


def statistics(model):
    return [(n, b) for n, b in model.named_buffers() if n.endswith(("running_mean", "running_var"))]


def train_step(model, adam, features, y):
    adam.zero_grad()
    loss = model.loss(features, y)
    loss.backward()
    live = [p for p in model.parameters() if p.grad is not None]
    norm = torch.sqrt(sum((torch.view_as_real(p.grad) if p.is_complex() else p.grad).square().sum() for p in live))
    for p in live:
        p.grad *= min(1.0, OPTIMISER["clip"] / (norm.item() + 1e-6))
    adam.step()
    return loss.item()


def make(seed, kind, mesh, target, channels, options):
    rng = np.random.default_rng(1000 + seed)
    x, tops = MESHES[mesh](rng)
    topo = Topo(len(x), tops)
    degrees = 3 if kind in ("hsd", "tno", "attention") else 1
    place = baselines.Place(x, topo, target)
    model = baselines.MODELS[kind](place, INPUTS, channels, **options)
    draw(model, rng)
    out = {"x": x, "top": tops.astype(np.int32)}
    out.update({f"f{k}": rng.standard_normal((SAMPLES, topo.n[k], INPUTS[k])) for k in range(degrees)})
    out["y"] = rng.standard_normal((SAMPLES, topo.n[target], channels)) * np.array([1.0, 0.3, 2.0])[:, None, None]
    features, y = [torch.as_tensor(out[f"f{k}"]) for k in range(degrees)], torch.as_tensor(out["y"])
    meta = {"params": table(model, model.named_parameters()), "state": table(model, statistics(model))}
    initial = {n: b.clone() for n, b in statistics(model)}
    out["param"] = flat(model, lambda p: p).astype(np.float32)
    p, loss = model(features), model.loss(features, y)
    loss.backward()
    out["output"], out["loss"] = p.detach().numpy(), np.array([loss.item()])
    out["grad"] = flat(model, lambda p: torch.zeros_like(p) if p.grad is None else p.grad)
    model.load_state_dict(initial, strict=False)  # the two passes above have moved the statistics
    adam = torch.optim.AdamW(model.parameters(), lr=OPTIMISER["lr"], weight_decay=OPTIMISER["wd"],
                             eps=OPTIMISER["floor"])
    out["losses"] = np.array([train_step(model, adam, features, y) for _ in range(STEPS)])
    if statistics(model):
        out["running"] = np.concatenate([b.numpy().ravel() for _, b in statistics(model)])
    model.eval()
    with torch.no_grad():
        out["evaluated"] = model(features).numpy()
    meta["config"] = json.dumps({"model": kind, "target": target, "channels": channels, "degrees": degrees, "inputs": INPUTS[:degrees],
                                 "set": [f"{k}={v}" for k, v in options.items()], "eps": 1e-10, "samples": SAMPLES, "steps": STEPS,
                                 **OPTIMISER})
    return out, {"kind": "baseline", **meta}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    for seed, (name, case) in enumerate(CASES.items()):
        torch.manual_seed(seed)
        tensors, meta = make(seed, *case)
        st.write(os.path.join(sys.argv[1], name + ".st"), tensors, meta)


if __name__ == "__main__":
    main()
