"""The shared library: found, declared as its header says, with errors as exceptions and arrays as views."""
from __future__ import annotations

import ctypes as c
import ctypes.util
import json
import os
from pathlib import Path
from typing import Any, Callable

import numpy as np

from ._header import read_header

_here = Path(__file__).resolve().parent
_places = [_here / "dkho.h", _here.parents[2] / "include" / "dkho.h"]
structures, functions = read_header(next(p for p in _places if p.exists()).read_text(encoding="utf-8"))


class Error(Exception):
    """A failed call; the text names file, field, found and expected."""


class Stopped(Error):
    """Stopped on request; what was done so far is in the last checkpoint."""


def _open() -> c.CDLL:
    own = _here / "libdkho.so"
    found = os.environ.get("DKHO_LIBRARY") or (str(own) if own.exists() else ctypes.util.find_library("dkho") or "libdkho.so")
    library = c.CDLL(found)
    for name, (result, arguments) in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{found}: has no {name}; the library is of another version than this package") from None
        function.restype, function.argtypes = result, arguments
    return library


lib = _open()
STOPPED = 8  # DKHO_E_STOPPED


def check(status: int) -> None:
    if status:
        raise (Stopped if status == STOPPED else Error)(lib.dkho_error().decode())


def version() -> str:
    """Version of the library."""
    return lib.dkho_version().decode()


def path_bytes(path: str | os.PathLike | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def json_of(function: Callable, *arguments: Any) -> Any:
    """Calls a function whose last argument receives a JSON text."""
    out = c.c_void_p()
    check(function(*arguments, c.byref(out)))
    try:
        return json.loads(c.string_at(out).decode())
    finally:
        lib.dkho_text_free(out)


class Handle:
    """Owns a pointer of the library; freed when neither an object nor a view of its memory is left."""

    def __init__(self, free: Callable) -> None:
        self.pointer = c.c_void_p()
        self._free = free

    def __del__(self) -> None:
        if self.pointer:
            self._free(self.pointer)
            self.pointer = c.c_void_p()


class Owner:
    """An object with a handle. Views of its arrays outlive close()."""

    def __init__(self, free: Callable) -> None:
        self._held: Handle | None = Handle(free)

    @property
    def _handle(self) -> c.c_void_p:
        if self._held is None:
            raise Error("closed already")
        return self._held.pointer

    def close(self) -> None:
        """Lets go of the library's object; it is freed when no array refers to it any more."""
        self._held = None

    def __enter__(self):
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def view(address: int | None, kind: Any, shape: tuple[int, ...], handle: Handle) -> np.ndarray:
    """A read-only array over memory that `handle` owns."""
    class Memory(kind * int(np.prod(shape, dtype=np.int64))):  # a class of its own may carry the owner
        pass

    if not address:
        raise Error("the library has no such array")
    memory = Memory.from_address(address)
    memory.owner = handle
    array = np.frombuffer(memory, dtype=np.dtype(kind)).reshape(shape) if len(memory) else np.empty(shape, np.dtype(kind))
    array.flags.writeable = False
    return array


def doubles(array: Any) -> np.ndarray:
    """As C-contiguous float64; without a copy when it is that already."""
    return np.ascontiguousarray(array, np.float64)
