#!/usr/bin/env bash
# The pages say what results/ says: every table and every marked number is made again and compared, and no number stands without a
# source. The result files agree with themselves and with the cards of models/, and every figure is shown somewhere. A page with a
# wrong number is noticed. Usage: sh_results.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
command -v python3 >/dev/null || exit 77
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
"$1/tools/results_page.py" --check

python3 - "$1" <<'EOF2'
import glob, json, math, os, sys
root, bad = sys.argv[1], []
page = json.load(open(f"{root}/results/page.json"))
listed = {s["file"] for s in page["sets"] + page["studies"] + page["singles"] + page["measured"]} | {"page", "paper"}
found = {os.path.basename(p)[:-5]: json.load(open(p)) for p in glob.glob(f"{root}/results/*.json")}
if set(found) != listed:
    bad.append(f"results/page.json: differs from the folder in {sorted(set(found) ^ listed)}")

def near(where, a, b):
    if not math.isclose(a, b, rel_tol=1e-8):
        bad.append(f"{where}: {a} and {b}")

known = {}  # problem, target, validation error -> row of a set
for name, data in found.items():
    runs = {(r.get("problem"), r["run"]): r for r in data.get("runs", [])}
    for (problem, run), r in runs.items():
        where = f"results/{name}.json: {problem or ''} {run}"
        if not all(r.get(part) for part in ("config", "manifest", "result", "curve")):
            bad.append(f"{where}: settings, environment, result or curve is missing")
        near(f"{where}: best error and curve", r["result"]["val_rel_l2"], min(r["curve"]["val_rel_l2"])) if "study" not in data else None
    for p in data.get("problems", []) if name != "paper" else []:
        for t in p["targets"]:
            for row in (r for r in t["rows"] if "run" in r):
                where, run = f"results/{name}.json: {p['problem']} {row['run']}", runs[p["problem"], row["run"]]
                near(f"{where}: test error", row["metrics"]["rel_l2"], run["result"]["test"]["metrics"]["rel_l2"])
                val = run["curve"]["val_rel_l2"]
                early = val[:math.floor(0.9 * len(val))]
                if early:
                    near(f"{where}: late fall", 1 + row["training"]["late_fall"], 2 - min(val) / min(early))
                known[p["problem"], t["target"], row["val_rel_l2"]] = row
for path in glob.glob(f"{root}/models/*.json"):
    card = json.load(open(path))
    row = known.get((card["training"]["problem"], card["training"]["target"], card["training"]["val_rel_l2"]))
    if not row:
        bad.append(f"{path}: its run is in no result file")
        continue
    near(f"{path}: test error", card["training"]["test"]["metrics"]["rel_l2"], row["metrics"]["rel_l2"])
    near(f"{path}: cost", card["honest"]["cost"]["learned_seconds_per_sample"], row["cost"]["learned_seconds_per_sample"])
print("\n".join(bad), file=sys.stderr)
sys.exit(1 if bad else 0)
EOF2

for figure in "$1"/docs/figures/*.png; do
  grep -qF "figures/$(basename "$figure")" "$1/README.md" "$1"/docs/*.md || { echo "$figure: shown nowhere" >&2; exit 1; }
done

# one digit changed, or a number without a source: refused
cp -r "$1/docs" "$1/results" "$1/tools" "$1/README.md" "$work"
sed -i '0,/0\.0227<!--=/s//0.0228<!--=/' "$work/docs/RESULTS.md"
if "$work/tools/results_page.py" --check 2>"$work/said"; then echo "a wrong number passed" >&2; exit 1; fi
grep -q 'docs/RESULTS.md:[0-9]*: found' "$work/said"
cp "$1/docs/RESULTS.md" "$work/docs/"
echo "An error of 0.123." >>"$work/docs/RESULTS.md"
echo "An error of 0.432, a constant of another section, and in code \`0.05\`." >>"$work/docs/MODEL.md"
if "$work/tools/results_page.py" --check 2>"$work/said"; then echo "a number without a source passed" >&2; exit 1; fi
grep -q "'0.123' has no source" "$work/said"
grep -q "docs/MODEL.md:[0-9]*: '0.432' has no source" "$work/said"
if grep -q "'0.05' has no source" "$work/said"; then echo "a number in code was refused" >&2; exit 1; fi
