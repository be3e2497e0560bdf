"""Stratum beside PyAMG and SciPy's direct solver: the same matrices, seconds of the processor, iterations, true residuals.

    python table.py [LEVEL [MESH ...]]      2**LEVEL x 2**LEVEL cells of the meshes U1 A1 A3 A5, of LEVEL 10 if not said
    python table.py matrices [SHRINK]       the matrices of stratum_bench --what matrices, sizes divided by SHRINK

Finite elements for -Laplace u = f, f random; residual down by 1e-8, one thread each. PyAMG runs as its manual has
it: ml.solve(b, tol=1e-8, accel="cg"). What is not installed is left out; of the matrices none is solved directly.
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


def five_point(k, outer="left out"):
    """-div(k grad u), k of shape (ny, nx), links harmonic means; nodes on the boundaries "left out", "kept" as rows that hold nothing
    but their diagonal while others couple to them, or all "neumann"."""
    ny, nx = k.shape
    node = np.arange(nx * ny).reshape(ny, nx)
    diagonal = np.zeros((ny, nx))
    rows, columns, links = [], [], []
    for here, there in (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1]):
        link = 2 / (1 / k[here] + 1 / k[there])
        for a, b in (here, there), (there, here):
            rows.append(node[a].ravel())
            columns.append(node[b].ravel())
            links.append(link.ravel())
            diagonal[a] += link
    if outer != "neumann":
        for side in np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]:
            diagonal[side] += k[side]
    rows, columns, links = (np.concatenate(parts) for parts in (rows, columns, links))
    if outer == "kept":
        j, i = np.divmod(rows, nx)
        inner = (i > 0) & (i < nx - 1) & (j > 0) & (j < ny - 1)
        rows, columns, links = rows[inner], columns[inner], links[inner]
    return (sp.diags_array(diagonal.ravel()) - sp.coo_array((links, (rows, columns)), shape=(nx * ny, nx * ny))).tocsr()


def discs(n, inside):
    """As in the benchmark: of C++'s mt19937 by uniform_real_distribution, two words a number."""
    words = np.random.RandomState(5).randint(0, 2**32, size=(180, 2), dtype=np.uint32).astype(float)
    x, y, r = ((words[:, 0] + words[:, 1] * 2.0**32) / 2.0**64).reshape(60, 3).T
    i = (np.arange(n) + 0.5) / n
    k = np.ones((n, n))
    for x, y, r in zip(x, y, 0.02 + 0.05 * r):
        k[np.hypot(i - x, i[:, None] - y) < r] = inside
    return k


def matrices(shrink=1):
    """(name, make, (ny, nx))"""
    size = lambda n: max(3, n // shrink)
    n, m, thirds = size(512) - 1, size(1000), size(1025)
    level = max(3, 11 - shrink.bit_length())
    board = np.arange(n) * 16 // n
    middle = (np.arange(thirds) > thirds // 3) & (np.arange(thirds) < 2 * thirds // 3)
    return [
        ("bilinear elements", lambda: laplacian(stratum.mesh("U1", level)), (2**level - 1, 2**level - 1)),
        ("five points, 1000 x 1000", lambda: five_point(np.ones((m, m))), (m, m)),
        ("five points, 300 x 200", lambda: five_point(np.ones((size(200), size(300)))), (size(200), size(300))),
        ("60 discs, 1e3", lambda: five_point(discs(n, 1e3)), (n, n)),
        ("60 discs, 1e6", lambda: five_point(discs(n, 1e6)), (n, n)),
        ("16 x 16 checkerboard, 1e3", lambda: five_point(np.where(np.add.outer(board, board) % 2 == 0, 1.0, 1e3)), (n, n)),
        ("ex29, Dirichlet rows kept", lambda: five_point(np.where(np.outer(middle, middle), 100.0, 1.0), "kept"),
         (thirds, thirds)),
        ("ex50, Neumann", lambda: five_point(np.ones((size(257), size(257))), "neumann"), (size(257), size(257))),
    ]


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


def compare(name, A, shape, direct):
    b = np.random.default_rng(1).uniform(-1, 1, A.shape[0])
    b -= b.mean()
    solvers = {
        "stratum.Multigrid(A).solve(b)": lambda: run_stratum(A, b, shape),
        "SciPy's cg, M=Stratum": lambda: run_preconditioned(A, b, shape),
    }
    if direct:
        solvers["SciPy's spsolve"] = lambda: run_direct(A, b)
    if pyamg:
        solvers["PyAMG smoothed aggregation, cg"] = lambda: run_pyamg(A, b, pyamg.smoothed_aggregation_solver)
        solvers["PyAMG Ruge-Stuben, cg"] = lambda: run_pyamg(A, b, pyamg.ruge_stuben_solver)
    for title, run in solvers.items():
        x, iterations, setup, solve = run()
        residual = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
        print(f"{name:27}{title:32}{iterations:>10}{setup:>11.2f}{solve:>10.2f}{residual:>15.1e}", flush=True)


def main(level=10, *names):
    warnings.simplefilter("ignore")  # the true residual tells
    print(f"{'matrix':27}{'solver':32}{'iterations':>10}{'set-up, s':>11}{'solve, s':>10}{'true residual':>15}")
    if level == "matrices":
        for name, make, shape in matrices(*map(int, names)):
            compare(name, make(), shape, direct=False)
        return
    n = 2 ** int(level) - 1
    for name in names or ("U1", "A1", "A3", "A5"):
        compare(name, laplacian(stratum.mesh(name, int(level))), (n, n), direct=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
