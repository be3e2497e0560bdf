"""Recipes agree with pyproject.toml, and what builds a wheel comes by pip where the machine lacks it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

root = Path(__file__).resolve().parents[2]
recipes = root / "interfaces/python/packaging"


def project():
    tomllib = pytest.importorskip("tomllib")
    return tomllib.loads((root / "pyproject.toml").read_text())


def test_the_conda_recipe_has_the_requirements_of_the_project():
    recipe = (recipes / "conda/meta.yaml").read_text()
    for requirement in project()["build-system"]["requires"] + project()["project"]["dependencies"]:
        name, minimum = re.fullmatch(r"([\w-]+)(?:>=([\d.]+))?", requirement).groups()
        assert re.search(rf"^    - {name}{' >=' + minimum if minimum else ''}$", recipe, re.M), requirement
    minimum = project()["tool"]["scikit-build"]["cmake"]["version"].removeprefix(">=")
    assert f"- cmake >={minimum}\n" in recipe
    pattern = re.search(r"regex_pattern='(.*?)'", recipe).group(1)
    assert re.search(pattern, (root / "interfaces/version.h").read_text())


def test_the_spack_recipe_is_python_with_these_requirements():
    text = (recipes / "spack/package.py").read_text()
    compile(text, "package.py", "exec")
    for requirement in project()["build-system"]["requires"]:
        name, minimum = requirement.split(">=")
        assert f'depends_on("py-{name}@{minimum}:"' in text
    assert f'depends_on("python@{project()["project"]["requires-python"].removeprefix(">=")}:"' in text


def test_cublas_of_pip_is_found_by_its_name():
    """In a process of its own, which has no other cuBLAS."""
    from stratum import _cublas

    files = _cublas._installed_by_pip()
    if not files:
        pytest.skip("pip has installed no cuBLAS")
    code = ("import ctypes, os; from stratum import _cublas; opened = _cublas.load(); ctypes.CDLL(os.path.basename(opened)); "
            "print(opened)")
    environment = {name: value for name, value in os.environ.items() if name not in ("STRATUM_CUBLAS", "LD_LIBRARY_PATH")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).name in _cublas._NAMES
    given = subprocess.run([sys.executable, "-c", code.replace("ctypes.CDLL", "str")], env=environment | {"STRATUM_CUBLAS": "/own"},
                           text=True, capture_output=True)
    assert given.stdout == "/own\n"


def test_the_script_of_cuda_wheels_is_a_shell_script():
    script = recipes / "cuda_wheel.sh"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    extras = project()["project"]["optional-dependencies"]
    assert extras["cuda12"] == ["nvidia-cublas-cu12"] and extras["cuda13"][0].startswith("nvidia-cublas")


def test_cmake_and_ninja_are_asked_of_pip_where_there_are_none(tmp_path):
    """As pip asks the build backend, on a machine whose PATH has neither."""
    pytest.importorskip("scikit_build_core")
    ask = ("import scikit_build_core.build as b; print(b.get_requires_for_build_wheel())")
    environment = os.environ | {"PATH": str(tmp_path)}
    # CMake is looked for beside Python, too, where these packages put it.
    done = subprocess.run([sys.executable, "-c", ask], cwd=root, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    for name in ("cmake", "ninja"):
        try:
            __import__(name)
        except ImportError:
            assert name in done.stdout
