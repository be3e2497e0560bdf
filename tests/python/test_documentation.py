"""Documentation strings: every public function and class says what it takes, of which shapes, and what it raises."""

import inspect
import re

import pytest
import stratum
import stratum.gradients

#: Without arrays of their own.
NO_SHAPES = {"ConvergenceWarning", "ResourceError", "cuda_available", "expressions_available", "patches", "BoxMesh", "Mesh", "PatchMesh",
             "forget"}
#: Which nothing is given.
NO_ERRORS = NO_SHAPES - {"patches"} | {"Solution", "Solution3D", "HeatSolution", "PatchSolution", "PatchHeatSolution", "Gradients", "MatrixGradients",
                                       "ConvergenceError"}


def modules():
    yield stratum
    yield stratum.gradients
    for name in ("torch", "jax"):
        try:
            yield getattr(stratum, name)
        except ImportError:
            pass


def public():
    """(name, object) of functions and classes, and (name, None) of their methods."""
    for module in modules():
        for name in module.__all__:
            if not name.startswith("__"):
                yield name, getattr(module, name)


def parameters(function):
    try:
        return [p.name for p in inspect.signature(function).parameters.values() if p.name not in ("self", "args", "kwargs", "_")]
    except (TypeError, ValueError):
        return []  # of compiled ones


@pytest.mark.parametrize("name, what", [pytest.param(*one, id=one[0]) for one in public()])
def test_documentation(name, what):
    text = inspect.getdoc(what) or ""
    assert len(text) > 20, f"{name} has no documentation"
    missing = [p for p in parameters(what) if not re.search(rf"\b{p}\b", text)]
    assert not missing, f"the documentation of {name} lacks {missing}"
    if name not in NO_SHAPES:
        assert re.search(r"shape|\(n, ?\w?\)|\(ny", text), f"the documentation of {name} has no shapes"
    if name not in NO_ERRORS:
        assert re.search(r"[Rr]aise|refused", text), f"the documentation of {name} does not say what it raises"
    if not inspect.isclass(what):
        return
    for method, function in vars(what).items():
        if not method.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
            own = inspect.getdoc(function) or ""
            assert own, f"{name}.{method} has no documentation"
            missing = [p for p in parameters(function) if not re.search(rf"\b{p}\b", own)] if inspect.isfunction(function) else []
            assert not missing, f"the documentation of {name}.{method} lacks {missing}"


@pytest.mark.parametrize("kind, name", [("Poisson", "units"), ("Poisson3D", "units"), ("mesh", "unit"), ("heat", "units")])
def test_units(kind, name):
    assert name in inspect.getdoc(getattr(stratum, kind)).lower()
