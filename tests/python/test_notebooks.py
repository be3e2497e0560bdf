"""The examples as notebooks: made by a script of theirs, run by nbclient, and what cells show."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import stratum

examples = Path(__file__).resolve().parents[2] / "interfaces/python/examples"
needs = {"tour": "matplotlib", "learned": "torch"}


def makers():
    spec = importlib.util.spec_from_file_location("notebook", examples / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made(tmp_path, *scripts):
    subprocess.run([sys.executable, examples / "notebook.py", *scripts], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    return [json.loads((tmp_path / Path(script).with_suffix(".ipynb").name).read_text()) for script in scripts]


def run(notebook, tmp_path):
    """Outputs of the cells; an exception of a cell is raised."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    node = nbformat.reads(json.dumps(notebook), as_version=4)
    nbformat.validate(node)
    nbclient.NotebookClient(node, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    return [output for cell in node.cells if cell.cell_type == "code" for output in cell.outputs]


def test_cells_are_those_of_the_script(tmp_path):
    tour, inverse = made(tmp_path, examples / "tour.py", examples / "inverse.py")
    kinds = [cell["cell_type"] for cell in tour["cells"]]
    assert kinds[:4] == ["markdown", "code", "markdown", "code"] and kinds.count("markdown") == 4
    assert "".join(tour["cells"][2]["source"]).startswith("## A layer")
    text, code, call = inverse["cells"]
    assert "".join(text["source"]).startswith("Conductivity from measurements")
    assert "".join(code["source"]).startswith("import sys") and "__name__" not in "".join(code["source"])
    assert "".join(call["source"]).startswith("main(")


@pytest.mark.parametrize("name, call", [("tour", None), ("inverse", "main(8, 25)"), ("learned", "main(16, 20)")])
def test_notebooks_run(name, call, tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # notebooks have one of their own
    if name in needs:
        pytest.importorskip(needs[name])
    notebook, = made(tmp_path, examples / f"{name}.py")
    if call:
        notebook["cells"][-1]["source"] = [call]
    outputs = run(notebook, tmp_path)
    assert any(output.output_type == "stream" and output.text for output in outputs)
    assert name != "tour" or sum("image/png" in output.get("data", {}) for output in outputs) == 3


def test_what_cells_show(tmp_path):
    source = "\n# %%\n".join(["", "import stratum\nproblem = stratum.Poisson((\"A1\", 4))\nproblem", "problem.solve(1.0)",
                              "stratum.heat(stratum.mesh(cells=(8, 8)), 1.0, end=0.1, steps=4)"])
    shown = [output for output in run(makers().notebook_of(source), tmp_path) if output.output_type == "execute_result"]
    assert shown[0]["data"]["text/plain"] == "<stratum.Poisson on 16 x 16 cells>"
    assert "converged" in shown[1]["data"]["text/html"] and "17 x 17 nodes" in shown[1]["data"]["text/html"]
    assert "text/html" in shown[2]["data"]


def test_how_problems_are_written():
    mesh = stratum.mesh(cells=(8, 6))
    assert repr(stratum.Poisson(mesh, discretisation="fv")) == "<stratum.Poisson on 8 x 6 cells, fv>"
    held = stratum.Poisson(mesh, bodies=[(lambda x, y: x > 0.5, "value", 1.0)])
    assert repr(held) == "<stratum.Poisson on 8 x 6 cells, a body>"
    assert repr(stratum.Poisson3D(stratum.mesh(cells=(8, 6, 4)))) == "<stratum.Poisson3D on 8 x 6 x 4 cells>"
    solid = stratum.Poisson(mesh, {"left": 1.0}, bodies=[(lambda x, y: (x > 0.3) & (x < 0.8) & (y > 0.2) & (y < 0.9), "no-flux")]).solve(0)
    assert "nan" not in solid._repr_html_()
