"""A matrix on a grid, of any origin: solver and preconditioner in one object."""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import Any, Callable, Dict, Optional, Tuple, Union

import numpy as np

from . import _fork, _report, _show
from ._checks import expect_callback, expect_unmasked, grid_shape, iterations, number, whole
from ._grid import another_kind, by_directions, checked, from_coordinates, grid_of, nodes, speaks_of_couplings
from ._on_device import OnDevice, capsule, contiguous, is_on_device, joined_on_device, like
from ._rows import fingerprint, matrix_of
from ._pyamg import of_pyamg
from ._side_by_side import SideBySide, threads_for
from ._stratum import BoxMatrixSystem, MatrixSystem

_Stop = Tuple[float, float, int, Optional[Callable[[int, float], Any]]]  # rtol, atol, maxiter, callback
_Report = Dict[str, Any]
_System = Union[MatrixSystem, BoxMatrixSystem]


class Multigrid:
    """Multigrid for a five- or nine-point matrix on a grid of ny x nx unknowns, or one of 7 to 27 points on a box of nz x ny x nx.

    A          a scipy.sparse matrix or array of any format. Or bands: an array of shape (9, ny, nx), where
               A[3 (dy + 1) + dx + 1, j, i] couples (j, i) to (j + dy, i + dx); for a symmetric matrix the five bands from the
               centre on, shape (5, ny, nx). In a box 27 bands, A[9 (dz + 1) + 3 (dy + 1) + dx + 1, k, j, i], or the 14 from the
               centre on
    shape      (ny, nx): unknowns in y and in x; (nz, ny, nx) in a box. The direction of the numbering is detected. If shape is
               left out, the diagonals of A must determine it
    widths     (hx, hy) or (hx, hy, hz): widths of the intervals between the unknowns, if you know them. There are nx - 1 of them
               in x, and one more beyond each boundary whose Dirichlet nodes are no unknowns (nx + 1 between two such boundaries);
               nx if x is periodic. They are only used where the entries of A do not show them
    numbering  j nx + i, or (k ny + j) nx + i, of every unknown, if they are not numbered along one direction after the other
    coordinates  (n, 2) or (n, 3), or two or three arrays: x and y, or x, y and z, of every unknown, in place of shape and numbering
    symmetric, singular   detected unless given; refused if given and A is different. A is singular if all rows sum to zero,
               within the digits of its entries. Its solutions have mean zero
    project    subtracts the mean of right-hand sides if A is singular. Without it, one whose entries do not sum to zero is
               refused. If the grid has disconnected parts, this holds for each part
    triangle   of a matrix that has one triangle alone and looks like half of a symmetric one: "ask" refuses it, "symmetric" fills
               in the other triangle, "general" takes it for all there is
    smoother   "auto", "adi", "line_x", "line_y", "colour_gs", "jacobi". In a box smoother, sweeps, cycle and interpolation are
               not to be chosen: points or lines as the cells of each level need, V(1,1) cycles
    sweeps     sweeps before and after the coarse correction
    cycle      "v", "w", "f", "w2", "k"; PyAMG's "V", "W", "F" and "AMLI" (a K-cycle) as well
    accel      "cg", "fcg", "cr", "gcr", "gmres" (flexible), "bicgstab", or "multigrid" for cycles alone. None: "cg" if A is
               symmetric ("fcg" with K-cycles), else "gmres"
    interpolation     "matrix" (follows A), "bilinear" (follows the widths); None: chosen by A
    single_precision  whether cycles are in single precision; everything else, the solution too, is in double
    device     "cpu" or "cuda"; threads: CPU threads, 0 for all (one in a child process after a fork); stream: number of a CUDA
               stream, such as torch.cuda.current_stream().cuda_stream or cupy.cuda.get_current_stream().ptr
    of_others  PyAMG's presmoother and postsmoother (Gauss-Seidel is "colour_gs" here) and symmetry. What belongs to algebraic
               coarsening, such as strength or max_coarse, is refused

    A matrix whose diagonal is negative (a negative definite one) is solved as well: -A x = -b has the same solution.

    Computation is in double precision; float32 arrays are converted, and complex ones are two right-hand sides. Vectors have
    shape (n,), in the order of the rows of A, and several of them (n, k). Where unknowns are numbered along x first, a vector may
    have shape (ny, nx). A result has the type of b: an array of NumPy, CuPy, PyTorch or JAX, on the device of b. A is not copied.
    If you change it in place, call update(A); before that, another `accel` is refused. Solvers can be pickled and copied; a copy
    is set up anew. Raises ValueError and TypeError for matrices and options that do not fit, ResourceError where memory or a
    device is missing.

    Attributes, besides those listed below: `found`, a dictionary of what was detected ("symmetric", "singular", "numbering",
    "boundaries" and others); `report`, a dictionary of the latest solve ("status", "iterations", "residuals" and others); `grid`,
    (ny, nx) or (nz, ny, nx); `shape`, (n, n).

    >>> import numpy as np, scipy.sparse as sp, stratum
    >>> line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(255, 255))
    >>> A = sp.kronsum(line, 1000 * line, format="csr")       # -u_xx - 1000 u_yy
    >>> ml = stratum.Multigrid(A, shape=(255, 255))
    >>> b = np.ones(A.shape[0])
    >>> x = ml.solve(b)
    >>> bool(np.linalg.norm(b - A @ x) < 1e-8 * np.linalg.norm(b))
    True
    >>> ml.symmetric, ml.report["converged"], ml.report["iterations"] < 10
    (True, True, True)

    As a preconditioner:

    >>> from scipy.sparse.linalg import cg
    >>> x, info = cg(A, b, rtol=1e-8, M=ml.aspreconditioner())
    >>> info
    0
    """

    def __init__(
        self,
        A: Any,
        shape: tuple[int, ...] | None = None,
        *,
        widths: tuple[Any, ...] | None = None,
        numbering: Any = None,
        coordinates: Any = None,
        symmetric: bool | None = None,
        singular: bool | None = None,
        project: bool = False,
        triangle: str = "ask",
        smoother: str = "auto",
        sweeps: int | None = None,
        cycle: str | None = None,
        accel: str | None = None,
        interpolation: str | None = None,
        single_precision: bool = True,
        threads: int = 0,
        device: str = "cpu",
        stream: int | None = None,
        **of_others: Any,
    ) -> None:
        smoother, sweeps, symmetric = of_pyamg(of_others, smoother, sweeps, symmetric)
        matrix, grid = matrix_of(A)
        shape = None if shape is None else grid_shape("shape", shape)
        if grid is not None and shape is not None and shape != grid:
            raise ValueError(f"bands of shape {np.shape(A)} belong to a grid of shape {grid}; given is {shape}")
        if coordinates is not None:
            if grid is not None or numbering is not None:
                raise ValueError("coordinates take the place of numbering, and belong to a sparse matrix")
            lie_on, numbering = from_coordinates(coordinates, matrix[0].size - 1)
            if shape is not None and shape != lie_on:
                raise ValueError(f"the coordinates are those of a grid of shape {lie_on}; given is {shape}")
            shape = lie_on
        self.grid: tuple[int, ...] = grid or (checked(shape, matrix[0].size - 1) if shape is not None else grid_of(*matrix[:2]))
        n = int(np.prod(self.grid))
        #: (n, n)
        self.shape: tuple[int, int] = (n, n)
        if numbering is not None:
            numbering = nodes(numbering, n)
        if widths is not None:
            if not isinstance(widths, (tuple, list)) or len(widths) != len(self.grid):
                raise ValueError(f"widths of a grid of shape {self.grid} are {'(hx, hy)' if len(self.grid) == 2 else '(hx, hy, hz)'}; "
                                 f"given are {len(widths) if isinstance(widths, (tuple, list)) else repr(widths)}")
            widths = tuple(np.ascontiguousarray(h, dtype=np.float64) for h in widths)
        self._options = dict(widths=widths, numbering=numbering, symmetric=symmetric, singular=singular, project=project,
                             triangle=triangle,
                             smoother=smoother, sweeps=sweeps, cycle=_cycle(cycle), accel=_method(accel),
                             interpolation=interpolation, single_precision=single_precision)
        self._place = (device, whole("threads", threads), stream)
        self._keep(matrix)
        self._systems: dict[tuple[Any, ...], _System] = {}
        try:
            self._own = self._system(self._options["accel"])
        except ValueError as e:
            another = another_kind(*matrix[:2]) if grid is None and speaks_of_couplings(str(e)) else None
            if another is None:
                raise
            raise ValueError(f"{e}; {another}") from None
        self._side_by_side = SideBySide(lambda: self._made("cpu", 1, None, self._options))
        self._is_x_first = np.array_equal(numbering, np.arange(n)) if numbering is not None \
            else min(self.grid) == 1 < max(self.grid) == n or self._own.found()["numbering"] == "x first"
        _fork.remember(self)
        #: What was detected: "symmetric", "negative" (the diagonal), "singular", "singular_parts" (how many: connected parts of
        #: the grid whose rows sum to zero), "note" (what was made of row sums that are zero but for the digits of a file),
        #: "numbering", "periodic" (in z, in y, in x), "boundaries", "fixed_rows" (rows that hold their diagonal alone), "accel",
        #: "choice" (of cycle and method, and why), "levels".
        self.found: dict[str, Any] = self._own.found()
        #: Of the latest solve, of the last column where there were several; "columns" has all of them.
        self.report: dict[str, Any] = {}

    @property
    def symmetric(self) -> bool:
        """Whether A is symmetric, within rounding."""
        return bool(self.found["symmetric"])

    @property
    def singular(self) -> bool:
        """Whether all rows of A, or of a part of the grid that is coupled to no other, sum to zero."""
        return bool(self.found["singular"])

    @property
    def device(self) -> str:
        """"cpu" or "cuda"."""
        return self._place[0]

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "nonsymmetric"
        return f"<stratum.Multigrid of a {kind} matrix on a grid of shape {self.grid}, {self.found['levels']} levels>"

    def _repr_html_(self) -> str:
        rows = {name.replace("_", " "): value for name, value in self.found.items() if value not in ("", None)}
        return _show.table(repr(self)[1:-1], rows | (_show.report_rows(self.report) if "setup_seconds" in self.report else {}))

    def solve(
        self,
        b: Any,
        x0: Any = None,
        tol: float | None = None,
        maxiter: int = 100,
        accel: str | Callable[..., Any] | None = None,
        callback: Callable[..., Any] | None = None,
        residuals: list[float] | None = None,
        return_info: bool = False,
        *,
        cycle: str | None = None,
        return_residuals: bool = False,
        rtol: float | None = None,
        atol: float = 0.0,
        on_failure: str = "warn",
        project: bool | None = None,
    ) -> Any:
        """Solves A x = b.

        b            real or complex. Shape (n,); (ny, nx) or (nz, ny, nx), if unknowns are numbered along x first; or (n, k): k
                     right-hand sides. On a CPU many small ones are solved side by side
        x0           initial guess of the same shape; zero if not given
        tol or rtol  stop when the true residual ||b - A x|| <= max(rtol ||b||, atol); 1e-8 if not given
        accel, cycle, project   in place of those of the constructor; the first call with them sets them up. accel="multigrid" is
                     cycles alone. accel may also be a function like scipy.sparse.linalg.gmres: it is called with A, b, and one cycle as M
        maxiter      largest number of iterations
        callback     called as callback(iteration, ||b - A x||). If accel is a function, that calls callback in its own way, such
                     as callback(x). Ctrl-C ends a solve with or without a callback
        residuals    a list that receives ||b - A x|| of every iteration, the initial one first
        return_residuals  return (x, residuals)
        return_info  return (x, info) like SciPy's methods: 0 if converged, else the number of iterations
        on_failure   if the tolerance was not met: "warn", "raise" or "ignore". If the solve diverged, "warn" raises as well.
                     `report` has the status in any case
        """
        _report.check_on_failure(on_failure)
        if tol is not None and rtol is not None:
            raise ValueError("tol and rtol are the same; give one of them")
        asked_for = tol if rtol is None else rtol
        expect_callback(callback)
        atol, maxiter = number("atol", atol), iterations(maxiter)
        stop = (1e-8 if asked_for is None else number("tol" if rtol is None else "rtol", asked_for), atol, maxiter, callback)
        if residuals is not None and not isinstance(residuals, list):
            raise TypeError(f"residuals is a list that is filled; given is {type(residuals).__name__}")
        if return_info and return_residuals:
            raise ValueError("return_info and return_residuals are alternatives; give residuals=[] beside return_info")
        if callback is not None and not callable(accel) and _takes_one(callback):
            raise TypeError("callback is called with the number of the iteration and the residual, and takes two arguments; for "
                            "callback(x) give a method of SciPy's as accel, such as accel=scipy.sparse.linalg.cg")
        if callable(accel) and project is not None:
            raise TypeError("project= is for Stratum's own methods; if accel is a function, subtract the mean of b before")
        x, columns, worst = self._judged(b, x0, accel if callable(accel) else _method(accel), stop, on_failure,
                                         asked_for is not None or atol > 0, _cycle(cycle), project)
        if residuals is not None:
            residuals[:] = columns[-1]["residuals"]
        if return_residuals:
            return x, list(columns[-1]["residuals"])
        if not return_info:
            return x
        return x, 0 if all(r["converged"] for r in columns) else worst["iterations"]

    def _judged(self, b: Any, x0: Any, accel: Any, stop: _Stop, on_failure: str, tolerance_asked_for: bool,
                cycle: str | None = None, project: bool | None = None) -> tuple[Any, list[_Report], _Report]:
        if callable(accel):
            columns, x = self._by_method(accel, cycle, b, x0, stop)
            return self._with_report(x, columns, on_failure, tolerance_asked_for)
        system = self._own if accel is None and cycle is None and project is None else self._system(accel, cycle, project)
        if is_on_device(b):
            columns, x = self._solve_on_device(system, b, x0, stop)
        else:
            columns, x = self._solve_on_host(system, b, x0, stop)
        return self._with_report(x, columns, on_failure, tolerance_asked_for)

    def _with_report(self, x: Any, columns: list[_Report], on_failure: str,
                     tolerance_asked_for: bool) -> tuple[Any, list[_Report], _Report]:
        worst = max(columns, key=lambda r: (_report.exit_code(r, tolerance_asked_for), not r["converged"]))
        self.report = columns[-1] | ({"columns": columns} if len(columns) > 1 else {})
        _report.judge(worst, x, on_failure, tolerance_asked_for)
        return x, columns, worst

    def _solved(self, b: np.ndarray, stop: _Stop, on_failure: str, tolerance_asked_for: bool) -> Any:
        return self._judged(b, None, None, stop, on_failure, tolerance_asked_for)[0]

    def _with(self, A: Any) -> Multigrid:
        """The same of another matrix on this grid."""
        device, threads, stream = self._place
        return Multigrid(A, self.grid, **self._options, device=device, threads=threads, stream=stream)

    def apply(self, r: Any) -> Any:
        """One cycle for A z = r with z = 0 at the start; z has the shape of r: (n,), that of the grid, or (n, k). For Krylov methods
        of other libraries.
        """
        if is_on_device(r):
            self._expect_cuda()
            return joined_on_device([like(r, OnDevice(self._own.apply_on_device(self._capsule(column, "r")), r))
                                      for column in self._columns_on_device(r, "r")], r)
        return self._applied(None, r)

    def _applied(self, cycle: str | None, r: Any) -> Any:
        columns, shape, is_complex = self._columns(r, "r")
        z = np.empty_like(columns)

        def one(system: _System, k: int) -> None:
            system.apply(columns[k], z[k])

        self._for_each(self._own if cycle is None else self._system(None, cycle), len(columns), one)
        return like(r, _joined(z, shape, is_complex))

    __call__ = apply

    def aspreconditioner(self, cycle: str | None = None) -> Any:
        """A scipy.sparse.linalg.LinearOperator of shape (n, n): the M of SciPy's cg, gmres, bicgstab and others.

        cycle is in place of that of the constructor. It is symmetric if A is, as cg requires. If A is negative definite, so is the cycle, and cg works as well. Cycles in
        single precision suit cg and bicgstab. For gmres use single_precision=False: its recursion takes the cycle for a linear
        operator. SciPy's computes b - A x before it ends and takes more iterations; others may end too early.
        """
        from scipy.sparse.linalg import LinearOperator

        cycle = _cycle(cycle)
        if cycle is not None:
            self._system(None, cycle)  # so that one that cannot be is refused here
        apply = self.apply if cycle is None else functools.partial(self._applied, cycle)
        return LinearOperator(self.shape, matvec=apply, rmatvec=apply if self.symmetric else None, matmat=apply, dtype=np.float64)

    def update(self, A: Any) -> None:
        """Other values at the same places. The hierarchy is reused if it suits them; in a box it is made anew.

        A has the shape and the kind of before. It may be the previous matrix with values changed in place. If the values are refused, the previous ones stay, unless
        they were overwritten in place.
        """
        matrix, grid = matrix_of(A)
        if (grid is not None and grid != self.grid) or (grid is None and matrix[0].size != self.shape[0] + 1):
            raise ValueError(f"the matrix is one of {self.grid} unknowns; given is shape {np.shape(A)}")
        try:
            self._own.update(*matrix)
        except ValueError:
            with contextlib.suppress(ValueError):
                self._own.update(*self._matrix)
            raise
        self._keep(matrix)
        self._systems = {tuple(self._options[name] for name in ("accel", "cycle", "project")): self._own}
        self._side_by_side.forget()
        self.found = self._own.found()

    def _expect_unchanged(self, why: str) -> None:
        if fingerprint(self._matrix) != self._given:
            raise ValueError("the matrix has been changed in place since it was given; update(A) takes the values that it has now. "
                             f"({why}, from the matrix itself.)")

    def __reduce__(self) -> tuple[Any, ...]:
        self._expect_unchanged("a copy is set up")
        start, column, value = self._matrix
        return _restored, (start, column, value, self.grid, self._options, self._place)

    def _system(self, accel: str | None, cycle: str | None = None, project: bool | None = None) -> _System:
        asked_for = dict(accel=accel or self._options["accel"], cycle=cycle or self._options["cycle"],
                         project=self._options["project"] if project is None else project)
        key = tuple(asked_for.values())
        if key not in self._systems:
            self._expect_unchanged(", ".join(f"{name}={value!r}" for name, value in asked_for.items()) + " is set up at its first call")
            device, threads, stream = self._place
            self._systems[key] = self._made(device, _fork.threads(threads), stream, self._options | asked_for)
        return self._systems[key]

    def _made(self, device: str, threads: int, stream: int | None, options: dict[str, Any]) -> _System:
        kind: Any = BoxMatrixSystem if len(self.grid) == 3 else MatrixSystem
        made: _System = kind(*self._matrix, *reversed(self.grid), device, threads, stream, options)
        return made

    def _keep(self, matrix: tuple[Any, Any, np.ndarray]) -> None:
        self._matrix = matrix
        self._given = fingerprint(matrix)

    def _after_fork(self) -> None:
        for system in self._systems.values():
            system.after_fork()
        self._side_by_side.forget()
        self.__dict__.pop("_solves", None)  # whose lock another thread of the parent may have had

    def _for_each(self, system: _System, count: int, one: Callable[[_System, int], None]) -> None:
        """one(system, k) of every k; many small ones on a CPU one a thread, each with a hierarchy of its own."""
        device, threads, _ = self._place
        threads = threads_for(device, threads, self.shape[0], count)
        if system is self._own and threads > 1 and fingerprint(self._matrix) == self._given:
            self._side_by_side.for_each(threads, count, one)
            return
        for k in range(count):
            one(system, k)

    def _columns(self, numbers: Any, name: str) -> tuple[np.ndarray, tuple[int, ...], bool]:
        """(columns as the rows of an array in double, shape, whether complex): of complex numbers all real parts come first."""
        expect_unmasked(name, numbers)
        array = np.asarray(numbers)
        n = self.shape[0]
        if array.dtype.kind not in "buifc":
            raise TypeError(f"{name} is numbers; given is {array.dtype}")
        if array.shape not in ((n,), self.grid) and not (array.ndim == 2 and array.shape[0] == n):
            raise ValueError(f"{name} has shape ({n},), {self.grid} or ({n}, k) for a matrix of shape {self.shape}; "
                             f"given is {array.shape}")
        self._expect_order(array.shape, name)
        if array.size == 0 and n > 0:
            raise ValueError(f"{name} has no columns; its shape is {array.shape}")
        several = array.reshape(1, -1) if array.shape in ((n,), self.grid) else array.T
        is_complex = array.dtype.kind == "c"
        parts = [several.real, several.imag] if is_complex else [several]
        rows = [np.ascontiguousarray(part, dtype=np.float64) for part in parts]
        return rows[0] if len(rows) == 1 else np.concatenate(rows), array.shape, is_complex

    def _expect_order(self, shape: tuple[int, ...], name: str) -> None:
        """Refuses an array on the grid whose order is not that of the rows of A."""
        if shape == self.grid and not self._is_x_first:
            numbering = self.found["numbering"]
            how = "y first: for an array v[j, i] of the grid that is v.T.reshape(-1)" if numbering == "y first" \
                else "as numbering= or coordinates= say" if numbering == "given" else by_directions(numbering)
            raise ValueError(f"{name} of shape {shape} is in the order x first, and the unknowns of this matrix are numbered {how}; "
                             f"give {name} of shape {self.shape[:1]}, in the order of the rows of A")

    def _by_method(self, method: Callable[..., Any], cycle: str | None, b: Any, x0: Any, stop: _Stop) -> tuple[list[_Report], Any]:
        """By a function like SciPy's methods, or PyAMG's."""
        from scipy.sparse import csr_array

        start, column, value = self._matrix
        if start is None:
            raise TypeError("a method of another library takes a sparse matrix; this stratum.Multigrid was made of bands")
        rtol, atol, maxiter, callback = stop
        a: Any = csr_array((value, column, start), shape=self.shape)
        flat, _ = self._vector(b, "b")
        begin = np.zeros_like(flat) if x0 is None else np.array(self._vector(x0, "x0")[0])
        m = self.aspreconditioner(cycle)
        steps = [0]

        def counted(*given: Any) -> None:
            steps[0] += 1
            if callback is not None:
                callback(*given)

        names = _parameters(method)
        known = dict(x0=begin, maxiter=maxiter, M=m, callback=counted, atol=atol)
        if "M" not in names:
            if "M1" not in names:
                raise TypeError(f"accel is called with A, b and a cycle as M, such as scipy.sparse.linalg.gmres; {method!r} takes no M")
            known |= {"M1": m, "M2": _identity(self.shape[0])}
        tolerance = "rtol" if "rtol" in names else "tol"
        known[tolerance] = rtol
        if "callback_type" in names:
            known["callback_type"] = "pr_norm" if callback is None else "x"
        residuals: list[float] = []
        if "residuals" in names:
            known["residuals"] = residuals
        first = last = float(np.linalg.norm(flat - a @ begin))
        target = max(rtol * float(np.linalg.norm(flat)), atol)
        x, history = begin, list[float]()
        # Methods that update their residual miss the true one by rounding, and some end by another norm: then once more, by less.
        while True:
            known |= dict(x0=x, maxiter=maxiter - steps[0])
            result = method(a, flat, **{name: value for name, value in known.items() if name in names})
            x, info = result if isinstance(result, tuple) else (result, 0)
            x = np.asarray(x, dtype=np.float64).reshape(-1)
            before, last = last, float(np.linalg.norm(flat - a @ x))
            history += residuals[1 if history else 0:]
            converged = last <= target * (1 + 1e-3)
            if converged or steps[0] >= maxiter or "x0" not in names or not last < 0.9 * before:
                break
            known[tolerance] *= 0.5 * target / last
        status = "converged" if converged else "max iterations" if info else "stagnated"
        code = 0 if converged else 2
        name = getattr(method, "__name__", type(method).__name__)
        report: _Report = {
            "status": status, "converged": converged, "failed": not np.isfinite(last), "iterations": steps[0], "residual": last,
            "reason": f"residual {last:.3e} after {steps[0]} iterations of {name}, {target:.3e} was asked for",
            "initial_residual": first, "residuals": history or [first, last], "exit_codes": (code, code), "choice": name,
            "relative_residual": last / (float(np.linalg.norm(flat)) or 1.0)}
        return [report], like(b, x.reshape(np.shape(b)))

    def _vector(self, numbers: Any, name: str) -> tuple[np.ndarray, tuple[int, ...]]:
        """Contiguous and flat, in double; and its shape."""
        expect_unmasked(name, numbers)
        array = np.asarray(numbers)
        n = self.shape[0]
        if array.dtype.kind not in "buif":
            raise TypeError(f"{name} is real; given is {array.dtype}")
        if array.shape not in ((n,), (n, 1), self.grid):
            raise ValueError(f"{name} has shape ({n},), {self.grid} or ({n}, k) for a matrix of shape {self.shape}; "
                             f"given is {array.shape}")
        self._expect_order(array.shape, name)
        return np.ascontiguousarray(array, dtype=np.float64).reshape(-1), array.shape

    def _solve_on_host(self, system: _System, b: Any, x0: Any, stop: _Stop) -> tuple[list[_Report], Any]:
        if x0 is not None and np.shape(x0) != np.shape(b):
            raise ValueError(f"x0 has the shape of b, {np.shape(b)}; given is {np.shape(x0)}")
        columns, shape, is_complex = self._columns(b, "b")
        if x0 is None:
            x = np.zeros_like(columns)
        else:
            starts, _, start_is_complex = self._columns(x0, "x0")
            if start_is_complex and not is_complex:
                raise TypeError("x0 is complex, and b is real")
            x = np.zeros_like(columns)
            x[:len(starts)] = starts
        reports: list[Any] = [None] * len(columns)

        def one(system: _System, k: int) -> None:
            reports[k] = system.solve(columns[k], x[k], *stop)

        if stop[3] is None:
            self._for_each(system, len(columns), one)
        else:
            for k in range(len(columns)):
                one(system, k)
        return reports, like(b, _joined(x, shape, is_complex))

    def _solve_on_device(self, system: _System, b: Any, x0: Any, stop: _Stop) -> tuple[list[_Report], Any]:
        self._expect_cuda()
        columns = self._columns_on_device(b, "b")
        starts = [None] * len(columns) if x0 is None else self._columns_on_device(x0, "x0")
        if len(starts) != len(columns):
            raise ValueError(f"x0 has the shape of b, {tuple(b.shape)}; given is {tuple(x0.shape)}")
        x, reports = [], []
        for column, start in zip(columns, starts):
            own, report = system.solve_on_device(self._capsule(column, "b"), None if start is None else self._capsule(start, "x0"),
                                                 *stop)
            x.append(like(b, OnDevice(own, b)))
            reports.append(report)
        return reports, joined_on_device(x, b)

    def _expect_cuda(self) -> None:
        if self._place[0] != "cuda":
            raise ValueError("an array on a GPU is for a Multigrid made with device='cuda'; this one computes on the CPU")

    def _columns_on_device(self, array: Any, name: str) -> list[Any]:
        n = self.shape[0]
        shape = tuple(array.shape)
        if shape[:1] != (n,) or len(shape) > 2 or 0 in shape or "float64" not in str(array.dtype):
            raise ValueError(f"{name} on a GPU has shape ({n},) or ({n}, k) and is float64; given is {shape}, {array.dtype}")
        return [array] if len(shape) == 1 else [contiguous(array[:, k]) for k in range(shape[1])]

    def _capsule(self, array: Any, name: str) -> Any:
        return capsule(contiguous(array), self._own.stream)


def _method(accel: str | None) -> str | None:
    return "gmres" if accel == "fgmres" else accel  # ours is flexible


def _cycle(cycle: str | None) -> str | None:
    """PyAMG's names as ours."""
    return {"V": "v", "W": "w", "F": "f", "AMLI": "k"}.get(cycle, cycle) if cycle is not None else None


def _identity(n: int) -> Any:
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator((n, n), matvec=np.array, rmatvec=np.array, dtype=np.float64)


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _takes_one(callback: Callable[..., Any]) -> bool:
    """Whether it cannot be called with two arguments."""
    try:
        inspect.signature(callback).bind(0, 0.0)
    except TypeError:
        return True
    except ValueError:  # a function that tells nothing
        pass
    return False


def _joined(columns: np.ndarray, shape: tuple[int, ...], is_complex: bool) -> np.ndarray:
    """The array of these columns, as Multigrid._columns took them apart; of several each is contiguous."""
    if is_complex:
        half = len(columns) // 2
        columns = columns[:half] + 1j * columns[half:]
    return columns.reshape(shape) if len(columns) == 1 else columns.T


def _restored(start: Any, column: Any, value: np.ndarray, grid: tuple[int, ...], options: dict[str, Any],
              place: tuple[Any, ...]) -> Multigrid:
    """Of pickled ones."""
    matrix: Any
    if start is None:
        matrix = value.reshape(-1, *grid)
    else:
        from scipy.sparse import csr_array

        matrix = csr_array((value, column, start), shape=(start.size - 1, start.size - 1))
    device, threads, stream = place
    return Multigrid(matrix, grid, **options, device=device, threads=threads, stream=stream)
