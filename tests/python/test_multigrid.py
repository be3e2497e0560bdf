"""stratum.Multigrid of scipy.sparse matrices: against direct solves, in SciPy's methods, and what it refuses."""

import os
import re
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import stratum
from scipy.sparse import linalg

ny, nx = 20, 30
n = nx * ny


def line(n, end=2.0):
    diagonal = np.full(n, 2.0)
    diagonal[[0, -1]] = end
    return sp.diags_array([np.full(n - 1, -1.0), diagonal, np.full(n - 1, -1.0)], offsets=[-1, 0, 1])


def five_point(anisotropy=100.0, end=2.0):
    """-u_xx - anisotropy u_yy, x fastest."""
    return sp.kronsum(line(nx, end), anisotropy * line(ny, end), format="csr")


def nine_point():
    """Elements: the Laplacian's rows."""
    mass = lambda n: sp.eye_array(n) - line(n) / 6
    return (sp.kron(mass(ny), line(nx)) + sp.kron(line(ny), mass(nx))).tocsr()


def bands_of(a):
    """The nine bands, by offsets."""
    a, bands = a.toarray(), np.zeros((9, ny, nx))
    for j, i in np.ndindex(ny, nx):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if 0 <= j + dy < ny and 0 <= i + dx < nx:
                    bands[3 * (dy + 1) + dx + 1, j, i] = a[j * nx + i, (j + dy) * nx + i + dx]
    return bands


@pytest.fixture
def b():
    return np.random.default_rng(3).standard_normal(n)


def expect_solution(a, x, b, tolerance=1e-8):
    assert np.linalg.norm(b - a @ x) <= tolerance * np.linalg.norm(b) * (1 + 1e-6)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
def test_every_format(form, container, b):
    a = container(five_point()).asformat(form)
    expect_solution(a, stratum.Multigrid(a, shape=(ny, nx)).solve(b), b)


def test_indices_of_both_widths_unsorted_and_twice(b):
    a = nine_point()
    wide = a.copy()
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    assert wide.indices.dtype == np.int64
    x = stratum.Multigrid(a, shape=(ny, nx)).solve(b)
    np.testing.assert_array_equal(stratum.Multigrid(wide, shape=(ny, nx)).solve(b), x)
    # A row backwards, and an entry in two parts.
    twice = sp.csr_array((np.repeat(a.data[::-1] / 2, 2), np.repeat(a.indices[::-1], 2), 2 * (a.nnz - a.indptr[::-1])))
    expect_solution(a, stratum.Multigrid(sp.csr_array(twice[::-1]), shape=(ny, nx)).solve(b), b)


def test_bands(b):
    a = nine_point()
    bands = bands_of(a)
    x = stratum.Multigrid(a, shape=(ny, nx)).solve(b)
    nine, five = stratum.Multigrid(bands), stratum.Multigrid(np.asfortranarray(bands[4:]))
    assert nine.grid == five.grid == (ny, nx)
    np.testing.assert_array_equal(nine.solve(b), x)
    np.testing.assert_array_equal(five.solve(b), x)
    nine.update(2 * bands)
    expect_solution(2 * a, nine.solve(b), b)


@pytest.mark.parametrize("a", [five_point(), nine_point()])
def test_the_grid_is_read_off_the_diagonals(a, b):
    ml = stratum.Multigrid(a)
    assert ml.grid == (ny, nx)
    expect_solution(a, ml.solve(b), b)


def test_numberings_are_found_out_or_given(b):
    a = five_point()
    nodes = np.arange(n).reshape(ny, nx)
    y_first = nodes.T.ravel()
    assert stratum.Multigrid(a[y_first][:, y_first], shape=(ny, nx)).found["numbering"] == "y first"
    order = np.random.default_rng(0).permutation(n)
    permuted = a[order][:, order]
    with pytest.raises(ValueError, match="give the node"):
        stratum.Multigrid(permuted, shape=(ny, nx))
    ml = stratum.Multigrid(permuted, shape=(ny, nx), numbering=order)
    np.testing.assert_allclose(ml.solve(b[order]), stratum.Multigrid(a, shape=(ny, nx)).solve(b)[order], atol=1e-7)


def test_arrays_on_the_grid_are_refused_where_rows_have_another_order(b):
    """They would be read row by row, and b and x would lie at the wrong nodes without a word."""
    a, grid = five_point(), b.reshape(ny, nx)
    y_first = np.arange(n).reshape(ny, nx).T.ravel()
    order = np.random.default_rng(0).permutation(n)
    x, y = np.tile(np.arange(nx), ny), np.repeat(np.arange(ny), nx)
    for ml, words in ((stratum.Multigrid(a[y_first][:, y_first], shape=(ny, nx)), "y first: .*v.T.reshape"),
                      (stratum.Multigrid(a[order][:, order], shape=(ny, nx), numbering=order), "as numbering= or coordinates="),
                      (stratum.Multigrid(a[order][:, order], coordinates=(x[order], y[order])), "as numbering= or coordinates=")):
        for call in (ml.solve, ml.apply, lambda v, ml=ml: ml.solve(v, accel=linalg.cg),
                     lambda v, ml=ml: stratum.gradients.vjp(ml, v)):
            with pytest.raises(ValueError, match=words):
                call(grid)
    expect = stratum.Multigrid(a, shape=(ny, nx)).solve(grid)
    transposed = stratum.Multigrid(a[y_first][:, y_first], shape=(ny, nx)).solve(grid.T.reshape(-1))
    np.testing.assert_allclose(transposed.reshape(nx, ny).T, expect, atol=1e-7)
    given = stratum.Multigrid(a, shape=(ny, nx), numbering=np.arange(n))  # the order of the array all the same
    np.testing.assert_allclose(given.solve(grid), expect, atol=1e-7)


def test_symmetric_or_not_is_found_out(b):
    a = five_point()
    wind = sp.kron(sp.eye_array(ny), sp.diags_array([np.full(nx - 1, 0.4), np.full(nx - 1, -0.4)], offsets=[1, -1]))
    ml = stratum.Multigrid((a + wind).tocsr(), shape=(ny, nx))
    assert not ml.symmetric and ml.found["accel"] == "gmres" and stratum.Multigrid(a, shape=(ny, nx)).symmetric
    expect_solution(a + wind, ml.solve(b), b)
    with pytest.raises(ValueError, match="said to be symmetric and is not"):
        stratum.Multigrid((a + wind).tocsr(), shape=(ny, nx), symmetric=True)


def test_singular_is_found_out(b):
    a = five_point(1.0, end=1.0)
    ml = stratum.Multigrid(a, shape=(ny, nx))
    assert ml.singular and set(ml.found["boundaries"].values()) == {"neumann"}
    x = ml.solve(b - b.mean())
    expect_solution(a, x, b - b.mean())
    assert abs(x.mean()) < 1e-12
    with pytest.raises(ValueError, match="project"):
        ml.solve(b)
    projecting = stratum.Multigrid(a, shape=(ny, nx), project=True)
    np.testing.assert_allclose(projecting.solve(b), x, atol=1e-6 * abs(x).max())


def test_right_hand_sides_of_every_shape(b):
    a = five_point()
    ml = stratum.Multigrid(a, shape=(ny, nx))
    x = ml.solve(b)
    assert x.dtype == np.float64 and x.shape == (n,)
    np.testing.assert_array_equal(ml.solve(b.reshape(ny, nx)), x.reshape(ny, nx))
    np.testing.assert_array_equal(ml.solve(b[:, None]), x[:, None])
    np.testing.assert_array_equal(ml.solve(list(b)), x)
    np.testing.assert_array_equal(ml.solve(np.repeat(b, 2)[::2]), x)  # every second number
    several = np.stack([b, 0 * b, 2 * b], axis=1)
    xs = ml.solve(several)
    np.testing.assert_array_equal(xs[:, 0], x)
    np.testing.assert_array_equal(xs[:, 1], 0)
    expect_solution(a, xs[:, 2], 2 * b)
    assert [r["iterations"] for r in ml.report["columns"]][1] == 0
    single = b.astype(np.float32)
    expect_solution(a, ml.solve(single), single.astype(float))
    assert ml.solve(np.ones(n, dtype=np.int32)).dtype == np.float64


def test_arrays_of_other_libraries_through_dlpack(b):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    ml = stratum.Multigrid(five_point(), shape=(ny, nx))
    right = jax.device_put(b, jax.devices("cpu")[0])  # where there is a GPU JAX would put it there
    x = ml.solve(right)
    assert isinstance(x, jax.Array) and x.devices() == right.devices()
    np.testing.assert_array_equal(np.asarray(x), ml.solve(b))
    assert isinstance(ml(right), jax.Array)


def test_tensors_of_torch(b):
    torch = pytest.importorskip("torch")
    ml = stratum.Multigrid(five_point(), shape=(ny, nx))
    x = ml.solve(torch.from_numpy(b))
    assert isinstance(x, torch.Tensor)
    np.testing.assert_array_equal(x.numpy(), ml.solve(b))


def test_an_array_on_a_gpu_is_refused_by_one_on_the_cpu():
    class OnGpu:
        shape, dtype = (n,), "float64"

        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(ValueError, match="device='cuda'"):
        stratum.Multigrid(five_point()).solve(OnGpu())


def test_starts_and_tolerances(b):
    a = nine_point()
    ml = stratum.Multigrid(a, shape=(ny, nx))
    residuals = []
    x, info = ml.solve(b, tol=1e-10, residuals=residuals, return_info=True)
    assert info == 0 and len(residuals) == ml.report["iterations"] + 1
    assert residuals[0] == pytest.approx(np.linalg.norm(b))
    expect_solution(a, x, b, 1e-10)
    np.testing.assert_array_equal(ml.solve(b, rtol=1e-10), x)
    ml.solve(b, x0=x, tol=1e-8)
    assert ml.report["iterations"] == 0
    ml.solve(b, tol=1e-10, atol=1e-3 * np.linalg.norm(b))
    assert ml.report["iterations"] < len(residuals) - 1
    start = np.ones(n)
    ml.solve(b, x0=start)
    np.testing.assert_array_equal(start, 1)


@pytest.mark.parametrize("accel", ["cg", "fcg", "cr", "gcr", "gmres", "fgmres", "bicgstab", "multigrid"])
def test_every_method(accel, b):
    a = nine_point()
    expect_solution(a, stratum.Multigrid(a, shape=(ny, nx), accel=accel).solve(b), b)
    ml = stratum.Multigrid(a, shape=(ny, nx))
    expect_solution(a, ml.solve(b, accel=accel), b)


def test_other_values(b):
    a = five_point()
    ml = stratum.Multigrid(a, shape=(ny, nx), smoother="adi")
    ml.solve(b, accel="gmres")
    ml.update(five_point(0.01))
    expect_solution(five_point(0.01), ml.solve(b), b)
    expect_solution(five_point(0.01), ml.solve(b, accel="gmres"), b)
    with pytest.raises(ValueError, match=re.escape("(10, 10)")):
        ml.update(a[:10, :10])
    a *= 3  # in place
    ml.update(a)
    expect_solution(a, ml.solve(b), b)
    expect_solution(a, ml.solve(b, accel="gmres"), b)


def test_values_that_are_refused_leave_those_before(b):
    a = five_point()
    ml = stratum.Multigrid(a, shape=(ny, nx))
    skewed = five_point(0.01).tolil()
    skewed[n - 1, n - 2] *= 1.5
    with pytest.raises(ValueError, match="was symmetric and is not any more"):
        ml.update(skewed)
    expect_solution(a, ml.solve(b), b)
    a.data[-1] = np.nan
    with pytest.raises(ValueError, match=f"row {n - 1} has the entry nan"):
        ml.update(a)
    with pytest.raises(ValueError, match="the latest update was refused"):
        ml.solve(b)


@pytest.mark.parametrize("single_precision", [True, False])
def test_preconditioner_of_scipy(single_precision, b):
    a = nine_point()
    m = stratum.Multigrid(a, shape=(ny, nx), single_precision=single_precision).aspreconditioner()
    assert m.shape == a.shape and m.dtype == np.float64
    for method in (linalg.cg, linalg.bicgstab, linalg.gmres):
        steps = []
        counted = {"callback": lambda _: steps.append(1)} | ({"callback_type": "pr_norm"} if method is linalg.gmres else {})
        x, info = method(a, b, rtol=1e-8, M=m, **counted)
        assert info == 0 and len(steps) < 15
        expect_solution(a, x, b, 1e-7)
    u, v = np.random.default_rng(0).standard_normal((2, n))
    assert u @ (m @ v) == pytest.approx(v @ (m @ u), rel=1e-3 if single_precision else 1e-10)
    np.testing.assert_allclose((m @ np.stack([u, v], axis=1))[:, 1], m @ v)
    np.testing.assert_array_equal(m.rmatvec(u), m.matvec(u))


def test_of_pyamgs_kind(b):
    """One word is another: the same matrix, the same calls."""
    pyamg = pytest.importorskip("pyamg")
    a = sp.csr_array(nine_point())
    results = {}
    for name, ml in {"pyamg": pyamg.smoothed_aggregation_solver(a), "stratum": stratum.Multigrid(a)}.items():
        residuals = []
        x = ml.solve(b, x0=np.zeros(n), tol=1e-8, maxiter=100, accel="cg", residuals=residuals)
        y, info = linalg.cg(a, b, rtol=1e-8, M=ml.aspreconditioner())
        expect_solution(a, x, b, 1e-7)
        expect_solution(a, y, b, 1e-7)
        results[name] = len(residuals)
    assert results["stratum"] <= results["pyamg"]


@pytest.mark.parametrize("make, words", [
    (lambda a: stratum.Multigrid(a, shape=(nx, nx)), "(30, 30) has 900 unknowns; the matrix has (600, 600)"),
    (lambda a: stratum.Multigrid(a[:10]), "a matrix is square; given is shape (10, 600)"),
    (lambda a: stratum.Multigrid(a + sp.coo_array(([-404.0], ([0], [0])), a.shape).tocsr(), shape=(ny, nx)),
     "row 0 has the diagonal entry -202"),
    (lambda a: stratum.Multigrid(a, shape=(ny, nx), widths=([1, 2], [3, 4])), "widths of 2 are given"),
    (lambda a: stratum.Multigrid(bands_of(a), shape=(nx, ny)), "(9, 20, 30) belong to a grid of shape (20, 30)"),
    (lambda a: stratum.Multigrid(a + sp.coo_array(([1.0], ([0], [300])), a.shape).tocsr(), shape=(ny, nx)),
     "row 0 couples to 300"),
    (lambda a: stratum.Multigrid(a[::-1][:, np.roll(np.arange(n), 7)]), "or shape=(ny, nx) and numbering=, ny nx = 600"),
    (lambda a: stratum.Multigrid(a * np.nan, shape=(ny, nx)), "nan"),
    (lambda a: stratum.Multigrid(a, shape=(n,)), "shape is (ny, nx), or (nz, ny, nx) of a box; given is (600,)"),
    (lambda a: stratum.Multigrid(a, shape=(ny, nx), numbering=np.arange(n) + 2**32),  # no node, whatever it is in 32 bits
     "unknown 0 is said to be node 4294967296; nodes are 0 .. 599"),
    (lambda a: stratum.Multigrid(a, accel="minres"), "accel is one of multigrid, cg"),
    (lambda a: stratum.Multigrid(a, interpolation="x"), "interpolation is one of"),
    (lambda a: stratum.Multigrid(a, stream=0), "device='cuda'"),
    (lambda a: stratum.Multigrid(a).solve(np.ones(5)), "b has shape (600,), (20, 30) or (600, k)"),
    (lambda a: stratum.Multigrid(a).solve(np.ones((n, 0))), "b has no columns"),
    (lambda a: stratum.Multigrid(a).solve(np.ones(n), x0=np.ones(3)), "x0 has the shape of b, (600,); given is (3,)"),
    (lambda a: stratum.Multigrid(a).solve(np.ones(n), tol=1, rtol=1), "tol and rtol"),
    (lambda a: stratum.Multigrid(a).solve(np.ones(n), tol=0), "rtol"),
    (lambda a: stratum.Multigrid(a).apply(np.ones(3)), "r has shape"),
])
def test_refused_with_the_value_and_what_is_allowed(make, words):
    with pytest.raises(ValueError, match="(?i)" + re.escape(words)):
        make(five_point())


def test_other_types_are_refused(b):
    a = five_point()
    for wrong, words in ((a.toarray(), "bands of shape"), (a * 1j, "complex128"), ("A", "given is str")):
        with pytest.raises(TypeError, match=words):
            stratum.Multigrid(wrong)
    with pytest.raises(TypeError, match="b is numbers; given is <U1"):
        stratum.Multigrid(a).solve(np.full(n, "1"))
    for options, words in (({"sweeps": 1.5}, "sweeps is an integer; given is 1.5"),
                           ({"symmetric": "yes"}, "symmetric is True or False; given is 'yes'"),
                           ({"smoother": None}, "smoother is a string; given is None"),
                           ({"shape": (ny + 0.5, nx)}, "integer"),
                           ({"numbering": np.arange(n) + 0.5}, "numbering holds .* an integer; given is float64")):
        with pytest.raises(TypeError, match=words):
            stratum.Multigrid(a, **options)


def test_what_does_not_converge_is_never_silent(b):
    ml = stratum.Multigrid(nine_point(), shape=(ny, nx))
    with pytest.warns(stratum.ConvergenceWarning, match="max iterations after 1") as caught:
        x, info = ml.solve(b, maxiter=1, return_info=True)
    assert info == 1 and caught[0].filename == __file__
    with pytest.raises(stratum.ConvergenceError, match="max iterations after 1"):
        ml.solve(b, maxiter=1, on_failure="raise")
    with pytest.raises(stratum.ConvergenceError, match="not finite"):
        ml.solve(b * np.nan)
    with pytest.warns(stratum.ConvergenceWarning, match="rounding"):
        ml.solve(b, tol=1e-18)
    expect_solution(nine_point(), ml.solve(b), b)


def test_callbacks_and_interruption(b):
    ml, seen = stratum.Multigrid(nine_point(), shape=(ny, nx)), []
    ml.solve(b, callback=lambda k, residual: seen.append((k, residual)))
    assert seen == list(enumerate(ml.report["residuals"]))
    with pytest.raises(KeyboardInterrupt):
        ml.solve(b, callback=lambda k, residual: os.kill(os.getpid(), signal.SIGINT) if k == 1 else None)
    expect_solution(nine_point(), ml.solve(b), b)


def test_one_solver_serves_one_thread_at_a_time(b):
    ml, said = stratum.Multigrid(nine_point(), shape=(ny, nx)), []

    def use_it_meanwhile(k, residual):
        if k == 1:
            def use():
                try:
                    ml.solve(b)
                except ValueError as e:
                    said.append(str(e))

            other = threading.Thread(target=use)
            other.start()
            other.join()

    ml.solve(b, callback=use_it_meanwhile)
    assert len(said) == 1 and "in use already" in said[0]
