#!/usr/bin/env python3
"""Additions take few files of the library.

additions_test.py SOURCE WORK COMPILER puts a smoother, an iterative method, a coarse solver, a kind of boundary condition and a
storage format into a copy of the library in WORK, builds poisson2d there, and runs it with each but the coarse solver, which no
option names: tests/multigrid/additions_test.cpp runs it. An addition is a file beside this one, and edits of files that are
there; how many files it may take stands with it. CONTRIBUTING.md names the same files.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDERS = ("core", "mesh", "assembly", "smoothers", "multigrid", "solvers", "interfaces", "apps", "cmake")

# name, most files, new files {place: file beside this one}, edits [(file, text that is there, text that follows it)]
ADDITIONS = (
    ("smoother", 1, {"smoothers/l1_jacobi.cpp": "l1_jacobi.cpp"}, []),
    ("iterative method", 2, {"solvers/krylov/minimal_residual.cpp": "minimal_residual.cpp"}, [
        ("multigrid/select.hpp", "gcr, gmres, bicgstab", ", minimal_residual"),
        ("multigrid/select.hpp", '{Method::bicgstab, "bicgstab"}', ', {Method::minimal_residual, "minimal_residual"}')]),
    ("coarse solver", 1, {"multigrid/coarse/many_sweeps.cpp": "many_sweeps.cpp"}, []),
    # n.K grad u = h (U - u): a body in a fluid of temperature U, written convection:H,U
    ("boundary condition", 4, {}, [
        ("assembly/poisson_problem.hpp", "{ dirichlet, neumann, robin, periodic", ", convection"),
        ("assembly/poisson_problem.hpp", '{BoundaryConditionType::periodic, "periodic"}',
         ', {BoundaryConditionType::convection, "convection"}'),
        ("assembly/poisson_problem.hpp", "return kind == BoundaryConditionType::robin",
         " || kind == BoundaryConditionType::convection"),
        ("assembly/poisson_problem.hpp", "auto flux_function(const Condition& condition) {", """
  if (condition.kind == BoundaryConditionType::convection)
    return decltype(condition.value)([h = condition.alpha, u = condition.value](const auto& p) { return h(p) * u(p); });
""")]),
    ("storage format", 4, {"core/operators/plain_bands.hpp": "plain_bands.hpp"}, [
        ("core/operators/storage_formats.hpp", "#include <stratum/core/operators/nine_band.hpp>",
         "\n#include <stratum/core/operators/plain_bands.hpp>"),
        ("core/operators/storage_formats.hpp", "NineBandMatrix<T>", ", PlainBands<T>"),
        ("core/operators/storage_formats.hpp", "{ tensor, cell, symmetric, nine_band", ", plain"),
        # a build with CUDA has a source for the lines of each
        ("solvers/lines/cuda/CMakeLists.txt", '"SymmetricNineBandView<@number@>"', ' "PlainBandsView<@number@>"')]),
)


def add(here, copy):
    for name, most, files, edits in ADDITIONS:
        changed = set(files) | {path for path, _, _ in edits}
        if len(changed) > most:
            sys.exit(f"a {name} takes {len(changed)} files, {sorted(changed)}; it shall take {most}")
        for place, file in files.items():
            shutil.copy(here / file, copy / place)
        for path, found, more in edits:
            text = (copy / path).read_text()
            if text.count(found) != 1:
                sys.exit(f"{path} has '{found}' {text.count(found)} times; the example of a {name} is made for one")
            (copy / path).write_text(text.replace(found, found + more))
        print(f"{name}: {len(changed)} of {most} files: {', '.join(sorted(changed))}")


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}")
    return done.stdout


def main(source, work, compiler):
    copy, build = work / "source", work / "build"
    shutil.rmtree(work, ignore_errors=True)
    copy.mkdir(parents=True)
    for folder in FOLDERS:
        shutil.copytree(source / folder, copy / folder, ignore=shutil.ignore_patterns("results", "python"))
    shutil.copy(source / "CMakeLists.txt", copy)
    add(Path(__file__).resolve().parent, copy)
    # Clones for each instruction set, optimisation and files for ParaView would take minutes more.
    run("cmake", "-S", copy, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG -DSTRATUM_NO_CLONES", "-DSTRATUM_TESTS=OFF", "-DSTRATUM_VTK=OFF",
        "-DSTRATUM_WERROR=ON", *(["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []))
    run("cmake", "--build", build, "--target", "poisson2d", "--parallel", str(os.cpu_count()))

    def solve(*options):
        out = run(build / "bin" / "poisson2d", "--level", "6", *options, cwd=work)
        if "status      converged" not in out:
            sys.exit(f"poisson2d {' '.join(options)} did not converge:\n{out}")
        found = {name: re.search(rf"^{name} +(.*)$", out, re.M) for name in ("iterations", "error", "solution")}
        return {name: line.group(1) for name, line in found.items() if line}

    def compare(options, like, *what):
        one, other = solve(*options), solve(*like)
        for name in what:
            if one[name] != other[name]:
                sys.exit(f"{' '.join(options)} gives {name} {one[name]}, {' '.join(like)} {other[name]}")
        print(f"{' '.join(options)}: {one}")

    # The error is printed to eight digits, and of two methods the last may differ.
    tight = ("--rtol", "1e-13")
    compare(("--smoother", "l1_jacobi", "--solver", "cg", *tight), ("--solver", "cg", *tight), "error")
    compare(("--solver", "minimal_residual", *tight), ("--solver", "gcr", *tight), "error")
    compare(("--left", "convection:2,3", "--rhs", "1"), ("--left", "robin:2,6", "--rhs", "1"), "iterations", "solution")
    for smoother in ("jacobi", "colour_gs", "line_x", "line_y", "adi"):
        options = ("--solver", "multigrid", "--cycle", "v", "--smoother", smoother, *tight)
        compare((*options, "--operator", "plain"), (*options, "--operator", "nine-band"), "error")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
