#!/usr/bin/env python3
"""A law learned through solves: learned.py [CELLS [STEPS]]

The porosity of a material is known, u is measured, and how the conductivity follows from the porosity is not known. A small
network says K of each cell from its porosity; it is trained by the misfit of u, through stratum.torch.solve.
"""

import sys

import numpy as np
import stratum
import torch


def porosity(n, rng):
    """Smooth fields between 0.2 and 0.6."""
    field = rng.standard_normal((n, n))
    for _ in range(12):
        for axis in (0, 1):
            field = (np.roll(field, 1, axis) + 2 * field + np.roll(field, -1, axis)) / 4
    return torch.tensor(0.2 + 0.4 * (field - field.min()) / np.ptp(field), dtype=torch.float32)


def law(porosity):
    """Kozeny and Carman's, to be found."""
    return porosity ** 3 / (1 - porosity) ** 2


def main(n, steps):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    problem = stratum.Poisson(stratum.mesh(cells=(n, n)), threads=1)
    fields = torch.stack([porosity(n, rng) for _ in range(4)])
    seen = stratum.torch.solve(problem, torch.ones(n, n), kappa=law(fields))
    network = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for step in range(steps):
        kappa = torch.exp(network(fields[..., None])[..., 0])
        u = stratum.torch.solve(problem, torch.ones(n, n), kappa=kappa)
        misfit = ((u - seen) ** 2).sum() / (seen ** 2).sum()
        optimizer.zero_grad()
        misfit.backward()
        optimizer.step()
        if step == 0 or step == steps - 1:
            print(f"step {step + 1:4d}: misfit of u {misfit.sqrt():.2g}")
    with torch.no_grad():
        for phi in (0.3, 0.4, 0.5):
            k = torch.exp(network(torch.tensor([[phi]])))[0, 0]
            print(f"porosity {phi}: K {k:.3f} ({law(phi):.3f})")


if __name__ == "__main__":
    # In a notebook: main(32, 200)
    given = [int(a) for a in sys.argv[1:]]
    main(*(given + [32, 200][len(given):]))
