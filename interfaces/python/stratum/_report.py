"""How a solve that did not converge makes itself heard."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from . import _stratum


class ConvergenceWarning(UserWarning):
    """A solve ended above its tolerance; the message says why."""


class ConvergenceError(RuntimeError):
    """A solve failed (it diverged, broke down or met numbers that are not finite), or it ended above its tolerance with
    on_failure="raise", as `message` says. `report` is the report of the solve and `x` its last iterate, of its shape.
    """

    def __init__(self, message: str, report: dict[str, Any], x: Any) -> None:
        super().__init__(message)
        self.report = report
        self.x = x

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.report, self.x)  # a pool of processes waits for ever for one that cannot be pickled


ResourceError = _stratum.ResourceError


def exit_code(report: dict[str, Any], tolerance_asked_for: bool) -> int:
    """Exit code of a program with this report: also 0 at the round-off limit if no tolerance was given."""
    return int(report["exit_codes"][tolerance_asked_for])


def judge(report: dict[str, Any], x: Any, on_failure: str, tolerance_asked_for: bool) -> None:
    """Raises if a solve failed; warns or raises if the exit code of a program would not be 0."""
    if exit_code(report, tolerance_asked_for) == 0 or on_failure == "ignore":
        return
    message = f"{report['status']} after {report['iterations']} iterations: {report['reason']}"
    if on_failure == "raise" or report["failed"]:
        raise ConvergenceError(message, report, x)
    warn(message, ConvergenceWarning)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    level = 1  # of whoever called this package
    while sys._getframe(level).f_globals.get("__name__", "").startswith(__package__ + "."):
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


def check_on_failure(on_failure: str) -> None:
    if on_failure not in ("warn", "raise", "ignore"):
        raise ValueError(f"on_failure is 'warn', 'raise' or 'ignore'; not {on_failure!r}")
