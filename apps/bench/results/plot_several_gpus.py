#!/usr/bin/env python3
"""plot_several_gpus.py RESULT.json PICTURE.png: milliseconds on one, two and four GPUs by size, and how much faster several are
(python3-matplotlib). "solves" has for each problem the first and the fifth solve of a process; one GPU was measured on both hosts."""
import json
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

result = json.load(open(sys.argv[1]))
solves = {s["problem"]: s for s in result["solves"]}
figure, (times, gains) = plt.subplots(1, 2, figsize=(11, 4.4), dpi=110)

for pattern, name, colour in [
    (r"A3 (\d+)\^2 adi fmg", "A3, adi", "tab:green"),
    (r"square (\d+)\^2 gs fmg", "square cells, colour_gs", "tab:blue"),
]:
    sizes = sorted((int(found[1]) ** 2, p) for p in solves if (found := re.fullmatch(pattern, p)))
    for gpus, key, style in [(1, "one", "o-"), (2, "two", "s--"), (4, "four", "^:")]:
        points = [(n, solves[p][key][1]) for n, p in sizes if key in solves[p]]
        times.plot(*zip(*points), style, color=colour, label=f"{name}: {gpus} GPU{'s' if gpus > 1 else ''}")
times.set_xscale("log")
times.set_yscale("log")
times.set_xlabel("unknowns")
times.set_ylabel("milliseconds, FMG cycle and V(2,2) to $10^{-8}$")
times.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
times.grid(which="both", alpha=0.3)
times.legend(fontsize=8)

for problem, label, style in [
    ("A3 16383^2 adi fmg", "A3, 16383 x 16383, adi", "o-"),
    ("square 8191^2 gs fmg", "square cells, 8191 x 8191, colour_gs", "s-"),
    ("staggered 32^3x64", "staggered, 32 x 32 x 32 x 64", "D-"),
    ("A3 8191^2 adi fmg", "A3, 8191 x 8191, adi", "^-"),
    ("A3 4095^2 nine bands", "A3, 4095 x 4095, nine bands", "v-"),
    ("A3 4095^2 adi fmg", "A3, 4095 x 4095, adi", "<-"),
]:
    s = solves[problem]
    gains.plot([1, 2, 4], [1, s["one"][1] / s["two"][1], s["one_beside_four"][1] / s["four"][1]], style, label=label)
gains.plot([1, 4], [1, 4], color="black", linewidth=0.8, label="in proportion to the GPUs")
gains.set_xticks([1, 2, 4])
gains.set_xlabel("GPUs")
gains.set_ylabel("times faster than one")
gains.grid(alpha=0.3)
gains.legend(fontsize=8)
figure.suptitle(result["device"])
figure.tight_layout()
figure.savefig(sys.argv[-1])
