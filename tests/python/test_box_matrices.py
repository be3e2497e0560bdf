"""stratum.Multigrid of matrices on boxes: against SciPy's direct solves, with an assembly of its own by Kronecker products or
faces of cells; what is detected, what is refused, and all that two dimensions have."""

import copy
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import linalg

import stratum

shape = nz, ny, nx = 9, 11, 13
n = nx * ny * nz


def line(h, ends=(True, True)):
    """(stiffness, mass) of linear elements on intervals h; Dirichlet ends lose their nodes."""
    k, m = np.zeros((h.size + 1,) * 2), np.zeros((h.size + 1,) * 2)
    for i, width in enumerate(h):
        k[i:i + 2, i:i + 2] += np.array([[1, -1], [-1, 1]]) / width
        m[i:i + 2, i:i + 2] += np.array([[2, 1], [1, 2]]) * width / 6
    own = slice(1 if ends[0] else 0, -1 if ends[1] else None)
    return sp.csr_array(k[own, own]), sp.csr_array(m[own, own])


def elements(hx, hy, hz, ends=(True, True)):
    """-Laplace u by trilinear elements: 27 points."""
    (kx, mx), (ky, my), (kz, mz) = (line(h, ends) for h in (hx, hy, hz))
    return (sp.kron(mz, sp.kron(my, kx)) + sp.kron(mz, sp.kron(ky, mx)) + sp.kron(kz, sp.kron(my, mx))).tocsr()


def volumes(k, widths=None, held=True, wind=0.0):
    """7 points of -div(K grad u) + wind u_x, upwind, by faces of cells; K of shape (nz, ny, nx)."""
    grid = k.shape
    hz, hy, hx = widths or [np.full(size, 1 / size) for size in grid]
    node = np.arange(k.size).reshape(grid)
    rows, columns, values = [], [], []

    def add(i, j, v):
        rows.append(np.ravel(i)), columns.append(np.ravel(j)), values.append(np.ravel(v))

    for axis, h in enumerate((hz, hy, hx)):
        width = h.reshape([-1 if d == axis else 1 for d in range(3)]) * np.ones(grid)
        area = (hz[:, None, None] * hy[:, None] * hx) / width
        half = width / (2 * k)
        low, high = (tuple(s if d == axis else slice(None) for d in range(3)) for s in (slice(None, -1), slice(1, None)))
        c = area[low] / (half[low] + half[high])
        flow = wind * area[low] if axis == 2 else 0 * c
        add(node[low], node[low], c + flow), add(node[low], node[high], -c)
        add(node[high], node[high], c), add(node[high], node[low], -c - flow)
        if held:
            for end in (0, -1):
                at = tuple(end if d == axis else slice(None) for d in range(3))
                add(node[at], node[at], area[at] / half[at] + (wind * area[at] if axis == 2 and end == -1 else 0))
    return sp.coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (k.size,) * 2).tocsr()


def jumps(grid=shape, by=1e4):
    k, j, i = np.indices(grid)
    return np.where((i // 3 + j // 3 + k // 2) % 2 == 0, 1.0, by)


def graded(cells, least):
    """Widths from 1 down to `least`."""
    return least ** (np.arange(cells) / (cells - 1.0))


def seven_points():
    return volumes(np.ones(shape))


@pytest.fixture
def b():
    return np.random.default_rng(3).standard_normal(n)


def expect_solution(a, ml, b, most, tolerance=1e-6):
    x, exact = ml.solve(b), linalg.spsolve(a.tocsc(), b)
    assert np.linalg.norm(b - a @ x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-6)
    assert ml.report["converged"] and ml.report["iterations"] <= most
    assert abs(x - exact).max() <= tolerance * abs(exact).max()


@pytest.mark.parametrize("make, most", [
    (seven_points, 14),
    (lambda: elements(*(np.ones(k + 1) for k in (nx, ny, nz))), 10),
    (lambda: volumes(jumps()), 26),
    (lambda: volumes(jumps(), [graded(nz, 1e-6), np.ones(ny), graded(nx, 1e-3)]), 30),
    (lambda: elements(np.ones(nx + 1), np.ones(ny + 1), graded(nz + 1, 1e-6)), 12),
    (lambda: -seven_points(), 14),
    (lambda: sp.diags_array(np.random.default_rng(0).uniform(0.5, 2, n)) @ seven_points(), 16),
    (lambda: volumes(np.ones(shape), wind=3.0), 18),
])
def test_against_direct_solves(make, most, b):
    a = make()
    ml = stratum.Multigrid(a, shape=shape)
    assert ml.grid == shape
    expect_solution(a, ml, b, most)
    expect_solution(a, stratum.Multigrid(a, shape=shape, single_precision=False), b, most)


@pytest.mark.parametrize("make", [seven_points, lambda: elements(*(np.ones(k + 1) for k in (nx, ny, nz)))])
def test_the_box_is_read_off_the_diagonals(make):
    ml = stratum.Multigrid(make())
    assert ml.grid == shape and ml.found["numbering"] == "x first" and ml.symmetric
    assert repr(ml).startswith("<stratum.Multigrid of a symmetric matrix on a grid of shape (9, 11, 13), ")


def test_what_is_found(b):
    neumann = volumes(jumps(), held=False)
    ml = stratum.Multigrid(neumann, shape=shape)
    assert ml.singular and set(ml.found["boundaries"].values()) == {"neumann"} and ml.found["singular_parts"] == 1
    with pytest.raises(ValueError, match="project"):
        ml.solve(b)
    x = ml.solve(b - b.mean())
    assert np.linalg.norm(b - b.mean() - neumann @ x) <= 1.01e-8 * np.linalg.norm(b) and abs(x.mean()) < 1e-12 * abs(x).max()
    projecting = stratum.Multigrid(neumann, shape=shape, project=True)
    np.testing.assert_allclose(projecting.solve(b), x, atol=1e-6 * abs(x).max())
    around = sp.kronsum(sp.kronsum(sp.diags_array([-1.0, -1.0, 2.0, -1.0, -1.0], offsets=[1 - nx, -1, 0, 1, nx - 1], shape=(nx, nx)),
                                   line(np.ones(ny + 1))[0]), line(np.ones(nz + 1))[0], format="csr")
    ml = stratum.Multigrid(around, shape=shape)
    assert ml.found["periodic"] == (False, False, True) and ml.found["boundaries"]["left"] == "periodic"
    assert ml.found["boundaries"]["front"] == "dirichlet"
    expect_solution(around, ml, b, 16)
    windy = stratum.Multigrid(volumes(jumps(by=10.0), wind=3.0), shape=shape)
    assert not windy.symmetric and windy.found["accel"] == "gmres" and "nonsymmetric" in repr(windy)
    assert stratum.Multigrid(-seven_points(), shape=shape).found["negative"]


@pytest.mark.parametrize("make", [seven_points, lambda: elements(*(np.ones(k + 1) for k in (nx, ny, nz))),
                                  lambda: elements(np.ones(nx + 1), np.ones(ny + 1), np.full(nz + 1, 0.1))])
def test_identity_rows(make, b):
    a = make().tolil()
    kept = np.flatnonzero(np.arange(n) % 37 == 5)
    for k in kept:
        a[k, :] = 0
        a[k, k] = 3
    a = a.tocsr()
    ml = stratum.Multigrid(a, shape=shape)
    assert ml.found["fixed_rows"] == kept.size
    x = ml.solve(b)
    assert ml.report["iterations"] <= 22
    np.testing.assert_array_equal(x[kept], b[kept] / 3)
    np.testing.assert_allclose(x, linalg.spsolve(a.tocsc(), b), atol=1e-7 * abs(x).max())


def test_numberings(b):
    a, nodes = seven_points(), np.arange(n).reshape(shape)
    x = stratum.Multigrid(a, shape=shape).solve(b)
    for axes, numbering in (((2, 1, 0), "z first, then y"), ((0, 2, 1), "y first, then x"), ((1, 0, 2), "x first, then z")):
        order = nodes.transpose(axes).ravel()
        ml = stratum.Multigrid(a[order][:, order], shape=shape)
        assert ml.found["numbering"] == numbering
        np.testing.assert_allclose(ml.solve(b[order]), x[order], atol=1e-7 * abs(x).max())
        with pytest.raises(ValueError, match=re.escape(f"v.transpose{axes}.reshape(-1)")):
            ml.solve(b.reshape(shape))
        again = ml.solve(b.reshape(shape).transpose(axes).reshape(-1))
        np.testing.assert_allclose(again, x.reshape(shape).transpose(axes).reshape(-1), atol=1e-7 * abs(x).max())
    order = np.random.default_rng(0).permutation(n)
    permuted = a[order][:, order]
    with pytest.raises(ValueError, match="no neighbours"):
        stratum.Multigrid(permuted, shape=shape)
    with pytest.raises(ValueError, match="coordinates= of the unknowns"):
        stratum.Multigrid(permuted)
    z, y, w = (np.cumsum(np.random.default_rng(k).uniform(0.1, 1, k)) for k in shape)
    coordinates = np.stack([v.ravel() for v in np.meshgrid(z, y, w, indexing="ij")][::-1], axis=1)[order]
    for options in ({"shape": shape, "numbering": order}, {"coordinates": coordinates}, {"coordinates": tuple(coordinates.T)}):
        ml = stratum.Multigrid(permuted, **options)
        assert ml.grid == shape and ml.found["numbering"] == "given"
        np.testing.assert_allclose(ml.solve(b[order]), x[order], atol=1e-7 * abs(x).max())


def test_right_hand_sides_starts_and_callbacks(b):
    a = seven_points()
    ml = stratum.Multigrid(a)
    x = ml.solve(b)
    np.testing.assert_array_equal(ml.solve(b.reshape(shape)), x.reshape(shape))
    several = ml.solve(np.stack([b, 0 * b, b], axis=1))
    np.testing.assert_array_equal(several, np.stack([x, 0 * x, x], axis=1))
    np.testing.assert_array_equal(ml.solve(b + 2j * b).real, x)
    single = b.astype(np.float32)
    np.testing.assert_allclose(ml.solve(single), x, atol=1e-5 * abs(x).max())
    ml.solve(b, x0=x)
    assert ml.report["iterations"] == 0
    seen = []
    y = ml.solve(b, x0=np.ones(n), callback=lambda k, residual: seen.append((k, residual)), rtol=1e-10)
    assert seen == list(enumerate(ml.report["residuals"]))
    assert seen[0][1] == pytest.approx(np.linalg.norm(b - a @ np.ones(n)), rel=1e-9)
    assert np.linalg.norm(b - a @ y) <= 1e-10 * np.linalg.norm(b) * (1 + 1e-6)
    with pytest.warns(stratum.ConvergenceWarning, match="max iterations after 1"):
        ml.solve(b, maxiter=1)
    with pytest.raises(stratum.ConvergenceError, match="not finite"):
        ml.solve(b * np.nan)


@pytest.mark.parametrize("accel", ["cg", "fcg", "cr", "gcr", "gmres", "bicgstab", "multigrid"])
def test_every_method(accel, b):
    a = seven_points()
    for ml, options in ((stratum.Multigrid(a, accel=accel), {}), (stratum.Multigrid(a), {"accel": accel})):
        x = ml.solve(b, **options)
        assert np.linalg.norm(b - a @ x) <= 1e-8 * np.linalg.norm(b) * (1 + 1e-6)


def test_preconditioner_updates_and_copies(b):
    a = volumes(jumps())
    ml = stratum.Multigrid(a)
    for method in (linalg.cg, linalg.bicgstab):
        x, info = method(a, b, rtol=1e-8, M=ml.aspreconditioner())
        assert info == 0 and np.linalg.norm(b - a @ x) <= 1.1e-8 * np.linalg.norm(b)
    assert ml.solve(b, accel=linalg.gmres).shape == (n,)
    u, v = np.random.default_rng(0).standard_normal((2, n))
    exact = stratum.Multigrid(a, single_precision=False)
    assert u @ exact(v) == pytest.approx(v @ exact(u), rel=1e-9)
    for other in (copy.deepcopy(ml), pickle.loads(pickle.dumps(ml))):
        np.testing.assert_array_equal(other.solve(b), ml.solve(b))
    ml.update(2 * a)
    np.testing.assert_allclose(2 * ml.solve(b), exact.solve(b), atol=1e-6 * abs(ml.solve(b)).max())
    with pytest.raises(ValueError, match="was symmetric and is not any more"):
        ml.update(volumes(jumps(), wind=1.0))
    np.testing.assert_allclose(2 * ml.solve(b), exact.solve(b), atol=1e-6 * abs(ml.solve(b)).max())
    x, pullback = stratum.gradients.vjp(exact, b)
    np.testing.assert_allclose(pullback(u).b, linalg.spsolve(a.tocsc(), u), atol=1e-6 * abs(u).max())


def test_bands(b):
    a = elements(*(np.ones(k + 1) for k in (nx, ny, nz)))
    bands, rows = np.zeros((27, *shape)), a.tocoo()
    place = [np.array(np.unravel_index(k, shape)) for k in (rows.row, rows.col)]
    dz, dy, dx = place[1] - place[0]
    bands[9 * (dz + 1) + 3 * (dy + 1) + dx + 1, place[0][0], place[0][1], place[0][2]] = rows.data
    x = stratum.Multigrid(a).solve(b)
    for given in (bands, bands[13:]):
        ml = stratum.Multigrid(given)
        assert ml.grid == shape
        np.testing.assert_allclose(ml.solve(b), x, atol=1e-7 * abs(x).max())
    with pytest.raises(ValueError, match=re.escape("(27, 9, 11, 13) belong to a grid of shape (9, 11, 13)")):
        stratum.Multigrid(bands, shape=(nx, ny, nz))


def test_components(b):
    laplacian, coupling = seven_points(), 0.5 * sp.eye_array(n)
    a = sp.block_array([[laplacian + coupling, -coupling], [-coupling, 9 * laplacian + coupling]], format="csr")
    solver = stratum.Components(a, 2, order="blocked")
    assert solver.grid == shape and "9 x 11 x 13 nodes" in repr(solver)
    right = np.r_[b, b]
    assert np.linalg.norm(right - a @ solver.solve(right)) <= 1e-8 * np.linalg.norm(right)
    with pytest.raises(ValueError, match=re.escape("2 unknowns at each node of a grid of 9 x 11 x 13 (z, y, x), blocked")):
        stratum.Multigrid(a, shape=(2 * nz, ny, nx))


@pytest.mark.parametrize("make, words", [
    (lambda a: stratum.Multigrid(a, shape=(3, 33, nx)),
     "it looks like 7 points of a box of 9 x 11 x 13 unknowns (z, y, x); give shape=(9, 11, 13)"),
    (lambda a: stratum.Multigrid(a, shape=(ny * nz, nx)), "give shape=(9, 11, 13)"),
    (lambda a: stratum.Multigrid(a, shape=(nz, ny, ny)), "(9, 11, 11) has 1089 unknowns; the matrix has (1287, 1287)"),
    (lambda a: stratum.Multigrid(a, shape=(1, nz, ny, nx)), "shape is (ny, nx), or (nz, ny, nx) of a box; given is (1, 9, 11, 13)"),
    (lambda a: stratum.Multigrid(a, shape=shape, smoother="adi"), "smoother is 'auto'"),
    (lambda a: stratum.Multigrid(a, shape=shape, sweeps=4), "one sweep before"),
    (lambda a: stratum.Multigrid(a, shape=shape, cycle="W"), "the cycle is 'v'"),
    (lambda a: stratum.Multigrid(a, shape=shape, interpolation="bilinear"), "'matrix', not 'bilinear'"),
    (lambda a: stratum.Multigrid(a, shape=shape, widths=([1], [1])), "are (hx, hy, hz); given are 2"),
    (lambda a: stratum.Multigrid(a, shape=shape, widths=([1], [1], [1])), "widths in x"),
    (lambda a: stratum.Multigrid(a, shape=shape, symmetric=False), "said to be unsymmetric"),
    (lambda a: stratum.Multigrid(a).solve(np.ones((nx, ny, nz))), "b has shape (1287,), (9, 11, 13) or (1287, k)"),
    (lambda a: stratum.Multigrid(sp.tril(a), shape=shape), "lower triangle alone"),
    (lambda a: stratum.Multigrid(a * np.nan, shape=shape), "nan"),
    (lambda a: stratum.Multigrid(volumes(np.ones(shape), wind=3.0), shape=shape, symmetric=True), "said to be symmetric"),
    (lambda a: stratum.Multigrid(a, coordinates=np.zeros((n, 4))), "(1287, 2) or (1287, 3); given is (1287, 4)"),
])
def test_refused_with_the_value_and_what_is_allowed(make, words):
    with pytest.raises(ValueError, match="(?i)" + re.escape(words)):
        make(seven_points())


@pytest.mark.parametrize("make", [lambda: volumes(jumps()), lambda: volumes(jumps(by=10.0), wind=3.0)])
def test_on_a_gpu(make, b):
    if not stratum.cuda_available():
        pytest.skip("no GPU")
    a = make()
    ml = stratum.Multigrid(a, shape=shape, device="cuda")
    expect_solution(a, ml, b, 30)
    torch = pytest.importorskip("torch")
    right = torch.from_numpy(b).cuda()
    x = ml.solve(right)
    assert x.is_cuda and torch.linalg.norm(right.cpu() - torch.from_numpy(a @ x.cpu().numpy())) <= 1.01e-8 * np.linalg.norm(b)
    np.testing.assert_allclose(ml(right).cpu().numpy(), ml(b), rtol=1e-12)
