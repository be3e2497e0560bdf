"""Which grid the unknowns of a matrix lie on: read off its diagonals or off coordinates, and what else a matrix looks like."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def nodes(numbering: Any, n: int) -> np.ndarray:
    given = np.asarray(numbering).reshape(-1)
    if given.dtype.kind not in "iu":
        raise TypeError(f"numbering holds the node of every unknown, an integer; given is {given.dtype}")
    outside = np.flatnonzero((given < 0) | (given >= n))
    if outside.size:
        raise ValueError(f"unknown {outside[0]} is said to be node {given[outside[0]]}; nodes are 0 .. {n - 1}")
    return np.ascontiguousarray(given, dtype=np.int32)


def checked(shape: tuple[int, int], unknowns: int) -> tuple[int, int]:
    if len(shape) != 2:
        raise ValueError(f"shape is (ny, nx); given is {shape}")
    ny, nx = (operator.index(k) for k in shape)
    if ny < 1 or nx < 1 or ny * nx != unknowns:
        raise ValueError(f"a grid of shape {(ny, nx)} has {ny * nx} unknowns; the matrix has {(unknowns, unknowns)}")
    return ny, nx


def from_coordinates(coordinates: Any, unknowns: int) -> tuple[tuple[int, int], np.ndarray]:
    """(grid, node of every unknown) of points that lie on a tensor-product grid: an array (n, 2), or a pair of arrays (n,)."""
    if isinstance(coordinates, (tuple, list)) and len(coordinates) == 2 and np.ndim(coordinates[0]) == 1:
        coordinates = np.stack([np.asarray(x, dtype=np.float64) for x in coordinates], axis=1)
    points = np.asarray(coordinates, dtype=np.float64)
    if points.shape != (unknowns, 2):
        raise ValueError(f"coordinates of {unknowns} unknowns have shape ({unknowns}, 2); given is {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError("coordinates must be finite")
    i, nx = _lines(points[:, 0])
    j, ny = _lines(points[:, 1])
    if nx * ny != unknowns:
        raise ValueError(f"the coordinates have {nx} different x and {ny} different y, which makes {nx * ny} nodes of a grid and "
                         f"not {unknowns}: the unknowns of a stratum.Multigrid are all nodes of a tensor-product grid")
    node = j * nx + i
    counts = np.bincount(node, minlength=unknowns)
    if counts.max(initial=1) > 1:
        one, other = np.flatnonzero(node == counts.argmax())[:2]
        raise ValueError(f"unknowns {one} and {other} have the same coordinates; for several unknowns at each node see "
                         "stratum.Components")
    return (ny, nx), node


def _lines(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Of every number the line it lies on, and how many there are; what is closer than rounding is one line."""
    order = np.argsort(x, kind="stable")
    rounding = 64 * np.finfo(float).eps * np.abs(x).max(initial=0)
    is_next = np.diff(x[order]) > rounding
    line = np.empty(x.size, dtype=np.int64)
    line[order] = np.concatenate([[0], np.cumsum(is_next)]) if x.size else []
    return line, int(is_next.sum()) + 1


def grid_of(start: np.ndarray, column: np.ndarray) -> tuple[int, int]:
    """The grid whose rows are as far apart as the diagonals of a five- or nine-point matrix."""
    n = start.size - 1
    offsets, counts = _diagonals(start, column)
    found = _five_or_nine(n, offsets, counts)
    if found is not None:
        nx = found[1]
        # Couplings of neighbours, or across a periodic end.
        far = (abs(offsets) > nx + 1) & (abs(offsets) < n - nx - 1)
        if not far.any() or another_kind(start, column) is None:
            return found
    raise ValueError(f"the diagonals of the matrix do not tell its grid; {looks_like(start, column)}")


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
    give = f"give shape=(ny, nx), ny nx = {n}"
    if n == 0 or column.size == 0:
        return give
    offsets, counts = _diagonals(start, column)
    often = [int(k) for k in offsets[counts > n // 2] if k > 0]
    most = int(np.diff(start).max())
    another = another_kind(start, column)
    if another is not None:
        return another
    if 2 in often and most > 9 and len(often) > 4:
        return (f"its rows couple to unknowns two columns away, with {most} entries, like quadratic elements or differences of "
                "high order; a stratum.Multigrid has nine points, neighbours in x, y and both. Use such a matrix to precondition "
                "yours")
    if most > 9:
        return (f"its rows have up to {most} entries, and those of a grid in two dimensions have nine: neighbours in x, y and both")
    if not often and offsets.size > max(9, n // 8):
        return (f"it has {offsets.size} different diagonals with at most {most} entries in a row, like a grid whose unknowns are "
                "permuted, a mesh that is no tensor product, or one with hanging nodes. If all unknowns are nodes of a grid, give "
                f"coordinates= of the unknowns, or shape=(ny, nx) and numbering=, ny nx = {n}")
    return give


def another_kind(start: np.ndarray, column: np.ndarray) -> str | None:
    """Says whether it looks like several unknowns at each node, or like a box."""
    n = start.size - 1
    offsets, counts = _diagonals(start, column)
    often = [int(k) for k in offsets[counts > n // 2] if k > 0]
    box = _box(n, often)
    if box and box[2] > 4:  # else x numbers components
        points = 7 if len(often) == 3 else 27
        return (f"it looks like {points} points of a box of {box[0]} x {box[1]} x {box[2]} unknowns (z, y, x); a stratum.Multigrid "
                "is of grids in two dimensions. stratum.Poisson3D solves problems in boxes, without a matrix, and BoxMatrixSolver "
                "takes such matrices in C++")
    for several in (2, 3, 4):
        how = _components(start, column, several)
        if how:
            order, meaning, (ny, nx) = how
            return (f"it looks like {several} unknowns at each node of a grid of {ny} x {nx} (y, x), {order} ({meaning}); use "
                    f"stratum.Components(A, {several}, order={order!r})")
    return None


def _box(n: int, often: list[int]) -> tuple[int, int, int] | None:
    if len(often) == 3 and often[0] == 1:
        nx, plane = often[1:]
    elif len(often) == 13 and often[0] == 1:
        nx, plane = often[2], often[8]
    else:
        return None
    if nx < 2 or plane <= nx or plane % nx or n % plane:
        return None
    return n // plane, plane // nx, nx


def _components(start: np.ndarray, column: np.ndarray, several: int) -> tuple[str, str, tuple[int, int]] | None:
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
        found = _five_or_nine(half, offsets, counts)
        all_offsets = np.unique(of(column) - of(row))
        if found and found[1] > 2 and abs(all_offsets).max() <= found[1] + 1 and 1 < found[0]:
            meaning = f"unknown {several} k + i is component i of node k" if name == "interleaved" \
                else "all nodes of one component after the other"
            return name, meaning, found
    return None
