"""Many small right-hand sides at once on a CPU: one a thread, each by a solver of its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from . import _fork

_MOST_UNKNOWNS = 300_000  # larger systems use all threads well


class SideBySide:
    """Solvers of one thread, made by `make` at their first use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: list[Any] = []

    def __len__(self) -> int:
        return len(self._made)

    def forget(self) -> None:
        self._made = []

    def for_each(self, threads: int, count: int, one: Callable[[Any, int], None]) -> None:
        """one(solver, k) of every k."""
        with ThreadPoolExecutor(threads) as pool:
            self._made += _results(pool, lambda _: self._make(), threads - len(self._made))
            free = self._made[:threads]

            def on_a_free_one(k: int) -> None:
                own = free.pop()
                try:
                    one(own, k)
                finally:
                    free.append(own)

            _results(pool, on_a_free_one, count)


def _results(pool: ThreadPoolExecutor, call: Callable[[int], Any], count: int) -> list[Any]:
    """call(k) of every k; one after the other where Python ends, and starts no threads any more."""
    begun = []
    for k in range(count):
        try:
            begun.append(pool.submit(call, k))
        except RuntimeError:
            break
    return [one.result() for one in begun] + [call(k) for k in range(len(begun), count)]


def threads_for(device: str, threads: int, unknowns: int, count: int) -> int:
    """How many of `count` solves should run at once; below two: one after the other."""
    if device != "cpu" or unknowns > _MOST_UNKNOWNS:
        return 1
    return min(_fork.threads(threads) or _cores(), count // 2)


def _cores() -> int:
    """Threads that OpenMP would take."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(given) if given.isdigit() and int(given) > 0 else available
