#!/usr/bin/env python3
"""Gradients beside other libraries: table_gradients.py [CELLS]

The problem is -div(K grad u) = 1 on a square with u = 0 on its boundary, bilinear elements, log K normally distributed in each
cell. Asked for is the gradient of the sum of u^2 in K. Seconds of processor time: the first call (set-up, and what is compiled),
and one more for another K; and the memory that both took above what was there before, in MiB (each library in a process of its
own). Libraries that are not installed are left out; those that know nothing of K get its derivative by hand, as their users do.
"""

import importlib.util
import io
import resource
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp
import stratum
from scipy.sparse.linalg import spsolve
from stratum._elements import Elements

RTOL = 1e-10


def assembled(n):
    """Rows, columns, values at K = 1 and cells of the entries that make up A, and how many unknowns there are."""
    line = np.array([[1.0, -1], [-1, 1]])
    mass = np.array([[2.0, 1], [1, 2]]) / 6
    element = np.kron(mass, line) + np.kron(line, mass)
    node = np.full((n + 1, n + 1), -1)
    node[1:-1, 1:-1] = np.arange((n - 1) ** 2).reshape(n - 1, n - 1)
    corners = np.stack([node[:-1, :-1], node[:-1, 1:], node[1:, :-1], node[1:, 1:]], axis=-1).reshape(-1, 4)
    rows, columns = np.repeat(corners, 4, axis=1), np.tile(corners, (1, 4))
    values = np.tile(element.ravel(), (n * n, 1))
    cell = np.repeat(np.arange(n * n), 16)
    keep = (rows.ravel() >= 0) & (columns.ravel() >= 0)
    return rows.ravel()[keep], columns.ravel()[keep], values.ravel()[keep], cell[keep], (n - 1) ** 2


class ByHand:
    """A is assembled, and the derivative written down; `solver(A)` returns a function of b."""

    def __init__(self, n, solver):
        self.n, self.solver = n, solver
        self.rows, self.columns, self.values, self.cell, self.size = assembled(n)

    def __call__(self, k):
        a = sp.csr_array((self.values * k.ravel()[self.cell], (self.rows, self.columns)), shape=(self.size, self.size))
        solve = self.solver(a)
        u = solve(np.full(self.size, 1.0 / self.n ** 2))
        adjoint = solve(2 * u)
        return -np.bincount(self.cell, self.values * adjoint[self.rows] * u[self.columns], self.n ** 2).reshape(k.shape)


def in_numpy(n):
    problem = stratum.Poisson(stratum.mesh(cells=(n, n)), threads=1)

    def gradient(k):
        u, pullback = stratum.gradients.vjp(problem, 1.0, kappa=k)
        return pullback(2 * u).kappa

    return gradient


def in_torch(n):
    import torch

    torch.set_num_threads(1)
    problem = stratum.Poisson(stratum.mesh(cells=(n, n)), threads=1)

    def gradient(k):
        k = torch.tensor(k, requires_grad=True)
        (stratum.torch.solve(problem, 1.0, kappa=k) ** 2).sum().backward()
        return k.grad.numpy()

    return gradient


def jax_with_double():
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def in_jax(n):
    jax = jax_with_double()
    problem = stratum.Poisson(stratum.mesh(cells=(n, n)), threads=1)
    compiled = jax.jit(jax.grad(lambda k: (stratum.jax.solve(problem, 1.0, kappa=k) ** 2).sum()))
    return lambda k: np.asarray(compiled(k))


def matrix_free(n):
    """A v of JAX, of the interior nodes."""
    jax = jax_with_double()
    h = np.full(n, 1.0 / n)
    elements = Elements([h, h], jax.numpy, np.asarray)
    return jax, lambda k, v: elements.apply(jax.numpy.pad(v, 1), {(0, 0): k, (1, 1): k})[1:-1, 1:-1]


def diagonal_of(k):
    return (k[1:, 1:] + k[:-1, 1:] + k[1:, :-1] + k[:-1, :-1]) * 2 / 3


def by_jax_cg(n):
    jax, apply = matrix_free(n)
    b = np.full((n - 1, n - 1), 1.0 / n ** 2)

    def loss(k):
        diagonal = diagonal_of(k)
        u, _ = jax.scipy.sparse.linalg.cg(lambda v: apply(k, v), b, tol=RTOL, maxiter=20 * n, M=lambda r: r / diagonal)
        return (u ** 2).sum()

    compiled = jax.jit(jax.grad(loss))
    return lambda k: np.asarray(compiled(k))


def by_lineax(n):
    import lineax

    jax, apply = matrix_free(n)
    b = jax.numpy.full((n - 1, n - 1), 1.0 / n ** 2)

    def loss(k):
        of = lambda function: lineax.FunctionLinearOperator(function, b, lineax.positive_semidefinite_tag)
        diagonal = diagonal_of(jax.lax.stop_gradient(k))
        solver = lineax.CG(rtol=1e-8, atol=1e-12, max_steps=100 * n)
        solution = lineax.linear_solve(of(lambda v: apply(k, v)), b, solver, options={"preconditioner": of(lambda r: r / diagonal)})
        return (solution.value ** 2).sum()

    compiled = jax.jit(jax.grad(loss))
    return lambda k: np.asarray(compiled(k))


def by_solvax(n):
    import solvax

    jax, apply = matrix_free(n)
    b = jax.numpy.full((n - 1, n - 1), 1.0 / n ** 2)

    def loss(k):
        diagonal = diagonal_of(jax.lax.stop_gradient(k))
        cg = lambda matvec, b: solvax.pcg(matvec, b, precond=lambda r: r / diagonal, rtol=RTOL, max_steps=20 * n).x
        return (solvax.linear_solve(lambda v: apply(k, v), b, cg, transpose_matvec=lambda v: apply(k, v)) ** 2).sum()

    compiled = jax.jit(jax.grad(loss))
    return lambda k: np.asarray(compiled(k))


def of_pyamg(kind):
    import pyamg

    make = getattr(pyamg, kind)

    def solver(a):
        hierarchy = make(sp.csr_array(a))
        return lambda b: hierarchy.solve(b, tol=RTOL, accel="cg", maxiter=300)

    return solver


def by_amjax(n):
    """The hierarchy is PyAMG's and does not follow K under jit: it is set up for each K."""
    import pyamg
    from amjax import MultilevelSolver

    jax_with_double()

    def solver(a):
        hierarchy = MultilevelSolver.from_pyamg(pyamg.ruge_stuben_solver(sp.csr_matrix(a)))
        return lambda b: np.asarray(hierarchy.solve(b, tol=RTOL, maxiter=200, cycle="V"))

    return ByHand(n, solver)


METHODS = {
    "stratum.gradients.vjp": in_numpy,
    "stratum.torch.solve": in_torch,
    "stratum.jax.solve": in_jax,
    "PyAMG, Ruge-Stuben, by hand": lambda n: ByHand(n, of_pyamg("ruge_stuben_solver")),
    "PyAMG, smoothed aggregation, by hand": lambda n: ByHand(n, of_pyamg("smoothed_aggregation_solver")),
    "AMJax, Ruge-Stuben, by hand": by_amjax,
    "jax.scipy's cg, diagonal": by_jax_cg,
    "lineax.CG, diagonal": by_lineax,
    "solvax.pcg, diagonal": by_solvax,
    "SciPy's spsolve, by hand": lambda n: ByHand(n, lambda a: lambda b: spsolve(a.tocsc(), b)),
}


#: What a name takes to be there.
LIBRARIES = {"torch": "torch", "jax": "jax", "PyAMG": "pyamg", "AMJax": "amjax", "lineax": "lineax", "solvax": "solvax"}


def measure(n, name):
    """Prints seconds of the first and of another call and MiB, then the gradient as a file of NumPy."""
    rng = np.random.default_rng(0)
    first, second = np.exp(rng.standard_normal((2, n, n)))
    make = METHODS[name]
    start = time.process_time()
    gradient = make(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # with the library, without its work
    gradient(first)
    middle = time.process_time()
    found = gradient(second)
    end = time.process_time()
    mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(middle - start, end - middle, mib)
    sys.stdout.flush()
    np.save(sys.stdout.buffer, found)


def main(n):
    print(f"{n} x {n} cells{'':28} first call  another K  MiB  deviation")
    expected = None
    for name in METHODS:
        missing = [library for word, library in LIBRARIES.items() if word in name and importlib.util.find_spec(library) is None]
        if missing:
            print(f"{name:42} without {missing[0]}")
            continue
        done = subprocess.run([sys.executable, __file__, str(n), name], stdout=subprocess.PIPE, check=True)
        line, _, numbers = done.stdout.partition(b"\n")
        first, another, mib = map(float, line.split())
        found = np.load(io.BytesIO(numbers))
        expected = found if expected is None else expected
        deviation = abs(found - expected).max() / abs(expected).max()
        print(f"{name:42} {first:9.2f} {another:10.3f} {mib:5.0f} {deviation:10.1e}", flush=True)


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    measure(size, sys.argv[2]) if len(sys.argv) > 2 else main(size)
