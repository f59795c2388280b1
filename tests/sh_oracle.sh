#!/usr/bin/env bash
# The benchmarks' solves against independent ones in SciPy, to 1e-8. Passes with a word when there is no SciPy.
set -euo pipefail
source_dir=$1 build_dir=$2
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import scipy' 2>/dev/null || { echo "no SciPy here: nothing compared"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for problem in darcy cavity; do
  "$build_dir/tests/t_oracle_export" $problem smoke "$dir/$problem.st"
  PYTHONDONTWRITEBYTECODE=1 "$python" "$source_dir/tools/oracle_$problem.py" "$dir/$problem.st"
done
