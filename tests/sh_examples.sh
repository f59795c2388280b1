#!/usr/bin/env bash
# The example programs, built against the installed library as a user would, and run.
set -euo pipefail
source_dir=$1 build=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/tree" >/dev/null
lib=$(dirname "$(find "$work/tree" -name libdkho.so)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
san=""; if grep -q 'DKHO_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then san="-fsanitize=address,undefined"; fi
for name in train predict; do
  # shellcheck disable=SC2046
  cc -Wall -Wextra -Werror $san "$source_dir/examples/$name.c" -o "$work/$name" $(pkg-config --cflags --libs dkho)
done
"$work/train" "$work/data.st" "$work/run" >"$work/out"
grep -q '"rel_l2"' "$work/out"
"$work/predict" "$work/run" "$work/data.st" | grep '^u: 240 values of degree 0, mean square' >"$work/found"
if command -v gfortran >/dev/null; then # the Fortran program says the same as the C program
  # shellcheck disable=SC2046
  gfortran -Wall -Werror $san "$source_dir/examples/predict.f90" -J "$work" -o "$work/predict_f" $(pkg-config --libs dkho)
  "$work/predict" "$work/run" "$work/data.st" >"$work/c.out"
  "$work/predict_f" "$work/run" "$work/data.st" | diff - "$work/c.out"
fi
cp "$work/run/best.st" "$work/model.st"; rm -r "$work/run"
"$work/predict" "$work/model.st" "$work/data.st" | grep '^u: 240 values' >"$work/found"
# predicting needs neither CHOLMOD nor ARPACK: with both made unusable the program says the same
if [ -z "$san" ]; then
  printf '#include <stdlib.h>\nint cholmod_start(void) { abort(); }\nint dsaupd_c(void) { abort(); }\n' >"$work/without.c"
  cc -shared -fPIC "$work/without.c" -o "$work/without.so"
  diff <("$work/predict" "$work/model.st" "$work/data.st") <(LD_PRELOAD="$work/without.so" "$work/predict" "$work/model.st" "$work/data.st")
  if (LD_PRELOAD="$work/without.so" "$work/train" "$work/again.st" "$work/again" >"$work/out" 2>&1) 2>/dev/null; then exit 1; fi
fi
if "$work/predict" "$work/data.st" "$work/data.st" 2>"$work/err"; then exit 1; fi
grep -q 'is a dataset, not a model' "$work/err"
echo "1 passed, 0 failed"
