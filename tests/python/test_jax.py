"""stratum.jax.solve under JAX's own checks of gradients, compiled and mapped, and against stratum.gradients."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import stratum

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

tight = dict(rtol=1e-13, on_failure="ignore")
checks = dict(order=2, atol=1e-6, rtol=1e-6, eps=1e-4)
mesh = stratum.mesh(widths=(np.array([0.3, 0.5, 1, 0.2, 0.4]), np.array([0.5, 0.25, 1, 0.6])))
mixed = {"right": ("robin", 2.0, 0.5), "top": "neumann"}


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def single():
    with jax.enable_x64(False):
        yield


def problem(boundaries=mixed):
    return stratum.Poisson(mesh, boundaries, threads=1)


def data_of(rng):
    return tuple(map(jnp.asarray, (rng.uniform(-1, 1, mesh.shape), rng.uniform(0.5, 2, mesh.cells), rng.uniform(0, 1, mesh.cells),
                                   rng.uniform(-1, 1, mesh.shape[0]), rng.uniform(-1, 1, mesh.shape[1]))))


def solve_all(one, f, k, c, left, top):
    return stratum.jax.solve(one, f, kappa=k, reaction=c, boundaries={"left": left, "top": top}, **tight)


def test_all_data_at_once_forward_and_backward_twice(rng, double):
    one = problem()
    check_grads(lambda *data: solve_all(one, *data), data_of(rng), **checks)


def test_a_tensor_and_numbers(rng, double):
    one = problem({})
    k = tuple(map(jnp.asarray, (rng.uniform(1, 2, mesh.cells), rng.uniform(-0.5, 0.5, mesh.cells), 1.5)))
    check_grads(lambda *k: stratum.jax.solve(one, 1.0, kappa=k, **tight), k, **checks)


@pytest.mark.parametrize("boundaries", [dict.fromkeys(("left", "right", "bottom", "top"), "neumann"),
                                        {"left": "periodic", "right": "periodic"}])
def test_up_to_a_constant_and_periodic(boundaries, rng, double):
    one = problem(boundaries)
    f, k, *_ = data_of(rng)
    check_grads(lambda f, k: stratum.jax.solve(one, f, kappa=k, project=True, **tight), (f, k), **checks)


def test_in_a_box(rng, double):
    box = stratum.mesh(cells=(4, 3, 5))
    one = stratum.Poisson3D(box, {"left": "neumann"}, threads=1)
    u = lambda f, k, g: stratum.jax.solve(one, f, kappa=k, boundaries={"top": g}, **tight)
    data = rng.uniform(-1, 1, box.cells), rng.uniform(0.5, 2, box.cells), rng.uniform(-1, 1, (6, 5))
    check_grads(u, tuple(map(jnp.asarray, data)), **checks | {"order": 1})


def test_compiled_is_what_numpy_gives(rng, double):
    one, data = problem(), data_of(rng)
    f, k, c, left, top = map(np.asarray, data)
    w = rng.uniform(-1, 1, mesh.shape)
    loss = lambda *data: jnp.sum(w * solve_all(one, *data))
    bars = jax.jit(jax.grad(loss, range(5)))(*data)
    u, pullback = stratum.gradients.vjp(one, f, kappa=k, reaction=c, boundaries={"left": left, "top": top}, **tight)
    expected = pullback(w)
    np.testing.assert_allclose(jax.jit(solve_all, static_argnums=0)(one, *data), u, rtol=1e-13)
    expected = expected.f, expected.kappa, expected.reaction, expected.boundaries["left"], expected.boundaries["top"]
    for bar, other in zip(bars, expected):
        np.testing.assert_allclose(bar, other, rtol=1e-10, atol=1e-13)


def test_single_precision_outside_double_inside(rng, single):
    """On cells of 1e-4 and 1: differences of neighbours in single precision would be rounding."""
    thin = stratum.mesh("A3", 6)
    one = stratum.Poisson(thin, threads=1)
    w = rng.uniform(0, 1, thin.shape).astype(np.float32)
    loss = lambda k: jnp.sum(w * stratum.jax.solve(one, 1.0, kappa=k))
    k = jnp.ones(thin.cells)
    bar = jax.jit(jax.grad(loss))(k)
    assert k.dtype == bar.dtype == jnp.float32
    expected = stratum.gradients.vjp(one, 1.0, kappa=np.ones(thin.cells))[1](w.astype(float)).kappa
    np.testing.assert_allclose(bar, expected, rtol=1e-4, atol=1e-6 * abs(expected).max())


def test_vmap_over_right_hand_sides_and_coefficients(rng, double):
    one = problem()
    f, k = jnp.asarray(rng.uniform(-1, 1, (3, *mesh.shape))), jnp.asarray(rng.uniform(0.5, 2, (3, *mesh.cells)))
    solve = lambda f, k: stratum.jax.solve(one, f, kappa=k)
    each = jnp.stack([solve(f[i], k[i]) for i in range(3)])
    same = dict(rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(jax.vmap(solve)(f, k), each, **same)
    np.testing.assert_allclose(jax.jit(jax.vmap(solve))(f, k), each, **same)
    np.testing.assert_allclose(solve(f, k), each, **same)
    np.testing.assert_allclose(jax.vmap(solve, (0, None))(f, k[0])[1], solve(f[1], k[0]), **same)
    numbers = jnp.asarray([1.0, 2.0, 4.0])
    u = jax.vmap(solve, (None, 0))(f[0], numbers)
    np.testing.assert_allclose(u[2], solve(f[0], 4.0), **same)
    gradients = jax.vmap(jax.grad(lambda k, f: solve(f, k).sum()), (None, 0))(k[0], f)
    np.testing.assert_allclose(gradients[2], jax.grad(lambda k: solve(f[2], k).sum())(k[0]), **same)


ny, nx = 5, 6


def matrix(wind):
    line = lambda n, w: sp.diags_array([np.full(n - 1, -1.0 - w), np.full(n, 2.0), np.full(n - 1, -1.0 + w)], offsets=[-1, 0, 1])
    return sp.kronsum(line(nx, wind), 3 * line(ny, 0), format="csr")


@pytest.mark.parametrize("wind", [0.0, 0.3])
def test_of_a_matrix(wind, rng, double):
    a = matrix(wind)
    ml = stratum.Multigrid(a, shape=(ny, nx), threads=1)
    b = jnp.asarray(rng.uniform(-1, 1, (2, ny * nx)))
    np.testing.assert_allclose(a @ jax.jit(lambda b: stratum.jax.solve(ml, b))(b[0]), b[0], atol=1e-9)
    check_grads(lambda b: stratum.jax.solve(ml, b, **tight), (b,), **checks)
    np.testing.assert_allclose(jax.vmap(lambda b: stratum.jax.solve(ml, b))(b), stratum.jax.solve(ml, b), rtol=1e-9)
    if wind:
        data = jnp.asarray(a.data)
        check_grads(lambda b, data: stratum.jax.solve(ml, b, data=data, **tight), (b[0], data), **checks)
        several = jax.vmap(lambda data: stratum.jax.solve(ml, b[0], data=data))(jnp.stack([data, 2 * data]))
        np.testing.assert_allclose(several[0], 2 * several[1], rtol=1e-9)
        w = rng.uniform(-1, 1, ny * nx)
        bar = jax.grad(lambda data: jnp.sum(w * stratum.jax.solve(ml, b[0], data=data, **tight)))(data)
        expected = stratum.gradients.vjp(ml, np.asarray(b[0]), data=np.asarray(data), **tight)[1](w).data
        np.testing.assert_allclose(bar, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("call, words", [
    (lambda: stratum.jax.solve("A3", 1.0), "given is str"),
    (lambda: stratum.jax.solve(mesh, jnp.ones(3)), "f has shape"),
    (lambda: stratum.jax.solve(mesh, jnp.ones(3, dtype=complex)), "f is real numbers; given is complex"),
    (lambda: stratum.jax.solve(mesh, 1.0, data=jnp.ones(3)), "data are the entries of a matrix"),
    (lambda: stratum.jax.solve(mesh, 1.0, boundaries=1.0), "boundaries are a dictionary"),
    (lambda: stratum.jax.solve(mesh, 1.0, kappa=(None, 2.0)), "kappa is real numbers"),
    (lambda: stratum.jax.solve(stratum.Multigrid(matrix(0)), jnp.ones(3)), "b has shape"),
    (lambda: stratum.jax.solve(stratum.Multigrid(matrix(0)), jnp.ones(30), kappa=1.0), "a matrix has data="),
])
def test_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=".*" + re.escape(words)):
        call()


def test_what_does_not_converge_is_not_silent():
    one = stratum.Poisson(stratum.mesh("A3", 5), accel="cg", smoother="jacobi", threads=1)
    with pytest.raises(Exception, match="max iterations after 1"):
        jax.block_until_ready(stratum.jax.solve(one, 1.0, maxiter=1, on_failure="raise"))


def test_compiled_code_keeps_its_problem_until_it_is_forgotten(monkeypatch):
    if not stratum.jax._has_handlers:
        pytest.skip("this build calls back by jax.pure_callback")
    monkeypatch.setattr(stratum.jax, "_by_handlers", lambda: True)
    f = jnp.ones((6, 7))
    compiled = jax.jit(lambda f: stratum.jax.solve(stratum.Poisson(stratum.mesh(cells=(6, 5))), f)).lower(f).compile()
    expected = compiled(f)
    for _ in range(3):
        np.testing.assert_array_equal(stratum.jax.solve(stratum.Poisson(stratum.mesh(cells=(6, 5))), f), expected)
    stratum.jax.forget()
    assert not stratum.jax._calls
    with pytest.raises(Exception, match="is forgotten; compile it again"):
        compiled(f).block_until_ready()
    one = problem({})
    again = jax.jit(lambda f: stratum.jax.solve(one, f))
    again(jnp.ones(mesh.shape))
    stratum.jax.forget()
    jax.clear_caches()
    assert again(jnp.ones(mesh.shape)).shape == mesh.shape


@pytest.mark.parametrize("axes", [2, 3])
def test_loops_of_solves(axes, rng, single):
    """Steps in a scan, compiled: JAX takes derivatives of the body after the solves have been traced."""
    where = mesh if axes == 2 else stratum.mesh(cells=(3, 4, 3))
    one = (stratum.Poisson if axes == 2 else stratum.Poisson3D)(where, {"left": 1.0, "top": "neumann"}, threads=1)
    f, k = jnp.asarray(rng.uniform(-1, 1, where.shape)), jnp.asarray(rng.uniform(0.5, 2, where.cells))
    solve = lambda f, k: stratum.jax.solve(one, f, kappa=k)

    @jax.jit
    def steps(f, k):
        return jax.lax.scan(lambda u, _: (lambda new: (new, new.sum()))(solve(u, k)), f, None, length=3)

    u, sums = steps(f, k)
    np.testing.assert_allclose(u, solve(solve(solve(f, k), k), k), rtol=1e-6)
    gradient = jax.jit(jax.grad(lambda k: steps(f, k)[1].sum()))(k)
    along = rng.uniform(-1, 1, where.cells)
    with jax.enable_x64(True):
        f, k = jnp.asarray(f, float), jnp.asarray(k, float)
        total = lambda k: steps(f, k)[1].sum()
        difference = (total(k + 1e-3 * along) - total(k - 1e-3 * along)) / 2e-3
    assert gradient.dtype == np.float32 and float((gradient * along).sum()) == pytest.approx(float(difference), rel=1e-4)
    each = jax.jit(jax.vmap(jax.grad(lambda k: solve(f, k).sum())))(jnp.stack([k, 2 * k, 3 * k]))
    np.testing.assert_allclose(each[2], jax.grad(lambda k: solve(f, k).sum())(3 * k), rtol=1e-4, atol=1e-7)
    assert jax.lax.fori_loop(0, 2, lambda _, u: solve(u, k), solve(f, k)).shape == where.shape
