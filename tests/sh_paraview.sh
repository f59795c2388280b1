#!/usr/bin/env bash
# Blocks and series for ParaView, read back by VTK's own readers: counts, numbers of vertices, values without holes. Needs python3-vtk9.
set -euo pipefail
source_dir=$1 build=$2 dkho=$2/dkho python=/usr/bin/python3
if ! "$python" -c 'import vtk, numpy' 2>/dev/null; then echo "skipped: $python has no VTK or NumPy"; exit 77; fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
"$dkho" mesh "$source_dir/tests/data/mesh/shell_22_bin.msh" -o "a & b.vtm" --json >shell.json
"$dkho" data darcy --resolution smoke --samples 24 -o data.st --quiet
"$dkho" train --data data.st --target q --h 4 --layers 1 --epochs 1 -o run --quiet
"$dkho" predict run --data data.st -o all.st --quiet
"$dkho" predict run --data data.st --split test --limit 2 -o flux.pvd --quiet
for again in flux.pvd flux.vtm; do
  if "$dkho" predict run --data data.st --split test --limit 2 -o "$again" --quiet 2>said; then echo "not refused: $again"; exit 1; fi
  grep -q 'exists already' said
done
"$dkho" predict run --data data.st --split test --limit 2 -o flux.pvd --force --quiet
[ -z "$(find . -name '*.tmp.*')" ]
"$python" - <<'PY'
import json
import struct
import xml.etree.ElementTree as xml

import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy


def read(path):
    reader = vtk.vtkXMLMultiBlockDataReader()
    reader.SetFileName(path)
    reader.Update()
    blocks = reader.GetOutput()
    names = [blocks.GetMetaData(i).Get(vtk.vtkCompositeDataSet.NAME()) for i in range(blocks.GetNumberOfBlocks())]
    return dict(zip(names, (blocks.GetBlock(i) for i in range(len(names)))))


def arrays(data):
    return {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}


def tensor(path, name):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    entry = json.loads(raw[8:8 + size])[name]
    first, last = (8 + size + n for n in entry["data_offsets"])
    return np.frombuffer(raw[first:last], {"F32": "<f4", "I64": "<i8", "I32": "<i4"}[entry["dtype"]]).reshape(entry["shape"])


order = ["vertices", "edges", "faces", "cells"]
shell = read("a & b.vtm")
assert list(shell) == order
assert [shell[k].GetNumberOfCells() for k in order] == json.load(open("shell.json"))["simplices"]
assert [shell[k].GetCellType(0) for k in order] == [vtk.VTK_VERTEX, vtk.VTK_LINE, vtk.VTK_TRIANGLE, vtk.VTK_TETRA]

q, prediction = tensor("data.st", "c0/target/q"), tensor("all.st", "prediction")
sample, test = list(tensor("all.st", "sample")), tensor("data.st", "split/test")
steps = list(xml.parse("flux.pvd").getroot().iter("DataSet"))
assert [float(s.get("timestep")) for s in steps] == [float(t) for t in test[:2]]
for step, number in zip(steps, test):
    blocks = read(step.get("file"))
    assert list(blocks) == order[:3]
    cells = vtk_to_numpy(blocks["edges"].GetCells().GetConnectivityArray()).reshape(-1, 2)
    assert np.array_equal(cells, tensor("data.st", "c0/vert1"))
    edges = arrays(blocks["edges"].GetCellData())
    assert np.array_equal(edges["index"], np.arange(len(cells)))
    assert np.array_equal(edges["reference"], q[number, :, 0].astype("f8"))
    assert np.array_equal(edges["prediction"], prediction[sample.index(number), :, 0].astype("f8"))
    assert np.array_equal(edges["difference"], edges["prediction"] - edges["reference"])
    faces = arrays(blocks["faces"].GetCellData())
    assert {"prediction_vector", "reference_vector"} <= set(faces) and "prediction" not in faces
    for block in blocks.values():
        for data in (block.GetCellData(), block.GetPointData()):
            assert all(np.all(np.isfinite(a)) for a in arrays(data).values())
PY
echo "1 passed, 0 failed"
