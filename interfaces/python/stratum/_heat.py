"""Problems in time: implicit steps, all with one hierarchy."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from . import _show
from ._checks import expect_callback, number, whole
from ._mesh import as_mesh
from ._patches import heat_on_patches
from ._poisson import Poisson
from ._poisson_3d import Poisson3D
from ._sampling import array_of, coordinates, grid, values_of
from ._stratum import BoxMesh, PatchMesh


class HeatSolution(NamedTuple):
    """u at all nodes at some times: `u[m, j, i]` at t[m] and (x[i], y[j]), in a box `u[m, k, j, i]`. t has shape (frames + 1,), u
    (frames + 1, ny + 1, nx + 1) or (frames + 1, nz + 1, ny + 1, nx + 1); `mesh` is that of the problem, `iterations` those of all
    steps."""

    t: np.ndarray
    u: np.ndarray
    mesh: Any
    iterations: int  # of all steps

    @property
    def x(self) -> np.ndarray:
        """Coordinates of the nodes, shape (nx + 1,)."""
        return self.mesh.x

    @property
    def y(self) -> np.ndarray:
        """Coordinates of the nodes, shape (ny + 1,)."""
        return self.mesh.y

    @property
    def z(self) -> np.ndarray:
        """Coordinates of the nodes of a box, shape (nz + 1,)."""
        return self.mesh.z

    def _repr_html_(self) -> str:
        times = f"{self.t[0]:.6g} .. {self.t[-1]:.6g}, {self.t.size} of them"
        last = f"{np.nanmin(self.u[-1]):.6g} .. {np.nanmax(self.u[-1]):.6g}"
        return _show.table(f"HeatSolution on {' x '.join(map(str, self.u.shape[1:]))} nodes",
                           {"t": times, "u at the end": last, "iterations": self.iterations})


def heat(mesh: Any, initial: Any, end: float, steps: int, *, kappa: Any = 1.0, boundaries: Any = 0.0, f: Any = 0.0,
         reaction: Any = 0.0, method: str | None = None, frames: int = 1, progress: bool = False,
         callback: Callable[[float, Any], Any] | None = None, rtol: float = 1e-8, on_failure: str = "warn",
         **options: Any) -> Any:
    """u_t - div(K grad u) + c u = f from time 0 to `end`, in `steps` implicit steps of one length.

    mesh, kappa, boundaries, reaction   as of stratum.Poisson or, with three axes, stratum.Poisson3D; they stay as they are
    initial     u at time 0: a number, an array at the nodes, or a function of x and y (and z)
    f           a number, an array, a function of x and y (and z), or of these and t
    method      "midpoint", of second order, which damps little in long steps; its first step is two of Euler's of half its length,
                so that data that do not fit the boundaries do not oscillate. Or "euler", of first order, which damps
                ("midpoint"; on patches "tr-bdf2", of second order, which damps, "crank-nicolson" or "euler")
    frames      how many times, beside 0, are kept: the last one is `end`
    progress    show a bar, if tqdm is installed
    callback    called with t and u after every step
    rtol, on_failure   of each solve; options: those of stratum.Poisson or stratum.Poisson3D

    On a mesh of stratum.patches data are as of stratum.poisson there, `initial` is a number, a function, or a list with a number or an
    array at the nodes of each patch, and the result is (t, x, y, u, iterations): lists with an array for each patch, u of shape
    (frames + 1, ny + 1, nx + 1).

    Returns (t, u, mesh, iterations); u has shape (frames + 1, ny + 1, nx + 1), in a box (frames + 1, nz + 1, ny + 1, nx + 1). A step is a
    solve with the reaction c + 1 / dt, or c + 2 / dt, whose hierarchy is set up once. Units are as of stratum.Poisson, times in one
    of their own. Raises ValueError and TypeError for data that do not fit, ConvergenceError as solves do.

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
    method = method or ("tr-bdf2" if on_patches else "midpoint")
    if not on_patches and method not in ("midpoint", "euler"):
        raise ValueError(f"method is 'midpoint' or 'euler'; not {method!r}")
    steps, frames, end, rtol = whole("steps", steps), whole("frames", frames), number("end", end), number("rtol", rtol)
    expect_callback(callback)
    if not end > 0 or steps < 1 or not 1 <= frames <= steps:
        raise ValueError("time goes from 0 to an end > 0 in at least one step, and frames are 1 .. steps; given are "
                         f"end {end}, {steps} steps, {frames} frames")
    if on_patches:
        counted = iter(_counted(steps, progress))
        next(counted)

        def after(t: float, u: Any) -> None:
            next(counted, None)
            if callback is not None:
                callback(t, u)

        return heat_on_patches(mesh, initial, end, steps, kappa, boundaries, f, reaction, method, frames,
                               after if progress else callback, rtol, on_failure, **options)
    if options.get("discretisation", "elements") != "elements" or options.get("coordinates", "cartesian") != "cartesian":
        raise ValueError("stratum.heat is of bilinear elements in Cartesian coordinates; the program heat2d has others")
    if options.get("bodies"):
        raise ValueError("stratum.heat has no bodies; the programs heat2d and heat3d have, by --body")
    dt = end / steps
    implicit = dt / 2 if method == "midpoint" else dt
    kind: Any = Poisson3D if isinstance(mesh, BoxMesh) else Poisson
    c = _added(reaction, 1 / implicit)
    problem = kind(mesh, boundaries, kappa, c, **options)
    if callable(initial):
        u = np.array(values_of("the initial value", initial, *grid(coordinates(mesh))))
    else:
        u = np.array(np.broadcast_to(array_of("the initial value", initial, [mesh.shape]), mesh.shape))
    if not np.isfinite(u).all():
        raise ValueError(f"the initial value must be finite; given is {initial!r}")
    load = _loads_in_time(problem, f)
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
    return HeatSolution(np.array(times), np.stack(kept), mesh, iterations)


def _judge(report: dict[str, Any], u: np.ndarray, on_failure: str) -> None:
    from . import _report

    _report.check_on_failure(on_failure)
    _report.judge(report, u, on_failure, False)


def _added(reaction: Any, more: float) -> Any:
    if callable(reaction):
        return lambda *points: reaction(*points) + more
    if isinstance(reaction, str):
        return f"({reaction}) + {more!r}"
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
