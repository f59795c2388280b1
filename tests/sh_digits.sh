#!/usr/bin/env bash
# One epoch on a small data set of each benchmark gives the digits of results/digits.json, on any kernels: a change of the arithmetic,
# of data, weights or order that nobody meant is noticed. Usage: sh_digits.sh SOURCE_DIR BUILD_DIR [--write]; --write measures and stores
# the digits, and by how much the kernels of this CPU differ.
set -euo pipefail
source_dir=$1 dkho=$2/dkho mode=${3:-}
command -v python3 >/dev/null || exit 77
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
cases=(darcy:q:dkho torus:u:dkho torus:u:dkho-x cavity:B:dkho)
train() { # KERNELS PROBLEM TARGET MODEL: training and validation error of its only epoch
  [ -e "$2.st" ] || "$dkho" data "$2" --resolution smoke --samples 100 --seed 42 -o "$2.st" --quiet >/dev/null
  env ${1:+DKHO_ISA=$1} "$dkho" train --data "$2.st" --target "$3" --model "$4" --epochs 1 --seed 42 --threads 1 \
    -o "run-$1-$2-$3-$4" --quiet >/dev/null
  tail -n 1 "run-$1-$2-$3-$4/metrics.csv" | cut -d, -f3,4
}
kernels=("")
if [ "$mode" = --write ]; then
  for isa in avx512 avx2 neon ref; do
    if train $isa darcy q dkho >first 2>said; then kernels+=($isa); elif ! grep -q DKHO_ISA said; then cat said >&2; exit 1; fi
    rm -rf "run-$isa-darcy-q-dkho"
  done
fi
for case in "${cases[@]}"; do
  for isa in "${kernels[@]}"; do
    IFS=: read -r problem target model <<<"$case"
    echo "$case ${isa:-default} $(train "$isa" "$problem" "$target" "$model")"
  done
done >found

python3 - "$source_dir" "$mode" <<'EOF2'
import json, math, sys
sys.path.insert(0, sys.argv[1] + "/tools")
from collect_results import write_json
path = sys.argv[1] + "/results/digits.json"
found = {}
for line in open("found"):
    case, isa, errors = line.split()
    found.setdefault(case, {})[isa] = [float(e) for e in errors.split(",")]

def apart(a, b):
    """The largest relative difference; what is no number differs by all."""
    return max(abs(x - y) / abs(y) if math.isfinite(x) else 1.0 for x, y in zip(a, b))

if sys.argv[2] == "--write":
    rows = [dict(zip(("problem", "target", "model"), case.split(":")), train_rel_l2=own["default"][0], val_rel_l2=own["default"][1],
                 kernels=[k for k in own if k != "default"],
                 kernels_differ=max(apart(e, own["default"]) for e in own.values())) for case, own in found.items()]
    write_json(path, {"about": "errors of one epoch, smoke resolution, 100 samples, seed 42, one thread; kernels_differ: the largest relative "
                               "difference between the kernels named", "tolerance": 1e-4, "rows": rows})
    sys.exit(0)
stored = json.load(open(path))
bad = []
if {f"{r['problem']}:{r['target']}:{r['model']}" for r in stored["rows"]} != set(found):
    bad.append(f"{path}: other cases than {', '.join(found)}")
for r in stored["rows"]:
    own = found.get(f"{r['problem']}:{r['target']}:{r['model']}", {"default": [math.nan] * 2})["default"]
    if apart(own, [r["train_rel_l2"], r["val_rel_l2"]]) > stored["tolerance"]:
        bad.append(f"{r['problem']} {r['target']}, {r['model']}: errors {own[0]}, {own[1]}, expected {r['train_rel_l2']}, {r['val_rel_l2']}")
print("\n".join(bad), file=sys.stderr) if bad else None
sys.exit(1 if bad else 0)
EOF2
