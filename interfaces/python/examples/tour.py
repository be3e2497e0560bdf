# %% [markdown]
# A tour of Stratum with pictures: a layer, how methods converge, coefficients that jump. Run it as it is (python tour.py
# writes layer.png, convergence.png and jumps.png), or cell by cell in an editor that knows `# %%`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import stratum

# %% [markdown]
# ## A layer
# -Laplace u + c u = c with c = 10^8 is 1 but within 10^-4 of the left and the lower side, where u = 0. Geometric grading puts
# a third of the nodes there, in cells up to 40000 times as long as wide. Between nodes equally far apart there would be
# nothing to see.

# %%
mesh = stratum.mesh(cells=(256, 256), grading="geometric:h=1e-6,first")
reaction = 1e8
x, y, u, report = stratum.poisson(mesh, reaction, boundaries={"right": "neumann", "top": "neumann"}, reaction=reaction)
print(mesh)
print(f"layer: {report['iterations']} iterations, {report['status']}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.pcolormesh(x, y, u, shading="gouraud")
left.set(title="u", xlabel="x", ylabel="y")
near = x < 1e-3
right.pcolormesh(x[near], y[near], u[np.ix_(near, near)], shading="gouraud")
right.set(title="the corner, 1000 times enlarged", xlabel="x")
figure.savefig("layer.png", dpi=120)

# %% [markdown]
# ## Convergence
# The same problem by three smoothers. On stretched cells points are the wrong thing to smooth, lines are right.

# %%
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for smoother in ("adi", "colour_gs", "jacobi"):
    report = stratum.poisson(("A2", 8), 1, smoother=smoother, maxiter=40, on_failure="ignore").report
    residuals = np.array(report["residuals"])
    axes.semilogy(residuals / residuals[0], marker=".", label=f"{smoother}: {report['status']}")
    print(f"{smoother}: {report['iterations']} cycles, {report['status']}")
axes.set(xlabel="cycles", ylabel="residual, relative", ylim=(1e-10, 1e3), title="Mesh A2, cells up to 384 times as long")
axes.legend()
figure.savefig("convergence.png", dpi=120)

# %% [markdown]
# ## Jumps
# K is 10^6 inside of discs and 1 outside. Interpolation follows K, and conjugate gradients take what is left.

# %%
rng = np.random.default_rng(3)
centres, radii = rng.uniform(0.1, 0.9, (12, 2)), rng.uniform(0.03, 0.09, 12)


def kappa(x, y):
    inside = np.zeros(x.shape, dtype=bool)
    for (a, b), r in zip(centres, radii):
        inside |= (x - a) ** 2 + (y - b) ** 2 < r**2
    return np.where(inside, 1e6, 1.0)


x, y, u, report = stratum.poisson(stratum.mesh(cells=(400, 400)), 1.0, kappa=kappa)
print(f"jumps: {report['iterations']} iterations, {report['status']}")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.pcolormesh(x, y, kappa(*np.meshgrid((x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2)), norm="log")
left.set(title="K", aspect="equal")
right.contourf(x, y, u, 30)
right.set(title="u", aspect="equal")
figure.savefig("jumps.png", dpi=120)
