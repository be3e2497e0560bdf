"""Bilinear elements without a matrix, in two and three dimensions: bilinear forms of each cell, A v, loads and fluxes.

A cell knows its corner values v by their means and differences along each axis. With z = (end of differences) the element matrix
of one axis, h the width, is

    mass       h [2 1; 1 2] / 6   = h (mean mean + difference difference / 12)
    stiffness  [1 -1; -1 1] / h   = difference difference / h

so that every form of a cell is a sum of products of such numbers, and A v is its transpose. All is slices and products: the
functions take and return arrays of NumPy, PyTorch or JAX (`xp` is the library), on their device, and are differentiated by it.
Axes are x, y, z; in arrays x is the last one. Axes before those of the mesh are a batch.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np


class Elements:
    """Those of a mesh, given by its widths along x, y (and z); constants of the mesh become arrays by `constant`. `live`: the cells
    that are integrated over, of all cells where it is None.
    """

    def __init__(self, widths: list[np.ndarray], xp: Any = np, constant: Callable[[np.ndarray], Any] = np.asarray,
                 live: np.ndarray | None = None) -> None:
        self.xp, self.axes, self._constant = xp, len(widths), constant

        def product(*without: int) -> Any:
            """Of the widths of every cell; those of axes that are named are divided by, once or twice."""
            total: Any = np.ones([1] * self.axes) if live is None else live
            for d, h in enumerate(widths):
                power = 1 - without.count(d)
                total = total * (h if power == 1 else 1 / h if power == -1 else np.ones(h.size)).reshape([-1] + [1] * d)
            return constant(total)

        self.volume = product()
        #: Of differences along d and e.
        self.scale = {(d, e): product(d, e) for d in range(self.axes) for e in range(d, self.axes)}
        self._kinds = list(itertools.product((False, True), repeat=self.axes))  # of each axis: whether it is a difference

    def _along(self, v: Any, d: int, first: bool) -> Any:
        """The first or the last corner of the cells along axis d."""
        index = [slice(None)] * self.axes
        index[-1 - d] = slice(None, -1) if first else slice(1, None)
        return v[(Ellipsis, *index)]

    def _corners(self, v: Any) -> dict[tuple[bool, ...], Any]:
        """Means and differences of the corners of each cell, of nodal values."""
        parts: dict[tuple[bool, ...], Any] = {(): v}
        for d in range(self.axes):
            parts = {(*kind, difference): self._along(part, d, False) - self._along(part, d, True) if difference
                     else (self._along(part, d, False) + self._along(part, d, True)) / 2
                     for kind, part in parts.items() for difference in (False, True)}
        return parts

    def _nodes(self, parts: dict[tuple[bool, ...], Any]) -> Any:
        """The transpose of _corners."""
        for d in reversed(range(self.axes)):
            joined: dict[tuple[bool, ...], Any] = {}
            for kind in itertools.product((False, True), repeat=d):
                mean, difference = parts.get((*kind, False)), parts.get((*kind, True))
                first = last = None
                if mean is not None:
                    first = last = mean / 2
                if difference is not None:
                    first = -difference if first is None else first - difference
                    last = difference if last is None else last + difference
                if first is not None:
                    joined[kind] = self._padded(first, d, False) + self._padded(last, d, True)
            parts = joined
        return parts[()]

    def _padded(self, v: Any, d: int, before: bool) -> Any:
        axis = len(v.shape) - 1 - d
        index = [slice(None)] * self.axes
        index[-1 - d] = slice(0, 1)
        zero = self.xp.zeros_like(v[(Ellipsis, *index)])
        return self.xp.concatenate([zero, v] if before else [v, zero], axis)

    def _terms(self, d: int | None, e: int | None) -> list[tuple[tuple[bool, ...], tuple[bool, ...], float]]:
        """(kind of v, kind of w, weight) of the integral of dv/dd dw/de, of v w where d is None."""
        terms = []
        for kind in self._kinds:
            if d == e:
                if d is None or kind[d]:
                    others = sum(kind) - (d is not None)
                    terms.append((kind, kind, 12.0 ** -others))
            elif d is not None and e is not None and not kind[d] and not kind[e]:
                one, other = (tuple(k == axis or on for k, on in enumerate(kind)) for axis in (d, e))
                terms.append((one, other, 12.0 ** -sum(kind)))
        return terms

    def form(self, v: Any, w: Any, d: int | None = None, e: int | None = None) -> Any:
        """Of every cell the integral of dv/dx_d dw/dx_e, of v w where d is None; for d != e that of both orders, added up."""
        e = d if e is None else e
        return self._form(self._corners(v), self._corners(w), d, e)

    def _form(self, v: dict[Any, Any], w: dict[Any, Any], d: int | None, e: int | None) -> Any:
        total = sum(weight * v[one] * w[other] for one, other, weight in self._terms(d, e))
        if d != e:
            total = total + sum(weight * v[other] * w[one] for one, other, weight in self._terms(d, e))
        return total * (self.volume if d is None or e is None else self.scale[min(d, e), max(d, e)])

    def forms(self, v: Any, w: Any, entries: list[tuple[int, int] | None]) -> list[Any]:
        """`form` for each of (d, e), or None: the mass."""
        v, w = self._corners(v), self._corners(w)
        return [self._form(v, w, *(entry or (None, None))) for entry in entries]

    def apply(self, v: Any, coefficients: dict[tuple[int, int] | None, Any]) -> Any:
        """A v at all nodes of A = -div(K grad) + c with natural boundaries: coefficients of (d, e), of None for c, each a number or
        an array on the cells.
        """
        parts = self._corners(v)
        found: dict[tuple[bool, ...], Any] = {}
        for entry, k in coefficients.items():
            d, e = entry or (None, None)
            scaled = k * (self.volume if entry is None else self.scale[entry])
            for one, other, weight in self._terms(d, e):
                pairs = [(one, other)] if d == e else [(one, other), (other, one)]
                for to, of in pairs:
                    term = weight * scaled * parts[of]
                    found[to] = found[to] + term if to in found else term
        return self._nodes(found)

    def integrals(self, f: Any) -> Any:
        """Integrals of f phi_i at all nodes, f given on the cells."""
        return self._nodes({(False,) * self.axes: f * self.volume})

    def mass(self, f: Any) -> Any:
        """The same of f linear between its values at the nodes."""
        return self.apply(f, {None: 1.0})
