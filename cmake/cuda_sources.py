#!/usr/bin/env python3
"""Whether nvcc accepts every CUDA source, on a machine without a GPU.

cuda_sources.py SOURCE_DIR WORK_DIR [PATTERN...] [--cmake CMAKE] [--nvcc NVCC] [--jobs N]

Configures the library and its components with CUDA in WORK_DIR, and runs nvcc on each source that it would compile, up to PTX
of the host's and the device's code: both front ends see all of it, neither g++ nor ptxas optimises anything. That takes a fifth
of a build. Since headers take most of the time, it reads several sources as one; where nvcc complains of these, it reads fewer, down
to each by itself, and what it says then counts. That a source lacks an include which another one has, it then does not see: g++ does,
and of code for nvcc alone a build with CUDA. With patterns, only sources whose path contains one of them, each by itself. Prints errors and
warnings; the exit code is 1 where there are any. `bootstrap.sh test` runs it as the test cuda.sources where it builds without CUDA.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Sources that are read as one: headers take most of the four seconds of a processor of each by itself.
AS_ONE = 12


def configure(options):
    # Only one CUDA source belongs to none of the library and its components: apps/bench/peers/cufft.cpp.
    parts = [f"-DSTRATUM_{part}=OFF" for part in ("APPS", "TESTS", "INSTALL", "VTK", "NETCDF", "EXPRESSIONS", "PETSC", "MPI")]
    # One architecture, as code that no assembler sees.
    done = subprocess.run([options.cmake, "-S", options.source, "-B", options.work, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                           "-DSTRATUM_CUDA=ON", f"-DCMAKE_CUDA_COMPILER={options.nvcc}", "-DCMAKE_CUDA_ARCHITECTURES=90-virtual",
                           "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *parts],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cuda_sources.py: {options.work} cannot be configured with CUDA:\n{done.stdout}")


def commands_of(options):
    """Sources and the commands of nvcc. Of the sources that the build writes for float and for double, float's is enough."""
    entries = json.loads((options.work / "compile_commands.json").read_text())
    commands = {e["file"]: (shlex.split(e["command"]), e["directory"]) for e in entries if " -x cu " in e["command"]}
    return {source: command for source, command in commands.items()
            if not ("_double" in source and source.replace("_double", "_float") in commands)
            and (not options.patterns or any(pattern in source for pattern in options.patterns))}


def fast_options(nvcc):
    """-Ofc, which leaves out most of what cicc does after its front end, is new in CUDA 12.9."""
    known = subprocess.run([nvcc, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return ["-Ofc=max"] if "--Ofast-compile" in known else []


class Source:
    """A source as a part of a larger one: its directives come first, and what it declares for itself gets a name of its own."""

    def __init__(self, path):
        text = Path(path).read_text()
        self.path = path
        head, _, rest = text.partition("\nnamespace ")
        self.head = "\n".join(re.findall(r"^ *#.*", head, re.MULTILINE)) + "\n"
        # Relative includes mean another file elsewhere.
        self.can_be_a_part = (len(re.findall(r"# *if", self.head)) == len(re.findall(r"# *endif", self.head))
                              and 'include "' not in self.head and not re.search(r"^ *# *include", rest, re.MULTILINE))
        declared = set(re.findall(r"extern __shared__ .*?(\w+)\[\]", text))
        for body in re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", text, re.DOTALL | re.MULTILINE):
            for line in re.findall(r"^(?!using namespace )[A-Za-z_].*", body.replace("__launch_bounds__(", ""), re.MULTILINE):
                name = re.search(r"^(?:struct|class|enum(?: class)?|union|using(?= \w+ =)) (\w+)|(\w+)\s*[(={\[;]", line)
                if name:
                    declared.add(name[1] or name[2])
        declared -= {"operator", "namespace", "requires", "noexcept", "decltype", "auto", "bool", "double", "float", "int", "void", "T"}
        # Members of the same name would have to be told apart, and names from other namespaces stay.
        self.names = {name for name in declared if re.search(
            rf"(\.|->){name}\b|^using \S*::{name};|^ +(static|STRATUM_\w+|__\w+__) .*\b{name}\(", text, re.MULTILINE)}
        # A class is instantiated with all of its members that are defined: not once more, member by member.
        self.names.update(re.findall(r"^template (?!<)[^(<]*?\b(\w+)<", text, re.MULTILINE))
        self.text = text
        self.renamed = declared - self.names
        if text.startswith("// Generated"):
            self.names.add(Path(path).parent)  # what a header declares cannot be instantiated twice

    def part(self, number):
        pattern = "|".join(sorted(self.renamed)) or "$^"
        return f'#line 1 "{self.path}"\n' + re.sub(rf"(?<![\w.>:\"/])({pattern})\b", rf"\1_of_{number}", self.text) + "\n"


class Group:
    """Sources that are compiled alike, no two of which declare a name that stays."""

    def __init__(self, flags, directory):
        self.flags, self.directory, self.sources, self.names = flags, directory, [], set()

    def takes(self, source, flags, directory, size):
        return (self.flags == flags and self.directory == directory and len(self.sources) < size
                and source.can_be_a_part and self.sources[0].can_be_a_part and not self.names & source.names)

    def add(self, source):
        self.sources.append(source)
        self.names |= source.names

    def complaints(self, work):
        return self.complaints_of(self.sources, work)

    def complaints_of(self, sources, work):
        """Sources, and what nvcc says of each by itself; nothing of those that it accepts as one."""
        if len(sources) == 1:
            said = complaints_about(sources[0].path, self.flags, self.directory)
            return {sources[0].path: said} if said else {}
        with tempfile.NamedTemporaryFile("w", dir=work, suffix=".cu") as file:
            file.writelines(source.head for source in sources)
            file.writelines(source.part(number) for number, source in enumerate(sources))
            file.flush()
            if not complaints_about(file.name, self.flags, self.directory):
                return {}
        half = len(sources) // 2
        return {**self.complaints_of(sources[:half], work), **self.complaints_of(sources[half:], work)}


def groups_of(commands, size):
    groups = []
    for path, (arguments, directory) in commands.items():
        flags = [argument for argument in arguments if argument not in (path, output_of(arguments))]
        source = Source(path)
        group = next((group for group in groups if group.takes(source, flags, directory, size)), None)
        if group is None:
            group = Group(flags, directory)
            groups.append(group)
        group.add(source)
    return groups


def output_of(arguments):
    return arguments[arguments.index("-o") + 1]


def complaints_about(source, flags, directory):
    arguments = ["-cuda" if flag == "-c" else "-O0" if flag == "-O3" else flag for flag in flags]
    arguments[arguments.index("-o") + 1:arguments.index("-o") + 1] = [os.devnull, source]
    done = subprocess.run(arguments, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    return done.stderr or (f"nvcc ended with exit code {done.returncode}\n" if done.returncode != 0 else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="SOURCE_DIR")
    parser.add_argument("work", type=Path, metavar="WORK_DIR")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    options = parser.parse_args()

    configure(options)
    commands = commands_of(options)
    if not commands:
        sys.exit("cuda_sources.py: there is no such CUDA source")
    fast = fast_options(options.nvcc)
    groups = groups_of({source: (arguments + fast, directory) for source, (arguments, directory) in commands.items()},
                       1 if options.patterns else AS_ONE)
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for complaints in pool.map(lambda group: group.complaints(options.work), groups):
            failed += len(complaints)
            for source, said in complaints.items():
                print(f"{source}:\n{said}", flush=True)
    print(f"{len(commands)} sources, {failed} with errors or warnings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
