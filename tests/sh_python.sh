#!/usr/bin/env bash
# The Python package: installed by pip with the library of this build inside, then its own tests by pytest, away from the sources.
set -euo pipefail
source_dir=$1 build=$2 python=/usr/bin/python3
for need in numpy scipy pytest pip setuptools wheel; do
  "$python" -c "import $need" 2>/dev/null || { echo "skipped: $python has no $need"; exit 77; }
done
if grep -q 'DKHO_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then echo "skipped: sanitizers are on"; exit 77; fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
cp -r "$source_dir"/{pyproject.toml,setup.py,README.md,CMakeLists.txt,include,bindings} "$work/tree"
DKHO_LIBRARY=$build/libdkho.so "$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index --root-user-action=ignore \
  --target "$work/site" "$work/tree"
[ -e "$work/site/dkho/libdkho.so" ] && [ -e "$work/site/dkho/py.typed" ] && [ -e "$work/site/dkho/dkho.h" ]
cd "$work"
env -u DKHO_LIBRARY PYTHONPATH="$work/site" PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider --rootdir "$work" \
  "$source_dir/bindings/python/tests"
echo "1 passed, 0 failed"
