"""Problems in time: implicit steps, all with one hierarchy."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from . import _fork, _report, _show
from ._checks import bodies_of, expect_callback, number, whole
from ._mesh import as_mesh
from ._patches import heat_on_patches
from ._poisson import Poisson
from ._poisson_3d import Poisson3D
from ._problem import Given, warning_of_u
from ._sampling import array_of, centres, coordinates, grid, samples, samples_of_two, values_of
from ._stratum import BoxMesh, Mesh, PatchMesh, step_in_box, step_on_rectangle

# Those of the programs heat2d and heat3d; "midpoint" is this package's.
_METHODS = ("euler", "crank-nicolson", "tr-bdf2")
_MOST_STEPS = 10_000_000


class HeatSolution(NamedTuple):
    """u at all nodes at some times: `u[m, j, i]` at t[m] and (x[i], y[j]), in a box `u[m, k, j, i]`. t has shape (frames + 1,), u
    (frames + 1, ny + 1, nx + 1) or (frames + 1, nz + 1, ny + 1, nx + 1); `mesh` is that of the problem, `iterations` those of all
    steps.

    By finite volumes it is u in all cells, (frames + 1, ny, nx), and x and y are those of their centres, (nx,) and (ny,)."""

    t: np.ndarray
    u: np.ndarray
    mesh: Any
    iterations: int  # of all steps

    @property
    def x(self) -> np.ndarray:
        """Coordinates of the nodes, shape (nx + 1,), or of the centres of cells."""
        return self._places(0)

    @property
    def y(self) -> np.ndarray:
        """Coordinates of the nodes, shape (ny + 1,), or of the centres of cells."""
        return self._places(1)

    @property
    def z(self) -> np.ndarray:
        """Coordinates of the nodes of a box, shape (nz + 1,)."""
        return self.mesh.z

    def _places(self, d: int) -> np.ndarray:
        of_cells = self.u.shape[1:] == self.mesh.cells
        return (centres(self.mesh) if of_cells else coordinates(self.mesh))[d]

    def _repr_html_(self) -> str:
        times = f"{self.t[0]:.6g} .. {self.t[-1]:.6g}, {self.t.size} of them"
        last = f"{np.nanmin(self.u[-1]):.6g} .. {np.nanmax(self.u[-1]):.6g}"
        return _show.table(f"HeatSolution on {' x '.join(map(str, self.u.shape[1:]))} "
                           f"{'cells' if self.u.shape[1:] == self.mesh.cells else 'nodes'}",
                           {"t": times, "u at the end": last, "iterations": self.iterations})


def heat(mesh: Any, initial: Any, end: float, steps: int, *, kappa: Any = 1.0, boundaries: Any = 0.0, f: Any = 0.0,
         reaction: Any = 0.0, method: str | None = None, frames: int = 1, progress: bool = False,
         callback: Callable[[float, Any], Any] | None = None, rtol: float = 1e-8, on_failure: str = "warn",
         **options: Any) -> Any:
    """u_t - div(K grad u) + c u = f from time 0 to `end`, in `steps` implicit steps of one length.

    mesh, kappa, boundaries, reaction   as of stratum.Poisson or, with three axes, stratum.Poisson3D; they stay as they are
    initial     u at time 0: a number, an array at the nodes, or a function of x and y (and z); nodes of Dirichlet boundaries have the
                boundary's value from the start
    f           a number, an array, a function of x and y (and z), or of these and t
    method      "midpoint", of second order, which damps little in long steps; its first step is two of Euler's of half its length,
                so that data that do not fit the boundaries do not oscillate. It is the default on meshes without bodies. Or those
                of the programs heat2d and heat3d: "tr-bdf2", of second order, which damps, the default beside bodies, of finite
                volumes and on patches; "crank-nicolson", of second order; "euler", of first order, which damps
    bodies      as of stratum.Poisson, in a box of stratum.Poisson3D: held ones have their value from the start, u is nan at nodes
                that only solids without flux touch. They stay as they are
    discretisation   "elements", or on rectangles "fv", finite volumes: `initial` and u are one number for each cell, shape (ny, nx),
                of a function at its centre
    frames      how many times, beside 0, are kept: the last one is `end`
    progress    show a bar, if tqdm is installed
    callback    called with t and u after every step
    rtol, on_failure   of each solve; options: those of stratum.Poisson or stratum.Poisson3D. By the programs' methods a solve may leave
                what a change of u by rtol would; a step that is not solved ends the computation

    On a mesh of stratum.patches data are as of stratum.poisson there, `initial` is a number, a function, or a list with a number or an
    array at the nodes of each patch, and the result is (t, x, y, u, iterations): lists with an array for each patch, u of shape
    (frames + 1, ny + 1, nx + 1).

    Returns (t, u, mesh, iterations); u has shape (frames + 1, ny + 1, nx + 1), in a box (frames + 1, nz + 1, ny + 1, nx + 1). A step is a
    solve with the reaction c + 1 / dt, or c + 2 / dt, whose hierarchy is set up once. Units are as of stratum.Poisson, times in one
    of their own. Raises ValueError and TypeError for data that do not fit, ConvergenceError as solves do.

    f of the programs' methods: on a rectangle one that depends on t is integrated with two points in every direction of a cell, as
    heat2d does; a function in a box is taken at nodes, linear between them. In a box held bodies and solids lump the mass.

    >>> import numpy as np, stratum
    >>> t, u, *_ = stratum.heat(stratum.mesh(cells=(32, 32)), lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y), 0.05, 20)
    >>> t.tolist(), u.shape
    ([0.0, 0.05], (2, 33, 33))
    >>> bool(abs(u[-1].max() - np.exp(-2 * np.pi**2 * 0.05)) < 2e-3)
    True
    """
    on_patches = isinstance(mesh, PatchMesh)
    if not on_patches:
        mesh = as_mesh(mesh)
    by_steps_of_programs = not on_patches and (method in ("crank-nicolson", "tr-bdf2") or len(bodies_of(options.get("bodies", ()))) > 0
                                               or options.get("discretisation", "elements") != "elements")
    allowed = _METHODS if on_patches or by_steps_of_programs else (*_METHODS, "midpoint")
    method = method or ("tr-bdf2" if allowed == _METHODS else "midpoint")
    if method not in allowed:
        where = "" if on_patches or not by_steps_of_programs else "beside bodies and by finite volumes "
        raise ValueError(f"{where}method is one of {', '.join(allowed)}; not {method!r}")
    steps, frames, end, rtol = whole("steps", steps), whole("frames", frames), number("end", end), number("rtol", rtol)
    expect_callback(callback)
    if not 0 < end < np.inf or not 1 <= steps <= _MOST_STEPS or not 1 <= frames <= steps:
        raise ValueError(f"time goes from 0 to a finite end > 0 in at least one step and at most {_MOST_STEPS}, and frames are 1 .. steps; "
                         f"given are end {end}, {steps} steps, {frames} frames")
    if end / steps < 1e-300:
        raise ValueError(f"steps of {end / steps} are too short to divide by; take another unit of time")
    if on_patches:
        return heat_on_patches(mesh, initial, end, steps, kappa, boundaries, f, reaction, method, frames,
                               _after_steps(steps, progress, callback), rtol, on_failure, **options)
    if options.get("coordinates", "cartesian") != "cartesian":
        raise ValueError(f"stratum.heat is in Cartesian coordinates, not {options['coordinates']!r}; the program heat2d has others")
    if by_steps_of_programs:
        return _by_steps_of_programs(mesh, initial, end, steps, kappa, boundaries, f, reaction, method, frames, progress, callback, rtol,
                                     on_failure, options)
    dt = end / steps
    implicit = dt / 2 if method == "midpoint" else dt
    kind: Any = Poisson3D if isinstance(mesh, BoxMesh) else Poisson
    c = _added(reaction, 1 / implicit)
    problem = kind(mesh, boundaries, kappa, c, **options)
    u = _at_start(initial, coordinates(mesh))
    load = _loads_in_time(problem, f)
    u = _with_boundaries(problem, u, load(dt))
    kept, times, iterations = [u.copy()], [0.0], 0
    for step in _counted(steps, progress):
        begin = step * dt
        halves = [begin + dt] if method == "euler" else [begin + dt / 2] if step > 0 else [begin + dt / 2, begin + dt]
        for at in halves:
            total = load(at) + problem._load(u) / implicit
            new, report = problem._system.solve(total, rtol, 0.0, problem._maxiter, None, False, None)
            _judge(report, new, on_failure)
            iterations += report["iterations"]
            u, before = new, u
        if method == "midpoint" and step > 0:
            u = 2 * u - before
        if callback is not None:
            callback(begin + dt, u)
        if (step + 1) * frames // steps > step * frames // steps:
            kept.append(u.copy())
            times.append(end if step == steps - 1 else begin + dt)
    if warning := warning_of_u(problem._system):
        _report.warn(warning)
    return HeatSolution(np.array(times), np.stack(kept), mesh, iterations)


class _Rectangle(Poisson):
    """The data of a problem, without a solver of the steady one."""

    def _set_up(self, given: Given) -> None:
        self._given = given


class _Box(Poisson3D):
    """The same in a box."""

    def _set_up(self, given: Given) -> None:
        self._given = given


def _by_steps_of_programs(mesh: Mesh | BoxMesh, initial: Any, end: float, steps: int, kappa: Any, boundaries: Any, f: Any, reaction: Any,
                          method: str, frames: int, progress: bool, callback: Any, rtol: float, on_failure: str,
                          options: dict[str, Any]) -> HeatSolution:
    """As heat2d and heat3d do them, with bodies and finite volumes."""
    _report.check_on_failure(on_failure)
    in_box = isinstance(mesh, BoxMesh)
    if in_box and options.get("discretisation", "elements") != "elements":
        raise ValueError(f"finite volumes are for rectangles; a box has elements, not {options['discretisation']!r}")
    problem: Any = (_Box if in_box else _Rectangle)(mesh, boundaries, kappa, reaction, **options)
    given = problem._given
    asked = given.options
    of_cells = asked.get("discretisation") == "fv"
    start = _at_start(initial, centres(mesh) if of_cells else coordinates(mesh))
    nodes = grid(coordinates(mesh)) if in_box else []
    at_points: Any = (lambda g: np.ascontiguousarray(values_of("f", g, *nodes))) if in_box else (lambda g: samples_of_two(mesh, g))
    source: Any
    if callable(f) and _count(f) == (4 if in_box else 3):
        source = lambda t: at_points(lambda *points: f(*points, t))  # noqa: E731
    else:
        source = at_points(f) if in_box and callable(f) else samples(mesh, f)
    after, threads = _after_steps(steps, progress, callback), _fork.threads(asked["threads"])
    data = mesh, tuple(given.boundaries), given.kappa, given.reaction
    how = start, source, method, end, steps, frames, rtol, 100
    found: Any
    if in_box:
        found = step_in_box(*data, asked["bodies"], *how, asked["device"], threads, after)  # type: ignore[arg-type]
    else:
        found = step_on_rectangle(*data, asked | {"threads": threads, "continue": False}, *how, after)  # type: ignore[arg-type]
    kept, status, reason, iterations, warning = found
    if warning:
        _report.warn(warning)
    solution = HeatSolution(np.array([t for t, _ in kept]), np.stack([u for _, u in kept]), mesh, iterations)
    failed = status != "converged"
    _report.judge({"status": status, "reason": reason, "iterations": iterations, "failed": failed, "exit_codes": [2 * failed] * 2},
                  solution, on_failure, False)
    return solution


def _at_start(initial: Any, places: list[np.ndarray]) -> np.ndarray:
    """Numbers at these places of the axes."""
    shape = tuple(axis.size for axis in reversed(places))
    if callable(initial):
        return np.array(values_of("the initial value", initial, *grid(places)))
    u = np.array(np.broadcast_to(array_of("the initial value", initial, [shape]), shape))
    if not np.isfinite(u).all():
        raise ValueError(f"the initial value must be finite; given is {initial!r}")
    return u


def _with_boundaries(problem: Any, u: np.ndarray, load: Any) -> np.ndarray:
    """u with the values that Dirichlet boundaries have from the start on, as heat2d and heat3d take it."""
    held = [n for n, given in enumerate(problem._given.boundaries) if given[0] == "dirichlet"]
    if not held:
        return u
    # Any solution has them.
    values, _ = problem._system.solve(load, 0.5, 0.0, problem._maxiter, None, False, None)
    u = u.copy()
    for n in held:
        side = [slice(None)] * u.ndim
        side[-1 - n // 2] = slice(-1, None) if n % 2 else slice(0, 1)
        u[tuple(side)] = values[tuple(side)]
    return u


def _after_steps(steps: int, progress: bool, callback: Any) -> Any:
    """What is called after every step; None where there is nothing to do."""
    if not progress:
        return callback
    counted = iter(_counted(steps, progress))
    next(counted)

    def after(t: float, u: Any) -> None:
        next(counted, None)
        if callback is not None:
            callback(t, u)

    return after


def _judge(report: dict[str, Any], u: np.ndarray, on_failure: str) -> None:
    _report.check_on_failure(on_failure)
    _report.judge(report, u, on_failure, False)


def _added(reaction: Any, more: float) -> Any:
    if callable(reaction):
        return lambda *points: reaction(*points) + more
    if isinstance(reaction, str):
        return f"({reaction}) + {more!r}"
    if reaction is None:
        raise TypeError("the reaction is real; given is NoneType")
    return reaction + more if np.ndim(reaction) == 0 else np.asarray(reaction) + more


def _loads_in_time(problem: Any, f: Any) -> Callable[[float], Any]:
    """Integrals of f phi_i at a time."""
    axes = len(problem.mesh.shape)
    if callable(f) and _count(f) == axes + 1:
        return lambda t: problem._load(lambda *points: f(*points, t))
    fixed = problem._load(f)
    return lambda t: fixed


def _count(function: Callable[..., Any]) -> int:
    import inspect

    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return 0


def _counted(steps: int, progress: bool) -> Any:
    if progress:
        try:
            from tqdm.auto import tqdm

            return tqdm(range(steps), desc="heat", unit="step")
        except ImportError:
            pass
    return range(steps)
