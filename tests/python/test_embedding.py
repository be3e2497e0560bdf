"""What client codes ask of a solver: keywords of PyAMG, complex and many right-hand sides, copies, and what a matrix looks like."""

import copy
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import stratum
from scipy.sparse import linalg

ny, nx = 20, 30
n = nx * ny


def line(n):
    return sp.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1])


def five_point(ny=ny, nx=nx):
    return sp.kronsum(line(nx), 9 * line(ny), format="csr")


def mass(n):
    return sp.eye_array(n) - line(n) / 6


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def b(rng):
    return rng.standard_normal(n)


@pytest.fixture
def ml():
    return stratum.Multigrid(five_point(), threads=1)


def expect_solution(a, x, b, tolerance=1e-8):
    assert np.linalg.norm(b - a @ x) <= tolerance * np.linalg.norm(b) * (1 + 1e-6)


def test_cycles_of_several_vectors(ml, rng):
    r = rng.standard_normal((n, 5))
    z = ml(r)
    np.testing.assert_array_equal(z, np.stack([ml(r[:, k]) for k in range(5)], axis=1))
    np.testing.assert_array_equal(ml.aspreconditioner() @ r, z)
    assert ml(r[:, :1]).shape == (n, 1)
    with pytest.raises(ValueError, match="r has no columns"):
        ml(r[:, :0])


@pytest.mark.parametrize("threads", [1, 2])
def test_many_right_hand_sides_are_solved_side_by_side(threads, rng):
    ml = stratum.Multigrid(five_point(), threads=threads)
    b = rng.standard_normal((n, 9))
    x = ml.solve(b, tol=1e-10)
    assert len(ml._side_by_side) == (threads if threads > 1 else 0)
    for k in range(9):
        np.testing.assert_allclose(x[:, k], ml.solve(b[:, k], tol=1e-10), rtol=0, atol=1e-12)
    ml.solve(b)
    assert len(ml.report["columns"]) == 9 and all(r["converged"] for r in ml.report["columns"])
    np.testing.assert_allclose(ml(b)[:, 3], ml(b[:, 3]), rtol=0, atol=1e-12)
    ml.update(2 * five_point())
    expect_solution(2 * five_point(), ml.solve(b)[:, 8], b[:, 8])


def test_complex_right_hand_sides(ml, rng):
    a = five_point()
    b = rng.standard_normal((n, 3)) + 1j * rng.standard_normal((n, 3))
    x = ml.solve(b)
    assert x.dtype == complex and x.shape == (n, 3)
    for k in range(3):
        expect_solution(a, x[:, k], b[:, k])
    np.testing.assert_array_equal(ml.solve(b[:, 0].reshape(ny, nx)).ravel(), x[:, 0])
    np.testing.assert_array_equal(ml.solve(b[:, 0], x0=x[:, 0]), x[:, 0])
    np.testing.assert_array_equal(ml(b[:, 1]), ml(b[:, 1].real) + 1j * ml(b[:, 1].imag))
    with pytest.raises(TypeError, match="x0 is complex, and b is real"):
        ml.solve(b[:, 0].real, x0=b[:, 0])


def test_keywords_of_pyamg(ml, b):
    a = five_point()
    for cycle in ("V", "W", "F", "AMLI", "v", "k"):
        expect_solution(a, ml.solve(b, tol=1e-8, cycle=cycle), b)
    expect_solution(a, stratum.Multigrid(a, cycle="W").solve(b), b)
    x, residuals = ml.solve(b, return_residuals=True)
    assert residuals == ml.report["residuals"] and residuals[-1] <= 1e-8 * residuals[0]
    with pytest.raises(ValueError, match="return_info and return_residuals are alternatives"):
        ml.solve(b, return_residuals=True, return_info=True)
    with pytest.raises(ValueError, match="cycle is one of v, w"):
        ml.solve(b, cycle="Z")


@pytest.mark.parametrize("method", [linalg.cg, linalg.gmres, linalg.bicgstab])
def test_methods_of_scipy_as_accel(method, ml, b):
    seen = []
    x, info = ml.solve(b, tol=1e-8, accel=method, callback=seen.append, return_info=True)
    assert info == 0 and ml.report["converged"] and 1 <= len(seen) == ml.report["iterations"] < 15
    expect_solution(five_point(), x, b, 1.001e-8)
    assert seen[-1].shape == (n,)


@pytest.mark.parametrize("method", [linalg.bicg, linalg.qmr, linalg.minres, linalg.lgmres, linalg.cgs])
def test_methods_that_end_by_another_norm_or_take_other_preconditioners(method, ml, b):
    x, info = ml.solve(b, tol=1e-8, accel=method, return_info=True)
    assert info == 0 and ml.report["iterations"] <= 10
    expect_solution(five_point(), x, b, 1.001e-8)
    with pytest.raises(TypeError, match="takes no M"):
        ml.solve(b, accel=lambda A, b: b)


def test_a_preconditioner_of_another_cycle(ml, b):
    w = ml.aspreconditioner(cycle="W")
    np.testing.assert_array_equal(w @ b, stratum.Multigrid(five_point(), cycle="W", threads=1)(b))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(w)) @ b, w @ b)
    assert linalg.cg(five_point(), b, rtol=1e-8, M=w)[1] == 0
    with pytest.raises(ValueError, match="cycle is one of"):
        ml.aspreconditioner(cycle="Z")


def test_a_method_that_does_not_converge_says_so(ml, b):
    with pytest.warns(stratum.ConvergenceWarning, match="max iterations after 2 iterations: .* of cg") as caught:
        ml.solve(b, tol=1e-12, accel=linalg.cg, maxiter=2)
    assert caught[0].filename == __file__
    with pytest.raises(stratum.ConvergenceError, match="stagnated"):
        ml.solve(b, accel=lambda A, b, x0, M: x0, on_failure="raise")


def test_methods_of_pyamg_as_accel(ml, b):
    krylov = pytest.importorskip("pyamg.krylov")
    residuals = []
    x = ml.solve(b, accel=krylov.cg, residuals=residuals)
    expect_solution(five_point(), x, b, 1e-7)
    assert len(residuals) > 2


def test_a_callback_of_x_belongs_to_such_a_method(ml, b):
    with pytest.raises(TypeError, match=r"callback\(x\) give a method of SciPy's"):
        ml.solve(b, callback=lambda x: None)


def test_copies_and_pickles(ml, b, rng):
    x = ml.solve(b)
    for other in (copy.deepcopy(ml), pickle.loads(pickle.dumps(ml)), copy.copy(ml)):
        np.testing.assert_array_equal(other.solve(b), x)
    order = rng.permutation(n)
    permuted = stratum.Multigrid(five_point()[order][:, order], shape=(ny, nx), numbering=order, accel="gmres", threads=1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(permuted)).solve(b), permuted.solve(b))
    bands = np.ones((5, 4, 4)) * np.array([9, -1, -1, -1, -1])[:, None, None]
    assert copy.deepcopy(stratum.Multigrid(bands)).grid == (4, 4)


@pytest.mark.parametrize("make", [
    lambda: stratum.Poisson(("A3", 4), {"left": "neumann", "top": lambda x, y: x}, lambda x, y: 1 + x, smoother="line_x",
                            threads=1),
    lambda: stratum.Poisson3D(("A1", 3, "yz"), {"front": ("robin", 2.0, 1.0)}, lambda x, y, z: 1 + x * y, 3.0, threads=1),
])
def test_copies_of_problems(make):
    problem = make()
    u = problem.solve(1.0).u
    for other in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        np.testing.assert_array_equal(other.solve(1.0).u, u)
        assert other.mesh.shape == problem.mesh.shape


def test_the_numbering_is_found_from_coordinates(b, rng):
    a = five_point()
    x, y = np.sort(rng.uniform(0, 1, nx)), np.sort(rng.uniform(5, 6, ny))
    points = np.stack([np.tile(x, ny), np.repeat(y, nx)], axis=1)
    order = rng.permutation(n)
    permuted = a[order][:, order]
    for given in (points[order], (points[order, 0], points[order, 1]), points[order] * (1 + 1e-16)):
        ml = stratum.Multigrid(permuted, coordinates=given, threads=1)
        assert ml.grid == (ny, nx)
        expect_solution(permuted, ml.solve(b), b)
    for wrong, words in ((points[order][:-1], "have shape (600, 2) or (600, 3); given is (599, 2)"),
                         (rng.uniform(size=(n, 2)), "600 different x and 600 different y"),
                         (np.where(np.arange(n)[:, None] == 5, points[6], points), "unknowns 5 and 6 have the same coordinates"),
                         (points * np.nan, "must be finite")):
        with pytest.raises(ValueError, match=re.escape(words)):
            stratum.Multigrid(permuted, coordinates=wrong)
    with pytest.raises(ValueError, match="those of a grid of shape"):
        stratum.Multigrid(permuted, (nx, ny), coordinates=points[order])


def box(nz=5, ny=6, nx=7):
    return sp.kronsum(sp.kronsum(line(nx), line(ny)), line(nz), format="csr")


def interleaved(a, c=2):
    return (sp.kron(a, np.full((c, c), 0.1)) + sp.kron(a, sp.eye_array(c))).tocsr()


def blocked(a, c=2):
    return (sp.kron(np.full((c, c), 0.1), a) + sp.kron(sp.eye_array(c), a)).tocsr()


def quadratic():
    wide = sp.diags_array([np.full(28, 0.25), np.full(29, -2.0), np.full(30, 4.0), np.full(29, -2.0), np.full(28, 0.25)],
                          offsets=[-2, -1, 0, 1, 2])
    return sp.kron(sp.eye_array(20) * 4 - line(20), wide, format="csr") + sp.kron(sp.diags_array(
        [np.ones(18)] * 2, offsets=[-2, 2], shape=(20, 20)), wide, format="csr")


@pytest.mark.parametrize("make, words", [
    (lambda: interleaved(five_point()), "2 unknowns at each node of a grid of 20 x 30 (y, x), interleaved"),
    (lambda: interleaved(sp.kron(mass(ny), mass(nx)).tocsr(), 3), "3 unknowns at each node of a grid of 20 x 30"),
    (lambda: blocked(five_point()), "2 unknowns at each node of a grid of 20 x 30 (y, x), blocked"),
    (quadratic, "two columns away, with 25 entries, like quadratic elements"),
    (lambda: five_point()[(order := np.random.default_rng(0).permutation(n))][:, order], "like a grid whose unknowns are permuted"),
    (lambda: sp.random_array((200, 200), density=0.2, rng=np.random.default_rng(1), format="csr"), "entries, and those of a grid"),
])
def test_what_a_matrix_looks_like(make, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        stratum.Multigrid(sp.csr_array(make()))


@pytest.mark.parametrize("a, shape, words", [
    (box(), (30, 7), r"no neighbour of it on a grid of 7 x 30 nodes.*; it looks like 7 points of a box.* give shape=\(5, 6, 7\)"),
    (interleaved(five_point()), (20, 60), "no neighbour of it.*; it looks like 2 unknowns at each node")])
def test_a_shape_that_cannot_be(a, shape, words):
    with pytest.raises(ValueError, match=words):
        stratum.Multigrid(a, shape=shape)


def elasticity(order):
    """Bilinear elements of plane strain, lambda = mu, held at all sides: symmetric, two components."""
    s, m = line(nx), mass(nx)
    t, k = line(ny), mass(ny)
    d = lambda n: sp.diags_array([-np.ones(n - 1) / 2, np.ones(n - 1) / 2], offsets=[-1, 1])
    xx, yy, xy = sp.kron(k, s), sp.kron(t, m), sp.kron(d(ny), d(nx))
    a = sp.block_array([[3 * xx + yy, -2 * xy], [-2 * xy, xx + 3 * yy]], format="csr")
    if order == "blocked":
        return a
    place = np.arange(2 * n).reshape(2, n).T.ravel()
    return a[place][:, place]


@pytest.mark.parametrize("order", ["interleaved", "blocked"])
def test_components(order, rng):
    a = elasticity(order)
    solver = stratum.Components(a, 2, order=order, threads=1)
    assert solver.symmetric and solver.grid == (ny, nx)
    b = rng.standard_normal(2 * n)
    seen = []
    x = solver.solve(b, callback=lambda k, r: seen.append(k))
    expect_solution(a, x, b)
    assert solver.report["converged"] and len(seen) == solver.report["iterations"] < 25
    expect_solution(a, solver.solve(b, x0=x), b)
    assert solver.report["iterations"] == 0
    x, info = linalg.cg(a, b, rtol=1e-8, M=solver.aspreconditioner())
    assert info == 0
    expect_solution(a, x, b, 1e-7)
    with pytest.warns(stratum.ConvergenceWarning, match="max iterations after 2"):
        solver.solve(b, maxiter=2)
    wind = (a + 0.2 * sp.diags_array([np.ones(2 * n - 2), -np.ones(2 * n - 2)], offsets=[2, -2])).tocsr()
    if order == "blocked":
        wind = a + sp.block_array([[None, 0.1 * five_point()], [0 * five_point(), None]])
    solver = stratum.Components(wind, 2, order=order, threads=1)
    assert not solver.symmetric
    x = solver.solve(b)
    expect_solution(solver._a, x, b)


@pytest.mark.parametrize("call, words", [
    (lambda a: stratum.Components(a, 7), "1200 unknowns are no multiple of 7"),
    (lambda a: stratum.Components(a, 2, order="x"), "order is 'interleaved' or 'blocked'; not 'x'"),
    (lambda a: stratum.Components(a.toarray(), 2), "given is ndarray of shape (1200, 1200)"),
    (lambda a: stratum.Components(a, 2).solve(np.ones(3)), "b has shape (1200,) or (1200, k); given is (3,)"),
])
def test_components_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        call(elasticity("interleaved"))


def test_options_of_pyamg_that_mean_something(b):
    a = five_point()
    symmetric = ("gauss_seidel", {"sweep": "symmetric", "iterations": 1})
    for options, smoother, sweeps in (
            (dict(presmoother=symmetric, postsmoother=symmetric), "colour_gs", 2),
            (dict(presmoother=("jacobi", {"iterations": 3}), symmetry="hermitian"), "jacobi", 3),
            (dict(postsmoother="gauss_seidel", symmetry="nonsymmetric"), "colour_gs", 1)):
        ml = stratum.Multigrid(a, **options)
        expect_solution(a, ml.solve(b), b)
        assert {(level["smoother"], level["sweeps"]) for level in ml.report["levels"][1:]} == {(smoother, sweeps)}


@pytest.mark.parametrize("options, words", [
    (dict(strength="symmetric"), "strength='symmetric' of PyAMG means nothing on a grid: coarse grids are every other node"),
    (dict(B=np.ones((4, 1))), "stratum.Components"),
    (dict(max_coarse=10), "max_coarse=10 of PyAMG"),
    (dict(presmoother="richardson"), "presmoother is 'gauss_seidel' or 'jacobi'"),
    (dict(presmoother=("jacobi", {"omega": 0.5})), "not 'omega'"),
    (dict(presmoother="jacobi", postsmoother="gauss_seidel"), "are the same here"),
    (dict(presmoother="jacobi", sweeps=2), "give either"),
    (dict(symmetry="hermitian", symmetric=False), "exclude each other"),
    (dict(smother="adi"), "stratum.Multigrid has no option 'smother'"),
])
def test_options_of_pyamg_that_mean_nothing_say_why(options, words):
    with pytest.raises(TypeError, match=".*" + re.escape(words)):
        stratum.Multigrid(five_point(), **options)


def test_project_of_one_solve():
    line = lambda n: sp.diags_array([-np.ones(n - 1), np.r_[1, 2 * np.ones(n - 2), 1], -np.ones(n - 1)], offsets=[-1, 0, 1])
    a = sp.kronsum(line(12), line(9), format="csr")
    ml, b = stratum.Multigrid(a, shape=(9, 12)), np.arange(108.0)
    with pytest.raises(ValueError, match="there is no solution; `project` subtracts the mean"):
        ml.solve(b)
    x = ml.solve(b, project=True)
    assert abs(a @ x - (b - b.mean())).max() < 1e-6 and abs(x.mean()) < 1e-10
    with pytest.raises(ValueError, match="there is no solution"):
        ml.solve(b)
    with pytest.raises(TypeError, match="subtract the mean of b before"):
        ml.solve(b, project=True, accel=linalg.cg)
    with pytest.raises(ValueError, match="there is no solution"):
        stratum.Multigrid(a, shape=(9, 12), project=True).solve(b, project=False)
