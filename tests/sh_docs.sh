#!/usr/bin/env bash
# The commands of docs/TUTORIAL.md and of the README's worked example, in their order, each as it stands but for the budget: fewer samples, one
# epoch, a narrow model. What the README shows of the mesh must be what comes out. Arguments: the source and the build directory.
set -euo pipefail
python=${PYTHON:-/usr/bin/python3}
source_dir=$1 build=$2
"$python" -c "import scipy, meshio, numpy" 2> /dev/null || { echo "no SciPy or meshio: skipped"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r "$source_dir/examples" "$dir/examples"
export DKHO_LIBRARY=$build/libdkho.so PYTHONPATH=$source_dir/bindings/python LD_LIBRARY_PATH=$build PATH=$build:$PATH
mkdir "$dir/bin"
export PATH=$dir/bin:$PATH
ln -s "$(command -v "$python")" "$dir/bin/python3"
san=""
if grep -q 'DKHO_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then san="-fsanitize=address,undefined"; fi
printf '#!/bin/sh\nexec /usr/bin/cc %s "$@"\n' "$san" > "$dir/bin/cc"
chmod +x "$dir/bin/cc"
printf '#!/bin/sh\necho -I%s/include -L%s -ldkho\n' "$source_dir" "$build" > "$dir/bin/pkg-config" # as after `make install`
chmod +x "$dir/bin/pkg-config"
if ! command -v gmsh > /dev/null; then printf '#!/bin/sh\ntest -s plate.msh\n' > "$dir/bin/gmsh" && chmod +x "$dir/bin/gmsh"; fi

# The commands of a page: lines of ```sh blocks, or those that begin with $ in ```console blocks; comments and what prepares or installs left out.
commands() { # PAGE FROM TO
  awk -v from="$2" -v to="$3" '
    index($0, from) == 1 {on = 1} index($0, to) == 1 {on = 0}
    /^```sh/ {block = 1; next} /^```console/ {block = 2; next} /^```/ {block = 0; next}
    on && block == 1 {print} on && block == 2 && /^\$ / {print substr($0, 3)}' "$source_dir/$1" | sed 's/ *#.*//; /^$/d' |
    if [ -n "$san" ]; then grep -v coolest.py; else cat; fi | # a library with sanitizers cannot be loaded into Python
    sed -E 's/^python3 solve.py$/python3 solve.py 24/; s/--samples 448/--samples 24/; s/(dkho train .*)--epochs [0-9]+/\1--epochs 1 --set h=6 --set layers=1/
            s/^(dkho train --data [^ ]+ --target [^ ]+) -o/\1 --epochs 1 --set h=6 --set layers=1 -o/'
}
run() { # PAGE FROM TO
  commands "$@" > "$dir/script"
  test "$(wc -l < "$dir/script")" -ge "$4" || { echo "$1: too few commands:"; cat "$dir/script"; exit 1; }
  { echo "set -euo pipefail"; cat "$dir/script"; } > "$dir/run.sh"
  (cd "$dir" && bash -x run.sh > out 2> trace) || { tail -5 "$dir/trace"; tail -5 "$dir/out"; echo "FAILED: $1"; exit 1; }
}
run docs/TUTORIAL.md "# From" "## With" 13
grep -q "spec.json: 24 samples, 0 errors" "$dir/out"
grep -q "coolest with the chip at" "$dir/out"
test -n "$san" -o "$(grep -c 'coolest with the chip at' "$dir/out")" = 2
test "$(grep 'coolest with the chip at' "$dir/out" | sort -u | wc -l)" = 1 # C and Python agree
test -s "$dir/plate/plate.html" -a -s "$dir/plate/T-predicted.npy"
ls "$dir"/plate/figures/*.png > /dev/null
"$python" - "$dir/plate" <<'PY'
# known values come back to the last bit
import sys, meshio, numpy as np
folder = sys.argv[1]
mesh = meshio.read(folder + "/plate.msh")
T, channels = np.load(folder + "/T-predicted.npy"), np.load(folder + "/channels.npy")
tags, lines = mesh.cell_data_dict["gmsh:physical"]["line"], mesh.cells_dict["line"]
for j in (1, 2):
    nodes = np.unique(lines[tags == mesh.field_data[f"channel{j}"][0]])
    assert (T[:, nodes, 0] == channels[:, j - 1, None].astype(np.float32)).all() and len(nodes) > 8
PY

run README.md "## A worked example" "Built-in problems" 5
awk '/^\$ dkho mesh darcy/ {on = 1; next} /^```/ {on = 0} on' "$source_dir/README.md" > "$dir/shown"
test -s "$dir/shown"
head -n "$(wc -l < "$dir/shown")" "$dir/out" | diff "$dir/shown" -
