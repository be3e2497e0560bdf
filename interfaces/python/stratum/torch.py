"""Solves for PyTorch, under its automatic differentiation.

    u = stratum.torch.solve(problem, f, kappa=k)       of a stratum.Poisson, stratum.Poisson3D or a mesh
    x = stratum.torch.solve(A, b)                      of a stratum.Multigrid or a sparse tensor

A gradient costs one more solve with the same hierarchy; gradients of gradients work. Solves are in double, whatever the tensors
are; what comes back has the type and the device of f.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._differentiable import Calculus, Solves, Stop, as_problem, refuse_matrix_data, solves_of
from ._matrix_solves import MatrixSolves, expect_matrix_data, matrix_solves_of
from ._multigrid import Multigrid
from ._problem import Problem

__all__ = ["solve"]


def solve(problem: Any, f: Any, *, kappa: Any = None, reaction: Any = None, boundaries: dict[str, Any] | None = None,
          bodies: dict[int, Any] | None = None, data: Any = None, shape: tuple[int, int] | None = None, rtol: float | None = None, maxiter: int = 100,
          on_failure: str = "warn", project: bool = False) -> torch.Tensor:
    """u at all nodes, or x, as a tensor that is differentiable in every tensor that is given.

    problem     a stratum.Poisson or stratum.Poisson3D, a mesh (u = 0 on its boundary, K = 1) or what makes one; a
                stratum.Multigrid, or a square sparse tensor in COO or CSR, whose values are differentiated
    f           a number, or a tensor at the nodes, (ny + 1, nx + 1), or on the cells, (ny, nx); in a box (nz + 1, ...). Axes before
                these are a batch, and u has them. b of a matrix: (n,) or (k, n), the batch first
    kappa, reaction   in place of the problem's own: numbers or tensors on the cells; kappa also a tuple of them, (kxx, kyy) or
                (kxx, kxy, kyy), in a box (kx, ky, kz). A set-up for each new one
    boundaries  {"left": g, ...} in place of the problem's own g: a number or a tensor at the nodes of that boundary
    bodies      {0: g, ...} in place of what the problem's bodies have, by their numbers: a number or a tensor at the nodes of
                "value", a number or a tensor on the cells of "k", a number of "contact"
    data        entries of the stratum.Multigrid's matrix, in the order of A.tocsr().data
    shape       (ny, nx) of a sparse tensor, where its diagonals do not show it
    rtol        tolerance of each solve; 1e-10 if not given, or what rounding allows. maxiter, on_failure, project: as of
                problem.solve

    With a stratum.Poisson or stratum.Multigrid on device="cuda", f, b and solutions of tensors on the GPU stay there, and gradients
    are formed there; a new K goes through the host once. Other tensors on a GPU are copied to the host, and the solution back.
    Raises ValueError and TypeError for data that do not fit, ConvergenceError as the solvers do.

    >>> import stratum, torch
    >>> problem = stratum.Poisson(stratum.mesh(cells=(64, 64)))
    >>> k = torch.ones(64, 64, requires_grad=True)
    >>> stratum.torch.solve(problem, 1.0, kappa=k).sum().backward()
    >>> k.grad.shape
    torch.Size([64, 64])
    """
    stop = Stop.of(rtol, maxiter, on_failure, project)
    if isinstance(problem, Multigrid) or (isinstance(problem, torch.Tensor) and problem.layout != torch.strided):
        expect_matrix_data(kappa, reaction, boundaries, bodies)
        return _solve_matrix(problem, f, data, shape, stop)
    if data is not None or shape is not None:
        refuse_matrix_data()
    return _solve_problem(as_problem(problem), f, kappa, reaction, boundaries, bodies, stop)


def _tensor(what: str, given: Any, device: Any) -> torch.Tensor:
    """In double, on a device; differentiable in what was given."""
    if not isinstance(given, torch.Tensor) and np.asarray(given).dtype.kind not in "buif":
        raise TypeError(f"{what} is real numbers; given is {given!r}")
    tensor = given if isinstance(given, torch.Tensor) else torch.as_tensor(np.asarray(given))
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{what} is real numbers; given is {tensor.dtype}")
    return tensor.to(device=device, dtype=torch.float64)


def _numpy(tensor: torch.Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().cpu().numpy()


def _result_type(*given: Any) -> tuple[torch.dtype, torch.device]:
    """Of the result: that of f where it is a floating tensor, else of the first other one, else torch's default."""
    for one in given:
        for tensor in one if isinstance(one, (tuple, list)) else (one,):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                return tensor.dtype, tensor.device
    return torch.get_default_dtype(), torch.device("cpu")


def _calculus(solves: Solves, device: torch.device) -> Calculus:
    def constant(a: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.array(a), dtype=torch.float64, device=device)

    return solves.calculus(("torch", str(device)), lambda: Calculus(solves, torch, constant))  # type: ignore[no-any-return]


def _solve_problem(problem: Problem[Any], f: Any, kappa: Any, reaction: Any, boundaries: dict[str, Any] | None,
                   bodies: dict[int, Any] | None, stop: Stop) -> torch.Tensor:
    solves = solves_of(problem)
    by_name = [one for values in (boundaries, bodies) if isinstance(values, dict) for one in values.values()]
    dtype, device = _result_type(f, kappa, reaction, *by_name)
    calculus = _calculus(solves, device)
    load, entries, k, c, g = calculus.data(lambda what, given: _tensor(what, given, device), f, kappa, reaction, boundaries, bodies)
    u = _Solve.apply(calculus, stop, entries, g is None, {}, load, c, g, *k)
    return calculus.shown(u).to(dtype)  # type: ignore[no-any-return]


def _on_device(solves: Solves, stop: Stop, entries: Any, own_values: bool, kept: dict[str, Any] | None, load: torch.Tensor, c: Any,
               g: Any, k: Any) -> torch.Tensor:
    """Solves.solve of a load on a GPU. `kept`: the system of K and c, which a gradient takes without looking at them again."""
    axes = solves.axes
    batch_of = lambda *arrays: torch.broadcast_shapes(*(tuple(a.shape[:-axes]) for a in arrays if a is not None))
    batch, several = batch_of(load, c, g, *k), batch_of(c, *k) != ()

    def of(a: Any, i: tuple[int, ...]) -> Any:
        return None if a is None else a.broadcast_to((*batch, *a.shape[-axes:]))[i]

    def system(*data: Any) -> Problem[Any]:
        return _system_of_tensors(solves, entries, data)

    if several:
        kept = {}
    elif kept is None or "system" not in kept:
        kept = {} if kept is None else kept
        kept["system"] = system(c, *k)
    load, u = load.detach(), torch.empty((*batch, *solves.mesh.shape), dtype=torch.float64, device=load.device)
    for i in np.ndindex(*batch):
        own = system(*(of(a, i) for a in (c, *k))) if several else kept["system"]
        u[i] = solves.solve_on_device(stop, own, of(load, i), solves.values(of(g, i), own_values, _numpy))
    return u


def _system_of_tensors(solves: Solves, entries: Any, data: tuple[Any, ...]) -> Problem[Any]:
    """Of c and K on a GPU, compared there with those of the latest two systems, so that they go to the host for a set-up alone."""

    def same(a: Any, b: Any) -> bool:
        return a is b if a is None or b is None else a.shape == b.shape and a.device == b.device and torch.equal(a, b)

    for n, (of, tensors, system) in enumerate(solves.of_tensors):
        if of == entries and len(tensors) == len(data) and all(map(same, tensors, data)):
            solves.of_tensors.insert(0, solves.of_tensors.pop(n))
            return system  # type: ignore[no-any-return]
    c, *k = map(_numpy, data)
    made = solves.system_of(entries, tuple(k), c, None)
    solves.of_tensors.insert(0, (entries, tuple(a if a is None else a.detach().clone() for a in data), made))
    del solves.of_tensors[2:]
    return made


class _Solve(torch.autograd.Function):
    """Loads, c, g at Dirichlet nodes and K in, u at all nodes out, all in double. Its gradient is made of operations that have
    gradients themselves, the adjoint solve among them.
    """

    @staticmethod
    def forward(calculus: Calculus, stop: Stop, entries: Any, own_values: bool, kept: Any, load: Any, c: Any, g: Any,
                *k: Any) -> torch.Tensor:
        if load.is_cuda and calculus.solves.takes_loads_on_device:
            return _on_device(calculus.solves, stop, entries, own_values, kept, load, c, g, k)
        u = calculus.solves.solve(stop, _numpy(load), entries, tuple(map(_numpy, k)), _numpy(c), _numpy(g), own_values)
        return torch.as_tensor(u, device=load.device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.calculus, ctx.stop, ctx.entries, _, ctx.kept, load, c, g, *k = inputs
        ctx.load_shape, ctx.g_shape = load.shape, None if g is None else g.shape
        ctx.save_for_backward(output, c, *k)

    @staticmethod
    def backward(ctx: Any, u_bar: torch.Tensor) -> Any:  # type: ignore[override]
        calculus, entries = ctx.calculus, ctx.entries
        u, c, *k = ctx.saved_tensors
        solves, stop = calculus.solves, ctx.stop._replace(project=True)
        loads_bar = calculus.balanced(u_bar) if solves.is_singular(c) else u_bar
        adjoint = _Solve.apply(calculus, stop, entries, False, ctx.kept, loads_bar, c, None, *k)
        load_bar = c_bar = g_bar = None
        k_bar: list[Any] = [None] * len(k)
        if ctx.needs_input_grad[5]:
            load_bar = adjoint.sum_to_size(ctx.load_shape)
        if any(ctx.needs_input_grad[n] for n in (6, *range(8, 8 + len(k)))):
            k_bar, c_bar = calculus.derivatives(adjoint, u, entries)
            k_bar = [bar.sum_to_size(one.shape) if one is not None else None for bar, one in zip(k_bar, k)]
            c_bar = c_bar.sum_to_size(c.shape) if c is not None else None
        if ctx.needs_input_grad[7]:
            g_bar = calculus.value_gradient(u_bar, adjoint, entries, tuple(k), c).sum_to_size(ctx.g_shape)
        return None, None, None, None, None, load_bar, c_bar, g_bar, *k_bar

    @staticmethod
    def vmap(info: Any, in_dims: Any, calculus: Calculus, stop: Stop, entries: Any, own_values: bool, _: Any, *tensors: Any) -> Any:
        return _Solve.apply(calculus, stop, entries, own_values, None, *_batched(tensors, in_dims[5:])), 0


def _batched(tensors: Any, dims: Any) -> list[Any]:
    """The axis of the batch first."""
    return [tensor if tensor is None or dim is None else tensor.movedim(dim, 0) for tensor, dim in zip(tensors, dims)]


def _solve_matrix(a: Any, b: Any, data: Any, shape: Any, stop: Stop) -> torch.Tensor:
    dtype, device = _result_type(b, data, a)
    if isinstance(a, Multigrid):
        solves = matrix_solves_of(a)
    else:
        if data is not None:
            raise TypeError("data are the entries of a stratum.Multigrid's matrix; a sparse tensor has its own")
        solves, data = _of_sparse(a, shape)
    b, data = _tensor("b", b, device), None if data is None else _tensor("data", data, device)
    solves.expect_shapes(b, data)
    return _SolveMatrix.apply(solves, stop, False, b, data).to(dtype)


def _of_sparse(a: torch.Tensor, shape: Any) -> tuple[MatrixSolves, torch.Tensor]:
    """The solver, and the values as a tensor with gradients, in the order of the solver."""
    from scipy.sparse import csr_array

    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"a matrix is square; given is shape {tuple(a.shape)}")
    if a.layout == torch.sparse_coo:
        a = a.coalesce()
        row, column = _numpy(a.indices())
        start = np.searchsorted(row, np.arange(a.shape[0] + 1))  # coalesced ones are in order
    elif a.layout == torch.sparse_csr:
        start, column = _numpy(a.crow_indices()), _numpy(a.col_indices())
    else:
        raise TypeError(f"a sparse tensor is in COO or CSR; given is {a.layout}")
    values = a.values()
    matrix: Any = csr_array((_numpy(values).astype(np.float64), column, start), shape=(a.shape[0], a.shape[1]))
    return MatrixSolves(Multigrid(matrix, shape)), values


class _SolveMatrix(torch.autograd.Function):
    @staticmethod
    def forward(solves: MatrixSolves, stop: Stop, transposed: bool, b: torch.Tensor, data: Any) -> torch.Tensor:
        if b.is_cuda and solves.ml.device == "cuda" and (data is None or data.ndim == 1):
            system = solves.system(_numpy(data), transposed)
            rows = b.detach().reshape(-1, b.shape[-1])
            return torch.stack([solves.one(stop, system, row.contiguous()) for row in rows]).reshape(b.shape)
        return torch.as_tensor(solves.solve(stop, _numpy(data), _numpy(b), transposed), device=b.device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.solves, ctx.stop, ctx.transposed, b, data = inputs
        ctx.b_shape = b.shape
        ctx.save_for_backward(output, data)

    @staticmethod
    def backward(ctx: Any, x_bar: torch.Tensor) -> Any:  # type: ignore[override]
        x, data = ctx.saved_tensors
        solves = ctx.solves
        adjoint = _SolveMatrix.apply(solves, ctx.stop, not ctx.transposed, solves.balanced(x_bar), data)
        data_bar = None
        if data is not None and ctx.needs_input_grad[4]:
            places = (solves.column, solves.row) if ctx.transposed else (solves.row, solves.column)
            row, column = (solves.kept((x.device, index is solves.row), lambda index=index: torch.as_tensor(
                np.asarray(index, dtype=np.int64), device=x.device)) for index in places)
            data_bar = (-adjoint[..., row] * x[..., column]).sum_to_size(data.shape)
        return None, None, None, adjoint.sum_to_size(ctx.b_shape), data_bar

    @staticmethod
    def vmap(info: Any, in_dims: Any, solves: MatrixSolves, stop: Stop, transposed: bool, *tensors: Any) -> Any:
        return _SolveMatrix.apply(solves, stop, transposed, *_batched(tensors, in_dims[3:])), 0
