#!/usr/bin/env python3
"""Learning curves: test errors of models and of the regressions on the same first N training samples. Standard library only.

    bench/curve.py DATA TARGET -o DIR [--samples 100,200,400,800,1600] [--models dkho-x,dkho] [--steps 4000] [--batch 4]

Every model is trained for the same number of steps, whatever N is, so that all points cost the same time. A finished run is kept, an
interrupted one goes on: call it again after a stop. Writes DIR/curve.json, table.md and curve.svg of what is there.
"""
import argparse
import json
import math
import os
import subprocess
import sys

COLOURS = {"ridge": "#999999", "quadratic": "#bb7744", "kernel": "#4477aa", "pca-net": "#228833"}
LEARNED = ("#cc3311", "#aa3377", "#000000", "#ee7733")
ROWS = ("ridge", "quadratic", "kernel", "pca-net")


def train(args, model, count):
    run = os.path.join(args.out, f"{model}-{count}")
    if os.path.exists(os.path.join(run, "result.json")):
        return run
    common = ["--threads", str(args.threads), "--quiet"]
    if os.path.exists(os.path.join(run, "config.json")):
        command = ["train", "--resume", run]
    else:
        epochs = max(1, round(args.steps / math.ceil(count / args.batch)))
        command = ["train", "--data", args.data, "--target", args.target, "--model", model, "--train-samples", str(count),
                   "--batch", str(args.batch), "--epochs", str(epochs), "-o", run]
    subprocess.run([args.dkho] + command + common, check=True, stdout=subprocess.DEVNULL)
    return run


def judge(args, run, honest):
    """Test error of the run, and of the rows beside it; kept in the run's directory."""
    kept = os.path.join(args.out, os.path.basename(run) + (".honest" if honest else ".test") + ".json")
    if not os.path.exists(kept):
        command = [args.dkho, "eval", run, "--metric", "rel_l2", "--json", "--quiet", "--threads", str(args.threads)]
        text = subprocess.run(command + (["--honest"] if honest else []), check=True, stdout=subprocess.PIPE, text=True).stdout
        json.loads(text)
        with open(kept + ".tmp", "w") as f:
            f.write(text)
        os.replace(kept + ".tmp", kept)
    with open(kept) as f:
        found = json.load(f)[0]
    errors = {r["name"]: r["metrics"]["rel_l2"] for r in found.get("honest", {}).get("rows", []) if r["name"] in ROWS}
    return found["metrics"]["rel_l2"], errors


def table(curve):
    names = list(curve["errors"])
    lines = ["| training samples | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for count in curve["samples"]:
        cells = [curve["errors"][n].get(str(count)) for n in names]
        lines.append(f"| {count:,} | " + " | ".join("" if c is None else f"{c:.4f}" for c in cells) + " |")
    return "\n".join(lines) + "\n"


def figure(curve):
    """Both axes logarithmic."""
    width, height, left, top, right, bottom = 640, 420, 70, 20, 130, 50
    points = [(int(n), e) for row in curve["errors"].values() for n, e in row.items()]
    xs, ys = [math.log(n) for n, _ in points], [math.log(e) for _, e in points]
    x0, x1, y0, y1 = min(xs), max(xs) + 1e-9, min(ys) - 0.1, max(ys) + 0.1

    def place(n, e):
        return (left + (math.log(n) - x0) / (x1 - x0) * (width - left - right),
                top + (y1 - math.log(e)) / (y1 - y0) * (height - top - bottom))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for n in curve["samples"]:
        x = place(n, math.exp(y0))[0]
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{height - bottom}" stroke="#eee"/>'
                   f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{n:,}</text>')
    for e in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1):
        if y0 <= math.log(e) <= y1:
            y = place(curve["samples"][0], e)[1]
            out.append(f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>'
                       f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{e:g}</text>')
    learned = iter(LEARNED)
    ends = []
    for name, row in curve["errors"].items():
        colour = COLOURS.get(name) or next(learned)
        line = [place(int(n), e) for n, e in sorted(row.items(), key=lambda p: int(p[0]))]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
                   + " ".join(f"{x:.1f},{y:.1f}" for x, y in line) + '"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in line]
        ends.append([line[-1][1], line[-1][0], name, colour])
    last = -99
    for y, x, name, colour in sorted(ends):  # labels may not overlap
        last = max(y, last + 14)
        out.append(f'<text x="{x + 8:.1f}" y="{last + 4:.1f}" fill="{colour}">{name}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" text-anchor="middle">training samples</text>'
               f'<text transform="translate(16 {height / 2}) rotate(-90)" text-anchor="middle">relative test error</text></svg>')
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data")
    p.add_argument("target")
    p.add_argument("-o", dest="out", required=True)
    p.add_argument("--samples", default="100,200,400,800,1600")
    p.add_argument("--models", default="dkho-x,dkho")
    p.add_argument("--steps", type=int, default=4000)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--dkho", default="dkho")
    args = p.parse_args()
    counts, models = [int(n) for n in args.samples.split(",")], args.models.split(",")
    if min(counts) < 2 or len(set(counts)) != len(counts):
        sys.exit(f"--samples {args.samples}: expected different numbers above 1")
    os.makedirs(args.out, exist_ok=True)
    errors = {}
    for count in counts:
        for i, model in enumerate(models):
            error, rows = judge(args, train(args, model, count), i == 0)
            errors.setdefault(model, {})[str(count)] = error
            for name, value in rows.items():
                errors.setdefault(name, {})[str(count)] = value
        curve = {"data": os.path.basename(args.data), "target": args.target, "steps": args.steps, "batch": args.batch,
                 "samples": counts[:counts.index(count) + 1], "errors": errors}
        for name, text in (("curve.json", json.dumps(curve, indent=1) + "\n"), ("table.md", table(curve)), ("curve.svg", figure(curve))):
            with open(os.path.join(args.out, name + ".tmp"), "w") as f:
                f.write(text)
            os.replace(os.path.join(args.out, name + ".tmp"), os.path.join(args.out, name))
    print(table(curve), end="")


if __name__ == "__main__":
    main()
