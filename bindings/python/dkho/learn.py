"""Training, runs, and trained operators."""
from __future__ import annotations

import ctypes as c
import json
import os
from pathlib import Path as FilePath
from typing import Any, Callable, Mapping, NamedTuple

import numpy as np

from ._library import Error, Owner, Stopped, check, json_of, lib, path_bytes, structures
from .data import Field, field_of
from .mesh import Complex, Path


class Progress(NamedTuple):
    """How far a call is: done of total (0: unknown) of what `label` says; `note` is a short text ("loss 0.0123")."""
    label: str
    done: int
    total: int
    note: str


class _Watch:
    """Hands progress to a callback while the library works; what it raises, or a true answer, stops the library at its next step."""

    def __init__(self, callback: Callable[[Progress], Any] | None) -> None:
        report = structures["dkho_report"]
        kinds = dict(report._fields_)
        self.callback, self.stopped, self.error = callback, False, None
        self.report = report(user=None, progress=kinds["progress"](self._progress))
        self.stop = dict(structures["dkho_train_options"]._fields_)["stop"](lambda user: int(self.stopped))

    def _progress(self, user: Any, label: bytes, done: int, total: int, note: bytes) -> None:
        if self.callback is None or self.stopped:
            return
        try:
            self.stopped = bool(self.callback(Progress(label.decode(), done, total, note.decode())))
        except BaseException as error:  # a callback of C cannot raise: it is kept, and raised when the library is back
            self.error, self.stopped = error, True

    def __enter__(self) -> _Watch:
        lib.dkho_report_set(c.byref(self.report))
        return self

    def __exit__(self, *unused: object) -> None:
        lib.dkho_report_set(None)
        if self.error is not None:
            raise self.error


def _fill(options: Any, given: Mapping[str, Any]) -> list:
    """Sets members of a structure by name; gives what has to stay alive."""
    kept: list[Any] = []
    known = [name for name, _ in options._fields_]
    for key, value in given.items():
        if key not in known or key in ("stop", "stop_user"):
            raise Error(f"option '{key}': expected one of {', '.join(n for n in known if n not in ('stop', 'stop_user'))}")
        if key == "options":
            texts = [f"{k}={v}".encode() for k, v in value.items()]
            kept += [texts, (c.c_char_p * (len(texts) + 1))(*texts, None)]
            value = c.cast(kept[-1], c.c_void_p)
        if key == "from_model":
            value = path_bytes(value.path if isinstance(value, Run) else value)
        setattr(options, key, value.encode() if isinstance(value, str) else value)
    return kept


def _watched(function: Callable, callback: Callable[[Progress], Any] | None, given: Mapping[str, Any], run: Path) -> Run:
    options = structures["dkho_train_options"]()
    lib.dkho_train_defaults(c.byref(options))
    kept = _fill(options, given)
    watch = _Watch(callback)
    options.stop = watch.stop
    try:
        with watch:
            check(function(c.byref(options)))
    except Stopped:
        if watch.error is not None:
            raise watch.error from None
    del kept
    return Run(run)


def train(data: Path, run: Path, *, callback: Callable[[Progress], Any] | None = None, **options: Any) -> Run:
    """Trains into a new directory and gives the run. Options are those of dkho_train_options in dkho.h: target, model, size, options (a
    dict of the model's own), from_model (a run or model file to begin with), epochs, batch, lr, optimizer, seed, threads, …. callback is
    called with a Progress; when it answers something true, training stops at a checkpoint, which `resume` continues."""
    return _watched(lambda o: lib.dkho_train(path_bytes(data), path_bytes(run), o), callback, options, run)


def resume(run: Path, *, data: Path | None = None, callback: Callable[[Progress], Any] | None = None, **options: Any) -> Run:
    """Goes on where a run stopped, to the same bits as if it had not; options: threads, checkpoint_seconds."""
    return _watched(lambda o: lib.dkho_train_resume(path_bytes(run), path_bytes(data), o), callback, options, run)


def models() -> list[dict]:
    """The models there are, with sizes and options."""
    return json_of(lib.dkho_model_list)


def problems() -> list[dict]:
    """The benchmarks there are."""
    return json_of(lib.dkho_problem_list)


class Run:
    """A run directory."""

    def __init__(self, path: Path) -> None:
        self.path = FilePath(path)
        if not (self.path / "config.json").exists():
            raise Error(f"{self.path}: no run (there is no config.json)")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _json(self, name: str) -> dict:
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    @property
    def config(self) -> dict:
        """The settings it was made with."""
        return self._json("config.json")

    @property
    def finished(self) -> bool:
        return (self.path / "result.json").exists()

    @property
    def result(self) -> dict:
        """What training ended with: metrics of the test split and times."""
        return self._json("result.json")

    @property
    def history(self) -> dict[str, np.ndarray]:
        """Columns of metrics.csv by name: epoch, lr, train_rel_l2, val_rel_l2, seconds."""
        table = np.genfromtxt(self.path / "metrics.csv", delimiter=",", names=True, ndmin=1)
        return {name: table[name] for name in table.dtype.names}

    def model(self) -> Model:
        """The selected model."""
        return Model(self.path)

    def evaluate(self, split: str = "test", *, data: Path | None = None, threads: int = 0) -> dict:
        """Metrics of the selected model on a split."""
        return json_of(lib.dkho_evaluate, path_bytes(self.path), path_bytes(data), split.encode(), threads)

    def compare(self, *, data: Path | None = None, threads: int = 0) -> dict:
        """Trivial predictors and regressions on the same data, and times beside the classical solver."""
        return json_of(lib.dkho_honesty, path_bytes(self.path), path_bytes(data), threads)


class Model(Owner):
    """A trained operator, from a model file or a run directory. inputs: name → Field, in the order of the library; output: Field."""

    def __init__(self, path: Path) -> None:
        super().__init__(lib.dkho_model_free)
        check(lib.dkho_model_load(c.byref(self._handle), path_bytes(path)))
        info = structures["dkho_field_info"]()
        self.inputs: dict[str, Field] = {}
        for i in range(lib.dkho_model_inputs(self._handle)):
            check(lib.dkho_model_input(self._handle, i, c.byref(info)))
            self.inputs[info.name.decode()] = field_of(info)
        check(lib.dkho_model_output(self._handle, c.byref(info)))
        self.output = field_of(info)
        self.parameters: int = lib.dkho_model_parameters(self._handle)

    def complex(self) -> Complex:
        """The complex it was trained on."""
        out = Complex()
        check(lib.dkho_model_complex(self._handle, c.byref(out._handle)))
        return out

    def save(self, path: Path, force: bool = False) -> None:
        """Writes a model file that needs nothing else."""
        check(lib.dkho_model_save(self._handle, path_bytes(path), force))

    def predict(self, inputs: Mapping[str, Any], *, threads: int = 0) -> np.ndarray:
        """The output for inputs by name: rows × channels for one sample, batch × rows × channels for several; the axis of channels may
        be left out where there is one. float32 (globals: float64) arrays in C order are used where they are, others are converted."""
        unknown, missing = set(inputs) - set(self.inputs), set(self.inputs) - set(inputs)
        if missing or unknown:
            which, kind = (missing, "missing") if missing else (unknown, "unknown")
            raise Error(f"{kind} inputs: {', '.join(sorted(which))}; the model needs {', '.join(self.inputs)}")
        arrays, counts = [], {}
        for name, field in self.inputs.items():
            array = np.ascontiguousarray(inputs[name], np.float64 if field.role == "global" else np.float32)
            arrays.append(array)
            counts[name] = _batch_of(name, field, array.shape)
        if set(counts.values()) == {None, 1}:  # an array of one number is a sample or a batch of one, as the others are
            counts = {n: 1 if a.shape == (1,) else counts[n] for n, a in zip(counts, arrays)}
        if len(set(counts.values())) > 1:
            raise Error("inputs do not have one batch: " + ", ".join(f"{n} {'single' if b is None else b}" for n, b in counts.items()))
        batch = next(iter(counts.values()), None)
        out = np.empty((batch or (1 if batch is None else 0), self.output.rows, self.output.channels), np.float32)
        pointers = (c.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        check(lib.dkho_model_predict(self._handle, threads, len(out), pointers, out.ctypes.data))
        return out[0] if batch is None else out


def _batch_of(name: str, field: Field, shape: tuple[int, ...]) -> int | None:
    """The number of samples in an array, None for a single one without that axis."""
    one = [(field.rows, field.channels)]
    if field.channels == 1:
        one.append((field.rows,))
    if field.role == "global":
        one.append((field.channels,))
        if field.channels == 1:
            one.append(())  # a number for each sample
    if shape in one:
        return None
    if shape[1:] in one:
        return shape[0]
    raise Error(f"input '{name}': shape {shape}, expected {one[0]} or a batch of it")
