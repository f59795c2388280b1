#!/usr/bin/env bash
# A few seconds of training on each benchmark at smoke resolution must bring the test error below half of what a trivial
# predictor reaches (the mean of the training targets or zero, whichever is better). Skipped under sanitizers: too slow.
set -euo pipefail
source_dir=$1 build=$2 dkho=$2/dkho
if grep -q 'DKHO_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then echo "skipped: sanitizers are on"; exit 0; fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cc -Wall -Wextra -Werror -I"$source_dir/include" "$source_dir/tests/trivial.c" -o "$work/trivial" \
  -L"$build" -Wl,-rpath,"$build" -ldkho -lm
cd "$work"
"$dkho" data darcy --resolution smoke --samples 448 -o darcy.st --quiet >/dev/null
"$dkho" data torus --resolution smoke --samples 336 -o torus.st --quiet >/dev/null
"$dkho" data cavity --resolution smoke --samples 224 -o cavity.st --quiet >/dev/null
passed=0 failed=0
learns() { # data target epochs
  local run=$1-$2 trivial error
  "$dkho" train --data "$1.st" --target "$2" --epochs "$3" --h 16 --c 2 --layers 3 --substeps 1 --batch 4 \
    -o "$run" --quiet >/dev/null
  trivial=$(./trivial "$1.st" "$2")
  error=$("$dkho" eval "$run" --json | sed -n 's/.*"rel_l2": *\([0-9.e-]*\).*/\1/p' | sed -n 1p)
  if awk -v e="$error" -v t="$trivial" 'BEGIN { exit !(e > 0 && e < t / 2) }'; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  echo "$1 $2: error $error, trivial predictor $trivial"
}
learns darcy p 4
learns darcy q 16
learns darcy w 16
learns torus u 6
learns cavity B 16
echo "$passed passed, $failed failed"
[ $failed = 0 ]
