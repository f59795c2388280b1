#!/usr/bin/env bash
# The Python binding against the command line: same numbers, and refusals with the library's own words. Needs NumPy.
set -euo pipefail
source_dir=$1 build=$2 dkho=$2/dkho python=/usr/bin/python3
if ! "$python" -c 'import numpy' 2>/dev/null; then echo "skipped: $python has no NumPy"; exit 77; fi
if grep -q 'DKHO_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then echo "skipped: sanitizers are on"; exit 77; fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" data darcy --resolution smoke --samples 12 -o data.st --quiet >/dev/null
"$dkho" train --data data.st --target q --h 4 --layers 1 --epochs 1 -o run --quiet >/dev/null
"$dkho" predict run --data data.st -o all.st --quiet >/dev/null
PYTHONPATH=$source_dir/bindings/python PYTHONDONTWRITEBYTECODE=1 DKHO_LIBRARY=$build/libdkho.so "$python" - <<'PY'
import json, struct
import numpy as np
import dkho


def refused(words, call, *arguments):
    try:
        call(*arguments)
    except dkho.Error as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def tensor(path, name):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    entry = json.loads(raw[8:8 + size])[name]
    first, last = (8 + size + n for n in entry["data_offsets"])
    kinds = {"F32": "<f4", "I64": "<i8"}
    return np.frombuffer(raw[first:last], kinds[entry["dtype"]]).reshape(entry["shape"])


data, model = dkho.Dataset("data.st"), dkho.Model("run")
assert len(data) == 12 and dkho.describe("run")["finished"] is True
assert sorted(np.concatenate([data.split(s) for s in ("train", "val", "test")])) == list(range(12))
assert data.fields["f"].role == "input" and model.output.name == "q" and list(model.inputs) == ["f", "g"]
expected = dict(zip(tensor("all.st", "sample"), tensor("all.st", "prediction")))
samples = [3, 7, 1]
batch = model.predict({n: np.stack([data.value(n, s) for s in samples]) for n in model.inputs}, threads=1)
for row, s in zip(batch, samples):
    assert np.array_equal(row, model.predict({n: data.value(n, s) for n in model.inputs}))
    assert np.array_equal(row, expected[s])
one = {n: data.value(n, 0) for n in model.inputs}
refused("missing inputs: g", model.predict, {"f": one["f"]})
refused("shape", model.predict, {"f": one["f"][:-1], "g": one["g"]})
refused("batch", model.predict, {"f": one["f"], "g": one["g"][None]})
bad = one["f"].copy()
bad[2] = np.nan
refused("value 2 is not finite", model.predict, {"f": bad, "g": one["g"]})
refused("not a model", dkho.Model, "data.st")
refused("none.st", dkho.Dataset, "none.st")
refused("holdout", data.split, "holdout")
refused("nothing", data.value, "nothing", 0)
with model, data:
    pass
refused("closed already", model.predict, one)
refused("closed already", len, data)
PY
echo "1 passed, 0 failed"
