"""Descriptions, figures and pages."""
from __future__ import annotations

import ctypes as c
import os
from typing import Sequence

from ._library import check, json_of, lib, path_bytes, structures
from .mesh import Path


def describe(path: Path) -> dict:
    """What a file or a run directory is and holds."""
    return json_of(lib.dkho_describe, path_bytes(path))


def view(path: Path, page: Path, *, data: Path | None = None, split: str | None = None, samples: int = 0, threads: int = 0,
         force: bool = False) -> None:
    """Writes one HTML page that shows a mesh, a data set, or what a run predicts."""
    options = structures["dkho_view_options"](data=path_bytes(data), split=split and split.encode(), samples=samples, threads=threads,
                                              force=force)
    check(lib.dkho_view(path_bytes(path), path_bytes(page), c.byref(options)))


def plot(paths: Path | Sequence[Path], folder: Path, *, data: Path | None = None, split: str | None = None, format: str = "png",
         threads: int = 0, force: bool = False) -> list[str]:
    """Draws figures of meshes, a data set, or runs into a folder; gives their paths."""
    list_ = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    options = structures["dkho_plot_options"](data=path_bytes(data), split=split and split.encode(), format=format.encode(),
                                              threads=threads, force=force)
    texts = (c.c_char_p * len(list_))(*[path_bytes(p) for p in list_])
    return json_of(lib.dkho_plot, len(list_), texts, path_bytes(folder), c.byref(options))
