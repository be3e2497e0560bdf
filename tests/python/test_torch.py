"""stratum.torch.solve under PyTorch's own checks of gradients, and against stratum.gradients."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import stratum

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
tight = dict(rtol=1e-13, on_failure="ignore")
checks = dict(eps=1e-5, atol=1e-7, rtol=1e-6, fast_mode=True)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(3)
    torch.set_num_threads(1)


def uniform(low, high, *shape):
    return (low + (high - low) * torch.rand(*shape, dtype=torch.float64)).requires_grad_()


mesh = stratum.mesh(widths=(np.array([0.3, 0.5, 1, 0.2, 0.4]), np.array([0.5, 0.25, 1, 0.6])))
mixed = {"right": ("robin", 2.0, 0.5), "top": "neumann"}


def problem(boundaries=mixed, **options):
    return stratum.Poisson(mesh, boundaries, threads=1, **options)


def test_all_data_at_once():
    one = problem()

    def u(f, k, c, left, top):
        return stratum.torch.solve(one, f, kappa=k, reaction=c, boundaries={"left": left, "top": top}, **tight)

    data = (uniform(-1, 1, *mesh.shape), uniform(0.5, 2, *mesh.cells), uniform(0, 1, *mesh.cells), uniform(-1, 1, mesh.shape[0]),
            uniform(-1, 1, mesh.shape[1]))
    assert gradcheck(u, data, **checks)
    assert gradgradcheck(u, data, **checks)


def test_a_tensor_and_numbers():
    one = problem({})
    u = lambda *k: stratum.torch.solve(one, 1.0, kappa=k, **tight)
    assert gradcheck(u, (uniform(1, 2, *mesh.cells), uniform(-0.5, 0.5, *mesh.cells), uniform(1, 2, 1)[0]), **checks)


def test_up_to_a_constant():
    one = problem(dict.fromkeys(("left", "right", "bottom", "top"), "neumann"))
    u = lambda f, k: stratum.torch.solve(one, f, kappa=k, project=True, **tight)
    data = uniform(-1, 1, *mesh.shape), uniform(0.5, 2, *mesh.cells)
    assert gradcheck(u, data, **checks) and gradgradcheck(u, data, **checks)


def test_in_a_box():
    box = stratum.mesh(cells=(4, 3, 5))
    one = stratum.Poisson3D(box, {"left": "neumann"}, threads=1)
    u = lambda f, k, g: stratum.torch.solve(one, f, kappa=k, boundaries={"top": g}, **tight)
    assert gradcheck(u, (uniform(-1, 1, *box.cells), uniform(0.5, 2, *box.cells), uniform(-1, 1, 6, 5)), **checks)


def test_is_what_numpy_gives():
    one = problem()
    f, k = uniform(-1, 1, *mesh.shape), uniform(0.5, 2, *mesh.cells)
    u = stratum.torch.solve(one, f, kappa=k, **tight)
    expected, pullback = stratum.gradients.vjp(one, f.detach().numpy(), kappa=k.detach().numpy(), **tight)
    np.testing.assert_array_equal(u.detach().numpy(), expected)
    u.square().sum().backward()
    gradients = pullback(2 * expected)
    np.testing.assert_allclose(f.grad, gradients.f, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(k.grad, gradients.kappa, rtol=1e-11, atol=1e-14)


def test_single_precision_outside_double_inside():
    """On cells of 1e-4 and 1: differences of neighbours in single precision would be rounding."""
    thin = stratum.mesh("A3", 6)
    one = stratum.Poisson(thin, threads=1)
    k = torch.ones(thin.cells, requires_grad=True)
    u = stratum.torch.solve(one, 1.0, kappa=k)
    assert u.dtype == torch.float32
    w = torch.rand(thin.shape)
    (w * u).sum().backward()
    _, pullback = stratum.gradients.vjp(one, 1.0, kappa=np.ones(thin.cells))
    assert k.grad.dtype == torch.float32
    expected = pullback(w.double().numpy()).kappa
    np.testing.assert_allclose(k.grad, expected, rtol=1e-4, atol=1e-6 * abs(expected).max())


def test_batches_and_vmap():
    one = problem()
    f, k = uniform(-1, 1, 3, *mesh.shape), uniform(0.5, 2, 3, *mesh.cells)
    each = torch.stack([stratum.torch.solve(one, f[i], kappa=k[i]) for i in range(3)])
    same = dict(rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(stratum.torch.solve(one, f, kappa=k), each, **same)
    torch.testing.assert_close(torch.func.vmap(lambda f, k: stratum.torch.solve(one, f, kappa=k))(f, k), each, **same)
    single = torch.stack([stratum.torch.solve(one, f[i], kappa=k[0]) for i in range(3)])
    torch.testing.assert_close(torch.func.vmap(lambda f: stratum.torch.solve(one, f, kappa=k[0]))(f), single, **same)
    # Gradients of batches are the sums over them.
    u = lambda f, k: stratum.torch.solve(one, f, kappa=k, **tight)
    assert gradcheck(u, (f, k[0].detach().requires_grad_()), **checks)
    jacobian = torch.func.jacrev(lambda k: stratum.torch.solve(one, 1.0, kappa=k)[2, 2:4])(k[0].detach())
    assert jacobian.shape == (2, *mesh.cells)


def test_of_a_mesh():
    u = stratum.torch.solve(mesh, torch.ones(mesh.cells))
    np.testing.assert_allclose(u, stratum.poisson(mesh, 1.0, rtol=1e-10).u, rtol=1e-5, atol=1e-7)
    assert stratum.torch.solve(("A1", 3), 1.0).shape == (9, 9)


ny, nx = 5, 6


def matrix(wind):
    line = lambda n, w: sp.diags_array([np.full(n - 1, -1.0 - w), np.full(n, 2.0), np.full(n - 1, -1.0 + w)], offsets=[-1, 0, 1])
    return sp.kronsum(line(nx, wind), 3 * line(ny, 0), format="csr")


@pytest.mark.parametrize("wind", [0.0, 0.3])
def test_of_a_matrix(wind):
    a = matrix(wind)
    ml = stratum.Multigrid(a, shape=(ny, nx), threads=1)
    b = uniform(-1, 1, ny * nx)
    x = stratum.torch.solve(ml, b, **tight)
    np.testing.assert_allclose(a @ x.detach().numpy(), b.detach(), atol=1e-9)
    assert gradcheck(lambda b: stratum.torch.solve(ml, b, **tight), (b,), **checks)
    several = uniform(-1, 1, 3, ny * nx)
    assert gradcheck(lambda b: stratum.torch.solve(ml, b, **tight), (several,), **checks)
    if wind:
        data = torch.tensor(a.data, requires_grad=True)
        solve = lambda b, data: stratum.torch.solve(ml, b, data=data, **tight)
        assert gradcheck(solve, (b, data), **checks) and gradgradcheck(solve, (b, data), **checks)


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_of_a_sparse_tensor(layout):
    a = matrix(0.3)
    data, b = torch.tensor(a.data, requires_grad=True), uniform(-1, 1, ny * nx)
    row = torch.as_tensor(np.repeat(np.arange(ny * nx), np.diff(a.indptr)))
    if layout == "coo":
        tensor = torch.sparse_coo_tensor(torch.stack([row, torch.as_tensor(a.indices)]), data, a.shape)
    else:
        tensor = torch.sparse_csr_tensor(torch.as_tensor(a.indptr), torch.as_tensor(a.indices), data, a.shape)
    x = stratum.torch.solve(tensor, b, shape=(ny, nx), **tight)
    x.sum().backward()
    ml = stratum.Multigrid(a, shape=(ny, nx), threads=1)
    gradients = stratum.gradients.vjp(ml, b.detach().numpy(), **tight)[1](np.ones(ny * nx))
    np.testing.assert_allclose(b.grad, gradients.b, atol=1e-10)
    np.testing.assert_allclose(data.grad, gradients.data, atol=1e-10)


@pytest.mark.parametrize("call, words", [
    (lambda: stratum.torch.solve("A3", 1.0), "given is str"),
    (lambda: stratum.torch.solve(mesh, torch.ones(3)), "f has shape"),
    (lambda: stratum.torch.solve(mesh, torch.ones(3, dtype=torch.complex64)), "f is real numbers; given is torch.complex64"),
    (lambda: stratum.torch.solve(mesh, 1.0, data=torch.ones(3)), "entries of a matrix, and shape is its grid"),
    (lambda: stratum.torch.solve(mesh, 1.0, boundaries={"left": "neumann"}), "the value of the left boundary is real numbers"),
    (lambda: stratum.torch.solve(mesh, 1.0, boundaries=1.0), "boundaries are a dictionary"),
    (lambda: stratum.torch.solve(mesh, 1.0, kappa=(None, 2.0)), "kappa is real numbers; given is None"),
    (lambda: stratum.torch.solve(stratum.Multigrid(matrix(0)), torch.ones(3)), "b has shape"),
    (lambda: stratum.torch.solve(stratum.Multigrid(matrix(0)), torch.ones(30), kappa=1.0), "a matrix has data="),
    (lambda: stratum.torch.solve(torch.ones(2, 3).to_sparse(), torch.ones(3)), "a matrix is square"),
])
def test_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=".*" + re.escape(words)):
        call()
