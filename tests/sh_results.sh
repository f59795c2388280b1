#!/usr/bin/env bash
# The tables of docs/RESULTS.md are those of results/: made again from there, the page does not change. Every run of a set has its settings and
# history, and its figures are named on the page. Usage: sh_results.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
command -v python3 >/dev/null || exit 77
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp -r "$1/docs" "$work/docs"
python3 "$1/tools/results_page.py" --page "$work/docs/RESULTS.md"
cmp "$1/docs/RESULTS.md" "$work/docs/RESULTS.md"
for result in "$1"/results/*/*/runs/*/result.json "$1"/results/{faster,batches}/*/*/result.json; do
  for part in config.json manifest.json metrics.csv; do
    [ -s "$(dirname "$result")/$part" ] || { echo "$result: no $part beside it" >&2; exit 1; }
  done
done
for figure in "$1"/docs/figures/*.png; do
  grep -qF "figures/$(basename "$figure")" "$1/README.md" "$1"/docs/*.md || { echo "$figure: shown nowhere" >&2; exit 1; }
done
