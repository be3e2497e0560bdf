"""stratum.poisson against bilinear elements assembled naively (reference.py), and what it says of input that it refuses."""

import os
import pickle
import re
import signal
import threading
import time

import numpy as np
import pytest
import reference
import stratum

tight = dict(rtol=1e-11)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def mesh(rng):
    return stratum.mesh(widths=(rng.uniform(0.01, 1, 13), rng.uniform(0.01, 1, 10)), origin=(-1, 3))


def compare(given, expected):
    assert given.shape == expected.shape
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-8 * abs(expected).max())


def mass_load(mesh, f):
    """Integrals of f phi of f linear between nodes."""
    for h in (mesh.widths_x, mesh.widths_y):
        loads = np.zeros(f.shape)
        loads[:, :-1] += h / 6 * (2 * f[:, :-1] + f[:, 1:])
        loads[:, 1:] += h / 6 * (f[:, :-1] + 2 * f[:, 1:])
        f = loads.T
    return f


dirichlet = ("dirichlet", 0.0, 0.0)
on_all = dict.fromkeys(("left", "right", "bottom", "top"), dirichlet)


def test_arrays_at_nodes_and_on_cells(mesh, rng):
    f, k, c = rng.standard_normal(mesh.shape), rng.uniform(0.1, 10, mesh.cells), rng.uniform(0, 1, mesh.cells)
    x, y, u, report = stratum.poisson(mesh, f, kappa=k, reaction=c, **tight)
    compare(u, reference.solve(mesh, mass_load(mesh, f), on_all, k, c=c))
    assert report["converged"] and report["status"] == "converged" and len(report["residuals"]) == report["iterations"] + 1
    np.testing.assert_array_equal(x, mesh.x)
    assert (x[0], y[0]) == (-1, 3)


def test_f_on_cells_is_constant_in_each(mesh, rng):
    f = rng.standard_normal(mesh.cells)
    load = np.zeros(mesh.shape)
    for j, i in np.ndindex(mesh.cells):
        load[j:j + 2, i:i + 2] += f[j, i] * mesh.widths_x[i] * mesh.widths_y[j] / 4
    compare(stratum.poisson(mesh, f, **tight).u, reference.solve(mesh, load, on_all))


def test_functions_are_called_with_arrays(mesh):
    shapes = []

    def f(x, y):
        shapes.append(x.shape)
        return 1 + 2 * x - 3 * y + 0.5 * x * y  # bilinear, so that nodes say everything

    nodes = np.meshgrid(mesh.x, mesh.y)
    centres = np.meshgrid(mesh.x[:-1] + mesh.widths_x / 2, mesh.y[:-1] + mesh.widths_y / 2)
    u = stratum.poisson(mesh, f, kappa=lambda x, y: 2 + np.cos(x * y), boundaries=lambda x, y: x * y, **tight).u
    assert shapes == [(40, 52)]
    boundaries = {"left": ("dirichlet", mesh.x[0] * mesh.y, 0), "right": ("dirichlet", mesh.x[-1] * mesh.y, 0),
             "bottom": ("dirichlet", mesh.x * mesh.y[0], 0), "top": ("dirichlet", mesh.x * mesh.y[-1], 0)}
    compare(u, reference.solve(mesh, mass_load(mesh, f(*nodes)), boundaries, 2 + np.cos(centres[0] * centres[1])))


def test_functions_in_blocks_of_rows():
    mesh = stratum.mesh("A1", 9)
    f = lambda x, y: np.cos(3 * x) * y
    blocks = []
    stratum.poisson(mesh, lambda x, y: blocks.append(x.shape) or f(x, y))
    assert len(blocks) > 2 and sum(rows for rows, _ in blocks) == 4 * 512
    from stratum import _sampling
    whole = _sampling.loads(mesh, f)
    _sampling._BLOCK, kept = 1 << 30, _sampling._BLOCK
    try:
        np.testing.assert_allclose(_sampling.loads(mesh, f), whole, rtol=1e-12, atol=1e-18)
    finally:
        _sampling._BLOCK = kept


def test_sides_of_all_kinds(mesh, rng):
    g = {"left": rng.standard_normal(11), "right": rng.standard_normal(11), "bottom": rng.standard_normal(14)}
    boundaries = {"left": ("robin", 2.5, g["left"]), "right": ("dirichlet", g["right"]), "bottom": ("neumann", g["bottom"]),
             "top": "neumann"}
    f = rng.standard_normal(mesh.shape)
    expected = reference.solve(mesh, mass_load(mesh, f), {
        "left": ("robin", g["left"], 2.5), "right": ("dirichlet", g["right"], 0), "bottom": ("neumann", g["bottom"], 0),
        "top": ("neumann", 0.0, 0)}, 3.0)
    compare(stratum.poisson(mesh, f, boundaries, 3.0, **tight).u, expected)


def test_periodic(mesh, rng):
    f = rng.standard_normal(mesh.shape)
    g = np.sin(mesh.x)
    boundaries = {"left": "periodic", "right": "periodic", "bottom": g}
    periodic = ("periodic", 0.0, 0)
    g = g.copy()
    g[-1] = g[0]  # one node
    expected = reference.solve(mesh, mass_load(mesh, f), {
        "left": periodic, "right": periodic, "bottom": ("dirichlet", g, 0), "top": dirichlet})
    u = stratum.poisson(mesh, f, boundaries, **tight).u
    compare(u, expected)
    np.testing.assert_array_equal(u[:, 0], u[:, -1])


def test_tensors(mesh, rng):
    f, k = rng.standard_normal(mesh.shape), rng.uniform(1, 2, (3, *mesh.cells))
    k[1] -= 1.5
    load = mass_load(mesh, f)
    compare(stratum.poisson(mesh, f, kappa=tuple(k), **tight).u, reference.solve(mesh, load, on_all, k[0], k[1], k[2]))
    compare(stratum.poisson(mesh, f, kappa=(k[0], k[2]), **tight).u, reference.solve(mesh, load, on_all, k[0], 0, k[2]))
    compare(stratum.poisson(mesh, f, kappa=(4.0, 0.5), **tight).u, reference.solve(mesh, load, on_all, 4.0, 0, 0.5))


def test_published_accuracy():
    """Of second order on cells up to a million times as long as wide."""
    exact = lambda x, y: np.sin(x) * np.sin(y)
    errors = []
    for level in (5, 6, 7):
        x, y, u, _ = stratum.poisson(("A3", level), lambda x, y: 2 * exact(x, y), boundaries=exact)
        errors.append(abs(u - exact(*np.meshgrid(x, y))).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1) and errors[1] / errors[2] == pytest.approx(4, rel=0.1)


def test_thin_cells_beside_the_far_end_have_their_values():
    """Coordinates there are the same number; distances to the side are not."""
    widths = 0.25 ** np.arange(1, 41)
    mesh = stratum.mesh(widths=(widths, widths))
    assert mesh.x[-1] == mesh.x[-2]
    g = np.arange(mesh.x.size, dtype=float)
    u = stratum.poisson(mesh, 0, boundaries={"bottom": g, "top": g}).u
    np.testing.assert_array_equal(u[0, 1:-1], g[1:-1])
    np.testing.assert_array_equal(u[-1, 1:-1], g[1:-1])


def test_singular_problems_are_found_out():
    problem = stratum.Poisson(("U1", 5), boundaries="neumann")
    assert problem.singular
    x, y, u, _ = problem.solve(lambda x, y: np.cos(np.pi * x))
    np.testing.assert_allclose(u, np.broadcast_to(np.cos(np.pi * x) / np.pi**2, u.shape), atol=1e-3)
    with pytest.raises(ValueError, match="incompatible data: .* 1, 100 %.*project"):
        problem.solve(1)
    np.testing.assert_allclose(problem.solve(1, project=True).u, 0, atol=1e-12)
    assert not stratum.Poisson(("U1", 5), boundaries="neumann", reaction=1.0).singular


def test_solutions_up_to_a_constant_have_mean_zero(mesh, rng):
    u = stratum.poisson(mesh, rng.standard_normal(mesh.shape), boundaries="neumann", project=True).u
    assert abs(mass_load(mesh, u).sum()) < 1e-10 * mass_load(mesh, abs(u)).sum()


def test_one_pass_of_full_multigrid():
    f, exact = lambda x, y: 2 * np.sin(x) * np.sin(y), lambda x, y: np.sin(x) * np.sin(y)
    x, y, u, report = stratum.poisson(("A3", 7), f, exact, cycle="fmg")
    solved = stratum.poisson(("A3", 7), f, exact).u
    error = abs(solved - exact(*np.meshgrid(x, y))).max()
    assert abs(u - solved).max() < 0.3 * error and report["iterations"] <= 1


@pytest.mark.skipif(not stratum.expressions_available(), reason="a build without muParser")
def test_expressions():
    given = stratum.poisson(("A2", 6), "2*sin(x)*sin(y)", {"left": "cos(y)", "right": ("robin", "1+y", "x")}, "1+x*y")
    functions = stratum.poisson(
        ("A2", 6), lambda x, y: 2 * np.sin(x) * np.sin(y),
        {"left": lambda x, y: np.cos(y), "right": ("robin", lambda x, y: 1 + y, lambda x, y: x)}, lambda x, y: 1 + x * y)
    compare(given.u, functions.u)
    with pytest.raises(ValueError, match="expression 'x\\*'"):
        stratum.poisson(("A2", 4), "x*")


@pytest.mark.skipif(stratum.expressions_available(), reason="a build with muParser")
def test_without_expressions():
    with pytest.raises(ValueError, match="no expressions.*lambda x, y"):
        stratum.poisson(("A2", 4), "x")


def test_meshes():
    named = stratum.mesh("A3", 4)
    assert named.name == "A3" and named.shape == (17, 17) and named.cells == (16, 16)
    assert named.largest_aspect_ratio == pytest.approx((named.widths_x.max() / named.widths_y.min()), rel=1e-12)
    x = np.array([0, 0.25, 1])
    np.testing.assert_array_equal(stratum.mesh(x, [1, 2]).x, x)
    np.testing.assert_array_equal(stratum.mesh(widths=([1, 2], [3]), origin=(1, 0)).x, [1, 2, 4])
    graded = stratum.mesh(cells=(8, 6), size=(2, 1), grading=("geometric:2,last", "uniform"))
    np.testing.assert_allclose(graded.widths_x[:-1] / graded.widths_x[1:], 2)
    np.testing.assert_allclose(graded.widths_y, 1 / 6)


@pytest.mark.parametrize("make, words", [
    (lambda: stratum.mesh("A9", 4), "unknown mesh 'A9'; known: U1"),
    (lambda: stratum.mesh("A3", 40), "40"),
    (lambda: stratum.mesh([0, 1, 0.5], [0, 1]), "width -0.5"),
    (lambda: stratum.mesh([[0, 1]], [0, 1]), "(1, 2)"),
    (lambda: stratum.mesh(), "given are 0"),
    (lambda: stratum.mesh("A3", 4, cells=(3, 3)), "given are 2"),
    (lambda: stratum.mesh(cells=(3, 3), grading="sawtooth"), "sawtooth"),
    (lambda: stratum.poisson(("U1", 4), np.ones((3, 3))), "(17, 17) or (16, 16) on this mesh; given is (3, 3)"),
    (lambda: stratum.poisson(("U1", 4), lambda x, y: np.ones(3)), "returned shape (3,)"),
    (lambda: stratum.poisson(("U1", 4), lambda x, y: 1 / (x - x)), "must be finite"),
    (lambda: stratum.poisson(("U1", 4), np.full((17, 17), np.nan)), "f must be finite"),
    (lambda: stratum.poisson(("U1", 4), 1, kappa=np.ones((17, 17))), "(16, 16) on this mesh; given is (17, 17)"),
    (lambda: stratum.poisson(("U1", 4), 1, kappa=-1), "positive definite"),
    (lambda: stratum.poisson(("U1", 4), 1, reaction=-1), "-1"),
    (lambda: stratum.poisson(("U1", 4), 1, boundaries={"left": np.ones(4)}), "left boundary has shape (17,)"),
    (lambda: stratum.poisson(("U1", 4), 1, boundaries={"west": 1}), "not 'west'"),
    (lambda: stratum.poisson(("U1", 4), 1, boundaries={"left": "periodic"}), "periodic"),
    (lambda: stratum.poisson(("U1", 4), 1, boundaries={"left": ("robin", 1)}), "'robin' with 1 numbers"),
    (lambda: stratum.poisson(("U1", 4), 1, boundaries={"left": ("robin", -1, 0)}), "-1"),
    (lambda: stratum.poisson(("U1", 4), 1, smoother="x"), "known: adi"),
    (lambda: stratum.poisson(("U1", 4), 1, sweeps=3), "3"),
    (lambda: stratum.poisson(("U1", 4), 1, cycle="x"), "cycle is one of v, w, f, w2, k; not 'x'"),
    (lambda: stratum.poisson(("U1", 4), 1, accel="x"), "accel is one of multigrid, cg"),
    (lambda: stratum.poisson(("U1", 4), 1, device="tpu"), "'cpu' or 'cuda'"),
    (lambda: stratum.poisson(("U1", 4), 1, rtol=-1), "rtol"),
    (lambda: stratum.poisson(("U1", 4), 1, on_failure="maybe"), "'maybe'"),
])
def test_refused_with_the_value_and_what_is_allowed(make, words):
    with pytest.raises(ValueError, match=re.escape(words)), np.errstate(all="ignore"):
        make()


def test_other_exceptions():
    with pytest.raises(TypeError, match="f is real; given is complex128"):
        stratum.poisson(("U1", 4), 1j)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tolerance'"):
        stratum.poisson(("U1", 4), 1, tolerance=1)
    with pytest.raises(MemoryError, match="GiB"):
        stratum.poisson(("U1", 19), 1)
    if not stratum.cuda_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            stratum.poisson(("U1", 4), 1, device="cuda")


def test_what_does_not_converge_is_never_silent():
    with pytest.warns(stratum.ConvergenceWarning, match="max iterations after 1 iterations") as caught:
        report = stratum.poisson(("A3", 6), 1, maxiter=1).report
    assert caught[0].filename == __file__
    assert not report["converged"] and report["status"] == "max iterations"
    with pytest.raises(stratum.ConvergenceError) as raised:
        stratum.poisson(("A3", 6), 1, maxiter=1, on_failure="raise")
    assert raised.value.report["iterations"] == 1 and raised.value.x.shape == (65, 65)
    with pytest.raises(stratum.ConvergenceError, match="diverged"):
        stratum.poisson(("A2", 7), 1, smoother="jacobi", single_precision=False)
    assert stratum.poisson(("A3", 6), 1, maxiter=1, on_failure="ignore").report["iterations"] == 1


def test_callbacks_their_exceptions_and_interruption():
    problem, seen = stratum.Poisson(("A3", 6)), []
    report = problem.solve(1, callback=lambda k, residual: seen.append((k, residual))).report
    assert seen == list(enumerate(report["residuals"]))

    def stop(k, residual):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        problem.solve(1, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        problem.solve(1, callback=lambda k, residual: os.kill(os.getpid(), signal.SIGINT) if k == 1 else None)
    assert problem.solve(1).report["converged"]


def test_signals_arrive_between_iterations():
    """So that Ctrl-C does not wait for the end, whether there is a callback or not."""
    problem, arrived = stratum.Poisson(("U2", 9), smoother="jacobi", threads=1), []
    before = signal.signal(signal.SIGALRM, lambda *_: arrived.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        problem.solve(1, maxiter=100, on_failure="ignore")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(arrived) > 3


def test_others_run_meanwhile():
    """The GIL is not held: a thread gets on while another one solves."""
    from stratum import _sampling

    problem, done, ticks = stratum.Poisson(("A3", 10), threads=1), threading.Event(), []
    load = _sampling.loads(problem.mesh, 1)

    def tick():
        while not done.wait(0.0005):
            ticks.append(time.perf_counter())

    other = threading.Thread(target=tick)
    other.start()
    start = time.perf_counter()
    problem._system.solve(load, 1e-8, 0, 100, None, False, None)
    end = time.perf_counter()
    done.set()
    other.join()
    assert sum(start < t < end for t in ticks) > 2


def test_solvers_in_several_threads():
    problems = [stratum.Poisson(("A3", 7), threads=1) for _ in range(3)]
    results = [None] * 3

    def solve(k):
        results[k] = problems[k].solve(1).u

    threads = [threading.Thread(target=solve, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_reports_are_plain():
    report = stratum.poisson(("A3", 6), 1).report
    assert pickle.loads(pickle.dumps(report)) == report
    assert report["levels"][-1]["shape"] == (63, 63) and report["levels"][-1]["smoother"] == "adi"


@pytest.mark.parametrize("make, shape", [
    (lambda mesh, **o: stratum.Poisson(mesh, {"left": 1.0}, **o), (12, 10)),
    (lambda mesh, **o: stratum.Poisson(mesh, discretisation="fv", **o), (12, 10)),
    (lambda mesh, **o: stratum.Poisson(mesh, bodies=[(lambda x, y: x > 0.8, "value", 1.0)], **o), (12, 10)),
    (lambda mesh, **o: stratum.Poisson3D(mesh, {"top": "neumann"}, **o), (8, 6, 5))])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_of_right_hand_sides(make, shape, threads):
    problem = make(stratum.mesh(cells=shape), threads=threads)
    f = np.random.default_rng(2).standard_normal((2, 4, *reversed(shape)))
    batch = problem.solve(f, rtol=1e-10)
    assert batch.u.shape[:2] == (2, 4) and len(batch.report["columns"]) == 8 and batch.report["converged"]
    assert len(problem._side_by_side) == (2 if threads == 2 else 0)
    for k in np.ndindex(2, 4):
        np.testing.assert_allclose(batch.u[k], problem.solve(f[k], rtol=1e-10).u, rtol=0, atol=1e-9)
    seen = []
    problem.solve(f[0], rtol=1e-10, callback=lambda iteration, residual: seen.append(iteration))
    assert len(seen) >= 4
    with pytest.raises(ValueError, match="f has no right-hand side"):
        problem.solve(f[:0])
    with pytest.raises(ValueError, match="f has shape"):
        problem.solve(f[..., 1:])
    if problem.mesh.shape == (11, 13):
        with pytest.warns(stratum.ConvergenceWarning, match="max iterations"):
            assert not problem.solve(f, rtol=1e-10, maxiter=1).report["converged"]
