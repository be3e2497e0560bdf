#!/usr/bin/env python3
"""What the pages for users say is true.

docs_test.py commands PAGE.md BIN [--heavy]   runs the commands of a page as printed, in their order, in one empty directory
docs_test.py links SOURCE                     links, anchors and named files of all pages exist, and the site has all pages
docs_test.py fields PAGE.md BIN               the page names every member of the report of poisson2d

A page holds commands in two kinds of blocks. Every command must end with exit code 0, or with N where `# exit code N` follows.

    ```sh         commands, one a line; a line that ends with \\ goes on, and so does a here-document
    ```console    `$ COMMAND`, and below it what it prints; a line `...` stands for any lines

Printed numbers: whole ones agree exactly, those of eight and more digits to 1e-4, others to 5 %; seconds and what rounding leaves
are not compared. A comment on the line before a block says what is not run here:

    <!-- not run: REASON -->      counted, never run
    <!-- heavy: REASON -->        run with --heavy only
    <!-- needs PROGRAM -->        run where PROGRAM was built

Blocks of python are run by tests/python/test_pages.py.

A command elsewhere in a page, in a sentence or an indented block, would not be run, and is refused.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = ("poisson2d", "poisson3d", "heat2d", "heat3d", "krylov", "bubbly2d", "team20", "staggered", "paper_tables", "stratum_bench")
LANGUAGES = ("sh", "console", "text", "c++", "c", "cmake", "python")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

failures = 0


def fail(message):
    global failures
    failures += 1
    print(f"FAILED: {message}")


def parse(page):
    """Yields (line number, language, marker, lines) of every block, and (line number, None, "", [line]) of other lines."""
    block = language = None
    marker = before = ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if block is None:
                start, language, marker, block = number, line[3:].strip(), before, []
                if language not in LANGUAGES:
                    fail(f"{page.name}:{number}: a block of '{language}'; there are {', '.join(LANGUAGES)}")
            else:
                yield start, language, marker, block
                block = None
        elif block is not None:
            block.append(line)
        else:
            yield number, None, "", [line]
        before = re.sub(r"^<!-- *(.*?) *-->$", r"\1", line) if line.startswith("<!--") else ""
    if block is not None:
        fail(f"{page.name}:{start}: a block without an end")


def commands_of(language, lines):
    """Commands of a block, each with the lines that it is said to print, or None."""
    result, k = [], 0
    while k < len(lines):
        line = lines[k]
        k += 1
        if language == "console":
            if not line.startswith("$ "):
                result[-1][1].append(line)
                continue
            line = line[2:]
        elif not line.strip() or line.startswith("#"):
            continue
        while line.endswith("\\"):
            line += "\n" + lines[k]
            k += 1
        word = re.search(r"<<\s*'?(\w+)'?", line)
        while word and line.rsplit("\n", 1)[-1] != word[1]:
            line += "\n" + lines[k]
            k += 1
        result.append((line, [] if language == "console" else None))
    return result


def same_number(shown, printed):
    if re.fullmatch(r"[-+]?\d+", shown):
        return shown == printed
    digits = len(re.sub(r"e.*|\D", "", shown).lstrip("0"))
    tolerance = 1e-4 if digits >= 8 else 0.05
    return abs(float(shown) - float(printed)) <= tolerance * abs(float(shown))


def same(shown, printed, ends_in_seconds=False):
    """A line as shown and as printed; seconds, and numbers on lines of time and of what rounding leaves, are not compared."""
    if ends_in_seconds:
        shown, printed = (re.sub(r"[\d.e-]+$", "N", line) for line in (shown, printed))
    shown, printed = (re.sub(r"[\d.]+(e[-+]?\d+)? s\b", "N s", " ".join(line.split())) for line in (shown, printed))
    shown, printed = (re.sub(r"(?<=differ by )[\d.]+e-[1-9]\d\b", "N", line) for line in (shown, printed))
    if shown.startswith(("time ", "status round-off limit:")):
        shown, printed = (NUMBER.sub("N", line) for line in (shown, printed))
    if NUMBER.split(shown) != NUMBER.split(printed):
        return False
    return all(same_number(*pair) for pair in zip(NUMBER.findall(shown), NUMBER.findall(printed)))


def compare(shown, printed):
    """The first line that is shown and was not printed in its place, or None; `...` stands for any lines."""
    k, anywhere, seconds = 0, False, False
    for line in shown:
        if line.strip() == "...":
            anywhere = True
            continue
        while anywhere and k < len(printed) and not same(line, printed[k], seconds):
            k += 1
        if k == len(printed) or not same(line, printed[k], seconds):
            return line
        k, anywhere, seconds = k + 1, False, line.endswith("seconds") or (seconds and line.strip() != "")
    return None if anywhere or k == len(printed) else f"nothing more; but printed is: {printed[k]}"


def run_commands(page, binaries, heavy):
    environment = dict(os.environ, PATH=f"{binaries}:{os.environ['PATH']}", OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive",
                       CUDA_VISIBLE_DEVICES="", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
    ran, left_out = 0, []
    with tempfile.TemporaryDirectory() as work:
        for number, language, marker, lines in parse(page):
            if language is None:
                for found in re.findall(r"`([^`]*)`", lines[0]) + re.findall(r"^    +(?:\$ )?(.*)", lines[0]):
                    if re.match(rf"(\./bootstrap.sh|{'|'.join(PROGRAMS)}) ", found):
                        fail(f"{page.name}:{number}: a command outside sh and console blocks: {found}")
            if language not in ("sh", "console"):
                continue
            commands = commands_of(language, lines)
            program = marker.removeprefix("needs ") if marker.startswith("needs ") else None
            if marker.startswith("not run: ") or (marker.startswith("heavy") and not heavy):
                left_out.append((len(commands), f"line {number}, {marker}"))
                continue
            if program and not (binaries / program).exists():
                left_out.append((len(commands), f"line {number}, {program} was not built"))
                continue
            for command, shown in commands:
                expected = re.search(r"# exit code (\d+)$", command)
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=work, env=environment, text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                ran += 1
                wrong = None
                if done.returncode != (int(expected[1]) if expected else 0):
                    wrong = f"exit code {done.returncode}"
                elif shown is not None:
                    line = compare(shown, done.stdout.splitlines())
                    wrong = f"the page shows, and it does not print: {line}" if line is not None else None
                if wrong:
                    fail(f"{page.name}:{number}: {command}\n  {wrong}")
                    print("".join(f"  | {line}\n" for line in done.stdout.splitlines()[-40:]), end="")
    print(f"{page.name}: {ran} commands run, {sum(count for count, _ in left_out)} not")
    for count, reason in left_out:
        print(f"  {count} left out: {reason}")


def anchors(page):
    """Anchors of headings, as GitHub makes them."""
    return {
        re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
        for _, language, _, (line, *_) in parse(page) if language is None and line.startswith("#")
    }


def check_links(source):
    pages = [*source.glob("*.md"), *source.glob("docs/**/*.md")]
    folders = "core|mesh|assembly|smoothers|multigrid|solvers|interfaces|apps|tests|docs"
    links = 0
    for page in pages:
        for number, language, marker, lines in parse(page):
            where = f"{page.relative_to(source)}:{number}"
            if language in ("c", "c++") and not marker.startswith("apps/examples/") and page.name != "CONTRIBUTING.md":
                fail(f"{where}: code that is not of apps/examples")
            if language is not None:
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", lines[0]):
                if re.match(r"https?:", target):
                    continue
                links += 1
                name, _, anchor = target.partition("#")
                file = (page.parent / name).resolve() if name else page
                if not file.exists():
                    fail(f"{where}: no file {target}")
                elif anchor and anchor not in anchors(file):
                    fail(f"{where}: no heading for {target}")
            for name in re.findall(rf"`((?:{folders})/[\w./]+)`", lines[0]):
                if "NAME" not in name and not (source / name).exists():
                    fail(f"{where}: no file {name}")
    listed = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", (source / "mkdocs.yml").read_text(), re.M)
    for page in pages:
        if source / "docs" in page.parents and page.relative_to(source / "docs").as_posix() not in listed:
            fail(f"nav of mkdocs.yml has no line for {page.relative_to(source)}")
    print(f"{len(pages)} pages, {links} links")


def check_fields(page, poisson2d):
    printed = subprocess.run([poisson2d, "--level", "3", "--quiet", "--vtk", "none", "--report", "-"], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    named = set(re.findall(r"`(\w+)`", page.read_text()))
    for field in json.loads(printed):
        if field not in named:
            fail(f"{page.name} does not name the field {field}")


if __name__ == "__main__":
    if sys.argv[1] == "fields":
        check_fields(Path(sys.argv[2]), Path(sys.argv[3]) / "poisson2d")
    elif sys.argv[1] == "commands":
        run_commands(Path(sys.argv[2]), Path(sys.argv[3]).resolve(), "--heavy" in sys.argv)
    else:
        check_links(Path(sys.argv[2]).resolve())
    sys.exit(1 if failures else 0)
