"""Poisson problems in a box: a mesh, conditions on six faces and coefficients in, the solution on all nodes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _cublas, _fork, _show
from ._checks import bodies_of
from ._mesh import as_mesh
from ._problem import Given, Problem
from ._sampling import array_of, body_of, boundaries_by_name, coordinates, grid, on_cells, values_of, widths
from ._stratum import BoxMesh, Mesh, PoissonSystem3D


class Solution3D(NamedTuple):
    """The solution at all nodes, faces included: `u[k, j, i]` at (x[i], y[j], z[k]), and the report of the solve. Shapes:
    x (nx + 1,), y (ny + 1,), z (nz + 1,), u (nz + 1, ny + 1, nx + 1)."""

    x: np.ndarray  # (nx + 1,)
    y: np.ndarray  # (ny + 1,)
    z: np.ndarray  # (nz + 1,)
    u: np.ndarray  # (nz + 1, ny + 1, nx + 1)
    report: dict[str, Any]

    def plot(self, axes: Any = None, **options: Any) -> Any:
        """stratum.plot of it, on `axes` with `options`: a plane of z of u, of shape (ny + 1, nx + 1)."""
        return _show.plot(self, axes, **options)

    def _repr_html_(self) -> str:
        return _show.solution_html(self)


class Poisson3D(Problem[Solution3D]):
    """-div(K grad u) + c u = f in a box, solved directly by fast diagonalization, or by multigrid where K is no product; set up
    once for any number of right-hand sides.

    mesh      a stratum.mesh of three axes, or what makes one: ("A3", 5, "yz"), (x, y, z)
    boundaries     values of u on all faces; or a dictionary with "left", "right" (x), "bottom", "top" (y), "front", "back" (z), of
              which missing ones are 0, as of stratum.Poisson: g, "neumann", ("neumann", g), ("robin", alpha, g), "periodic". g is a
              number, a function g(x, y, z), or an array at the nodes of the face: (nz + 1, ny + 1) of left and right,
              (nz + 1, nx + 1) of bottom and top, (ny + 1, nx + 1) of front and back. alpha is the same all over its face
    kappa     K > 0: a number; a function kappa(x, y, z), taken at centres of cells; an array on the cells, (nz, ny, nx); or a tuple
              (kx, ky, kz) of such, each an array along its own axis too, (nx,), (ny,) or (nz,). The solver is direct where K is a
              product of functions of x, y and z, and report["choice"] says which it is and why
    reaction  c >= 0, a number
    bodies    inside the box, a list of tuples (inside, "value", g), (inside, "no-flux"), (inside, "k", k) or (inside, "contact", r),
              as of stratum.Poisson; the cells of a contact fill a box. report["bodies"] has the volume of each and what flows out
    device    "cpu" or "cuda"; threads: of the CPU, 0 for all; in a child process after a fork one

    Functions are called with arrays of coordinates and return arrays of their shape (or a number), as NumPy's do. Units are as of
    stratum.Poisson. Raises ValueError and TypeError for data that do not fit, ResourceError where memory or a device is missing.

    >>> import numpy as np, stratum
    >>> problem = stratum.Poisson3D(("A3", 4, "xyz"), boundaries={"top": "neumann"})
    >>> [problem.solve(f).report["iterations"] for f in (1, 2)]
    [1, 1]
    """

    _rtol, _maxiter = 1e-10, 100
    _sides = ("left", "right", "bottom", "top", "front", "back")

    def __init__(self, mesh: Mesh | BoxMesh | tuple[Any, ...], boundaries: Any = 0.0, kappa: Any = 1.0, reaction: float = 0.0, *,
                 bodies: Any = (), threads: int = 0, device: str = "cpu") -> None:
        self.mesh = as_mesh(mesh)
        if not isinstance(self.mesh, BoxMesh):
            raise TypeError(f"a box has three axes; given is {self.mesh}")
        faces: Any = boundaries_by_name(self.mesh, self._sides, boundaries)
        if not np.isscalar(reaction) or isinstance(reaction, str):
            raise TypeError(f"the reaction of a box is a number, and does not vary; given is {type(reaction).__name__}")
        k: Any = _diagonal(self.mesh, kappa)
        self._set_up(Given(faces, k, float(reaction), dict(bodies=[body_of(self.mesh, body) for body in bodies_of(bodies)], threads=threads,
                                                           device=device)))

    def _compiled(self, given: Given) -> Any:
        device, threads = given.options["device"], given.options["threads"]
        if device == "cuda":
            _cublas.load()
        compiled: Any = PoissonSystem3D
        return compiled(self.mesh, *given.boundaries, *given.kappa, given.reaction, given.options["bodies"], device,
                        _fork.threads(threads))

    def _load(self, f: Any) -> Any:
        if not self._given.options["bodies"]:
            return super()._load(f)
        if callable(f):  # at nodes, linear between them
            return np.ascontiguousarray(values_of("f", f, *grid(coordinates(self.mesh))))
        return array_of("f", f, [self.mesh.shape, self.mesh.cells])

    def _solution(self, u: np.ndarray, report: dict[str, Any]) -> Solution3D:
        return Solution3D(self.mesh.x, self.mesh.y, self.mesh.z, u, report)


def _diagonal(mesh: BoxMesh, kappa: Any) -> tuple[Any, Any, Any]:
    """kxx, kyy, kzz on the cells, any of whose axes may be one long; None where K is one, or a scalar on the diagonal."""
    if not isinstance(kappa, tuple):
        k = on_cells(mesh, "kappa", kappa)
        return (None if isinstance(k, float) and k == 1 else k), None, None
    if len(kappa) != 3:
        raise ValueError(f"kappa of a box is (kx, ky, kz), not {len(kappa)} coefficients")
    return tuple(_along_axis(mesh, d, k) for d, k in enumerate(kappa))


def _along_axis(mesh: BoxMesh, d: int, value: Any) -> Any:
    if isinstance(value, str) or callable(value) or np.ndim(value) != 1:
        return on_cells(mesh, "kappa", value)
    values = np.asarray(value, dtype=np.float64)
    count = widths(mesh)[d].size
    if values.shape != (count,):
        raise ValueError(f"k{'xyz'[d]} has shape ({count},) on this mesh; given is {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("kappa must be finite")
    shape = [1, 1, 1]
    shape[-1 - d] = count
    return np.ascontiguousarray(values.reshape(shape))
