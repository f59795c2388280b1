"""Data sets: opened, generated, or made of arrays."""
from __future__ import annotations

import ctypes as c
import json
import os
import tempfile
from pathlib import Path as FilePath
from typing import Any, Mapping, NamedTuple

import numpy as np

from ._library import Error, Owner, check, json_of, lib, path_bytes, structures, view
from .mesh import Complex, Path


class Field(NamedTuple):
    """What a field is: role "input", "target", "global" or "static"; values have rows × channels numbers."""
    name: str
    role: str
    degree: int
    channels: int
    rows: int


def field_of(info: Any) -> Field:
    return Field(info.name.decode(), info.role.decode(), info.degree, info.channels, info.rows)


class Dataset(Owner):
    """An open data set. fields: name → Field; len() is the number of samples."""

    def __init__(self, path: Path) -> None:
        super().__init__(lib.dkho_dataset_free)
        check(lib.dkho_dataset_open(c.byref(self._handle), path_bytes(path)))
        self.path = os.fspath(path)
        self.fields: dict[str, Field] = {}
        for i in range(lib.dkho_dataset_fields(self._handle)):
            info = structures["dkho_field_info"]()
            check(lib.dkho_dataset_field(self._handle, i, c.byref(info)))
            self.fields[info.name.decode()] = field_of(info)

    def __len__(self) -> int:
        return lib.dkho_dataset_samples(self._handle)

    def split(self, name: str) -> np.ndarray:
        """Sample numbers of "train", "val" or "test", ascending; a view."""
        count = c.c_int64()
        numbers = lib.dkho_dataset_split(self._handle, name.encode(), c.byref(count))
        if name not in ("train", "val", "test"):
            raise Error(f"unknown split '{name}'; there are train, val, test")
        return view(numbers, c.c_int64, (count.value,), self._held) if count.value else np.empty(0, np.int64)

    def value(self, name: str, sample: int) -> np.ndarray:
        """A field of one sample, rows × channels, unscaled (float32; float64 for a global); a view of the file."""
        index = lib.dkho_dataset_find(self._handle, name.encode())
        at = lib.dkho_dataset_value(self._handle, index, sample) if index >= 0 else None
        if not at:
            raise Error(f"no value of field '{name}' for sample {sample}")
        field = self.fields[name]
        kind = c.c_double if field.role == "global" else c.c_float
        return view(at, kind, (field.rows, field.channels), self._held)

    def values(self, name: str, samples: Any) -> np.ndarray:
        """A field of several samples, count × rows × channels; a copy."""
        return np.stack([self.value(name, int(s)) for s in samples])

    def complex(self) -> Complex:
        """The (first) complex."""
        return Complex.read(self.path)


def generate_dataset(problem: str, path: Path, *, resolution: str = "main", coarse: str | None = None, law: str | None = None,
                     samples: int = 0, seed: int = 42, threads: int = 0, force: bool = False) -> Dataset:
    """Makes the data of a benchmark; coarse: a coarser resolution whose solutions become inputs; law: a material law, where there is a
    choice (docs/PROBLEMS.md)."""
    options = structures["dkho_generate_options"](resolution=resolution.encode(), coarse=coarse and coarse.encode(), law=law and law.encode(),
                                                  samples=samples, seed=seed, threads=threads, force=force)
    check(lib.dkho_dataset_generate(problem.encode(), path_bytes(path), c.byref(options)))
    return Dataset(path)


def import_dataset(spec: Path, path: Path, *, force: bool = False) -> Dataset:
    """A data set by a JSON specification (docs/FORMATS.md)."""
    check(lib.dkho_dataset_import(path_bytes(spec), path_bytes(path), force))
    return Dataset(path)


def check_dataset(path: Path) -> dict:
    """Everything that is wrong with a specification or a data set: {"errors": [text], "warnings": [text], …}. Samples with equal inputs in
    two splits are among the errors."""
    return json_of(lib.dkho_dataset_check, path_bytes(path))


def make_dataset(path: Path, mesh: Complex, *, inputs: Mapping[str, tuple[int, Any]], targets: Mapping[str, tuple[int, Any]],
                 globals: Mapping[str, Any] | None = None, statics: Mapping[str, tuple[int, Any]] | None = None,
                 split: Mapping[str, Any] | None = None, seed: int = 42, name: str = "own", modes: int | None = None,
                 recipes: Any = None, known: Any = None, labels: Any = None, classical_seconds: float | None = None, force: bool = False) -> Dataset:
    """A data set of a mesh and arrays. inputs and targets: name → (degree, samples × N_k or samples × N_k × channels); statics without
    the axis of samples; globals: name → samples or samples × channels. split: fractions or lists of sample numbers under "train",
    "val" and "test" (80, 10 and 10 % by default). known: values of targets that are given, as in docs/FORMATS.md, for example
    [{"target": "T", "label": "rim", "value": 0}]: predictions repeat them exactly. labels: parts of the boundary by box or ball, in place of
    the mesh's own. classical_seconds: what your own solver takes for a
    sample; `Run.compare` uses it."""
    spec: dict[str, Any] = {"problem": name, "mesh": "mesh.st", "fields": [], "seed": seed,
                            "split": {k: v if np.isscalar(v) else [int(i) for i in v] for k, v in
                                      (split or {"train": 0.8, "val": 0.1, "test": 0.1}).items()}}
    if modes is not None:
        spec["modes"] = modes
    if recipes is not None:
        spec["recipes"] = recipes
    if labels is not None:
        spec["labels"] = labels
    if known is not None:
        spec["known"] = known
    if classical_seconds is not None:
        spec["classical_seconds"] = classical_seconds
    with tempfile.TemporaryDirectory(prefix="dkho-") as folder:
        mesh.save(FilePath(folder) / "mesh.st")
        fields = [("input", inputs), ("target", targets), ("static", statics or {}),
                  ("global", {k: (None, v) for k, v in (globals or {}).items()})]
        for role, group in fields:
            for field, (degree, values) in group.items():
                array = np.asarray(values)
                file = f"{role}-{len(spec['fields'])}.npy"
                np.save(FilePath(folder) / file, np.ascontiguousarray(array, array.dtype if array.dtype in (np.float32, np.float64)
                                                                      else np.float64))
                spec["fields"].append({"name": field, "role": role, "file": file} | ({} if degree is None else {"degree": degree}))
        at = FilePath(folder) / "spec.json"
        at.write_text(json.dumps(spec), encoding="utf-8")
        return import_dataset(at, path, force=force)
