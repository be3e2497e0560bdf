"""Several unknowns at each node of a grid: a multigrid cycle for each component, around them a Krylov method."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._multigrid import Multigrid
from ._outer import OuterSolver


class Components(OuterSolver):
    """A x = b with several unknowns at each node of a grid, such as displacements of elasticity.

    A          a scipy.sparse matrix of c n unknowns, n = ny nx, or nz ny nx in a box
    components c
    shape      (ny, nx) or (nz, ny, nx); may be left out if the diagonals of the components' own blocks determine it
    order      "interleaved": unknown c k + i is component i of node k; "blocked": all nodes of one component after the other
    options    those of stratum.Multigrid, for each component

    The preconditioner is symmetric block Gauss-Seidel over the components, each by one cycle for its own block of A; the method is
    conjugate gradients if A is symmetric, else GMRES(50). The true residual meets the tolerance. Components that couple strongly,
    as in nearly incompressible elasticity, take many iterations. Raises ValueError and TypeError for matrices that do not fit.

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
        if A.dtype.kind == "c":
            raise TypeError("components are those of a real matrix; given is " + str(A.dtype))
        self._a = A.tocsr().astype(np.float64)
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
        self.report: dict[str, Any] = {}

    def __repr__(self) -> str:
        grid = " x ".join(str(k) for k in self.grid)
        kind = "symmetric" if self.symmetric else "nonsymmetric"
        return f"<stratum.Components: {len(self.solvers)} of a {kind} matrix, on {grid} nodes>"

    def apply(self, r: Any) -> np.ndarray:
        """z = one symmetric sweep over the components for A z = r, from zero; r has shape (n,) or (n, k), and so has z."""
        r = self._vectors("r", r)
        count = len(self.solvers)
        z = [np.zeros(r[own].shape, dtype=r.dtype) for own in self.unknowns]
        for c in [*range(count), *reversed(range(count - 1))]:
            residual = r[self.unknowns[c]] - sum(self._rows[c][other] @ z[other] for other in range(count))
            z[c] = z[c] + self.solvers[c].apply(residual)
        joined = np.empty_like(r)
        for own, part in zip(self.unknowns, z):
            joined[own] = part
        return joined
