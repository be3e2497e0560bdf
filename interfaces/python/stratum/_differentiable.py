"""Solves as functions of their data, for gradients.

A problem's u at all nodes is a function of loads b (integrals of f phi_i and of fluxes g phi_i), of K and c by cells and of g at
Dirichlet nodes. With lambda, the solution for the loads u_bar and zero boundary data, of the same A,

    b_bar = lambda      K_bar = -(integral of grad lambda . grad u over each cell)      c_bar = -(integral of lambda u)
    g_bar = (u_bar - A lambda) at Dirichlet nodes and those of held bodies
"""

from __future__ import annotations

import threading
from typing import Any, Callable, NamedTuple

import numpy as np

from . import _report
from ._bodies import Bodies
from ._checks import iterations, number
from ._elements import Elements
from ._mesh import as_mesh
from ._on_device import OnDevice, capsule, contiguous, like
from ._poisson import Poisson
from ._poisson_3d import Poisson3D
from ._problem import Problem
from ._sampling import _PLACES, coordinates, loads, widths
from ._stratum import BoxMesh, Mesh

_KEPT = 2  # systems of different coefficients
_KEPT_NODES = 1_000_000  # of a batch of them


class Stop(NamedTuple):
    """How solves end. No tolerance given: 1e-10, or what rounding allows."""

    rtol: float | None = None
    maxiter: int = 100
    on_failure: str = "warn"
    project: bool = False

    @classmethod
    def of(cls, rtol: Any, maxiter: Any, on_failure: str, project: bool) -> Stop:
        """What a user gives, checked."""
        _report.check_on_failure(on_failure)
        return cls(None if rtol is None else number("rtol", rtol), iterations(maxiter), on_failure, project)

    @property
    def tolerance(self) -> float:
        return 1e-10 if self.rtol is None else self.rtol


class _Latest:
    """The systems that were made last, found by the arrays that they were made of."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []
        self.most = _KEPT

    def find(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        for k, (other, system) in enumerate(self._kept):
            if len(other) == len(key) and all(a is b or np.array_equal(a, b) for a, b in zip(other, key)):
                self._kept.insert(0, self._kept.pop(k))
                return system
        system = make()
        self._kept.insert(0, (tuple(np.array(a) if isinstance(a, np.ndarray) else a for a in key), system))
        del self._kept[self.most:]
        return system


def refuse_matrix_data() -> None:
    raise TypeError("data are the entries of a matrix, and shape is its grid; a problem has kappa=, reaction=, boundaries= and bodies=")


class Data(NamedTuple):
    """Data of a problem in arrays of one library; None stands for the problem's own."""

    load: Any               # with the fluxes of boundaries, if these are given
    entries: Any            # of each of kappa
    kappa: tuple[Any, ...]
    reaction: Any
    values: Any             # at Dirichlet nodes and those of held bodies


class Solves:
    """Those of a problem with other data: of stratum.Poisson and stratum.Poisson3D."""

    def __init__(self, problem: Problem[Any]) -> None:
        self.problem, self.mesh = problem, problem.mesh
        _expect_plain(problem)
        self.axes = 3 if isinstance(self.mesh, BoxMesh) else 2
        self.names, given = problem._sides, problem._given
        self.sides = dict(zip(self.names, given.boundaries))
        #: K as it was given: entries (d, d) of a scalar are one number or array.
        self.entries: list[list[tuple[int, int]]]
        self.kappa: list[Any]
        self.entries, self.kappa = entries_of(self._own_kappa(), self.axes)
        self.reaction = given.reaction
        self.widths = widths(self.mesh)
        self._latest = _Latest()
        self.lock = threading.RLock()  # JAX and PyTorch call from threads of their own
        self.of_tensors: list[Any] = []  # entries, tensors on a GPU, system
        self._calculi: dict[Any, Any] = {}
        self.is_dirichlet: np.ndarray = np.zeros(self.mesh.shape, dtype=bool)
        for name in self.names:
            if self.sides[name][0] == "dirichlet":
                self.is_dirichlet[self.at(name)] = True
        #: Axes whose last nodes are the first ones.
        self.periodic = [_PLACES[name][0] for name in self.names[::2] if self.sides[name][0] == "periodic"]
        for d in self.periodic:
            last, first = self._end(d, -1), self._end(d, 0)
            self.is_dirichlet[last] = self.is_dirichlet[first] = self.is_dirichlet[first] | self.is_dirichlet[last]
        bodies = problem._given.options["bodies"]
        self.bodies = Bodies(self.mesh, bodies, self.periodic, self.is_dirichlet, problem._system) if bodies else None
        #: Nodes that have a value.
        self.is_given = self.is_dirichlet if self.bodies is None else (self.is_dirichlet | self.bodies.is_held) & ~self.bodies.inactive
        #: Nodes whose values are taken off the load. Solvers on rectangles know those of boundaries; one in a box serves all values.
        self._lifted: np.ndarray = self.is_given if self.axes == 3 else self.is_given & ~self.is_dirichlet
        self._own: list[tuple[list[tuple[int, int]], np.ndarray]] | None = None

    def _own_kappa(self) -> Any:
        k = [1.0 if entry is None and d == 0 else entry for d, entry in enumerate(self.problem._given.kappa)]
        if k[1] is None and k[2] is None:
            return k[0]
        return tuple(entry for entry in k if entry is not None)

    def _end(self, d: int, end: int | slice) -> tuple[Any, ...]:
        index: list[Any] = [slice(None)] * self.axes
        index[-1 - d] = end
        return tuple(index)

    def at(self, name: str) -> tuple[Any, ...]:
        """Where the nodes of a boundary are in an array of all nodes."""
        d, end = _PLACES[name]
        return (Ellipsis, *self._end(d, end))

    def elements(self, xp: Any, constant: Callable[[np.ndarray], Any]) -> Elements:
        return Elements(self.widths, xp, constant, None if self.bodies is None else self.bodies.live)

    def numpy(self) -> Calculus:
        return self.calculus("numpy", lambda: Calculus(self, np, np.asarray))  # type: ignore[no-any-return]

    def own_coefficients(self) -> list[tuple[list[tuple[int, int]], np.ndarray]]:
        """Entries and K of the problem itself, with what bodies make of it."""
        if self._own is None:
            entries, kappa = self.entries, self.own_numbers()
            if self.bodies is not None and self.bodies.has_materials:
                entries, kappa = self.bodies.materials(entries, kappa, self.own_body_values(), np, np.asarray)
            self._own = list(zip(entries, kappa))
        return self._own

    def own_numbers(self) -> list[np.ndarray]:
        """K of the problem itself, as it was given."""
        if any(isinstance(k, str) for k in (*self.kappa, self.reaction)):
            raise ValueError("the problem has expressions as coefficients; gradients take numbers, arrays and functions")
        return [np.asarray(k, dtype=float) for k in self.kappa]

    def own_body_values(self) -> list[Any]:
        return [] if self.bodies is None else [np.asarray(0.0 if v is None else v, dtype=float) for v in self.bodies.values]

    def calculus(self, key: Any, make: Callable[[], Any]) -> Any:
        """A Calculus, or what uses one, by library and device; made at its first use."""
        if key not in self._calculi:
            self._calculi[key] = make()
        return self._calculi[key]

    def own_value(self, name: str) -> Any:
        g = self.sides[name][1]
        if isinstance(g, str):
            raise ValueError(f"the {name} boundary has the expression {g!r}; gradients take numbers, arrays and functions")
        return g

    def system(self, entries: Any, kappa: tuple[Any, ...], reaction: Any, values: tuple[Any, ...] | None) -> Problem[Any]:
        """A problem with these coefficients, None those of its own; in a box with these g, which are zero."""
        if self.axes == 2:
            values = None  # solves take them
        if all(k is None for k in (*kappa, reaction, values)):
            return self.problem
        own = kappa[0] is None if kappa else True
        key = (*(entries if not own else ()), *kappa, reaction, *(values or ()))

        def make() -> Problem[Any]:
            k = self._own_kappa() if own else kappa_of(entries, kappa)
            c = self.reaction if reaction is None else reaction
            sides = self.problem._given.boundaries
            boundaries = {name: (kind, *([alpha] if kind == "robin" else []), g if values is None else values[i])
                          if kind != "periodic" else kind
                          for i, (name, (kind, g, alpha)) in enumerate(zip(self.names, sides))}
            kind: Any = type(self.problem)
            options = self.problem._given.options
            if self.bodies is not None:
                with_materials = self.bodies.all_of if own else self.bodies.without_materials
                options = options | {"bodies": with_materials(options["bodies"], values is not None)}
            return kind(self.mesh, boundaries, k, c, **options)

        return self._latest.find(key, make)

    def solve(self, stop: Stop, load: np.ndarray, entries: Any, kappa: tuple[Any, ...], reaction: Any,
              g: np.ndarray | None, own_values: bool) -> np.ndarray:
        """u at all nodes, for loads at all nodes. g: values at nodes that have one, fluxes are in the load; else the problem's own
        data, or zero. K and c are arrays on the cells, or of one number, shape (1, 1); None: the problem's own. K is that of
        bodies' materials too. Axes before those of the mesh are a batch. Nodes without an equation have 0.
        """
        with self.lock:
            return self._solve_batch(stop, load, entries, kappa, reaction, g, own_values)

    def _solve_batch(self, stop: Stop, load: np.ndarray, entries: Any, kappa: tuple[Any, ...], reaction: Any,
                     g: np.ndarray | None, own_values: bool) -> np.ndarray:
        batch = np.broadcast_shapes(*(np.shape(a)[:-self.axes] for a in (load, g, *kappa, reaction) if a is not None))
        if batch == ():
            return self._solve(stop, load, entries, kappa, reaction, g, own_values)

        def of(a: np.ndarray | None, k: tuple[int, ...]) -> Any:
            """Of a system of the batch; the last axes are cells, nodes, or ones of a number."""
            return None if a is None else np.broadcast_to(a, batch + np.shape(a)[-self.axes:])[k]

        u = np.empty(batch + self.mesh.shape)
        indices = list(np.ndindex(*batch))
        # Of small ones a gradient finds all again.
        self._latest.most = max(_KEPT, min(len(indices), _KEPT_NODES // int(np.prod(self.mesh.shape))))
        if not indices or any(np.size(a) > np.prod(np.shape(a)[-self.axes:]) for a in (*kappa, reaction, g) if a is not None):
            for k in indices:
                u[k] = self._solve(stop, of(load, k), entries, tuple(of(a, k) for a in kappa), of(reaction, k), of(g, k), own_values)
            return u
        # One system, many loads.
        first = indices[0]
        values = self.values(of(g, first), own_values, np.asarray)
        reports: list[Any] = [None] * len(indices)

        given = g if g is None else of(g, first)
        k, c = tuple(of(a, first) for a in kappa), of(reaction, first)

        def one(compiled: Any, n: int) -> None:
            u[indices[n]], reports[n] = self._solved(compiled, stop, of(load, indices[n]), entries, k, c, given, values)

        self.system_of(entries, k, c, values)._for_each(len(indices), one)
        for at, report in zip(indices, reports):
            _report.judge(report, u[at], stop.on_failure, stop.rtol is not None)
        return u

    def _solve(self, stop: Stop, load: Any, entries: Any, kappa: Any, reaction: Any, g: Any, own_values: bool) -> np.ndarray:
        values = self.values(g, own_values, np.asarray)
        system = self.system_of(entries, kappa, reaction, values)
        u, report = self._solved(system._system, stop, load, entries, kappa, reaction, g, values)
        _report.judge(report, u, stop.on_failure, stop.rtol is not None)
        return u

    def _solved(self, compiled: Any, stop: Stop, load: Any, entries: Any, kappa: Any, reaction: Any, g: Any,
                values: tuple[Any, ...] | None) -> tuple[np.ndarray, Any]:
        held = None
        if g is not None and self._lifted.any():  # the solver has them at zero
            held = g * self._lifted
            load = load - self.numpy().apply(held, entries, kappa, reaction)
        load = np.ascontiguousarray(load, dtype=np.float64)
        more: dict[str, Any] = {"values": values} if self.axes == 2 and values is not None else {}
        # In a box around bodies another `project` takes another set-up.
        u, report = compiled.solve(load, stop.tolerance, 0.0, stop.maxiter, None, stop.project and compiled.singular, None,
                                   integrals=True, **more)
        if self.bodies is not None:
            u[self.bodies.inactive] = 0
        return u if held is None else np.where(self._lifted, held, u), report

    def values(self, g: Any, own_values: bool, on_host: Callable[[Any], np.ndarray]) -> tuple[Any, ...] | None:
        """g of each boundary, of one at all nodes (None: zero), as the compiled part takes them. None: the problem's own."""
        if own_values or (g is None and self.has_no_values()):
            return None
        return tuple(np.ascontiguousarray(on_host(g[self.at(name)]))
                     if g is not None and self.axes == 2 and self.sides[name][0] == "dirichlet" else 0.0 for name in self.names)

    def system_of(self, entries: Any, kappa: tuple[Any, ...], reaction: Any, values: tuple[Any, ...] | None) -> Problem[Any]:
        """`system` of arrays, those of one number as numbers."""
        number = lambda a: a if a is None or np.size(a) > 1 else float(np.reshape(a, ()))
        return self.system(entries, tuple(number(k) for k in kappa), number(reaction), values)

    @property
    def takes_loads_on_device(self) -> bool:
        """Whether a load on a GPU stays there."""
        return self.axes == 2 and self.bodies is None and self.problem._given.options["device"] == "cuda"

    def solve_on_device(self, stop: Stop, system: Problem[Any], load: Any, values: tuple[Any, ...] | None) -> Any:
        """u beside a load at all nodes on a GPU, an array of its library."""
        compiled = system._system
        u, report = compiled.solve_on_device(capsule(contiguous(load), compiled.stream), stop.tolerance, 0.0, stop.maxiter, None,
                                             stop.project, None, values)
        u = like(load, OnDevice(u, load))
        _report.judge(report, u, stop.on_failure, stop.rtol is not None)
        return u

    @property
    def takes_all_values(self) -> bool:
        """Whether the problem's own values are taken off the load too, so that a solve and its gradient have one set-up."""
        return self.axes == 3 and not self.has_no_values() and not any(isinstance(g, str) for _, g, _ in self.sides.values())

    def has_no_values(self) -> bool:
        held = () if self.bodies is None else [self.bodies.values[number] for number in self.bodies.held]
        return all(not isinstance(g, str) and not np.any(g) for g in (*held, *(g for _, g, _ in self.sides.values())))

    def is_singular(self, reaction: Any) -> bool:
        """Whether constants are in the null space: no Dirichlet nodes, no alpha, no c."""
        if self.bodies is not None:  # what bodies leave may be in several parts; the solver sees to each
            return False
        if self.is_dirichlet.any() or any(kind == "robin" and np.any(alpha) for kind, _, alpha in self.sides.values()):
            return False
        c = self.reaction if reaction is None else reaction
        return self.problem.singular if isinstance(c, str) else not bool((c != 0).any() if hasattr(c, "any") else c)


def _expect_plain(problem: Problem[Any]) -> None:
    """Refuses what elements here do not integrate, and says what to do."""
    options = problem._given.options
    if (options.get("discretisation", "elements"), options.get("coordinates", "cartesian")) != ("elements", "cartesian"):
        raise TypeError("gradients are those of elements in Cartesian coordinates; this problem has "
                        f"discretisation={options['discretisation']!r}, coordinates={options['coordinates']!r}")


def solves_of(problem: Problem[Any]) -> Solves:
    """For gradients, which take solves to a tolerance."""
    options = problem._given.options
    if options.get("cycle") == "fmg" and options.get("accel") is None:
        raise TypeError("cycle='fmg' is one FMG cycle, and gradients take solves to a tolerance; give accel='cg' beside it")
    return kept_solves(problem)


def kept_solves(problem: Problem[Any]) -> Solves:
    """Kept with the problem, so that coefficients that were set up are found again."""
    if not hasattr(problem, "_solves"):
        problem._solves = Solves(problem)  # type: ignore[attr-defined]
    return problem._solves  # type: ignore[attr-defined, no-any-return]


def as_problem(given: Any) -> Problem[Any]:
    """A problem as it is; of a mesh, u = 0 on the boundary and K = 1."""
    if isinstance(given, Problem):
        return given
    if isinstance(given, (Mesh, BoxMesh, tuple)):
        mesh = as_mesh(given)
        return Poisson3D(mesh) if isinstance(mesh, BoxMesh) else Poisson(mesh)
    raise TypeError("a problem is a stratum.Poisson, stratum.Poisson3D or a mesh, a matrix a stratum.Multigrid or a sparse "
                    f"tensor; given is {type(given).__name__}")


def entries_of(kappa: Any, axes: int) -> tuple[list[list[tuple[int, int]]], list[Any]]:
    """Of each number or array of K the entries (d, e) in which it stands."""
    if not isinstance(kappa, (tuple, list)) or (len(kappa) > 0 and isinstance(kappa[0], list)):  # rows of an array
        return [[(d, d) for d in range(axes)]], [kappa]
    if axes == 2 and len(kappa) == 3:
        return [[(0, 0)], [(0, 1)], [(1, 1)]], list(kappa)
    if len(kappa) != axes:
        several = "(kxx, kyy) or (kxx, kxy, kyy)" if axes == 2 else "(kx, ky, kz)"
        raise ValueError(f"kappa is one coefficient, or {several}; given are {len(kappa)}")
    return [[(d, d)] for d in range(axes)], list(kappa)


def kappa_of(entries: Any, kappa: tuple[Any, ...]) -> Any:
    """As the constructors take it."""
    return kappa[0] if len(kappa) == 1 else tuple(kappa)


class Calculus:
    """Loads, operator and derivatives of a problem in arrays of one library; `constant` makes one of an array of NumPy."""

    def __init__(self, solves: Solves, xp: Any, constant: Callable[[np.ndarray], Any]) -> None:
        self.solves, self.elements, self._constant = solves, solves.elements(xp, constant), constant
        self.given = constant(solves.is_given.astype(float))
        self._places = {name: self._mask(name) for name in solves.names}
        # Of Dirichlet sides that meet, the first ones win: left, right, bottom, top.
        self._owned, taken = {}, np.zeros(solves.mesh.shape, dtype=bool)
        for name in solves.names:
            if solves.sides[name][0] == "dirichlet":
                own = np.zeros_like(taken)
                own[solves.at(name)] = True
                self._owned[name] = constant((own & ~taken).astype(float))
                taken |= own
        self.ones_load = constant(solves.elements(np, np.asarray).integrals(np.ones(solves.mesh.cells)))
        self._inactive = None if solves.bodies is None or not solves.bodies.inactive.any() else constant(
            solves.bodies.inactive.astype(float))

    def _mask(self, name: str) -> Any:
        mask = np.zeros(self.solves.mesh.shape)
        mask[self.solves.at(name)] = 1
        return self._constant(mask)

    def _spread(self, name: str, v: Any, mask: Any) -> Any:
        """Values of a side, a number or an array at its nodes, at all nodes where the mask is one."""
        if len(v.shape) == 0:
            return v * mask
        index: list[Any] = [slice(None)] * (self.solves.axes - 1)
        index.insert(self.solves.axes - 1 - _PLACES[name][0], None)
        return v[(Ellipsis, *index)] * mask

    def _on_side(self, name: str, v: Any) -> Any:
        return v[self.solves.at(name)]

    def data(self, array: Callable[[str, Any], Any], f: Any, kappa: Any, reaction: Any, boundaries: Any, bodies: Any) -> Data:
        """Of what a user gives; array(what, numbers) is an array of the library in double."""
        of_bodies: dict[int, Any] = {}
        if bodies is not None:
            if self.solves.bodies is None:
                raise ValueError("the problem has no bodies; give them to its constructor")
            of_bodies = self.solves.bodies.given(bodies, array)
        entries, k = self._kappa(array, kappa, of_bodies)
        c = None if reaction is None else self.coefficient("the reaction", array("the reaction", reaction))
        load = self._constant(self._loads(f)) if callable(f) else self.load(array("f", f))
        g = None
        if boundaries is None and (any(number in of_bodies for number in self._held()) or self.solves.takes_all_values):
            boundaries = {}
        if boundaries is not None:
            if not isinstance(boundaries, dict):
                raise TypeError(f'boundaries are a dictionary, {{"left": g, ...}}; given is {type(boundaries).__name__}')
            load, g = self.boundaries(load, {name: array(f"the value of the {name} boundary", value)
                                             for name, value in boundaries.items()})
            if self.solves.bodies is not None and self._held():
                g = g + self.solves.bodies.on_nodes(self._body_values(of_bodies), self._constant)
        return Data(load, entries, k, c, g)

    def _loads(self, f: Callable[..., Any]) -> np.ndarray:
        mesh, bodies = self.solves.mesh, self.solves.bodies
        return loads(mesh, f if bodies is None else bodies.in_live_cells(coordinates(mesh), f))

    def _held(self) -> Any:
        return () if self.solves.bodies is None else self.solves.bodies.held

    def _body_values(self, given: dict[int, Any]) -> Any:
        """Those of all bodies, the problem's own where none is given."""
        return [given[number] if number in given else self._constant(own) for number, own in enumerate(self.solves.own_body_values())]

    def _kappa(self, array: Callable[[str, Any], Any], kappa: Any, of_bodies: dict[int, Any]) -> tuple[Any, tuple[Any, ...]]:
        """K of the cells, by entries; Nones stand for the problem's own."""
        solves, bodies = self.solves, self.solves.bodies
        materials = bodies if bodies is not None and bodies.has_materials else None
        if kappa is None and (materials is None or not of_bodies.keys() & set(materials.of_kind("k", "contact"))):
            return solves.entries, (None,) * len(solves.kappa)
        if kappa is None:
            entries, k = solves.entries, [self._constant(own) for own in solves.own_numbers()]
        else:
            entries, given = entries_of(kappa, solves.axes)
            k = [self.coefficient("kappa", array("kappa", one)) for one in given]
        if materials is not None:
            entries, k = materials.materials(entries, k, self._body_values(of_bodies), self.elements.xp, self._constant)
        return entries, tuple(k)

    def shown(self, u: Any) -> Any:
        """u as users get it: no number where there is no equation."""
        return u if self._inactive is None else self.elements.xp.where(self._inactive > 0, np.nan, u)

    def load(self, f: Any) -> Any:
        """Integrals of f phi_i: f a number, at the nodes or on the cells."""
        mesh, axes = self.solves.mesh, self.solves.axes
        shape = tuple(f.shape)
        if shape == ():
            return f * self.ones_load
        if shape[-axes:] == mesh.shape:
            return self.elements.mass(f)
        if shape[-axes:] == mesh.cells:
            return self.elements.integrals(f)
        raise ValueError(f"f has shape {mesh.shape} or {mesh.cells} on this mesh, after axes of a batch; given is {shape}")

    def coefficient(self, what: str, k: Any) -> Any:
        """On the cells, or of one number with as many axes."""
        shape, axes = tuple(k.shape), self.solves.axes
        if shape == ():
            return k.reshape((1,) * axes)
        if shape[-axes:] != self.solves.mesh.cells:
            raise ValueError(f"{what} is a number or has shape {self.solves.mesh.cells} on this mesh; given is {shape}")
        return k

    def boundaries(self, load: Any, given: dict[str, Any]) -> tuple[Any, Any]:
        """(load with the fluxes of all sides, values at Dirichlet nodes), `given` in place of the problem's own."""
        solves = self.solves
        unknown = [name for name in given if name not in solves.names or solves.sides[name][0] == "periodic"]
        if unknown:
            known = ", ".join(name for name in solves.names if solves.sides[name][0] != "periodic")
            raise ValueError(f"boundaries that have values are {known}; not {', '.join(map(repr, unknown))}")
        g = 0 * self.given
        for name in solves.names:
            kind = solves.sides[name][0]
            if kind == "periodic":
                continue
            value = given[name] if name in given else self._constant(np.asarray(solves.own_value(name), dtype=float))
            expected = solves.is_dirichlet[solves.at(name)].shape
            if len(value.shape) and tuple(value.shape)[1 - solves.axes:] != expected:
                raise ValueError(f"the value of the {name} boundary is a number or has shape {expected} on this mesh; given is "
                                 f"{tuple(value.shape)}")
            if kind == "dirichlet":
                g = g + self._spread(name, value, self._owned[name])
            else:
                if len(value.shape) == 0:
                    value = value * self._constant(np.ones(expected))
                load = load + self._spread(name, self.side_mass(name, value), self._places[name])
        for d in solves.periodic:  # the last nodes are the first ones
            first, last = np.zeros(solves.mesh.shape), np.zeros(solves.mesh.shape)
            last[solves._end(d, -1)] = 1
            g = g * self._constant(1 - last) + g[(Ellipsis, *solves._end(d, slice(0, 1)))] * self._constant(last)
        return load, g

    def apply(self, v: Any, entries: Any, kappa: tuple[Any, ...], reaction: Any) -> Any:
        """A v at all nodes, with Robin boundaries; coefficients that are None are the problem's own."""
        solves = self.solves
        own = solves.own_coefficients()
        coefficients: dict[Any, Any] = {}
        for places, k in zip(entries, kappa):
            coefficients |= dict.fromkeys(places, k)
        if kappa[0] is None:
            for places, k in own:
                coefficients |= dict.fromkeys(places, self._constant(k))
        coefficients[None] = self._constant(np.asarray(solves.reaction, dtype=float)) if reaction is None else reaction
        found = self.elements.apply(v, coefficients)
        for name in solves.names:
            kind, _, alpha = solves.sides[name]
            if kind == "robin":
                found = found + self._spread(name, self._robin(name, alpha, self._on_side(name, v)), self._places[name])
        return found

    def side_mass(self, name: str, g: Any) -> Any:
        """Integrals of g phi_i over a boundary, at its nodes; g linear between its values there."""
        d = _PLACES[name][0]
        along = [h for k, h in enumerate(self.solves.widths) if k != d]
        return Elements(along, self.elements.xp, self._constant, self._live_along(name)).mass(g)

    def _live_along(self, name: str) -> Any:
        return None if self.solves.bodies is None else self.solves.bodies.live[self.solves.at(name)]

    def _robin(self, name: str, alpha: Any, v: Any) -> Any:
        """Integrals of alpha v phi_i over a side, alpha and v linear between nodes."""
        if isinstance(alpha, str):
            raise ValueError(f"the {name} boundary has the expression {alpha!r}; gradients take numbers, arrays and functions")
        d = _PLACES[name][0]
        if np.ndim(alpha) == 0 or self.solves.axes == 3:
            return self.side_mass(name, v) * float(np.ravel(alpha)[0])
        live = self._live_along(name)
        h = self.solves.widths[1 - d] / 12 * (1 if live is None else live)
        a = np.asarray(alpha)
        begin, end, mixed = (self._constant(h * w) for w in (3 * a[:-1] + a[1:], a[:-1] + 3 * a[1:], a[:-1] + a[1:]))
        line = Elements([self.solves.widths[1 - d]], self.elements.xp, self._constant)
        first, last = v[..., :-1], v[..., 1:]
        return line._padded(begin * first + mixed * last, 0, False) + line._padded(mixed * first + end * last, 0, True)

    def derivatives(self, v: Any, u: Any, entries: Any) -> tuple[list[Any], Any]:
        """-(integral over each cell of dv/d du/de) for each coefficient of K, and -(integral of v u)."""
        flat = [place for places in entries for place in places]
        *forms, mass = self.elements.forms(v, u, [*flat, None])
        of = dict(zip(flat, forms))
        return [-sum(of[place] for place in places) for places in entries], -mass

    def balanced(self, u_bar: Any) -> Any:
        """Of a singular problem, whose solutions have mean zero."""
        axes = tuple(range(-self.solves.axes, 0))
        return u_bar - self.ones_load * (u_bar.sum(axes)[(...,) + (None,) * self.solves.axes] / self.ones_load.sum())

    def value_gradient(self, u_bar: Any, v: Any, entries: Any, kappa: tuple[Any, ...], reaction: Any) -> Any:
        """Of g, at nodes that have one."""
        return (u_bar - self.apply(v, entries, kappa, reaction)) * self.given
