"""Steps in time around bodies and by finite volumes, against what a mode of the discrete problem does, and what is refused."""

import numpy as np
import pytest

import stratum

N = 16
WALLS = dict.fromkeys(("left", "right", "bottom", "top"), "neumann")
LINE = np.linspace(0, 1, N + 1)
CENTRES = (LINE[1:] + LINE[:-1]) / 2
END, STEPS = 0.02, 8


def factor(method, rate):
    """What one step makes of a mode that decays at this rate."""
    z = -rate * END / STEPS
    if method == "euler":
        return 1 / (1 - z)
    if method == "crank-nicolson":
        return (1 + z / 2) / (1 - z / 2)
    g = 2 - np.sqrt(2)
    middle = (1 + g * z / 2) / (1 - g * z / 2)
    return (middle - (1 - g) ** 2) / (g * (2 - g)) / (1 - (1 - g) / (2 - g) * z)


def strip(first, last):
    return lambda x, *_: (x > first) & (x < last)


def between(x):
    return np.where(abs(x - 0.5) < 0.25, np.sin(2 * np.pi * (x - 0.25)), 0)


PLATES = [(strip(0, 0.25), "value", 0.0), (strip(0.75, 1), "value", 0.0)]
CEILING = [(lambda x, y: (y > 0.75) & (abs(x - 0.5) < 0.25), "no-flux")]
METHODS = ("euler", "crank-nicolson", "tr-bdf2")
tight = dict(rtol=1e-11, threads=1)


@pytest.mark.parametrize("method", METHODS)
def test_volumes_decay_as_their_modes_do(method):
    rate = 8 * N**2 * np.sin(np.pi / (2 * N)) ** 2
    mode = lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y)  # noqa: E731
    found = stratum.heat((LINE, LINE), mode, END, STEPS, method=method, discretisation="fv", **tight)
    assert found.u.shape == (2, N, N) and found.t.tolist() == [0, END] and found.iterations >= STEPS
    np.testing.assert_allclose(found.x, CENTRES)
    np.testing.assert_allclose(found.y, CENTRES)
    exact = mode(CENTRES, CENTRES[:, None])
    np.testing.assert_allclose(found.u[0], exact, atol=1e-15)
    np.testing.assert_allclose(found.u[1], factor(method, rate) ** STEPS * exact, atol=1e-8)
    of_array = stratum.heat((LINE, LINE), exact, END, STEPS, method=method, discretisation="fv", **tight)
    np.testing.assert_allclose(of_array.u, found.u, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("discretisation", ["elements", "fv"])
def test_bodies(method, discretisation):
    """Between two held plates below a ceiling that insulates u depends on x alone."""
    c, of_cells = np.cos(2 * np.pi / N), discretisation == "fv"
    rate = 2 * N**2 * (1 - c) * (1 if of_cells else 3 / (2 + c))
    seen = []
    t, u, *_ = stratum.heat((LINE, LINE), lambda x, y: between(x), END, STEPS, boundaries=WALLS, bodies=PLATES + CEILING, method=method,
                            discretisation=discretisation, frames=2, callback=lambda t, u: seen.append((t, u[0, N // 2])), **tight)
    expected = factor(method, rate) ** (STEPS / 2 * np.arange(3))[:, None] * between(CENTRES if of_cells else LINE)
    below = N // 4 * 3 - (0 if of_cells else 1)
    np.testing.assert_allclose(u[:, :below], np.broadcast_to(expected[:, None], u[:, :below].shape), atol=1e-8)
    assert np.isnan(u[:, -1, N // 2]).all() and (u[:, -1, 0] == 0).all()
    assert len(seen) == STEPS and seen[-1] == (END, u[-1, 0, N // 2])


@pytest.mark.parametrize("method", METHODS)
def test_bodies_in_a_box(method):
    """Whose masses are lumped."""
    rate = 2 * N**2 * (1 - np.cos(2 * np.pi / N))
    y = np.linspace(0, 1, 5)
    solid = [(lambda x, y, z: (y > 0.5) & (z > 0.5) & (abs(x - 0.5) < 0.25), "no-flux")]
    t, u, mesh, _ = stratum.heat((LINE, y, y), lambda x, y, z: between(x), END, STEPS, method=method, bodies=PLATES + solid,
                                 boundaries=WALLS | {"front": "neumann", "back": "neumann"}, **tight)
    assert u.shape == (2, 5, 5, N + 1) and np.isnan(u[:, -1, -1, N // 2]).all()
    expected = factor(method, rate) ** STEPS * between(LINE)
    np.testing.assert_allclose(u[1, :2], np.broadcast_to(expected, u[1, :2].shape), atol=1e-8)


@pytest.mark.parametrize("discretisation", ["elements", "fv"])
def test_the_end_is_the_steady_solution(discretisation):
    data = dict(kappa=lambda x, y: 1 + x, reaction=0.5, boundaries={"left": 1.0, "right": ("robin", 2.0, 1.0), "top": "neumann"},
                discretisation=discretisation,
                bodies=[(lambda x, y: np.hypot(x - 0.3, y - 0.3) < 0.15, "value", 2.0), (lambda x, y: y > 0.7, "k", 5.0),
                        (lambda x, y: y > 0.7, "contact", 0.3), (lambda x, y: (x > 0.7) & (y < 0.3), "no-flux")])
    mesh = stratum.mesh(cells=(24, 20), grading=("uniform", "tanh:2,both"))
    f = lambda x, y: 3 * np.sin(5 * x) * y  # noqa: E731
    u = stratum.heat(mesh, 0.0, 100.0, 10, f=f, method="euler", **data, **tight).u[-1]
    steady = stratum.poisson(mesh, f, rtol=1e-11, threads=1, on_failure="ignore", **data).u
    np.testing.assert_allclose(u, steady, atol=1e-7)
    nodes = np.full(mesh.cells if discretisation == "fv" else mesh.shape, 3.0)
    both = [stratum.heat(mesh, 1.0, 0.1, 3, f=g, **data, **tight).u for g in (3.0, nodes, lambda x, y: 3 + 0 * x, lambda x, y, t: 3 + 0 * x)]
    for other in both[1:]:
        np.testing.assert_allclose(other, both[0], atol=1e-9)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("options", [dict(), dict(discretisation="fv"), dict(bodies=[(strip(0, 0.3), "no-flux")])])
def test_f_in_time(axes, options):
    """u = 1 + t^2 / 2 of f = t, to which the method is exact."""
    if axes == 3 and "discretisation" in options:
        pytest.skip("finite volumes are for rectangles")
    mesh = (np.linspace(0, 1, 9),) * axes
    f = (lambda x, y, t: t + 0 * x) if axes == 2 else (lambda x, y, z, t: t + 0 * x)
    closed = dict.fromkeys([*WALLS, "front", "back"][:2 * axes], "neumann")
    u = stratum.heat(mesh, 1.0, 2.0, 10, f=f, boundaries=closed, method="tr-bdf2", **options, **tight).u
    np.testing.assert_allclose(u[-1][np.isfinite(u[-1])], 3.0, atol=1e-8)
    assert np.isnan(u[-1]).any() == ("bodies" in options)


def test_linear_f_in_time_is_integrated_where_it_lies():
    """As the same f at rest: two points integrate it."""
    mesh = stratum.mesh(cells=(7, 5), size=(2, 1), grading="cosine")
    for options in (dict(discretisation="fv"), dict(bodies=[(lambda x, y: x < 0.4, "value", 1.0)])):
        at_rest, moving = (stratum.heat(mesh, 0.0, 0.1, 2, f=f, **options, **tight).u
                           for f in (lambda x, y: 1 + 2 * x - 3 * y + x * y, lambda x, y, t: 1 + 2 * x - 3 * y + x * y))
        np.testing.assert_allclose(moving, at_rest, atol=1e-9)


def test_what_python_raises_ends_the_steps():
    bodies = dict(bodies=[(strip(0, 0.3), "no-flux")], boundaries=WALLS)

    def late(x, y, t):
        return x / 0 if t > 0.05 else x if t < 0.01 else 1 / int(t > 1)

    with pytest.raises(ZeroDivisionError):
        stratum.heat((LINE, LINE), 0.0, 0.1, 4, f=late, **bodies)
    with pytest.raises(ValueError, match=r"f is nan at \("):
        stratum.heat((LINE, LINE), 0.0, 0.1, 4, f=lambda x, y, t: x * np.nan, **bodies)
    with pytest.raises(KeyError, match="stop"):
        stratum.heat((LINE, LINE), 0.0, 0.1, 4, callback=lambda t, u: {}["stop"], **bodies)
    with pytest.raises(stratum.ConvergenceError, match="a step of 1000 at t = 0 was not solved"):
        stratum.heat(("A2", 6), lambda x, y: x * y, 1e3, 1, method="tr-bdf2", smoother="jacobi", accel="multigrid")


@pytest.mark.parametrize("arguments, words", [
    (dict(method="midpoint", bodies=PLATES), "beside bodies and by finite volumes method is one of euler, crank-nicolson, tr-bdf2; not 'midpoint'"),
    (dict(method="midpoint", discretisation="fv"), "by finite volumes method is one of"),
    (dict(discretisation="fem"), "'elements' or 'fv'; given is 'fem'"), (dict(coordinates="polar", bodies=PLATES), "not 'polar'"),
    (dict(bodies=PLATES, cycle="fmg"), "cycle='fmg' is for one solve"), (dict(discretisation="fv", kappa=(1, 0.1, 1)), "a diagonal K"),
    (dict(bodies=[(strip(2, 3), "value", 1.0)]), "holds no cell"), (dict(bodies=PLATES, initial=np.ones((3, 3))), "initial value has shape"),
    (dict(discretisation="fv", initial=np.ones((N + 1, N + 1))), "initial value has shape"), (dict(bodies=PLATES, f=np.ones(3)), "f has shape"),
    (dict(bodies=PLATES, rtol=-1.0), "-1")])
def test_what_is_refused(arguments, words):
    initial = arguments.pop("initial", 1.0)
    with pytest.raises(ValueError, match=words):
        stratum.heat((LINE, LINE), initial, 0.1, 2, **arguments)


def test_no_volumes_in_a_box():
    with pytest.raises(ValueError, match="finite volumes are for rectangles"):
        stratum.heat((LINE, LINE, LINE), 1.0, 0.1, 2, discretisation="fv")


@pytest.mark.parametrize("axes", [2, 3])
def test_boundaries_hold_from_the_start(axes):
    """Where they differ from the initial value all methods begin as the programs' do, and nothing overshoots."""
    mesh = (np.linspace(0, 1, 5),) + (np.linspace(0, 1, 3),) * (axes - 1)
    walls = dict.fromkeys(("right", "bottom", "top") + ("front", "back") * (axes == 3), "neumann")
    beside = {}
    for method in ("euler", "midpoint", "crank-nicolson", "tr-bdf2"):
        found = stratum.heat(mesh, 1.0, 1e-3, 400, boundaries={"left": 0.0, **walls}, method=method, rtol=1e-10, threads=1)
        assert (found.u[0][..., 0] == 0).all() and (found.u[0][..., 1:] == 1).all()
        beside[method] = found.u[-1].reshape(-1, 5)[0, 1]
    np.testing.assert_allclose(list(beside.values()), 0.9751, atol=2e-4)
