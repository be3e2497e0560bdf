"""Several unknowns at each node of a grid: a multigrid cycle for each component, around them a Krylov method."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _report
from ._multigrid import Multigrid


class Components:
    """A x = b with several unknowns at each node of a grid, such as displacements of elasticity.

    A          a scipy.sparse matrix of c n unknowns, n = ny nx, or nz ny nx in a box
    components c
    shape      (ny, nx) or (nz, ny, nx); may be left out if the diagonals of the components' own blocks determine it
    order      "interleaved": unknown c k + i is component i of node k; "blocked": all nodes of one component after the other
    options    those of stratum.Multigrid, for each component

    The preconditioner is symmetric block Gauss-Seidel over the components, each by one cycle for its own block of A; the method is
    conjugate gradients if A is symmetric, else GMRES(50). The true residual meets the tolerance. Components that couple strongly,
    as in nearly incompressible elasticity, take many iterations.

    >>> import numpy as np, scipy.sparse as sp, stratum
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(31, 31))
    >>> laplacian, coupling = sp.kronsum(line, line), 0.5 * sp.eye_array(31 * 31)
    >>> A = sp.block_array([[laplacian + coupling, -coupling], [-coupling, 9 * laplacian + coupling]], format="csr")
    >>> solver = stratum.Components(A, 2, order="blocked")
    >>> b = np.ones(A.shape[0])
    >>> x = solver.solve(b)
    >>> bool(np.linalg.norm(b - A @ x) < 1e-8 * np.linalg.norm(b)), solver.report["iterations"] < 15
    (True, True)
    """

    def __init__(self, A: Any, components: int, shape: tuple[int, ...] | None = None, *, order: str = "interleaved",
                 **options: Any) -> None:
        if not hasattr(A, "tocsr") or A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise TypeError("A is a square scipy.sparse matrix; given is "
                            f"{type(A).__name__}" + (f" of shape {A.shape}" if hasattr(A, "shape") else ""))
        n = A.shape[0]
        if components < 1 or n % components:
            raise ValueError(f"{n} unknowns are no multiple of {components} components")
        if order not in ("interleaved", "blocked"):
            raise ValueError(f"order is 'interleaved' or 'blocked'; not {order!r}")
        self._a = A.tocsr()
        self.shape: tuple[int, int] = (n, n)
        nodes = n // components
        #: Of each component the numbers of its unknowns.
        self.unknowns: list[np.ndarray] = [np.arange(c, n, components) if order == "interleaved"
                                           else np.arange(c * nodes, (c + 1) * nodes) for c in range(components)]
        rows = [self._a[own] for own in self.unknowns]
        self._rows = [[row[:, own].tocsr() for own in self.unknowns] for row in rows]
        #: A stratum.Multigrid for each component.
        self.solvers: list[Multigrid] = [Multigrid(self._rows[c][c], shape, **options) for c in range(components)]
        self.grid = self.solvers[0].grid
        difference = abs(self._a - self._a.T)
        self.symmetric: bool = bool(difference.max() <= 1e-12 * abs(self._a).max()) if n else True
        #: Of the latest solve.
        self.report: dict[str, Any] = {}

    def __repr__(self) -> str:
        grid = " x ".join(str(k) for k in self.grid)
        kind = "symmetric" if self.symmetric else "nonsymmetric"
        return f"<stratum.Components: {len(self.solvers)} of a {kind} matrix, on {grid} nodes>"

    def apply(self, r: Any) -> np.ndarray:
        """z = one symmetric sweep over the components for A z = r, from zero; r has shape (n,)."""
        r = np.asarray(r, dtype=np.float64).reshape(-1)
        if r.shape != self.shape[:1]:
            raise ValueError(f"r has shape ({self.shape[0]},); given is {r.shape}")
        count = len(self.solvers)
        z = [np.zeros(own.size) for own in self.unknowns]
        for c in [*range(count), *reversed(range(count - 1))]:
            residual = r[self.unknowns[c]] - sum(self._rows[c][other] @ z[other] for other in range(count))
            z[c] = z[c] + self.solvers[c].apply(residual)
        joined = np.empty(self.shape[0])
        for own, part in zip(self.unknowns, z):
            joined[own] = part
        return joined

    __call__ = apply

    def aspreconditioner(self) -> Any:
        """A scipy.sparse.linalg.LinearOperator; nearly symmetric if A is."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=self.apply, dtype=np.float64)

    def solve(self, b: Any, x0: Any = None, *, rtol: float | None = None, maxiter: int = 200,
              callback: Callable[[int, float], Any] | None = None, on_failure: str = "warn") -> np.ndarray:
        """Solves A x = b for b of shape (n,).

        rtol        stop when the true residual ||b - A x|| <= rtol ||b||; 1e-8 if not given
        callback    called with the number of the iteration and ||b - A x||
        on_failure  if the tolerance was not met: "warn", "raise" or "ignore"
        """
        _report.check_on_failure(on_failure)
        b = np.asarray(b, dtype=np.float64)
        if b.shape != self.shape[:1]:
            raise ValueError(f"b has shape ({self.shape[0]},); given is {b.shape}")
        x = np.zeros_like(b) if x0 is None else np.array(x0, dtype=np.float64)
        if x.shape != b.shape:
            raise ValueError(f"x0 has the shape of b, {b.shape}; given is {x.shape}")
        tolerance = 1e-8 if rtol is None else rtol
        norm = float(np.linalg.norm(b))
        residuals = [float(np.linalg.norm(b - self._a @ x))]
        method = self._by_conjugate_gradients if self.symmetric else self._by_gmres
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
        self.report = {"status": status, "converged": converged, "failed": not finite, "reason": reason,
                       "iterations": len(residuals) - 1, "residual": residuals[-1], "residuals": residuals,
                       "relative_residual": residuals[-1] / norm if norm else 0.0,
                       "exit_codes": (0, 0) if converged else (3, 3) if not finite else (2, 2)}
        _report.judge(self.report, x, on_failure, True)
        return x

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
        h = np.zeros((size + 1, size))
        first = float(np.linalg.norm(r))
        y: Any = np.zeros(0)
        for k in range(size):
            directions.append(self.apply(basis[k]))
            w: Any = self._a @ directions[k]
            for i, v in enumerate(basis):
                h[i, k] = v @ w
                w = w - h[i, k] * v
            h[k + 1, k] = np.linalg.norm(w)
            right = np.zeros(k + 2)
            right[0] = first
            y = np.linalg.lstsq(h[:k + 2, :k + 1], right, rcond=None)[0]
            residuals.append(float(np.linalg.norm(right - h[:k + 2, :k + 1] @ y)))
            if callback is not None:
                callback(len(residuals) - 1, residuals[-1])
            if not residuals[-1] > target or h[k + 1, k] == 0:
                break
            basis.append(w / h[k + 1, k])
        return x + sum(c * d for c, d in zip(y, directions))
