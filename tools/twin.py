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
    exchange: str = "off"  # off, signed, unsigned, both
    relation: str = "kuramoto"  # kuramoto, none
    exchange_width: int = 0  # of what is exchanged; 0: h
    spectral: int = 0  # low modes per degree
    slots: int = 0  # inner width of the maps across modes; 0: all modes
    branch: str = "alone"  # alone, added, weighed
    latent: int = 0  # latent tokens per head

    def as_dict(self):
        """Extensions of the paper's network only where they are on."""
        plain = Config()
        extensions = ("exchange", "relation", "exchange_width", "spectral", "slots", "branch", "latent")
        return {k: v for k, v in asdict(self).items() if k not in extensions or v != getattr(plain, k)}

    def related(self):
        return self.relation == "kuramoto"


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
        self.faces, self.cofaces = [None] * (top + 1), [None] * (top + 1)
        for k in range(top):
            d = topo.d[k].tocoo()
            delta = d.T
            if star is not None:
                delta = delta.tocsr().multiply(1 / star[k][:, None]).multiply(star[k + 1][None, :])
            self.up[k] = self._sparse(d, dtype)
            self.down[k + 1] = self._sparse(delta.tocoo(), dtype)
            self.faces[k + 1] = self._mean(abs(d), dtype)
            self.cofaces[k] = self._mean(abs(d.T), dtype)

    @staticmethod
    def _sparse(a, dtype):
        index = torch.stack([torch.as_tensor(a.row).long(), torch.as_tensor(a.col).long()])
        return torch.sparse_coo_tensor(index, torch.as_tensor(a.data, dtype=dtype), a.shape).coalesce()

    @classmethod
    def _mean(cls, a, dtype):
        """Rows of equal weights that sum to one; an empty row stays empty."""
        count = a.tocsr().sum(axis=1).A
        return cls._sparse(a.tocsr().multiply(1 / count.clip(min=1)).tocoo(), dtype)

    @staticmethod
    def _apply(a, u):
        batch, n, ch = u.shape
        flat = torch.sparse.mm(a, u.transpose(0, 1).reshape(n, batch * ch))
        return flat.reshape(-1, batch, ch).transpose(0, 1)

    def d(self, k, u):
        return self._apply(self.up[k], u)

    def delta(self, k, u):
        return self._apply(self.down[k], u)

    def face_mean(self, k, u):
        """Of a field on degree k-1, on degree k."""
        return self._apply(self.faces[k], u)

    def coface_mean(self, k, u):
        """Of a field on degree k+1, on degree k."""
        return self._apply(self.cofaces[k], u)


class Mlp(nn.Module):
    """affine, GELU (erf), LayerNorm, affine."""

    def __init__(self, i, w, o):
        super().__init__()
        self.lin1, self.norm, self.lin2 = nn.Linear(i, w), nn.LayerNorm(w, eps=1e-5), nn.Linear(w, o)

    def forward(self, x, far=0):
        return self.lin2(self.norm(fn.gelu(self.lin1(x) + far)))


class Start(nn.Module):
    """A learned start of the relation state of one degree that every simplex shares."""

    def __init__(self, c):
        super().__init__()
        self.theta = nn.Parameter(0.05 * torch.randn(c))


def linears(ranks, i, o, bias=True):
    return nn.ModuleList(nn.Linear(i, o, bias=bias) for _ in range(ranks))


class Exchange(nn.Module):
    """What the neighbouring degrees send to the first affine map of the update: their states as d and δ carry them, and means."""

    def __init__(self, cfg, ranks):
        super().__init__()
        below, above = range(1, ranks), range(ranks - 1)
        width = cfg.exchange_width or cfg.h
        maps = lambda degrees: nn.ModuleDict({str(k): nn.Linear(width, cfg.h, bias=False) for k in degrees})
        self.send = linears(ranks, cfg.h, width, bias=False) if width != cfg.h else None
        if cfg.exchange in ("signed", "both"):
            self.sdn, self.sup = maps(below), maps(above)
        if cfg.exchange in ("unsigned", "both"):
            self.udn, self.uup = maps(below), maps(above)

    def forward(self, inc, z, k):
        z, out = [s(u) for s, u in zip(self.send, z)] if self.send else z, 0
        for name, j, carry in (("sdn", k - 1, lambda u: inc.d(k - 1, u)), ("sup", k + 1, lambda u: inc.delta(k + 1, u)),
                               ("udn", k - 1, lambda u: inc.face_mean(k, u)), ("uup", k + 1, lambda u: inc.coface_mean(k, u))):
            if hasattr(self, name) and 0 <= j < len(z):
                out = out + getattr(self, name)[str(k)](carry(z[j]))
        return out


class Spectral(nn.Module):
    """Φ_k (A₂ GELU(A₁ C B))_k R_k of every degree, C the stacked coefficients of all degrees."""

    def __init__(self, cfg, ranks, modes):
        super().__init__()
        many = ranks * cfg.spectral
        slots = cfg.slots or many
        self.modes = modes  # per degree (Φ, M): N_k × M, N_k
        self.mix = nn.Linear(cfg.h, cfg.h, bias=False)
        self.mix1, self.mix2 = nn.Linear(slots, many, bias=False), nn.Linear(many, slots, bias=False)
        self.ret = linears(ranks, cfg.h, cfg.h, bias=False)

    def forward(self, z):
        low = [torch.einsum("nm,n,bnh->bmh", phi, mass, u) / len(phi) ** 0.5 for (phi, mass), u in zip(self.modes, z)]
        left = lambda a, x: torch.einsum("ij,bih->bjh", a.weight, x)
        all_ = left(self.mix2, fn.gelu(left(self.mix1, self.mix(torch.cat(low, 1)))))
        parts = all_.chunk(len(z), 1)
        return [torch.einsum("nm,bmh->bnh", phi, r(v)) * len(phi) ** 0.5 for (phi, _), v, r in zip(self.modes, parts, self.ret)]


class Latent(nn.Module):
    """Attention of the simplices of all degrees to latent tokens, and of these to all simplices, in four heads."""

    def __init__(self, cfg, ranks):
        super().__init__()
        self.key, self.value = nn.Linear(cfg.h, cfg.h, bias=False), nn.Linear(cfg.h, cfg.h, bias=False)
        self.query = nn.Linear(cfg.h, cfg.latent, bias=False)
        self.back = linears(ranks, cfg.h, cfg.h, bias=False)

    def forward(self, z):
        stacked = torch.cat(z, 1)
        heads = lambda x: x.unflatten(-1, (4, -1))
        score = torch.einsum("bnic,mic->binm", heads(self.key(stacked)), heads(self.query.weight))
        tokens = torch.einsum("binm,bnic->bimc", score.softmax(2), heads(self.value(stacked)))
        heard = torch.einsum("binm,bimc->bnic", score.softmax(3), tokens).flatten(2)
        return [m(y) for m, y in zip(self.back, heard.split([u.shape[1] for u in z], 1))]


class Layer(nn.Module):
    def __init__(self, cfg, ranks, modes=None):
        super().__init__()
        h, c = cfg.h, cfg.c
        self.cfg = cfg
        if cfg.related():
            self.t = nn.Parameter(torch.full((1,), -1.35))
            self.s = nn.Parameter(torch.zeros(ranks))
            self.drive, self.gate, self.lag = (linears(ranks, h, c) for _ in range(3))
            self.read = linears(ranks, 2 * c, h)
        self.upd = nn.ModuleList(Mlp(2 * h if cfg.related() else h, h, h) for _ in range(ranks))
        self.skip = linears(ranks, h, h, bias=False)
        self.norm = nn.ModuleList(nn.LayerNorm(h, eps=1e-5) for _ in range(ranks))
        self.exchange = Exchange(cfg, ranks) if cfg.exchange != "off" else None
        self.spectral = Spectral(cfg, ranks, modes) if cfg.spectral else None
        self.latent = Latent(cfg, ranks) if cfg.latent else None

    def carried(self, inc, z):
        """What the extensions add to the first affine map of every degree."""
        far = [self.exchange(inc, z, k) if self.exchange else 0 for k in range(len(z))]
        for further in (self.spectral, self.latent):
            far = [a + b for a, b in zip(far, further(z))] if further else far
        return far

    def step(self):
        return self.cfg.tau_lo + self.cfg.tau_range * torch.sigmoid(self.t)

    def coupling(self):
        return fn.softplus(self.s) + 1e-4

    def corrections(self, inc, theta, gate, lag):
        """Exact and coexact feedback of every degree, before σ and τ; zero where there is no neighbour."""
        ranks = len(theta)
        exact, coexact = [0.0] * ranks, [0.0] * ranks
        for k in range(ranks - 1):
            upper = inc.d(k, theta[k]) - gate[k + 1] * theta[k + 1]
            coexact[k] = inc.delta(k + 1, torch.sin(upper - lag[k + 1]))
        for k in range(1, ranks):
            lower = inc.delta(k, theta[k]) + gate[k - 1] * theta[k - 1]
            exact[k] = inc.d(k - 1, torch.sin(lower - lag[k - 1]))
        return exact, coexact

    def substep(self, inc, theta, drive, gate, lag, record=None):
        """One synchronous Dirac–Kuramoto update of every degree."""
        tau, sigma = self.step(), self.coupling()
        if self.cfg.variant == "no_dirac":
            feedback = [torch.sin(g * t - l) for g, t, l in zip(gate, theta, lag)]
        else:
            exact, coexact = self.corrections(inc, theta, gate, lag)
            feedback = [e + c for e, c in zip(exact, coexact)]
            if record is not None:
                record.append((tau, sigma, exact, coexact))
        return [t - tau * (w + s * f) for t, w, s, f in zip(theta, drive, sigma, feedback)]

    def carrier(self, k, z):
        """no_phase: plain features where the relation state would be."""
        return torch.sigmoid(self.gate[k](z)) * torch.tanh(self.drive[k](z)) + torch.tanh(self.lag[k](z))

    def content(self, k, z, first, pair, far, scale=1.0):
        x = z if pair is None else torch.cat([z, self.read[k](torch.cat(pair, -1))], -1)
        return self.norm[k](z + scale * self.upd[k](x, far) + self.skip[k](first))

    def forward(self, inc, z, first, theta, record=None):
        ranks, far = range(len(z)), self.carried(inc, z)
        if not self.cfg.related():
            return [self.content(k, z[k], first[k], None, far[k]) for k in ranks], theta
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
            return [self.content(k, z[k], first[k], [message[k], x[k]], far[k], self.step()) for k in ranks], theta
        drive = [self.drive[k](z[k]) for k in ranks]
        gate = [torch.tanh(self.gate[k](z[k])) for k in ranks]
        lag = [self.cfg.lag_scale * torch.tanh(self.lag[k](z[k])) for k in ranks]
        for _ in range(self.cfg.substeps):
            theta = self.substep(inc, theta, drive, gate, lag, record)
        return [self.content(k, z[k], first[k], [torch.cos(theta[k]), torch.sin(theta[k])], far[k]) for k in ranks], theta


class Dkho(nn.Module):
    """inputs: D_k per active degree; basis: harmonic basis H [N_q × β], M-orthonormal, or None; mass: M_q's diagonal or None for 1;
    summary: length of the summary vector that the harmonic head reads; modes: (Φ_k, M_k) per active degree, for spectral."""

    def __init__(self, cfg, inc, inputs, basis=None, mass=None, summary=0, modes=None):
        super().__init__()
        h, c, ranks = cfg.h, cfg.c, len(inputs)
        self.cfg, self.inc = cfg, inc
        self.enc = nn.ModuleList(Mlp(i, h, h) for i in inputs)
        if cfg.start == "deterministic":
            self.rel = linears(ranks, h, c)
        elif cfg.start == "random_learnable":
            self.rel = nn.ModuleList(Start(c) for _ in range(ranks))
        self.layer = nn.ModuleList(Layer(cfg, ranks, modes) for _ in range(cfg.layers))
        self.dec = Mlp(h + 2 * c if cfg.related() else h, h, cfg.channels)
        self.basis = None if cfg.variant == "no_harmonic" else basis
        if self.basis is not None:
            self.mass = torch.ones_like(basis[:, 0]) if mass is None else mass
            self.harm = Mlp(summary, h, basis.shape[1] * cfg.channels)
            if cfg.branch == "weighed":
                self.harm.s = nn.Parameter(torch.full((basis.shape[1] * cfg.channels,), 0.5))

    def relation(self, z):
        if self.cfg.start == "deterministic":
            return [math.pi * torch.tanh(r(u)) for r, u in zip(self.rel, z)]
        if self.cfg.start == "random_learnable":
            return [r.theta.expand(*u.shape[:2], -1) for r, u in zip(self.rel, z)]
        return [u.new_zeros(*u.shape[:2], self.cfg.c) for u in z]

    def forward(self, features, summary=None, trace=None, record=None):
        """trace: a list to which (z, θ) after each layer is appended; record: the same for (τ, σ, exact, coexact) of each substep."""
        z = first = [e(f) for e, f in zip(self.enc, features)]
        theta = self.relation(z)
        for layer in self.layer:
            z, theta = layer(self.inc, z, first, theta, record)
            if trace is not None:
                trace.append((z, theta))
        q = self.cfg.target
        if not self.cfg.related():
            pair = []
        elif self.cfg.variant == "no_phase":
            last = self.layer[-1]
            pair = [last.carrier(q, z[q]), torch.tanh(last.gate[q](z[q]))]
        else:
            pair = [torch.cos(theta[q]), torch.sin(theta[q])]
        y = self.dec(torch.cat([z[q], *pair], -1))
        if self.basis is None:
            return y
        kept = torch.einsum("nb,n,snc->sbc", self.basis, self.mass, y) if self.cfg.branch != "added" else 0
        if self.cfg.branch == "weighed":
            kept = self.harm.s.reshape(kept.shape[1:]) * kept
        given = self.harm(summary).reshape(-1, self.basis.shape[1], self.cfg.channels)
        return y + torch.einsum("nb,sbc->snc", self.basis, given - kept)


def relative_l2(y, target):
    """Batch mean of ‖ŷ - y‖ / max(‖y‖, 1e-12)."""
    error = (y - target).flatten(1).norm(dim=1)
    return (error / target.flatten(1).norm(dim=1).clamp(min=1e-12)).mean()


def phase_score(record, degree, accumulated):
    """Σ τ‖σ_k (E_k + C_k)‖ over layers and substeps, or ‖E_k + C_k‖ of the last one: [B, N_k]."""
    terms = [(tau * sigma[degree], exact[degree] + coexact[degree]) for tau, sigma, exact, coexact in record]
    if accumulated:
        return sum(weight * term.norm(dim=-1) for weight, term in terms)
    return terms[-1][1].norm(dim=-1)


def stored_name(name):
    """PyTorch's parameter name → the name in our files: layer.0.upd.1.lin1.weight → layer0.upd1.lin1.w."""
    name = re.sub(r"\.(\d+)", r"\1", re.sub(r"\.(exchange|spectral|latent)\.", ".", name))
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
