"""Options of PyAMG's constructors: what they mean on a grid, and why others mean nothing there."""

from __future__ import annotations

from typing import Any

_SMOOTHERS = {"gauss_seidel": "colour_gs", "block_gauss_seidel": "colour_gs", "jacobi": "jacobi", "block_jacobi": "jacobi"}
_COARSENING = "coarse grids are every other node of the grid, down to one that is solved directly; leave it out"
_MEANINGLESS = {
    "B": "constants are known on a grid; several unknowns at each node are for stratum.Components", "BH": "as for B",
    "strength": _COARSENING, "CF": _COARSENING, "aggregate": _COARSENING, "max_levels": _COARSENING, "max_coarse": _COARSENING,
    "coarse_solver": _COARSENING, "smooth": "interpolation follows the matrix; leave it out",
    "improve_candidates": "there are no candidates; leave it out",
    "diagonal_dominance": "smoothers take every row; leave it out", "keep": "levels are not kept as matrices; leave it out",
}


def of_pyamg(given: dict[str, Any], smoother: str, sweeps: int | None, symmetric: bool | None) -> tuple[str, int | None, bool | None]:
    """smoother, sweeps and symmetric, with what `given` says of them. Raises TypeError for options that mean nothing here."""
    given = dict(given)
    smoothers = [_smoother(name, given.pop(name)) for name in ("presmoother", "postsmoother") if name in given]
    if smoothers:
        if smoother != "auto" or sweeps is not None:
            raise TypeError("presmoother and postsmoother are smoother= and sweeps= here; give either")
        if smoothers[0] != smoothers[-1]:
            raise TypeError("presmoother and postsmoother are the same here: cycles mirror what they do before the coarse correction")
        smoother, sweeps = smoothers[0]
    if "symmetry" in given:
        kind = given.pop("symmetry")
        if kind not in ("hermitian", "symmetric", "nonsymmetric"):
            raise TypeError(f"symmetry is 'hermitian', 'symmetric' or 'nonsymmetric'; not {kind!r}")
        if kind != "nonsymmetric":
            if symmetric is False:
                raise TypeError(f"symmetry={kind!r} and symmetric=False exclude each other")
            symmetric = True
    for name, value in given.items():
        if name in _MEANINGLESS:
            raise TypeError(f"{name}={_short(value)} of PyAMG means nothing on a grid: {_MEANINGLESS[name]}")
        raise TypeError(f"stratum.Multigrid has no option {name!r}")
    return smoother, sweeps, symmetric


def _smoother(name: str, given: Any) -> tuple[str, int]:
    kind, options = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if not isinstance(kind, str) or kind not in _SMOOTHERS or not isinstance(options, dict):
        raise TypeError(f"{name} is 'gauss_seidel' or 'jacobi', or a tuple of this and {{'sweep': ..., 'iterations': ...}}, for all "
                        f"levels; not {_short(given)}. Lines are smoother='line_x', 'line_y' or 'adi'")
    unknown = set(options) - {"sweep", "iterations"}
    if unknown:
        raise TypeError(f"{name} takes 'sweep' and 'iterations' here; not {', '.join(map(repr, sorted(unknown)))}")
    # A sweep to and fro is two.
    return _SMOOTHERS[kind], int(options.get("iterations", 1)) * (2 if options.get("sweep") == "symmetric" else 1)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else type(value).__name__
