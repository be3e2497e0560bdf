#!/usr/bin/env python3
"""Draws the pictures of the theory pages and of the plots in the gallery, with numbers that the programs give.

make_pictures.py BIN [NAME...]   with matplotlib and numpy; BIN has the programs; all pictures, or those named
"""
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "apps/bench/results"
BLUE, ORANGE, RED, GREEN, GREY = "#0b5fa5", "#e07b00", "#b3202a", "#2a7f3f", "#777777"
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
                     "grid.alpha": 0.25, "lines.markersize": 3.5, "figure.dpi": 110})


def poisson2d(*options):
    """Report and residuals of a run."""
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([BIN / "poisson2d", *map(str, options), "--vtk", "none", "--quiet", "--report", "run.json",
                        "--history", "run.csv"], cwd=work, check=False, capture_output=True)
        report = json.loads((Path(work) / "run.json").read_text())
        with open(Path(work) / "run.csv") as file:
            return report, [float(row["relative_residual"]) for row in csv.DictReader(file)]


def save(figure, name):
    figure.tight_layout()
    figure.savefig(HERE / f"{name}.png")
    plt.close(figure)


def lumped():
    """u beside a wall that is suddenly hot, with the consistent mass and with a lumped one."""
    figure, axis = plt.subplots(figsize=(5.2, 2.8))
    for mass, colour in (("consistent", RED), ("lumped", BLUE)):
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([BIN / "heat2d", "--left", "dirichlet:1", "--right", "neumann", "--bottom", "neumann", "--top", "neumann", "--cells",
                            "32,8", "--domain", "1,0.25", "--method", "euler", "--dt", "1e-5", "--end", "5e-5", "--mass", mass, "--quiet",
                            "--probe", "0,0.1,1,0.1,33:line.csv"], cwd=work, check=True)
            with open(Path(work) / "line.csv") as file:
                rows = [row for row in csv.DictReader(file) if float(row["t"]) > 0 and float(row["x"]) < 0.26]
        axis.plot([float(row["x"]) for row in rows], [float(row["u"]) for row in rows], "o-", color=colour, label=mass)
    axis.axhline(0, color=GREY, linewidth=0.8)
    axis.set(xlabel="x", ylabel="u", ylim=(-0.03, 0.12), title="five steps of 1e-5 on cells of 1/32")
    axis.legend(frameon=False)
    save(figure, "lumped")


def smoothing():
    """Symbol of damped Jacobi on stretched cells, and cycles by aspect ratio."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.1))
    theta = np.linspace(0, np.pi, 200)
    for aspect, colour in ((1, BLUE), (4, ORANGE), (16, RED)):
        e = aspect**2  # cells are `aspect` times as high as wide: strong couplings along x
        across = 1 - 0.7 * (1 - (e + np.cos(theta)) / (1 + e))  # smooth along x, oscillating along y
        left.plot(theta / np.pi, across, color=colour, label=f"aspect ratio {aspect}")
    left.axvspan(0.5, 1, color=GREY, alpha=0.12)
    left.text(0.53, 0.05, "modes that the\nsmoother must damp", color=GREY)
    left.set(xlabel="frequency along the long side / pi", ylabel="error left by a sweep", ylim=(0, 1.03),
             title="damped Jacobi, error smooth along the short side")
    left.legend(frameon=False, loc="center left")
    aspects = [1, 2, 4, 8, 16, 32]
    for smoother, colour in (("jacobi", RED), ("colour_gs", ORANGE), ("adi", BLUE)):
        points = []
        for aspect in aspects:
            report, _ = poisson2d("--cells", 128, "--domain", f"{1 / aspect},1", "--smoother", smoother, "--max-iterations", 400)
            if report["status"] == "converged":
                points.append((aspect, report["iterations"]))
        right.plot(*zip(*points), "o-", color=colour)
        right.annotate({"jacobi": "jacobi;\ndiverges beyond"}.get(smoother, smoother), points[-1], color=colour,
                       xytext=(6, 2) if smoother == "jacobi" else (-8, 7),
                       textcoords="offset points", ha="left" if smoother == "jacobi" else "right")
    right.set(xscale="log", yscale="log", xlabel="aspect ratio of all cells", ylabel="cycles to 1e-8", xticks=aspects,
              title="measured, 128 x 128 cells", ylim=(3, 500))
    right.set_xticklabels(aspects)
    right.minorticks_off()
    save(figure, "smoothing")


def zebra():
    """Lines of a half sweep, and convergence by their order."""
    figure, axes = plt.subplots(1, 3, figsize=(8.2, 2.9), width_ratios=(1, 1, 1.5))
    for axis, along in zip(axes, "xy"):
        for line in range(1, 8):
            colour = BLUE if line % 2 else ORANGE
            at = ([0.6, 7.4], [line, line]) if along == "x" else ([line, line], [0.6, 7.4])
            axis.plot(*at, color=colour, lw=2)
        nodes = np.arange(1, 8)
        axis.plot(*np.meshgrid(nodes, nodes), ".", color="black", ms=3)
        axis.set(title=f"{1 if along == 'x' else 2}. lines along {along}", aspect="equal", xticks=[], yticks=[])
        axis.grid(False)
        axis.spines[:].set_visible(False)
    axes[0].text(0.6, -0.1, "first", color=BLUE)
    axes[0].text(2.6, -0.1, "then", color=ORANGE)
    for mesh, style in (("A3", "-"), ("A5", "--")):
        for order, colour in (("zebra", BLUE), ("simultaneous", RED)):
            _, history = poisson2d("--mesh", mesh, "--line-order", order)
            axes[2].semilogy(history, "o" + style, color=colour, label=f"{mesh}, {order}")
    axes[2].axhline(1e-8, color=GREY, lw=0.8)
    axes[2].set(xlabel="V-cycle", ylabel="residual / right-hand side", title="order of the lines")
    axes[2].legend(frameon=False)
    save(figure, "zebra")


def single():
    """Error of single precision by storage format (table 1 of the studies)."""
    printed = subprocess.run([BIN / "paper_tables", "--table", "1", "--max-level", "10", "--csv"], capture_output=True, text=True,
                             check=True).stdout
    rows = [line.split(",") for line in printed.splitlines() if line[:1].isdigit()]
    levels = [int(row[0]) for row in rows]
    figure, axis = plt.subplots(figsize=(5.6, 3.2))
    for column, label, colour in ((1, "single, stored bands", RED), (4, "single, tensor form", ORANGE), (6, "double", BLUE)):
        axis.semilogy(levels, [float(row[column]) for row in rows], "o-", color=colour, label=label)
    axis.set(xlabel="level (2^level cells in each direction)", ylabel="relative error", xticks=levels,
             title="square cells: what single precision can hold")
    axis.legend(frameon=False)
    save(figure, "single_precision")


def mixed():
    figure, axis = plt.subplots(figsize=(5.6, 3.2))
    for precision, colour, style in (("double", GREY, "s-"), ("mixed", BLUE, "o-"), ("single", RED, "o-")):
        report, history = poisson2d("--mesh", "A3", "--level", 9, "--precision", precision, "--rtol", 1e-13)
        if precision == "single":
            axis.axhline(report["relative_residual"], color=colour, ls=":", lw=1)
            axis.text(10, report["relative_residual"] * 1.6, "true residual of single", color=colour, ha="right")
        axis.semilogy(history, style, color=colour, label={"single": "single: the residual that it believes"}.get(precision, precision),
                      markerfacecolor="none" if precision == "double" else colour, ms=7 if precision == "double" else 3.5)
    axis.set(xlabel="V-cycle", ylabel="residual / right-hand side", title="mesh A3, 512 x 512 cells")
    axis.legend(frameon=False)
    save(figure, "mixed_precision")


def interpolation():
    """A correction across a jump of K, and iterations by kind of interpolation."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.0))
    k1, k2 = 100, 1
    weight = k1 / (k1 + k2)
    left.axvspan(0, 1, color=GREY, alpha=0.12)
    left.text(0.35, 1.14, f"K = {k1}", color=GREY)
    left.text(1.4, 1.14, f"K = {k2}", color=GREY)
    left.plot([0, 1, 2], [1, 0.5, 0], "o--", color=RED, label="linear")
    left.plot([0, 1, 2], [1, weight, 0], "o-", color=BLUE, label="operator-dependent")
    left.set(title="correction between two coarse nodes", xticks=[0, 1, 2], ylabel="correction", ylim=(0, 1.25))
    left.set_xticklabels(["coarse", "new", "coarse"])
    left.legend(frameon=False, loc="lower left")
    contrasts = [1, 10, 100, 1000, 10000]
    for kind, colour in (("bilinear", RED), ("conductance", ORANGE), ("split", BLUE), ("matrix", GREEN)):
        points = []
        for k in contrasts:
            report, _ = poisson2d("--level", 8, "--rhs", 1, "--kappa", f"(sin(13*x)>0)==(sin(11*y)>0) ? 1 : {k}", "--smoother",
                                  "colour_gs", "--interpolation", kind, "--max-iterations", 300)
            if report["status"] == "converged":
                points.append((k, report["iterations"]))
        right.plot(*zip(*points), "o-", color=colour, label=kind)
    right.set(xscale="log", ylim=(0, None), xlabel="jump of K on a checkerboard", ylabel="iterations to 1e-8", title="measured, 256 x 256 cells")
    right.legend(frameon=False)
    save(figure, "interpolation")


def reduction():
    """Cyclic reduction, and chunks with their reduced system."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 2.9))
    n = 15
    for stage in range(4):
        step = 2**stage
        active = np.arange(step, n + 1, step)
        left.plot(active, [-stage] * len(active), "s", color=BLUE, ms=6)
        gone = [k for k in active if (k // step) % 2]
        if stage < 3:
            left.plot(gone, [-stage] * len(gone), "s", color=ORANGE, ms=6)
            for k in active[1::2]:
                for neighbour in (k - step, k + step):
                    if neighbour in active:
                        left.plot([neighbour, k], [-stage, -stage - 1], color=GREY, lw=0.7)
    left.set(title="cyclic reduction: log2(n) stages", yticks=[0, -1, -2, -3], xticks=[])
    left.set_yticklabels(["15 equations", "7", "3", "1"])
    left.grid(False)
    for chunk in range(4):
        at = np.arange(4) + 4.6 * chunk
        right.plot(at, [0] * 4, "s", color=ORANGE, ms=6)
        right.plot(at[[0, -1]], [0, 0], "s", color=BLUE, ms=6)
        right.plot(at[[0, -1]], [-1, -1], "s", color=BLUE, ms=6)
        for k in (0, -1):
            right.plot([at[k]] * 2, [-0.1, -0.9], color=GREY, lw=0.7)
        right.text(at.mean(), 0.25, f"thread {chunk + 1}", ha="center", color=GREY)
    right.set(title="chunks: one exchange", yticks=[0, -1], xticks=[], ylim=(-1.4, 0.7))
    right.set_yticklabels(["16 equations", "8, reduced"])
    right.grid(False)
    save(figure, "line_solves")


def deflation():
    figure, axis = plt.subplots(figsize=(5.8, 3.2))
    for deflate, colour, label in (("none", RED, "no deflation"), ("blocks:16", ORANGE, "16 x 16 blocks"),
                                   ("split-blocks:16", BLUE, "16 x 16 blocks, split by fluid")):
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([BIN / "bubbly2d", "--bubbles", "25", "--preconditioner", "block-ic", "--deflate", deflate, "--quiet",
                            "--history", "run.csv"], cwd=work, check=False)
            with open(Path(work) / "run.csv") as file:
                axis.semilogy([float(row["relative_residual"]) for row in csv.DictReader(file)], color=colour, label=label)
    axis.set(xlabel="iteration of conjugate gradients", ylabel="residual / right-hand side", xscale="log", xlim=(1, 3000),
             title="25 bubbles, densities 1 to 1000, 128 x 128 cells")
    axis.legend(frameon=False, loc="lower left")
    save(figure, "deflation")


def modes():
    """Generalised eigenvectors of a stretched line."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 2.9))
    level, nu = 6, 0.25
    widths = [1.0]
    for _ in range(level):
        widths = [w / 2 for h in widths[:-1] for w in (h, h)] + [widths[-1] * (1 - nu / 2), widths[-1] * nu / 2]
    h = np.array(widths)
    x = np.cumsum(h)[:-1]
    k = np.diag(1 / h[:-1] + 1 / h[1:]) - np.diag(1 / h[1:-1], 1) - np.diag(1 / h[1:-1], -1)
    m = np.diag(h[:-1] + h[1:]) / 3 + np.diag(h[1:-1], 1) / 6 + np.diag(h[1:-1], -1) / 6
    inverse = np.linalg.inv(np.linalg.cholesky(m))
    values, vectors = np.linalg.eigh(inverse @ k @ inverse.T)
    q = inverse.T @ vectors
    for mode, colour in ((0, BLUE), (1, ORANGE), (4, GREEN)):
        left.plot(x, q[:, mode] * np.sign(q[0, mode]), ".-", color=colour, lw=1, ms=2.5, label=f"mode {mode + 1}")
    left.set(title="modes of a line of mesh A3, 64 cells", xlabel="x")
    left.legend(frameon=False)
    right.semilogy(np.arange(1, len(values) + 1), values, ".", color=BLUE)
    right.set(title=f"their eigenvalues, up to {values[-1]:.1e}", xlabel="mode")
    save(figure, "modes")


def peers():
    """Seconds by unknowns beside hypre, on A3 and A1."""
    solves = [solve for name in ("amd_epyc_zen4", "amd_epyc_zen4_level11_12", "amd_epyc_zen4_a3")
              for solve in json.loads((RESULTS / f"{name}.json").read_text())["solves"]]
    latest = {(s["mesh"], s["solver"], s["level"], s.get("cycle")): s for s in solves}
    figure, axis = plt.subplots(figsize=(5.8, 3.5))
    for solver, cycle, label, colour in (("stratum", "fmg+V(2,2)", "Stratum", BLUE), ("hypre SMG-CG", None, "hypre SMG-CG", ORANGE),
                                         ("hypre BoomerAMG-CG", None, "hypre BoomerAMG-CG", RED)):
        points = sorted((s["unknowns"], s["solve_seconds"]) for (mesh, name, _, kind), s in latest.items()
                        if mesh == "A3" and name == solver and (cycle is None or kind == cycle) and s["status"] == "converged")
        axis.loglog(*zip(*points), "o-", color=colour, label=label)
    axis.set(xlabel="unknowns", ylabel="seconds, one core", title="mesh A3, cells to 1.8e6 (level 10): time to a residual of 1e-8")
    axis.legend(frameon=False)
    save(figure, "time_by_unknowns")


def matrix():
    """The solution of the third lesson, by its blocks of Python; takes the Python package."""
    import doctest
    import re
    page = (HERE.parent / "tutorial/3-your-matrix.md").read_text()
    names = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)[:2]:
        for example in doctest.DocTestParser().get_examples(block):
            exec(example.source, names)
    n = names["n"]
    figure, axis = plt.subplots(figsize=(4.6, 3.4))
    figure.colorbar(axis.pcolormesh(names["u"].reshape(n, n), shading="gouraud"), label="u")
    axis.contour((names["K"][:n, :n] > 1).astype(float), levels=[0.5], colors="white", linewidths=0.8)
    axis.text(100, 145, "K = 1000", color="white", ha="center")
    axis.set(aspect="equal", xlabel="i", ylabel="j")
    save(figure, "matrix")


def box(axis, x, y, width, height, text, colour, size=8.5, alpha=0.18):
    axis.add_patch(plt.Rectangle((x, y), width, height, facecolor=colour, alpha=alpha, edgecolor=colour, lw=1))
    axis.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size)


def bare(axis):
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    axis.spines[:].set_visible(False)


def house():
    """Folders as layers: a folder includes what is below it."""
    figure, axis = plt.subplots(figsize=(6.6, 3.9))
    bare(axis)
    axis.set(xlim=(0, 12), ylim=(0, 6))
    box(axis, 0, 5, 5.8, 0.85, "apps\nprograms, benchmark, studies, examples", GREY)
    box(axis, 6.2, 5, 5.8, 0.85, "interfaces\nC, Python, PETSc, deal.II, MPI", GREY)
    box(axis, 0, 4, 12, 0.85, "multigrid\nlevels, cycles, transfer, coarse solvers, PoissonSolver, MatrixSolver", BLUE)
    box(axis, 0, 3, 3.8, 0.85, "assembly\nelements, loads, errors", GREEN)
    box(axis, 4.1, 3, 3.8, 0.85, "smoothers\none file each", ORANGE)
    box(axis, 8.2, 2, 3.8, 1.85, "solvers\nKrylov, mixed precision,\ndirect, deflation", ORANGE)
    box(axis, 0, 2, 3.8, 0.85, "mesh\nwidths, boundary types", GREEN)
    box(axis, 4.1, 2, 3.8, 0.85, "solvers/lines\ntridiagonal systems", ORANGE)
    box(axis, 0, 0.2, 12, 1.65, "core\nContext, Field, operators and their storage formats,\nreductions, communicators, files", RED)
    save(figure, "house")


def vcycle():
    """What runs on each level of a V(2,2) cycle with adi."""
    figure, axis = plt.subplots(figsize=(7.6, 3.9))
    bare(axis)
    axis.set(xlim=(0, 13), ylim=(-0.4, 4.5))
    down = ("smooth: lines in x, lines in y\nresidual, restriction", "the same, half the nodes\nin each direction", "the same")
    up = ("add correction, smooth\nagain; norm of b - A x", "the same", "the same")
    for level in range(3):
        y, inset = 3.5 - 1.2 * level, 1.1 * level
        box(axis, inset, y, 4.1, 0.8, down[level], BLUE)
        box(axis, 8.9 - inset, y, 4.1, 0.8, up[level], GREEN)
        if level < 2:
            axis.annotate("", (inset + 2.6, y - 0.42), (inset + 2.05, y - 0.02), arrowprops={"arrowstyle": "->", "color": BLUE})
            axis.annotate("", (13 - inset - 2.05, y - 0.02), (13 - inset - 2.6, y - 0.42), arrowprops={"arrowstyle": "->", "color": GREEN})
    box(axis, 4.4, -0.2, 4.2, 0.8, "coarse solver: dense inverse,\nor fast diagonalization", ORANGE)
    axis.annotate("", (5.0, 0.62), (4.5, 1.06), arrowprops={"arrowstyle": "->", "color": BLUE})
    axis.annotate("", (8.5, 1.06), (8.0, 0.62), arrowprops={"arrowstyle": "->", "color": GREEN})
    axis.text(6.5, 3.9, "finest level, single precision;\nb - A x in double", ha="center", va="center", color=GREY, fontsize=8)
    save(figure, "vcycle")


PICTURES = {f.__name__: f for f in (smoothing, lumped, zebra, single, mixed, interpolation, reduction, deflation, modes, peers, matrix, house, vcycle)}

if __name__ == "__main__":
    BIN = Path(sys.argv[1]).resolve()
    for name in sys.argv[2:] or PICTURES:
        PICTURES[name]()
        print(name)
