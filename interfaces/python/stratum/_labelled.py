"""xarray in and out: meshes from coordinates, coefficients by dimension names, u as a DataArray."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._mesh import _line


def is_labelled(array: Any) -> bool:
    """A DataArray; xarray is imported already where there is one."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(array, xarray.DataArray)


def has_labels(mesh: Any, f: Any) -> bool:
    return is_labelled(f) and mesh is None or (isinstance(mesh, tuple) and any(is_labelled(axis) for axis in mesh))


class Labels:
    """Dimensions x, y (and z) of a problem: those called so, else the last one of f is x, the one before y."""

    def __init__(self, mesh: Any, f: Any) -> None:
        if mesh is None:
            dims = [str(d) for d in f.dims]
            named: list[str] = [d for d in ("x", "y", "z") if d in dims]
            self.dims: list[str] = named if len(named) == len(dims) else dims[::-1]
            lines: list[Any] = [f.coords[d] if d in f.coords else None for d in self.dims]
            missing = [d for d, line in zip(self.dims, lines) if line is None]
            if missing:
                raise ValueError(f"f has no coordinates along {', '.join(missing)}; a mesh is made of them")
        else:
            lines = list(mesh)
            self.dims = [str(line.dims[0]) if is_labelled(line) else "xyz"[d] for d, line in enumerate(lines)]
        self.lines: list[np.ndarray] = [_line(line, "coordinates") for line in lines]
        if len(self.dims) not in (2, 3):
            raise ValueError(f"a mesh has two or three dimensions; f has {len(self.dims)}: {', '.join(self.dims)}")
        #: Dimensions whose coordinates fall, such as latitudes from the north.
        self.falling = [line.size > 1 and line[0] > line[-1] for line in self.lines]

    def mesh(self) -> tuple[np.ndarray, ...]:
        return tuple(line[::-1] if falls else line for line, falls in zip(self.lines, self.falling))

    def plain(self, given: Any) -> Any:
        """Numbers in the order of arrays of a problem, (y, x) or (z, y, x); of dictionaries and tuples each."""
        if isinstance(given, dict):
            return {name: self.plain(value) for name, value in given.items()}
        if isinstance(given, tuple):
            return tuple(self.plain(value) for value in given)
        if not is_labelled(given):
            return given
        unknown = [d for d in given.dims if d not in self.dims]
        if unknown:
            raise ValueError(f"dimensions are {', '.join(self.dims)}; not {', '.join(map(str, unknown))}")
        order = [d for d in self.dims[::-1] if d in given.dims]
        values = given.transpose(*order).values
        for axis, d in enumerate(order):
            if self.falling[self.dims.index(d)]:
                values = np.flip(values, axis)
        return np.ascontiguousarray(values)

    def solution(self, u: np.ndarray, report: dict[str, Any], like: Any) -> Any:
        """u with its coordinates, in the order of dimensions of f."""
        import xarray

        for d, falls in enumerate(self.falling):
            if falls:
                u = np.flip(u, -1 - d)
        attributes = {key: report[key] for key in ("status", "iterations", "relative_residual")}
        array = xarray.DataArray(u, dims=self.dims[::-1], coords=dict(zip(self.dims, self.lines)), name="u", attrs=attributes)
        same = is_labelled(like) and set(like.dims) == set(self.dims)
        return array.transpose(*like.dims) if same else array
