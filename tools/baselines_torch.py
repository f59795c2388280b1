"""The six baselines of the paper and two stronger ones (tno, attention) in PyTorch, written from their description, as one would write
them: concatenated inputs, index_add over edge lists, torch.fft. The C models (src/model) must reproduce them; bench/compare_pytorch.py times them.

Every model is called with a list of features by degree, [batch, N_k, D_k], and returns [batch, N_q, channels]. `behaviour` is
"repaired" or "published" (docs/MODEL.md).
"""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

POINTS = 16


class Place:
    """A complex (tools/topo.py) with positions, and the form in which the published networks meet it."""

    def __init__(self, x, topo, target, form="auto"):
        self.raw, self.topo, self.target = np.asarray(x, dtype=np.float64), topo, target
        self.gdim = self.raw.shape[1]
        if form == "auto":
            form = "volume" if topo.dim == 3 else "surface" if self.gdim == 3 and target == 0 else "plane"
        self.form, self.plane = form, form == "plane"
        self.points, self.query = self.centroids(0), self.centroids(target)

    def centroids(self, k):
        c = self.raw[self.topo.vert[k]].mean(axis=1)
        return np.pad(c, ((0, 0), (0, 3 - self.gdim)))

    def pick(self, plane, surface, volume):
        return {"plane": plane, "surface": surface, "volume": volume}[self.form]


def const(a, dtype=None):
    a = torch.as_tensor(np.asarray(a))
    return a.to(torch.get_default_dtype()) if a.is_floating_point() and dtype is None else a


def relative_l2(p, y, eps):
    norm = lambda a: a.flatten(1).norm(dim=1)
    return (norm(p - y) / norm(y).clamp_min(eps)).mean()


class Model(nn.Module):
    def __init__(self, place, channels, eps=1e-10):
        super().__init__()
        self.place, self.channels, self.eps = place, channels, eps

    def buffer(self, name, value):
        self.register_buffer(name, const(value), persistent=False)

    def loss(self, features, y):
        return relative_l2(self(features), y, self.eps)


class Pool(nn.Module):
    """Mean over the vertices of each target simplex."""

    def __init__(self, place):
        super().__init__()
        self.register_buffer("vert", const(place.topo.vert[place.target]), persistent=False)

    def forward(self, h):
        return h[:, self.vert].mean(dim=2)


class Gno(Model):
    def __init__(self, place, inputs, channels, h=0, project=0, layers=0, radius=0.0, behaviour="repaired", **kw):
        super().__init__(place, channels, **kw)
        h, project = h or place.pick(120, 120, 84), project or place.pick(68, 68, 96)
        layers, radius = layers or place.pick(3, 3, 5), radius or place.pick(0.15, 0.15, 0.20)
        self.published = behaviour == "published"
        gap = np.linalg.norm(place.points[:, None] - place.points[None], axis=2)
        near = gap <= radius if place.plane else gap < radius
        np.fill_diagonal(near, False)
        receiver, sender = np.nonzero(near)
        count = near.sum(1)
        self.buffer("receiver", receiver)
        self.buffer("sender", sender)
        self.buffer("inverse", (1 / np.maximum(count, 1) if place.plane else 1 / (count + 1e-6))[:, None])
        self.buffer("points", place.points)
        if place.plane:
            self.adapter = nn.Linear(inputs[0], 4)
        self.lift1, self.lift2 = nn.Linear(4 if place.plane else inputs[0] + 3, h), nn.Linear(h, h)
        self.layer = nn.ModuleList(nn.ModuleDict({
            "msg1": nn.Linear(2 * h + 3, h), "msg2": nn.Linear(h, h), "upd1": nn.Linear(2 * h, h), "upd2": nn.Linear(h, h),
            "norm": nn.LayerNorm(h)}) for _ in range(layers))
        self.proj1, self.proj2, self.pool = nn.Linear(h, project), nn.Linear(project, channels), Pool(place)

    def mean(self, h):
        return torch.zeros_like(h).index_add(1, self.receiver, h[:, self.sender]) * self.inverse

    def forward(self, features):
        x = features[0]
        points = self.points.expand(len(x), -1, -1)
        x = self.adapter(x) if self.place.plane else torch.cat([x, points], -1)
        h = self.lift2(F.gelu(self.lift1(x)))
        offset = self.mean(points) - points
        for layer in self.layer:
            message = layer["msg2"](F.gelu(layer["msg1"](torch.cat([h, self.mean(h), offset], -1))))
            h = h + layer["norm"](layer["upd2"](F.gelu(layer["upd1"](torch.cat([h, message], -1)))))
        return self.proj2(F.gelu(self.proj1(self.pool(h))))

    def loss(self, features, y):
        p = self(features)
        return relative_l2(p.transpose(1, 2).reshape(y.shape) if self.published else p, y, self.eps)


def mgn_net(inputs, h):
    return nn.Sequential(nn.Linear(inputs, h), nn.LayerNorm(h), nn.ReLU(), nn.Linear(h, h), nn.LayerNorm(h))


class Mgn(Model):
    def __init__(self, place, inputs, channels, h=0, steps=0, **kw):
        super().__init__(place, channels, **kw)
        h, steps = h or place.pick(72, 72, 58), steps or place.pick(8, 8, 10)
        tail, head = place.topo.vert[1].T
        sender, receiver = np.concatenate([tail, head]), np.concatenate([head, tail])
        gap = place.points[receiver] - place.points[sender]
        if place.gdim == 2:
            length = np.linalg.norm(gap, axis=1, keepdims=True)
            gap = np.concatenate([gap[:, :2] / length, length], 1)
        self.buffer("sender", sender)
        self.buffer("receiver", receiver)
        self.buffer("shape", gap)
        self.buffer("points", place.points)
        if place.plane:
            self.adapter = nn.Linear(inputs[0], 4)
        self.enc_v, self.enc_e = nn.Linear(4 if place.plane else inputs[0] + 3, h), nn.Linear(3, h)
        self.step = nn.ModuleList(nn.ModuleDict({"edge": mgn_net(3 * h, h), "node": mgn_net(2 * h, h)}) for _ in range(steps))
        self.dec1, self.dec2, self.pool = nn.Linear(h, h), nn.Linear(h, channels), Pool(place)

    def forward(self, features):
        x = features[0]
        x = self.adapter(x) if self.place.plane else torch.cat([x, self.points.expand(len(x), -1, -1)], -1)
        x, e = self.enc_v(x), self.enc_e(self.shape).expand(len(x), -1, -1)
        for step in self.step:
            e = step["edge"](torch.cat([x[:, self.sender], x[:, self.receiver], e], -1))
            x = x + step["node"](torch.cat([x, torch.zeros_like(x).index_add(1, self.receiver, e)], -1))
        return self.dec2(F.relu(self.dec1(self.pool(x))))


class DeepOnet(Model):
    def __init__(self, place, inputs, channels, branch=0, trunk=0, last=0, basis=0, **kw):
        super().__init__(place, channels, **kw)
        b, t, last = branch or place.pick(96, 96, 64), trunk or place.pick(68, 68, 64), last or 64
        out = (basis or place.pick(64, 64, 74)) * channels
        self.buffer("query", place.query)
        if place.plane:
            self.adapter = nn.Linear(inputs[0], 1)
        net = lambda *w: nn.ModuleList(nn.Linear(i, o) for i, o in zip(w, w[1:]))
        self.branch = net(place.topo.n[0] * (1 if place.plane else inputs[0]), b, b, last, out)
        self.trunk = net(3, t, t, last, out)
        self.bias = nn.Parameter(torch.zeros(channels))

    @staticmethod
    def run(net, x):
        for layer in net[:-1]:
            x = F.gelu(layer(x))
        return net[-1](x)

    def forward(self, features):
        x = self.adapter(features[0]) if self.place.plane else features[0]
        b, t = self.run(self.branch, x.flatten(1)), self.run(self.trunk, self.query)
        split = lambda a: a.view(len(a), self.channels, -1)
        return torch.einsum("bod,nod->bno", split(b), split(t)) + self.bias


class Spectral(nn.Module):
    """Truncated spectral convolution of [batch, width, 16, 16 (, 16)]; a complex weight per sign pattern of the leading axes."""

    def __init__(self, dim, width, modes):
        super().__init__()
        self.dim, self.modes = dim, modes
        shape = (2 ** (dim - 1), width, width) + (modes,) * dim
        self.weight = nn.Parameter(torch.complex(torch.rand(shape), torch.rand(shape)) / width**2)

    def forward(self, x):
        m, axes = self.modes, tuple(range(-self.dim, 0))
        spectrum = torch.fft.rfftn(x, dim=axes)
        out = torch.zeros_like(spectrum)
        low, high = slice(0, m), slice(POINTS - m, POINTS)
        if self.dim == 2:
            for block, rows in enumerate((low, high)):
                out[:, :, rows, low] = torch.einsum("biyx,ioyx->boyx", spectrum[:, :, rows, low], self.weight[block])
        else:
            for block, (a, b) in enumerate(((low, low), (high, low), (low, high), (high, high))):
                part = spectrum[:, :, a, b, low]
                out[:, :, a, b, low] = torch.einsum("bixyz,ioxyz->boxyz", part, self.weight[block])
        return torch.fft.irfftn(out, s=x.shape[-self.dim:], dim=axes)


class GridLayers(nn.Module):
    """Works on [batch, cells, width]; the names of its parts are those of the C model."""

    def __init__(self, dim, width, layers, modes):
        super().__init__()
        self.dim = dim
        self.layer = nn.ModuleList(nn.ModuleDict({
            "spec": Spectral(dim, width, modes), "local": nn.Linear(width, width), "norm": nn.BatchNorm1d(width)})
            for _ in range(layers))

    def layers(self, h):
        for i, layer in enumerate(self.layer):
            grid = h.transpose(1, 2).reshape(len(h), -1, *[POINTS] * self.dim)
            wide = layer["spec"](grid).flatten(2)
            h = layer["norm"](wide + layer["local"](h).transpose(1, 2)).transpose(1, 2)
            if i + 1 < len(self.layer):
                h = F.gelu(h)
        return h


class GridNet(GridLayers):
    def __init__(self, dim, inputs, width, layers, modes, out):
        super().__init__(dim, width, layers, modes)
        self.lift, self.proj1, self.proj2 = nn.Linear(inputs, width), nn.Linear(width, width), nn.Linear(width, out)

    def forward(self, x):
        return self.proj2(F.gelu(self.proj1(self.layers(self.lift(x)))))


class GridMaps(nn.Module):
    """Vertices to cells and cells to the target's simplices."""

    def __init__(self, place, published):
        super().__init__()
        self.plane = place.plane
        raw, query = place.raw, place.query[:, :place.gdim]
        lo, hi = raw.min(0), raw.max(0)
        if self.plane:
            if published:
                lo, hi = -np.ones(2), np.ones(2)
            index = lambda p: np.clip(np.rint((p[:, :2] - lo[:2]) / (hi[:2] - lo[:2]) * (POINTS - 1)), 0, POINTS - 1).astype(int)
            cell = lambda p: index(p)[:, 1] * POINTS + index(p)[:, 0]
            cells = cell(raw)
            count = np.bincount(cells, minlength=POINTS**2)
            self.register_buffer("cell", const(cells), persistent=False)
            self.register_buffer("inverse", const(1 / np.maximum(count, 1.0)[:, None]), persistent=False)
            self.register_buffer("read", const(cell(query)), persistent=False)
        else:
            unit = lambda p: (p - lo) / (hi - lo + 1e-6)
            cell = (unit(raw) * (POINTS - 1)).astype(int) @ [POINTS**2, POINTS, 1]
            last = {c: i for i, c in enumerate(cell)}
            self.register_buffer("cell", const(list(last)), persistent=False)
            self.register_buffer("node", const(list(last.values())), persistent=False)
            self.register_buffer("occupied", const(np.isin(np.arange(POINTS**3), list(last)).astype(float)[:, None]),
                                 persistent=False)
            # grid_sample's first coordinate addresses the last axis: (z, y, x) is aligned, (x, y, z) is what was published.
            at = 2 * unit(query) - 1
            self.register_buffer("read", const(at if published else at[:, ::-1].copy())[None, :, None, None], persistent=False)

    def there(self, x):
        grid = x.new_zeros(len(x), POINTS ** (2 if self.plane else 3), x.shape[2])
        if self.plane:
            return grid.index_add(1, self.cell, x) * self.inverse
        return torch.cat([grid.index_copy(1, self.cell, x[:, self.node]), self.occupied.expand(len(x), -1, -1)], -1)

    def back(self, grid):
        if self.plane:
            return grid[:, self.read]
        cube = grid.transpose(1, 2).reshape(len(grid), -1, POINTS, POINTS, POINTS)
        at = self.read.expand(len(grid), -1, -1, -1, -1)
        return F.grid_sample(cube, at, align_corners=True)[..., 0, 0].transpose(1, 2)


class Fno(Model):
    def __init__(self, place, inputs, channels, w=0, layers=0, modes=0, behaviour="repaired", **kw):
        super().__init__(place, channels, **kw)
        self.maps = GridMaps(place, behaviour == "published")
        if place.plane:
            self.adapter = nn.Linear(inputs[0], 2)
        self.net = GridNet(2 if place.plane else 3, 2 if place.plane else inputs[0] + 1, w or place.pick(21, 20, 21),
                           layers or place.pick(3, 3, 2), modes or place.pick(9, 4, 4), channels)

    def forward(self, features):
        x = self.adapter(features[0]) if self.place.plane else features[0]
        return self.maps.back(self.net(self.maps.there(x)))


class GeoFno(Model):
    def __init__(self, place, inputs, channels, w=0, layers=0, modes=0, behaviour="repaired", **kw):
        super().__init__(place, channels, **kw)
        w = w or place.pick(18, 8, 12)
        self.published = behaviour == "published"
        self.buffer("points", place.points)
        self.buffer("query", place.query)
        if place.plane:
            self.adapter = nn.Linear(inputs[0], 1)
        self.deform1, self.deform2, self.deform3 = nn.Linear(3, 64), nn.Linear(64, 32), nn.Linear(32, 3)
        self.lift = nn.Linear(3 + (1 if place.plane else inputs[0]), w)
        self.net = GridLayers(2 if place.plane else 3, w, layers or place.pick(4, 4, 2), modes or place.pick(9, 6, 6))
        self.head1, self.head2 = nn.Linear(w, 64), nn.Linear(64, channels)

    def deform(self, x):
        return torch.sigmoid(self.deform3(torch.tanh(self.deform2(torch.tanh(self.deform1(x))))))

    def nearest(self, f, eta):
        index = torch.round(eta[:, :2] * (POINTS - 1)).long().clamp(0, POINTS - 1)
        cell = index[:, 1] * POINTS + index[:, 0]
        count = torch.zeros(POINTS**2).index_add(0, cell, torch.ones(len(cell)))
        return f.new_zeros(len(f), POINTS**2, f.shape[2]).index_add(1, cell, f) / count.clamp_min(1)[:, None]

    def splat(self, f, eta):
        t = eta * (POINTS - 1)
        low = t.detach().floor()
        part = t - low
        grid, weight = f.new_zeros(len(f), POINTS**3, f.shape[2]), f.new_zeros(POINTS**3)
        for corner in range(8):
            up = torch.tensor([corner >> a & 1 for a in range(3)])
            w = torch.where(up == 1, part, 1 - part).prod(1)
            cell = (low + up).clamp(0, POINTS - 1).long() @ torch.tensor([POINTS**2, POINTS, 1])
            grid = grid.index_add(1, cell, f * w[:, None])
            weight = weight.index_add(0, cell, w)
        return grid / weight.clamp_min(1e-6)[:, None]

    def read(self, grid, eta):
        cube = grid.transpose(1, 2).reshape(len(grid), -1, *[POINTS] * self.net.dim)
        at = 2 * eta - 1
        if self.place.plane:
            return F.grid_sample(cube, at[None, :, None, :2].expand(len(grid), -1, -1, -1), align_corners=True)[..., 0].transpose(1, 2)
        at = at if self.published else at.flip(1)
        return F.grid_sample(cube, at[None, :, None, None].expand(len(grid), -1, -1, -1, -1), align_corners=True)[..., 0, 0].transpose(1, 2)

    def forward(self, features):
        x = self.adapter(features[0]) if self.place.plane else features[0]
        f = self.lift(torch.cat([self.points.expand(len(x), -1, -1), x], -1))
        eta = self.deform(self.points)
        f = self.net.layers(self.nearest(f, eta) if self.place.plane else self.splat(f, eta))
        return self.head2(F.gelu(self.head1(self.read(f, self.deform(self.query)))))


def laplacian_basis(topo, k, modes, normalised):
    """The lowest eigenvectors, the entry of largest modulus (the first within 1e-9 of it) positive."""
    total = np.zeros((topo.n[k], topo.n[k]))
    if k > 0:
        total += (topo.d[k - 1] @ topo.d[k - 1].T).toarray()
    if k < topo.dim:
        total += (topo.d[k].T @ topo.d[k]).toarray()
    if normalised:
        diagonal = np.diag(total)
        root = np.where(diagonal > 1e-10, 1 / np.sqrt(np.maximum(diagonal, 1e-10)), 0)
        total = root[:, None] * total * root
    lam, vec = np.linalg.eigh(total)
    assert np.diff(lam[:modes + 1]).min() > 1e-6, "a multiple eigenvalue has no basis of its own"
    vec = vec[:, :modes]
    first = (np.abs(vec) > np.abs(vec).max(0) * (1 - 1e-9)).argmax(0)
    return vec * np.sign(vec[first, np.arange(modes)])


class Gate(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.norm, self.a, self.b, self.out = nn.LayerNorm(i), nn.Linear(i, o), nn.Linear(i, o), nn.Linear(o, o)
        self.residual = i == o

    def forward(self, v):
        x = self.norm(v)
        y = self.out(self.a(x) * F.silu(self.b(x)))
        return v + y if self.residual else y


class Hsd(Model):
    def __init__(self, place, inputs, channels, modes=64, h=32, w=0, layers=0, grid_modes=0, behaviour="repaired", **kw):
        super().__init__(place, channels, **kw)
        self.published, self.modes = behaviour == "published", modes
        phi = [laplacian_basis(place.topo, k, modes, not place.plane) for k in range(3)]
        for k in range(3):
            self.buffer(f"phi{k}", phi[k])
        for k in range(2):
            self.buffer(f"m{k}", phi[k + 1].T @ (place.topo.d[k] @ phi[k]))
        self.buffer("ends", place.topo.vert[1].T)
        self.buffer("query", place.query)
        self.maps = GridMaps(place, self.published)
        if place.plane:
            self.adapter = nn.ModuleList(nn.Linear(i, 1) for i in inputs[:3])
            self.res_adapter = nn.Linear(inputs[0], 2)
        self.gain = nn.ParameterList(torch.arange(1.0, modes + 1) for _ in range(3))
        self.gate1, self.gate2, self.head = Gate(7 * modes, h), Gate(h, h), nn.Linear(h, modes * channels)
        if not place.plane:
            nn.init.orthogonal_(self.head.weight, 0.1)
        self.res = GridNet(2 if place.plane else 3, 2 if place.plane else inputs[0] + 1, w or place.pick(12, 12, 14),
                           layers or place.pick(6, 6, 4), grid_modes or place.pick(9, 4, 4), channels)
        self.couple = nn.ModuleDict({"point": nn.Linear(3, h), "code": nn.Linear(7 * modes, h), "lin1": nn.Linear(2 * h, 2 * h),
                                     "lin2": nn.Linear(2 * h, 2 * h), "out": nn.Linear(2 * h, channels)})
        nn.init.zeros_(self.couple["out"].weight)
        nn.init.zeros_(self.couple["out"].bias)
        self.scale = nn.Parameter(torch.tensor([0.1]))

    def enrich(self, c):
        up, down = lambda m, a: a @ m.T, lambda m, a: a @ m
        return torch.cat([c[0], down(self.m0, c[1]), c[1], up(self.m0, c[0]), down(self.m1, c[2]), c[2], up(self.m1, c[1])], -1)

    def parts(self, features):
        u = features[0][..., 0]
        if self.place.plane:
            c = [a(f)[..., 0] @ getattr(self, f"phi{k}") for k, (a, f) in enumerate(zip(self.adapter, features))]
        else:
            c = [u @ self.phi0, (u[:, self.ends[1]] - u[:, self.ends[0]]) @ self.phi1, u.new_zeros(len(u), self.modes)]
        gained = self.enrich([a * g for a, g in zip(c, self.gain)])
        phi = getattr(self, f"phi{self.place.target}")
        # one coefficient per mode and component, the component fastest
        base = torch.einsum("nm,bmo->bno", phi, self.head(self.gate2(self.gate1(gained))).view(len(u), self.modes, -1))
        grid = self.maps.there(self.res_adapter(features[0]) if self.place.plane else features[0])
        local = self.maps.back(self.res(grid))
        code = self.couple["code"](gained if self.place.plane else self.enrich(c))
        at = self.couple["point"](self.query).expand(len(u), -1, -1)
        both = torch.cat([at, code[:, None].expand(-1, at.shape[1], -1)], -1)
        r = local + self.couple["out"](F.gelu(self.couple["lin2"](F.gelu(self.couple["lin1"](both)))))
        return base, r - phi @ (phi.T @ r)

    def forward(self, features):
        base, rest = self.parts(features)
        return base + self.scale * rest

    def loss(self, features, y):
        base, rest = self.parts(features)
        p = base + self.scale * rest
        loss = relative_l2(p, y, self.eps)
        if not self.place.plane:
            loss = loss + 0.01 * rest.abs().mean()
        if self.place.form == "volume":
            loss = loss + 0.3 * relative_l2(base, y, self.eps)
            if self.published:
                loss = loss + 0.05 * (p[:, 1:] - p[:, :-1]).square().mean()
        return loss


def sparse_const(a):
    a = a.tocoo()
    return torch.sparse_coo_tensor(np.stack([a.row, a.col]), a.data, a.shape).to(torch.get_default_dtype()).coalesce()


def harmonic_basis(topo, k):
    return topo.harmonic(k)


class Tno(Model):
    """States on degrees 0 … 2; incidence applied to [N_k, batch · width]."""

    def __init__(self, place, inputs, channels, w=76, layers=4, **kw):
        super().__init__(place, channels, **kw)
        self.degrees = min(place.topo.dim, 2) + 1
        self.d = [sparse_const(place.topo.d[k]) for k in range(self.degrees - 1)]
        self.dt = [a.t().coalesce() for a in self.d]
        self.buffer("h", harmonic_basis(place.topo, place.target))
        self.enc = nn.ModuleList(nn.Linear(inputs[r], w) for r in range(self.degrees))
        self.layer = nn.ModuleList(self.parts(w) for _ in range(layers))
        self.head = nn.ModuleList(nn.Linear(w, channels if r == place.target else 1) for r in range(self.degrees))

    def parts(self, w):
        part = {}
        for r in range(self.degrees):
            part[f"self{r}"] = nn.Linear(w, w)
            if r > 0:
                part[f"below{r}"] = nn.Linear(w, w, bias=False)
            if r + 1 < self.degrees:
                part[f"above{r}"] = nn.Linear(w, w, bias=False)
            part[f"harmonic{r}"] = nn.Linear(w, w, bias=False)
            part[f"norm{r}"] = nn.LayerNorm(w)
        return nn.ModuleDict(part)

    @staticmethod
    def carry(matrix, x):
        """matrix [N, M] applied to x [batch, M, width]."""
        batch, rows, width = x.shape
        y = torch.sparse.mm(matrix, x.transpose(0, 1).reshape(rows, batch * width))
        return y.view(-1, batch, width).transpose(0, 1)

    def update(self, layer, r, x):
        u = layer[f"self{r}"](x[r])
        if r > 0:
            u = u + layer[f"below{r}"](self.carry(self.d[r - 1], x[r - 1]))
        if r + 1 < self.degrees:
            u = u + layer[f"above{r}"](self.carry(self.dt[r], x[r + 1]))
        if r == self.place.target and self.h.shape[1]:
            u = u + layer[f"harmonic{r}"](self.h @ (self.h.T @ x[r]))
        return layer[f"norm{r}"](x[r] + F.gelu(u))

    def forward(self, features):
        x = [enc(f) for enc, f in zip(self.enc, features)]
        for layer in self.layer:
            x = [self.update(layer, r, x) for r in range(self.degrees)]
        return self.head[self.place.target](x[self.place.target])


class AttentionLayer(nn.Module):
    def __init__(self, mixer, w, heads, tokens, ratio):
        super().__init__()
        c = w // heads
        self.heads, self.slices = heads, mixer == "slices"
        self.norm1, self.norm2 = nn.LayerNorm(w), nn.LayerNorm(w)
        self.key, self.value, self.out = nn.Linear(w, w), nn.Linear(w, w), nn.Linear(w, w)
        if self.slices:
            self.slice, self.sharpness = nn.Linear(c, tokens), nn.Parameter(torch.full((heads,), 2.0))
            self.q, self.k, self.v = (nn.Linear(c, c, bias=False) for _ in range(3))
        else:
            self.query = nn.Parameter(torch.randn(w, tokens) / c**0.5)
        self.mlp1, self.mlp2 = nn.Linear(w, ratio * w), nn.Linear(ratio * w, w)

    def mix(self, x):
        split = lambda a: a.unflatten(-1, (self.heads, a.shape[-1] // self.heads)).transpose(1, 2)  # [batch, heads, tokens, c]
        key, value = split(self.key(x)), split(self.value(x))
        if self.slices:
            weight = torch.softmax(self.sharpness[:, None, None] * self.slice(key), -1)
            z = weight.transpose(2, 3) @ value / (weight.sum(2)[..., None] + 1e-5)
            score = torch.softmax(self.q(z) @ self.k(z).transpose(2, 3) / z.shape[-1]**0.5, -1)
            y = weight @ (score @ self.v(z))
        else:
            score = key @ self.query.view(self.heads, -1, self.query.shape[1])
            y = torch.softmax(score, -1) @ (torch.softmax(score, 2).transpose(2, 3) @ value)
        return self.out(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.mlp2(F.gelu(self.mlp1(self.norm2(x))))


class Attention(Model):
    def __init__(self, place, inputs, channels, mixer="slices", w=88, layers=4, heads=4, tokens=64, ratio=2, **kw):
        super().__init__(place, channels, **kw)
        degrees, n, q = min(place.topo.dim, 2) + 1, place.topo.n, place.target
        self.rows = slice(sum(n[:q]), sum(n[:q + 1]))
        self.enc = nn.ModuleList(nn.Linear(inputs[r], w) for r in range(degrees))
        self.layer = nn.ModuleList(AttentionLayer(mixer, w, heads, tokens, ratio) for _ in range(layers))
        self.norm, self.head1, self.head2 = nn.LayerNorm(w), nn.Linear(w, w), nn.Linear(w, channels)

    def forward(self, features):
        x = torch.cat([enc(f) for enc, f in zip(self.enc, features)], 1)
        for layer in self.layer:
            x = layer(x)
        return self.head2(F.gelu(self.head1(self.norm(x[:, self.rows]))))


MODELS = {"gno": Gno, "fno": Fno, "mgn": Mgn, "deeponet": DeepOnet, "geofno": GeoFno, "hsd": Hsd, "tno": Tno, "attention": Attention}


def stored_name(model, name):
    """The name of a PyTorch parameter or buffer in the C model."""
    parts = name.split(".")
    module = model.get_submodule(".".join(parts[:-1]))
    last = {"weight": "w", "bias": "b"}.get(parts[-1], parts[-1])
    if isinstance(module, (nn.LayerNorm, nn.BatchNorm1d)):
        last = {"weight": "g", "bias": "b", "running_mean": "mean", "running_var": "var"}[parts[-1]]
    if name == "bias":
        last = "bias"
    out = []
    for i, part in enumerate(parts[:-1]):
        if part == "net" and i == 0:
            continue
        if part.isdigit() and parts[i - 1] in ("edge", "node"):
            part = {"0": "lin1", "1": "norm1", "3": "lin2", "4": "norm2"}[part]
        if part.isdigit():
            out[-1] += part
        else:
            out.append("res.adapter" if part == "res_adapter" else part)
    if last.isdigit():  # a list of parameters
        out[-1] += last
    else:
        out.append(last)
    return ".".join(out)


def stored(model, name, value):
    """Its values in the order of the C model: maps [in, out]; spectral weights [mode, (real, imaginary) in, out]."""
    module = model.get_submodule(".".join(name.split(".")[:-1]))
    a = value.detach()
    if isinstance(module, Spectral):
        a = a.movedim((1, 2), (-2, -1)).flatten(0, -3)  # blocks and modes, in, out
        return torch.cat([a.real, a.imag], 1).numpy()
    if isinstance(module, nn.Linear) and a.dim() == 2:
        return a.T.contiguous().numpy()
    return a.numpy()
