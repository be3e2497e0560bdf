"""Pictures by matplotlib, and what notebooks show."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ._stratum import BoxMesh, Mesh


def plot(what: Any, axes: Any = None, **options: Any) -> Any:
    """Draws `what` with matplotlib, on `axes` if given, and returns the axes. Raises TypeError for what it cannot draw.

    a solution      u in colours; in a box on the plane of nodes in the middle of z, or `at=k`, plane number k. options: those of
                    pcolormesh. u has shape (ny + 1, nx + 1), in a box (nz + 1, ny + 1, nx + 1)
    a mesh          its lines; of a box those of x and y. Of many lines at most 200 in each direction
    a report, or a stratum.Multigrid that has solved    the residual of every iteration. options: those of plot, such as label=

    >>> import matplotlib, stratum                    # doctest: +SKIP
    >>> stratum.plot(stratum.poisson(("A3", 6), 1))   # doctest: +SKIP
    """
    if axes is None:
        import matplotlib.pyplot as pyplot

        _, axes = pyplot.subplots(layout="constrained")
    if isinstance(what, (Mesh, BoxMesh)):
        return _plot_mesh(what, axes, options)
    report = what if isinstance(what, dict) else getattr(what, "report", None)
    if hasattr(what, "u") and hasattr(what, "x"):
        return _plot_solution(what, axes, options)
    if isinstance(report, dict) and "residuals" in report:
        return _plot_report(report, axes, options)
    raise TypeError("plot draws a solution, a mesh, the report of a solve, or a solver that has solved; given is "
                    f"{type(what).__name__}")


def _plot_solution(solution: Any, axes: Any, options: dict[str, Any]) -> Any:
    u, title = np.asarray(solution.u), "u"
    if hasattr(solution, "z"):
        k = options.pop("at", len(solution.z) // 2)
        u, title = u[k], f"u at z = {solution.z[k]:.4g}"
    picture = axes.pcolormesh(solution.x, solution.y, u, **{"shading": "gouraud"} | options)
    axes.figure.colorbar(picture, ax=axes)
    axes.set(xlabel="x", ylabel="y", title=title, aspect="equal")
    return axes


def _plot_mesh(mesh: Any, axes: Any, options: dict[str, Any]) -> Any:
    x, y = mesh.x, mesh.y
    options = {"colors": "k", "linewidths": 0.5} | options
    axes.vlines(x[::_every(x)], y[0], y[-1], **options)
    axes.hlines(y[::_every(y)], x[0], x[-1], **options)
    axes.set(xlabel="x", ylabel="y", title=repr(mesh)[len("<stratum."):-1], aspect="equal")
    return axes


def _every(line: np.ndarray) -> int:
    return max(1, -(-line.size // 200))


def _plot_report(report: dict[str, Any], axes: Any, options: dict[str, Any]) -> Any:
    residuals = report["residuals"]
    axes.semilogy(range(len(residuals)), residuals, **{"marker": "o", "markersize": 3} | options)
    axes.set(xlabel="iteration", ylabel="||b - A x||", title=report["status"])
    return axes


def table(title: str, rows: dict[str, Any]) -> str:
    """HTML for notebooks."""
    lines = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{html.escape(str(value))}"
                    "</td></tr>" for name, value in rows.items())
    return f"<table><caption>{html.escape(title)}</caption>{lines}</table>"


def report_rows(report: dict[str, Any]) -> dict[str, Any]:
    parts = {"set-up": "setup_seconds", "solve": "solve_seconds"}
    seconds = {name: f"{report[key]:.3g} s" for name, key in parts.items() if key in report}
    return {"status": report["status"], "iterations": report["iterations"],
            "relative residual": f"{report['relative_residual']:.2e}"} | seconds


def solution_html(solution: Any) -> str:
    """Of Solution and Solution3D."""
    u = solution.u
    # Nodes inside of solids have no u; on a GPU there are none.
    low, high = (np.nanmin(u), np.nanmax(u)) if isinstance(u, np.ndarray) else (float(u.min()), float(u.max()))
    return table(f"{type(solution).__name__} on {' x '.join(map(str, u.shape))} nodes",
                 {"u": f"{low:.6g} .. {high:.6g}"} | report_rows(solution.report))
