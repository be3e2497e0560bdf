"""Stratum beside PyAMG and SciPy's direct solver: the same matrices, seconds of the processor, iterations, true residuals.

    python table.py [LEVEL [MESH ...]]      2**LEVEL x 2**LEVEL cells of the meshes U1 A1 A3 A5, of LEVEL 10 if not said

Finite elements for -Laplace u = f, f random; residual down by 1e-8, one thread each. PyAMG runs as its manual has
it: ml.solve(b, tol=1e-8, accel="cg"). What is not installed is left out.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import stratum

try:
    import pyamg
except ImportError:
    pyamg = None


def line(widths):
    """Stiffness and mass between Dirichlet ends, of linear elements with these widths."""
    h, inner = widths, widths[1:-1]
    stiffness = sp.diags_array([-1 / inner, 1 / h[:-1] + 1 / h[1:], -1 / inner], offsets=[-1, 0, 1])
    mass = sp.diags_array([inner / 6, (h[:-1] + h[1:]) / 3, inner / 6], offsets=[-1, 0, 1])
    return stiffness, mass


def laplacian(mesh):
    """Bilinear elements on the mesh, x fastest."""
    (kx, mx), (ky, my) = line(mesh.widths_x), line(mesh.widths_y)
    return (sp.kron(my, kx) + sp.kron(ky, mx)).tocsr()


def run_stratum(A, b, shape, **options):
    start = time.process_time()
    ml = stratum.Multigrid(A, shape=shape, **options)
    ready = time.process_time()
    x = ml.solve(b, tol=1e-8)
    return x, ml.report["iterations"], ready - start, time.process_time() - ready


def run_preconditioned(A, b, shape):
    steps = []
    start = time.process_time()
    ml = stratum.Multigrid(A, shape=shape)
    ready = time.process_time()
    x, _ = spla.cg(A, b, rtol=1e-8, M=ml.aspreconditioner(), callback=steps.append)
    return x, len(steps), ready - start, time.process_time() - ready


def run_pyamg(A, b, make):
    residuals = []
    start = time.process_time()
    ml = make(A)
    ready = time.process_time()
    x = ml.solve(b, tol=1e-8, maxiter=200, accel="cg", residuals=residuals)
    return x, len(residuals) - 1, ready - start, time.process_time() - ready


def run_direct(A, b):
    start = time.process_time()
    x = spla.spsolve(A, b)
    return x, "", 0.0, time.process_time() - start


def main(level=10, *names):
    warnings.simplefilter("ignore")  # the true residual tells
    n = 2 ** int(level) - 1
    print(f"{'mesh':6}{'solver':34}{'iterations':>10}{'set-up, s':>11}{'solve, s':>10}{'true residual':>15}")
    for name in names or ("U1", "A1", "A3", "A5"):
        A = laplacian(stratum.mesh(name, int(level)))
        b = np.random.default_rng(1).standard_normal(A.shape[0])
        solvers = {
            "stratum.Multigrid(A).solve(b)": lambda: run_stratum(A, b, (n, n)),
            "SciPy's cg, M=Stratum": lambda: run_preconditioned(A, b, (n, n)),
            "SciPy's spsolve": lambda: run_direct(A, b),
        }
        if pyamg:
            solvers["PyAMG smoothed aggregation, cg"] = lambda: run_pyamg(A, b, pyamg.smoothed_aggregation_solver)
            solvers["PyAMG Ruge-Stuben, cg"] = lambda: run_pyamg(A, b, pyamg.ruge_stuben_solver)
        for title, run in solvers.items():
            x, iterations, setup, solve = run()
            residual = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
            print(f"{name:6}{title:34}{iterations:>10}{setup:>11.2f}{solve:>10.2f}{residual:>15.1e}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
