"""What problems on rectangles and in boxes have in common: one f after the other is solved for."""

from __future__ import annotations

from typing import Any, Callable, Generic, TypeVar

import numpy as np

from . import _report
from ._sampling import loads

S = TypeVar("S")


class Problem(Generic[S]):
    mesh: Any
    _system: Any
    _rtol, _maxiter = 1e-8, 100  # unless given

    def _solution(self, u: np.ndarray, report: dict[str, Any]) -> S:
        raise NotImplementedError

    def _after_fork(self) -> None:
        self._system.after_fork()

    @property
    def singular(self) -> bool:
        """u is known up to a constant only; solutions have mean zero."""
        return self._system.singular

    def solve(
        self,
        f: Any,
        *,
        rtol: float | None = None,
        atol: float = 0.0,
        maxiter: int | None = None,
        reference_norm: str | None = None,
        project: bool = False,
        callback: Callable[[int, float], Any] | None = None,
        on_failure: str = "warn",
    ) -> S:
        """Solves for one f: a number, an array at the nodes, shape (ny + 1, nx + 1), or on the cells, (ny, nx), or a function; in
        a box arrays are (nz + 1, ny + 1, nx + 1) and (nz, ny, nx).

        rtol, atol  until ||b - A x|| <= max(rtol reference_norm, atol); rtol is 1e-8 unless given, in a box 1e-10
        maxiter     of iterations, 100 unless given; in a box of solves, 10
        reference_norm  "rhs", ||b||, or "initial", the first residual: where boundaries have values, which make b large, the latter
                    (in a box, which is solved from zero, they are the same)
        project     where u is known up to a constant only: subtract from f what keeps it from having a solution
        callback    called with the number of the iteration and ||b - A x||; Ctrl-C ends a solve whether there is one or not
        on_failure  where the tolerance was not met: "warn", "raise" or "ignore"; "warn" raises, too, where there is nothing to
                    use, since the solve diverged; the report says it in any case

        A function f is integrated by four points in every direction of a cell, to which end it is called with arrays of about half
        a million points; an array at the nodes is linear between them, one on the cells constant in each.
        """
        _report.check_on_failure(on_failure)
        load = f if isinstance(f, str) else loads(self.mesh, f)
        u, report = self._system.solve(load, self._rtol if rtol is None else rtol, atol,
                                       self._maxiter if maxiter is None else maxiter, reference_norm, project, callback)
        _report.judge(report, u, on_failure, rtol is not None or atol > 0)
        return self._solution(u, report)
