"""Bodies inside the domain of stratum.Poisson."""
import warnings

import numpy as np
import pytest

import stratum

N = 32
WALLS = {name: "neumann" for name in ("left", "right", "bottom", "top")}


def mesh():
    return np.linspace(0, 1, N + 1), np.linspace(0, 1, N + 1)


def strip(first, last):
    return lambda x, y: (x > first) & (x < last)


def test_plates():
    plates = [(strip(0, 0.25), "value", 0.0), (strip(0.75, 1), "value", lambda x, y: np.ones_like(x))]
    x, y, u, report = stratum.poisson(mesh(), 0, WALLS, bodies=plates, rtol=1e-10)
    assert report["iterations"] <= 10
    np.testing.assert_allclose(u, np.broadcast_to(np.clip(2 * (x - 0.25), 0, 1), u.shape), atol=1e-8)
    left, right = report["bodies"]
    assert abs(left["flux"] + 2) < 1e-7 and abs(right["flux"] - 2) < 1e-7
    assert (right["cells"], right["mean"]) == (N * N // 4, 1) and abs(right["area"] - 0.25) < 1e-12


def test_arrays_and_contact():
    mask = np.zeros((N, N), bool)
    mask[:, N // 4:N // 2] = True
    sides = {"left": 1.0, "right": 0.0, "bottom": "neumann", "top": "neumann"}
    wall = [(mask, "k", 4.0), (mask, "contact", 0.3)]
    _, _, u, report = stratum.poisson(mesh(), 0, sides, bodies=wall, rtol=1e-10)
    flux = 1 / (0.75 + 0.25 / 4 + 0.6)
    np.testing.assert_allclose(N * (u[:, -2] - u[:, -1]), flux, rtol=1e-7)


def test_solids_and_rooms():
    wall = [(strip(0.4, 0.6), "no-flux")]
    problem = stratum.Poisson(mesh(), WALLS, bodies=wall)
    assert problem.singular
    u = problem.solve(lambda x, y: y - 0.5).u
    assert np.isnan(u[:, N // 2]).all() and np.isfinite(u[:, :N // 3]).all()
    assert abs(u[:, 0].mean()) < 1e-8 and abs(u[:, -1].mean()) < 1e-8
    with pytest.raises(ValueError, match="nothing holds u in the room"):
        problem.solve(lambda x, y: np.where(x > 0.5, 1.0, 0.0))
    problem.solve(lambda x, y: np.where(x > 0.5, 1.0, 0.0), project=True)


def test_corner_contacts_warn():
    mask = np.zeros((N, N), bool)
    mask[:N // 2, :N // 2] = mask[N // 2:, N // 2:] = True
    with pytest.warns(UserWarning, match=r"touch each other in corners alone at 1 node, \(0.5, 0.5\)") as said:
        stratum.poisson(mesh(), 1, 0, bodies=[(mask, "no-flux")])
    assert [warning.filename for warning in said] == [__file__]
    box = tuple(np.linspace(0, 1, 5) for _ in range(3))
    columns = np.zeros((4, 4, 4), bool)
    columns[:, 0, 0] = columns[:, 1, 1] = True
    with pytest.warns(UserWarning, match="in edges or corners alone at 3 nodes"):
        stratum.poisson(box, 1, 0, bodies=[(columns, "no-flux")])
    with pytest.warns(UserWarning, match=r"in corners alone at 1 node, \(0.5, 0.5\)") as said:
        stratum.heat(mesh(), 0, 0.1, 1, f=1, bodies=[(mask, "no-flux")])
    assert [warning.filename for warning in said] == [__file__]
    with pytest.warns(UserWarning, match="in edges or corners alone at 3 nodes"):
        stratum.heat(box, 0, 0.1, 1, f=1, bodies=[(columns, "no-flux")])


def test_corner_leaks_warn():
    """Of a solution: cells of low K along the diagonal let u through their corners."""
    low = np.where(np.eye(N, dtype=bool), 1e-9, 1)
    sides = {"left": 0, "right": 1, "bottom": "neumann", "top": "neumann"}
    problem = stratum.Poisson(mesh(), sides, kappa=low)
    with pytest.warns(UserWarning, match=rf"in corners alone at {N - 1} nodes") as said:
        problem.solve(0)
    assert [warning.filename for warning in said] == [__file__]
    with pytest.warns(UserWarning, match=rf"in corners alone at {N - 1} nodes"):
        problem.solve(np.zeros((3, N + 1, N + 1)))
    for method in "midpoint", "tr-bdf2":
        with pytest.warns(UserWarning, match=rf"in corners alone at {N - 1} nodes"):
            stratum.heat(mesh(), 0, 1, 10, boundaries=sides, kappa=low, method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stratum.Poisson(mesh(), sides, kappa=np.fmax(low, 0.02)).solve(0)


@pytest.mark.parametrize("bodies, words", [
    ([(strip(0, 1), "wall")], "a body is"),
    ([(strip(0, 1), "wall", 1)], "kind is"),
    ([(strip(0, 1), "no-flux", 1)], "a body is"),
    ([(strip(2, 3), "value", 1)], "holds no cell"),
    ([(np.ones((3, 3)), "value", 1)], "shape"),
    ([(strip(0, 0.5), "value", np.ones(3))], "shape"),
    ([()], "a body is"), ([(strip(0, 1),)], "a body is"), ((strip(0, 0.5), "no-flux"), "a body is"),
])
def test_what_cannot_be(bodies, words):
    with pytest.raises(ValueError, match=words):
        stratum.Poisson(mesh(), bodies=bodies)


def test_boxes():
    n = 8
    x = np.linspace(0, 1, n + 1)
    walls = {name: "neumann" for name in ("left", "right", "bottom", "top", "front", "back")}
    mask = np.zeros((n, n, n), bool)
    mask[:, :2, 2:6] = True
    bodies = [(lambda x, y, z: x < 0.25, "value", 0.0), (lambda x, y, z: x > 0.75, "value", lambda x, y, z: np.ones_like(x)), (mask, "no-flux")]
    *_, u, report = stratum.poisson((x, x, x), 0.0, walls, bodies=bodies)
    np.testing.assert_allclose(u[:, 2:], np.broadcast_to(np.clip(2 * (x - 0.25), 0, 1), u[:, 2:].shape), atol=1e-8)
    assert np.isnan(u[4, 0, 4]) and abs(report["bodies"][1]["flux"] - 1.5) < 1e-7 and report["bodies"][2]["cells"] == mask.sum()
    problem = stratum.Poisson3D((x, x, x), walls, bodies=[(lambda x, y, z: (x > 0.25) & (x < 0.5), "no-flux")])
    assert problem.singular and "a body" in repr(problem)
    with pytest.raises(ValueError, match="nothing holds u in the room"):
        problem.solve(1.0)
    assert abs(problem.solve(lambda x, y, z: np.where(x > 0.5, 1.0, 2.0), project=True).u[0, 0, -1]) < 1.0
    wall = [(lambda x, y, z: (x > 0.25) & (x < 0.5), "k", 4.0), (lambda x, y, z: (x > 0.25) & (x < 0.5), "contact", 0.3)]
    *_, u, _ = stratum.poisson((x, x, x), 0.0, walls | {"left": 1.0, "right": 0.0}, bodies=wall)
    np.testing.assert_allclose(n * (u[..., -2] - u[..., -1]), 1 / (0.75 + 0.25 / 4 + 0.6), rtol=1e-7)
    with pytest.raises(ValueError, match="holds no cell"):
        stratum.Poisson3D((x, x, x), bodies=[(lambda x, y, z: x > 2, "value", 1.0)])


@pytest.mark.parametrize("bodies, words", [(None, "bodies are a list of tuples, .* given is NoneType"), ("disc", "given is str"),
                                           ([(lambda x, *_: x < 0.5, "contact", None)], "the contact resistance of a body is a number; given is None")])
def test_what_are_no_bodies(bodies, words):
    x = np.linspace(0, 1, 5)
    for call in (lambda: stratum.Poisson(mesh(), bodies=bodies), lambda: stratum.Poisson3D((x, x, x), bodies=bodies),
                 lambda: stratum.heat(mesh(), 1.0, 0.1, 2, bodies=bodies)):
        with pytest.raises(TypeError, match=words):
            call()
