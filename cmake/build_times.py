#!/usr/bin/env python3
"""Which sources take longest to compile, and whether one takes too long.

build_times.py BUILD_DIR [--count N] [--limit SECONDS] [--cuda-limit SECONDS]

Reads ninja's log of a build (BUILD_DIR/.ninja_log) and prints the N slowest sources (10 by default) and the sum over all. These
are times on the clock: where the machine had other work, or more jobs than cores, they are longer than those of a processor.
With --limit every source whose time in the log is above the limit is therefore compiled once more, alone and without a compiler
cache, and the time that the processor spent is what counts. The exit code is 1 where that is above the limit, too.
--cuda-limit is the same for what nvcc compiles, which --limit leaves alone. A source whose object came from a cache says nothing.
"""
import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

CACHES = ("ccache", "sccache", "distcc")


def seconds_of(build):
    """Outputs of the build and how long each took when it was made last."""
    log = build / ".ninja_log"
    if not log.exists():
        sys.exit(f"build_times.py: {log} is not there: build with Ninja first (cmake --preset release does)")
    seconds = {}
    for line in log.read_text().splitlines():
        if line.startswith("#"):
            continue
        begin, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(begin)) / 1000
    return seconds


def output_of(arguments):
    return arguments[arguments.index("-o") + 1]


def commands_of(build):
    """Objects of the build: the source and the arguments of the compiler."""
    database = build / "compile_commands.json"
    if not database.exists():
        sys.exit(f"build_times.py: {database} is not there: configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    commands = {}
    for entry in json.loads(database.read_text()):
        arguments = shlex.split(entry["command"])
        while Path(arguments[0]).name in CACHES:
            del arguments[0]
        commands[output_of(arguments)] = (entry["file"], arguments, entry["directory"])
    return commands


def is_cuda(arguments):
    return "nvcc" in Path(arguments[0]).name


def measured(arguments, directory):
    """Seconds of a processor that the compiler takes."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = list(arguments)
        arguments[arguments.index("-o") + 1] = str(Path(folder) / "object")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(arguments, cwd=directory, stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, "CCACHE_DISABLE": "1"})
    if done.returncode != 0:
        sys.exit(f"build_times.py: {shlex.join(arguments)} fails:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, metavar="BUILD_DIR")
    parser.add_argument("--count", type=int, default=10, metavar="N")
    parser.add_argument("--limit", type=float, metavar="SECONDS")
    parser.add_argument("--cuda-limit", type=float, metavar="SECONDS")
    options = parser.parse_args()

    seconds = seconds_of(options.build)
    commands = commands_of(options.build)
    units = sorted(((seconds[o], o) for o in commands if o in seconds), reverse=True)
    if not units:
        sys.exit(f"build_times.py: nothing of {options.build} has been compiled")
    root = Path(__file__).resolve().parent.parent

    def name(output):
        source = Path(commands[output][0])
        return source.relative_to(root) if source.is_relative_to(root) else source

    for taken, output in units[: options.count]:
        print(f"{taken:8.1f} s  {name(output)}")
    print(f"{sum(taken for taken, _ in units):8.1f} s  in all, {len(units)} of {len(commands)} sources")

    failed = 0
    for taken, output in units:
        _, arguments, directory = commands[output]
        limit = options.cuda_limit if is_cuda(arguments) else options.limit
        if limit is None or taken <= limit:
            continue
        alone = measured(arguments, directory)
        if alone > limit:
            failed += 1
            print(f"build_times.py: {name(output)} takes {alone:.1f} s of a processor, {limit:g} s are allowed; "
                  "split it, or instantiate less in it (CONTRIBUTING.md, Build)", file=sys.stderr)
        else:
            print(f"{alone:8.1f} s of a processor  {name(output)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
