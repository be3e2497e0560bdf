"""Poisson problems on meshes of patches."""

import numpy as np
import pytest

import stratum

DISC = """
cells 8
vertices
  a -0.3 -0.3
  b  0.3 -0.3
  c  0.3  0.3
  d -0.3  0.3
  A -0.70710678118654757 -0.70710678118654757
  B  0.70710678118654757 -0.70710678118654757
  C  0.70710678118654757  0.70710678118654757
  D -0.70710678118654757  0.70710678118654757
patches
  a b c d K=2
  A B b a K=2
  B C c b K=2
  C D d c K=2
  D A a d K=2
edges
  A B C D A  arc=0,0
boundaries
  C D A  left
  * right
"""


@pytest.fixture
def disc(tmp_path):
    path = tmp_path / "disc.patches"
    path.write_text(DISC)
    return path


def largest_error(solution, exact):
    return max(abs(u - exact(x, y)).max() for x, y, u in zip(*solution[:3]))


def test_the_error_falls_by_four(disc):
    errors = []
    for level in (1, 2):
        mesh = stratum.patches(disc, level=level)
        solution = stratum.poisson(mesh, 2.0)
        assert solution.report["converged"] and solution.report["iterations"] <= 9
        errors.append(largest_error(solution, lambda x, y: (1 - x * x - y * y) / 4))
    assert 3.5 < errors[0] / errors[1] < 4.5 and errors[1] < 1e-3


def test_mesh(disc):
    mesh = stratum.patches(disc, cells=4)
    assert (mesh.patches, mesh.cells, mesh.boundaries, mesh.kappa) == (5, 80, ["left", "right"], [2.0] * 5)
    x, y = mesh.nodes(1)
    assert x.shape == (5, 5) and np.allclose(np.hypot(x[0], y[0]), 1)
    assert mesh.halved().cells == 320
    with pytest.raises(ValueError, match="there is no patch 5"):
        mesh.nodes(5)
    with pytest.raises(OSError, match="nothing.patches"):
        stratum.patches("nothing.patches")
    disc.write_text(DISC.replace("* right", ""))
    with pytest.raises(ValueError, match="2 boundary edges have no name"):
        stratum.patches(disc)


def test_linear_solutions_are_exact(disc):
    mesh = stratum.patches(disc)
    exact = lambda x, y: 1 + 2 * x - y
    normal = lambda x, y: 2 * (2 * x - y)  # K grad u . n on the circle
    for right in (exact, ("dirichlet", exact)):
        solution = stratum.poisson(mesh, lambda x, y: 3 * exact(x, y), {"left": exact, "right": right}, reaction=3.0, rtol=1e-10)
        assert largest_error(solution, exact) < 1e-8
    # n is that of straight edges, not of the circle.
    for left in (("neumann", normal), ("robin", 1.0, lambda x, y: normal(x, y) + exact(x, y))):
        solution = stratum.poisson(stratum.patches(disc, level=2), 0.0, {"left": left, "right": exact})
        assert largest_error(solution, exact) < 2e-2


def test_kappa_by_patch_and_by_cell(disc):
    mesh = stratum.patches(disc)
    by_number = stratum.poisson(mesh, 1.0, kappa=3.0)
    shapes = [tuple(n - 1 for n in mesh.nodes(p)[0].shape) for p in range(mesh.patches)]
    for kappa in (lambda x, y: 3 + 0 * x, [3.0] * 5, [np.full(shape, 3.0) for shape in shapes]):
        same = stratum.poisson(mesh, [np.ones(x.shape) for x in by_number.x], kappa=kappa)
        assert all(np.allclose(u, v, rtol=0, atol=1e-9) for u, v in zip(by_number.u, same.u))
    assert np.isclose(by_number.u[0].max() * 3, stratum.poisson(mesh, 1.0).u[0].max(), rtol=1e-6)


def test_what_is_refused(disc):
    mesh = stratum.patches(disc)
    with pytest.raises(ValueError, match="boundaries of this mesh are left, right; not 'top'"):
        stratum.poisson(mesh, 1.0, {"top": 0.0})
    with pytest.raises(ValueError, match="'left' is g, 'neumann'"):
        stratum.poisson(mesh, 1.0, {"left": "periodic"})
    with pytest.raises(ValueError, match="kappa has 2 entries, and the mesh 5 patches"):
        stratum.poisson(mesh, 1.0, kappa=[1.0, 2.0])
    with pytest.raises(ValueError, match="K is -2"):
        stratum.poisson(mesh, 1.0, kappa=-1.0)
    with pytest.raises(ZeroDivisionError):
        stratum.poisson(mesh, 1.0, {"left": lambda x, y: 1 / 0})
    with pytest.raises(ValueError, match="project"):
        stratum.poisson(mesh, 1.0, {"left": "neumann", "right": "neumann"})


def test_heat_decays_in_a_disc(disc):
    """u = exp(-2 t) (1 - r^2), f to match: K of the file is 2."""
    errors = []
    for level in (0, 1):
        mesh = stratum.patches(disc, level=level)
        exact = lambda x, y, t: np.exp(-2 * t) * (1 - x * x - y * y)  # noqa: E731
        called = []
        t, x, y, u, iterations = stratum.heat(
            mesh, lambda x, y: exact(x, y, 0), 0.2, 20, f=lambda x, y, t: np.exp(-2 * t) * (8 - 2 * (1 - x * x - y * y)),
            frames=2, callback=lambda t, u: called.append((t, len(u))))
        assert t.tolist() == [0.0, 0.1, 0.2] and u[0].shape == (3, *x[0].shape) and iterations > 0
        assert len(called) == 20 and called[-1] == (0.2, 5)
        errors.append(max(abs(v[2] - exact(a, b, 0.2)).max() for v, a, b in zip(u, x, y)))
    assert 3.4 < errors[0] / errors[1] < 4.6 and errors[1] < 3e-3


def test_heat_on_patches_ends_at_the_steady_solution(disc):
    mesh = stratum.patches(disc)
    data = {"kappa": lambda x, y: 1 + x * x, "boundaries": {"left": ("robin", 2.0, lambda x, y: y), "right": 1.0}, "reaction": 0.5}
    steady = stratum.poisson(mesh, 3.0, **data)
    for method in ("tr-bdf2", "euler"):
        *_, u, _ = stratum.heat(mesh, 2.0, 100.0, 20, f=3.0, method=method, **data)
        assert max(abs(a[-1] - b).max() for a, b in zip(u, steady.u)) < 1e-5
    start = [np.full(x.shape, p) for p, x in enumerate(steady.x)]
    *_, u, _ = stratum.heat(mesh, start, 1e-3, 1, **data)
    assert all((v[0] == p).all() for p, v in enumerate(u))


def test_heat_on_patches_refuses(disc):
    mesh = stratum.patches(disc)
    with pytest.raises(ValueError, match="method is one of euler, crank-nicolson, tr-bdf2; not 'midpoint'"):
        stratum.heat(mesh, 0.0, 1.0, 2, method="midpoint")
    with pytest.raises(ValueError, match="the initial value has 2 entries, and the mesh 5 patches"):
        stratum.heat(mesh, [0.0, 1.0], 1.0, 2)
    with pytest.raises(ValueError, match="in at least one step"):
        stratum.heat(mesh, 0.0, 1.0, 0)
    with pytest.raises(stratum.ConvergenceError, match="iterations"):
        stratum.heat(mesh, 1.0, 1.0, 2, maxiter=1, rtol=1e-13, on_failure="raise", f=1.0)


ROOM = """
cells 32
vertices
  a 0 0
  b 1 0
  c 2 0
  d 0 1
  e 1 1
  f 2 1
patches
  a b e d K=3
  b c f e
boundaries
  * wall
"""
PLATE = lambda x, y: (abs(x - 0.375) < 0.125) & (abs(y - 0.5) < 0.125)  # noqa: E731
SOLID = lambda x, y: (abs(x - 1) < 0.125) & (y < 0.75)  # noqa: E731
RIGHT = lambda x, y: (x > 1.5) & (y > 0.5)  # noqa: E731


@pytest.fixture
def room(tmp_path):
    path = tmp_path / "room.patches"
    path.write_text(ROOM)
    return stratum.patches(path)


def expect_as_on_a_rectangle(x, y, u, whole, atol):
    """u of patches at the nodes of the whole rectangle, of 64 x 32 cells."""
    count = 0
    for a, b, v in zip(x, y, u):
        i, j = np.rint(32 * a).astype(int), np.rint(32 * b).astype(int)
        np.testing.assert_allclose(v, whole[..., j, i], atol=atol)
        count += (a.shape[0] - 1) * (a.shape[1] - 1)
    return count


BODIES = [(PLATE, "value", lambda x, y: 1 + y), (SOLID, "no-flux"), (RIGHT, "k", lambda x, y: 2 + x)]


def test_bodies(room):
    rectangle = stratum.mesh(cells=(64, 32), size=(2, 1))
    data = dict(boundaries={"wall": lambda x, y: 0.5 * x}, kappa=lambda x, y: 1 + x * y, reaction=0.25, bodies=BODIES, rtol=1e-11,
                on_failure="ignore")
    f = lambda x, y: 1 + x  # noqa: E731
    x, y, u, report = stratum.poisson(room, f, **data)
    on_rectangle = data | dict(boundaries=lambda x, y: 0.5 * x, kappa=lambda x, y: (1 + x * y) * np.where(x < 1, 3, 1))
    whole = stratum.poisson(rectangle, f, **on_rectangle)
    assert expect_as_on_a_rectangle(x, y, u, whole.u, 1e-8) == 64 * 32 - 64 - 192
    assert [body["cells"] for body in report["bodies"]] == [64, 192, 256] and "fluxes" not in report
    assert report["bodies"][0]["flux"] == pytest.approx(whole.report["bodies"][0]["flux"], rel=1e-7)
    assert abs(report["bodies"][1]["flux"]) < 1e-9 and "flux" not in report["bodies"][2]
    *_, u, _ = stratum.heat(room, 0.0, 0.1, 3, f=lambda x, y, t: f(x, y) * t, **{k: v for k, v in data.items() if k != "rtol"}, rtol=1e-10)
    moving = stratum.heat(rectangle, 0.0, 0.1, 3, f=lambda x, y, t: f(x, y) * t, **on_rectangle)
    expect_as_on_a_rectangle(x, y, [v[-1] for v in u], moving.u[-1], 1e-6)


def test_the_numbers_of_the_page(tmp_path):
    """poisson2d --patches room.patches --body, in docs/guides/patches.md."""
    (tmp_path / "room.patches").write_text(ROOM.replace(" K=3", ""))
    report = stratum.poisson(stratum.patches(tmp_path / "room.patches"), 0.0, bodies=[(PLATE, "value", 1.0), (SOLID, "no-flux")]).report
    assert report["bodies"][0]["flux"] == pytest.approx(4.80916, abs=1e-5)


@pytest.mark.parametrize("bodies, words", [
    ([(PLATE, "no-flux", 1.0)], "body 1 on patches is"), ([(PLATE, "value")], "body 1 on patches is"), ([PLATE], "body 1 on patches is"),
    ([(PLATE, "wall", 1.0)], "'wall'"), ([(PLATE, "contact", 1.0)], "contact resistances are for rectangles"),
    ([(PLATE, "value", np.nan)], "body 1 has nan at"), ([(PLATE, "k", lambda x, y: np.nan)], "body 1 has nan at"), ([(PLATE, "k", -1.0)], "-1"),
    ([(lambda x, y: x > 3, "no-flux")], "holds no cell"), ([(PLATE, "value", 1.0), (PLATE, "no-flux")], "overlap")])
def test_bodies_that_cannot_be(room, bodies, words):
    for call in (lambda: stratum.poisson(room, 0.0, bodies=bodies), lambda: stratum.heat(room, 0.0, 0.1, 2, bodies=bodies)):
        with pytest.raises(ValueError, match=words):
            call()


def test_what_does_not_go_with_bodies(room):
    with pytest.raises(TypeError, match="its shape is a function of x and y"):
        stratum.poisson(room, 0.0, bodies=[(np.ones((32, 32)), "no-flux")])
    with pytest.raises(ValueError, match="f has 2 entries, and the mesh 15 patches"):
        stratum.poisson(room, [0.0, 1.0], bodies=BODIES[:2])
    with pytest.raises(ZeroDivisionError):
        stratum.poisson(room, 0.0, bodies=[(lambda x, y: 1 / 0, "no-flux")])
    with pytest.raises(ValueError, match="not 'body 1'"):
        stratum.poisson(room, 0.0, {"body 1": 2.0}, bodies=BODIES)
