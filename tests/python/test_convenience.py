"""Problems in time, xarray, pictures and what notebooks show."""

import numpy as np
import pytest
import stratum

mode = lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y)


@pytest.mark.parametrize("method, order", [("midpoint", 2), ("euler", 1), ("crank-nicolson", 2), ("tr-bdf2", 2)])
def test_heat_has_its_order(method, order):
    """Against the discrete decay of a mode: the eigenvalue of bilinear elements."""
    n = 16
    mesh = stratum.mesh(cells=(n, n))
    c = np.cos(np.pi / n)
    eigenvalue = 2 * 6 * n**2 * (1 - c) / (2 + c)
    end, errors = 0.05, []
    for steps in (8, 16):
        t, u, *_ = stratum.heat(mesh, mode, end, steps, method=method, threads=1, rtol=1e-11)
        assert t.tolist() == [0, end] and u.shape == (2, n + 1, n + 1)
        errors.append(abs(u[-1].max() / np.exp(-eigenvalue * end) - 1))
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.25)
    assert errors[1] < 0.05


def test_heat_comes_to_rest_at_the_steady_solution():
    mesh = stratum.mesh(cells=(12, 10), size=(2, 1), grading="cosine")
    data = dict(kappa=np.linspace(1, 3, 120).reshape(10, 12), boundaries={"left": 1.0, "top": ("robin", 2.0, 1.0)}, reaction=0.5)
    seen = []
    result = stratum.heat(mesh, 5.0, 20.0, 40, method="euler", f=3.0, frames=4, threads=1,
                          callback=lambda t, u: seen.append(t), progress=True, **data)
    np.testing.assert_allclose(result.u[-1], stratum.poisson(mesh, 3.0, threads=1, rtol=1e-10, **data).u, atol=2e-6)
    assert result.u.shape[0] == 5 and result.t.tolist() == [0, 5, 10, 15, 20] and len(seen) == 40
    assert result.iterations >= 40 and result.x.shape == (13,)


def test_heat_with_f_in_time_and_in_a_box():
    """u = 1 + t^2 / 2 of f = t with natural boundaries: the midpoint rule is exact but for Euler's first step."""
    natural = dict.fromkeys(("left", "right", "bottom", "top"), "neumann")
    u = stratum.heat(stratum.mesh(cells=(4, 4)), 1.0, 2.0, 100, f=lambda x, y, t: t + 0 * x, boundaries=natural, threads=1).u
    np.testing.assert_allclose(u[-1], 3.0, atol=1e-4)
    natural |= {"front": "neumann", "back": "neumann"}
    _, u, *_ = box = stratum.heat(stratum.mesh(cells=(4, 4, 3)), 1.0, 2.0, 100, f=lambda x, y, z, t: t + 0 * x, boundaries=natural, threads=1)
    assert u.shape == (2, 4, 5, 5) and box.z.shape == (4,)
    np.testing.assert_allclose(u[-1], 3.0, atol=1e-4)


@pytest.mark.parametrize("arguments, words", [
    (dict(end=0.0, steps=1), "end 0.0, 1 steps"), (dict(end=np.inf, steps=1), "finite end"), (dict(end=1.0, steps=10**8), "at most 10000000"),
    (dict(end=1.0, steps=2**70), "steps is an integer of at most 2147483647"), (dict(end=1e-310, steps=2), "too short"), (dict(end=1.0, steps=0), "0 steps"), (dict(end=1.0, steps=3, frames=4), "4 frames"),
    (dict(end=1.0, steps=1, method="rk4"), "not 'rk4'"), (dict(end=1.0, steps=1, coordinates="polar"), "not 'polar'")])
def test_heat_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        stratum.heat(stratum.mesh(cells=(4, 4)), 1.0, **arguments)


def test_xarray():
    xarray = pytest.importorskip("xarray")
    x, y = np.linspace(0, 1, 9) ** 2, np.linspace(3, 5, 7)
    values = np.random.default_rng(0).standard_normal((7, 9))
    kappa = 1 + np.random.default_rng(1).uniform(size=(6, 8))
    expected = stratum.poisson((x, y), values, {"left": y}, kappa, threads=1).u
    f = xarray.DataArray(values, dims=("y", "x"), coords={"x": x, "y": y})
    k = xarray.DataArray(kappa, dims=("y", "x"))
    g = xarray.DataArray(y, dims="y", coords={"y": y})
    for load, coefficient, left in ((f, k, g), (f.T, k.T, g), (f[::-1], k[::-1], g[::-1])):
        u = stratum.poisson(None, load, {"left": left}, coefficient, threads=1)
        assert isinstance(u, xarray.DataArray) and u.dims == load.dims and u.name == "u" and u.attrs["status"] == "converged"
        np.testing.assert_array_equal(u.y, load.y)
        np.testing.assert_allclose(u.transpose("y", "x").sortby("y"), expected, rtol=0, atol=1e-12)
    u = stratum.poisson((f.x, f.y), 1.0, threads=1)
    assert u.dims == ("y", "x") and u.sizes == {"y": 7, "x": 9}
    renamed = stratum.poisson(None, f.rename(x="lon", y="lat"), {"left": y}, kappa, threads=1)
    assert renamed.dims == ("lat", "lon")
    np.testing.assert_array_equal(renamed, expected)
    box = xarray.DataArray(np.ones((3, 7, 9)), dims=("z", "y", "x"), coords={"x": x, "y": y, "z": [0, 1, 3]})
    assert stratum.poisson(None, box, threads=1).sizes == {"z": 3, "y": 7, "x": 9}
    with pytest.raises(ValueError, match="no coordinates along y"):
        stratum.poisson(None, f.drop_vars("y"))
    with pytest.raises(ValueError, match="dimensions are x, y; not z"):
        stratum.poisson(None, f, kappa=box)


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    solution = stratum.poisson(stratum.mesh(cells=(8, 6)), 1.0, threads=1)
    assert solution.plot().get_title() == "u"
    assert "8 x 6 cells" in stratum.plot(stratum.mesh(cells=(8, 6))).get_title()
    axes = stratum.plot(solution.report, label="here")
    assert stratum.plot(solution.report, axes) is axes and len(axes.lines) == 2
    assert "z = 0.5" in stratum.poisson(stratum.mesh(cells=(4, 4, 4)), 1.0, threads=1).plot().get_title()
    with pytest.raises(TypeError, match="given is int"):
        stratum.plot(3)


def test_notebooks():
    solution = stratum.poisson(stratum.mesh(cells=(8, 6)), 1.0, threads=1)
    assert "7 x 9 nodes" in solution._repr_html_() and "converged" in solution._repr_html_()
    bands = np.ones((5, 4, 4)) * np.array([9, -1, -1, -1, -1])[:, None, None]
    ml = stratum.Multigrid(bands, threads=1)
    assert "shape (4, 4)" in ml._repr_html_() and "relative residual" not in ml._repr_html_()
    ml.solve(np.ones(16))
    assert "relative residual" in ml._repr_html_() and "<stratum" not in ml._repr_html_()
