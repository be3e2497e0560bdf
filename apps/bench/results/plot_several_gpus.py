#!/usr/bin/env python3
"""plot_several_gpus.py RESULT.json PICTURE.png: milliseconds on one, two and four GPUs by size, how much faster several are, and
a cycle where every GPU has as many unknowns, to 512 GPUs by a model (python3-matplotlib). "solves" has for each problem the first
and the fifth solve of a process; one GPU was measured on both hosts."""
import json
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

result = json.load(open(sys.argv[1]))
solves = {s["problem"]: s for s in result["solves"]}
figure, (times, gains, weak) = plt.subplots(1, 3, figsize=(15.5, 4.4), dpi=110)

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
# The same number of unknowns for every GPU, a cycle. What four GPUs lose was measured. Hosts have eight; between hosts a level's
# two exchanges of overlapping rows take longer, and so does the gather of the first level that all GPUs solve. Assumed of a
# network: 15 us and 45 GB/s; measured of stores: 5.5 us and 355 GB/s.
own = solves["square cells 8191^2 a GPU, adi fmg"]
cycles = dict(zip((1, 2, 4), own["iterations"]))
of_cycle = {gpus: own[key][1] / cycles[gpus] for gpus, key in [(1, "one"), (2, "two"), (4, "four")]}


def model(gpus):
    unknowns, levels = gpus * 8191 * 8192, 0
    while unknowns > 1e6:
        unknowns, levels = unknowns / 4, levels + 1
    if gpus <= 8:
        return of_cycle[4]
    rows = 19 * 8191 * 4  # bytes
    later = (15e-6 + rows / 45e9) - (5.5e-6 + rows / 355e9)
    gather = gpus * 0.6e-6 + 4 * unknowns / 45e9
    return of_cycle[4] + 1e3 * (2 * levels * later + gather)


weak.plot(list(of_cycle), list(of_cycle.values()), "o-", color="tab:green", label="measured")
many = [4, 8, 16, 32, 64, 128, 256, 512]
weak.plot(many, [model(gpus) for gpus in many], "--", color="tab:gray", label="model: 8 GPUs a host, a network of 45 GB/s")
weak.axhline(of_cycle[1], color="black", linewidth=0.8, label="one GPU")
weak.set_xscale("log", base=2)
weak.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
weak.set_ylim(0)
weak.set_xlabel("GPUs, each with 8191 x 8191 unknowns (square cells, adi)")
weak.set_ylabel("milliseconds a cycle")
weak.grid(alpha=0.3)
weak.legend(fontsize=8, loc="lower right")
figure.suptitle(result["device"])
figure.tight_layout()
figure.savefig(sys.argv[-1])
