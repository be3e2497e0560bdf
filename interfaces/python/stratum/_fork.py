"""After a fork: the threads of OpenMP stay with the parent, and a child that waits for them would wait for ever."""

from __future__ import annotations

import os
import weakref
from typing import Any

_solvers: weakref.WeakSet[Any] = weakref.WeakSet()
_in_child = False


def threads(count: int) -> int:
    """What a solver that was asked for so many threads may have: one in a child."""
    return 1 if _in_child else count


def remember(solver: Any) -> None:
    """solver._after_fork() is called in children."""
    _solvers.add(solver)


def _after_fork() -> None:
    global _in_child
    _in_child = True
    for solver in list(_solvers):
        solver._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
