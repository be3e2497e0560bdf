"""Bodies inside the domain of stratum.Poisson."""
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


@pytest.mark.parametrize("bodies, words", [
    ([(strip(0, 1), "wall")], "a body is"),
    ([(strip(0, 1), "wall", 1)], "kind is"),
    ([(strip(0, 1), "no-flux", 1)], "a body is"),
    ([(strip(2, 3), "value", 1)], "holds no cell"),
    ([(np.ones((3, 3)), "value", 1)], "shape"),
    ([(strip(0, 0.5), "value", np.ones(3))], "shape"),
])
def test_what_cannot_be(bodies, words):
    with pytest.raises(ValueError, match=words):
        stratum.Poisson(mesh(), bodies=bodies)
