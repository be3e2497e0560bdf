"""Numbers of every kind: right answers, or refusals that say what was given. Nothing wrong passes without a word."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import stratum

ny, nx = 6, 8
n = nx * ny
line = lambda n: sp.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1])
A = sp.kronsum(line(nx), 9 * line(ny), format="csr")
b = np.random.default_rng(0).integers(-9, 9, n).astype(float)
mesh = stratum.mesh(cells=(5, 4))
f = np.random.default_rng(1).integers(-9, 9, mesh.shape).astype(float)


def backwards(a):
    return np.ascontiguousarray(a[::-1])[::-1]


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


kinds = [lambda a: a.astype(">f8"), lambda a: a.astype("f4"), lambda a: a.astype("f2"), lambda a: a.astype("longdouble"),
         lambda a: a.astype("i1"), lambda a: a.astype(">i8"), backwards, read_only, np.asfortranarray, lambda a: a.tolist(),
         lambda a: np.repeat(a, 3, axis=0)[::3], np.ma.masked_array]


@pytest.mark.parametrize("kind", range(len(kinds)))
def test_numbers_are_taken_as_they_are(kind):
    given = kinds[kind]
    ml, problem = stratum.Multigrid(A, threads=1), stratum.Poisson(mesh, threads=1)
    np.testing.assert_array_equal(ml.solve(given(b)), ml.solve(b))
    np.testing.assert_array_equal(ml.solve(given(b.reshape(ny, nx))), ml.solve(b.reshape(ny, nx)))
    np.testing.assert_array_equal(ml.apply(given(b)), ml.apply(b))
    np.testing.assert_array_equal(problem.solve(given(f)).u, problem.solve(f).u)
    k = 1 + abs(f[1:, 1:])
    np.testing.assert_array_equal(stratum.Poisson(mesh, kappa=given(k), threads=1).solve(1.0).u,
                                  stratum.Poisson(mesh, kappa=k, threads=1).solve(1.0).u)
    np.testing.assert_array_equal(stratum.gradients.vjp(problem, given(f), kappa=given(k))[0],
                                  stratum.gradients.vjp(problem, f, kappa=k)[0])


hole = lambda a: np.ma.masked_array(a, mask=np.arange(a.size).reshape(a.shape) == 3)
ml = lambda: stratum.Multigrid(A, threads=1)
poisson = lambda **data: stratum.Poisson(mesh, threads=1, **data)
box = stratum.mesh(cells=(3, 3, 3))


@pytest.mark.parametrize("call, words", [
    (lambda: ml().solve(hole(b)), "b has 1 masked entries"), (lambda: ml().apply(hole(b)), "r has 1 masked"),
    (lambda: ml().solve(b, x0=hole(b)), "x0 has 1 masked"), (lambda: stratum.Multigrid(hole(np.ones((5, 3, 3)))), "A has 1 masked"),
    (lambda: poisson().solve(hole(f)), "f has 1 masked"), (lambda: poisson().solve(np.ma.stack([hole(f)] * 2)), "f has 2 masked"),
    (lambda: poisson().solve(lambda x, y: np.ma.masked_array(x, mask=x > 0.5)), "masked entries"),
    (lambda: poisson(kappa=hole(np.ones(mesh.cells))), "kappa has 1 masked"),
    (lambda: poisson(boundaries={"left": hole(np.ones(5))}), "the left boundary has 1 masked"),
    (lambda: stratum.gradients.vjp(poisson(), hole(f)), "f has 1 masked"),
    (lambda: stratum.mesh(hole(np.arange(9.0)), [0, 1, 2]), "coordinates has 1 masked"),
    (lambda: stratum.heat(mesh, hole(f), 0.1, 2), "the initial value has 1 masked"),
    (lambda: poisson().solve(lambda x, y: 1j * x), "f is real; the function returned complex128"),
    (lambda: poisson().solve(lambda x, y: None), "f is real; the function returned NoneType"),
    (lambda: ml().solve(b, tol="a"), "tol is a number; given is 'a'"), (lambda: ml().solve(b, maxiter=2.5), "maxiter is an integer; given is 2.5"),
    (lambda: ml().solve(b, callback=3), "callback is a function; given is 3"), (lambda: ml().solve(b, residuals=()), "residuals is a list"),
    (lambda: poisson().solve(f, rtol="a"), "rtol is a number"), (lambda: poisson().solve(f, maxiter=2.5), "maxiter is an integer"),
    (lambda: poisson().solve(f, project="yes"), "project is True or False"), (lambda: poisson().solve(f, callback=3), "callback is a function"),
    (lambda: stratum.gradients.vjp(poisson(), f, rtol="a"), "rtol is a number"),
    (lambda: stratum.mesh("A3", 2.5), "level is an integer; given is 2.5"), (lambda: stratum.mesh(cells=(3.5, 3)), "given is 3.5"),
    (lambda: stratum.mesh(cells=3), "such as (nx, ny); given is 3"), (lambda: stratum.mesh(["a", "b"], [0, 1]), "coordinates are real numbers"),
    (lambda: stratum.mesh(np.array(["2000-01-01", "2000-01-02"], "M8[D]"), [0, 1]), "given is datetime64[D]"),
    (lambda: stratum.heat(mesh, 1.0, 0.1, 2, frames=1.5), "frames is an integer"), (lambda: stratum.heat(mesh, np.nan, 0.1, 2), "the initial value must be finite"),
    (lambda: stratum.Poisson3D(box, reaction=np.ones((3, 3, 3))), "the reaction of a box is a number, and does not vary; given is ndarray"),
    (lambda: stratum.Multigrid(A, shape=20), "shape is (ny, nx), or (nz, ny, nx) of a box, integers; given is 20"),
    (lambda: stratum.Multigrid(A, shape=(6.0, 8.0)), "given is (6.0, 8.0)"),
    (lambda: stratum.Multigrid(A, shape=(4, 12)), "its diagonals are those of a grid of 6 x 8 unknowns (y, x); give shape=(6, 8)"),
    (lambda: stratum.Multigrid(A, widths=3), "given are 3"), (lambda: stratum.Multigrid(A, threads=1.5), "threads is an integer; given is 1.5"),
    (lambda: stratum.Multigrid(A.toarray()), "scipy.sparse.csr_array(A)"), (lambda: stratum.Multigrid(A * 1j), "stratum.ComplexMultigrid(A)"),
])
def test_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        call()


def test_boundaries_may_be_lists():
    np.testing.assert_array_equal(poisson(boundaries={"left": ["robin", 2.0, 1.0]}).solve(f).u,
                                  poisson(boundaries={"left": ("robin", 2.0, 1.0)}).solve(f).u)


@pytest.mark.parametrize("shift", [0.01j, 1j, -1j, 100j, -0.5 + 0.5j, -12.0 + 1j])
def test_complex_matrices(shift, rng=np.random.default_rng(2)):
    """Shifts of both signs, and negative definite ones."""
    a = (A + shift * sp.eye_array(n) if shift.real > -1 else -A + 1j * sp.eye_array(n)).tocsr()
    solver = stratum.ComplexMultigrid(a, threads=1)
    right = rng.standard_normal((n, 2)) + 1j * rng.standard_normal((n, 2))
    x = solver.solve(right, tol=1e-9)
    assert np.linalg.norm(right - a @ x, axis=0).max() <= 1e-9 * np.linalg.norm(right, axis=0).max()
    assert max(report["iterations"] for report in solver.report["columns"]) <= 20
    z = solver.apply(right)
    np.testing.assert_allclose(z, np.stack([solver(right[:, k]) for k in range(2)], axis=1), rtol=1e-12)
    assert solver.solve(b, return_info=True)[1] == 0


def test_complex_matrices_are_refused_where_they_do_not_fit():
    with pytest.raises(TypeError, match="A is a square scipy.sparse matrix"):
        stratum.ComplexMultigrid(A.toarray())
    with pytest.raises(ValueError, match=re.escape("b has shape (48,) or (48, k); given is (3,)")):
        stratum.ComplexMultigrid(A * (1 + 1j)).solve(np.ones(3))
    with pytest.warns(stratum.ConvergenceWarning, match="max iterations after 1"):
        stratum.ComplexMultigrid(A + 1j * sp.eye_array(n)).solve(b, maxiter=1)


def test_components_of_several_right_hand_sides():
    a = sp.block_array([[A, -sp.eye_array(n)], [-sp.eye_array(n), 2 * A]], format="csr")
    solver, many = stratum.Components(a, 2, order="blocked", threads=1), np.random.default_rng(3).standard_normal((2 * n, 3))
    residuals = []
    x, info = solver.solve(many, tol=1e-9, residuals=residuals, return_info=True)
    assert info == 0 and len(solver.report["columns"]) == 3 and len(residuals) == solver.report["iterations"] + 1
    np.testing.assert_allclose(a @ x, many, atol=1e-7)
    z = many[:, 0] + 1j * many[:, 1]
    np.testing.assert_allclose(a @ solver.solve(z), z, atol=1e-6)


@pytest.mark.parametrize("call, words", [
    (lambda: stratum.mesh("A3", 10**12), "level is an integer of at most 2147483647; given is 1000000000000"),
    (lambda: stratum.mesh(cells=(10**10, 3)), "a number of cells is an integer of at most"),
    (lambda: stratum.Multigrid(A, threads=2**40), "threads is an integer of at most")])
def test_integers_that_are_too_large(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_an_error_of_another_process_arrives():
    """A pool of processes waits for ever for an exception that cannot be pickled."""
    with pytest.raises(stratum.ConvergenceError) as raised:
        poisson().solve(1.0, maxiter=0, rtol=1e-8, on_failure="raise")
    error = pickle.loads(pickle.dumps(raised.value))
    assert str(error) == str(raised.value) and error.report["status"] == "max iterations"
    np.testing.assert_array_equal(error.x, raised.value.x)
