"""Methods around a preconditioner in Python, for matrices that are made of several systems on a grid."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _report
from ._checks import expect_callback, expect_unmasked, iterations, number


class OuterSolver:
    """A x = b by conjugate gradients or GMRES around `apply`, to the true residual."""

    _a: Any
    _dtype: Any = np.float64
    #: (n, n)
    shape: tuple[int, int]
    symmetric: bool
    #: Of the latest solve, of the last column where there were several; "columns" has all of them.
    report: dict[str, Any]

    def apply(self, r: Any) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, r: Any) -> np.ndarray:
        return self.apply(r)

    def aspreconditioner(self) -> Any:
        """A scipy.sparse.linalg.LinearOperator of `apply`, of shape (n, n): M of SciPy's methods."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=self.apply, dtype=self._dtype)

    def solve(self, b: Any, x0: Any = None, tol: float | None = None, maxiter: int = 200,
              callback: Callable[[int, float], Any] | None = None, residuals: list[float] | None = None, return_info: bool = False, *,
              rtol: float | None = None, on_failure: str = "warn") -> Any:
        """Solves A x = b for b of shape (n,), or of k right-hand sides, (n, k); x has this shape.

        tol or rtol  stop when the true residual ||b - A x|| <= rtol ||b||; 1e-8 if not given
        callback     called with the number of the iteration and ||b - A x||
        residuals    a list that receives ||b - A x|| of every iteration, the initial one first
        return_info  return (x, info): 0 if converged, else the number of iterations
        on_failure   if the tolerance was not met: "warn", "raise" or "ignore"; `report` has the status in any case

        Raises ValueError for other shapes, TypeError for what is no number, ConvergenceError if the solve failed.
        """
        _report.check_on_failure(on_failure)
        expect_callback(callback)
        if tol is not None and rtol is not None:
            raise ValueError("tol and rtol are the same; give one of them")
        asked_for = tol if rtol is None else rtol
        tolerance, maxiter = 1e-8 if asked_for is None else number("rtol", asked_for), iterations(maxiter)
        b = self._vectors("b", b)
        starts = np.zeros_like(b) if x0 is None else self._vectors("x0", x0)
        if starts.shape != b.shape:
            raise ValueError(f"x0 has the shape of b, {b.shape}; given is {starts.shape}")
        x = np.empty(b.shape, dtype=np.result_type(b, starts))
        columns = []
        for k in np.ndindex(b.shape[1:]):
            at = (slice(None), *k)
            x[at], report = self._one(b[at], starts[at], tolerance, maxiter, callback)
            columns.append(report)
        worst = max(columns, key=lambda report: (report["exit_codes"][0], report["iterations"]))
        self.report = columns[-1] | ({"columns": columns} if len(columns) > 1 else {})
        if residuals is not None:
            residuals[:] = columns[-1]["residuals"]
        _report.judge(worst, x, on_failure, True)
        if not return_info:
            return x
        return x, 0 if worst["converged"] else worst["iterations"]

    def _vectors(self, name: str, given: Any) -> np.ndarray:
        expect_unmasked(name, given)
        array = np.asarray(given)
        if array.dtype.kind not in "buifc":
            raise TypeError(f"{name} is numbers; given is {array.dtype}")
        n = self.shape[0]
        if array.shape[:1] != (n,) or array.ndim > 2 or 0 in array.shape[1:]:
            raise ValueError(f"{name} has shape ({n},) or ({n}, k); given is {array.shape}")
        return array.astype(np.result_type(self._dtype, np.complex128 if array.dtype.kind == "c" else np.float64), copy=False)

    def _one(self, b: np.ndarray, x: np.ndarray, tolerance: float, maxiter: int, callback: Any) -> tuple[np.ndarray, dict[str, Any]]:
        norm = float(np.linalg.norm(b))
        residuals = [float(np.linalg.norm(b - self._a @ x))]
        method = self._by_conjugate_gradients if self.symmetric and b.dtype.kind != "c" else self._by_gmres
        while residuals[-1] > tolerance * norm and len(residuals) <= maxiter:
            before, count = residuals[-1], len(residuals)
            x = method(b, x, tolerance * norm, maxiter + 1 - count, residuals, callback)
            residuals[-1] = float(np.linalg.norm(b - self._a @ x))
            if not residuals[-1] < 0.5 * before:
                break  # what a restart does not halve is at its limit
        converged = residuals[-1] <= tolerance * norm
        finite = bool(np.isfinite(residuals[-1]))
        status = "converged" if converged else "non-finite" if not finite else "max iterations" if len(residuals) > maxiter \
            else "stagnated"
        reason = f"residual {residuals[-1]:.3e} after {len(residuals) - 1} iterations, {tolerance * norm:.3e} was asked for"
        return x, {"status": status, "converged": converged, "failed": not finite, "reason": reason,
                   "iterations": len(residuals) - 1, "residual": residuals[-1], "residuals": residuals,
                   "relative_residual": residuals[-1] / norm if norm else 0.0,
                   "exit_codes": (0, 0) if converged else (3, 3) if not finite else (2, 2)}

    def _by_conjugate_gradients(self, b: np.ndarray, x: np.ndarray, target: float, steps: int, residuals: list[float],
                                callback: Any) -> np.ndarray:
        """Flexible, by Polak and Ribiere: the preconditioner is symmetric to single precision alone."""
        r = b - self._a @ x
        z = self.apply(r)
        p, rz = z, float(r @ z)
        for _ in range(steps):
            q = self._a @ p
            step = rz / float(p @ q)
            x = x + step * p
            r, before = r - step * q, r
            residuals.append(float(np.linalg.norm(r)))
            if callback is not None:
                callback(len(residuals) - 1, residuals[-1])
            if not residuals[-1] > target:
                break
            z = self.apply(r)
            new = float(r @ z)
            p = z + (new - float(before @ z)) / rz * p
            rz = new
        return x

    def _by_gmres(self, b: np.ndarray, x: np.ndarray, target: float, steps: int, residuals: list[float],
                  callback: Any) -> np.ndarray:
        """50 steps of flexible GMRES, by modified Gram-Schmidt."""
        r: Any = b - self._a @ x
        size = min(50, steps)
        basis: list[Any] = [r / np.linalg.norm(r)]
        directions: list[np.ndarray] = []
        h = np.zeros((size + 1, size), dtype=b.dtype)
        first = float(np.linalg.norm(r))
        y: Any = np.zeros(0)
        for k in range(size):
            directions.append(self.apply(basis[k]))
            w: Any = self._a @ directions[k]
            for i, v in enumerate(basis):
                h[i, k] = np.vdot(v, w)
                w = w - h[i, k] * v
            h[k + 1, k] = np.linalg.norm(w)
            right = np.zeros(k + 2, dtype=b.dtype)
            right[0] = first
            y = np.linalg.lstsq(h[:k + 2, :k + 1], right, rcond=None)[0]
            residuals.append(float(np.linalg.norm(right - h[:k + 2, :k + 1] @ y)))
            if callback is not None:
                callback(len(residuals) - 1, residuals[-1])
            if not residuals[-1] > target or h[k + 1, k] == 0:
                break
            basis.append(w / h[k + 1, k])
        return x + sum(c * d for c, d in zip(y, directions))
