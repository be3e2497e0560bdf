"""Complex matrices on a grid: a multigrid cycle for a real matrix beside, and GMRES around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._multigrid import Multigrid
from ._outer import OuterSolver


class ComplexMultigrid(OuterSolver):
    """A x = b for A = R + i S on a grid, such as diffusion in the frequency domain, K + i omega M, or complex shifts of K.

    A          a complex scipy.sparse matrix of n unknowns, R as stratum.Multigrid takes it; S definite, or zero in most rows
    shape      (ny, nx) or (nz, ny, nx), as of stratum.Multigrid
    options    those of stratum.Multigrid

    The preconditioner is one cycle for the real matrix R + |S|, where |S| is S or -S, whichever has the positive trace; the method is
    GMRES(50). If R and S are symmetric and positive semidefinite, the eigenvalues that it sees have a modulus of 0.7 to 1 and a
    positive real part, whatever omega is. Waves, whose R is indefinite, are refused or do not converge. Raises ValueError and
    TypeError for matrices that do not fit.

    >>> import numpy as np, scipy.sparse as sp, stratum
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(63, 63))
    >>> A = sp.kronsum(line, 100 * line, format="csr") + 0.5j * sp.eye_array(63 * 63)
    >>> solver = stratum.ComplexMultigrid(A)
    >>> b = np.ones(A.shape[0])
    >>> x = solver.solve(b)
    >>> bool(np.linalg.norm(b - A @ x) < 1e-8 * np.linalg.norm(b)), solver.report["iterations"] < 25
    (True, True)
    """

    _dtype = np.complex128

    def __init__(self, A: Any, shape: tuple[int, ...] | None = None, **options: Any) -> None:
        if not hasattr(A, "tocsr") or A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise TypeError("A is a square scipy.sparse matrix; given is "
                            f"{type(A).__name__}" + (f" of shape {A.shape}" if hasattr(A, "shape") else ""))
        self._a = A.tocsr().astype(np.complex128)
        self.shape: tuple[int, int] = (A.shape[0], A.shape[0])
        self.symmetric: bool = False
        real, imaginary = self._a.real, self._a.imag
        # Negative definite R, as -K, with S of its sign.
        sign = -1.0 if real.diagonal().sum() < 0 else 1.0
        imaginary = imaginary * (sign if imaginary.diagonal().sum() >= 0 else -sign)
        #: The stratum.Multigrid of R + |S|.
        self.solver: Multigrid = Multigrid((real + imaginary).tocsr(), shape, **options)
        self.grid = self.solver.grid
        self.report: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<stratum.ComplexMultigrid of a grid of shape {self.grid}>"

    def apply(self, r: Any) -> np.ndarray:
        """z = one cycle for (R + |S|) z = r; r has shape (n,) or (n, k), and so has z."""
        z: np.ndarray = self.solver.apply(self._vectors("r", r))
        return z
