"""cuBLAS of pip's nvidia packages, which lies where the dynamic linker does not look."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
from pathlib import Path

_NAMES = ("libcublas.so.12", "libcublas.so.13")


def load() -> str | None:
    """Opens cuBLAS, if it is installed, so that the compiled part finds it by its name; returns what was opened."""
    if "STRATUM_CUBLAS" in os.environ:  # the compiled part takes this one
        return os.environ["STRATUM_CUBLAS"]
    for name in [*_NAMES, *_installed_by_pip()]:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return name
    return None


def _installed_by_pip() -> list[str]:
    """nvidia/cublas/lib of nvidia-cublas-cu12, nvidia/cu13/lib of nvidia-cublas."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else None
    return [str(file) for folder in folders or () for name in _NAMES for file in sorted(Path(folder).glob(f"*/lib/{name}"))]
