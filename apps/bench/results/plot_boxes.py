#!/usr/bin/env python3
"""plot_boxes.py RESULT.json PICTURE.png: seconds of solves in boxes beside FFTW's and hypre's solvers (python3-matplotlib)."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

result = json.load(open(sys.argv[1]))
solves = [s for s in result["boxes"] if "kind" in s and s["status"] == "converged"]
kinds = [("uniform", "uniform"), ("A3 in x, y, z", "A3 in x, y and z"), ("graded in x, y, z", "thinnest 1e-6 in x, y and z")]
lines = [(None, "Stratum, fast diagonalization", "tab:green"), ("FFTW, sines in x, y, z", "FFTW, sine transforms", "tab:purple"),
         ("hypre BoomerAMG-CG", "hypre BoomerAMG-CG", "tab:red"), ("hypre SMG-CG", "hypre SMG-CG", "tab:blue"),
         ("hypre SMG", "hypre SMG", "tab:cyan")]

plt.figure(figsize=(9, 3.6), dpi=110)
width = 0.16
for place, (peer, label, colour) in enumerate(lines):
    times = {s["kind"]: s["seconds"] for s in solves if s.get("peer") == peer}
    at = [k + (place - 2) * width for k, (kind, _) in enumerate(kinds) if kind in times]
    bars = plt.bar(at, [times[kind] for kind, _ in kinds if kind in times], width, color=colour, label=label)
    plt.bar_label(bars, fmt="%.2g", fontsize=8)
plt.yscale("log")
plt.ylim(0.01, 60)
plt.xticks(range(len(kinds)), [text for _, text in kinds])
plt.ylabel("seconds of the solve")
cells = solves[0]["cells"]
plt.title(f"Residual down by $10^{{-10}}$, {' x '.join(str(n) for n in cells)} cells, one core, {result['processor']}", fontsize=10)
plt.gca().yaxis.set_major_formatter(lambda y, _: f"{y:g}")
plt.grid(axis="y", alpha=0.3)
plt.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncol=3, frameon=False)
plt.savefig(sys.argv[2], bbox_inches="tight")
