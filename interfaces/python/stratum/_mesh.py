"""Meshes: rectangles and boxes cut into cells by two or three lists of interval widths."""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from ._checks import expect_unmasked, whole
from ._stratum import BoxMesh, Mesh


def mesh(
    *given: Any,
    widths: tuple[Any, ...] | None = None,
    origin: tuple[float, ...] | None = None,
    cells: tuple[int, ...] | None = None,
    size: tuple[float, ...] | None = None,
    grading: str | tuple[str, ...] = "uniform",
) -> Mesh | BoxMesh:
    """A mesh of what is `given`: by name and level, by coordinates, by widths, or graded; with three axes a box. Lengths are in any
    one unit. Raises ValueError and TypeError for what makes no mesh.

    mesh("A3", 10)                  a published mesh with 2**10 x 2**10 cells
    mesh("A3", 6, "yz")             the same in a box, refined in these directions: one, two or three of x, y and z
    mesh(x, y), mesh(x, y, z)       increasing coordinates of the nodes, shapes (nx + 1,), (ny + 1,) and (nz + 1,)
    mesh(widths=(hx, hy))           widths of the intervals, shapes (nx,) and (ny,), beginning at `origin`; (hx, hy, hz) for a
                                    box. Extreme grading needs widths, because beside x = 1 coordinates are 1e-16 apart
    mesh(cells=(nx, ny), size=(a, b), grading=("geometric:1.1,last", "tanh:3,both"))
                                    gradings are uniform, geometric:RATIO,SIDE, tanh:STRETCH,SIDE, cosine[,SIDE] and
                                    shishkin:TRANSITION,SIDE; SIDE is first, last or both. Three of each for a box

    >>> import stratum
    >>> stratum.mesh("A3", 4)
    <stratum.Mesh A3: 16 x 16 cells, up to 448 times as long as wide>
    >>> stratum.mesh([0, 0.5, 1], [0, 0.1, 1]).shape
    (3, 3)
    >>> stratum.mesh(cells=(4, 2), size=(1, 3), grading=("cosine", "uniform")).widths_y
    array([1.5, 1.5])
    >>> stratum.mesh(cells=(4, 2, 3)).shape
    (4, 3, 5)
    """
    forms = (bool(given)) + (widths is not None) + (cells is not None)
    if forms != 1:
        raise ValueError("a mesh is made of a name and a level, of coordinates x and y, of widths=, or of cells=; "
                         f"given are {forms} of these")
    if widths is not None:
        of, axes = _kind("widths", widths), len(widths)
        return of.from_widths([_line(w, "widths") for w in widths], _numbers("origin", origin, 0.0, axes))
    if cells is not None:
        of, axes = _kind("cells", cells), len(cells)
        gradings = [grading] * axes if isinstance(grading, str) else _numbers("grading", grading, "", axes)
        return of.graded(gradings, [whole("a number of cells", n) for n in cells], _numbers("size", size, 1.0, axes))
    if len(given) == 1 and isinstance(given[0], (Mesh, BoxMesh)):
        return given[0]
    if len(given) not in (2, 3):
        raise ValueError("a mesh is made of a name and a level, or of coordinates x and y, or x, y and z; "
                         f"given are {len(given)} arguments")
    if isinstance(given[0], str):
        name, level = given[0], whole("level", given[1])
        return Mesh.named(name, level) if len(given) == 2 else BoxMesh.named(name, level, str(given[2]))
    of = _kind("coordinates", given)
    return of.from_coordinates([_line(x, "coordinates") for x in given])


def as_mesh(given: Any) -> Mesh | BoxMesh:
    """A mesh as it is; a tuple as the arguments of `mesh`."""
    return given if isinstance(given, (Mesh, BoxMesh)) else mesh(*given) if isinstance(given, tuple) else mesh(given)


def _of_widths(kind: Any, widths: list[np.ndarray], origin: list[float]) -> Mesh | BoxMesh:
    return kind.from_widths(widths, origin)  # type: ignore[no-any-return]


def _reduced(given: Any) -> tuple[Any, ...]:
    """For pickle and copy: a mesh is its widths and where it begins; a published one is not known by its name any more."""
    names = "xyz" if isinstance(given, BoxMesh) else "xy"
    return _of_widths, (type(given), [getattr(given, f"widths_{d}") for d in names], [float(getattr(given, d)[0]) for d in names])


for _kind_of_mesh in (Mesh, BoxMesh):
    copyreg.pickle(_kind_of_mesh, _reduced)


def _kind(what: str, axes: tuple[Any, ...]) -> Any:
    """The class of meshes with so many axes."""
    if not isinstance(axes, (tuple, list, np.ndarray)):
        raise TypeError(f"{what} are those of two or three axes, such as (nx, ny); given is {axes!r}")
    if len(axes) not in (2, 3):
        raise ValueError(f"{what} are those of two or three axes; given are {len(axes)}")
    return Mesh if len(axes) == 2 else BoxMesh


def _numbers(what: str, given: Any, default: Any, axes: int) -> list[Any]:
    """One for each axis."""
    if given is None:
        return [default] * axes
    numbers = [type(default)(one) for one in given]
    if len(numbers) != axes:
        raise ValueError(f"{what} is given for {len(numbers)} axes, and the mesh has {axes}")
    return numbers


def _line(numbers: Any, what: str) -> np.ndarray:
    expect_unmasked(what, numbers)
    line = np.asarray(numbers)
    if line.dtype.kind not in "buif":
        raise TypeError(f"{what} are real numbers; given is {line.dtype}")
    line = np.ascontiguousarray(line, dtype=np.float64)
    if line.ndim != 1:
        raise ValueError(f"{what} of a direction are one-dimensional; given is shape {line.shape}")
    return line
