"""The model of docs/SCALING.md: its tables, from results/ranks.json. Used by tools/results_page.py. Standard library only.

A step of a batch of B on G groups of p ranks that share a mesh of N simplices takes

    ⌈B/G⌉ (s N t_s + N t_d + exchanges + gradient + sums) + ⌈log₂ p⌉ (α + βn) + ⌈log₂ G⌉ (2α + (2β + γ) n)

s is the largest share of a part, in whole blocks; t_s, t_d are seconds per simplex, α, β, γ seconds per message, byte, and added byte,
n the bytes of a gradient. Ghosts of a part grow as the square root of its simplices (a surface in parts); their factor is that of 16 parts.
"""
import math

BATCH, BLOCK, NEIGHBOURS, EXCHANGES = 16, 1024, 6, 30
NODE_BYTES = 128e9 # activations that a node has room for
NODES, SIMPLICES = (16, 256, 4096), (1e5, 1e7, 1e9)


class Machine:
    """Constants of one size of the network; slow: the factor by which messages take longer than here."""

    def __init__(self, data, size="small", slow=1):
        found = data["bench"][-1]
        row = next(r for r in found["rows"] if r["size"] == size)
        torus = data["large"]["torus"]
        self.describe = 1e-3 * row["described_ms"] / row["simplices"]
        self.sample = 1e-3 * sum(torus["alone_ms"]) / len(torus["alone_ms"]) / torus["simplices"]
        self.latency, self.byte = slow * 1e-6 * found["latency_us"], slow * 1e-9 / found["bandwidth_gb_s"]
        self.add, self.gradient = 1e-9 / found["adding_gb_s"], 4 * row["parameters"]
        torus, wide = data["meshes"]["torus"], data["meshes"]["wide"]
        self.memory = 1e6 * wide["activation_mb"]["1"] / wide["simplices"]
        sums = {p: {k: torus["step"][p][k] - 2 * torus["forward"][p][k] for k in ("messages", "kb")} for p in torus["step"]}
        self.ghosts = 2e3 * torus["forward"]["16"]["kb"] / math.sqrt(torus["simplices"] / 16)
        self.sums = max(s["messages"] for s in sums.values())
        self.sum_bytes = 1e3 * max(s["kb"] for s in sums.values())

    def exchange(self, n, p):
        """Ghosts and the gradient's tree of one sample; the sums of the loss go through the first rank."""
        if p == 1:
            return 0
        rounds = math.ceil(math.log2(p))
        ghosts = EXCHANGES * min(NEIGHBOURS, p - 1) * self.latency + self.ghosts * math.sqrt(n / p) * self.byte
        tree = max(self.sums, 3 * rounds)
        gradient = tree * (self.latency + self.sum_bytes / self.sums * (self.byte + self.add))
        return ghosts + gradient + (p - 1) * self.latency + rounds * (self.latency + 16 * p * self.sums / 3 * self.byte)

    def step(self, n, groups, p, batch=BATCH, describe=1):
        blocks = math.ceil(n / BLOCK)
        share = math.ceil(blocks / p) / blocks
        each = n * (share * self.sample + describe * self.describe) + self.exchange(n, p)
        over_parts = math.ceil(math.log2(p)) * (self.latency + self.byte * self.gradient)
        over_groups = math.ceil(math.log2(groups)) * (2 * self.latency + (2 * self.byte + self.add) * self.gradient)
        return math.ceil(batch / groups) * each + over_parts + over_groups

    def best(self, n, ranks):
        """(seconds, groups, parts) of the fastest way to use so many ranks whose activations fit a node."""
        ways = [(g, ranks // g) for g in (1, 2, 4, 8, 16) if g <= min(ranks, BATCH)]
        ways = [(g, p) for g, p in ways if self.memory * n / p < NODE_BYTES] or ways[:1]
        return min((self.step(n, g, p), g, p) for g, p in ways)


def seconds(x):
    return f"{1e3 * x:.3g} ms" if x < 1 else f"{x:.3g} s" if x < 1000 else f"{x:,.0f} s"


def gigabytes(x):
    return f"{1e-9 * x:,.0f} GB" if x >= 1e11 else f"{1e-9 * x:.2g} GB" if x >= 1e8 else f"{1e-6 * x:.2g} MB"


def measured(results):
    """Every measured run beside the model."""
    out = ["| mesh, run | model | shared | batch | one rank, ms | two ranks, ms | speed-up | model, ms | error | communication |", "|" + "---|" * 10]
    for i, found in enumerate(results.files["ranks"]["bench"], 1):
        for r in found["rows"]:
            for way in ("samples", "parts"):
                m = r[way]
                out.append(f"| Darcy, {i} | {r['model']}, {r['size']} | {way} | {m['batch']} | {m['alone_ms']:.1f} | {m['together_ms']:.1f} | {m['speedup']:.2f} | "
                           f"{m['predicted_ms']:.1f} | {100 * (m['predicted_ms'] / m['together_ms'] - 1):+.1f} % | {100 * m['communication']:.1f} % |")
    model, large = Machine(results.files["ranks"]), results.files["ranks"]["large"]
    for n, ms in [(large["torus"]["simplices"], m) for m in large["torus"]["ms"]] + [(large["simplices"], large["ms"])]:
        guess = 1e3 * model.step(n, 1, 2, batch=1, describe=0)
        alone = sum(large["torus"]["alone_ms"]) / len(large["torus"]["alone_ms"]) if n == large["torus"]["simplices"] else None
        out.append(f"| torus, {n:,} simplices | dkho, small | parts | 1 | {f'{alone:.1f}' if alone else '–'} | {ms:.1f} | {f'{alone / ms:.2f}' if alone else '–'} | "
                   f"{guess:.1f} | {100 * (guess / ms - 1):+.1f} % | – |")
    return out


def predicted(results):
    """What many nodes would do, with messages as fast as here and ten times slower."""
    data = results.files["ranks"]
    out = ["| simplices | nodes | groups × parts | step | speed-up | messages ten times slower | speed-up | activations a rank |", "|" + "---|" * 8]
    for n in SIMPLICES:
        for nodes in NODES:
            cells = []
            for slow in (1, 10):
                m = Machine(data, slow=slow)
                t, g, p = m.best(n, nodes)
                cells.append((t, g, p, m.step(n, 1, 1) / t))
            (t, g, p, up), (slow_t, slow_g, slow_p, slow_up) = cells
            way = "" if (slow_g, slow_p) == (g, p) else f" ({slow_g} × {slow_p})"
            bytes_each = m.memory * n / min(p, math.ceil(n / BLOCK))
            out.append(f"| 10{'⁵⁷⁹'[SIMPLICES.index(n)]} | {nodes:,} | {g} × {p:,} | {seconds(t)} | {up:,.0f} | {seconds(slow_t)}{way} | {slow_up:,.0f} | "
                       f"{gigabytes(bytes_each)} |")
    return out
