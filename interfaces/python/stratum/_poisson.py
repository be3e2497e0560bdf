"""Poisson problems: a mesh, boundaries and coefficients in, the solution on all nodes out."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from . import _fork, _report
from ._mesh import as_mesh
from ._stratum import Mesh, PoissonSystem

# The 4-point Gauss rule on [0, 1], as the library integrates functions.
_t, _weight = np.polynomial.legendre.leggauss(4)
_t, _weight = (_t + 1) / 2, _weight / 2
_CORNERS = np.stack([_weight * (1 - _t), _weight * _t], axis=1)
_BLOCK = 1 << 19  # points that a function is given at once


class Solution(NamedTuple):
    """u at all nodes, boundary included: `u[j, i]` at (x[i], y[j]); and how it was found."""

    x: np.ndarray  # (nx + 1,)
    y: np.ndarray  # (ny + 1,)
    u: np.ndarray  # (ny + 1, nx + 1)
    report: dict[str, Any]


class Poisson:
    """-div(K grad u) + c u = f on a mesh, set up once for any number of right-hand sides.

    mesh      a stratum.mesh, or what makes one: ("A3", 10), (x, y)
    boundaries     values of u on all boundaries; or a dictionary with "left", "right", "bottom", "top", of which missing ones are 0:
                  g                    u = g
                  "neumann"            K du/dn = 0, n outward
                  ("neumann", g)       K du/dn = g
                  ("robin", alpha, g)  K du/dn + alpha u = g, alpha >= 0
                  "periodic"           of two opposite sides
              g and alpha are numbers, arrays at the nodes of the side, shape (nx + 1,) or (ny + 1,), or functions g(x, y)
    kappa     K > 0: a number, an array on the cells, shape (ny, nx), or a function kappa(x, y), taken at centres of cells; or
              a tuple (kxx, kyy) or (kxx, kxy, kyy) of such
    reaction  c >= 0, alike

    Functions are called with arrays of coordinates and return arrays of their shape (or a number), as NumPy's do. Where the
    library is built with muParser, strings are expressions in x and y as on the command lines of the programs.

    smoother  "adi" (lines in both directions) for all meshes; "line_x", "line_y", "colour_gs", "jacobi", or "auto"
    sweeps     sweeps before and after the coarse correction
    cycle     "v", "w", "f", "w2", "k", or "fmg": one FMG cycle from the coarsest mesh up, to the accuracy of the mesh
    accel     "multigrid" (cycles alone), "cg", "fcg", "cr", "gcr", "gmres", "bicgstab"; None: cycles where K is a number, CG
              where it varies
    single_precision  cycles in float around which all else is in double
    device    "cpu" or "cuda"; threads: of the CPU, 0 for all; in a child process after a fork one

    >>> import numpy as np, stratum
    >>> problem = stratum.Poisson(("A3", 6), boundaries={"left": "neumann"})
    >>> [problem.solve(f).report["iterations"] for f in (1, 2)]
    [5, 5]
    """

    def __init__(
        self,
        mesh: Mesh | tuple[Any, Any],
        boundaries: Any = 0.0,
        kappa: Any = 1.0,
        reaction: Any = 0.0,
        *,
        smoother: str = "adi",
        sweeps: int | None = None,
        cycle: str | None = None,
        accel: str | None = None,
        single_precision: bool = True,
        threads: int = 0,
        device: str = "cpu",
    ) -> None:
        self.mesh = as_mesh(mesh)
        options = dict(smoother=smoother, sweeps=sweeps, cycle=cycle, accel=accel, single_precision=single_precision,
                       threads=_fork.threads(threads), device=device)
        options["continue"] = accel is not None  # a pass of full multigrid goes on with a Krylov method that is asked for
        if isinstance(boundaries, dict):
            unknown = set(boundaries) - {"left", "right", "bottom", "top"}
            if unknown:
                raise ValueError(f"boundaries are left, right, bottom and top; not {', '.join(map(repr, sorted(unknown)))}")
            by_name = boundaries
        else:
            by_name = dict.fromkeys(("left", "right", "bottom", "top"), boundaries)
        left, right, bottom, top = (_side(self.mesh, name, by_name.get(name, 0.0))
                                    for name in ("left", "right", "bottom", "top"))
        kxx, kxy, kyy = _tensor(self.mesh, kappa)
        c = _on_cells(self.mesh, "the reaction", reaction)
        self._system = PoissonSystem(self.mesh, left, right, bottom, top, kxx, kxy, kyy, c, options)
        _fork.remember(self)

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
        maxiter: int = 100,
        reference_norm: str | None = None,
        project: bool = False,
        callback: Callable[[int, float], Any] | None = None,
        on_failure: str = "warn",
    ) -> Solution:
        """Solves for one f: a number, an array at the nodes, shape (ny + 1, nx + 1), or on the cells, (ny, nx), or a function.

        rtol, atol  until ||b - A x|| <= max(rtol reference_norm, atol); rtol is 1e-8 unless given
        reference_norm  "rhs", ||b||, or "initial", the first residual: where boundaries have values, which make b large, the latter
        project     where u is known up to a constant only: subtract from f what keeps it from having a solution
        callback    called with the number of the iteration and ||b - A x||; Ctrl-C ends a solve whether there is one or not
        on_failure  where the tolerance was not met: "warn", "raise" or "ignore"; "warn" raises, too, where there is nothing to
                    use, since the solve diverged; the report says it in any case

        A function f is integrated by 4 x 4 points in every cell, to which end it is called with arrays of up to half a
        million points; an array at the nodes is linear between them, one on the cells constant in each.
        """
        _report.check_on_failure(on_failure)
        load = f if isinstance(f, str) else _loads(self.mesh, f)
        u, report = self._system.solve(load, 1e-8 if rtol is None else rtol, atol, maxiter, reference_norm, project, callback)
        _report.judge(report, u, on_failure, rtol is not None or atol > 0)
        return Solution(self.mesh.x, self.mesh.y, u, report)


def poisson(mesh: Mesh | tuple[Any, Any], f: Any, boundaries: Any = 0.0, kappa: Any = 1.0, reaction: Any = 0.0,
            **options: Any) -> Solution:
    """Solves -div(K grad u) + c u = f on a mesh: stratum.Poisson(mesh, boundaries, kappa, reaction, ...).solve(f, ...).

    Takes the options of both, and returns (x, y, u, report), u of shape (ny + 1, nx + 1).

    >>> import numpy as np, stratum
    >>> x, y, u, report = stratum.poisson(("A3", 8), lambda x, y: 2 * np.sin(x) * np.sin(y),
    ...                                   boundaries=lambda x, y: np.sin(x) * np.sin(y))
    >>> u.shape, report["iterations"]
    ((257, 257), 5)
    >>> exact = np.sin(x) * np.sin(y)[:, None]
    >>> bool(abs(u - exact).max() < 1e-5)
    True
    """
    names = {"rtol", "atol", "maxiter", "reference_norm", "project", "callback", "on_failure"}
    of_solve = {name: options.pop(name) for name in names & options.keys()}
    return Poisson(mesh, boundaries, kappa, reaction, **options).solve(f, **of_solve)


def _values(what: str, function: Callable[..., Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """function(x, y) at points, arrays of one shape."""
    values = np.asarray(function(x, y), dtype=np.float64)
    try:
        values = np.broadcast_to(values, x.shape)
    except ValueError:
        raise ValueError(f"{what} was called with arrays of shape {x.shape} and returned shape {values.shape}") from None
    if not np.isfinite(values).all():
        k = np.unravel_index(np.argmin(np.isfinite(values)), x.shape)
        raise ValueError(f"{what} is {values[k]} at ({x[k]:.6g}, {y[k]:.6g}); it must be finite")
    return values


def _array(what: str, numbers: Any, shapes: list[tuple[int, ...]]) -> float | np.ndarray:
    """A float, or an array of one of these shapes in double."""
    array = np.asarray(numbers)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{what} is real; given is {array.dtype if array.dtype.kind != 'O' else type(numbers).__name__}")
    if array.ndim == 0:
        return float(array)
    if array.shape not in shapes:
        raise ValueError(f"{what} has shape {' or '.join(map(str, shapes))} on this mesh; given is {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite")
    return np.ascontiguousarray(array, dtype=np.float64)


def _on_side(mesh: Mesh, name: str, value: Any) -> float | str | np.ndarray:
    if isinstance(value, str):
        return value
    along = mesh.y if name in ("left", "right") else mesh.x
    if callable(value):
        where = {"left": (mesh.x[0], along), "right": (mesh.x[-1], along),
                 "bottom": (along, mesh.y[0]), "top": (along, mesh.y[-1])}[name]
        x, y = (np.array(c) for c in np.broadcast_arrays(*where))
        return np.ascontiguousarray(_values(f"the value of the {name} boundary", value, x, y))
    return _array(f"the value of the {name} boundary", value, [along.shape])


def _side(mesh: Mesh, name: str, given: Any) -> tuple[Any, ...]:
    """(kind, g, alpha) of a boundary."""
    if isinstance(given, str) and given in ("periodic", "neumann"):
        return given, 0.0, 0.0
    if isinstance(given, tuple) and given and isinstance(given[0], str):
        kind, *data = given
        if (kind, len(data)) not in (("dirichlet", 1), ("neumann", 1), ("robin", 2)):
            raise ValueError(f"the {name} boundary: ('dirichlet', g), ('neumann', g), ('robin', alpha, g) or 'periodic'; "
                             f"not {kind!r} with {len(data)} numbers")
        *alpha, g = (_on_side(mesh, name, value) for value in data)
        return kind, g, alpha[0] if alpha else 0.0
    return "dirichlet", _on_side(mesh, name, given), 0.0


def _centres(coordinates: np.ndarray, widths: np.ndarray) -> np.ndarray:
    return coordinates[:-1] + widths / 2


def _on_cells(mesh: Mesh, what: str, value: Any) -> float | str | np.ndarray:
    if isinstance(value, str):
        return value
    if callable(value):
        x, y = np.meshgrid(_centres(mesh.x, mesh.widths_x), _centres(mesh.y, mesh.widths_y))
        return np.ascontiguousarray(_values(what, value, x, y))
    return _array(what, value, [mesh.cells])


def _tensor(mesh: Mesh, kappa: Any) -> tuple[Any, Any, Any]:
    """kxx, kxy, kyy; None where K is one, or a number on the diagonal."""
    if not isinstance(kappa, tuple):
        k = _on_cells(mesh, "kappa", kappa)
        return (None if isinstance(k, float) and k == 1 else k), None, None
    if len(kappa) not in (2, 3):
        raise ValueError(f"kappa is (kxx, kyy) or (kxx, kxy, kyy), not {len(kappa)} coefficients")
    xx, *xy, yy = (_on_cells(mesh, "kappa", k) for k in kappa)
    return xx, xy[0] if xy else None, yy


def _join(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Integrals at nodes, from what each cell adds to its two along the last axis."""
    nodes = np.zeros((*left.shape[:-1], left.shape[-1] + 1))
    nodes[..., :-1] = left
    nodes[..., 1:] += right
    return nodes


def _loads(mesh: Mesh, f: Any) -> np.ndarray:
    """Integrals of f phi_i at all nodes."""
    hx, hy = mesh.widths_x, mesh.widths_y
    if callable(f):
        return _loads_of_function(mesh, f)
    f = _array("f", f, [mesh.shape, mesh.cells])
    if isinstance(f, float):
        return f * np.outer(_join(hy / 2, hy / 2), _join(hx / 2, hx / 2))
    if f.shape == mesh.cells:
        f = _join(f * (hx / 2), f * (hx / 2)).T
        return _join(f * (hy / 2), f * (hy / 2)).T.copy()
    for h in (hx, hy):  # the mass matrix of each direction
        left, right = f[:, :-1], f[:, 1:]
        f = _join((2 * left + right) * (h / 6), (left + 2 * right) * (h / 6)).T
    return np.ascontiguousarray(f)


def _loads_of_function(mesh: Mesh, f: Callable[..., Any]) -> np.ndarray:
    hx, hy = mesh.widths_x, mesh.widths_y
    points = (mesh.x[:-1, None] + hx[:, None] * _t).ravel()
    loads = np.zeros(mesh.shape)
    rows = max(1, _BLOCK // (4 * points.size))  # of cells
    for first in range(0, hy.size, rows):
        last = min(first + rows, hy.size)
        heights = (mesh.y[first:last, None] + hy[first:last, None] * _t).ravel()
        x, y = np.meshgrid(points, heights)
        values = _values("f", f, x, y)
        ends = values.reshape(heights.size, hx.size, 4) @ _CORNERS
        along_x = _join(ends[..., 0] * hx, ends[..., 1] * hx)
        ends = np.tensordot(_CORNERS, along_x.reshape(last - first, 4, -1), axes=(0, 1)) * hy[first:last, None]
        loads[first:last] += ends[0]
        loads[first + 1:last + 1] += ends[1]
    return loads
