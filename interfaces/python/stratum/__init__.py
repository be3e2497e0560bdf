"""Geometric multigrid for Poisson-type problems on stretched tensor-product meshes.

    stratum.Multigrid(A, shape=(ny, nx))           of a scipy.sparse matrix: .solve(b), .aspreconditioner(), .update(A);
                                                   (nz, ny, nx) in a box
    stratum.Components(A, 2)                       the same with several unknowns at each node
    stratum.ComplexMultigrid(A)                    of a complex matrix, such as K + i omega M
    stratum.poisson(mesh, f, boundaries, kappa, ...)    solves -div(K grad u) + c u = f, returns u on all nodes
    stratum.Poisson(mesh, boundaries, kappa, ...)       the same for many f
    stratum.Poisson3D(mesh, boundaries, kappa, ...)     in a box, which stratum.poisson solves too, directly
    stratum.heat(mesh, initial, end, steps, ...)   u_t - div(K grad u) + c u = f
    stratum.plot(...)                              solutions, meshes and convergence
    stratum.mesh(...)                              by name, by coordinates, by widths, graded
    stratum.patches(path)                          grids around corners, holes and bodies, a mesh for stratum.poisson
    stratum.gradients.vjp(...), stratum.torch.solve(...), stratum.jax.solve(...)     solves that can be differentiated
"""

from typing import Any

from ._complex import ComplexMultigrid
from ._components import Components
from ._heat import HeatSolution, heat
from ._mesh import mesh
from ._multigrid import Multigrid
from ._patches import PatchHeatSolution, PatchSolution, patches
from ._poisson import Poisson, Solution, poisson
from ._poisson_3d import Poisson3D, Solution3D
from ._report import ConvergenceError, ConvergenceWarning, ResourceError
from ._show import plot
from ._stratum import BoxMesh, Mesh, PatchMesh, cuda_available, expressions_available
from ._stratum import version as __version__

for _exception in (ConvergenceError, ConvergenceWarning, ResourceError):
    _exception.__module__ = __name__  # what messages call them

__all__ = [
    "BoxMesh", "ComplexMultigrid", "Components", "ConvergenceError", "ConvergenceWarning", "HeatSolution", "Mesh", "Multigrid",
    "PatchHeatSolution", "PatchMesh", "PatchSolution", "Poisson", "Poisson3D", "ResourceError", "Solution", "Solution3D", "__version__",
    "heat", "plot", "cuda_available", "expressions_available", "mesh", "patches", "poisson",
]


def __getattr__(name: str) -> Any:
    """Modules that are not needed by all, and whose libraries not all have: stratum.torch without an import of its own."""
    if name in ("gradients", "jax", "torch"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
