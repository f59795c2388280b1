#!/usr/bin/env bash
# bench/curve.py: every row at every number of samples; a second call trains nothing, a run that is gone is made again with the same error.
set -euo pipefail
source_dir=$1 build_dir=$2
python=${PYTHON:-/usr/bin/python3}
export PYTHONDONTWRITEBYTECODE=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$build_dir/dkho" data wells --resolution smoke --samples 60 --quiet -o "$dir/w.st" >/dev/null
curve() {
  "$python" "$source_dir/bench/curve.py" "$dir/w.st" p -o "$dir/curve" --samples 8,16 --steps 8 --models dkho --dkho "$build_dir/dkho"
}
curve >"$dir/first"
diff - <(head -1 "$dir/first") <<<"| training samples | dkho | ridge | quadratic | kernel | pca-net |"
rows=$(grep -cE '^\| (8|16) \|( [0-9]\.[0-9]{4} \|){5}$' "$dir/first")
[ "$rows" = 2 ] || { echo "found $rows full rows, expected 2"; cat "$dir/first"; exit 1; }
cmp "$dir/first" "$dir/curve/table.md"
grep -q '<polyline' "$dir/curve/curve.svg"
before=$(stat -c %Y.%i "$dir/curve/dkho-8/result.json")
rm -r "$dir/curve/dkho-16" "$dir/curve/dkho-16.honest.json"
curve >"$dir/second"
cmp "$dir/first" "$dir/second"
[ "$before" = "$(stat -c %Y.%i "$dir/curve/dkho-8/result.json")" ] || { echo "a finished run was trained again"; exit 1; }
