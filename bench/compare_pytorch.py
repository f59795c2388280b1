#!/usr/bin/python3
"""dkho and the baselines against their PyTorch twins (tools/twin.py, tools/baselines_torch.py) on the benchmark meshes: training with
batch 16, prediction with batches 16 and 1, and the memory of the two training processes.

The two run in turns, each a process of its own, so that both meet the same state of the machine. Every figure is appended to the
output file, one JSON line, as soon as it is there: a stop loses nothing, and the same command goes on where it stopped. Ends with
a table of medians and ratios; --table prints that of a file without measuring.

  bench/compare_pytorch.py                                        all meshes and sizes, three turns
  bench/compare_pytorch.py --problem darcy --size small --turns 5 -o darcy.jsonl
  bench/compare_pytorch.py --problem torus --size gno mgn fno     other models, first target; native inputs but for tno (its large size) and attention
  bench/compare_pytorch.py --problem torus --size mgn --cpu       processor time of one thread, training only: for busy machines
  bench/compare_pytorch.py --table -o darcy.jsonl

PyTorch's own threads and those of its BLAS get in each other's way when both are many, so every turn of the twin is made with
threads for the one and with threads for the other, and the better figure of each task counts.

Needs tools/setup.sh oracle. PyTorch on the large cavity takes about 10 GB. The twin's features are random: time does not depend on
values; widths, harmonic dimension and channels are the benchmark's.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "tools"))

# Input widths per degree, harmonic dimension, summary length, channels and range of the step of the first target.
PROBLEMS = {
    "darcy": {"inputs": (37, 39, 37), "beta": 0, "summary": 6, "channels": 1, "tau_range": 0.15},
    "torus": {"inputs": (27, 24, 28), "beta": 1, "summary": 12, "channels": 1, "tau_range": 0.10},
    "cavity": {"inputs": (36, 39, 39), "beta": 1, "summary": 4, "channels": 3, "tau_range": 0.15},
}
SIZES = {"small": (32, 2), "large": (64, 4)}
BASELINES = ("gno", "fno", "mgn", "deeponet", "geofno", "hsd", "tno", "attention")  # in the place of a size
OWN_INPUTS = ("tno", "attention")  # made for dkho's descriptors
OPTIONS = {"tno": {"w": 170}}  # the size that dkho bench names last
NATIVE = {"darcy": (12, 14, 12), "torus": (1, 1, 1), "cavity": (1, 1, 1)}  # their input widths
TASKS = [("train", 16), ("infer", 16), ("infer", 1)]
SAMPLES = 100  # of the data set that dkho trains on while its memory is taken


# ---- the twin, in a process of its own ----

def build(options):
    """Model, and a function that makes a random batch of B samples."""
    import torch
    import oracle
    import twin

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    problem = PROBLEMS[options.problem[0]]
    topo = oracle.Mesh(oracle.Source(options.mesh)).topo
    degrees = twin.active_degrees(topo.dim, 0)
    h, c = SIZES[options.size[0]]
    cfg = twin.Config(h=h, c=c, tau_range=problem["tau_range"], target=0, channels=problem["channels"])
    basis = torch.linalg.qr(torch.randn(topo.n[0], problem["beta"]))[0] if problem["beta"] else None
    model = twin.Dkho(cfg, twin.Incidence(topo, degrees), problem["inputs"], basis, None, problem["summary"])

    def batch(size):
        features = [torch.randn(size, topo.n[k], i) for k, i in zip(degrees, problem["inputs"])]
        return features, torch.randn(size, problem["summary"]), torch.randn(size, topo.n[0], cfg.channels)

    return model, batch


def build_baseline(options):
    """The same of another model, with native inputs or those it is made for; the batch has no summary."""
    import torch
    import baselines_torch
    import oracle

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    mesh = oracle.Mesh(oracle.Source(options.mesh))
    # Time does not depend on the basis, and a dense eigensolve would take minutes.
    baselines_torch.laplacian_basis = lambda topo, k, modes, normalised: torch.linalg.qr(torch.randn(topo.n[k], modes))[0].numpy()
    problem, name = PROBLEMS[options.problem[0]], options.size[0]
    baselines_torch.harmonic_basis = lambda topo, k: torch.linalg.qr(torch.randn(topo.n[k], max(problem["beta"], 1)))[0][:, :problem["beta"]]
    place = baselines_torch.Place(mesh.x, mesh.topo, 0)
    inputs, channels = problem["inputs"] if name in OWN_INPUTS else NATIVE[options.problem[0]], problem["channels"]
    model = baselines_torch.MODELS[name](place, inputs, channels, **OPTIONS.get(name, {}))

    def batch(size):
        features = [torch.randn(size, mesh.topo.n[k], i) for k, i in enumerate(inputs)]
        return features, torch.randn(size, mesh.topo.n[0], channels)

    return model, batch


def baseline_process(options):
    import torch

    model, batch = build_baseline(options)
    data = batch(16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-6)

    def step():
        adam.zero_grad()
        model.loss(*data).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    print(json.dumps({"task": "train", "batch": 16, **timed(step, options.seconds, 16)}), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"task": "train memory", "batch": 16, "mb": peak}), flush=True)
    model.eval()
    for size in () if options.cpu else (16, 1):
        data = batch(size)
        with torch.inference_mode():
            result = timed(lambda: model(data[0]), options.seconds, size)
        print(json.dumps({"task": "infer", "batch": size, **result}), flush=True)


clock = time.perf_counter


def timed(step, seconds, samples):
    """Median ms per sample of steps repeated for about `seconds`, after one to warm up: a long step is made twice in all."""
    step()
    times = []
    while not times or sum(times) < seconds:
        start = clock()
        step()
        times.append(clock() - start)
    return {"ms_per_sample": 1e3 * statistics.median(times) / samples, "repeats": len(times)}


def twin_process(options):
    import torch
    import twin

    model, batch = build(options)
    data = batch(16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-6)
    result = timed(lambda: twin.train_step(model, adam, *data), options.seconds, 16)
    print(json.dumps({"task": "train", "batch": 16, **result}), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"task": "train memory", "batch": 16, "mb": peak}), flush=True)
    adam.zero_grad(set_to_none=True)
    model.eval()
    for size in () if options.cpu else (16, 1):
        data = batch(size)
        with torch.inference_mode():
            result = timed(lambda: model(data[0], data[1]), options.seconds, size)
        print(json.dumps({"task": "infer", "batch": size, **result}), flush=True)


# ---- turns ----

class Log:
    """The output file: lines as they come, and what is there already."""

    def __init__(self, path, tasks):
        self.path, self.tasks, self.rows = path, tasks, []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.rows = [json.loads(line) for line in f if line.startswith("{") and line.endswith("}\n")]

    def add(self, **row):
        self.rows.append(row)
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")
            f.flush()
            os.fsync(f.fileno())

    def has(self, problem, size, side, turn):
        kept = [r for r in self.rows if (r["problem"], r["size"], r["side"], r["turn"]) == (problem, size, side, turn)]
        return {(r["task"], r["batch"]) for r in kept} >= set(self.tasks)

    def values(self, problem, size, side, task, batch, key):
        """By turn; the last word holds when a turn was begun twice."""
        return {r["turn"]: r[key] for r in self.rows
                if (r["problem"], r["size"], r["side"], r["task"], r["batch"]) == (problem, size, side, task, batch)}


def lines_of(command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=env)
    return [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]


def usage_of(command):
    """Largest resident memory of a command, in MB, and its processor time in seconds."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def twin_turn(options, problem, size, work):
    """The better row of each task over both ways of spending the threads."""
    best = {}
    for torch_threads, blas_threads in sorted({(options.threads, 1), (1, options.threads)}):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": str(blas_threads), "MKL_NUM_THREADS": str(blas_threads)}
        for row in lines_of([sys.executable, os.path.abspath(__file__), "--twin", "--mesh", os.path.join(work, f"{problem}.st"),
                             "--problem", problem, "--size", size, "--threads", str(torch_threads), "--seconds",
                             str(options.seconds)] + ["--cpu"] * options.cpu, env):
            row["torch_threads"], row["blas_threads"] = torch_threads, blas_threads
            key, figure = (row["task"], row["batch"]), "mb" if "mb" in row else "ms_per_sample"
            if key not in best or row[figure] < best[key][figure]:
                best[key] = row
    return list(best.values())


def dkho_turn(options, problem, size, work, turn):
    which = "--size" if size in SIZES else "--model"

    def train(samples):
        run = os.path.join(work, f"run-{problem}-{size}-{turn}-{samples}")
        return usage_of([options.dkho, "train", "--data", os.path.join(work, f"{problem}-data.st"), which, size, "--epochs", "1",
                         "--batch", "16", "--optimizer", "adamw", "--train-samples", str(samples), "--threads",
                         str(options.threads), "-o", run, "--quiet"]
                        + [a for k, v in OPTIONS.get(size, {}).items() for a in ("--set", f"{k}={v}")])

    mb, seconds = train(16)
    if options.cpu:  # what 48 more samples take: three more steps of one epoch
        rows = [{"task": "train", "batch": 16, "ms_per_sample": 1e3 * (train(64)[1] - seconds) / 48}]
    else:
        rows = lines_of([options.dkho, "bench", problem, which, size, "--threads", str(options.threads), "--seconds",
                         str(options.seconds), "--lines", "--quiet"])
    return rows + [{"task": "train memory", "batch": 16, "mb": mb}]


def measure(options, log, work):
    for problem in options.problem:
        quiet = {"stdout": subprocess.DEVNULL, "check": True}
        subprocess.run([options.dkho, "mesh", problem, "-o", os.path.join(work, f"{problem}.st"), "--quiet"], **quiet)
        subprocess.run([options.dkho, "data", problem, "--samples", str(SAMPLES), "-o", os.path.join(work, f"{problem}-data.st"),
                        "--quiet"], **quiet)
    for turn in range(options.turns):
        for problem in options.problem:
            for size in options.size:
                for side in ("pytorch", "dkho"):
                    if log.has(problem, size, side, turn):
                        continue
                    print(f"turn {turn + 1} of {options.turns}: {problem} {size}, {side}", file=sys.stderr, flush=True)
                    rows = (twin_turn(options, problem, size, work) if side == "pytorch"
                            else dkho_turn(options, problem, size, work, turn))
                    for row in rows:
                        log.add(problem=problem, size=size, side=side, turn=turn, threads=options.threads, **row)


def table(options, log):
    """Medians over turns; a ratio is the median of the ratios of turns that both sides finished, with its range."""
    print(f"{'mesh':8}{'size':9}{'what':14}{'batch':>6}{'PyTorch':>12}{'dkho':>12}{'ratio':>8}   {'range':16}turns")
    for problem in options.problem:
        for size in options.size:
            for task, batch in TASKS[:1] + [("train memory", 16)] + TASKS[1:]:
                key = "mb" if task == "train memory" else "ms_per_sample"
                theirs, ours = (log.values(problem, size, side, task, batch, key) for side in ("pytorch", "dkho"))
                both = sorted(theirs.keys() & ours.keys())
                if not both:
                    continue
                ratios = [theirs[t] / ours[t] for t in both]
                a, b = (statistics.median(side[t] for t in both) for side in (theirs, ours))
                unit = "MB" if key == "mb" else "ms"
                spread = f"{min(ratios):.1f} … {max(ratios):.1f}"
                print(f"{problem:8}{size:9}{task:14}{batch:6}{a:9.1f} {unit}{b:9.1f} {unit}{statistics.median(ratios):7.1f}x"
                      f"   {spread:16}{len(both)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", choices=PROBLEMS, nargs="+", default=list(PROBLEMS))
    parser.add_argument("--size", choices=[*SIZES, *BASELINES], nargs="+", default=list(SIZES),
                        help="sizes of dkho, or baselines")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=1.0, help="about this long per measurement in a turn")
    parser.add_argument("--cpu", action="store_true", help="processor time of one thread instead of the clock, training only")
    parser.add_argument("-o", "--output", default="compare_pytorch.jsonl")
    parser.add_argument("--table", action="store_true", help="print what the file holds, measure nothing")
    parser.add_argument("--dkho", default=os.path.join(HERE, os.pardir, "build", "release", "dkho"), help="another binary")
    parser.add_argument("--twin", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--mesh", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cpu:
        global clock
        clock, options.threads = time.process_time, 1
    if options.twin:
        twin_process(options) if options.size[0] in SIZES else baseline_process(options)
        return
    options.dkho = os.path.abspath(options.dkho)
    log = Log(options.output, TASKS[:1] if options.cpu else TASKS)
    if not options.table:
        with tempfile.TemporaryDirectory() as work:
            measure(options, log, work)
    table(options, log)


if __name__ == "__main__":
    main()
