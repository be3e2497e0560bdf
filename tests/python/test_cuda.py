"""stratum on a GPU: arrays of the host, and those of CuPy, PyTorch and JAX where they lie."""

import numpy as np
import pytest
import scipy.sparse as sp
import stratum

pytestmark = pytest.mark.skipif(not stratum.cuda_available(), reason="no CUDA device in this machine or build")

ny, nx = 60, 90
n = nx * ny


def matrix(stretched=100.0):
    line = lambda n: sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return sp.kronsum(line(nx), stretched * line(ny), format="csr")


@pytest.fixture
def b():
    return np.random.default_rng(5).standard_normal(n)


@pytest.fixture
def ml():
    return stratum.Multigrid(matrix(), shape=(ny, nx), device="cuda")


def expect_solution(x, b, tolerance=1e-8):
    assert np.linalg.norm(b - matrix() @ x) <= tolerance * np.linalg.norm(b) * (1 + 1e-6)


def test_arrays_of_the_host(ml, b):
    x = ml.solve(b)
    assert isinstance(x, np.ndarray)
    expect_solution(x, b)
    assert ml.report["iterations"] <= 12
    np.testing.assert_allclose(x, stratum.Multigrid(matrix(), shape=(ny, nx)).solve(b), rtol=0, atol=1e-7 * abs(x).max())


def test_preconditions_a_method_of_scipy(ml, b):
    from scipy.sparse import linalg

    x, info = linalg.cg(matrix(), b, M=ml.aspreconditioner(), rtol=1e-8, maxiter=20)
    assert info == 0
    expect_solution(x, b)


def test_new_coefficients(ml, b):
    ml.update(2 * matrix())
    expect_solution(2 * ml.solve(b), b)


def test_cupy(ml, b):
    cupy = pytest.importorskip("cupy")
    x = ml.solve(cupy.asarray(b))
    assert isinstance(x, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(x), ml.solve(b))
    z = ml(cupy.asarray(b))
    assert isinstance(z, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(z), ml(b))


def test_torch_on_a_stream_of_its_own(b):
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    ml = stratum.Multigrid(matrix(), shape=(ny, nx), device="cuda", stream=stream.cuda_stream)
    with torch.cuda.stream(stream):
        # Much work before b is there: a solve that did not wait for it would take what was in memory.
        heavy = torch.randn(4096, 4096, device="cuda")
        for _ in range(20):
            heavy = torch.sin(heavy @ heavy)
        right = torch.from_numpy(b).to("cuda", non_blocking=True) + 0 * heavy.sum().double()
        x = ml.solve(right)
    assert isinstance(x, torch.Tensor) and x.is_cuda
    expect_solution(x.cpu().numpy(), b)
    again = ml.solve(right, x0=x)
    assert ml.report["iterations"] == 0
    expect_solution(again.cpu().numpy(), b)


def test_a_slice_that_begins_anywhere(ml, b):
    torch = pytest.importorskip("torch")
    longer = torch.zeros(n + 1, dtype=torch.float64, device="cuda")
    longer[1:] = torch.from_numpy(b)
    np.testing.assert_array_equal(ml.solve(longer[1:]).cpu().numpy(), ml.solve(b))


def test_jax(ml, b):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    x = ml.solve(jax.numpy.asarray(b))
    assert isinstance(x, jax.Array) and x.devices().pop().platform == "gpu"
    expect_solution(np.asarray(x), b)
    np.testing.assert_array_equal(np.asarray(ml(jax.numpy.asarray(b))), ml(b))


def test_poisson():
    on_gpu, on_cpu = (stratum.poisson(("A3", 6), lambda x, y: np.sin(3 * x) * y, device=device) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(on_gpu.u, on_cpu.u, rtol=0, atol=1e-6 * abs(on_cpu.u).max())


def test_what_does_not_fit_is_refused(ml):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=str(n)):
        ml.solve(torch.ones(n - 1, dtype=torch.float64, device="cuda"))
    with pytest.raises(ValueError, match="float64"):
        ml.solve(torch.ones(n, dtype=torch.float32, device="cuda"))


def test_gradients_are_those_of_the_cpu():
    k = np.random.default_rng(1).uniform(0.5, 2, (64, 64))
    w = np.random.default_rng(2).standard_normal((65, 65))
    found = []
    for device in ("cuda", "cpu"):
        problem = stratum.Poisson(("A3", 6), {"left": 1.0, "top": "neumann"}, device=device)
        u, pullback = stratum.gradients.vjp(problem, 1.0, kappa=k, rtol=1e-11, on_failure="ignore")
        gradients = pullback(w)
        found.append((u, gradients.kappa, gradients.boundaries["left"], gradients.f))
    for on_gpu, on_cpu in zip(*found):
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-6, atol=1e-7 * np.max(np.abs(on_cpu)))


def test_gradients_in_a_box_are_those_of_the_cpu():
    k = np.random.default_rng(1).uniform(0.5, 2, (12, 14, 16))
    mesh = stratum.mesh(cells=(16, 14, 12))
    found = []
    for device in ("cuda", "cpu"):
        u, pullback = stratum.gradients.vjp(stratum.Poisson3D(mesh, device=device), 1.0, kappa=k)
        found.append(pullback(u).kappa)
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-8 * np.max(np.abs(found[1])))


def test_gradients_of_a_matrix(ml, b):
    x, pullback = stratum.gradients.vjp(ml, b)
    expect_solution(x, b, 1e-9)
    expect_solution(pullback(b).b, b, 1e-9)


def test_several_and_complex_vectors(ml, b):
    several = np.stack([b, 2 * b, -b, 0 * b], axis=1)
    x = ml.solve(several)
    expect_solution(x[:, 1], 2 * b)
    z = ml.solve(b + 2j * b)
    expect_solution(z.imag, 2 * b)
    np.testing.assert_array_equal(ml(several)[:, 0], ml(b))


def test_torch_gradients_where_the_tensors_lie(ml, b):
    torch = pytest.importorskip("torch")
    right = torch.tensor(b, device="cuda", requires_grad=True)
    x = stratum.torch.solve(ml, right)
    assert x.is_cuda
    (x * right.detach()).sum().backward()
    assert right.grad.is_cuda
    expect_solution(right.grad.cpu().numpy(), b, 1e-9)
    k = torch.ones(64, 64, device="cuda", dtype=torch.float64, requires_grad=True)
    stratum.torch.solve(stratum.Poisson(("A1", 6)), 1.0, kappa=k).sum().backward()
    assert k.grad.is_cuda and bool((k.grad < 0).all())
