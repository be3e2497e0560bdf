"""Which grid the unknowns of a matrix lie on: read off its diagonals or off coordinates, and what else a matrix looks like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import grid_shape


def nodes(numbering: Any, n: int) -> np.ndarray:
    given = np.asarray(numbering).reshape(-1)
    if given.dtype.kind not in "iu":
        raise TypeError(f"numbering holds the node of every unknown, an integer; given is {given.dtype}")
    outside = np.flatnonzero((given < 0) | (given >= n))
    if outside.size:
        raise ValueError(f"unknown {outside[0]} is said to be node {given[outside[0]]}; nodes are 0 .. {n - 1}")
    return np.ascontiguousarray(given, dtype=np.int32)


def checked(shape: tuple[int, ...], unknowns: int) -> tuple[int, ...]:
    grid = grid_shape("shape", shape)
    count = 1
    for k in grid:
        count *= k
    if min(grid) < 1 or count != unknowns:
        raise ValueError(f"a grid of shape {grid} has {count} unknowns; the matrix has {(unknowns, unknowns)}")
    return grid


def from_coordinates(coordinates: Any, unknowns: int) -> tuple[tuple[int, ...], np.ndarray]:
    """(grid, node of every unknown) of points that lie on a tensor-product grid: an array (n, 2) or (n, 3), or arrays (n,)."""
    if isinstance(coordinates, (tuple, list)) and len(coordinates) in (2, 3) and np.ndim(coordinates[0]) == 1 \
            and len(coordinates[0]) == unknowns:
        coordinates = np.stack([np.asarray(x, dtype=np.float64) for x in coordinates], axis=1)
    points = np.asarray(coordinates, dtype=np.float64)
    if points.shape not in ((unknowns, 2), (unknowns, 3)):
        raise ValueError(f"coordinates of {unknowns} unknowns have shape ({unknowns}, 2) or ({unknowns}, 3); given is {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError("coordinates must be finite")
    lines = [_lines(points[:, d]) for d in range(points.shape[1])]
    counts = [count for _, count in lines]
    if np.prod(counts, dtype=float) != unknowns:
        different = " and ".join(f"{count} different {name}" for count, name in zip(counts, "xyz"))
        raise ValueError(f"the coordinates have {different}, which makes {int(np.prod(counts, dtype=float))} nodes of a grid and "
                         f"not {unknowns}: the unknowns of a stratum.Multigrid are all nodes of a tensor-product grid")
    node = np.zeros(unknowns, dtype=np.int64)
    for line, count in reversed(lines):
        node = node * count + line
    taken = np.bincount(node, minlength=unknowns)
    if taken.max(initial=1) > 1:
        one, other = np.flatnonzero(node == taken.argmax())[:2]
        raise ValueError(f"unknowns {one} and {other} have the same coordinates; for several unknowns at each node see "
                         "stratum.Components")
    return tuple(reversed(counts)), node


def _lines(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Of every number the line it lies on, and how many there are; what is closer than rounding is one line."""
    order = np.argsort(x, kind="stable")
    rounding = 64 * np.finfo(float).eps * np.abs(x).max(initial=0)
    is_next = np.diff(x[order]) > rounding
    line = np.empty(x.size, dtype=np.int64)
    line[order] = np.concatenate([[0], np.cumsum(is_next)]) if x.size else []
    return line, int(is_next.sum()) + 1


def grid_of(start: np.ndarray, column: np.ndarray) -> tuple[int, ...]:
    """The grid whose rows, and in a box planes, are as far apart as the diagonals of a matrix of 5 or 9, or 7 or 27 points."""
    n = start.size - 1
    offsets, counts = _diagonals(start, column)
    found = _five_or_nine(n, offsets, counts)
    if found is not None:
        if not _reaches_beyond(n, offsets, found[1]) or another_kind(start, column) is None:
            return found
    box = _whole_box(n, offsets, counts)
    if box is not None:
        return box
    raise ValueError(f"the diagonals of the matrix do not tell its grid; {looks_like(start, column)}")


def _reaches_beyond(n: int, offsets: np.ndarray, nx: int) -> bool:
    """Whether some couplings are none of neighbours or across a periodic end."""
    return bool(((abs(offsets) > nx + 1) & (abs(offsets) < n - nx - 1)).any())


def _diagonals(start: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = start.size - 1
    offset = column - np.repeat(np.arange(n), np.diff(start))
    return np.unique(offset, return_counts=True)


def _five_or_nine(n: int, offsets: np.ndarray, counts: np.ndarray) -> tuple[int, int] | None:
    far = [int(k) for k in offsets[counts > n // 2] if k > 1]
    if not far and abs(offsets).max(initial=0) <= 1:
        return n, 1
    # A row further: nx of five points; nx - 1, nx and nx + 1 of nine.
    nx = far[0] if len(far) == 1 else far[1] if len(far) == 3 and far[2] - far[0] == 2 else 0
    return None if nx == 0 or n % nx != 0 else (n // nx, nx)


def looks_like(start: np.ndarray, column: np.ndarray) -> str:
    """One sentence, and what to do."""
    n = start.size - 1
    give = f"give shape=(ny, nx), ny nx = {n}, or of a box shape=(nz, ny, nx), nz ny nx = {n}"
    if n == 0 or column.size == 0:
        return give
    offsets, counts = _diagonals(start, column)
    often = [int(k) for k in offsets[counts > n // 2] if k > 0]
    most = int(np.diff(start).max())
    another = another_kind(start, column)
    if another is not None:
        return another
    if 2 in often and most > 9 and len(often) > 4 and _box(n, often) is None:
        return (f"its rows couple to unknowns two columns away, with {most} entries, like quadratic elements or differences of "
                "high order; a stratum.Multigrid has nine points, neighbours in x, y and both, or 27 in a box. Use such a matrix to "
                "precondition yours")
    if most > 27:
        return (f"its rows have up to {most} entries, and those of a grid have nine: neighbours in x, y and both, or 27 in a box")
    if most > 9:
        return (f"its rows have up to {most} entries, more than the nine of a grid in two dimensions; of a box give shape=(nz, ny, nx), "
                f"nz ny nx = {n}")
    if not often and offsets.size > max(9, n // 8):
        return (f"it has {offsets.size} different diagonals with at most {most} entries in a row, like a grid whose unknowns are "
                "permuted, a mesh that is no tensor product, or one with hanging nodes. If all unknowns are nodes of a grid, give "
                f"coordinates= of the unknowns, or shape=(ny, nx) and numbering=, ny nx = {n}; (nz, ny, nx) of a box")
    return give


def another_kind(start: np.ndarray, column: np.ndarray) -> str | None:
    """Says whether it looks like several unknowns at each node, or like a box of which the shape given is not that."""
    n = start.size - 1
    offsets, counts = _diagonals(start, column)
    found = _five_or_nine(n, offsets, counts)
    if found is not None and not _reaches_beyond(n, offsets, found[1]):
        return f"its diagonals are those of a grid of {found[0]} x {found[1]} unknowns (y, x); give shape={found}"
    often = [int(k) for k in offsets[counts > n // 2] if k > 0]
    box = _whole_box(n, offsets, counts)
    if box:
        points = 7 if len(often) == 3 else 27
        return f"it looks like {points} points of a box of {box[0]} x {box[1]} x {box[2]} unknowns (z, y, x); give shape={box}"
    for several in (2, 3, 4):
        how = _components(start, column, several)
        if how:
            order, meaning, grid = how
            sizes, axes = " x ".join(str(k) for k in grid), "z, y, x"[-3 * len(grid) + 2:]
            return (f"it looks like {several} unknowns at each node of a grid of {sizes} ({axes}), {order} ({meaning}); use "
                    f"stratum.Components(A, {several}, order={order!r})")
    return None


def _whole_box(n: int, offsets: np.ndarray, counts: np.ndarray) -> tuple[int, int, int] | None:
    """The box whose nodes couple to neighbours, or across a periodic end. Of two to four x they may be components, too."""
    box = _box(n, [int(k) for k in offsets[counts > n // 2] if k > 0])
    if box is None or box[2] <= 4:
        return None
    near = box[2] * (box[1] + 1) + 1
    return None if ((abs(offsets) > near) & (abs(offsets) < n - near)).any() else box


def _box(n: int, often: list[int]) -> tuple[int, int, int] | None:
    if len(often) == 3 and often[0] == 1:
        nx, plane = often[1:]
    elif len(often) == 13 and often[0] == 1:
        nx, plane = often[2], often[8]
    elif len(often) == 10:  # elements on cubes, which do not couple along edges
        nx, plane = often[0] + 1, often[5] + 1
        if often != sorted([nx - 1, nx + 1, *(plane + k * nx + i for k in (-1, 0, 1) for i in (-1, 0, 1) if (k, i) != (0, 0))]):
            return None
    else:
        return None
    if nx < 2 or plane <= nx or plane % nx or n % plane:
        return None
    return n // plane, plane // nx, nx


def _components(start: np.ndarray, column: np.ndarray, several: int) -> tuple[str, str, tuple[int, ...]] | None:
    n = start.size - 1
    if n % several or n // several < 4:
        return None
    row, half = np.repeat(np.arange(n), np.diff(start)), n // several
    for name, part, of in (("interleaved", row % several, lambda k: k // several), ("blocked", row // half, lambda k: k % half)):
        other = column % several if name == "interleaved" else column // half
        if not (part != other).any():
            continue  # no coupling between components: as good as a numbering
        first = (part == 0) & (other == 0)
        offsets, counts = np.unique(of(column[first]) - of(row[first]), return_counts=True)
        found: tuple[int, ...] | None = _five_or_nine(half, offsets, counts)
        if found is None:
            found = _box(half, [int(k) for k in offsets[counts > half // 2] if k > 0])
        all_offsets = np.unique(of(column) - of(row))
        farthest = 1 + found[-1] * (1 if len(found) == 2 else 1 + found[1]) if found else 0
        if found and found[-1] > 2 and abs(all_offsets).max() <= farthest and 1 < found[0]:
            meaning = f"unknown {several} k + i is component i of node k" if name == "interleaved" \
                else "all nodes of one component after the other"
            return name, meaning, found
    return None


def speaks_of_couplings(message: str) -> bool:
    return "couples to" in message or "no neighbours" in message


def by_directions(numbering: str) -> str:
    """Of a box, "z first, then y": how an array v[k, j, i] gets there."""
    first, second = numbering[0], numbering[-1]
    slowest = "xyz".replace(first, "").replace(second, "")
    axes = tuple("zyx".index(name) for name in (slowest, second, first))
    return f"{numbering}: for an array v[k, j, i] of the box that is v.transpose{axes}.reshape(-1)"
