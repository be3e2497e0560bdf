"""Where a warning of a solve that did not converge points."""

import warnings

import numpy as np
import scipy.sparse as sp
import stratum


def test_callers_without_a_name():
    """Code that is executed with globals of its own, as doctest does, has no __name__."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(31, 31))
    names = {"ml": stratum.Multigrid(sp.kronsum(line, line, format="csr"), shape=(31, 31)), "b": np.ones(31 * 31)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile("ml.solve(b, tol=1e-8, maxiter=1)", "theirs", "exec"), names)
    assert [w.category for w in caught] == [stratum.ConvergenceWarning] and caught[0].filename == "theirs"
