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


def test_several_vectors_on_the_gpu(ml, b):
    torch = pytest.importorskip("torch")
    several = torch.tensor(np.stack([b, 2 * b, -b], axis=1), device="cuda")
    x = ml.solve(several)
    assert x.is_cuda and x.shape == (n, 3) and len(ml.report["columns"]) == 3
    for k, factor in enumerate((1, 2, -1)):
        expect_solution(x[:, k].cpu().numpy(), factor * b)
    np.testing.assert_array_equal(ml(several)[:, 1].cpu().numpy(), ml(2 * b))
    again = ml.solve(several, x0=x)
    assert ml.report["iterations"] == 0
    np.testing.assert_array_equal(again.cpu(), x.cpu())


def torch_on_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    return torch


def test_torch_gradients_where_the_tensors_lie(ml, b):
    torch = torch_on_gpu()
    right = torch.tensor(b, device="cuda", requires_grad=True)
    x = stratum.torch.solve(ml, right)
    assert x.is_cuda
    (x * right.detach()).sum().backward()
    assert right.grad.is_cuda
    expect_solution(right.grad.cpu().numpy(), b, 1e-9)
    k = torch.ones(64, 64, device="cuda", dtype=torch.float64, requires_grad=True)
    stratum.torch.solve(stratum.Poisson(("A1", 6)), 1.0, kappa=k).sum().backward()
    u, pullback = stratum.gradients.vjp(stratum.Poisson(("A1", 6)), 1.0)
    expected = pullback(np.ones_like(u)).kappa
    assert k.grad.is_cuda
    np.testing.assert_allclose(k.grad.sum().item(), expected, rtol=1e-8)


sides = {
    "mixed": {"left": 1.0, "right": ("robin", 2.0, 0.5), "top": ("neumann", 0.3)},
    "around": {"left": "periodic", "right": "periodic", "bottom": 0.5},
    "twice around": {"left": "periodic", "right": "periodic", "bottom": "periodic", "top": "periodic"},
    "natural": dict.fromkeys(("left", "right", "bottom", "top"), "neumann"),
}
graded = stratum.mesh(cells=(24, 20), grading=("geometric:1.1,last", "tanh:3,both"))


@pytest.mark.parametrize("name", sides)
def test_torch_on_the_gpu_is_what_numpy_gives(name):
    """u and all gradients, of values and K of tensors on the GPU."""
    torch = torch_on_gpu()
    rng = np.random.default_rng(4)
    f, k, w = rng.standard_normal(graded.shape), rng.uniform(0.5, 2, graded.cells), rng.standard_normal(graded.shape)
    c = 0 if name in ("natural", "twice around") else rng.uniform(0, 1, graded.cells)
    given = {}
    if name == "mixed":
        given = {"left": rng.standard_normal(graded.shape[0]), "top": rng.standard_normal(graded.shape[1])}
    options = dict(rtol=1e-12, on_failure="ignore", project=True)
    on_cpu, on_gpu = (stratum.Poisson(graded, sides[name], device=device) for device in ("cpu", "cuda"))
    expected, pullback = stratum.gradients.vjp(on_cpu, f, kappa=k, reaction=c, boundaries=given or None, **options)
    gradients = pullback(w)
    tensor = lambda a: torch.tensor(a, dtype=torch.float64, device="cuda", requires_grad=True)
    tf, tk, tc, tg = tensor(f), tensor(k), tensor(c), {side: tensor(g) for side, g in given.items()}
    u = stratum.torch.solve(on_gpu, tf, kappa=tk, reaction=tc, boundaries=tg or None, **options)
    assert u.is_cuda
    (u * tensor(w).detach()).sum().backward()
    pairs = [(u.detach(), expected), (tf.grad, gradients.f), (tk.grad, gradients.kappa),
             *((tg[side].grad, gradients.boundaries[side]) for side in given)]
    if np.ndim(c):
        pairs.append((tc.grad, gradients.reaction))
    for found, wanted in pairs:
        assert found.is_cuda
        np.testing.assert_allclose(found.cpu().numpy(), wanted, rtol=1e-6, atol=1e-8 * np.max(np.abs(wanted)))


def test_torch_checks_gradients_on_the_gpu():
    torch = torch_on_gpu()
    one = stratum.Poisson(graded, sides["mixed"], device="cuda")
    generator = torch.Generator("cuda").manual_seed(3)
    uniform = lambda low, high, *shape: (low + (high - low) * torch.rand(
        *shape, dtype=torch.float64, device="cuda", generator=generator)).requires_grad_()
    u = lambda f, k, g: stratum.torch.solve(one, f, kappa=k, boundaries={"left": g}, rtol=1e-13, on_failure="ignore")
    data = uniform(-1, 1, *graded.cells), uniform(0.5, 2, *graded.cells), uniform(-1, 1, graded.shape[0])
    checks = dict(eps=1e-5, atol=1e-7, rtol=1e-6, fast_mode=True, nondet_tol=1e-9)
    assert torch.autograd.gradcheck(u, data, **checks)
    assert torch.autograd.gradgradcheck(u, data, **checks)
    several = uniform(-1, 1, 3, *graded.cells)
    each = torch.stack([stratum.torch.solve(one, f) for f in several])
    torch.testing.assert_close(stratum.torch.solve(one, several), each)
    torch.testing.assert_close(torch.func.vmap(lambda f: stratum.torch.solve(one, f))(several), each)


def test_torch_on_the_stream_of_the_caller():
    """Loads and K are made by much work on a stream, and the solution is taken on it."""
    torch = torch_on_gpu()
    stream = torch.cuda.Stream()
    one = stratum.Poisson(("A1", 7), device="cuda", stream=stream.cuda_stream)
    with torch.cuda.stream(stream):
        heavy = torch.randn(4096, 4096, device="cuda")
        for _ in range(20):
            heavy = torch.sin(heavy @ heavy)
        f = torch.ones(one.mesh.shape, dtype=torch.float64, device="cuda") + 0 * heavy.sum().double()
        u = stratum.torch.solve(one, f)
        doubled = 2 * u
    stream.synchronize()
    expected = stratum.poisson(("A1", 7), 1.0, rtol=1e-10).u
    np.testing.assert_allclose(doubled.cpu().numpy(), 2 * expected, rtol=0, atol=1e-8 * abs(expected).max())


@pytest.mark.parametrize("wind", [0.0, 0.3])
def test_torch_gradients_in_the_entries_of_a_matrix(wind):
    torch = torch_on_gpu()
    line = lambda n, w: sp.diags_array([np.full(n - 1, -1.0 - w), np.full(n, 2.0), np.full(n - 1, w - 1.0)], offsets=[-1, 0, 1])
    a = sp.kronsum(line(30, wind), 3 * line(20, 0), format="csr")
    b, w = np.random.default_rng(6).standard_normal((2, 600))
    x, pullback = stratum.gradients.vjp(stratum.Multigrid(a, shape=(20, 30)), b, rtol=1e-12, on_failure="ignore")
    expected = pullback(w)
    tensor = lambda v: torch.tensor(v, device="cuda", requires_grad=True)
    right, data = tensor(b), tensor(a.data)
    on_gpu = stratum.Multigrid(a, shape=(20, 30), device="cuda")
    found = stratum.torch.solve(on_gpu, right, data=data, rtol=1e-12, on_failure="ignore")
    (found * tensor(w).detach()).sum().backward()
    for one, wanted in ((found.detach(), x), (right.grad, expected.b), (data.grad, expected.data)):
        assert one.is_cuda
        np.testing.assert_allclose(one.cpu().numpy(), wanted, rtol=1e-6, atol=1e-8 * abs(wanted).max())


def arrays_on_gpu(library):
    """Makes arrays on the GPU of those of NumPy, and back."""
    if library == "torch":
        torch = torch_on_gpu()
        return lambda a: torch.tensor(a, device="cuda"), lambda a: a.cpu().numpy()
    if library == "cupy":
        cupy = pytest.importorskip("cupy")
        return cupy.asarray, cupy.asnumpy
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    return jax.numpy.asarray, np.asarray


@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
@pytest.mark.parametrize("name", sides)
def test_right_hand_sides_of_a_problem_stay_on_the_gpu(library, name):
    there, back = arrays_on_gpu(library)
    on_cpu, on_gpu = (stratum.Poisson(graded, sides[name], device=device) for device in ("cpu", "cuda"))
    for shape in (graded.shape, graded.cells):
        f = np.random.default_rng(7).standard_normal(shape)
        expected = on_cpu.solve(f, rtol=1e-11, project=True, on_failure="ignore").u
        given = there(f)
        u = on_gpu.solve(given, rtol=1e-11, project=True, on_failure="ignore").u
        assert type(u) is type(given)
        np.testing.assert_allclose(back(u), expected, rtol=0, atol=1e-8 * abs(expected).max())
        batch = on_gpu.solve(there(np.stack([f, 2 * f])), rtol=1e-11, project=True, on_failure="ignore")
        assert type(batch.u) is type(given) and len(batch.report["columns"]) == 2
        np.testing.assert_allclose(back(batch.u[0]), back(u), rtol=0, atol=1e-8 * abs(expected).max())


def test_jax_gradients_of_arrays_on_the_gpu():
    there, back = arrays_on_gpu("jax")
    import jax

    rng = np.random.default_rng(8)
    f, k, w = rng.standard_normal(graded.shape), rng.uniform(0.5, 2, graded.cells), rng.standard_normal(graded.shape)
    one = stratum.Poisson(graded, sides["mixed"], device="cuda")
    options = dict(rtol=1e-12, on_failure="ignore")
    expected, pullback = stratum.gradients.vjp(stratum.Poisson(graded, sides["mixed"]), f, kappa=k, **options)
    gradients = pullback(w)
    loss = lambda f, k: (stratum.jax.solve(one, f, kappa=k, **options) * w).sum()
    of_f, of_k = jax.jit(jax.grad(loss, (0, 1)))(there(f), there(k))
    for found, wanted in ((of_f, gradients.f), (of_k, gradients.kappa)):
        assert found.devices().pop().platform == "gpu"
        np.testing.assert_allclose(back(found), wanted, rtol=1e-6, atol=1e-8 * abs(wanted).max())
    several = jax.jit(jax.vmap(lambda f: stratum.jax.solve(one, f, kappa=k, **options)))(there(np.stack([f, 2 * f])))
    np.testing.assert_allclose(back(several[0]), expected, rtol=0, atol=1e-8 * abs(expected).max())


def test_jax_solves_with_a_matrix_under_jit_on_the_gpu(ml, b):
    there, back = arrays_on_gpu("jax")
    import jax

    solve = jax.jit(lambda b: stratum.jax.solve(ml, b))
    expect_solution(back(solve(there(b))), b, 1e-9)
    several = jax.jit(jax.vmap(lambda b: stratum.jax.solve(ml, b)))(there(np.stack([b, 2 * b])))
    expect_solution(back(several[1]), 2 * b, 1e-9)
    gradient = jax.jit(jax.grad(lambda b: (stratum.jax.solve(ml, b) * b).sum()))(there(b))
    expect_solution(back(gradient) / 2, b, 1e-9)
    assert gradient.devices().pop().platform == "gpu"


def test_problems_refuse_what_does_not_fit_on_the_gpu():
    torch = torch_on_gpu()
    one, there = torch.ones(graded.shape, dtype=torch.float64, device="cuda"), dict(device="cuda")
    with pytest.raises(TypeError, match="device='cuda'"):
        stratum.Poisson(graded).solve(one)
    with pytest.raises(TypeError, match="float64"):
        stratum.Poisson(graded, **there).solve(one.float())
    with pytest.raises(ValueError, match="f has shape"):
        stratum.Poisson(graded, **there).solve(one[1:, 2:])
    with pytest.raises(TypeError, match="on a GPU"):
        stratum.Poisson3D(stratum.mesh(cells=(4, 4, 4)), **there).solve(one)
