"""What problems on rectangles and in boxes have in common: one f after the other is solved for."""

from __future__ import annotations

from typing import Any, Callable, Generic, NamedTuple, TypeVar

import numpy as np

from . import _fork, _report
from ._checks import expect_callback, expect_unmasked, iterations, number
from ._on_device import contiguous, is_on_device, library_of
from ._sampling import loads
from ._side_by_side import SideBySide, threads_for

S = TypeVar("S")


class Given(NamedTuple):
    """What a problem was made of, functions evaluated."""

    boundaries: list[tuple[Any, ...]]  # (kind, g, alpha)
    kappa: tuple[Any, ...]             # as the compiled part takes it
    reaction: Any
    options: dict[str, Any]
    open: tuple[bool, ...] = ()        # of which boundaries nothing was said by name


class Problem(Generic[S]):
    mesh: Any
    _system: Any
    _given: Given
    _sides: tuple[str, ...]
    _rtol, _maxiter = 1e-8, 100  # unless given

    def __repr__(self) -> str:
        options = self._given.options
        cells = " x ".join(map(str, reversed(self.mesh.cells)))
        more = [str(options[name]) for name in ("discretisation", "coordinates")
                if options.get(name, "elements") not in ("elements", "cartesian")]
        if count := len(options.get("bodies", ())):
            more.append("a body" if count == 1 else f"{count} bodies")
        if options["device"] == "cuda":
            more.append("on a GPU")
        return f"<stratum.{', '.join([f'{type(self).__name__} on {cells} cells', *more])}>"

    def _set_up(self, given: Given) -> None:
        self._given = Given(*(_kept(part) for part in given))
        self._system = self._compiled(self._given)
        if self._system.warning:
            _report.warn(self._system.warning)
        alone = self._given._replace(options=self._given.options | {"threads": 1})
        self._side_by_side = SideBySide(lambda: self._compiled(alone))
        _fork.remember(self)

    def _compiled(self, given: Given) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.mesh, self._given)

    def _solution(self, u: np.ndarray, report: dict[str, Any]) -> S:
        raise NotImplementedError

    def _load(self, f: Any) -> Any:
        """f as the compiled part takes it."""
        return loads(self.mesh, f)

    def _solve_batch(self, f: Any, stop: tuple[Any, ...]) -> tuple[Any, list[dict[str, Any]]]:
        """Of arrays whose axes before those of the mesh are a batch: all u, and the report of each."""
        batch = tuple(f.shape)[:-len(self.mesh.shape)] if hasattr(f, "shape") else np.shape(f)[:-len(self.mesh.shape)]
        indices = list(np.ndindex(*batch))
        if not indices:
            raise ValueError(f"f has no right-hand side; its shape is {tuple(np.shape(f))}")
        if is_on_device(f):
            found = [self._solve_on_device(contiguous(f[k]), *stop) for k in indices]
            u = library_of(f).stack([own for own, _ in found], 0)
            return u.reshape((*batch, *u.shape[1:])), [report for _, report in found]
        expect_unmasked("f", f)
        arrays, several = np.asarray(f), [np.empty(0)] * len(indices)
        reports: list[dict[str, Any]] = [{}] * len(indices)
        warnings = [""] * len(indices)

        def one(system: Any, n: int) -> None:
            several[n], reports[n] = system.solve(self._load(arrays[indices[n]]), *stop)
            warnings[n] = warning_of_u(system)

        if stop[-1] is None:
            self._for_each(len(indices), one)
        else:
            for n in range(len(indices)):
                one(self._system, n)
        if found := max(warnings):
            _report.warn(found)
        u = np.stack(several)
        return u.reshape((*batch, *u.shape[1:])), reports

    def _solve_on_device(self, f: Any, *stop: Any) -> tuple[Any, dict[str, Any]]:
        raise TypeError(f"f is an array on the host; given is {type(f).__name__} on a GPU")

    def _for_each(self, count: int, one: Callable[[Any, int], None]) -> None:
        """one(system, k) of every k; many small ones on a CPU one a thread, each with a hierarchy of its own."""
        options = self._given.options
        worth = count if len(self._side_by_side) else count // 2  # four solves or more pay for a set-up
        threads = threads_for(options["device"], options["threads"], int(np.prod(self.mesh.shape)), worth)
        if threads > 1:
            self._side_by_side.for_each(threads, count, one)
            return
        for k in range(count):
            one(self._system, k)

    def _after_fork(self) -> None:
        self._system.after_fork()
        self._side_by_side.forget()
        self.__dict__.pop("_solves", None)  # whose lock another thread of the parent may have had

    @property
    def singular(self) -> bool:
        """Whether u is determined up to a constant only. Solutions then have mean zero."""
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
        """Solves for one f: a number, a function, or an array at the nodes, shape (ny + 1, nx + 1), or on the cells, (ny, nx).
        In a box arrays have the shapes (nz + 1, ny + 1, nx + 1) and (nz, ny, nx). Axes before these are a batch, and u has them; the
        report is the worst one, and its "columns" are all. On a CPU many small ones are solved side by side.

        rtol, atol  stop when the residual ||b - A x|| <= max(rtol reference_norm, atol); rtol is 1e-8 if not given, in a box
        1e-10
        maxiter     largest number of iterations, 100 if not given; in a box of solves, 10
        reference_norm  "rhs" is ||b||, "initial" the first residual. The default is "initial" if boundary values make b large,
                    else "rhs" (in a box both are the same, since the first guess is zero)
        project     subtract the mean of f if the problem is singular and its data are incompatible
        callback    called with the number of the iteration and ||b - A x||; Ctrl-C ends a solve with or without it
        on_failure  if the tolerance was not met: "warn", "raise" or "ignore". If the solve diverged, "warn" raises as well. The
                    report has the status in any case

        A function f is integrated with four points in every direction of a cell; it is called with arrays of about half a
        million points. An array at the nodes is linear between them, an array on the cells is constant in each.
        """
        _report.check_on_failure(on_failure)
        expect_callback(callback)
        if not isinstance(project, (bool, np.bool_)):
            raise TypeError(f"project is True or False; given is {project!r}")
        atol, maxiter = number("atol", atol), self._maxiter if maxiter is None else iterations(maxiter)
        stop = (self._rtol if rtol is None else number("rtol", rtol), atol, maxiter, reference_norm, bool(project), callback)
        asked_for = rtol is not None or atol > 0
        if not isinstance(f, str) and not callable(f) and np.ndim(f) > len(self.mesh.shape):
            u, reports = self._solve_batch(f, stop)
            worst = max(reports, key=lambda report: (_report.exit_code(report, asked_for), not report["converged"]))
            _report.judge(worst, u, on_failure, asked_for)
            return self._solution(u, worst | {"columns": reports})
        if is_on_device(f):
            u, report = self._solve_on_device(f, *stop)
        else:
            u, report = self._system.solve(f if isinstance(f, str) else self._load(f), *stop)
        if found := warning_of_u(self._system):
            _report.warn(found)
        _report.judge(report, u, on_failure, asked_for)
        return self._solution(u, report)


def warning_of_u(system: Any) -> str:
    """Of the latest solution; boxes have none."""
    return getattr(system, "warning_of_u", "")


def _kept(given: Any) -> Any:
    """With arrays of its own, which nobody else changes in place."""
    if isinstance(given, np.ndarray):
        return given.copy()
    if isinstance(given, (tuple, list)):
        return type(given)(_kept(part) for part in given)
    return {name: _kept(part) for name, part in given.items()} if isinstance(given, dict) else given


def _restored(kind: Any, mesh: Any, given: Given) -> Any:
    """Of pickled and copied ones: set up anew."""
    problem = kind.__new__(kind)
    problem.mesh = mesh
    problem._set_up(given)
    return problem
