"""Arrays on a GPU, of CuPy, PyTorch or JAX, by DLPack."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_CPU, _CUDA = 1, 2  # kDLCPU, kDLCUDA


class OnDevice:
    """For from_dlpack: JAX's refuses a capsule by itself. What it holds has been computed, so no stream need wait for it. It lies
    where `beside` does.
    """

    def __init__(self, capsule: Any, beside: Any) -> None:
        self._capsule, self._place = capsule, (_CUDA, int(beside.__dlpack_device__()[1]))

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._place


def capsule(array: Any, stream: int) -> Any:
    """Of an array on a GPU for a stream, so that what was submitted to the array's own comes first."""
    return array.__dlpack__(stream=stream or 1)  # 1: CUDA's default stream


def library_of(array: Any) -> Any:
    """The module with the functions of arrays that CuPy, PyTorch or JAX has."""
    name = type(array).__module__.partition(".")[0]
    if name in ("jax", "jaxlib"):
        return sys.modules["jax"].numpy
    if name in ("torch", "cupy"):
        return sys.modules[name]
    raise TypeError(f"arrays on a GPU are of CuPy, PyTorch or JAX; given is {type(array).__name__} of {name}")


def contiguous(array: Any) -> Any:
    """Rows one after the other; JAX has no others."""
    if hasattr(array, "contiguous"):
        return array.contiguous()
    make = getattr(library_of(array), "ascontiguousarray", None)
    return array if make is None else make(array)


def joined_on_device(columns: list[Any], given: Any) -> Any:
    return columns[0] if len(given.shape) == 1 else library_of(given).stack(columns, 1)


def is_on_device(array: Any) -> bool:
    return not isinstance(array, np.ndarray) and hasattr(array, "__dlpack_device__") \
        and int(array.__dlpack_device__()[0]) != _CPU


def like(given: Any, result: Any) -> Any:
    """`result` as an array of the library that `given` comes from."""
    library = {"jaxlib": "jax"}.get(name := type(given).__module__.partition(".")[0], name)
    if library == "jax":
        if isinstance(result, np.ndarray):
            result = np.ascontiguousarray(result)  # it takes no others
        return sys.modules["jax"].dlpack.from_dlpack(result)
    return sys.modules[library].from_dlpack(result) if library in ("torch", "cupy") else result
