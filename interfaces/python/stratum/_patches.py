"""Poisson problems on meshes of patches, steady and in time: logically rectangular grids around corners, holes and bodies."""

from __future__ import annotations

import inspect
import os
from typing import Any, Callable, NamedTuple

import numpy as np

from . import _fork, _report
from ._checks import bodies_of, expect_callback, iterations, number
from ._sampling import array_of, values_of
from ._stratum import PatchMesh, around_bodies, read_patches, solve_patches, step_patches

# The 4-point Gauss rule on [0, 1].
_t, _weight = np.polynomial.legendre.leggauss(4)
_t, _weight = (_t + 1) / 2, _weight / 2


class PatchSolution(NamedTuple):
    """The solution at all nodes of every patch: `u[p][j, i]` at `(x[p][j, i], y[p][j, i])`, and the report of the solve.
    All arrays of patch p have shape (ny + 1, nx + 1) of its cells."""

    x: list[np.ndarray]
    y: list[np.ndarray]
    u: list[np.ndarray]
    report: dict[str, Any]


class PatchHeatSolution(NamedTuple):
    """u at all nodes of every patch at some times: `u[p][m, j, i]` at `t[m]` and `(x[p][j, i], y[p][j, i])`. t has shape
    (frames + 1,), x and y of patch p (ny + 1, nx + 1), u (frames + 1, ny + 1, nx + 1); `iterations` are those of all steps."""

    t: np.ndarray
    x: list[np.ndarray]
    y: list[np.ndarray]
    u: list[np.ndarray]
    iterations: int


def patches(path: str | os.PathLike[str], cells: int | None = None, level: int = 0) -> PatchMesh:
    """A mesh of patches from the file `path`: text, Gmsh's .msh, FEAT3's .xml, or VTK's .vtm of structured grids.

    cells   of edges of which the file says nothing
    level   how often all cells are halved

    docs/guides/patches.md describes the text. In a build without expressions its numbers are plain, and it has no curves. Raises
    ValueError for files that cannot be read, with the line.
    """
    mesh = read_patches(os.fspath(path), cells)
    return mesh.halved(level) if level else mesh


def poisson_on_patches(mesh: PatchMesh, f: Any, boundaries: Any = 0.0, kappa: Any = None, reaction: float = 0.0, *,
                       rtol: float | None = None, atol: float = 0.0, maxiter: int = 100, project: bool = False,
                       callback: Callable[[int, float], Any] | None = None, on_failure: str = "warn", bodies: Any = (),
                       single_precision: bool = True, device: str = "cpu", threads: int = 0) -> PatchSolution:
    """-div(K grad u) + c u = f on a mesh of patches, as stratum.poisson."""
    _report.check_on_failure(on_failure)
    expect_callback(callback)
    rtol, atol, maxiter = None if rtol is None else number("rtol", rtol), number("atol", atol), iterations(maxiter)
    mesh, conditions, own_k, cells = _with_bodies(mesh, boundaries, bodies)
    nodes = [mesh.nodes(p) for p in range(mesh.patches)]
    u, report = solve_patches(mesh, _loads(nodes, f), conditions, _diffusion(mesh, nodes, kappa, own_k), number("the reaction", reaction),
                              1e-8 if rtol is None else rtol, atol, maxiter, project, single_precision, device, _fork.threads(threads),
                              callback, bool(cells))
    if cells:
        into = report.pop("fluxes")
        report["bodies"] = [{"cells": count} | ({"flux": -into[name]} if (name := f"body {k}") in into else {})
                            for k, count in enumerate(cells, 1)]
    _report.judge(report, u, on_failure, rtol is not None or atol > 0)
    return PatchSolution([x for x, _ in nodes], [y for _, y in nodes], u, report)


def heat_on_patches(mesh: PatchMesh, initial: Any, end: float, steps: int, kappa: Any, boundaries: Any, f: Any, reaction: float,
                    method: str, frames: int, callback: Callable[[float, list[np.ndarray]], Any] | None, rtol: float,
                    on_failure: str, *, bodies: Any = (), maxiter: int = 100, single_precision: bool = True, device: str = "cpu",
                    threads: int = 0) -> PatchHeatSolution:
    """u_t - div(K grad u) + c u = f on a mesh of patches, as stratum.heat."""
    _report.check_on_failure(on_failure)
    mesh, conditions, own_k, _ = _with_bodies(mesh, boundaries, bodies)
    nodes = [mesh.nodes(p) for p in range(mesh.patches)]
    first = [np.array(np.broadcast_to(values_of("the initial value", u, x, y) if callable(u) else
                                      array_of("the initial value", u, [x.shape]), x.shape), dtype=float)
             for u, (x, y) in zip(_of_patches("the initial value", initial, len(nodes)), nodes)]
    changes = any(callable(g) and _parameters(g) == 3 for g in _of_patches("f", f, len(nodes)))

    def load(t: float) -> list[np.ndarray]:
        now = [(lambda x, y, g=g: g(x, y, t)) if callable(g) and _parameters(g) == 3 else g for g in _of_patches("f", f, len(nodes))]
        return _loads(nodes, now)

    kept, status, reason, iterations = step_patches(
        mesh, first, load(0.0), load if changes else None, conditions, _diffusion(mesh, nodes, kappa, own_k), number("the reaction", reaction),
        method, end, steps, frames, rtol, maxiter, single_precision, device, _fork.threads(threads), callback)
    u = [np.stack([start] + [of_patches[p] for _, of_patches in kept]) for p, start in enumerate(first)]
    found = PatchHeatSolution(np.array([0.0] + [t for t, _ in kept]), [x for x, _ in nodes], [y for _, y in nodes], u, iterations)
    failed = status != "converged"
    _report.judge({"status": status, "reason": reason, "iterations": iterations, "failed": failed, "exit_codes": [2 * failed] * 2},
                  found, on_failure, False)
    return found


def _of_patches(name: str, given: Any, count: int) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} entries, and the mesh {count} patches")
    return list(given)


def _parameters(function: Callable[..., Any]) -> int:
    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return 0


def _conditions(mesh: PatchMesh, given: Any) -> dict[str, tuple[str, Any, Any]]:
    """(kind, g, alpha) of every boundary."""
    names = mesh.boundaries
    if not isinstance(given, dict):
        given = dict.fromkeys(names, given)
    if unknown := set(given) - set(names):
        raise ValueError(f"boundaries of this mesh are {', '.join(names)}; not {', '.join(map(repr, sorted(unknown)))}")
    return {name: _condition(name, given.get(name, 0.0)) for name in names}


def _condition(name: str, given: Any) -> tuple[str, Any, Any]:
    kind, *data = (given,) if isinstance(given, str) else given if isinstance(given, tuple) else ("dirichlet", given)
    expected = {"dirichlet": (0, 1), "neumann": (0, 1), "robin": (2,)}
    if kind not in expected or len(data) not in expected[kind]:
        raise ValueError(f"boundary {name!r} is g, 'neumann', ('neumann', g) or ('robin', alpha, g); given is {given!r}")
    for value in data:
        if not callable(value) and not np.isscalar(value):
            raise TypeError(f"boundary {name!r}: a number, or a function of x and y; given is {type(value).__name__}")
    alpha, g = data if kind == "robin" else (0.0, *(data or [0.0]))
    return kind, g if callable(g) else float(g), alpha if callable(alpha) else float(alpha)


def _with_bodies(mesh: PatchMesh, boundaries: Any, bodies: Any) -> tuple[PatchMesh, dict[str, tuple[str, Any, Any]], Any, list[int]]:
    """The mesh that bodies leave, the conditions on its boundaries, K of bodies on its cells, nan elsewhere, and cells of bodies."""
    conditions = _conditions(mesh, boundaries)
    given = [_body_of(which, body) for which, body in enumerate(bodies_of(bodies), 1)]
    if not given:
        return mesh, conditions, None, []
    mesh, own_k, cells = around_bodies(mesh, given)
    surfaces = {f"body {number}": ("neumann", 0.0, 0.0) if kind == "no-flux" else ("dirichlet", value, 0.0)
                for number, (_, kind, value) in enumerate(given, 1)}
    left = mesh.boundaries
    return mesh, {name: one for name, one in (conditions | surfaces).items() if name in left}, own_k or None, cells


def _body_of(which: int, given: Any) -> tuple[Any, str, Any]:
    if not isinstance(given, tuple) or (len(given), given[1:2] == ("no-flux",)) not in ((2, True), (3, False)):
        raise ValueError(f'body {which} on patches is (inside, "value", g), (inside, "no-flux") or (inside, "k", k); given is {given!r}')
    inside, kind, value = (*given, 0.0)[:3]
    if not callable(inside):
        raise TypeError(f"body {which}: on patches its shape is a function of x and y, above 0 inside; given is {type(inside).__name__}")
    return inside, str(kind), value if callable(value) else number(f"{kind} of body {which}", value)


def _diffusion(mesh: PatchMesh, nodes: list[tuple[np.ndarray, np.ndarray]], kappa: Any, own: list[np.ndarray] | None) -> list[np.ndarray] | None:
    """K of every cell, `own` where that is a number; None where it is that of the file."""
    if own is None and (kappa is None or (np.isscalar(kappa) and kappa == 1)):
        return None
    k = _on_cells(mesh, nodes, 1.0 if kappa is None else kappa)
    return k if own is None else [np.where(np.isnan(mine), given, mine) for mine, given in zip(own, k)]


def _corners(a: np.ndarray) -> tuple[np.ndarray, ...]:
    return a[:-1, :-1], a[:-1, 1:], a[1:, :-1], a[1:, 1:]


def _on_cells(mesh: PatchMesh, nodes: list[tuple[np.ndarray, np.ndarray]], kappa: Any) -> list[np.ndarray]:
    """K of every cell, times that of the file's patches."""
    of_patch = mesh.kappa or [1.0] * mesh.patches
    given = _of_patches("kappa", kappa, len(nodes))
    cells = []
    for (x, y), k, factor in zip(nodes, given, of_patch):
        if callable(k):
            k = values_of("kappa", k, *(np.mean(_corners(line), axis=0) for line in (x, y)))
        else:
            k = array_of("kappa", k, [(x.shape[0] - 1, x.shape[1] - 1)])
        cells.append(np.ascontiguousarray(np.broadcast_to(factor * np.asarray(k), (x.shape[0] - 1, x.shape[1] - 1))))
    return cells


def _loads(nodes: list[tuple[np.ndarray, np.ndarray]], f: Any) -> list[np.ndarray]:
    """Integrals of f phi_i over every patch, by 4 x 4 Gauss points a cell."""
    given = _of_patches("f", f, len(nodes))
    loads = []
    for (x, y), of_patch in zip(nodes, given):
        load = np.zeros(x.shape)
        on = None if callable(of_patch) else np.broadcast_to(array_of("f", of_patch, [x.shape]), x.shape)
        sw_x, se_x, nw_x, ne_x = _corners(x)
        sw_y, se_y, nw_y, ne_y = _corners(y)
        for s, ws in zip(_t, _weight):
            for t, wt in zip(_t, _weight):
                phi = ((1 - t) * (1 - s), t * (1 - s), (1 - t) * s, t * s)

                def between(values: np.ndarray) -> np.ndarray:
                    return sum(w * part for w, part in zip(phi, _corners(values)))  # type: ignore[return-value]

                det = (((1 - s) * (se_x - sw_x) + s * (ne_x - nw_x)) * ((1 - t) * (nw_y - sw_y) + t * (ne_y - se_y))
                       - ((1 - s) * (se_y - sw_y) + s * (ne_y - nw_y)) * ((1 - t) * (nw_x - sw_x) + t * (ne_x - se_x)))
                value = values_of("f", of_patch, between(x), between(y)) if on is None else between(on)
                part = value * det * (ws * wt)
                for w, target in zip(phi, _corners(load)):
                    target += w * part
        loads.append(load)
    return loads
