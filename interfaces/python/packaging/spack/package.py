# spack repo create stratum-repo; mkdir -p stratum-repo/packages/py_stratum; put this file there; spack repo add stratum-repo
# spack dev-build py-stratum@main        in the sources
from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyStratum(PythonPackage):
    """Geometric multigrid for stretched tensor-product meshes."""

    version("main")

    variant("cuda", default=False, description="Build the CUDA backend")
    variant("expressions", default=True, description="Strings as expressions, by muParser")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("py-numpy", type=("build", "run"))
    depends_on("muparser", when="+expressions")
    depends_on("cuda@12:", when="+cuda")

    conflicts("%gcc@:11", msg="C++20 needs GCC 12 or newer")

    def config_settings(self, spec, prefix):
        return {
            "cmake.define.STRATUM_EXPRESSIONS": "ON" if spec.satisfies("+expressions") else "OFF",
            "cmake.define.STRATUM_CUDA": "ON" if spec.satisfies("+cuda") else "OFF",
        }
