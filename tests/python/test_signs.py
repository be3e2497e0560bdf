"""Negative definite matrices, and those that are one triangle of a symmetric one."""

import numpy as np
import pytest
import scipy.sparse as sp
import stratum

n = 24
line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
A = sp.kronsum(line, 10 * line, format="csr")
b = np.random.default_rng(2).standard_normal(n * n)


def test_negative_definite():
    ml = stratum.Multigrid(-A, (n, n))
    x = ml.solve(b, rtol=1e-10)
    np.testing.assert_allclose(-(A @ x), b, atol=1e-8)
    assert ml.found["negative"] and ml.symmetric and "-A x = -b is solved" in ml.report["choice"]
    np.testing.assert_allclose(ml.apply(b), -stratum.Multigrid(A, (n, n)).apply(b), rtol=1e-6)


@pytest.mark.parametrize("half", [sp.tril, sp.triu])
def test_one_triangle(half):
    with pytest.raises(ValueError, match="triangle alone, and looks like half of a symmetric one"):
        stratum.Multigrid(half(A), (n, n))
    x = stratum.Multigrid(half(A), (n, n), triangle="symmetric").solve(b, rtol=1e-10)
    np.testing.assert_allclose(A @ x, b, atol=1e-8)
    x = stratum.Multigrid(half(A), (n, n), triangle="general").solve(b, rtol=1e-10)
    np.testing.assert_allclose(half(A) @ x, b, atol=1e-7)
    with pytest.raises(ValueError, match="triangle"):
        stratum.Multigrid(A, (n, n), triangle="lower")


def test_gradients_want_both_triangles():
    with pytest.raises(TypeError, match="give both triangles"):
        stratum.gradients.vjp(stratum.Multigrid(sp.tril(A), (n, n), triangle="symmetric"), b)
