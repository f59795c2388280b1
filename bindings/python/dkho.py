"""Trained operators and data sets of libdkho from Python, by ctypes; needs NumPy and the shared library, nothing else.

    import dkho
    model = dkho.Model("runs/flux")
    data = dkho.Dataset("darcy.st")
    q = model.predict({name: data.value(name, 0) for name in model.inputs})

The library is loaded from $DKHO_LIBRARY if set, else from the system's usual places. Arrays are float32 for fields and
float64 for globals, in physical units; what comes in is converted, what goes out is new. Leaves out: meshing, calculus, training.
"""
import ctypes as c
import ctypes.util
import os
from collections import namedtuple

import numpy as np

Field = namedtuple("Field", "name role degree channels rows")


class Error(Exception):
    """A failed call; the text names file, field, found and expected."""


class _Info(c.Structure):
    _fields_ = [("name", c.c_char_p), ("role", c.c_char_p), ("degree", c.c_int), ("channels", c.c_int),
                ("rows", c.c_int64)]


def _open():
    path = os.environ.get("DKHO_LIBRARY") or ctypes.util.find_library("dkho") or "libdkho.so"
    lib = c.CDLL(path)
    handle, text, status = c.c_void_p, c.c_char_p, c.c_int

    def declare(name, result, *arguments):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments

    declare("dkho_version", text)
    declare("dkho_error", text)
    declare("dkho_text_free", None, handle)
    declare("dkho_describe", status, text, c.POINTER(handle))
    declare("dkho_dataset_open", status, c.POINTER(handle), text)
    declare("dkho_dataset_free", None, handle)
    declare("dkho_dataset_samples", c.c_int64, handle)
    declare("dkho_dataset_split", c.POINTER(c.c_int64), handle, text, c.POINTER(c.c_int64))
    declare("dkho_dataset_fields", c.c_int, handle)
    declare("dkho_dataset_field", status, handle, c.c_int, c.POINTER(_Info))
    declare("dkho_dataset_find", c.c_int, handle, text)
    declare("dkho_dataset_value", handle, handle, c.c_int, c.c_int64)
    declare("dkho_model_load", status, c.POINTER(handle), text)
    declare("dkho_model_free", None, handle)
    declare("dkho_model_inputs", c.c_int, handle)
    declare("dkho_model_input", status, handle, c.c_int, c.POINTER(_Info))
    declare("dkho_model_output", status, handle, c.POINTER(_Info))
    declare("dkho_model_parameters", c.c_int64, handle)
    declare("dkho_model_predict", status, handle, c.c_int, c.c_int64, c.POINTER(handle), handle)
    return lib


_lib = _open()


def _check(status):
    if status:
        raise Error(_lib.dkho_error().decode())


def _field(info):
    return Field(info.name.decode(), info.role.decode(), info.degree, info.channels, info.rows)


def _dtype(field):
    return np.float64 if field.role == "global" else np.float32


def version():
    return _lib.dkho_version().decode()


def describe(path):
    """What a file or a run directory is and holds, as a dict."""
    import json
    out = c.c_void_p()
    _check(_lib.dkho_describe(os.fsencode(path), c.byref(out)))
    try:
        return json.loads(c.string_at(out).decode())
    finally:
        _lib.dkho_text_free(out)


class _Owner:
    """Holds a handle and frees it once."""
    _free = None

    def __init__(self):
        self._owned = c.c_void_p()

    @property
    def _handle(self):
        if not getattr(self, "_owned", None):
            raise Error("closed already")
        return self._owned

    def close(self):
        handle, self._owned = getattr(self, "_owned", None), None
        if handle:
            self._free(handle)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class Dataset(_Owner):
    """An open data set. fields: name → Field; len() is the number of samples."""
    _free = staticmethod(_lib.dkho_dataset_free)

    def __init__(self, path):
        super().__init__()
        _check(_lib.dkho_dataset_open(c.byref(self._owned), os.fsencode(path)))
        self.fields = {}
        for i in range(_lib.dkho_dataset_fields(self._handle)):
            info = _Info()
            _check(_lib.dkho_dataset_field(self._handle, i, c.byref(info)))
            self.fields[info.name.decode()] = _field(info)

    def __len__(self):
        return _lib.dkho_dataset_samples(self._handle)

    def split(self, name):
        """Sample numbers of "train", "val" or "test"."""
        count = c.c_int64()
        numbers = _lib.dkho_dataset_split(self._handle, name.encode(), c.byref(count))
        if not numbers:
            raise Error(f"unknown split '{name}'; there are train, val, test")
        return np.ctypeslib.as_array(numbers, (count.value,)).copy()

    def value(self, name, sample):
        """A field of one sample: rows × channels, unscaled; a copy."""
        index = _lib.dkho_dataset_find(self._handle, name.encode())
        at = _lib.dkho_dataset_value(self._handle, index, sample) if index >= 0 else None
        if not at:
            raise Error(f"no value of field '{name}' for sample {sample}")
        field = self.fields[name]
        kind = c.c_double if field.role == "global" else c.c_float
        return np.ctypeslib.as_array(c.cast(at, c.POINTER(kind)), (field.rows, field.channels)).copy()


class Model(_Owner):
    """A trained operator. inputs: name → Field, in the order of the library; output: Field."""
    _free = staticmethod(_lib.dkho_model_free)

    def __init__(self, path):
        super().__init__()
        _check(_lib.dkho_model_load(c.byref(self._owned), os.fsencode(path)))
        self.inputs = {}
        for i in range(_lib.dkho_model_inputs(self._handle)):
            info = _Info()
            _check(_lib.dkho_model_input(self._handle, i, c.byref(info)))
            self.inputs[info.name.decode()] = _field(info)
        info = _Info()
        _check(_lib.dkho_model_output(self._handle, c.byref(info)))
        self.output = _field(info)
        self.parameters = _lib.dkho_model_parameters(self._handle)

    def predict(self, inputs, threads=0):
        """inputs: name → array of rows × channels (one sample) or batch × rows × channels. Gives the output likewise."""
        missing = set(self.inputs) - set(inputs)
        if missing:
            raise Error(f"missing inputs: {', '.join(sorted(missing))}")
        arrays, batch, single = [], None, None
        for name, field in self.inputs.items():
            array = np.ascontiguousarray(inputs[name], _dtype(field))
            one = array.ndim == 2
            if array.shape[-2:] != (field.rows, field.channels) or array.ndim not in (2, 3):
                raise Error(f"input '{name}': shape {array.shape}, expected ({field.rows}, {field.channels}) or a batch of it")
            count = 1 if one else array.shape[0]
            if batch not in (None, count) or single not in (None, one):
                raise Error(f"input '{name}': a batch of {count}, but the others have {batch}")
            batch, single = count, one
            arrays.append(array)
        out = np.empty((batch, self.output.rows, self.output.channels), np.float32)
        pointers = (c.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        _check(_lib.dkho_model_predict(self._handle, threads, batch, pointers, out.ctypes.data))
        return out[0] if single else out
