#!/usr/bin/env python3
"""plot_peers.py RESULT.json PICTURE.png [LEVEL]: seconds to 1e-8 on every mesh, beside hypre's solvers (python3-matplotlib)."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

result = json.load(open(sys.argv[1]))
level = int(sys.argv[3]) if len(sys.argv) > 3 else 10
solves = [s for s in result["solves"] if s["level"] == level]
meshes = list(dict.fromkeys(s["mesh"] for s in solves))
lines = [
    ("Stratum, one pass (discretisation accuracy)", "fmg(4,4)", "o--", "tab:green"),
    ("Stratum, pass and V(2,2)", "fmg+V(2,2)", "o-", "tab:green"),
    ("hypre PFMG-CG", None, "v-", "tab:orange"),
    ("hypre SMG-CG", None, "s-", "tab:blue"),
    ("hypre SMG", None, "s--", "tab:blue"),
    ("hypre BoomerAMG-CG", None, "D-", "tab:red"),
]

plt.figure(figsize=(9, 4.2), dpi=110)
for label, cycle, style, colour in lines:
    times = {
        s["mesh"]: s["solve_seconds"] + s["setup_seconds"]
        for s in solves
        if s["solve_seconds"] is not None and s["precision"] == ("mixed" if cycle else "double")
        and (s.get("cycle") == cycle and s.get("smoother") == "adi" if cycle else s["solver"] == label)
    }
    plt.plot(range(len(meshes)), [times.get(m, float("nan")) for m in meshes], style, color=colour, label=label)
plt.yscale("log")
plt.xticks(range(len(meshes)), meshes)
plt.ylabel("seconds, set-up and solve")
plt.title(f"Residual down by $10^{{-8}}$, {2**level - 1} x {2**level - 1} unknowns, {result['threads']} thread, {result['processor']}")
plt.grid(axis="y", which="both", alpha=0.3)
plt.gca().yaxis.set_major_formatter(lambda y, _: f"{y:g}")
plt.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncol=3, frameon=False)
plt.savefig(sys.argv[2], bbox_inches="tight")
