"""Writes tests/data/twin/*.st: small models with everything the C model must reproduce, computed by tools/twin.py in double.

Each file holds a complex (x, top, vert1, vert2), metric (star*), inputs of three samples (f0 …, s, y), a harmonic basis (H), all
parameters in one vector (param), and what follows from them: output, loss, gradient (grad), for sample 0 the states after every
layer (z{l}_{k}, theta{l}_{k}) and the phase score (score), the losses of ten AdamW steps on the same batch (losses) and the parameters
after them (after). Metadata: "config" is the model; "params" has a line "name offset count has_gradient" for each tensor in the
parameter vectors. Usage: make_twin_fixtures.py DIRECTORY
"""
import copy
import json
import os
import sys

import numpy as np
import scipy.spatial
import torch

import st
import twin
from topo import Topo

SAMPLES, SUMMARY, STEPS = 3, 3, 10
INPUTS = [3, 2, 4, 2]
OPTIMISER = {"lr": 1e-3, "wd": 1e-2, "clip": 1.0, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}


def annulus(rng):
    """Three rings of six vertices, counter-clockwise triangles."""
    rings, around = 3, 6
    x, tops = [], []
    for i in range(rings):
        for j in range(around):
            angle = 2 * np.pi * (j + 0.5 * i + rng.uniform(-0.1, 0.1)) / around
            radius = 0.5 + 0.4 * i + rng.uniform(-0.04, 0.04)
            x.append([radius * np.cos(angle), radius * np.sin(angle)])
    for i in range(rings - 1):
        for j in range(around):
            a, b = i * around + j, i * around + (j + 1) % around
            c, d = a + around, b + around
            tops += [[a, c, b], [b, c, d]]
    return np.array(x), np.array(tops)


def torus(rng):
    """Periodic 4 × 4 grid on the torus of radii 1 and 0.4, outward triangles."""
    nu, nv = 4, 4
    u, v = np.meshgrid(2 * np.pi * np.arange(nu) / nu, 2 * np.pi * np.arange(nv) / nv, indexing="ij")
    u, v = u + rng.uniform(-0.1, 0.1, u.shape), v + rng.uniform(-0.1, 0.1, v.shape)
    x = np.stack([(1 + 0.4 * np.cos(v)) * np.cos(u), (1 + 0.4 * np.cos(v)) * np.sin(u), 0.4 * np.sin(v)], -1).reshape(-1, 3)
    tops = []
    for i in range(nu):
        for j in range(nv):
            a, b = i * nv + j, (i + 1) % nu * nv + j
            c, d = (i + 1) % nu * nv + (j + 1) % nv, i * nv + (j + 1) % nv
            tops += [[a, b, c], [a, c, d]]
    return x, np.array(tops)


def positive(x, tops):
    """Tetrahedra with their last two vertices exchanged where the volume is negative."""
    out = tops.copy()
    edges = x[tops[:, 1:]] - x[tops[:, :1]]
    turned = np.linalg.det(edges) < 0
    out[turned, 2:] = out[turned, 3:1:-1]
    return out


def ball(rng):
    """Delaunay tetrahedra of 9 random points."""
    x = rng.uniform(-1, 1, (9, 3))
    return x, positive(x, scipy.spatial.Delaunay(x).simplices)


def shell(rng):
    """An icosahedron of vertices around an octahedron whose inside is left out: Betti numbers (1, 0, 1)."""
    g = (1 + 5 ** 0.5) / 2
    outer = [p for a in (-1, 1) for b in (-g, g) for p in ([0, a, b], [a, b, 0], [b, 0, a])]
    inner = [p for a in (-0.7, 0.7) for p in ([a, 0, 0], [0, a, 0], [0, 0, a])]
    x = np.array(outer + inner) + rng.uniform(-0.05, 0.05, (18, 3))
    tops = scipy.spatial.Delaunay(x).simplices
    return x, positive(x, tops[(tops < 12).any(axis=1)])


MESHES = {"annulus": annulus, "torus": torus, "ball": ball, "shell": shell}

# The phase score of the benchmark that a mesh resembles: degree, accumulated over all substeps or of the last one.
SCORES = {"annulus": (2, True), "torus": (1, True), "shell": (0, False)}

# name: (mesh, metric, harmonic head, model options)
CASES = {
    "annulus_c0": ("annulus", "unit", False, dict(target=0)),
    "annulus_c1": ("annulus", "hodge", True, dict(target=1, h=4)),
    "annulus_c2": ("annulus", "hodge", False, dict(target=2, lag_scale=0.5, tau_range=0.18, h=4)),
    "annulus_deep": ("annulus", "unit", False, dict(target=0, layers=4, h=3)),
    "annulus_wide": ("annulus", "unit", True, dict(target=1, h=7, c=3, layers=1)),
    "annulus_deterministic": ("annulus", "unit", True, dict(target=1, start="deterministic")),
    "annulus_no_harmonic": ("annulus", "unit", True, dict(target=1, variant="no_harmonic", h=4)),
    "annulus_no_phase": ("annulus", "hodge", True, dict(target=1, variant="no_phase", h=4)),
    "torus_c0": ("torus", "hodge", True, dict(target=0, tau_range=0.10, h=4)),
    "torus_c1": ("torus", "unit", True, dict(target=1, tau_range=0.10, substeps=3)),
    "torus_random": ("torus", "unit", True, dict(target=2, tau_range=0.10, start="random_learnable", substeps=1, h=4)),
    "torus_no_dirac": ("torus", "unit", True, dict(target=1, tau_range=0.10, variant="no_dirac", h=4)),
    "torus_no_phase": ("torus", "unit", True, dict(target=0, tau_range=0.10, variant="no_phase", h=4)),
    "shell_c0": ("shell", "unit", True, dict(target=0, channels=3, h=5)),
    "shell_c2": ("shell", "hodge", True, dict(target=2, channels=3, h=4)),
    "ball_c3": ("ball", "hodge", False, dict(target=3, h=4)),
    "ball_no_phase": ("ball", "hodge", False, dict(target=3, variant="no_phase", h=4)),
    "annulus_x": ("annulus", "hodge", True, dict(target=1, h=4, exchange="both", relation="none", spectral=3)),
    "annulus_x_phases": ("annulus", "unit", False, dict(target=0, h=5, layers=1, exchange="both")),
    "annulus_x_unsigned": ("annulus", "unit", False, dict(target=2, h=5, layers=1, exchange="unsigned", relation="none")),
    "shell_x": ("shell", "hodge", False, dict(target=2, h=5, layers=1, exchange="both", relation="none", spectral=2)),
    "ball_x_signed": ("ball", "hodge", False, dict(target=3, h=4, layers=1, exchange="signed", spectral=1)),
    "torus_x_added": ("torus", "hodge", True, dict(target=1, h=3, layers=1, exchange="signed", relation="none", branch="added")),
    "annulus_x_narrow": ("annulus", "hodge", True, dict(target=1, h=4, layers=1, exchange="both", relation="none", exchange_width=3,
                                                        spectral=3, slots=4, branch="added")),
    "shell_x_narrow": ("shell", "unit", True, dict(target=2, h=5, layers=1, exchange="both", exchange_width=2, channels=2, branch="weighed")),
    "torus_x_latent": ("torus", "unit", True, dict(target=1, h=8, layers=1, exchange="signed", relation="none", latent=3)),
}


def draw(model, rng):
    """Parameter values with nothing at a neutral place."""
    for name, p in model.named_parameters():
        last = name.rsplit(".", 1)[-1]
        if last in ("t", "s"):
            value = {"t": -1.35, "s": 0.5 if name.startswith("harm") else 0.0}[last] + 0.5 * rng.standard_normal(p.shape)
        elif "norm" in name:
            value = (last == "weight") + 0.3 * rng.standard_normal(p.shape)
        elif last == "theta":
            value = rng.standard_normal(p.shape)
        else:
            fan = p.shape[-1] if p.dim() == 2 else model.get_parameter(name[:-4] + "weight").shape[-1]
            value = rng.uniform(-1, 1, p.shape) / np.sqrt(fan) * (1.5 if p.dim() == 2 else 1.0)
        p.data = torch.as_tensor(value, dtype=torch.float64)


def spread(model, run):
    """The smallest variance that a layer norm meets during run()."""
    seen = []
    record = lambda module, inputs: seen.append(inputs[0].var(dim=-1, unbiased=False).min().item())
    hooks = [m.register_forward_pre_hook(record) for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()
    return min(seen)


def flat(model, pick):
    """pick(p) of every parameter in stored form, zeros where it is None, in one vector."""
    return np.concatenate([np.zeros(p.numel()) if pick(p) is None else twin.stored(name, pick(p)).ravel()
                           for name, p in model.named_parameters()])


def table(model):
    rows, offset = [], 0
    for name, p in model.named_parameters():
        rows.append(f"{twin.stored_name(name)} {offset} {p.numel()} {int(p.grad is not None)}")
        offset += p.numel()
    return "\n".join(rows)


def make(seed, mesh, metric, harmonic, options):
    rng = np.random.default_rng(seed)
    cfg = twin.Config(**{"h": 5, "c": 2, "layers": 2, **options})
    x, tops = MESHES[mesh](rng)
    topo = Topo(len(x), tops)
    degrees = twin.active_degrees(topo.dim, cfg.target)
    star = [rng.uniform(0.5, 2.0, n) for n in topo.n] if metric == "hodge" else None
    q, inputs = cfg.target, [INPUTS[k] for k in degrees]
    out = {"x": x, "top": tops.astype(np.int32)}
    out.update({f"vert{k}": topo.vert[k].astype(np.int32) for k in range(1, topo.dim)})
    if star:
        out.update({f"star{k}": s for k, s in enumerate(star)})
    basis = topo.harmonic(q, star) if harmonic else None
    if harmonic:
        assert basis.shape[1] > 0
        out["H"] = basis
    out.update({f"f{k}": rng.standard_normal((SAMPLES, topo.n[k], i)) for k, i in zip(degrees, inputs)})
    out["s"] = rng.standard_normal((SAMPLES, SUMMARY))
    out["y"] = rng.standard_normal((SAMPLES, topo.n[q], cfg.channels)) * np.array([1.0, 0.3, 2.0])[:, None, None]

    t = lambda a: None if a is None else torch.as_tensor(a, dtype=torch.float64)
    inc = twin.Incidence(topo, degrees, star, torch.float64)
    mass = lambda k: np.ones(topo.n[k]) if star is None else star[k]
    modes = [(t(topo.modes(k, cfg.spectral, star)), t(mass(k))) for k in degrees] if cfg.spectral else None
    model = twin.Dkho(cfg, inc, inputs, t(basis), t(star[q]) if star else None, SUMMARY, modes)
    features, summary, target = [t(out[f"f{k}"]) for k in degrees], t(out["s"]), t(out["y"])
    # A nearly constant row would cost float its digits in a layer norm: of thirty draws, the one that stays farthest from that.
    tries = []
    for _ in range(30):
        draw(model, rng)
        tries.append((spread(model, lambda: model(features, summary)), copy.deepcopy(model.state_dict())))
    model.load_state_dict(max(tries, key=lambda t: t[0])[1])
    trace, record = [], []
    y = model(features, summary, trace, record)
    loss = twin.relative_l2(y, target)
    loss.backward()
    params = table(model)
    out["param"], out["grad"] = flat(model, lambda p: p.detach()), flat(model, lambda p: p.grad)
    out["output"], out["loss"] = y.detach().numpy(), np.array([loss.item()])
    for layer, (z, theta) in enumerate(trace):
        for k in degrees:
            out[f"z{layer}_{k}"] = z[k][0].detach().numpy()
            if cfg.variant != "no_phase" and cfg.related():
                out[f"theta{layer}_{k}"] = theta[k][0].detach().numpy()
    if mesh in SCORES and cfg.variant == "full" and cfg.related():
        out["score"] = twin.phase_score(record, SCORES[mesh][0], SCORES[mesh][1])[0].detach().numpy()
    adam = torch.optim.AdamW(model.parameters(), lr=OPTIMISER["lr"], weight_decay=OPTIMISER["wd"], eps=OPTIMISER["eps"],
                             betas=(OPTIMISER["beta1"], OPTIMISER["beta2"]))
    out["losses"] = np.array([twin.train_step(model, adam, features, summary, target, OPTIMISER["clip"]) for _ in range(STEPS)])
    out["after"] = flat(model, lambda p: p.detach())
    config = {**cfg.as_dict(), "mesh": mesh, "metric": metric, "degrees": len(degrees), "inputs": inputs, "summary": SUMMARY,
              "beta": basis.shape[1] if harmonic else 0, "samples": SAMPLES, "steps": STEPS, **OPTIMISER}
    return out, {"kind": "twin", "config": json.dumps(config), "params": params}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    for seed, (name, case) in enumerate(CASES.items()):
        tensors, meta = make(seed, *case)
        st.write(os.path.join(sys.argv[1], name + ".st"), tensors, meta)


if __name__ == "__main__":
    main()
