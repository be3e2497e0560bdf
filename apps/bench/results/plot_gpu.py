#!/usr/bin/env python3
"""plot_gpu.py RESULT.json [MORE.json ...] PICTURE.png: milliseconds to 1e-8 by size, and the kernels' share of a copy (python3-matplotlib)."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

results = [json.load(open(name)) for name in sys.argv[1:-1]]
result, solves = results[0], [solve for r in results for solve in r["solves"]]
figure, (times, shares) = plt.subplots(1, 2, figsize=(11, 4.4), dpi=110, gridspec_kw={"width_ratios": [1, 1.1]})

for mesh, smoother, colour in [("A3", "adi", "tab:green"), ("U1", "colour_gs", "tab:blue")]:
    for cycle, style, what in [
        ("V(2,2)", "s-", "V(2,2) to $10^{-8}$"),
        ("fmg+V(2,2)", "o-", "pass, then V(2,2) to $10^{-8}$"),
        ("fmg(2,2)", "o--", "one pass, to discretisation accuracy"),
    ]:
        points = sorted(
            (s["unknowns"], 1e3 * s["solve_seconds"])
            for s in solves
            if (s["mesh"], s.get("smoother"), s.get("cycle")) == (mesh, smoother, cycle)
            and (s["operator"], s["precision"]) == ("tensor", "mixed")
            and s["solve_seconds"] is not None
        )
        if points:
            times.plot(*zip(*points), style, color=colour, label=f"{mesh}, {smoother}: {what}")
times.set_xscale("log")
times.set_yscale("log")
times.set_xlabel("unknowns")
times.set_ylabel("milliseconds, solve")
times.grid(which="both", alpha=0.3)
times.legend(fontsize=7.5)
times.yaxis.set_major_formatter(lambda y, _: f"{y:g}")

names = ["residual", "restrict_residual", "prolongate_add", "jacobi", "colour_gs", "line_x", "line_y"]
level = max(k["level"] for k in result["kernels"] if k["level"] <= 13)
for offset, operator, colour in [(0.2, "tensor", "tab:green"), (-0.2, "nine-band", "tab:orange")]:
    found = {
        k["kernel"]: k["percent_of_copy"]
        for k in result["kernels"]
        if (k["level"], k["operator"], k["precision"]) == (level, operator, "float")
    }
    if found:
        places = [len(names) - 1 - n + offset for n in range(len(names))]
        shares.barh(places, [found[n] for n in names], height=0.36, color=colour, label=operator)
shares.set_yticks(range(len(names)), reversed(names))
shares.axvline(100, color="black", linewidth=0.8)
shares.set_xlabel(f"per cent of a copy ({result['copy_gb_per_s'] / 1e3:.2f} TB/s), by declared bytes, float")
shares.set_title(f"{2**level - 1} x {2**level - 1} unknowns", fontsize=10)
shares.legend()
figure.suptitle(result["device"].split(", ")[1])
figure.tight_layout()
figure.savefig(sys.argv[-1])
