#!/usr/bin/env bash
# The benchmarks' solves against independent ones in SciPy, from what they read: to 1e-8 for solves kept in double, to float's rounding
# for a data set file; nonlinear ones at smoke resolution. Passes with a word when there is no SciPy.
set -euo pipefail
source_dir=$1 build_dir=$2
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import scipy' 2>/dev/null || { echo "skipped: no SciPy here"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for problem in darcy cavity lamination ironloss wells flow subsonic hts; do
  case $problem in darcy|cavity) sizes="smoke main" ;; *) sizes=smoke ;; esac
  case $problem in hts) some="--samples 2" ;; *) some= ;; esac
  for resolution in $sizes; do
    "$build_dir/tests/t_oracle_export" $problem $resolution "$dir/$problem.st"
    "$python" "$source_dir/tools/oracle_$problem.py" "$dir/$problem.st" $some
  done
  "$build_dir/dkho" data $problem --resolution smoke --samples 20 --quiet --force -o "$dir/$problem.st" >/dev/null
  "$python" "$source_dir/tools/oracle_$problem.py" "$dir/$problem.st" $some
done
for problem in lamination ironloss; do
  "$build_dir/tests/t_oracle_export" $problem smoke "$dir/brauer.st" brauer
  "$python" "$source_dir/tools/oracle_$problem.py" "$dir/brauer.st"
  "$build_dir/dkho" data $problem --law brauer --resolution smoke --samples 20 --quiet --force -o "$dir/brauer.st" >/dev/null
  "$python" "$source_dir/tools/oracle_$problem.py" "$dir/brauer.st"
done
