"""The blocks of Python in the pages print what they show, the examples run, and the package has types."""

import doctest
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stratum

heavy = pytest.mark.skipif("STRATUM_QUICK" in os.environ, reason="heavy")
root = Path(__file__).resolve().parents[2]
examples = root / "interfaces/python/examples"


def blocks_of(page):
    """(what the block needs, its text): `<!-- needs NAME -->` stands before one that needs a library not all have."""
    return re.findall(r"(?:^<!-- needs (\w+) -->\n)?^```python\n(.*?)^```$", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", [page.relative_to(root).as_posix() for page in sorted(root.glob("docs/**/*.md")) if blocks_of(page)])
def test_page(page):
    """Blocks of a page share their names, as in one session."""
    names, runner = {"__name__": "__main__"}, doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for number, (needed, block) in enumerate(blocks_of(root / page)):
        if needed and importlib.util.find_spec(needed) is None:
            continue
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number + 1}", page, 0)
        assert test.examples, f"block {number + 1} has no '>>>'"
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.summarize().failed == 0


def run(script, *arguments, cwd):
    done = subprocess.run([sys.executable, examples / script, *arguments], cwd=cwd, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@heavy
def test_table(tmp_path):
    lines = run("table.py", "5", "A3", cwd=tmp_path).splitlines()
    assert "true residual" in lines[0] and len(lines) >= 4
    assert all(float(line.split()[-1]) < 1e-7 for line in lines[1:] if "Ruge" not in line)


@heavy
def test_table_of_matrices(tmp_path):
    lines = run("table.py", "matrices", "16", cwd=tmp_path).splitlines()[1:]
    ours = [line for line in lines if "stratum.Multigrid(A)" in line]
    assert len(ours) == 8 and all(float(line.split()[-1]) < 1.01e-8 for line in ours)
    assert all(float(line.split()[-1]) < 1e-7 for line in lines)


@heavy
def test_table_of_gradients(tmp_path):
    lines = [line for line in run("table_gradients.py", "8", cwd=tmp_path).splitlines()[1:] if "without" not in line]
    assert len(lines) >= 2 and all(float(line.split()[-1]) < 1e-6 for line in lines)


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    run("tour.py", cwd=tmp_path)
    assert sorted(p.name for p in tmp_path.glob("*.png")) == ["convergence.png", "jumps.png", "layer.png"]


@heavy
def test_an_inverse_problem(tmp_path):
    last = run("inverse.py", "8", "25", cwd=tmp_path).splitlines()[-1]
    inside, outside = map(float, re.findall(r"(\d\.\d+) \(", last))
    assert 1.5 < inside < 3.5 and 0.9 < outside < 1.2


def test_a_law_that_is_learned(tmp_path):
    pytest.importorskip("torch")
    first, last = re.findall(r"misfit of u (\S+)", run("learned.py", "16", "60", cwd=tmp_path))
    assert float(last) < float(first)


def test_package_has_types_and_a_version():
    files = {Path(str(f)).name for f in importlib.metadata.files("stratum")}
    assert {"py.typed", "_stratum.pyi"} <= files
    assert stratum.__version__ == importlib.metadata.version("stratum")
    assert f'STRATUM_VERSION "{stratum.__version__}"' in (root / "interfaces/version.h").read_text()
    stub = (Path(os.path.dirname(stratum.__file__)) / "_stratum.pyi").read_text()
    for name in ("class Mesh", "class MatrixSystem", "class PoissonSystem", "def cuda_available"):
        assert name in stub


def test_types(tmp_path):
    """mypy, with the stubs of the compiled part."""
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "-p", "stratum"], cwd=tmp_path, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout
