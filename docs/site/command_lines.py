#!/usr/bin/env python3
"""Pages of docs/reference that list the options of a program, made from its --help.

command_lines.py BIN            writes them
command_lines.py BIN --check    says which are not what BIN's programs print, and ends with exit code 1
"""
import re
import subprocess
import sys
from pathlib import Path

PROGRAMS = {
    "poisson2d": "Poisson problems on rectangles and deformed rectangles",
    "poisson3d": "Poisson problems in boxes",
    "heat2d": "heat equation in two dimensions",
    "heat3d": "heat equation in boxes",
    "krylov": "sparse matrices by Krylov methods",
    "bubbly2d": "pressure of two fluids",
    "team20": "magnetic field by edge elements",
    "staggered": "staggered fermions",
    "paper_tables": "published tables",
    "stratum_bench": "benchmark",
}
REFERENCE = Path(__file__).resolve().parents[1] / "reference"


def cell(text):
    """Text of a table's cell."""
    return re.sub(r"([*_<|\[\]$])", lambda found: {"<": "&lt;", "|": "&#124;"}.get(found[1], "\\" + found[1]), text)


def code(text):
    return "<code>" + text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;") + "</code>"


def option_rows(lines):
    """(option, default, meaning) of the lines of a group."""
    rows = []
    for line in lines:
        found = re.match(r"  (?:-h, )?(--[\w-]+(?: \S+)?)(?: \(=(.*?)\))?(?:  +| (?=\S))(.*)$", line)
        if found and not line.startswith("      "):
            rows.append([found[1], found[2] or "", found[3]])
        elif rows:
            rows[-1][2] += " " + line.strip()
    return rows


def page(program, about, help_text):
    blocks = [block.splitlines() for block in re.split(r"\n\n", help_text.strip("\n"))]
    out = [f"# {program}: {about}", "", f"<!-- made by docs/site/command_lines.py from `{program}` --help; edit the program -->", "",
           "Values in parentheses at the end of a meaning are defaults.", ""]
    for block in blocks:
        if block[0].startswith("Usage: "):
            out += ["```text", *block, "```", ""]
        elif re.match(r"\S.*:$", block[0]) and len(block) > 1 and block[1].startswith("  -"):
            out += [f"## {block[0].rstrip(':')}", "", "| option | default | meaning |", "|---|---|---|"]
            out += [f"| {code(name)} | {code(default) if default else ''} | {cell(meaning)} |"
                    for name, default, meaning in option_rows(block[1:])]
            out.append("")
        elif len(block) > 1 and block[1].startswith("  "):
            title = re.split(r"[,;:]| SPEC", block[0])[0]
            out += [f"## {title}", "", "```text", *(block[1:] if block[0] == title + ":" else block), "```", ""]
        else:
            out += [cell(" ".join(line.strip() for line in block)), ""]
    return "\n".join(out).rstrip() + "\n"


def main():
    binaries, stale = Path(sys.argv[1]), []
    for program, about in PROGRAMS.items():
        if not (binaries / program).exists():
            print(f"{program} was not built")
            continue
        printed = subprocess.run([binaries / program, "--help"], capture_output=True, text=True, check=True).stdout
        file, made = REFERENCE / f"{program}.md", page(program, about, printed)
        if "--check" not in sys.argv:
            file.write_text(made)
        elif not file.exists() or file.read_text() != made:
            stale.append(file.name)
    if stale:
        print(f"FAILED: not what --help prints: {', '.join(stale)}; docs/site/command_lines.py BIN makes them anew")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
