#!/usr/bin/env python3
"""Whether nvcc accepts every CUDA source, on a machine without a GPU.

cuda_sources.py SOURCE_DIR WORK_DIR [PATTERN...] [--cmake CMAKE] [--nvcc NVCC] [--jobs N]

Configures the library and its components with CUDA in WORK_DIR, and runs nvcc on each source that it would compile, up to PTX
of the host's and the device's code: both front ends see all of it, neither g++ nor ptxas optimises anything. That takes a fifth
of a build. With patterns, only sources whose path contains one of them. Prints errors and warnings; the exit code is 1 where
there are any. `bootstrap.sh test` runs it as the test cuda.sources where it builds without CUDA.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


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


def complaints_about(arguments, directory):
    arguments = ["-cuda" if argument == "-c" else "-O0" if argument == "-O3" else argument for argument in arguments]
    arguments[arguments.index("-o") + 1] = os.devnull
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
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        checks = {source: pool.submit(complaints_about, arguments + fast, directory)
                  for source, (arguments, directory) in commands.items()}
        for source, check in checks.items():
            if check.result():
                failed += 1
                print(f"{source}:\n{check.result()}", flush=True)
    print(f"{len(commands)} sources, {failed} with errors or warnings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
