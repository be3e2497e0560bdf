#!/usr/bin/env python3
"""Whether the tree is built as it shall be.

layout_test.py measures SOURCE   prints the measures below and fails where one is exceeded
layout_test.py map SOURCE        docs/internals/map.md names every folder and every public type

Measures:

    long files     no source has more than 600 lines, but those whose first lines say why ("More than 600 lines: REASON")
    long mains     no file with a program's `main` has more than 150 lines
    copies         no two places share 12 or more lines, not counting blank lines, comments, includes and lines without a word
    views          FieldView has no members but a pointer, extents and strides
    path           the files that `poisson2d --mesh A3 --smoother adi` runs through on a CPU, from main to the printed
                   error, have at most 9000 lines
    words          what the code called its things before it used the terms of the field is gone from installed headers,
                   messages and options

What exceeds a measure today is listed here with the reason, so that the test fails for what is new, and where an entry is not
needed any more. The words are counted over all files, so that code may move.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

LONGEST, LONGEST_MAIN, SHORTEST_COPY = 600, 150, 12
LIBRARY = ("core", "mesh", "assembly", "smoothers", "multigrid", "solvers", "interfaces")
FOLDERS = LIBRARY + ("apps", "tests", "docs", "cmake")

LONG_FILES = {
    "tests/dealii/preconditioner_test.cpp": "cases of one header",
    "tests/multigrid/structured/distributed_rows_test.cpp": "cases of one source",
}
LONG_MAINS = {}
COPIES = {}
VIEW_MEMBERS = {}
# Lines that `poisson2d --mesh A3 --smoother adi` runs through on a CPU: a reader who follows it opens these files. Sources are
# those whose functions callgrind saw, headers those whose code runs in them. A name without an ending is a header and its
# source. They have more lines than they shall have; KNOWN_PATH is to fall, and not to rise.
PATH_LINES, KNOWN_PATH = 9000, 18165
PATH = {
    "program": ("apps/poisson2d.cpp", "apps/poisson/options", "apps/poisson/settings", "apps/poisson/memory",
                "apps/poisson/solve", "apps/poisson/outcome", "apps/poisson/screen", "apps/poisson/output",
                "apps/support/command_line", "apps/support/program.hpp", "apps/support/output_files.hpp",
                "apps/support/mesh_options.hpp", "apps/support/problem_options.hpp", "apps/support/solver_options.hpp",
                "apps/support/solve_output.hpp", "apps/support/solution_files.hpp", "apps/support/solution_summary.hpp",
                "apps/support/progress.hpp", "apps/support/level_runs.hpp"),
    "mesh": ("mesh/axis", "mesh/tensor_mesh", "mesh/named_meshes", "mesh/partition"),
    "assembly": ("assembly/poisson_problem", "assembly/problem_boundary.hpp", "assembly/loads.cpp",
                 "assembly/host_loads.hpp", "assembly/polynomial_problem.hpp", "assembly/boundary_values.cpp",
                 "assembly/nodal_values.cpp", "assembly/geometry", "assembly/operators", "assembly/rectangle_fields",
                 "assembly/error_norms", "assembly/boundary_fluxes", "assembly/near_boundary", "assembly/solution_range"),
    "core": ("core/device/context", "core/device/memory_limits", "core/device/simd.hpp", "core/field/field.hpp",
             "core/field/blas", "core/field/reduce.hpp", "core/field/for_each_node.hpp",
             "core/field/field_functors.hpp", "core/io/solve_report", "core/operators/linear_operator.hpp",
             "core/operators/grid_operator", "core/operators/grid_operator_products.hpp",
             "core/operators/grid_operator_residuals.hpp", "core/operators/residual_row.hpp",
             "core/operators/storage_formats.hpp", "core/operators/tensor.hpp", "core/operators/tensor_formulas.hpp",
             "core/registry.hpp", "core/names.hpp"),
    "solver": ("multigrid/poisson_solver", "multigrid/structured_solver", "multigrid/select",
               "multigrid/precision_strategies", "solvers/mixed/mixed_refinement", "solvers/stopping", "solvers/rounding.hpp",
               "solvers/error_estimate"),
    "cycle": ("multigrid/hierarchy", "multigrid/multigrid", "multigrid/level", "multigrid/transfer/transfer.hpp",
              "multigrid/transfer/linear.hpp", "multigrid/transfer/transfer_kernels.hpp",
              "multigrid/transfer/transfer_shared.hpp", "multigrid/transfer/transfer_residual.hpp",
              "multigrid/coarse/coarse_solver", "multigrid/coarse/direct.cpp", "solvers/direct/dense_inverse"),
    "smoother": ("smoothers/smoother", "smoothers/adi.cpp", "smoothers/line_sweep", "smoothers/line_sweep_cpu.hpp",
                 "solvers/lines/orders.hpp", "solvers/lines/zebra_schedule.hpp", "solvers/lines/equations.hpp",
                 "solvers/lines/cpu/elimination.hpp", "solvers/lines/cpu/x_lines.hpp", "solvers/lines/cpu/thomas.hpp"),
}

# Pattern: how often it may stand there, what to write instead, why it still stands there. What reads as plain English, or is a
# word of VTK, is no pattern.
REFUSED = "a name of before, which is refused with the new one"
WORDS = {
    r"natural (?:side|end)s?\b": (0, "Neumann or Robin boundary", ""),
    r"\bmailbox": (0, "exchange buffer", ""),
    r"\bwalk(?:s|ed|ing|er)?\b": (2, "persistent kernel", "what code does along rows and columns of a grid"),
    r"\bmarch(?:es|ed|ing)?\b": (0, "streaming stencil kernel", ""),
    r"\bseams?\b": (0, "periodic interface", ""),
    r"\brings?\b(?! on|\.pvd)": (0, "cyclic line", ""),
    r"\bstrips?\b": (2, "subdomain", "coefficients that differ in strips of a domain"),
    r"(?<!VTK )(?<!<)(?<!</)\bpieces?\b": (19, "subdomain, chunk", "VTK's word for a file of a part of a grid, and parts of rows in memory"),
    r"\bby sums\b|\bfor differences\b": (0, "row-sum (GTH) elimination, delta form", ""),
    r"elementary steps?": (0, "sweeps", ""),
    r"exact levels?\b": (0, "coarse solver", ""),
    r"network interpolation|--interpolation network|\"network\"": (1, "conductance", REFUSED),
    r"cell operators?\b|CellOperator": (0, "element-coefficient operator", ""),
    r"words? (?:a|per) node": (0, "memory traffic per unknown", ""),
    r"digits:N": (1, "inner relative tolerance", REFUSED),
    r"taken up\s+(?:/// )?again": (0, "double-precision fallback", ""),
    r"float-cg|two-float": (2, "residual-replacement, double-single", REFUSED),
    r"--baseline|\"baseline": (1, "reference norm", REFUSED),
    r"fixed rows?\b": (0, "identity rows", ""),
    r"\blifted\b": (0, "eliminated", ""),
    r"rehears": (0, "warm-up", ""),
    r"pass of full multigrid": (0, "one FMG cycle", ""),
    r"found out\b": (0, "detected", ""),
    r"cut-lines": (1, "distributed-smoothing", REFUSED),
}


def files(root):
    """Sources that git follows, and new ones that it does not ignore; without git, all that lie in the folders."""
    git = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, text=True,
                         capture_output=True)
    if git.returncode == 0:
        names = git.stdout.splitlines()
    else:
        names = [str(path.relative_to(root)) for folder in FOLDERS for path in (root / folder).rglob("*")]
    kinds = (".cpp", ".hpp", ".h", ".cu", ".cuh", ".py", ".sh", ".cmake", "CMakeLists.txt")
    return sorted(name for name in set(names) if name.endswith(kinds) and (root / name).is_file())


class Measure:
    """Collects what exceeds a measure, and compares it with what is known."""

    def __init__(self, name, known):
        self.name, self.known, self.found = name, known, {}

    def add(self, key, text):
        self.found[key] = text

    def report(self):
        new = [key for key in self.found if key not in self.known]
        gone = [key for key in self.known if key not in self.found]
        print(f"{self.name}: {len(self.found)}, of which {len(self.found) - len(new)} are known")
        for key, text in self.found.items():
            print(f"  {'NEW' if key in new else 'known'}: {text}" + ("" if key in new else f"; {self.known[key]}"))
        for key in gone:
            print(f"  NOT NEEDED: the entry of {key} in layout_test.py")
        return not new and not gone


def long_files(sources):
    measure = Measure(f"files of more than {LONGEST} lines", LONG_FILES)
    for name, lines in sources.items():
        excused = any("More than 600 lines: " in line for line in lines[:12])
        if len(lines) > LONGEST and not excused:
            measure.add(name, f"{name}: {len(lines)} lines")
    return measure.report()


def long_mains(sources):
    measure = Measure(f"main files of more than {LONGEST_MAIN} lines", LONG_MAINS)
    for name, lines in sources.items():
        is_main = name.startswith("apps/") and any(re.match(r"int main\b", line) for line in lines)
        if is_main and len(lines) > LONGEST_MAIN:
            measure.add(name, f"{name}: {len(lines)} lines")
    return measure.report()


def substance(lines):
    """(line number, text) of lines that say something."""
    said = []
    for number, line in enumerate(lines, 1):
        text = " ".join(line.split())
        if re.search(r"[A-Za-z]{2}", text) and not re.match(r"//|#include|#pragma|# |\*|/\*|#$|import |from ", text):
            said.append((number, text))
    return said


def copies(sources):
    measure = Measure(f"pairs of places that share {SHORTEST_COPY} or more lines", COPIES)
    places = defaultdict(list)
    said = {name: substance(lines) for name, lines in sources.items()}
    for name, lines in said.items():
        for k in range(len(lines) - SHORTEST_COPY + 1):
            places["\n".join(text for _, text in lines[k:k + SHORTEST_COPY])].append((name, k))
    reached = {}  # of a pair of files at this distance: up to where lines are reported
    for name, lines in said.items():
        for k in range(len(lines) - SHORTEST_COPY + 1):
            for other, n in places["\n".join(text for _, text in lines[k:k + SHORTEST_COPY])]:
                if (other, n) <= (name, k):
                    continue
                pair = (name, other, n - k)
                if reached.get(pair, -1) < k:
                    measure.add(f"{name} ~ {other}", f"{name}:{lines[k][0]} ~ {other}:{said[other][n][0]}")
                reached[pair] = k + SHORTEST_COPY - 1
    return measure.report()


def views(sources):
    measure = Measure("members of FieldView that are none of pointer, extents and strides", VIEW_MEMBERS)
    for name, lines in sources.items():
        text = "\n".join(lines)
        found = re.search(r"^struct FieldView(?:<T, \d>)? \{\n(.*?)^\};", text, re.M | re.S) if name.endswith(".hpp") else None
        if not found:
            continue
        for line in found.group(1).splitlines():
            declared = re.match(r"  (?! |\[\[|template|friend|static|using|//|constexpr|operator)[\w:<>*&, ]+? \*?(\w.*?);", line)
            if declared and "(" not in declared.group(1):
                for member in re.findall(r"(\w+)(?: = [^,]+)?(?:,|$)", declared.group(1)):
                    if member not in ("data", "nx", "ny", "pitch", "extents", "strides"):
                        measure.add(member, f"{name}: {member}")
    return measure.report()


def path_of_poisson2d(sources):
    parts, good, found = {}, True, []
    for part, names in PATH.items():
        parts[part] = 0
        for name in names:
            there = [other for other in ([name] if "." in name else [name + ".hpp", name + ".cpp"]) if other in sources]
            if not there:
                good = False
                print(f"  NOT THERE: {name}, which PATH of layout_test.py lists")
            found += there
            parts[part] += sum(len(sources[other]) for other in there)
    lines = sum(parts.values())
    print(f"lines on the path of poisson2d: {lines} in {len(found)} files, which shall be at most {PATH_LINES}: "
          + ", ".join(f"{part} {count}" for part, count in parts.items()))
    largest = sorted(found, key=lambda name: -len(sources[name]))[:8]
    print("  the largest: " + ", ".join(f"{name} {len(sources[name])}" for name in largest))
    if lines > max(PATH_LINES, KNOWN_PATH):
        good = False
        print(f"  NEW: {KNOWN_PATH} are known")
    return good


def private_headers(sources):
    """Headers that CMakeLists.txt of their folder lists as PRIVATE_HEADERS: they are not installed."""
    found = set()
    for name, lines in sources.items():
        if name.endswith("CMakeLists.txt"):
            for listed in re.findall(r"PRIVATE_HEADERS([^)]*)", "\n".join(lines)):
                found.update((Path(name).parent / header).as_posix() for header in re.findall(r"\S+\.hpp", listed))
    return found


def words(sources):
    """Occurrences in installed headers as a whole, and in the strings of other sources of library and programs."""
    private = private_headers(sources)
    counted = dict.fromkeys(WORDS, 0)
    where = defaultdict(lambda: defaultdict(int))
    for name, lines in sources.items():
        if name.endswith((".hpp", ".h")) and name.startswith(LIBRARY) and name not in private:
            text = "\n".join(lines)
        elif name.endswith((".cpp", ".hpp", ".h", ".py")) and name.startswith(LIBRARY + ("apps",)):
            text = "\n".join(found for line in lines if not line.lstrip().startswith("//")
                             for found in re.findall(r'"(?:[^"\\]|\\.)*"', line) if not line.startswith("#include"))
        else:
            continue
        for word in WORDS:
            if hits := len(re.findall(word, text, re.I)):
                counted[word] += hits
                where[word][name] += hits
    good = True
    print(f"former words in headers, messages and options: {sum(counted.values())}")
    for word, (most, instead, reason) in WORDS.items():
        count = counted[word]
        if count > most:
            good = False
            print(f"  NEW: '{word}' stands {count} times, {most} are known; write {instead}")
            for name, hits in sorted(where[word].items()):
                print(f"    {name}: {hits}")
        elif count > 0:
            print(f"  known: '{word}' stands {count} times, for {instead}; {reason}")
        if count < most:
            print(f"  (the entry of '{word}' may be lowered from {most} to {count})")
    return good


def measures(root):
    sources = {name: (root / name).read_text(errors="replace").splitlines() for name in files(root)}
    good = [measure(sources) for measure in (long_files, long_mains, copies, views, path_of_poisson2d, words)]
    return all(good)


# What the headers of interfaces/stratum.hpp are made of.
BASE = ("core/comm/communicator.hpp", "core/device/context.hpp", "core/field/field.hpp", "core/io/solve_report.hpp",
        "core/names.hpp", "core/operators/linear_operator.hpp", "core/registry.hpp", "core/shared.hpp", "multigrid/hierarchy.hpp",
        "smoothers/smoother.hpp")


def public_types(root):
    """Classes and enumerations that the headers of interfaces/stratum.hpp, the umbrella header, and those of BASE define."""
    types = {}
    for header in list(BASE) + re.findall(r"#include <stratum/(.*)>", (root / "interfaces/stratum.hpp").read_text()):
        path = root / header if (root / header).is_file() else root / "interfaces" / header
        for name in re.findall(r"^(?:class|struct|enum class) ([A-Z]\w*)(?=[ :;{])(?![^{]*;$)", path.read_text(), re.M):
            types[name] = header
    return types


def folders(root):
    """Folders with files or with folders of the tree; of tests those that mirror no other."""
    found = set()
    for name in files(root) + [str(path.relative_to(root)) for path in (root / "docs").rglob("*.md")]:
        parts = Path(name).parts[:-1]
        for depth in range(1, len(parts) + 1):
            found.add("/".join(parts[:depth]))
    mirrors = [folder for folder in found if folder.startswith("tests/")
               and (folder.count("/") > 1 or (root / folder.removeprefix("tests/")).is_dir() and folder != "tests/docs")]
    return sorted(folder for folder in found.difference(mirrors) if not folder.startswith("."))


def check_map(root):
    page = (root / "docs/internals/map.md").read_text()
    named = set(re.findall(r"`([^`\s]+?)/?`", page))
    good = True
    for folder in folders(root):
        if folder not in named:
            good = False
            print(f"FAILED: docs/internals/map.md does not name the folder {folder}/")
    for name, header in sorted(public_types(root).items()):
        if name not in named and not any(re.match(rf"{name}<", other) for other in named):
            good = False
            print(f"FAILED: docs/internals/map.md does not name {name} of {header}")
    for name in named:
        if re.fullmatch(r"[a-z_0-9]+(/[a-z_0-9]+)+", name) and name.startswith(FOLDERS) and not (root / name).is_dir():
            good = False
            print(f"FAILED: docs/internals/map.md names the folder {name}, which is not there")
    print(f"{len(folders(root))} folders, {len(public_types(root))} types")
    return good


if __name__ == "__main__":
    mode, root = sys.argv[1], Path(sys.argv[2]).resolve()
    sys.exit(0 if {"measures": measures, "map": check_map}[mode](root) else 1)
