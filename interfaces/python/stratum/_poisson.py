"""Poisson problems: a mesh, boundaries and coefficients in, the solution on all nodes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _fork, _show
from ._checks import bodies_of
from ._labelled import Labels, has_labels
from ._mesh import as_mesh
from ._on_device import OnDevice, capsule, contiguous, library_of, like
from ._patches import PatchSolution, poisson_on_patches
from ._poisson_3d import Poisson3D, Solution3D
from ._problem import Given, Problem
from ._sampling import body_of, boundaries_by_name, centres, on_cells, samples
from ._stratum import BoxMesh, Mesh, PatchMesh, PoissonSystem


class Solution(NamedTuple):
    """The solution at all nodes, boundary included: `u[j, i]` at (x[i], y[j]), and the report of the solve. Shapes: x (nx + 1,),
    y (ny + 1,), u (ny + 1, nx + 1).

    By finite volumes it is the solution in all cells, and x and y are those of their centres, one less of each."""

    x: np.ndarray  # (nx + 1,)
    y: np.ndarray  # (ny + 1,)
    u: np.ndarray  # (ny + 1, nx + 1)
    report: dict[str, Any]

    def plot(self, axes: Any = None, **options: Any) -> Any:
        """stratum.plot of it, on `axes` with `options`; u has shape (ny + 1, nx + 1)."""
        return _show.plot(self, axes, **options)

    def _repr_html_(self) -> str:
        return _show.solution_html(self)


class Poisson(Problem[Solution]):
    """-div(K grad u) + c u = f on a mesh, set up once for any number of right-hand sides.

    mesh        a stratum.mesh, or its arguments: ("A3", 10), (x, y)
    boundaries  u on all boundaries; or a dictionary with the keys "left", "right", "bottom", "top". A missing one means u = 0:
                  g                    u = g
                  "neumann"            K du/dn = 0, n outward
                  ("neumann", g)       K du/dn = g
                  ("robin", alpha, g)  K du/dn + alpha u = g, alpha >= 0
                  "periodic"           on two opposite boundaries
                g and alpha are numbers, arrays at the nodes of the boundary, shape (nx + 1,) or (ny + 1,), or functions g(x, y)
    kappa       K > 0: a number, an array on the cells, shape (ny, nx), or a function kappa(x, y), evaluated at cell centres; or
                a tuple (kxx, kyy) or (kxx, kxy, kyy) of these
    reaction    c >= 0: a number, an array or a function like kappa
    bodies      inside the domain, a list of tuples:
                  (inside, "value", g)    a conductor, held at u = g
                  (inside, "no-flux")     a solid that nothing flows into; u is nan at nodes inside
                  (inside, "k", k)        another K
                  (inside, "contact", r)  a resistance on its surface
                inside is above 0, or true, in the body's cells: an array on the cells or a function, evaluated at cell centres; g
                is a number, an array at the nodes or a function, k like kappa. report["bodies"] has what flows out of each. It warns
                where solids touch in corners alone, through which u leaks

    Units are yours: f has that of K u over a length squared, c that of K over a length squared, a flux g that of K u over a length.
    Functions are called with arrays of coordinates and return arrays of their shape, or a number. If the library was built with
    muParser, strings are expressions in x and y, as in the options of the programs.

    smoother    "adi" (lines in both directions) suits all meshes; "line_x", "line_y", "colour_gs", "jacobi", or "auto"
    sweeps      sweeps before and after the coarse correction
    cycle       "v", "w", "f", "w2", "k", or "fmg": one FMG cycle, which reaches the accuracy of the mesh
    accel       "multigrid" (cycles alone), "cg", "fcg", "cr", "gcr", "gmres", "bicgstab"; None: cycles if K is a number, else
    CG
    single_precision  whether cycles are in single precision; everything else is in double
    discretisation  "elements", bilinear ones with unknowns at the nodes; or "fv", cell-centred finite volumes, the five-point
                matrix of MAC grids: u is then one number for each cell, shape (ny, nx)
    coordinates "cartesian", "cylindrical" (x is r, y is z), "polar" (r, angle), "spherical" (r, angle from the pole) or "lat-lon"
                (longitude, latitude). Axes, centres and poles need no condition
    device      "cpu" or "cuda"; threads: CPU threads, 0 for all (one in a child process after a fork); stream: number of a CUDA
                stream, as of stratum.Multigrid. With "cuda" an array f of CuPy, PyTorch or JAX on the GPU stays there, and u is one

    Raises ValueError and TypeError for data that do not fit, ResourceError where memory or a device is missing.

    >>> import numpy as np, stratum
    >>> problem = stratum.Poisson(("A3", 6), boundaries={"left": "neumann"})
    >>> [problem.solve(f).report["iterations"] for f in (1, 2)]
    [5, 5]
    """

    _sides = ("left", "right", "bottom", "top")

    def __init__(
        self,
        mesh: Mesh | BoxMesh | tuple[Any, ...],
        boundaries: Any = 0.0,
        kappa: Any = 1.0,
        reaction: Any = 0.0,
        *,
        bodies: Any = (),
        smoother: str = "adi",
        sweeps: int | None = None,
        cycle: str | None = None,
        accel: str | None = None,
        single_precision: bool = True,
        discretisation: str = "elements",
        coordinates: str = "cartesian",
        threads: int = 0,
        device: str = "cpu",
        stream: int | None = None,
    ) -> None:
        self.mesh = as_mesh(mesh)
        if isinstance(self.mesh, BoxMesh):
            raise TypeError("a mesh of three axes is for stratum.Poisson3D(mesh, boundaries, kappa, reaction)")
        options: dict[str, Any] = dict(bodies=[body_of(self.mesh, body) for body in bodies_of(bodies)],
                                       smoother=smoother, sweeps=sweeps, cycle=cycle, accel=accel,
                                       single_precision=single_precision, discretisation=discretisation, coordinates=coordinates,
                                       threads=threads, device=device, stream=stream)
        sides: Any = boundaries_by_name(self.mesh, self._sides, boundaries)
        k: Any = _tensor(self.mesh, kappa)
        c = on_cells(self.mesh, "the reaction", reaction)
        self._set_up(Given(sides, k, c, options, self._open_sides(boundaries)))

    def _compiled(self, given: Given) -> Any:
        options = given.options
        # A pass of full multigrid goes on with a Krylov method that is asked for.
        return PoissonSystem(self.mesh, *given.boundaries, *given.kappa, given.reaction,  # type: ignore[call-arg, arg-type]
                             options | {"threads": _fork.threads(options["threads"]), "continue": options["accel"] is not None,
                                        "open": given.open})

    def _open_sides(self, boundaries: Any) -> tuple[bool, ...]:
        """Of which nothing is said by name."""
        named = boundaries if isinstance(boundaries, dict) else {}
        return tuple(name not in named for name in self._sides)

    def _is_plain(self) -> bool:
        """Elements in Cartesian coordinates, without bodies: what loads and gradients are integrated for here."""
        options = self._given.options
        return (options["discretisation"], options["coordinates"]) == ("elements", "cartesian") and not options["bodies"]

    def _load(self, f: Any) -> Any:
        return super()._load(f) if self._is_plain() else samples(self.mesh, f)

    def _solve_on_device(self, f: Any, *stop: Any) -> tuple[Any, dict[str, Any]]:
        if not self._is_plain() or self._given.options["device"] != "cuda":
            raise TypeError("f on a GPU is for device='cuda', elements in Cartesian coordinates and no bodies; give f on the host")
        if "float64" not in str(f.dtype):
            raise TypeError(f"f on a GPU is float64; given is {f.dtype}")
        from ._differentiable import Calculus, kept_solves

        library, solves = library_of(f), kept_solves(self)

        def constant(a: np.ndarray) -> Any:
            return library.as_tensor(a, device=f.device) if library.__name__ == "torch" else library.asarray(a)

        place = f"cuda:{int(f.__dlpack_device__()[1])}"
        load = solves.calculus((library.__name__, place), lambda: Calculus(solves, library, constant)).load(f)
        u, report = self._system.solve_on_device(capsule(contiguous(load), self._system.stream), *stop)
        return like(f, OnDevice(u, f)), report

    def _solution(self, u: np.ndarray, report: dict[str, Any]) -> Solution:
        if self._given.options["discretisation"] == "fv":
            x, y = centres(self.mesh)
            return Solution(x, y, u, report)
        return Solution(self.mesh.x, self.mesh.y, u, report)


def poisson(mesh: Mesh | BoxMesh | PatchMesh | tuple[Any, ...] | None, f: Any, boundaries: Any = 0.0, kappa: Any = 1.0,
            reaction: Any = 0.0, **options: Any) -> Any:
    """Solves -div(K grad u) + c u = f on a mesh: stratum.Poisson(mesh, boundaries, kappa, reaction, ...).solve(f, ...).

    It takes the options of both, raises what they raise, and returns a Solution, (x, y, u, report); u has shape (ny + 1, nx + 1). For a mesh of three axes,
    ("A3", 5, "yz") or (x, y, z), it uses stratum.Poisson3D and returns (x, y, z, u, report); u has shape (nz + 1, ny + 1, nx + 1).

    On a mesh of stratum.patches x, y and u are lists with an array for each patch. boundaries are by the names of the mesh: g,
    "neumann", ("neumann", g) or ("robin", alpha, g), where g is a number or a function that is called for one point at a time;
    kappa is a number, a function at centres of cells, or a list with a number or an array on the cells of each patch; f is a
    number, a function, or such a list at nodes; the reaction is a number. bodies are (inside, "value", g), (inside, "no-flux") and
    (inside, "k", k), whose functions are called for one point at a time. The cells of the first two are left out, and the rest is cut into
    patches anew, which x, y and u are of; lists go with these, so give functions. report["bodies"] has cells, and what flows out of each.

    >>> import numpy as np, stratum
    >>> x, y, u, report = stratum.poisson(("A3", 8), lambda x, y: 2 * np.sin(x) * np.sin(y),
    ...                                   boundaries=lambda x, y: np.sin(x) * np.sin(y))
    >>> u.shape, report["iterations"]
    ((257, 257), 5)
    >>> exact = np.sin(x) * np.sin(y)[:, None]
    >>> bool(abs(u - exact).max() < 1e-5)
    True

    With xarray: a mesh of coordinates (da.x, da.y), or None and f a DataArray at the nodes, whose coordinates make the mesh. Then u
    is a DataArray, whose attributes say how the solve went. Other data may be DataArrays too, in any order of dimensions.
    """
    names = {"rtol", "atol", "maxiter", "reference_norm", "project", "callback", "on_failure"}
    of_solve = {name: options.pop(name) for name in names & options.keys()}
    if isinstance(mesh, PatchMesh):
        return poisson_on_patches(mesh, f, boundaries, kappa, reaction, **of_solve, **options)
    labels = None
    if has_labels(mesh, f):
        labels, like = Labels(mesh, f), f
        mesh = labels.mesh()
        f, boundaries, kappa, reaction = (labels.plain(given) for given in (f, boundaries, kappa, reaction))
    mesh = as_mesh(mesh)
    kind: Any = Poisson3D if isinstance(mesh, BoxMesh) else Poisson
    solution = kind(mesh, boundaries, kappa, reaction, **options).solve(f, **of_solve)
    return solution if labels is None else labels.solution(solution.u, solution.report, like)


def _tensor(mesh: Mesh, kappa: Any) -> tuple[Any, Any, Any]:
    """kxx, kxy, kyy; None where K is one, or a number on the diagonal."""
    if not isinstance(kappa, tuple):
        k = on_cells(mesh, "kappa", kappa)
        return (None if isinstance(k, float) and k == 1 else k), None, None
    if len(kappa) not in (2, 3):
        raise ValueError(f"kappa is (kxx, kyy) or (kxx, kxy, kyy), not {len(kappa)} coefficients")
    xx, *xy, yy = (on_cells(mesh, "kappa", k) for k in kappa)
    return xx, xy[0] if xy else None, yy
