#!/usr/bin/env bash
# The demo, shortened: it ends with a table, the rows to compare with, what it costs, and paths that are there; another benchmark can
# be asked for, one that is not there is refused with those that are. Usage: sh_demo.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
dkho=$2/dkho
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" demo --samples 14 --epochs 1 --quiet -o d >out
for word in 'mesh of ironloss' dkho-x zero mean ridge quadratic kernel 'a classical solve' 'pay for themselves after'; do
  grep -q "$word" out || { echo "no '$word' in:"; cat out; exit 1; }
done
grep -q 'dkho-x  *[0-9]' out
paths=$(sed -n 's/^ *\(d\/[^ ]*\.\(png\|md\)\)$/\1/p' out)
[ "$(echo "$paths" | wc -l)" = 3 ]
for path in $paths; do [ -s "$path" ] || { echo "no $path"; exit 1; }; done
ls d/ironloss/prediction-*.vtu >/dev/null
# again: goes on with what is there, and says the same
"$dkho" demo --samples 14 --epochs 1 --quiet -o d >again
diff <(grep -v 's total' out) <(grep -v 's total' again)
# other benchmarks, into the same folder
for problem in darcy cavity; do "$dkho" demo $problem --samples 20 --epochs 1 --quiet -o d >$problem; done
grep -q 'DKHO-small .*paper' darcy
grep -q 'darcy-parameters.png' darcy
grep -q 'div_fid' cavity
if "$dkho" demo stokes 2>err; then exit 1; fi
grep -q "unknown problem 'stokes'; there are darcy, torus, cavity, heat, reaction" err
echo "1 passed, 0 failed"
