#!/usr/bin/python3
"""Times the PyTorch twin (tools/twin.py) on a stored mesh, alone or in turns with another command.

  compare_pytorch.py --mesh FILE --once [--size small|large] [--problem darcy|torus|cavity] [--target K] [--threads 2] [--seconds 2]
      one round: a JSON line for training (batch 16) and one for inference (batches 16 and 1), milliseconds per sample
  compare_pytorch.py --mesh FILE --turns 5 --against 'COMMAND …' …
      runs itself and COMMAND in turns, each a process of its own, so that both meet the same state of the machine; COMMAND prints
      JSON lines with the keys task, batch and ms_per_sample. Ends with the medians and their ratios, one JSON line per task.

Features are random: time does not depend on values. Widths, harmonic dimension and channels are the benchmark's.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))

# Input widths per degree by target, harmonic dimension by target, summary length, channels, range of the step.
PROBLEMS = {
    "darcy": {"inputs": [(37, 39, 37)] * 3, "beta": (0, 2, 0), "summary": 6, "channels": 1, "tau_range": 0.15},
    "torus": {"inputs": [(27, 24, 28), (35, 32, 36), (35, 32, 36)], "beta": (1, 2, 1), "summary": 12, "channels": 1, "tau_range": 0.10},
    "cavity": {"inputs": [(36, 39, 39)], "beta": (1,), "summary": 4, "channels": 3, "tau_range": 0.15},
}
SIZES = {"small": (32, 2), "large": (64, 4)}


def build(options):
    """Model, and a function that makes a random batch of B samples."""
    import torch
    import oracle
    import twin

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    problem, q = PROBLEMS[options.problem], options.target
    topo = oracle.Mesh(oracle.Source(options.mesh)).topo
    degrees = twin.active_degrees(topo.dim, q)
    inputs, beta = problem["inputs"][q], problem["beta"][q]
    h, c = SIZES[options.size]
    cfg = twin.Config(h=h, c=c, tau_range=problem["tau_range"], target=q, channels=problem["channels"])
    basis = torch.linalg.qr(torch.randn(topo.n[q], beta))[0] if beta else None
    model = twin.Dkho(cfg, twin.Incidence(topo, degrees), inputs, basis, None, problem["summary"])

    def batch(size):
        features = [torch.randn(size, topo.n[k], i) for k, i in zip(degrees, inputs)]
        return features, torch.randn(size, problem["summary"]), torch.randn(size, topo.n[q], cfg.channels)

    return model, batch


def timed(step, seconds, samples):
    """Median ms per sample of steps repeated for about `seconds`, at least three times, after one to warm up."""
    step()
    spent, times = 0.0, []
    while spent < seconds or len(times) < 3:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
        spent += times[-1]
    return {"ms_per_sample": 1e3 * statistics.median(times) / samples, "repeats": len(times)}


def once(options):
    import torch
    import twin

    model, batch = build(options)
    about = {"implementation": f"pytorch {torch.__version__}", "problem": options.problem, "target": options.target,
             "size": options.size, "threads": options.threads}
    data = batch(16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-6)
    result = timed(lambda: twin.train_step(model, adam, *data), options.seconds, 16)
    print(json.dumps({**about, "task": "train", "batch": 16, **result}), flush=True)
    model.eval()
    for size in (16, 1):
        data = batch(size)
        with torch.inference_mode():
            result = timed(lambda: model(data[0], data[1]), options.seconds, size)
        print(json.dumps({**about, "task": "infer", "batch": size, **result}), flush=True)


def lines(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]
    return {(row["task"], row["batch"]): row["ms_per_sample"] for row in rows if "ms_per_sample" in row}


def turns(options):
    mine = [sys.executable, os.path.abspath(__file__), "--once", "--mesh", options.mesh, "--size", options.size, "--problem",
            options.problem, "--target", str(options.target), "--threads", str(options.threads), "--seconds", str(options.seconds)]
    rounds = [(lines(mine), lines(["sh", "-c", options.against])) for _ in range(options.turns)]
    for key in rounds[0][0]:
        pairs = [(a[key], b[key]) for a, b in rounds if key in a and key in b]
        if not pairs:
            continue
        torch_ms, other_ms = (statistics.median(column) for column in zip(*pairs))
        ratios = sorted(a / b for a, b in pairs)
        print(json.dumps({"task": key[0], "batch": key[1], "size": options.size, "turns": len(pairs), "pytorch_ms": torch_ms,
                          "other_ms": other_ms, "ratio": statistics.median(ratios), "ratio_range": [ratios[0], ratios[-1]]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--against")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--problem", choices=PROBLEMS, default="darcy")
    parser.add_argument("--target", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    if options.target >= len(PROBLEMS[options.problem]["beta"]):
        parser.error(f"{options.problem} has no target of degree {options.target}")
    if options.once == (options.against is not None):
        parser.error("give either --once or --against COMMAND")
    (once if options.once else turns)(options)


if __name__ == "__main__":
    main()
