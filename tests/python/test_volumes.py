"""Finite volumes and coordinates of stratum.Poisson, against an assembly in NumPy and against solutions by hand."""

import warnings

import numpy as np
import pytest
import stratum

tight = dict(rtol=1e-12, on_failure="ignore")


def volumes(mesh, f, k, left, right):
    """Dense, with u = left and right on those boundaries and no flux at the others."""
    hx, hy = mesh.widths_x, mesh.widths_y
    ny, nx = mesh.cells
    a, b = np.zeros((nx * ny, nx * ny)), (f * np.outer(hy, hx)).ravel()
    number = np.arange(nx * ny).reshape(ny, nx)

    def couple(p, q, conductance):
        for own, other in ((p, q), (q, p)):
            a[own, own] += conductance
            a[own, other] -= conductance

    for j, i in np.ndindex(ny, nx):
        if i + 1 < nx:
            couple(number[j, i], number[j, i + 1], 2 * hy[j] / (hx[i] / k[j, i] + hx[i + 1] / k[j, i + 1]))
        if j + 1 < ny:
            couple(number[j, i], number[j + 1, i], 2 * hx[i] / (hy[j] / k[j, i] + hy[j + 1] / k[j + 1, i]))
    for column, value in ((0, left), (-1, right)):
        for j in range(ny):
            conductance = 2 * k[j, column] * hy[j] / hx[column]
            a[number[j, column], number[j, column]] += conductance
            b[number[j, column]] += conductance * value
    return np.linalg.solve(a, b).reshape(ny, nx)


@pytest.fixture
def mesh():
    rng = np.random.default_rng(3)
    return stratum.mesh(widths=(rng.uniform(0.1, 1, 9), rng.uniform(0.1, 1, 7)), origin=(-1, 2))


walls = {"left": 2.0, "right": -1.0, "bottom": "neumann", "top": "neumann"}


def test_volumes_are_those_of_an_assembly_in_numpy(mesh):
    rng = np.random.default_rng(4)
    f, k = rng.standard_normal(mesh.cells), 10 ** rng.uniform(-2, 2, mesh.cells)
    x, y, u, report = stratum.poisson(mesh, f, boundaries=walls, kappa=k, discretisation="fv", **tight)
    assert (x.shape, y.shape, u.shape) == ((9,), (7,), mesh.cells)
    np.testing.assert_allclose(x, (mesh.x[1:] + mesh.x[:-1]) / 2)
    np.testing.assert_allclose(u, volumes(mesh, f, k, 2, -1), rtol=0, atol=1e-9 * abs(u).max())


def test_numbers_functions_and_arrays_at_nodes_are_integrated(mesh):
    one = stratum.poisson(mesh, 3, boundaries=walls, discretisation="fv", **tight).u
    np.testing.assert_allclose(one, stratum.poisson(mesh, np.full(mesh.cells, 3.0), walls, discretisation="fv", **tight).u, atol=1e-9)
    linear = stratum.poisson(mesh, lambda x, y: 1 + x * y, walls, discretisation="fv", **tight).u
    nodes = 1 + mesh.x * mesh.y[:, None]  # bilinear
    np.testing.assert_allclose(linear, stratum.poisson(mesh, nodes, walls, discretisation="fv", **tight).u, atol=1e-9)
    cells = 1 + np.multiply.outer(mesh.y[1:] + mesh.y[:-1], mesh.x[1:] + mesh.x[:-1]) / 4
    np.testing.assert_allclose(linear, volumes(mesh, cells, np.ones(mesh.cells), 2, -1), atol=1e-9)


def test_singular_volumes_have_mean_zero():
    mesh = stratum.mesh("U1", 5)
    problem = stratum.Poisson(mesh, dict.fromkeys(walls, "neumann"), discretisation="fv")
    assert problem.singular
    x, y, u, _ = problem.solve(lambda x, y: np.pi**2 * np.cos(np.pi * x), rtol=1e-10)
    assert abs(u.mean()) < 1e-12
    np.testing.assert_allclose(u, np.broadcast_to(np.cos(np.pi * x), u.shape), atol=2e-3)
    with pytest.raises(ValueError, match="incompatible data"):
        problem.solve(1)


def test_bodies():
    mesh = (np.linspace(0, 1, 33), np.linspace(0, 1, 17))
    walls = {name: "neumann" for name in ("left", "right", "bottom", "top")}
    bodies = [(lambda x, y: x < 0.25, "value", 0.0), (lambda x, y: x > 0.75, "value", 1.0),
              (lambda x, y: (y < 0.25) & (x > 0.25) & (x < 0.75), "no-flux")]
    x, y, u, report = stratum.poisson(mesh, 0, walls, bodies=bodies, discretisation="fv", rtol=1e-10)
    np.testing.assert_allclose(u[4:], np.broadcast_to(np.clip(2 * (x - 0.25), 0, 1), u[4:].shape), atol=1e-8)
    assert np.isnan(u[:4, 8:24]).all() and abs(report["bodies"][1]["flux"] - 1.5) < 1e-8
    with pytest.raises(ValueError, match="meet with different values"):
        stratum.Poisson(mesh, bodies=[bodies[0], (lambda x, y: (x > 0.25) & (x < 0.5), "value", 1.0)], discretisation="fv")


def test_a_coaxial_cable():
    x, y, u, _ = stratum.poisson((np.linspace(1, 4, 65), np.linspace(0, 1, 5)), 0,
                                 {"left": 1, "right": 0, "bottom": "neumann", "top": "neumann"}, coordinates="cylindrical")
    np.testing.assert_allclose(u, np.broadcast_to(1 - np.log(x) / np.log(4), u.shape), atol=2e-4)


@pytest.mark.parametrize("f", [3.0, lambda x, y: 3 + 0 * x, np.full((16, 64), 3.0), np.full((17, 65), 3.0)])
def test_a_charged_ball_has_a_free_centre_and_free_poles(f):
    mesh = (np.linspace(0, 1, 65), np.linspace(0, np.pi, 17))
    x, y, u, _ = stratum.poisson(mesh, f, coordinates="spherical")
    np.testing.assert_allclose(u, np.broadcast_to((1 - x**2) / 2, u.shape), atol=1e-3)


def test_what_is_refused(mesh):
    with pytest.raises(ValueError, match="'elements' or 'fv'; given is 'fem'"):
        stratum.Poisson(mesh, discretisation="fem")
    with pytest.raises(ValueError, match="cylindrical"):
        stratum.Poisson(mesh, coordinates="toroidal")
    with pytest.raises(ValueError, match="finite volumes are for Cartesian"):
        stratum.Poisson(mesh, discretisation="fv", coordinates="polar")
    with pytest.raises(ValueError, match="no full multigrid"):
        stratum.Poisson(mesh, discretisation="fv", cycle="fmg")
    with pytest.raises(ValueError, match="a diagonal K"):
        stratum.Poisson(mesh, kappa=(1, 0.1, 1), discretisation="fv")
    with pytest.raises(ValueError, match="f has shape"):
        stratum.Poisson(mesh, discretisation="fv").solve(np.ones(3))
    with pytest.raises(TypeError, match="gradients are those of elements"):
        stratum.gradients.vjp(stratum.Poisson(mesh, discretisation="fv"), np.ones(mesh.cells))


def test_films():
    """Their u is that of a line; where the matrix is stored alone, as of a Robin coefficient that varies, a warning tells."""
    mesh = (np.linspace(0, 1, 9), np.linspace(0, 1e-6, 9))
    ends = dict(left=293, right=294, bottom="neumann", top="neumann")
    line = 293 + (np.arange(8) + 0.5) / 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        u = stratum.poisson(mesh, 0, ends, discretisation="fv", rtol=1e-12).u
        assert abs(u - line).max() < 1e-8
        u = stratum.heat(mesh, 293, 100, 10, boundaries=ends, discretisation="fv", rtol=1e-12).u
        assert abs(u[-1] - line).max() < 1e-4
        stratum.poisson(mesh, 0, ends)
    with pytest.warns(UserWarning, match="round-off of the matrix may change u by about") as said:
        stratum.poisson(mesh, 0, ends | {"right": ("robin", lambda x, y: 1 + 1e6 * y, 1)}, on_failure="ignore")
    assert said[0].filename == __file__
