"""Solves for JAX: jit, grad, jvp, vmap and what is made of them, to any order.

    u = stratum.jax.solve(problem, f, kappa=k)       of a stratum.Poisson, stratum.Poisson3D or a mesh
    x = stratum.jax.solve(ml, b)                     of a stratum.Multigrid

On a GPU compiled code calls solves by XLA's foreign functions, with arrays where they lie, if jaxlib was there when the package
was built; else by jax.pure_callback, on the host. Everything else is JAX's own. Solves are in double, whatever the arrays are.
"""

from __future__ import annotations

import functools
import itertools
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _stratum
from ._differentiable import Calculus, Solves, Stop, as_problem, refuse_matrix_data, solves_of
from ._matrix_solves import MatrixSolves, expect_matrix_data, matrix_solves_of
from ._multigrid import Multigrid
from ._problem import Problem
from ._report import judge

__all__ = ["forget", "solve"]


def solve(problem: Any, f: Any, *, kappa: Any = None, reaction: Any = None, boundaries: dict[str, Any] | None = None,
          bodies: dict[int, Any] | None = None, data: Any = None, rtol: float | None = None, maxiter: int = 100,
          on_failure: str = "warn", project: bool = False) -> jax.Array:
    """u at all nodes, or x, as an array that is differentiable in every array that is given.

    problem     a stratum.Poisson or stratum.Poisson3D, a mesh (u = 0 on its boundary, K = 1) or what makes one; or a
                stratum.Multigrid. It is no argument of jit, but closed over
    f           a number, or an array at the nodes, (ny + 1, nx + 1), or on the cells, (ny, nx); in a box (nz + 1, ...). Axes before
                these are a batch, and u has them. b of a matrix: (n,) or (k, n), the batch first
    kappa, reaction   in place of the problem's own: numbers or arrays on the cells; kappa also a tuple of them, (kxx, kyy) or
                (kxx, kxy, kyy), in a box (kx, ky, kz). A set-up for each new one
    boundaries  {"left": g, ...} in place of the problem's own g: a number or an array at the nodes of that boundary
    bodies      {0: g, ...} in place of what the problem's bodies have, by their numbers: a number or an array at the nodes of
                "value", a number or an array on the cells of "k", a number of "contact"
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
    stop = Stop.of(rtol, maxiter, on_failure, project)
    if isinstance(problem, Multigrid):
        expect_matrix_data(kappa, reaction, boundaries, bodies)
        return _solve_matrix(problem, f, data, stop)
    if data is not None:
        refuse_matrix_data()
    return _solve_problem(as_problem(problem), f, kappa, reaction, boundaries, bodies, stop)


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


class _OfXla:
    """An array in the memory of a GPU, used once."""

    def __init__(self, given: tuple[Any, tuple[int, ...]]) -> None:
        self.capsule, self.shape = given

    def on_host(self) -> np.ndarray:
        copied: np.ndarray = getattr(_stratum, "host_copy")(self.capsule)  # not of every build
        return copied.reshape(self.shape)


#: What compiled code calls by XLA's foreign functions, on(gpu, arrays in double). Nobody tells when the code is gone.
_calls: dict[int, Any] = {}
_numbers = itertools.count()
_one_at_a_time = threading.RLock()  # XLA calls from several threads, and solvers of a problem are the same


def forget() -> None:
    """Lets go of all problems and matrices that compiled functions have solved with, which live on otherwise. Functions that were
    compiled before have to be compiled again: jax.clear_caches() sees to that.
    """
    _calls.clear()


def _registered() -> bool:
    """Whether this build has the handlers that XLA calls; they are given to it once."""
    handlers = getattr(_stratum, "xla_handlers", None)
    if handlers is None or not hasattr(jax, "ffi"):
        return False
    for platform, handler in handlers().items():
        jax.ffi.register_ffi_target("stratum_call", handler, platform=platform)
    return True


_has_handlers = _registered()


def _by_handlers() -> bool:
    """On a GPU; on a CPU a callback costs little, and JAX waits for it before it returns to who may use the problem at once."""
    return _has_handlers and jax.default_backend() == "gpu"


def _called(number: int, on_gpu: bool, arrays: list[Any]) -> Any:
    if number not in _calls:
        raise RuntimeError("the problem that this function was compiled with is forgotten; compile it again (jax.clear_caches())")
    with _one_at_a_time:
        return _calls[number](on_gpu, arrays)


def _from_xla(kept: dict[Any, Any], key: Any, on: Any, shape: tuple[int, ...], *given: Any) -> jax.Array:
    """on(gpu, arrays, None where None is given) from compiled code; `kept` belongs to what is solved."""
    here = [k for k, a in enumerate(given) if a is not None]

    def with_gaps(on_gpu: bool, arrays: list[Any]) -> Any:
        every: list[Any] = [None] * len(given)
        for k, array in zip(here, arrays):
            every[k] = array
        return on(on_gpu, every)

    key = ("call", key, tuple(here))
    if kept.get(key) not in _calls:
        kept[key] = next(_numbers)
        _calls[kept[key]] = with_gaps
    result = jax.ShapeDtypeStruct(shape, np.float64)
    found: jax.Array = jax.ffi.ffi_call("stratum_call", result, vmap_method="expand_dims")(
        *(given[k] for k in here), number=np.int64(kept[key]))
    return found


class _Operator:
    """What a solve does with arrays of JAX, in double; hashed by itself, as jit asks."""

    def __init__(self, solves: Solves) -> None:
        self.solves = solves
        self.calculus = Calculus(solves, jnp, np.asarray)  # constants are NumPy's, of no trace
        self.calls: dict[Any, Any] = {}
        unknown = ~solves.is_given if solves.bodies is None else ~(solves.is_given | solves.bodies.inactive)
        for d in solves.periodic:
            unknown[solves._end(d, -1)] = False
        self.unknown = unknown.astype(float)

    def call(self, stop: Stop, entries: Any, own_values: bool, load: Any, c: Any, g: Any, k: Any) -> Any:
        axes = self.solves.axes
        batch = np.broadcast_shapes(*(a.shape[:-axes] for a in (load, c, g, *k) if a is not None))
        shape = batch + self.solves.mesh.shape
        if not _by_handlers():
            return _on_host(lambda load, c, g, *k: self.solves.solve(stop, load, entries, k, c, g, own_values), shape, load, c, g, *k)
        return _from_xla(self.calls, (stop, entries, own_values), functools.partial(self.from_xla, stop, entries, own_values), shape,
                         load, c, g, *k)

    def from_xla(self, stop: Stop, entries: Any, own_values: bool, on_gpu: bool, arrays: list[Any]) -> Any:
        solves = self.solves
        if not on_gpu:
            load, c, g, *k = arrays
            return solves.solve(stop, load, entries, tuple(k), c, g, own_values)
        there: list[Any] = [None if a is None else _OfXla(a) for a in arrays]
        if not solves.takes_loads_on_device or any(a is not None and len(a.shape) > solves.axes for a in there):
            there = [None if a is None else a.on_host() for a in there]
            return solves.solve(stop, there[0], entries, tuple(there[3:]), there[1], there[2], own_values)
        load = there[0].capsule
        c, g, *k = (None if a is None else a.on_host() for a in there[1:])
        u, report = solves.system_of(entries, tuple(k), c, None)._system.solve_on_device(
            load, stop.tolerance, 0.0, stop.maxiter, None, stop.project, None, solves.values(g, own_values, np.asarray))
        judge(report, None, stop.on_failure, stop.rtol is not None)
        return u

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


def _in_double(rule: Any) -> Any:
    """Of loops JAX takes rules later, outside of what `solve` does in double."""

    @functools.wraps(rule)
    def called(*given: Any) -> Any:
        with _double():
            return rule(*given)

    return called


@_solution.defjvp
@_in_double
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
                   bodies: dict[int, Any] | None, stop: Stop) -> jax.Array:
    solves = solves_of(problem)
    operator: _Operator = solves.calculus("jax", lambda: _Operator(solves))
    with _double():
        load, entries, k, c, g = operator.calculus.data(_array, f, kappa, reaction, boundaries, bodies)
        u = operator.calculus.shown(_solution(operator, stop, tuple(map(tuple, entries)), g is None, load, c, g, k))
    return u.astype(_result_type(f, kappa, reaction, *(boundaries or {}).values(), *(bodies or {}).values()))


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
            b = solves.balanced(b) if transposed else b
            if not _by_handlers():
                return _on_host(lambda b, data: solves.solve(stop, data, b, transposed), b.shape, b, data)
            return _from_xla(solves.calls, (stop, transposed), functools.partial(_matrix_from_xla, solves, stop, transposed), b.shape,
                             b, data)

        return solve

    return jax.lax.custom_linear_solve(matvec, b, by(False), by(True))


def _matrix_from_xla(solves: MatrixSolves, stop: Stop, transposed: bool, on_gpu: bool, arrays: list[Any]) -> Any:
    b: Any = arrays[0]
    data: Any = arrays[1]
    if not on_gpu:
        return solves.solve(stop, data, b, transposed)
    b, data = _OfXla(b), None if data is None else _OfXla(data).on_host()
    if solves.ml.device != "cuda" or len(b.shape) > 1 or np.ndim(data) > 1:
        return solves.solve(stop, data, b.on_host(), transposed)
    x, report = solves.system(data, transposed)._own.solve_on_device(b.capsule, None, stop.tolerance, 0.0, stop.maxiter, None)
    judge(report, None, stop.on_failure, stop.rtol is not None)
    return x
