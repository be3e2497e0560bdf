"""Gradients of solves, in NumPy: the solution, and a function that takes a gradient with respect to it back to its data.

    u, pullback = stratum.gradients.vjp(problem, f, kappa=k)      of a stratum.Poisson or stratum.Poisson3D
    x, pullback = stratum.gradients.vjp(ml, b)                    of a stratum.Multigrid

`stratum.torch.solve` and `stratum.jax.solve` are the same under automatic differentiation.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from ._checks import expect_unmasked
from ._differentiable import Calculus, Stop, entries_of, refuse_matrix_data, solves_of
from ._matrix_solves import expect_matrix_data, matrix_solves_of
from ._multigrid import Multigrid
from ._problem import Problem

__all__ = ["Gradients", "MatrixGradients", "vjp"]


class Gradients(NamedTuple):
    """Of a function of u in f, kappa, reaction, boundaries and bodies, each with the shape of what it belongs to."""

    f: Any           # None of a function
    kappa: Any       # like kappa: a number, an array on the cells, or a tuple of these
    reaction: Any
    boundaries: dict[str, Any]  # of g; of all that are not periodic
    bodies: dict[int, Any]      # of g, k or r of bodies, by their numbers


class MatrixGradients(NamedTuple):
    """Gradients of a function of x, where A x = b: in b, of its shape, and in data, of shape (number of entries,)."""

    b: np.ndarray     # the shape of b
    data: np.ndarray  # of each entry of A, in the order of A.tocsr().data; entries (i, j) and (j, i) are independent


def vjp(problem: Problem[Any] | Multigrid, f: Any, *, kappa: Any = None, reaction: Any = None,
        boundaries: dict[str, Any] | None = None, bodies: dict[int, Any] | None = None, data: Any = None, rtol: float | None = None,
        maxiter: int = 100, on_failure: str = "warn", project: bool = False) -> tuple[np.ndarray, Callable[[Any], Any]]:
    """Solves, and returns (u, pullback). If u_bar is the gradient of a function in u, pullback(u_bar) is its gradient in the data.

    problem     a stratum.Poisson, stratum.Poisson3D, or stratum.Multigrid. Its hierarchy is used where its coefficients are, for u
                and for the gradient
    f           as of problem.solve: a number, an array at the nodes or on the cells, or a function; b of a matrix
    kappa, reaction, boundaries   in place of the problem's own. kappa and reaction: numbers or arrays on the cells, kappa also a
                tuple of them; a set-up for each new one. boundaries: {"left": g, ...}, g a number or an array at the nodes of that
                boundary; its kind and alpha stay
    bodies      in place of what the problem's bodies have, {0: g, ...} by their numbers: a number or an array at the nodes of
                "value", a number or an array on the cells of "k", a number of "contact". Their shapes stay
    data        other entries of the matrix, in the order of A.tocsr().data
    rtol        tolerance of both solves; 1e-10 if not given, or what rounding allows. maxiter, on_failure: as of problem.solve
    project     if the problem or the matrix is singular, subtracts the mean of the right-hand side

    u has all nodes, shape (ny + 1, nx + 1) or (nz + 1, ny + 1, nx + 1), and so has u_bar; u_bar at Dirichlet nodes belongs to
    their values. pullback returns Gradients, of a matrix MatrixGradients; it costs one more solve, and no matrix is assembled.
    Raises ValueError and TypeError for data that do not fit, ConvergenceError as solves do.

    >>> import numpy as np, stratum
    >>> problem = stratum.Poisson(stratum.mesh(cells=(32, 32)))
    >>> k = np.ones((32, 32))
    >>> u, pullback = stratum.gradients.vjp(problem, 1.0, kappa=k)
    >>> gradients = pullback(np.ones_like(u))          # of the sum of u
    >>> gradients.kappa.shape, bool((gradients.kappa < 0).all())
    ((32, 32), True)
    >>> bool(abs(gradients.kappa.sum() + u.sum()) < 1e-8 * u.sum())     # u is proportional to 1 / kappa
    True

    Of a matrix, with x and b of shape (n,):

    >>> import scipy.sparse as sp
    >>> A = sp.kronsum(*[sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20, 20))] * 2, format="csr")
    >>> x, pullback = stratum.gradients.vjp(stratum.Multigrid(A), np.ones(400))
    >>> gradients = pullback(np.ones(400))             # of the sum of x
    >>> gradients.b.shape, gradients.data.shape == A.data.shape
    ((400,), True)
    """
    stop = Stop.of(rtol, maxiter, on_failure, project)
    if isinstance(problem, Multigrid):
        expect_matrix_data(kappa, reaction, boundaries, bodies)
        return _of_matrix(problem, f, data, stop)
    if not isinstance(problem, Problem):
        raise TypeError("a problem is a stratum.Poisson, stratum.Poisson3D or stratum.Multigrid; given is "
                        f"{type(problem).__name__}")
    if data is not None:
        refuse_matrix_data()
    return _of_problem(problem, f, kappa, reaction, boundaries, bodies, stop)


def _array(what: str, given: Any) -> np.ndarray:
    expect_unmasked(what, given)
    array = np.asarray(given)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{what} is real numbers; given is {array.dtype if array.dtype.kind != 'O' else type(given).__name__}")
    array = np.array(array, dtype=np.float64)  # of its own: pullback comes later
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite")
    return array


def _of_problem(problem: Problem[Any], f: Any, kappa: Any, reaction: Any, boundaries: dict[str, Any] | None,
                bodies: dict[int, Any] | None, stop: Stop) -> tuple[np.ndarray, Callable[[Any], Gradients]]:
    solves = solves_of(problem)
    calculus = solves.numpy()
    load, entries, k, c, g = calculus.data(_array, f, kappa, reaction, boundaries, bodies)
    # Their own arrays: pullback comes later.
    own_entries, own_kappa = (solves.entries, solves.kappa) if kappa is None else entries_of(kappa, solves.axes)
    own_kappa = [_array("kappa", one) for one in own_kappa]
    values = [np.array(one) for one in solves.own_body_values()]
    for number, value in (bodies or {}).items():
        values[number] = _array(f"bodies[{number}]", value)
    for number, kind in enumerate(solves.bodies.kinds if solves.bodies else ()):
        if kind == "contact" and values[number] < 0:
            raise ValueError(f"bodies[{number}] has the resistance {values[number]}; it must not be negative")
    c_shape, f_shape = np.shape(solves.reaction if reaction is None else reaction), None if callable(f) else np.shape(f)
    are_numbers = {name: np.ndim((boundaries or {}).get(name, g)) == 0 for name, (_, g, _) in solves.sides.items()}
    u = solves.solve(stop, load, entries, k, c, g, own_values=g is None)

    def pullback(u_bar: Any) -> Gradients:
        u_bar = np.array(u_bar) if solves.bodies is not None else u_bar
        if solves.bodies is not None and u_bar.shape == u.shape:
            u_bar[solves.bodies.inactive] = 0  # where there is no u
        u_bar = _array("u_bar", u_bar)
        if u_bar.shape != u.shape:
            raise ValueError(f"u_bar has the shape of u, {u.shape}; given is {u_bar.shape}")
        loads_bar = calculus.balanced(u_bar) if solves.is_singular(c) else u_bar
        adjoint = solves.solve(stop._replace(project=True), loads_bar, entries, k, c, None, own_values=False)
        of_bodies: dict[int, Any] = {}
        if solves.bodies is not None and solves.bodies.has_materials:
            places = [[place] for of_one in own_entries for place in of_one]
            bars, c_bar = calculus.derivatives(adjoint, u, places)
            kappa_bar, of_bodies = solves.bodies.materials_pullback(own_entries, own_kappa, values, bars)
        else:
            kappa_bar, c_bar = calculus.derivatives(adjoint, u, own_entries)
        kappa_bar = [_summed(bar, one.shape) for bar, one in zip(kappa_bar, own_kappa)]
        of_values = np.array(calculus.value_gradient(u_bar, adjoint, entries, k, c)) if solves.is_given.any() else np.zeros(u.shape)
        if solves.bodies is not None:
            of_bodies |= solves.bodies.on_nodes_pullback(of_values)
        return Gradients(None if f_shape is None else _f_gradient(calculus, f_shape, adjoint),
                         kappa_bar[0] if len(kappa_bar) == 1 else tuple(kappa_bar), _summed(c_bar, c_shape),
                         _boundary_gradients(calculus, of_values, adjoint, are_numbers),
                         {number: _summed(of_bodies[number], values[number].shape) for number in sorted(of_bodies)})

    return np.array(calculus.shown(u)), pullback


def _summed(bar: np.ndarray, shape: tuple[int, ...]) -> Any:
    """A gradient by cells of a coefficient of this shape, some of whose axes are one long."""
    if shape == ():
        return float(bar.sum())
    axes = tuple(d for d, n in enumerate(shape) if n == 1 and bar.shape[d] != 1)
    return bar.sum(axis=axes, keepdims=True) if axes else bar


def _f_gradient(calculus: Calculus, shape: tuple[int, ...], adjoint: np.ndarray) -> Any:
    if shape == ():
        return float((calculus.ones_load * adjoint).sum())
    if shape == adjoint.shape:
        return calculus.elements.mass(adjoint)
    means = calculus.elements._corners(adjoint)[(False,) * adjoint.ndim]
    return calculus.elements.volume * means


def _boundary_gradients(calculus: Calculus, of_values: np.ndarray, adjoint: np.ndarray,
                        are_numbers: dict[str, bool]) -> dict[str, Any]:
    solves, at_dirichlet = calculus.solves, of_values.copy()
    for d in solves.periodic:
        at_dirichlet[solves._end(d, 0)] += at_dirichlet[solves._end(d, -1)]
        at_dirichlet[solves._end(d, -1)] = 0
    found = {}
    for name in solves.names:
        kind = solves.sides[name][0]
        if kind == "periodic":
            continue
        if kind == "dirichlet":
            bar = (at_dirichlet * calculus._owned[name])[solves.at(name)]
        else:
            bar = calculus.side_mass(name, adjoint[solves.at(name)])
        found[name] = float(bar.sum()) if are_numbers[name] else bar
    return found


def _of_matrix(ml: Multigrid, b: Any, data: Any, stop: Stop) -> tuple[np.ndarray, Callable[[Any], MatrixGradients]]:
    solves = matrix_solves_of(ml)
    b = _array("b", b)
    if b.shape not in (ml.shape[:1], ml.grid):
        raise ValueError(f"b has shape {ml.shape[:1]} or {ml.grid}; given is {b.shape}")
    ml._expect_order(b.shape, "b")
    if data is not None:
        data = _array("data", data)
        if data.shape != solves.data.shape:
            raise ValueError(f"data has shape {solves.data.shape}, one number for each entry of A; given is {data.shape}")
    x = solves.solve(stop, data, b.reshape(-1), False)

    def pullback(x_bar: Any) -> MatrixGradients:
        x_bar = _array("x_bar", x_bar)
        if x_bar.shape != b.shape:
            raise ValueError(f"x_bar has the shape of x, {b.shape}; given is {x_bar.shape}")
        adjoint = solves.solve(stop, data, solves.balanced(x_bar.reshape(-1)), True)
        return MatrixGradients(adjoint.reshape(b.shape), -adjoint[solves.row] * x[solves.column])

    return x.reshape(b.shape).copy(), pullback
