"""The arrays of a matrix, as it is given: sparse, or by bands on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._checks import expect_unmasked


def matrix_of(A: Any) -> tuple[tuple[Any, Any, np.ndarray], tuple[int, ...] | None]:
    """(indptr, indices, data) of a sparse matrix or of the bands of a box, or (None, None, bands), and the grid of bands."""
    if hasattr(A, "tocsr"):
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"a matrix is square; given is shape {A.shape}")
        if A.dtype.kind not in "buif":
            more = "; stratum.ComplexMultigrid(A) solves R + i S" if A.dtype.kind == "c" else ""
            raise TypeError(f"a matrix is real; given is {A.dtype}{more}")
        rows = A.tocsr()
        wide = rows.indptr.dtype != np.int32 or rows.indices.dtype != np.int32
        index = np.int64 if wide else np.int32
        return (np.ascontiguousarray(rows.indptr, index), np.ascontiguousarray(rows.indices, index),
                np.ascontiguousarray(rows.data, np.float64)), None
    expect_unmasked("A", A)
    bands = np.asarray(A)
    count = {3: (5, 9), 4: (14, 27)}.get(bands.ndim, ())
    if bands.dtype.kind not in "buif" or bands.shape[:1] not in [(k,) for k in count]:
        raise TypeError("A is a scipy.sparse matrix, or bands of shape (9, ny, nx) or (5, ny, nx), of a box (27, nz, ny, nx) or "
                        f"(14, nz, ny, nx); given is {type(A).__name__}" + (f" of {bands.dtype}, shape {bands.shape}" if bands.ndim else "") +
                        ("; a dense matrix becomes a sparse one by scipy.sparse.csr_array(A)"
                         if bands.ndim == 2 and bands.shape[0] == bands.shape[1] else ""))
    if bands.ndim == 4:
        return _rows_of_bands(np.asarray(bands, np.float64)), bands.shape[1:]
    return (None, None, np.ascontiguousarray(bands, np.float64).reshape(-1)), bands.shape[1:]


def _rows_of_bands(bands: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(indptr, indices, data) of 27 bands on a box, or of the 14 from the centre on; what reaches across a side couples to the
    other end."""
    grid = bands.shape[1:]
    nodes = np.arange(bands[0].size).reshape(grid)
    rows, columns, values = [], [], []
    for number, band in enumerate(bands, 27 - bands.shape[0]):
        offset = (number // 9 - 1, number // 3 % 3 - 1, number % 3 - 1)
        held = band != 0
        # Along a direction of two nodes the other end is a neighbour already, and of one the node itself.
        for axis, step in enumerate(offset):
            if step != 0 and grid[axis] < 3:
                outside = [slice(None)] * 3
                outside[axis] = slice(-1, None) if step > 0 else slice(0, 1)
                if held[tuple(outside)].any():
                    raise ValueError(f"band {number} couples across a side of the box, which has {grid[axis]} nodes there")
        to = np.roll(nodes, tuple(-step for step in offset), axis=(0, 1, 2))
        rows.append(nodes[held])
        columns.append(to[held])
        values.append(band[held])
        if bands.shape[0] == 14 and number > 13:
            rows.append(to[held])
            columns.append(nodes[held])
            values.append(band[held])
    row, column, value = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
    order = np.lexsort((column, row))
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=nodes.size))])
    return start.astype(np.int64), column[order].astype(np.int64), np.ascontiguousarray(value[order])


def fingerprint(matrix: tuple[Any, Any, np.ndarray]) -> list[int]:
    """Other numbers where arrays were changed in place, at a small part of a set-up's time."""
    bits = [np.frombuffer(a, dtype=f"u{a.itemsize}") for a in matrix if a is not None and a.size > 0]
    return [int(f(part)) for a in bits for part in (a, a[1::2]) for f in (np.add.reduce, np.bitwise_xor.reduce)]
