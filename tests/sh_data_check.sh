#!/usr/bin/env bash
# `dkho data check`: all that is wrong with a specification at once, leaks between splits, data sets, --json; what it calls fine is imported.
# Arguments: the source and the build directory.
set -euo pipefail
python=${PYTHON:-/usr/bin/python3}
build=$2
"$python" -c "import numpy" 2>/dev/null || { echo "no NumPy: skipped"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
dkho=$build/dkho
refused() { if "$@"; then echo "not refused: $*"; exit 1; fi; }
expect() { grep -qF -- "$1" "$2" || { echo "missing: $1"; cat "$2"; exit 1; }; }

"$python" - <<'PY'
import json, numpy as np
n = 5
with open("m.off", "w") as f:
    print("OFF\n%d %d 0" % (n * n, 2 * (n - 1) ** 2), file=f)
    for i in range(n * n): print(i % n, i // n, 0, file=f)
    for i in range((n - 1) ** 2):
        a = i // (n - 1) * n + i % (n - 1)
        print(3, a, a + 1, a + n, file=f); print(3, a + 1, a + n + 1, a + n, file=f)
r = np.random.default_rng(1)
f, T = r.normal(size=(20, n * n)), r.normal(size=20)
u = f ** 2
u[:, ::n] = 0                                   # x = 0
np.save("f.npy", f); np.save("u.npy", u); np.save("T.npy", T)
np.save("copy.npy", u); np.save("same.npy", np.ones((20, n * n)))
twin = f.copy(); twin[13] = twin[2]; np.save("twin.npy", twin)
nan = u.copy(); nan[3, 7] = np.nan; nan[5, 1] = np.inf; np.save("nan.npy", nan)
field = lambda name, role, file, **more: {"name": name, "role": role, "file": file, **more}
good = {"problem": "square", "mesh": "m.off", "modes": 4,
        "labels": [{"name": "left", "box": {"min": [-1, -1], "max": [0.1, 9]}}],
        "fields": [field("f", "input", "f.npy", degree=0), field("T", "global", "T.npy"), field("u", "target", "u.npy", degree=0)],
        "known": [{"target": "u", "label": "left", "value": 0}],
        "split": {"train": list(range(12)), "val": [12, 13, 14, 15], "test": [16, 17, 18, 19]}}
def write(name, **changes):
    json.dump({k: v for k, v in {**good, **changes}.items() if v is not None}, open(name + ".json", "w"))
write("good")
write("many", colour=1, sead=2, modes=0, classical_seconds=-1, split={"train": 0.9, "val": 0.2}, recipes=[{"target": "2u", "lrr": 1}],
      known=[{"target": "v", "label": "left", "value": 0}],
      fields=[field("f", "inputs", "none.npy", degree=7), field("2u", "target", "u.npy", degree=0), field("g", "input", "f.npy", degree=1)])
write("nomesh", mesh="none.msh", fields=[field("f", "input", "none.npy", degree=0)])
write("none", known=None, fields=[])
write("leak", fields=[field("f", "input", "twin.npy", degree=0), field("u", "target", "u.npy", degree=0)])
write("odd", fields=[field("f", "input", "copy.npy", degree=0), field("c", "input", "same.npy", degree=0),
                     field("u", "target", "u.npy", degree=0)], split={"train": [0, 1, 2, 3, 4], "val": [5, 6]})
write("nan", known=None, fields=[field("f", "input", "f.npy", degree=0), field("u", "target", "nan.npy", degree=0)])
write("known", known=[{"target": "u", "label": "left", "value": 0.5}])
open("broken.json", "w").write("{\"problem\": ")
PY

"$dkho" data check good.json > good.txt
expect "good.json: 20 samples, 0 errors, 0 warnings" good.txt
"$dkho" data import good.json -o good.st > /dev/null
"$dkho" data check good.st > set.txt
expect "good.st: 20 samples, 0 errors, 0 warnings" set.txt
test "$(ls | grep -c lock)" = 0

# every mistake of one file, by one call, and nothing written
refused "$dkho" data check many.json > many.txt
for text in "import.colour: unknown key" "import.sead: unknown key" "import.modes: found 0" "import.classical_seconds: found -1" \
  "fields[0].role: found \"inputs\"" "fields[0].degree: found 7" "none.npy" "field \"2u\"" "fields[2]" "recipes[0].lrr: unknown key" \
  "known[0].target: no target is called 'v'" "split: the fractions sum to 1.1"; do
  case $text in "fields[2]") expect "axis 1 has 25 entries, the mesh has 56 simplices of degree 1" many.txt ;; *) expect "$text" many.txt ;; esac
done
refused "$dkho" data import many.json -o many.st 2> first.txt
test ! -e many.st

refused "$dkho" data check nomesh.json > nomesh.txt
expect "none.msh" nomesh.txt
expect "none.npy" nomesh.txt
refused "$dkho" data check none.json > none.txt
expect "fields: no array has samples" none.txt
refused "$dkho" data check broken.json > broken.txt
expect "not JSON" broken.txt

# leaks, in a specification and in the data set made of it
"$dkho" data import leak.json -o leak.st > /dev/null
for what in leak.json leak.st; do
  refused "$dkho" data check $what > leak.txt
  expect "leak: sample 13 (val) has the same inputs as sample 2 (train)" leak.txt
  expect "1 error" leak.txt
done
refused "$dkho" data check odd.json > odd.txt
expect "leak: input f is the target u in every sample" odd.txt
expect "warning: field c: the same in every sample" odd.txt
expect "warning: split test is empty" odd.txt
expect "warning: 13 of 20 samples are in no split" odd.txt
refused "$dkho" data check nan.json > nan.txt
expect "field u: sample 3: element 7 is not finite" nan.txt
expect "field u: 2 samples hold values that are not finite" nan.txt
refused "$dkho" data check known.json > known.txt
expect "known: label 'left': target 'u' of sample 0 is 0 on simplex 0, where it is said to be 0.5" known.txt
expect "known: target u: 20 samples differ" known.txt

cut=$(printf 'cut-\377.json')
printf '{' > "$cut"
refused "$dkho" data check "$cut" --json > cut.out # a name that is not UTF-8 stands in the message
expect 'cut-?.json' cut.out

refused "$dkho" data check many.json --json > many.out
"$python" - <<'PY'
import json
a = json.load(open("many.out"))
assert a["kind"] == "specification" and len(a["errors"]) >= 11 and a["warnings"] == [], a
PY
refused "$dkho" data check absent.json 2> absent.txt
expect "absent.json" absent.txt
if "$dkho" data check good.json -o x.st 2> misuse.txt; then exit 1; else test $? = 2; fi
head -c 300 good.st > cut.st
refused "$dkho" data check cut.st > cut.txt
expect "cut.st" cut.txt
