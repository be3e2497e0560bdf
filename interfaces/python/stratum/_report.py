"""How a solve that did not converge makes itself heard."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from . import _stratum


class ConvergenceWarning(UserWarning):
    """A solve ended above its tolerance; the message says why."""


class ConvergenceError(RuntimeError):
    """A solve failed (it diverged, broke down or met numbers that are not finite), or ended above its tolerance where
    on_failure="raise" was asked for; `report` is the solve's, `x` what it had reached."""

    def __init__(self, message: str, report: dict[str, Any], x: Any) -> None:
        super().__init__(message)
        self.report = report
        self.x = x


ResourceError = _stratum.ResourceError


def exit_code(report: dict[str, Any], tolerance_asked_for: bool) -> int:
    """A program's of this library: 0 also where the residual is at rounding and nobody asked for a tolerance."""
    return int(report["exit_codes"][tolerance_asked_for])


def judge(report: dict[str, Any], x: Any, on_failure: str, tolerance_asked_for: bool) -> None:
    """Raises where a solve failed, warns or raises wherever a program's exit code would not be that of convergence."""
    if exit_code(report, tolerance_asked_for) == 0 or on_failure == "ignore":
        return
    message = f"{report['status']} after {report['iterations']} iterations: {report['reason']}"
    if on_failure == "raise" or report["failed"]:
        raise ConvergenceError(message, report, x)
    level = 1  # of whoever called this package
    while sys._getframe(level).f_globals.get("__name__", "").startswith(__package__ + "."):
        level += 1
    warnings.warn(message, ConvergenceWarning, stacklevel=level + 1)


def check_on_failure(on_failure: str) -> None:
    if on_failure not in ("warn", "raise", "ignore"):
        raise ValueError(f"on_failure is 'warn', 'raise' or 'ignore'; not {on_failure!r}")
