"""What is refused of numbers before anything is computed, with what was given and what is allowed."""

from __future__ import annotations

import operator
from typing import Any, Callable

import numpy as np

_LARGEST = 2**31 - 1  # as the compiled part has integers


def expect_unmasked(what: str, given: Any) -> None:
    """A masked entry has a number that nobody looks at, and which a solver would take."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise ValueError(f"{what} has {np.ma.count_masked(given)} masked entries; put numbers in their place, as by .filled(0)")


def number(what: str, given: Any) -> float:
    if not isinstance(given, (str, bytes)):
        try:
            return float(given)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{what} is a number; given is {given!r}")


def whole(what: str, given: Any) -> int:
    found = _integer(what, given)
    if abs(found) > _LARGEST:
        raise ValueError(f"{what} is an integer of at most {_LARGEST}; given is {found}")
    return found


def _integer(what: str, given: Any) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{what} is an integer; given is {given!r}") from None


def iterations(given: Any) -> int:
    return min(_integer("maxiter", given), _LARGEST)


def bodies_of(given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"bodies are a list of tuples, such as [(inside, 'no-flux')]; given is {type(given).__name__}")
    return list(given)


def expect_callback(given: Callable[..., Any] | None) -> None:
    if given is not None and not callable(given):
        raise TypeError(f"callback is a function; given is {given!r}")


def grid_shape(what: str, given: Any) -> tuple[int, ...]:
    """Of an array: two or three integers."""
    kind: type[Exception] = ValueError
    try:
        found = tuple(operator.index(k) for k in given)
    except TypeError:
        found, kind = (), TypeError
    if len(found) not in (2, 3):
        raise kind(f"{what} is (ny, nx), or (nz, ny, nx) of a box" + (", integers" if kind is TypeError else "") + f"; given is {given!r}")
    return found
