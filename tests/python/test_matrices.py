"""Matrices that are not what they seem: written with few digits, held, in parts, changed after they were given; and forks."""

import os
import signal
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import stratum


def neumann(hx, hy):
    """Five points on cells hx x hy between Neumann boundaries."""
    def line(h):
        c = 2 / (h[1:] + h[:-1])
        return sp.diags([-c, np.r_[c, 0] + np.r_[0, c], -c], [-1, 0, 1]), sp.diags(h)
    (lx, mx), (ly, my) = line(hx), line(hy)
    return (sp.kron(my, lx) + sp.kron(ly, mx)).tocsr()


def balanced(n):
    b = np.random.default_rng(n).standard_normal(n)
    return b - b.mean()


@pytest.mark.parametrize("digits", [9, 11, 14])
@pytest.mark.parametrize("n", [4, 30])
def test_a_singular_matrix_from_a_text_file(digits, n):
    h = 1.1 ** np.arange(n)
    meant = neumann(h, h)
    A = meant.copy()
    A.data = np.array([float(f"{v:.{digits - 1}e}") for v in A.data])
    ml = stratum.Multigrid(A, shape=(n, n))
    assert ml.singular and ml.found["singular_parts"] == 1
    assert f"{digits} digits" in ml.found["note"]
    b = balanced(n * n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = ml.solve(b)
    assert ml.report["iterations"] < 12 and "taken for singular" in ml.report["choice"]
    assert np.linalg.norm(b - meant @ x) < 1e-6 * np.linalg.norm(b)
    with pytest.raises(ValueError, match="there is no solution"):
        ml.solve(b + 1)
    forced = stratum.Multigrid(A, shape=(n, n), singular=True)
    assert np.allclose(forced.solve(b), x, atol=1e-6 * abs(x).max())


def test_a_tiny_reaction_stays():
    A = neumann(np.ones(20), np.ones(20)) + 1e-13 * sp.identity(400)
    ml = stratum.Multigrid(A, shape=(20, 20))
    assert not ml.singular and ml.found["singular_parts"] == 0 and ml.found["note"] == ""


def test_parts_are_tested_each_by_itself():
    rooms = sp.block_diag([neumann(np.ones(16), np.ones(9)), neumann(np.ones(16), np.ones(7))]).tocsr()
    ml = stratum.Multigrid(rooms, shape=(16, 16))
    assert ml.singular and ml.found["singular_parts"] == 2
    b = np.r_[balanced(144), balanced(112)]
    x = ml.solve(b)
    assert ml.report["iterations"] < 14
    assert np.linalg.norm(b - rooms @ x) < 1.1e-8 * np.linalg.norm(b)
    assert abs(x[:144].sum()) < 1e-8 and abs(x[144:].sum()) < 1e-8
    b[0] += 1
    b[-1] -= 1  # the whole is still balanced
    with pytest.raises(ValueError, match="144 unknowns that unknown 0 is connected to.*sums to 1"):
        ml.solve(b)
    x = sla.cg(rooms, np.r_[balanced(144), balanced(112)], rtol=1e-8, M=ml.aspreconditioner())
    assert x[1] == 0


def test_a_node_that_is_held_by_a_penalty():
    for node, most in ((0, 9), (20 * 64 + 31, 10)):
        A = neumann(np.ones(64), np.ones(64)).tolil()
        A[node, node] += 1e12
        A = A.tocsr()
        b = balanced(64 * 64)
        ml = stratum.Multigrid(A, shape=(64, 64))
        x = ml.solve(b)
        exact = sla.spsolve(A.tocsc(), b)
        assert ml.report["iterations"] <= most
        assert abs(x - exact).max() < 1e-6 * np.ptp(exact)


def test_a_matrix_that_is_changed_in_place():
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(20, 20))
    A = sp.kronsum(line, line, format="csr")
    b = np.ones(400)
    ml = stratum.Multigrid(A, shape=(20, 20))
    x = ml.solve(b)
    A.data *= 2
    assert np.allclose(ml.solve(b), x)
    with pytest.raises(ValueError, match="changed in place.*update"):
        ml.solve(b, accel="gmres")
    ml.update(A)
    assert np.allclose(ml.solve(b), x / 2) and np.allclose(ml.solve(b, accel="gmres"), x / 2, rtol=1e-6)
    bands = np.zeros((5, 20, 20))
    bands[0], bands[1, :, :-1], bands[3, :-1] = 4, -1, -1
    ml = stratum.Multigrid(bands)
    bands[0, 3, 4] = 5
    with pytest.raises(ValueError, match="changed in place"):
        ml.solve(b, accel="gmres")


def test_the_worst_of_several_right_hand_sides_is_told():
    h = np.full(100, 1e-3)
    A = neumann(h, h) + sp.diags(np.where(np.arange(10000) % 100 == 0, 2.0, 0.0))
    ml = stratum.Multigrid(A, shape=(100, 100))
    b = np.stack([np.zeros(10000), balanced(10000)], axis=1)
    with pytest.warns(stratum.ConvergenceWarning, match="max iterations after 1 iterations"):
        ml.solve(b, maxiter=1)


def in_child(work):
    """True where work() ends in a child process within a minute."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_have_one_thread():
    n = 300  # where threads are used
    A = neumann(np.ones(n), np.ones(n)) + sp.identity(n * n)
    b = balanced(n * n)
    ml = stratum.Multigrid(A, shape=(n, n), threads=2)
    problem = stratum.Poisson(("A3", 8), threads=2)
    x, u = ml.solve(b), problem.solve(1).u

    def again():
        assert np.allclose(ml.solve(b), x, rtol=1e-6, atol=1e-9)
        assert np.allclose(problem.solve(1).u, u)
        made = stratum.Multigrid(A, shape=(n, n), threads=2)
        assert np.allclose(made.solve(b), x, rtol=1e-6, atol=1e-9)
        ml.update(2 * A)
        assert np.allclose(ml.solve(b), x / 2, rtol=1e-6, atol=1e-9)

    assert in_child(again)
    assert np.allclose(ml.solve(b), x)


heavy = pytest.mark.skipif("STRATUM_QUICK" in os.environ, reason="heavy")


@pytest.mark.parametrize("angle, most", [pytest.param(30, 18, marks=heavy), (45, 12), pytest.param(60, 18, marks=heavy)])
def test_a_rotated_anisotropy_takes_interpolation_that_follows_it(angle, most):
    """1 : 1000, bilinear elements; bilinear interpolation takes 21 to 23 iterations."""
    n, eps, (c, s) = 255, 1e-3, (np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle)))
    bands = lambda low, mid, high: sp.diags_array([np.full(n - 1, low), np.full(n, mid), np.full(n - 1, high)], offsets=[-1, 0, 1])
    mass, stiffness, slope = bands(1 / 6, 4 / 6, 1 / 6), bands(-1.0, 2.0, -1.0), bands(-0.5, 0.0, 0.5)
    a = (c * c + eps * s * s) * sp.kron(mass, stiffness) + (s * s + eps * c * c) * sp.kron(stiffness, mass) \
        - 2 * (1 - eps) * c * s * sp.kron(slope, slope)
    ml = stratum.Multigrid(a, shape=(n, n))
    ml.solve(np.random.default_rng(0).standard_normal(n * n), tol=1e-8)
    assert "rotated against the mesh" in ml.found["choice"] and ml.report["iterations"] <= most
