"""Meshes: rectangles cut into cells by two lists of interval widths."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._stratum import Mesh


def mesh(
    *given: Any,
    widths: tuple[Any, Any] | None = None,
    origin: tuple[float, float] = (0.0, 0.0),
    cells: tuple[int, int] | None = None,
    size: tuple[float, float] = (1.0, 1.0),
    grading: str | tuple[str, str] = "uniform",
) -> Mesh:
    """A mesh by name and level, by coordinates, by widths, or graded.

    mesh("A3", 10)                  a published one, 2**10 x 2**10 cells
    mesh(x, y)                      nodes at increasing coordinates, shapes (nx + 1,) and (ny + 1,)
    mesh(widths=(hx, hy))           intervals this wide, shapes (nx,) and (ny,), from `origin` on: beside x = 1 coordinates
                                    are 1e-16 apart, so that extreme grading needs widths
    mesh(cells=(nx, ny), size=(a, b), grading=("geometric:1.1,last", "tanh:3,both"))
                                    uniform, geometric:RATIO,SIDE, tanh:STRETCH,SIDE, cosine[,SIDE] or
                                    shishkin:TRANSITION,SIDE, with SIDE first, last or both

    >>> import stratum
    >>> stratum.mesh("A3", 4)
    <stratum.Mesh A3: 16 x 16 cells, up to 448 times as long as wide>
    >>> stratum.mesh([0, 0.5, 1], [0, 0.1, 1]).shape
    (3, 3)
    >>> stratum.mesh(cells=(4, 2), size=(1, 3), grading=("cosine", "uniform")).widths_y
    array([1.5, 1.5])
    """
    forms = (bool(given)) + (widths is not None) + (cells is not None)
    if forms != 1:
        raise ValueError("a mesh is made of a name and a level, of coordinates x and y, of widths=, or of cells=; "
                         f"given are {forms} of these")
    if widths is not None:
        hx, hy = (_line(w, "widths") for w in widths)
        return Mesh.from_widths(hx, hy, float(origin[0]), float(origin[1]))
    if cells is not None:
        along_x, along_y = (grading, grading) if isinstance(grading, str) else grading
        return Mesh.graded(along_x, along_y, (int(cells[0]), int(cells[1])), (float(size[0]), float(size[1])))
    if len(given) == 1 and isinstance(given[0], Mesh):
        return given[0]
    if len(given) != 2:
        raise ValueError("a mesh is made of a name and a level, or of coordinates x and y; "
                         f"given are {len(given)} arguments")
    if isinstance(given[0], str):
        return Mesh.named(given[0], int(given[1]))
    return Mesh.from_coordinates(_line(given[0], "coordinates"), _line(given[1], "coordinates"))


def as_mesh(given: Any) -> Mesh:
    """A Mesh as it is; a tuple as the arguments of `mesh`."""
    return given if isinstance(given, Mesh) else mesh(*given) if isinstance(given, tuple) else mesh(given)


def _line(numbers: Any, what: str) -> np.ndarray:
    line = np.ascontiguousarray(numbers, dtype=np.float64)
    if line.ndim != 1:
        raise ValueError(f"{what} of a direction are one-dimensional; given is shape {line.shape}")
    return line
