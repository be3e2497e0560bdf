"""Solves with a matrix as functions of its entries and of b, for gradients.

For x = A^-1 b with lambda = A^-T x_bar: b_bar = lambda, A_bar = -lambda x^T at its entries.
"""

from __future__ import annotations

import threading
from typing import Any, Callable

import numpy as np

from ._differentiable import Stop, _Latest
from ._multigrid import Multigrid


def expect_matrix_data(*of_problem: Any) -> None:
    """Refuses what a solve with a matrix has not."""
    if any(one is not None for one in of_problem):
        raise TypeError("kappa, reaction, boundaries and bodies belong to a problem; a matrix has data=")


class MatrixSolves:
    """Those of a stratum.Multigrid with other values of its matrix."""

    def __init__(self, ml: Multigrid) -> None:
        self.ml = ml
        start, column, self.data = ml._matrix
        self.given = ml._given
        if start is None:
            raise TypeError("gradients are of sparse matrices; this stratum.Multigrid was made of bands")
        if ml._options["triangle"] == "symmetric":
            raise TypeError("gradients are of matrices with all their entries; give both triangles")
        self.start, self.column = start, column
        self.row = np.repeat(np.arange(ml.shape[0]), np.diff(start))
        if ml.singular and (not ml.symmetric or ml.found["singular_parts"] > 1):
            raise ValueError("gradients of singular matrices are of symmetric ones whose grid is connected; this one is "
                             + ("nonsymmetric" if not ml.symmetric else f"in {ml.found['singular_parts']} parts"))
        self._latest = _Latest()
        self.lock = threading.RLock()  # JAX and PyTorch call from threads of their own
        self._kept: dict[Any, Any] = {}
        self.calls: dict[Any, Any] = {}  # of compiled code

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What a library needs of the matrix; made at its first use."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def system(self, data: np.ndarray | None, transposed: bool) -> Multigrid:
        if data is None and self.given is not self.ml._given:
            raise ValueError("the matrix was updated after the solve whose gradient is asked for, or after the function was "
                             "compiled; solve again, or give data=")
        if data is None and (not transposed or self.ml.symmetric):
            return self.ml

        def make() -> Multigrid:
            from scipy.sparse import csr_array

            if data is None:
                self.ml._expect_unchanged("its transpose is set up for gradients")
            a: Any = csr_array((self.data if data is None else data, self.column, self.start), shape=self.ml.shape)
            if transposed and abs(a - a.T).max() == 0:
                return self.system(data, False)
            return self.ml._with(a.T.tocsr() if transposed else a)

        return self._latest.find((transposed, *([] if data is None else [data])), make)

    def solve(self, stop: Stop, data: np.ndarray | None, b: np.ndarray, transposed: bool) -> np.ndarray:
        """A^-1 b, or A^-T b; axes before the last one are a batch."""
        with self.lock:
            return self._solve(stop, data, b, transposed)

    def _solve(self, stop: Stop, data: np.ndarray | None, b: np.ndarray, transposed: bool) -> np.ndarray:
        batch = np.broadcast_shapes(np.shape(b)[:-1], () if data is None else np.shape(data)[:-1])
        b = np.broadcast_to(b, batch + np.shape(b)[-1:])
        if data is None or np.ndim(data) == 1 or all(n == 1 for n in np.shape(data)[:-1]):
            data = None if data is None else np.ascontiguousarray(data, dtype=np.float64).reshape(-1)
            columns = b.reshape(-1, b.shape[-1]).T
            x = self.one(stop, self.system(data, transposed), columns)
            return np.ascontiguousarray(x.T).reshape(b.shape)
        x = np.empty(b.shape)
        data = np.broadcast_to(data, batch + np.shape(data)[-1:])
        for k in np.ndindex(*batch):
            x[k] = self.one(stop, self.system(np.ascontiguousarray(data[k]), transposed), b[k][:, None])[:, 0]
        return x

    def one(self, stop: Stop, ml: Multigrid, b: Any) -> Any:
        """Of b of shape (n,) or, in NumPy, (n, k)."""
        return ml._solved(b, (stop.tolerance, 0.0, stop.maxiter, None), stop.on_failure, stop.rtol is not None)

    def expect_shapes(self, b: Any, data: Any) -> None:
        """Of b and of entries; axes before the last one are a batch."""
        n = self.ml.shape[0]
        if tuple(b.shape[-1:]) != (n,):
            raise ValueError(f"b has shape ({n},), or (k, {n}) for k of them; given is {tuple(b.shape)}")
        if data is not None and tuple(data.shape[-1:]) != self.data.shape:
            raise ValueError(f"data has shape {self.data.shape}, one number for each entry of A; given is {tuple(data.shape)}")

    def balanced(self, x_bar: Any) -> Any:
        return x_bar - x_bar.sum(-1)[..., None] / self.ml.shape[0] if self.ml.singular else x_bar


def matrix_solves_of(ml: Multigrid) -> MatrixSolves:
    """Kept with the solver, until its matrix is another."""
    kept = getattr(ml, "_solves", None)
    if kept is None or kept.given is not ml._given:
        kept = MatrixSolves(ml)
        ml._solves = kept  # type: ignore[attr-defined]
    return kept
