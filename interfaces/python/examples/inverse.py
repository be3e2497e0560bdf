#!/usr/bin/env python3
"""Conductivity from measurements on the boundary: inverse.py [CELLS [STEPS]]

A square is grounded at its bottom. Currents of twelve patterns enter through the other sides, where the potential is measured. K by
cells is found from that: the smallest misfit plus a penalty on jumps of log K, by SciPy's L-BFGS with stratum.gradients. A
gradient costs two solves for each pattern, and the patterns share the set-up.
"""

import sys

import numpy as np
import stratum
from scipy.optimize import minimize

sides = ("left", "right", "top")


def patterns(n):
    """Currents into each side: a wave of every number 0 .. 3."""
    s = np.linspace(0, 1, n + 1)
    for side in sides:
        for number in range(4):
            yield {other: np.cos(number * np.pi * s) if other == side else 0.0 for other in sides}


def measured(u):
    """The potential on the three sides, of u at all nodes."""
    return np.concatenate([u[:, 0], u[:, -1], u[-1]])


def put_back(measurements, shape):
    """The transpose of `measured`."""
    u, (ny, nx) = np.zeros(shape), shape
    u[:, 0] += measurements[:ny]
    u[:, -1] += measurements[ny:2 * ny]
    u[-1] += measurements[2 * ny:]
    return u


def main(n, steps):
    problem = stratum.Poisson(stratum.mesh(cells=(n, n)), dict.fromkeys(sides, "neumann"), threads=1)
    y, x = (np.indices((n, n)) + 0.5) / n
    truth = np.where((x - 0.35) ** 2 + (y - 0.65) ** 2 < 0.2 ** 2, 3.0, 1.0)
    currents = list(patterns(n))
    solve = lambda k, current: stratum.gradients.vjp(problem, 0.0, kappa=k, boundaries=current)
    data = [measured(solve(truth, current)[0]) for current in currents]
    noise = np.random.default_rng(1).standard_normal((len(data), data[0].size))
    data = [d + 1e-3 * abs(d).max() * r for d, r in zip(data, noise)]
    penalty = 1e-5

    def objective(log_k):
        k = np.exp(log_k.reshape(n, n))
        value, gradient = 0.0, np.zeros((n, n))
        for current, seen in zip(currents, data):
            u, pullback = solve(k, current)
            misfit = measured(u) - seen
            value += misfit @ misfit / 2
            gradient += pullback(put_back(misfit, u.shape)).kappa * k
        for axis in (0, 1):
            jump = np.diff(log_k.reshape(n, n), axis=axis)
            size = np.sqrt(jump ** 2 + 1e-4)
            value += penalty * size.sum()
            back = penalty * jump / size
            ends = [(1, 1) if a == axis else (0, 0) for a in (0, 1)]
            gradient -= np.diff(np.pad(back, ends), axis=axis)
        return value, gradient.ravel()

    found = minimize(objective, np.zeros(n * n), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    k = np.exp(found.x.reshape(n, n))
    inside = truth > 1
    print(f"objective {objective(np.zeros(n * n))[0]:.3g} -> {found.fun:.3g} in {found.nit} iterations, {found.nfev} gradients")
    print(f"K in the disc {k[inside].mean():.2f} (3), around it {k[~inside].mean():.2f} (1)")


if __name__ == "__main__":
    # In a notebook: main(24, 80)
    given = [int(a) for a in sys.argv[1:]]
    main(*(given + [32, 120][len(given):]))
