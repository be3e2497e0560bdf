"""Bodies of a problem (bodies= of stratum.Poisson and stratum.Poisson3D) as gradients take them.

    value, no-flux    no equation in their cells; u = g at the nodes of the first, no u at nodes that only the second touch
    k                 K_dd = k in its cells
    contact           1 / K_dd becomes 1 / K_dd + w_d r, K_xy is scaled by the root of both factors

w_d, zero in most cells, is the compiled part's. What is differentiated by g, k and r is K of the cells and g of the nodes.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np

_Entry = tuple[int, int]


class Bodies:
    def __init__(self, mesh: Any, given: list[tuple[Any, ...]], periodic: list[int], is_dirichlet: np.ndarray, system: Any) -> None:
        for number, (inside, _, value) in enumerate(given):
            if text := [one for one in (inside, value) if isinstance(one, str)]:
                raise ValueError(f"bodies[{number}] has the expression {text[0]!r}; gradients take numbers, arrays and functions")
        self.shape, self.cells = mesh.shape, mesh.cells
        self.kinds: list[str] = [kind for _, kind, _ in given]
        self.values: list[Any] = [value for *_, value in given]
        self.inside: list[np.ndarray] = [np.broadcast_to(np.asarray(inside, dtype=float) > 0, mesh.cells) for inside, *_ in given]
        solid = [inside for inside, kind in zip(self.inside, self.kinds) if kind in ("value", "no-flux")]
        self.live: np.ndarray = ~np.any(solid, axis=0) if solid else np.ones(mesh.cells, dtype=bool)
        self.has_materials = bool({"k", "contact"} & set(self.kinds))
        self._weights = system.contact_weights() if "contact" in self.kinds else ()
        joined = self._joined(periodic)
        #: Of each held body the nodes, and of each node the one whose value it has: another one across a periodic boundary.
        self.held: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        #: Held bodies with nodes in common, which have one value.
        self.touching: list[tuple[int, int]] = []
        taken: dict[int, np.ndarray] = {}
        for number, inside in enumerate(self.inside):
            if self.kinds[number] != "value":
                continue
            own = np.flatnonzero(self._touched(inside))
            first, index = np.unique(joined[own], return_index=True)
            source = np.full(joined.size, -1)
            source[first] = own[index]
            source = source[joined]
            nodes = (source >= 0) & ~is_dirichlet.ravel()
            self.touching += [(other, number) for other, theirs in taken.items() if (theirs & nodes).any()]
            free = nodes & ~np.any([*taken.values()], axis=0) if taken else nodes
            taken[number] = nodes
            self.held[number] = free.reshape(self.shape), np.where(free, source, np.arange(joined.size))
        self.is_held: np.ndarray = np.any([nodes for nodes, _ in self.held.values()], axis=0) if self.held \
            else np.zeros(self.shape, dtype=bool)
        touched = np.zeros(joined.size, dtype=bool)
        touched[joined[self._touched(self.live).ravel()]] = True
        in_held = [self._touched(inside) for inside, kind in zip(self.inside, self.kinds) if kind == "value"]
        if in_held:
            touched[joined[np.any(in_held, axis=0).ravel()]] = True
        #: Nodes without an equation and without a value; in a box those of faces inside of solids too.
        self.inactive: np.ndarray = ~touched[joined].reshape(self.shape)
        if len(self.shape) == 2:
            self.inactive &= ~is_dirichlet

    def _joined(self, periodic: list[int]) -> np.ndarray:
        """Of each node the number of the first one that is the same."""
        number = np.arange(int(np.prod(self.shape))).reshape(self.shape)
        for d in periodic:
            ends = np.moveaxis(number, -1 - d, 0)
            ends[-1] = ends[0]
        return number.ravel()

    def _touched(self, cells: np.ndarray) -> np.ndarray:
        """Nodes of cells."""
        nodes = np.zeros(self.shape, dtype=bool)
        for corner in itertools.product((slice(None, -1), slice(1, None)), repeat=cells.ndim):
            nodes[corner] |= cells
        return nodes

    def given(self, bodies: Any, array: Callable[[str, Any], Any]) -> dict[int, Any]:
        """What a user gives in place of the bodies' own numbers, checked: {number: array of the library}."""
        if not isinstance(bodies, dict):
            raise TypeError(f"bodies are a dictionary, {{0: g, ...}}; given is {type(bodies).__name__}")
        found = {}
        for number, value in bodies.items():
            if not isinstance(number, int) or not 0 <= number < len(self.kinds):
                raise ValueError(f"bodies are numbered from 0 to {len(self.kinds) - 1} in the order of the problem's bodies; not {number!r}")
            kind, label = self.kinds[number], f"bodies[{number}]"
            if kind == "no-flux":
                raise ValueError(f"{label} lets nothing in, and has no number that could be given")
            if kind == "value" and (pair := next((pair for pair in self.touching if number in pair), None)):
                raise ValueError(f"bodies[{pair[0]}] and bodies[{pair[1]}] touch, and have one value; make them one body, or leave a "
                                 "cell between them")
            one, expected = array(label, value), {"value": self.shape, "k": self.cells}.get(kind)
            shape = tuple(one.shape)
            if shape != () and (expected is None or shape[-len(expected):] != expected):
                raise ValueError(f"{label}, {kind!r}, is a number" + (f" or has shape {expected} on this mesh" if expected else "") +
                                 f"; given is {shape}")
            found[number] = one
        return found

    def of_kind(self, *kinds: str) -> list[int]:
        return [number for number, kind in enumerate(self.kinds) if kind in kinds]

    def materials(self, entries: Any, kappa: Any, values: Any, xp: Any,
                  constant: Callable[[np.ndarray], Any]) -> tuple[list[list[_Entry]], list[Any]]:
        """K of the cells, of K without bodies; values[number] is k or r of a body."""
        of = {place: k for places, k in zip(entries, kappa) for place in places}
        of = self._mixed(of, values, constant)
        if self._weights:
            by = self._factors(of, values, xp, constant)[0]
            of = {(d, e): k * by[d] if d == e else k * xp.sqrt(by[d] * by[e]) for (d, e), k in of.items()}
        return [[place] for place in of], list(of.values())

    def _mixed(self, of: dict[_Entry, Any], values: Any, constant: Callable[[np.ndarray], Any]) -> dict[_Entry, Any]:
        for number in self.of_kind("k"):
            inside = constant(self.inside[number].astype(float))
            of = {(d, e): k * (1 - inside) + (values[number] * inside if d == e else 0) for (d, e), k in of.items()}
        return of

    def _factors(self, of: dict[_Entry, Any], values: Any, xp: Any,
                 constant: Callable[[np.ndarray], Any]) -> tuple[list[Any], list[Any]]:
        """Of each axis the factor of K_dd, and w r."""
        r = sum(values[number] * constant(self.inside[number].astype(float)) for number in self.of_kind("contact"))
        r = xp.where(r < 0, np.nan, r)  # which the solver refuses
        through = [constant(np.asarray(w)) * r for w in self._weights]
        return [1 / (1 + through[d] * of[d, d]) for d in range(len(through))], through

    def materials_pullback(self, entries: Any, kappa: Any, values: Any, bars: list[np.ndarray]) -> tuple[list[np.ndarray], dict[int, Any]]:
        """In NumPy, of gradients in what `materials` returns those in kappa and in values."""
        mixed = self._mixed({place: k for places, k in zip(entries, kappa) for place in places}, values, np.asarray)
        bar = dict(zip(mixed, bars))
        found: dict[int, Any] = {}
        if self._weights:
            by, through = self._factors(mixed, values, np, np.asarray)
            scaled = {(d, e): one * by[d] if d == e else one * np.sqrt(by[d] * by[e]) for (d, e), one in bar.items()}
            of_r: Any = 0.0
            for d, w in enumerate(self._weights):
                of_factor = bar[d, d] * mixed[d, d]
                for (i, j), k in mixed.items():
                    if i != j and d in (i, j):
                        of_factor = of_factor + bar[i, j] * k * np.sqrt(by[i] * by[j]) / (2 * by[d])
                scaled[d, d] = scaled[d, d] - of_factor * by[d] ** 2 * through[d]
                of_r = of_r - of_factor * by[d] ** 2 * w * mixed[d, d]
            found |= {number: of_r * self.inside[number] for number in self.of_kind("contact")}
            bar = scaled
        outside = np.ones(self.cells)
        for number in self.of_kind("k"):
            found[number] = sum(bar[place] for place in bar if place[0] == place[1]) * self.inside[number]
            outside = outside * ~self.inside[number]
        return [sum(bar[place] for place in places) * outside for places in entries], found

    def on_nodes(self, values: dict[int, Any], constant: Callable[[np.ndarray], Any]) -> Any:
        """g of held bodies at all nodes, zero at others."""
        total: Any = 0.0
        for number, (nodes, source) in self.held.items():
            value = values[number]
            mask = constant(nodes.astype(float))
            if len(value.shape) > 0:
                batch = tuple(value.shape)[:-len(self.shape)]
                value = value.reshape((*batch, -1))[..., source].reshape((*batch, *self.shape))
            total = total + value * mask
        return total

    def on_nodes_pullback(self, bar: np.ndarray) -> dict[int, np.ndarray]:
        """Of a gradient at all nodes that in g of each held body, at its nodes."""
        found = {}
        for number, (nodes, source) in self.held.items():
            own = np.zeros(bar.size)
            np.add.at(own, source, (bar * nodes).ravel())
            found[number] = own.reshape(self.shape)
        return found

    def in_live_cells(self, mesh_axes: list[np.ndarray], f: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is zero in cells without an equation."""

        def masked(*points: np.ndarray) -> np.ndarray:
            cell = [np.clip(np.searchsorted(x, p, side="right") - 1, 0, x.size - 2) for x, p in zip(mesh_axes, points)]
            return np.where(self.live[tuple(cell[::-1])], np.asarray(f(*points), dtype=float), 0.0)

        return masked

    def without_materials(self, given: list[tuple[Any, ...]], at_zero: bool) -> list[tuple[Any, ...]]:
        """What holds u or lets nothing in, as the constructors take it; values zero where that is asked for."""
        return _as_given([body for body in given if body[1] in ("value", "no-flux")], at_zero)

    def all_of(self, given: list[tuple[Any, ...]], at_zero: bool) -> list[tuple[Any, ...]]:
        return _as_given(given, at_zero)


def _as_given(given: list[tuple[Any, ...]], at_zero: bool) -> list[tuple[Any, ...]]:
    return [(inside, kind) if kind == "no-flux" else (inside, kind, 0.0 if at_zero and kind == "value" else value)
            for inside, kind, value in given]
