"""Numbers, arrays and functions of users as arrays at nodes, on cells and as integrals, in two and three dimensions.

Axes are numbered x, y, z; in arrays x is the last one, so that axis d is array axis -1 - d.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from ._checks import expect_unmasked, number
from ._stratum import BoxMesh

# The 4-point Gauss rule on [0, 1], as the library integrates functions.
_t, _weight = np.polynomial.legendre.leggauss(4)
_t, _weight = (_t + 1) / 2, _weight / 2
_CORNERS = np.stack([_weight * (1 - _t), _weight * _t], axis=1)
_BLOCK = 1 << 19  # points that a function is given at once, but for a layer of cells, which it is given whole

# Of every boundary the axis across, and the node there.
_PLACES = {"left": (0, 0), "right": (0, -1), "bottom": (1, 0), "top": (1, -1), "front": (2, 0), "back": (2, -1)}


def coordinates(mesh: Any) -> list[np.ndarray]:
    return [mesh.x, mesh.y, mesh.z] if isinstance(mesh, BoxMesh) else [mesh.x, mesh.y]


def widths(mesh: Any) -> list[np.ndarray]:
    return [mesh.widths_x, mesh.widths_y, mesh.widths_z] if isinstance(mesh, BoxMesh) else [mesh.widths_x, mesh.widths_y]


def centres(mesh: Any) -> list[np.ndarray]:
    """Of cells."""
    return [x[:-1] + h / 2 for x, h in zip(coordinates(mesh), widths(mesh))]


def grid(axes: list[np.ndarray]) -> list[np.ndarray]:
    """Coordinates x, y, ... of the points of these axes, arrays with x last."""
    return list(np.meshgrid(*axes[::-1], indexing="ij"))[::-1]


def values_of(what: str, function: Callable[..., Any], *points: np.ndarray) -> np.ndarray:
    """function(x, y, ...) at points, arrays of one shape."""
    shape = points[0].shape
    values = function(*points)
    expect_unmasked(what, values)
    values = np.asarray(values)
    if values.dtype.kind not in "buif":
        raise TypeError(f"{what} is real; the function returned {values.dtype if values.dtype.kind != 'O' else type(values.item() if values.ndim == 0 else values.flat[0]).__name__}")
    values = values.astype(np.float64, copy=False)
    try:
        values = np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(f"{what} was called with arrays of shape {shape} and returned shape {values.shape}") from None
    if not np.isfinite(values).all():
        k = np.unravel_index(np.argmin(np.isfinite(values)), shape)
        where = ", ".join(f"{p[k]:.6g}" for p in points)
        raise ValueError(f"{what} is {values[k]} at ({where}); it must be finite")
    return values


def array_of(what: str, numbers: Any, shapes: list[tuple[int, ...]]) -> float | np.ndarray:
    """A float, or an array of one of these shapes in double."""
    expect_unmasked(what, numbers)
    array = np.asarray(numbers)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{what} is real; given is {array.dtype if array.dtype.kind != 'O' else type(numbers).__name__}")
    if array.ndim == 0:
        return float(array)
    if array.shape not in shapes:
        raise ValueError(f"{what} has shape {' or '.join(map(str, shapes))} on this mesh; given is {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite")
    return np.ascontiguousarray(array, dtype=np.float64)


def _on_boundary(mesh: Any, name: str, value: Any) -> float | str | np.ndarray:
    if isinstance(value, str):
        return value
    axes = coordinates(mesh)
    across, end = _PLACES[name]
    along = [axis for d, axis in enumerate(axes) if d != across]
    if callable(value):
        points = grid(along)
        points.insert(across, np.full(points[0].shape, axes[across][end]))
        return np.ascontiguousarray(values_of(f"the value of the {name} boundary", value, *points))
    return array_of(f"the value of the {name} boundary", value, [tuple(axis.size for axis in along[::-1])])


def boundary(mesh: Any, name: str, given: Any) -> tuple[Any, ...]:
    """(kind, g, alpha) of a boundary."""
    if isinstance(given, str) and given in ("periodic", "neumann"):
        return given, 0.0, 0.0
    if isinstance(given, (tuple, list)) and given and isinstance(given[0], str):
        kind, *data = given
        if (kind, len(data)) not in (("dirichlet", 1), ("neumann", 1), ("robin", 2)):
            raise ValueError(f"the {name} boundary: ('dirichlet', g), ('neumann', g), ('robin', alpha, g) or 'periodic'; "
                             f"not {kind!r} with {len(data)} numbers")
        *alpha, g = (_on_boundary(mesh, name, value) for value in data)
        return kind, g, alpha[0] if alpha else 0.0
    return "dirichlet", _on_boundary(mesh, name, given), 0.0


def boundaries_by_name(mesh: Any, names: tuple[str, ...], given: Any) -> list[tuple[Any, ...]]:
    """Those of these names, of a dictionary that may lack some, or of a value for all."""
    if not isinstance(given, dict):
        given = dict.fromkeys(names, given)
    unknown = set(given) - set(names)
    if unknown:
        listed = ", ".join(names[:-1]) + " and " + names[-1]
        raise ValueError(f"boundaries are {listed}; not {', '.join(map(repr, sorted(unknown)))}")
    return [boundary(mesh, name, given.get(name, 0.0)) for name in names]


def on_cells(mesh: Any, what: str, value: Any) -> float | str | np.ndarray:
    if isinstance(value, str):
        return value
    if callable(value):
        return np.ascontiguousarray(values_of(what, value, *grid(centres(mesh))))
    return array_of(what, value, [mesh.cells])


def body_of(mesh: Any, given: Any) -> tuple[Any, str, Any]:
    """(inside, kind, value) as the compiled part takes it."""
    if not isinstance(given, tuple) or (len(given), given[1:2] == ("no-flux",)) not in ((2, True), (3, False)):
        raise ValueError('a body is (inside, "value", g), (inside, "no-flux"), (inside, "k", k) or (inside, "contact", r); '
                         f"given is {given!r}")
    inside, kind, value = (*given, None)[:3]
    if kind not in ("value", "no-flux", "k", "contact"):
        raise ValueError(f"a body's kind is 'value', 'no-flux', 'k' or 'contact', not {kind!r}")
    inside = on_cells(mesh, "the shape of a body", inside)
    if kind == "k":
        value = on_cells(mesh, "K of a body", value)
    elif kind == "value" and callable(value):
        value = np.ascontiguousarray(values_of("the value of a body", value, *grid(coordinates(mesh))))
    elif kind == "value" and not isinstance(value, str):
        value = array_of("the value of a body", value, [mesh.shape])
    return inside, kind, number("the contact resistance of a body", value) if kind == "contact" else value


def _join(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Integrals at nodes, from what each cell adds to its two along the last axis."""
    nodes = np.zeros((*left.shape[:-1], left.shape[-1] + 1))
    nodes[..., :-1] = left
    nodes[..., 1:] += right
    return nodes


def _integrated(f: np.ndarray, d: int, integral: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """An integral along the last axis, taken along axis d."""
    return np.moveaxis(integral(np.moveaxis(f, -1 - d, -1)), -1, -1 - d)


def _of_cells(h: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda f: _join(f * (h / 2), f * (h / 2))


def _of_nodes(h: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The mass matrix of a direction."""
    return lambda f: _join((2 * f[..., :-1] + f[..., 1:]) * (h / 6), (f[..., :-1] + 2 * f[..., 1:]) * (h / 6))


def _of_points(h: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Of values at the Gauss points."""

    def integral(f: np.ndarray) -> np.ndarray:
        ends = f.reshape(*f.shape[:-1], h.size, 4) @ _CORNERS
        return _join(ends[..., 0] * h, ends[..., 1] * h)

    return integral


def loads(mesh: Any, f: Any) -> np.ndarray:
    """Integrals of f phi_i at all nodes."""
    if callable(f):
        return _loads_of_function(mesh, f)
    f = array_of("f", f, [mesh.shape, mesh.cells])
    if isinstance(f, float):
        return f * functools.reduce(np.multiply.outer, [_join(h / 2, h / 2) for h in reversed(widths(mesh))])
    of = _of_cells if f.shape == mesh.cells else _of_nodes
    for d, h in enumerate(widths(mesh)):
        f = _integrated(f, d, of(h))
    return np.ascontiguousarray(f)


def samples(mesh: Any, f: Any) -> float | np.ndarray:
    """f as a number, an array at nodes or on cells, or, of a function, an array of its values at the Gauss points."""
    return _at_points(mesh, f, _t) if callable(f) else array_of("f", f, [mesh.shape, mesh.cells])


def samples_of_two(mesh: Any, f: Callable[..., Any]) -> np.ndarray:
    """Of a function an array of its values at the Gauss points of the 2-point rule."""
    return _at_points(mesh, f, (np.polynomial.legendre.leggauss(2)[0] + 1) / 2)


def _at_points(mesh: Any, f: Callable[..., Any], t: np.ndarray) -> np.ndarray:
    """Values at places t of every cell, in every direction."""
    points = [(x[:-1, None] + w[:, None] * t).ravel() for x, w in zip(coordinates(mesh), widths(mesh))]
    return np.ascontiguousarray(values_of("f", f, *grid(points)))


def _loads_of_function(mesh: Any, f: Callable[..., Any]) -> np.ndarray:
    h = widths(mesh)
    points = [(x[:-1, None] + w[:, None] * _t).ravel() for x, w in zip(coordinates(mesh), h)]
    slowest = len(h) - 1
    load = np.zeros(mesh.shape)
    layers = max(1, _BLOCK // (4 * int(np.prod([p.size for p in points[:slowest]]))))  # of cells
    for first in range(0, h[slowest].size, layers):
        last = min(first + layers, h[slowest].size)
        values = values_of("f", f, *grid([*points[:slowest], points[slowest][4 * first:4 * last]]))
        for d in range(slowest):
            values = _integrated(values, d, _of_points(h[d]))
        load[first:last + 1] += _integrated(values, slowest, _of_points(h[slowest][first:last]))
    return load
