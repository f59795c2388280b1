"""The tensor container for the Python tools: read and write with NumPy alone.

Layout (docs/FORMATS.md): 8 bytes little-endian header length, JSON header, tensor bytes contiguous in header order. Tensors are
written widest type first, so each one is aligned to its element size without padding tensors, which reading leaves out.
"""
import json
import os
import re
import struct

import numpy as np

TYPES = {"U8": "<u1", "I8": "<i1", "I32": "<i4", "I64": "<i8", "F32": "<f4", "F64": "<f8"}
NAMES = {np.dtype(code): name for name, code in TYPES.items()}


def read(path):
    """(tensors, metadata): a dict of arrays and a dict of strings."""
    with open(path, "rb") as stream:
        blob = stream.read()
    if len(blob) < 8:
        raise ValueError(f"{path}: {len(blob)} bytes, shorter than a header length")
    (length,) = struct.unpack_from("<Q", blob)
    if length > len(blob) - 8:
        raise ValueError(f"{path}: header of {length} bytes in a file of {len(blob)}")
    header = json.loads(blob[8:8 + length].decode("utf-8"))
    meta = header.pop("__metadata__", {})
    body = memoryview(blob)[8 + length:]
    tensors, end = {}, 0
    for name, entry in header.items():
        dtype = np.dtype(TYPES[entry["dtype"]])
        start, stop = entry["data_offsets"]
        count = int(np.prod(entry["shape"], dtype=np.int64))
        if start != end or stop - start != count * dtype.itemsize or stop > len(body):
            raise ValueError(f"{path}: {name}: offsets [{start}, {stop}] do not fit shape {entry['shape']}")
        if not re.fullmatch(r"_pad\d+", name):
            tensors[name] = np.frombuffer(body[start:stop], dtype).reshape(entry["shape"])
        end = stop
    if end != len(body):
        raise ValueError(f"{path}: {len(body) - end} bytes after the last tensor")
    return tensors, meta


def write(path, tensors, meta=None):
    """Writes arrays and metadata strings; the same input gives the same bytes."""
    arrays = {name: np.ascontiguousarray(a).reshape(np.shape(a)) for name, a in tensors.items()}
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    header, end = ({"__metadata__": dict(meta)} if meta else {}), 0
    for name in order:
        a = arrays[name]
        header[name] = {"dtype": NAMES[a.dtype.newbyteorder("<")], "shape": list(a.shape), "data_offsets": [end, end + a.nbytes]}
        end += a.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-(len(text) + 8) % 64)
    temp = f"{path}.part"
    with open(temp, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)))
        stream.write(text)
        for name in order:
            stream.write(arrays[name].tobytes())
    os.replace(temp, path)
