"""Solves for JAX: jit, grad, jvp, vmap and what is made of them, to any order.

    u = stratum.jax.solve(problem, f, kappa=k)       of a stratum.Poisson, stratum.Poisson3D or a mesh
    x = stratum.jax.solve(ml, b)                     of a stratum.Multigrid

Solves run on the host, called back from compiled code (jax.pure_callback); everything else is JAX's own. They are in double,
whatever the arrays are.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._differentiable import Calculus, MatrixSolves, Solves, Stop, as_problem, expect_matrix_data, matrix_solves_of, solves_of
from ._multigrid import Multigrid
from ._problem import Problem
from ._report import check_on_failure

__all__ = ["solve"]


def solve(problem: Any, f: Any, *, kappa: Any = None, reaction: Any = None, boundaries: dict[str, Any] | None = None,
          data: Any = None, rtol: float | None = None, maxiter: int = 100, on_failure: str = "warn",
          project: bool = False) -> jax.Array:
    """u at all nodes, or x, as an array that is differentiable in every array that is given.

    problem     a stratum.Poisson or stratum.Poisson3D, a mesh (u = 0 on its boundary, K = 1) or what makes one; or a
                stratum.Multigrid. It is no argument of jit, but closed over
    f           a number, or an array at the nodes, (ny + 1, nx + 1), or on the cells, (ny, nx); in a box (nz + 1, ...). Axes before
                these are a batch, and u has them. b of a matrix: (n,) or (k, n), the batch first
    kappa, reaction   in place of the problem's own: numbers or arrays on the cells; kappa also a tuple of them, (kxx, kyy) or
                (kxx, kxy, kyy), in a box (kx, ky, kz). A set-up for each new one
    boundaries  {"left": g, ...} in place of the problem's own g: a number or an array at the nodes of that boundary
    data        entries of the matrix, in the order of A.tocsr().data
    rtol        tolerance of each solve; 1e-10 if not given, or what rounding allows. maxiter, on_failure, project: as of
                problem.solve

    u has the type of f: single precision unless JAX has double (jax_enable_x64) and f is. Raises ValueError and TypeError for data
    that do not fit; what the solver raises comes through JAX as its runtime error.

    >>> import jax, jax.numpy as jnp, stratum
    >>> problem = stratum.Poisson(stratum.mesh(cells=(64, 64)))
    >>> loss = lambda k: stratum.jax.solve(problem, 1.0, kappa=k).sum()
    >>> jax.jit(jax.grad(loss))(jnp.ones((64, 64))).shape
    (64, 64)
    """
    check_on_failure(on_failure)
    stop = Stop(rtol, maxiter, on_failure, project)
    if isinstance(problem, Multigrid):
        expect_matrix_data(kappa, reaction, boundaries)
        return _solve_matrix(problem, f, data, stop)
    if data is not None:
        raise TypeError("data are the entries of a matrix; a problem has kappa=, reaction= and boundaries=")
    return _solve_problem(as_problem(problem), f, kappa, reaction, boundaries, stop)


def _double() -> Any:
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    experimental: Any = jax.experimental  # of older ones
    return experimental.enable_x64()


def _array(what: str, given: Any) -> jax.Array:
    if not isinstance(given, jax.Array):
        given = np.asarray(given)
    if given.dtype.kind not in "iuf" and given.dtype != jnp.bfloat16:
        raise TypeError(f"{what} is real numbers; given is {given.dtype}")
    return jnp.asarray(given).astype(jnp.float64)


def _result_type(*given: Any) -> Any:
    """Of f where it is a floating array, else of the first other one, else JAX's own."""
    for one in given:
        for array in one if isinstance(one, (tuple, list)) else (one,):
            if isinstance(array, (jax.Array, np.ndarray)) and jnp.issubdtype(array.dtype, jnp.floating):
                return jax.dtypes.canonicalize_dtype(array.dtype)
    return jax.dtypes.canonicalize_dtype(np.float64)


def _on_host(call: Any, shape: tuple[int, ...], *given: Any) -> jax.Array:
    """call(arrays of NumPy, or None) in double. Where JAX has single precision alone (no jax_enable_x64), callbacks have it too:
    so numbers pass as pairs of integers.
    """

    def called(*bits: Any) -> np.ndarray:
        numbers = [None if a is None else np.ascontiguousarray(a).view(np.float64)[..., 0] for a in bits]
        return np.ascontiguousarray(call(*numbers))[..., None].view(np.uint32)

    bits = [None if a is None else jax.lax.bitcast_convert_type(a, jnp.uint32) for a in given]
    result = jax.pure_callback(called, jax.ShapeDtypeStruct((*shape, 2), np.uint32), *bits, vmap_method="expand_dims")
    return jax.lax.bitcast_convert_type(result, jnp.float64)


class _Operator:
    """What a solve does with arrays of JAX, in double; hashed by itself, as jit asks."""

    def __init__(self, solves: Solves) -> None:
        self.solves = solves
        self.calculus = Calculus(solves, jnp, np.asarray)  # constants are NumPy's, of no trace
        unknown = ~solves.is_dirichlet
        for d in solves.periodic:
            unknown[solves._end(d, -1)] = False
        self.unknown = unknown.astype(float)

    def call(self, stop: Stop, entries: Any, own_values: bool, load: Any, c: Any, g: Any, k: Any) -> Any:
        axes = self.solves.axes
        batch = np.broadcast_shapes(*(a.shape[:-axes] for a in (load, c, g, *k) if a is not None))
        return _on_host(lambda load, c, g, *k: self.solves.solve(stop, load, entries, k, c, g, own_values),
                        batch + self.solves.mesh.shape, load, c, g, *k)

    def folded(self, v: Any) -> Any:
        """What belongs to the last nodes of periodic axes, added to the first ones."""
        for d in self.solves.periodic:
            v = v + self._moved(v, d, -1, 0)
        return v * self.unknown

    def unfolded(self, v: Any) -> Any:
        for d in self.solves.periodic:
            v = v + self._moved(v, d, 0, -1)
        return v

    def _moved(self, v: Any, d: int, of: int, to: int) -> Any:
        mask = np.zeros(self.solves.mesh.shape)
        mask[self.solves._end(d, to)] = 1
        return v[(Ellipsis, *self.solves._end(d, slice(of, None) if of == -1 else slice(0, 1)))] * mask

    def inverse(self, stop: Stop, entries: Any, load: Any, c: Any, k: Any) -> Any:
        """u of these loads and zero boundary data, by a solve that JAX knows to be symmetric and linear in the loads."""

        def matvec(v: Any) -> Any:
            v = v * self.unknown
            return self.folded(self.calculus.apply(self.unfolded(v), entries, k, c)) + (1 - self.unknown) * v

        def solve(_: Any, b: Any) -> Any:
            return self.call(stop._replace(project=True), entries, False, b * self.unknown, c, None, k) * self.unknown

        return self.unfolded(jax.lax.custom_linear_solve(matvec, self.folded(load), solve, symmetric=True))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3))
def _solution(operator: _Operator, stop: Stop, entries: Any, own_values: bool, load: Any, c: Any, g: Any, k: Any) -> Any:
    return operator.call(stop, entries, own_values, load, c, g, k)


@_solution.defjvp
def _solution_jvp(operator: _Operator, stop: Stop, entries: Any, own_values: bool, primals: Any, tangents: Any) -> Any:
    load, c, g, k = primals
    load_dot, c_dot, g_dot, k_dot = tangents
    calculus = operator.calculus
    u = _solution(operator, stop, entries, own_values, load, c, g, k)
    changed = {place: one for places, one in zip(entries, k_dot) if one is not None for place in places}
    if c is not None:
        changed[None] = c_dot
    residual = load_dot
    if changed:
        residual = residual - calculus.elements.apply(u, changed)
    if g is not None:
        residual = residual - calculus.apply(g_dot, entries, k, c)
    u_dot = operator.inverse(stop, entries, residual, c, k)
    return u, u_dot if g is None else u_dot + g_dot


def _solve_problem(problem: Problem[Any], f: Any, kappa: Any, reaction: Any, boundaries: dict[str, Any] | None,
                   stop: Stop) -> jax.Array:
    solves = solves_of(problem)
    operator: _Operator = solves.calculus("jax", lambda: _Operator(solves))
    with _double():
        load, entries, k, c, g = operator.calculus.data(_array, f, kappa, reaction, boundaries)
        u = _solution(operator, stop, tuple(map(tuple, entries)), boundaries is None, load, c, g, k)
    return u.astype(_result_type(f, kappa, reaction, *(boundaries or {}).values()))


def _solve_matrix(ml: Multigrid, b: Any, data: Any, stop: Stop) -> jax.Array:
    solves, dtype = matrix_solves_of(ml), _result_type(b, data)
    with _double():
        b, data = _array("b", b), None if data is None else _array("data", data)
        solves.expect_shapes(b, data)
        return _matrix_solution(solves, stop, b, data).astype(dtype)


def _matrix_solution(solves: MatrixSolves, stop: Stop, b: Any, data: Any) -> Any:
    entries = solves.data if data is None else data

    def matvec(x: Any) -> Any:
        return jnp.zeros_like(x).at[..., solves.row].add(entries * x[..., solves.column])

    def by(transposed: bool) -> Any:
        def solve(_: Any, b: Any) -> Any:
            return _on_host(lambda b, data: solves.solve(stop, data, b, transposed), b.shape,
                            solves.balanced(b) if transposed else b, data)

        return solve

    return jax.lax.custom_linear_solve(matvec, b, by(False), by(True))
