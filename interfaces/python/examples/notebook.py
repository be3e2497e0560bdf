#!/usr/bin/env python3
"""Notebooks of the examples: notebook.py SCRIPT... writes SCRIPT with the ending .ipynb into this folder.

A script with cells (# %%, # %% [markdown]) keeps them. Of others the text at the top becomes a cell of text, what is defined a cell
of code, and the line "# In a notebook: ..." the cell that runs it. Nothing but Python is needed.
"""

import ast
import json
import re
import sys
from pathlib import Path

MARKER = "# In a notebook: "


def cells_of(source):
    """(kind, text) of each cell."""
    if "\n# %%" in "\n" + source:
        for part in re.split(r"^# %%", source, flags=re.M)[1:]:
            head, _, body = part.partition("\n")
            if "[markdown]" in head:
                yield "markdown", re.sub(r"^# ?", "", body.strip("\n"), flags=re.M)
            elif body.strip():
                yield "code", body.strip("\n")
        return
    tree = ast.parse(source)
    lines = source.splitlines()
    yield "markdown", ast.get_docstring(tree)
    guard = next(node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test))
    yield "code", "\n".join(lines[tree.body[0].end_lineno:guard.lineno - 1]).strip("\n")
    yield "code", next(line.strip()[len(MARKER):] for line in lines if line.strip().startswith(MARKER))


def notebook_of(source):
    cells = []
    for number, (kind, text) in enumerate(cells_of(source)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        cells.append(cell | ({"outputs": [], "execution_count": None} if kind == "code" else {}))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "cells": cells}


if __name__ == "__main__":
    for script in map(Path, sys.argv[1:]):
        made = Path(script.with_suffix(".ipynb").name)
        made.write_text(json.dumps(notebook_of(script.read_text()), indent=1) + "\n")
        print(made)
