"""Gradients of solves around bodies, in what the bodies have too, against finite differences of the solves themselves."""

import re

import numpy as np
import pytest
import stratum

tight = dict(rtol=1e-13, on_failure="ignore")
faces = ("left", "right", "bottom", "top", "front", "back")


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def rectangle(rng):
    return stratum.mesh(widths=(rng.uniform(0.4, 1, 10), rng.uniform(0.4, 1, 9)))


def box(rng):
    return stratum.mesh(widths=tuple(rng.uniform(0.4, 1, n) for n in (7, 6, 5)))


def cells(mesh, *ranges):
    """A body: ranges along x, y, z."""
    mask = np.zeros(mesh.cells, dtype=bool)
    mask[tuple(slice(*r) for r in ranges[::-1])] = True
    return mask


def numbers(rng, mesh, kinds):
    """New values for bodies of these kinds."""
    return {k: {"value": rng.standard_normal(mesh.shape), "number": 0.7, "k": rng.uniform(1, 3, mesh.cells), "contact": 0.4}[kind]
            for k, kind in enumerate(kinds) if kind != "no-flux"}


def solved(problem, **data):
    return np.nan_to_num(stratum.gradients.vjp(problem, **data, **tight)[0])


def expect_derivative(loss, gradient, at, rng):
    along = rng.standard_normal(np.shape(at))
    step = 1e-4
    values = [loss(at + k * step * along) for k in (-2, -1, 1, 2)]
    difference = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    assert np.shape(gradient) == np.shape(at)
    assert np.sum(gradient * along) == pytest.approx(difference, rel=1e-6, abs=1e-9 * abs(values[0]))


def check(problem, rng, **data):
    """Every gradient of a sum of u with weights, which bodies' nodes have too."""
    weights = rng.standard_normal(problem.mesh.shape)
    loss = lambda **changed: np.sum(weights * solved(problem, **data | changed))
    u, pullback = stratum.gradients.vjp(problem, **data, **tight)
    of = pullback(np.where(np.isnan(u), np.nan, weights))
    for name in data:
        value = data[name]
        if isinstance(value, dict):
            for key, one in value.items():
                expect_derivative(lambda one: loss(**{name: value | {key: one}}), getattr(of, name)[key], one, rng)
        elif isinstance(value, tuple):
            for k, one in enumerate(value):
                expect_derivative(lambda one: loss(**{name: (*value[:k], one, *value[k + 1:])}), of.kappa[k], one, rng)
        elif name != "project":
            expect_derivative(lambda one: loss(**{name: one}), getattr(of, name), value, rng)
    return u, of


def bodies_of(mesh):
    return [(cells(mesh, (0, 3), (2, 5)), "value", 1.0), (cells(mesh, (5, 7), (1, 3)), "no-flux"),
            (cells(mesh, (4, 9), (5, 8)), "k", 3.0), (cells(mesh, (4, 9), (5, 8)), "contact", 0.3),
            (cells(mesh, (8, 9), (1, 3)), "value", lambda x, y: x + y)]


@pytest.mark.parametrize("boundaries", [{}, {"left": "neumann", "right": ("robin", lambda x, y: 1 + y, 0.5), "top": ("neumann", 1.0)},
                                        {"left": "periodic", "right": "periodic", "top": "neumann"}])
@pytest.mark.parametrize("kappa", ["own", "number", "tensor"])
def test_in_a_rectangle(boundaries, kappa, rng):
    mesh = rectangle(rng)
    problem = stratum.Poisson(mesh, boundaries, lambda x, y: 1 + x * y, 0.2, bodies=bodies_of(mesh), threads=1)
    k = rng.uniform(1, 2, (3, *mesh.cells))
    data = {"own": {}, "number": {"kappa": 1.4}, "tensor": {"kappa": (k[0], k[1] - 1.5, k[2])}}[kappa]
    g = {name: rng.standard_normal(mesh.shape[0] if name in ("left", "right") else mesh.shape[1]) for name in faces[:4]
         if boundaries.get(name) != "periodic"}
    bodies = numbers(rng, mesh, ["number", "no-flux", "k", "contact", "value"])
    check(problem, rng, f=rng.standard_normal(mesh.shape), bodies=bodies, boundaries=g, reaction=rng.uniform(0, 1, mesh.cells), **data)


def test_u_is_that_of_solve(rng):
    mesh = rectangle(rng)
    k, f = rng.uniform(1, 2, mesh.cells), lambda x, y: np.sin(3 * x) + y
    problem = stratum.Poisson(mesh, {"left": 1.0, "top": ("neumann", 2.0)}, k, bodies=bodies_of(mesh), threads=1)
    expected = problem.solve(f, **tight).u
    u, pullback = stratum.gradients.vjp(problem, f, **tight)
    np.testing.assert_allclose(u, expected, rtol=0, atol=1e-11)
    assert np.isnan(u).sum() == 1                                  # between the four cells of the solid
    given = {0: 1.0, 2: 3.0, 3: 0.3}
    again, other = stratum.gradients.vjp(problem, f, kappa=k, bodies=given, boundaries={"left": 1.0}, **tight)
    np.testing.assert_allclose(again, expected, rtol=0, atol=1e-11)
    one, two = pullback(np.ones_like(u)), other(np.ones_like(u))
    np.testing.assert_allclose(one.kappa, two.kappa, rtol=1e-8, atol=1e-10)
    assert one.bodies.keys() == two.bodies.keys() == {0, 2, 3, 4}
    assert all(one.bodies[n] == pytest.approx(two.bodies[n], rel=1e-8) for n in one.bodies)
    # K of a solid and of a held body is of no effect, and K below another K neither.
    assert (one.kappa[problem._given.options["bodies"][1][0] > 0] == 0).all()
    # The problem with these numbers itself.
    changed = stratum.Poisson(mesh, {"left": 1.0, "top": ("neumann", 2.0)}, k, threads=1, bodies=[
        (inside, kind, *([] if kind == "no-flux" else [{0: 5.0, 2: 7.0, 3: 0.9}.get(n, value[0] if value else 0)]))
        for n, (inside, kind, *value) in enumerate(bodies_of(mesh))])
    u = stratum.gradients.vjp(problem, f, bodies={0: 5.0, 2: 7.0, 3: 0.9}, **tight)[0]
    np.testing.assert_allclose(u, changed.solve(f, **tight).u, rtol=0, atol=1e-11)


def test_rooms_that_nothing_holds(rng):
    mesh = rectangle(rng)
    walls = dict.fromkeys(faces[:4], "neumann")
    problem = stratum.Poisson(mesh, walls, bodies=[(cells(mesh, (4, 6), (0, 9)), "no-flux")], threads=1)
    assert problem.singular
    check(problem, rng, f=rng.standard_normal(mesh.shape), kappa=rng.uniform(0.5, 2, mesh.cells), project=True)


def test_a_held_body_across_a_periodic_boundary(rng):
    mesh = rectangle(rng)
    ends = {"left": "periodic", "right": "periodic"}
    for inside in (cells(mesh, (8, 10), (3, 5)), cells(mesh, (0, 1), (3, 5)), cells(mesh, (0, 1), (3, 5)) | cells(mesh, (9, 10), (3, 5))):
        check(stratum.Poisson(mesh, ends, bodies=[(inside, "value", 1.0)], threads=1), rng, f=1.0,
              bodies={0: rng.standard_normal(mesh.shape)})


@pytest.mark.parametrize("kinds", ["held", "materials", "all"])
def test_in_a_box(kinds, rng):
    mesh = box(rng)
    held = [(cells(mesh, (0, 3), (1, 3), (1, 3)), "value", 1.0), (cells(mesh, (4, 6), (3, 5), (0, 3)), "no-flux")]
    wall = cells(mesh, (4, 6), (0, 3), (3, 5))
    materials = [(wall, "k", 3.0), (wall, "contact", 0.3)]
    bodies = {"held": held, "materials": materials, "all": held + materials}[kinds]
    boundaries = {"left": "neumann", "top": ("neumann", 1.0), "back": 2.0}
    problem = stratum.Poisson3D(mesh, boundaries, bodies=bodies, threads=1)
    g = {name: rng.standard_normal([n for d, n in enumerate(mesh.shape) if d != 2 - faces.index(name) // 2]) for name in faces}
    kappa = rng.uniform(1, 2, mesh.cells) if kinds != "materials" else (1.2, rng.uniform(1, 2, mesh.cells), 0.9)
    check(problem, rng, f=rng.standard_normal(mesh.cells), kappa=kappa, boundaries=g,
          bodies=numbers(rng, mesh, [kind for _, kind, *_ in bodies]))
    f = rng.standard_normal(mesh.shape)
    u = stratum.gradients.vjp(problem, f, **tight)[0]
    np.testing.assert_allclose(u, problem.solve(f, **tight).u, rtol=0, atol=1e-11)
    assert np.isnan(u).any() == (kinds != "materials")


@pytest.mark.parametrize("bodies, words", [
    ({9: 1.0}, "numbered from 0 to 4"), ({"left": 1.0}, "not 'left'"), ({1: 1.0}, "bodies[1] lets nothing in"),
    ({0: np.ones(3)}, "bodies[0], 'value', is a number or has shape (10, 11)"), ({3: np.ones((9, 10))}, "is a number; given is (9, 10)"),
    ({2: np.ones((10, 11))}, "has shape (9, 10)"), ({3: -1.0}, "must not be negative"), ([1.0], "bodies are a dictionary"),
    ({2: -1.0}, "positive"), ({0: np.inf}, "finite"),
])
def test_refused(bodies, words, rng):
    mesh = rectangle(rng)
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        stratum.gradients.vjp(stratum.Poisson(mesh, bodies=bodies_of(mesh)), 1.0, bodies=bodies)


def test_held_bodies_that_touch_have_one_value(rng):
    mesh = rectangle(rng)
    two = [(cells(mesh, (2, 4), (2, 4)), "value", 1.0), (cells(mesh, (4, 6), (4, 6)), "value", 1.0)]
    problem = stratum.Poisson(mesh, bodies=two)
    with pytest.raises(ValueError, match=re.escape("bodies[0] and bodies[1] touch, and have one value")):
        stratum.gradients.vjp(problem, 1.0, bodies={1: 2.0})
    stratum.gradients.vjp(problem, 1.0)
    with pytest.raises(ValueError, match="the problem has no bodies"):
        stratum.gradients.vjp(stratum.Poisson(mesh), 1.0, bodies={0: 1.0})


def small(rng):
    mesh = stratum.mesh(widths=(rng.uniform(0.4, 1, 6), rng.uniform(0.4, 1, 5)))
    bodies = [(cells(mesh, (0, 2), (1, 3)), "value", 1.0), (cells(mesh, (3, 5), (1, 4)), "k", 3.0),
              (cells(mesh, (3, 5), (1, 4)), "contact", 0.3), (cells(mesh, (4, 6), (4, 5)), "no-flux")]
    return stratum.Poisson(mesh, {"left": "neumann", "top": "neumann", "right": "neumann"}, bodies=bodies, threads=1)


def test_in_torch(rng):
    torch = pytest.importorskip("torch")
    problem = small(rng)
    mesh = problem.mesh
    tensor = lambda a: torch.tensor(a, dtype=torch.float64, requires_grad=True)
    data = [tensor(a) for a in (rng.standard_normal(mesh.shape), rng.uniform(1, 2, mesh.cells), rng.standard_normal(mesh.shape), 2.0, 0.5)]

    def u(f, k, g, inside, r):
        return stratum.torch.solve(problem, f, kappa=k, bodies={0: g, 1: inside, 2: r}, **tight).nan_to_num()

    checks = dict(eps=1e-5, atol=1e-7, rtol=1e-6, fast_mode=True)
    assert torch.autograd.gradcheck(u, data, **checks) and torch.autograd.gradgradcheck(u, data, **checks)
    expected, pullback = stratum.gradients.vjp(problem, data[0].detach().numpy(), bodies={0: data[2].detach().numpy(), 1: 2.0, 2: 0.5},
                                               kappa=data[1].detach().numpy(), **tight)
    assert np.isnan(expected).any()
    u(*data).sum().backward()
    of = pullback(np.ones_like(expected))
    for tensor, gradient in zip(data, (of.f, of.kappa, *of.bodies.values())):
        np.testing.assert_allclose(tensor.grad, gradient, rtol=1e-9, atol=1e-12)


def test_in_jax(rng):
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    problem = small(rng)
    mesh = problem.mesh
    with jax.enable_x64(True):
        data = tuple(map(jax.numpy.asarray, (rng.standard_normal(mesh.shape), rng.uniform(1, 2, mesh.cells),
                                             rng.standard_normal(mesh.shape), 2.0, 0.5)))

        def u(f, k, g, inside, r):
            return jax.numpy.nan_to_num(stratum.jax.solve(problem, f, kappa=k, bodies={0: g, 1: inside, 2: r}, **tight))

        check_grads(u, data, order=2, atol=1e-6, rtol=1e-6, eps=1e-4)
        loads = jax.numpy.stack([data[0], 2 * data[0]])
        each = jax.jit(jax.vmap(u, (0, None, None, None, None)))(loads, *data[1:])
        np.testing.assert_allclose(each[1], u(loads[1], *data[1:]), atol=1e-11)
        # The resistance at which the mean of u is 1.
        of_r = lambda r: u(data[0], data[1], data[2], data[3], r).mean()
        assert float(jax.jit(jax.grad(of_r))(0.5)) == pytest.approx(float(of_r(0.501) - of_r(0.499)) / 0.002, rel=1e-5)
