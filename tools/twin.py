"""The DKHO model in PyTorch, written from the paper: an independent twin of the C model, and the speed reference of bench/.

Batch first: features F_k are [B, N_k, D_k], the output is [B, N_q, C]. Incidence is torch.sparse.mm on [N, B·c], the fastest of the
plain choices (COO, CSR, index_select/index_add) on CPU. Affine weights are stored [in × out] in files and transposed here.
"""
import math
import re
from dataclasses import asdict, dataclass

import torch
from torch import nn
import torch.nn.functional as fn


@dataclass
class Config:
    h: int = 32
    c: int = 2
    layers: int = 4
    substeps: int = 2
    tau_lo: float = 0.02
    tau_range: float = 0.15
    lag_scale: float = 1.0
    variant: str = "full"  # full, no_dirac, no_phase, no_harmonic
    start: str = "zero"  # zero, deterministic, random_learnable
    target: int = 0
    channels: int = 1

    def as_dict(self):
        return asdict(self)


def active_degrees(dim, target):
    """Degrees that carry states: 0 … min(dim, 2), and 3 only when it is asked for."""
    return list(range((3 if target == 3 else min(dim, 2)) + 1))


class Incidence:
    """d_k: C^k → C^{k+1} and δ_k = M_{k-1}⁻¹ d_{k-1}ᵀ M_k: C^k → C^{k-1} among the active degrees; None where there is none.

    topo: tools/topo.py's Topo; star: one positive vector per degree, or None for M = I."""

    def __init__(self, topo, degrees, star=None, dtype=torch.float32):
        top = degrees[-1]
        self.n = [topo.n[k] for k in degrees]
        self.up = [None] * (top + 1)
        self.down = [None] * (top + 1)
        for k in range(top):
            d = topo.d[k].tocoo()
            delta = d.T
            if star is not None:
                delta = delta.tocsr().multiply(1 / star[k][:, None]).multiply(star[k + 1][None, :])
            self.up[k] = self._sparse(d, dtype)
            self.down[k + 1] = self._sparse(delta.tocoo(), dtype)

    @staticmethod
    def _sparse(a, dtype):
        index = torch.stack([torch.as_tensor(a.row).long(), torch.as_tensor(a.col).long()])
        return torch.sparse_coo_tensor(index, torch.as_tensor(a.data, dtype=dtype), a.shape).coalesce()

    @staticmethod
    def _apply(a, u):
        batch, n, ch = u.shape
        flat = torch.sparse.mm(a, u.transpose(0, 1).reshape(n, batch * ch))
        return flat.reshape(-1, batch, ch).transpose(0, 1)

    def d(self, k, u):
        return self._apply(self.up[k], u)

    def delta(self, k, u):
        return self._apply(self.down[k], u)


class Mlp(nn.Module):
    """affine, GELU (erf), LayerNorm, affine."""

    def __init__(self, i, w, o):
        super().__init__()
        self.lin1, self.norm, self.lin2 = nn.Linear(i, w), nn.LayerNorm(w, eps=1e-5), nn.Linear(w, o)

    def forward(self, x):
        return self.lin2(self.norm(fn.gelu(self.lin1(x))))


class Start(nn.Module):
    """A learned start of the relation state of one degree that every simplex shares."""

    def __init__(self, c):
        super().__init__()
        self.theta = nn.Parameter(0.05 * torch.randn(c))


def linears(ranks, i, o, bias=True):
    return nn.ModuleList(nn.Linear(i, o, bias=bias) for _ in range(ranks))


class Layer(nn.Module):
    def __init__(self, cfg, ranks):
        super().__init__()
        h, c = cfg.h, cfg.c
        self.cfg = cfg
        self.t = nn.Parameter(torch.full((1,), -1.35))
        self.s = nn.Parameter(torch.zeros(ranks))
        self.drive, self.gate, self.lag = (linears(ranks, h, c) for _ in range(3))
        self.read = linears(ranks, 2 * c, h)
        self.upd = nn.ModuleList(Mlp(2 * h, h, h) for _ in range(ranks))
        self.skip = linears(ranks, h, h, bias=False)
        self.norm = nn.ModuleList(nn.LayerNorm(h, eps=1e-5) for _ in range(ranks))

    def step(self):
        return self.cfg.tau_lo + self.cfg.tau_range * torch.sigmoid(self.t)

    def coupling(self):
        return fn.softplus(self.s) + 1e-4

    def substep(self, inc, theta, drive, gate, lag):
        """One synchronous Dirac–Kuramoto update of every degree."""
        tau, sigma, ranks = self.step(), self.coupling(), len(theta)
        new = []
        for k in range(ranks):
            force = drive[k]
            if self.cfg.variant == "no_dirac":
                force = force + sigma[k] * torch.sin(gate[k] * theta[k] - lag[k])
            if self.cfg.variant != "no_dirac" and k + 1 < ranks:
                upper = inc.d(k, theta[k]) - gate[k + 1] * theta[k + 1]
                force = force + sigma[k] * inc.delta(k + 1, torch.sin(upper - lag[k + 1]))
            if self.cfg.variant != "no_dirac" and k > 0:
                lower = inc.delta(k, theta[k]) + gate[k - 1] * theta[k - 1]
                force = force + sigma[k] * inc.d(k - 1, torch.sin(lower - lag[k - 1]))
            new.append(theta[k] - tau * force)
        return new

    def carrier(self, k, z):
        """no_phase: plain features where the relation state would be."""
        return torch.sigmoid(self.gate[k](z)) * torch.tanh(self.drive[k](z)) + torch.tanh(self.lag[k](z))

    def content(self, k, z, first, pair, scale=1.0):
        p = self.read[k](torch.cat(pair, -1))
        return self.norm[k](z + scale * self.upd[k](torch.cat([z, p], -1)) + self.skip[k](first))

    def forward(self, inc, z, first, theta):
        ranks = range(len(z))
        if self.cfg.variant == "no_phase":
            x = [self.carrier(k, z[k]) for k in ranks]
            message = []
            for k in ranks:
                m = 0
                if k + 1 < len(z):
                    m = m + inc.delta(k + 1, x[k + 1])
                if k > 0:
                    m = m + inc.d(k - 1, x[k - 1])
                message.append(self.coupling()[k] * m)
            return [self.content(k, z[k], first[k], [message[k], x[k]], self.step()) for k in ranks], theta
        drive = [self.drive[k](z[k]) for k in ranks]
        gate = [torch.tanh(self.gate[k](z[k])) for k in ranks]
        lag = [self.cfg.lag_scale * torch.tanh(self.lag[k](z[k])) for k in ranks]
        for _ in range(self.cfg.substeps):
            theta = self.substep(inc, theta, drive, gate, lag)
        return [self.content(k, z[k], first[k], [torch.cos(theta[k]), torch.sin(theta[k])]) for k in ranks], theta


class Dkho(nn.Module):
    """inputs: D_k per active degree; basis: harmonic basis H [N_q × β], M-orthonormal, or None; mass: M_q's diagonal or None for 1;
    summary: length of the summary vector that the harmonic head reads."""

    def __init__(self, cfg, inc, inputs, basis=None, mass=None, summary=0):
        super().__init__()
        h, c, ranks = cfg.h, cfg.c, len(inputs)
        self.cfg, self.inc = cfg, inc
        self.enc = nn.ModuleList(Mlp(i, h, h) for i in inputs)
        if cfg.start == "deterministic":
            self.rel = linears(ranks, h, c)
        elif cfg.start == "random_learnable":
            self.rel = nn.ModuleList(Start(c) for _ in range(ranks))
        self.layer = nn.ModuleList(Layer(cfg, ranks) for _ in range(cfg.layers))
        self.dec = Mlp(h + 2 * c, h, cfg.channels)
        self.basis = None if cfg.variant == "no_harmonic" else basis
        if self.basis is not None:
            self.mass = torch.ones_like(basis[:, 0]) if mass is None else mass
            self.harm = Mlp(summary, h, basis.shape[1] * cfg.channels)

    def relation(self, z):
        if self.cfg.start == "deterministic":
            return [math.pi * torch.tanh(r(u)) for r, u in zip(self.rel, z)]
        if self.cfg.start == "random_learnable":
            return [r.theta.expand(*u.shape[:2], -1) for r, u in zip(self.rel, z)]
        return [u.new_zeros(*u.shape[:2], self.cfg.c) for u in z]

    def forward(self, features, summary=None, trace=None):
        """trace: a list to which (z, θ) after each layer is appended."""
        z = first = [e(f) for e, f in zip(self.enc, features)]
        theta = self.relation(z)
        for layer in self.layer:
            z, theta = layer(self.inc, z, first, theta)
            if trace is not None:
                trace.append((z, theta))
        q = self.cfg.target
        if self.cfg.variant == "no_phase":
            last = self.layer[-1]
            pair = [last.carrier(q, z[q]), torch.tanh(last.gate[q](z[q]))]
        else:
            pair = [torch.cos(theta[q]), torch.sin(theta[q])]
        y = self.dec(torch.cat([z[q], *pair], -1))
        if self.basis is None:
            return y
        kept = torch.einsum("nb,n,snc->sbc", self.basis, self.mass, y)
        given = self.harm(summary).reshape(-1, self.basis.shape[1], self.cfg.channels)
        return y + torch.einsum("nb,sbc->snc", self.basis, given - kept)


def relative_l2(y, target):
    """Batch mean of ‖ŷ - y‖ / max(‖y‖, 1e-12)."""
    error = (y - target).flatten(1).norm(dim=1)
    return (error / target.flatten(1).norm(dim=1).clamp(min=1e-12)).mean()


def stored_name(name):
    """PyTorch's parameter name → the name in our files: layer.0.upd.1.lin1.weight → layer0.upd1.lin1.w."""
    name = re.sub(r"\.(\d+)", r"\1", name)
    weight = ".g" if re.search(r"norm\d*\.weight$", name) else ".w"
    return re.sub(r"\.bias$", ".b", re.sub(r"\.weight$", weight, name))


def stored(name, tensor):
    """The stored form of a parameter or its gradient: affine weights transposed to [in × out]."""
    array = tensor.detach().cpu()
    return (array.T if array.dim() == 2 else array).contiguous().numpy()


def train_step(model, optimiser, features, summary, target, clip=1.0):
    optimiser.zero_grad(set_to_none=True)
    loss = relative_l2(model(features, summary), target)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimiser.step()
    return loss.item()
