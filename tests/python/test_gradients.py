"""Gradients of solves in NumPy against finite differences of the solves themselves."""

import re
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import stratum
from stratum import _differentiable
from stratum._matrix_solves import matrix_solves_of

tight = dict(rtol=1e-13, on_failure="ignore")
two = ("left", "right", "bottom", "top")
three = (*two, "front", "back")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def rectangle(rng):
    return stratum.mesh(widths=(rng.uniform(0.1, 1, 9), rng.uniform(0.1, 1, 7)))


def box(rng):
    return stratum.mesh(widths=tuple(rng.uniform(0.1, 1, n) for n in (6, 5, 4)))


def expect_derivative(loss, gradient, at, rng):
    """loss along a direction, by central differences, and its gradient in the same direction."""
    along = rng.standard_normal(np.shape(at))
    step = 1e-4
    values = [loss(at + k * step * along) for k in (-2, -1, 1, 2)]
    difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    assert np.sum(gradient * along) == pytest.approx(difference, rel=1e-6, abs=1e-9 * abs(values[0]))


def side_shape(mesh, name):
    d = three.index(name) // 2
    return tuple(n for axis, n in enumerate(mesh.shape) if axis != len(mesh.shape) - 1 - d)


def check(problem, rng, **data):
    """Every gradient of a sum of u with weights."""
    weights = rng.standard_normal(problem.mesh.shape)
    u, pullback = stratum.gradients.vjp(problem, **data, **tight)
    gradients = pullback(weights)
    for name, value in data.items():
        if name == "boundaries":
            for side, g in value.items():
                loss = lambda g: np.sum(weights * stratum.gradients.vjp(problem, **data | {name: value | {side: g}}, **tight)[0])
                assert np.shape(gradients.boundaries[side]) == np.shape(g)
                expect_derivative(loss, gradients.boundaries[side], g, rng)
        elif isinstance(value, tuple):
            for k, one in enumerate(value):
                loss = lambda one: np.sum(weights * stratum.gradients.vjp(
                    problem, **data | {name: (*value[:k], one, *value[k + 1:])}, **tight)[0])
                assert np.shape(gradients.kappa[k]) == np.shape(one)
                expect_derivative(loss, gradients.kappa[k], one, rng)
        elif name != "project":
            loss = lambda one: np.sum(weights * stratum.gradients.vjp(problem, **data | {name: one}, **tight)[0])
            assert np.shape(getattr(gradients, name)) == np.shape(value)
            expect_derivative(loss, getattr(gradients, name), value, rng)
    return u, gradients


kinds = {
    "dirichlet": {},
    "mixed": {"left": "neumann", "right": ("robin", 2.0, 0.5), "top": ("neumann", 1.0)},
    "robin beside dirichlet": {"right": ("robin", lambda x, y: 1 + y * y, 0.0), "bottom": 1.0},
    "periodic": {"left": "periodic", "right": "periodic", "top": "neumann"},
}


@pytest.mark.parametrize("kind", kinds)
@pytest.mark.parametrize("f", ["nodes", "cells", "number"])
def test_on_a_rectangle(kind, f, rng):
    mesh = rectangle(rng)
    problem = stratum.Poisson(mesh, kinds[kind], threads=1)
    values = {name: rng.standard_normal(side_shape(mesh, name)) for name in two
              if (name not in kinds[kind] or kinds[kind][name] != "periodic")}
    load = {"nodes": rng.standard_normal(mesh.shape), "cells": rng.standard_normal(mesh.cells), "number": 1.5}[f]
    k = rng.uniform(0.5, 2, mesh.cells) if f != "number" else 1.7
    check(problem, rng, f=load, kappa=k, reaction=rng.uniform(0, 1, mesh.cells) if f == "nodes" else 0.3, boundaries=values)


def test_a_tensor(rng):
    mesh = rectangle(rng)
    k = (rng.uniform(1, 2, mesh.cells), rng.uniform(-0.5, 0.5, mesh.cells), rng.uniform(1, 2, mesh.cells))
    check(stratum.Poisson(mesh, 1.0, threads=1), rng, f=1.0, kappa=k)
    check(stratum.Poisson(mesh, 1.0, threads=1), rng, f=1.0, kappa=(k[0], 2.0))


def test_u_is_that_of_solve_and_its_own_data_have_gradients(rng):
    mesh = rectangle(rng)
    k, f, g = rng.uniform(0.5, 2, mesh.cells), rng.standard_normal(mesh.shape), rng.standard_normal(mesh.shape[1])
    make = lambda k, g: stratum.Poisson(mesh, {"bottom": g, "left": ("neumann", 2.0)}, k, 0.4, threads=1)
    problem = make(k, g)
    u, pullback = stratum.gradients.vjp(problem, f, **tight)
    np.testing.assert_allclose(u, problem.solve(f, rtol=1e-12).u, rtol=0, atol=1e-10 * abs(u).max())
    # What is given in place of the problem's own and is the same gives the same.
    again, other = stratum.gradients.vjp(problem, f, kappa=k, reaction=0.4, boundaries={"bottom": g}, **tight)
    np.testing.assert_allclose(u, again, rtol=0, atol=1e-10 * abs(u).max())
    w = rng.standard_normal(mesh.shape)
    one, two = pullback(w), other(w)
    all_of = lambda g: (g.f, g.kappa, g.reaction, *g.boundaries.values())
    for a, b in zip(all_of(one), all_of(two)):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
    loss = lambda k: np.sum(w * make(k, g).solve(f, **tight).u)
    expect_derivative(loss, one.kappa, k, rng)
    expect_derivative(lambda g: np.sum(w * make(k, g).solve(f, **tight).u), one.boundaries["bottom"], g, rng)


def test_functions_of_the_problem(rng):
    problem = stratum.Poisson(rectangle(rng), lambda x, y: x * y, lambda x, y: 1 + x)
    u, pullback = stratum.gradients.vjp(problem, lambda x, y: x - y)
    gradients = pullback(np.ones_like(u))
    assert gradients.f is None and gradients.kappa.shape == problem.mesh.cells and gradients.reaction == pytest.approx(
        gradients.reaction)
    assert gradients.boundaries["left"].shape == (problem.mesh.shape[0],)


def test_up_to_a_constant(rng):
    """Neumann boundaries alone: u has mean zero."""
    mesh = rectangle(rng)
    problem = stratum.Poisson(mesh, dict.fromkeys(two, "neumann"), threads=1)
    assert problem.singular
    check(problem, rng, f=rng.standard_normal(mesh.shape), kappa=rng.uniform(0.5, 2, mesh.cells), project=True,
          boundaries={name: rng.standard_normal(side_shape(mesh, name)) for name in two})


def test_in_thin_cells(rng):
    """Cells 400 times as long as wide beside the boundaries."""
    mesh = stratum.mesh("A3", 4)
    check(stratum.Poisson(mesh, threads=1), rng, f=rng.standard_normal(mesh.shape), kappa=rng.uniform(0.5, 2, mesh.cells))


@pytest.mark.parametrize("kind", ["direct", "multigrid", "mixed"])
def test_in_a_box(kind, rng):
    mesh = box(rng)
    boundaries = {"left": "neumann", "back": ("robin", 2.0, 0.0)} if kind == "mixed" else {}
    problem = stratum.Poisson3D(mesh, boundaries, threads=1)
    k = {"direct": 1.3, "multigrid": rng.uniform(0.5, 2, mesh.cells), "mixed": (1.0, rng.uniform(0.5, 2, mesh.cells), 2.0)}[kind]
    f = rng.standard_normal(mesh.cells if kind == "mixed" else mesh.shape)
    values = {name: rng.standard_normal(side_shape(mesh, name)) for name in three}
    check(problem, rng, f=f, kappa=k, reaction=0.5, boundaries=values)


def test_a_number_of_k_is_set_up_once(rng, monkeypatch):
    """u and its gradient use one hierarchy."""
    made = []
    init = stratum.Poisson.__init__
    counted = lambda self, *given, **options: (made.append(1), init(self, *given, **options))[1]
    monkeypatch.setattr(stratum.Poisson, "__init__", counted)
    mesh = rectangle(rng)
    problem = stratum.Poisson(mesh, {"left": 1.0})
    u, pullback = stratum.gradients.vjp(problem, 1.0)
    pullback(u)
    assert len(made) == 1
    u, pullback = stratum.gradients.vjp(problem, 1.0, kappa=rng.uniform(1, 2, mesh.cells), boundaries={"top": 3.0})
    pullback(u)
    pullback(2 * u)
    assert len(made) == 2


ny, nx = 9, 12


def matrix(data=None, wind=0.0):
    line = lambda n, w: sp.diags_array([np.full(n - 1, -1.0 - w), np.full(n, 2.0), np.full(n - 1, -1.0 + w)], offsets=[-1, 0, 1])
    return sp.kronsum(line(nx, wind), 3 * line(ny, 0), format="csr")


@pytest.mark.parametrize("wind", [0.0, 0.3])
def test_of_a_matrix(wind, rng):
    a = matrix(wind=wind)
    ml = stratum.Multigrid(a, shape=(ny, nx), threads=1)
    b, w = rng.standard_normal((2, ny, nx))
    x, pullback = stratum.gradients.vjp(ml, b, **tight)
    gradients = pullback(w)
    np.testing.assert_allclose(a @ x.ravel(), b.ravel(), atol=1e-9)
    exact = sp.linalg.spsolve(a.T.tocsc(), w.ravel())
    np.testing.assert_allclose(gradients.b.ravel(), exact, rtol=0, atol=1e-10 * abs(exact).max())
    assert gradients.data.shape == a.data.shape
    other = rng.uniform(0.9, 1.1, a.nnz) * a.data
    if wind:  # else it would not be symmetric any more; whose entries have a gradient all the same
        x, pullback = stratum.gradients.vjp(ml, b, data=other, **tight)
        expect_derivative(lambda d: np.sum(w * stratum.gradients.vjp(ml, b, data=d, **tight)[0]), pullback(w).data, other, rng)

    def directly(data):
        return w.ravel() @ sp.linalg.spsolve(sp.csr_array((data, a.indices, a.indptr), a.shape).tocsc(), b.ravel())

    expect_derivative(directly, gradients.data, a.data, rng)


def test_of_a_singular_matrix(rng):
    line = lambda n: sp.diags_array([-np.ones(n - 1), np.r_[1, 2 * np.ones(n - 2), 1], -np.ones(n - 1)], offsets=[-1, 0, 1])
    a = sp.kronsum(line(nx), line(ny), format="csr")
    ml = stratum.Multigrid(a, shape=(ny, nx), threads=1)
    b, w = rng.standard_normal((2, nx * ny))
    x, pullback = stratum.gradients.vjp(ml, b - b.mean(), **tight)
    exact = np.linalg.pinv(a.toarray(), rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(x, exact @ b, atol=1e-9)
    np.testing.assert_allclose(pullback(w).b, exact @ w, atol=1e-9)


@pytest.mark.parametrize("call, words", [
    (lambda p: stratum.gradients.vjp(p, np.ones(3)), "f has shape (8, 10) or (7, 9)"),
    (lambda p: stratum.gradients.vjp(p, 1.0, kappa=np.ones((9, 7))), "kappa is a number or has shape (7, 9)"),
    (lambda p: stratum.gradients.vjp(p, 1.0, kappa=(1.0,)), "(kxx, kxy, kyy); given are 1"),
    (lambda p: stratum.gradients.vjp(p, 1.0, kappa=np.nan), "kappa must be finite"),
    (lambda p: stratum.gradients.vjp(p, 1.0, boundaries={"front": 1.0}), "left, right, bottom, top; not 'front'"),
    (lambda p: stratum.gradients.vjp(p, 1.0, boundaries={"left": np.ones(3)}), "the left boundary is a number or has shape (8,)"),
    (lambda p: stratum.gradients.vjp(p, 1.0, boundaries=1.0), "boundaries are a dictionary, {\"left\": g, ...}; given is float"),
    (lambda p: stratum.gradients.vjp(p, 1.0, kappa=(None, 2.0)), "kappa is real numbers; given is NoneType"),
    (lambda p: stratum.gradients.vjp(p, 1.0)[1](np.ones(3)), "u_bar has the shape of u, (8, 10); given is (3,)"),
    (lambda p: stratum.gradients.vjp(p, 1.0, data=1.0), "data are the entries of a matrix"),
    (lambda p: stratum.gradients.vjp("p", 1.0), "given is str"),
    (lambda p: stratum.gradients.vjp(stratum.Multigrid(matrix()), 1.0), "b has shape (108,) or (9, 12)"),
    (lambda p: stratum.gradients.vjp(stratum.Multigrid(matrix()), np.ones(108), kappa=2), "a matrix has data="),
    (lambda p: stratum.gradients.vjp(stratum.Multigrid(matrix()), np.ones(108), data=[1.0]), "one number for each entry"),
    (lambda p: stratum.gradients.vjp(stratum.Multigrid(np.ones((5, 4, 4)) * np.array([9, -1, -1, -1, -1])[:, None, None]), 1.0),
     "made of bands"),
])
def test_refused(call, words, rng):
    with pytest.raises((ValueError, TypeError), match="(?s).*" + re.escape(words)):
        call(stratum.Poisson(rectangle(rng)))


def test_a_gradient_that_did_not_converge_says_so(rng):
    problem = stratum.Poisson(stratum.mesh("A3", 5), accel="cg", smoother="jacobi")
    with pytest.warns(stratum.ConvergenceWarning) as caught:
        u, pullback = stratum.gradients.vjp(problem, 1.0, rtol=1e-12, maxiter=1)
    assert caught[0].filename == __file__
    with pytest.raises(stratum.ConvergenceError):
        stratum.gradients.vjp(problem, 1.0, maxiter=1, on_failure="raise")


def test_what_is_changed_in_place_meanwhile_changes_nothing(rng):
    mesh = rectangle(rng)
    k, f, g = rng.uniform(0.5, 2, mesh.cells), rng.standard_normal(mesh.shape), rng.standard_normal(mesh.shape[1])
    own = k.copy()
    problem = stratum.Poisson(mesh, {"bottom": g}, own, threads=1)
    w = rng.standard_normal(mesh.shape)
    expected = stratum.gradients.vjp(problem, f, reaction=0.5)[1](w)
    own *= 3
    g *= 5
    u, pullback = stratum.gradients.vjp(problem, f, reaction=0.5)
    u *= 7
    found = pullback(w)
    np.testing.assert_array_equal(found.kappa, expected.kappa)
    np.testing.assert_array_equal(found.boundaries["bottom"], expected.boundaries["bottom"])
    u, pullback = stratum.gradients.vjp(problem, f, kappa=k)
    expected = pullback(w).kappa
    k *= 2
    np.testing.assert_array_equal(pullback(w).kappa, expected)


def test_a_matrix_that_changes_meanwhile_is_refused(rng):
    a = matrix(wind=0.3)
    ml = stratum.Multigrid(a, shape=(ny, nx), threads=1)
    x, pullback = stratum.gradients.vjp(ml, np.ones(nx * ny))
    a.data *= 2
    with pytest.raises(ValueError, match="changed in place"):
        pullback(x)
    ml.update(a)
    with pytest.raises(ValueError, match="was updated after the solve"):
        pullback(x)
    stratum.gradients.vjp(ml, np.ones(nx * ny))[1](x)


def test_one_fmg_cycle_has_no_gradient(rng):
    problem = stratum.Poisson(rectangle(rng), cycle="fmg", threads=1)
    with pytest.raises(TypeError, match="gradients take solves to a tolerance; give accel='cg'"):
        stratum.gradients.vjp(problem, 1.0)
    _differentiable.kept_solves(problem)  # solves for f on a GPU, which is no question of gradients
    with pytest.raises(TypeError, match="gradients take solves to a tolerance"):
        stratum.gradients.vjp(problem, 1.0)


@pytest.mark.parametrize("axes", [2, 3])
def test_loads_of_a_batch_are_solved_side_by_side(axes):
    cells = (12, 10, 8)[:axes]
    mesh = stratum.mesh(cells=cells)
    one = (stratum.Poisson if axes == 2 else stratum.Poisson3D)(mesh, {"left": 1.0}, threads=2)
    f = np.random.default_rng(3).standard_normal((2, 4, *mesh.shape))
    solves = _differentiable.solves_of(one)
    loads = np.array([[one._load(own) for own in row] for row in f])
    u = solves.solve(_differentiable.Stop(), loads, solves.entries, (None,), None, None, True)
    assert len(one._side_by_side) == 2
    for k in np.ndindex(2, 4):
        np.testing.assert_allclose(u[k], one.solve(f[k], rtol=1e-10).u, rtol=0, atol=1e-9)
    if axes == 2:
        with pytest.warns(stratum.ConvergenceWarning, match="max iterations"):
            solves.solve(_differentiable.Stop(rtol=1e-10, maxiter=1), loads, solves.entries, (None,), None, None, True)


def test_coordinates_are_refused():
    with pytest.raises(TypeError, match="coordinates='polar'"):
        stratum.gradients.vjp(stratum.Poisson((np.linspace(1, 2, 5), np.linspace(0, 1, 5)), coordinates="polar"), 1.0)


def test_threads_wait_for_each_other(rng):
    problem = stratum.Poisson(stratum.mesh(cells=(60, 60)), threads=1)
    solves, ml = _differentiable.solves_of(problem), stratum.Multigrid(matrix(), threads=1)
    load, b, found = rng.standard_normal(problem.mesh.shape), rng.standard_normal(ny * nx), []
    u, x = (lambda: solves.solve(_differentiable.Stop(), load, solves.entries, (None,), None, None, True)), \
        (lambda: matrix_solves_of(ml).solve(_differentiable.Stop(), None, b, False))
    expected = u(), x()
    many = [threading.Thread(target=lambda: found.extend([(u(), x()) for _ in range(5)])) for _ in range(4)]
    for one in many:
        one.start()
    for one in many:
        one.join()
    assert len(found) == 20
    for one in found:
        np.testing.assert_array_equal(one[0], expected[0])
        np.testing.assert_array_equal(one[1], expected[1])


def counted(monkeypatch, kind):
    made, init = [], kind.__init__
    monkeypatch.setattr(kind, "__init__", lambda self, *given, **options: (made.append(1), init(self, *given, **options))[1])
    return made


def test_in_a_box_u_and_its_gradient_use_one_hierarchy(rng, monkeypatch):
    """Whatever values faces have: they are taken off the load."""
    made = counted(monkeypatch, stratum.Poisson3D)
    mesh = stratum.mesh("A3", 3, "yz")
    problem = stratum.Poisson3D(mesh, {"left": lambda x, y, z: y + z, "top": ("neumann", 2.0), "back": -1.0}, lambda x, y, z: 1 + x * y * z)
    u, pullback = stratum.gradients.vjp(problem, 1.0)
    np.testing.assert_allclose(u, problem.solve(1.0).u, rtol=0, atol=1e-8)
    pullback(u)
    assert len(made) == 2                                  # the problem, and one without values
    k = rng.uniform(1, 2, mesh.cells)
    u, pullback = stratum.gradients.vjp(problem, 1.0, kappa=k, boundaries={"left": 3.0})
    pullback(u)
    stratum.gradients.vjp(problem, 1.0, kappa=k, boundaries={"left": 5.0})[1](u)
    assert len(made) == 3
    changed = stratum.Poisson3D(mesh, {"left": 3.0, "top": ("neumann", 2.0), "back": -1.0}, k)
    np.testing.assert_allclose(u, changed.solve(1.0).u, rtol=0, atol=1e-8)


def test_a_batch_of_coefficients_is_set_up_once(rng, monkeypatch):
    made = counted(monkeypatch, stratum.Poisson)
    mesh = rectangle(rng)
    problem = stratum.Poisson(mesh, threads=1)
    solves = _differentiable.solves_of(problem)
    k, load = rng.uniform(1, 2, (5, *mesh.cells)), rng.standard_normal(mesh.shape)
    once = lambda: solves.solve(_differentiable.Stop(), load, solves.entries, (k,), None, None, False)
    np.testing.assert_array_equal(once(), once())
    assert len(made) == 6
