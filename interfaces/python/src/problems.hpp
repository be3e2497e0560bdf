#pragma once

// What users say of problems on rectangles and in boxes, as the library takes it: for solves (poisson.cpp, poisson_3d.cpp) and
// for steps in time (heat.cpp). To be called with the GIL.

#include <array>
#include <memory>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "arrays.hpp"

namespace stratum::python {

/// Boundaries left, right, bottom and top as (kind, g, alpha), K as kxx, kxy and kyy, c, and bodies, without f. Throws UsageError
/// for arrays of other shapes.
[[nodiscard]] PoissonProblem problem_of(const TensorMesh<2>& mesh, const std::array<nb::tuple, 4>& boundaries,
                                        const std::array<nb::object, 3>& kappa, const nb::object& reaction,
                                        const nb::dict& options);
[[nodiscard]] PoissonSolverParams solver_params_of(const nb::dict& options);
/// By finite volumes, not by elements.
[[nodiscard]] bool is_of_volumes(const nb::dict& options);
/// Numbers on the cells, at the nodes and bilinear between them, or at the 4 x 4 Gauss points of each cell.
[[nodiscard]] ScalarFunction function_on_mesh(const TensorMesh<2>& mesh, const HostArray<double, 2>& values);

using SharedBox = std::shared_ptr<const TensorMesh<3>>;

/// The same in a box, whose faces are in the order of BoxFace, with f = 0.
[[nodiscard]] PoissonProblem3D problem_of(const SharedBox& mesh, const std::array<nb::tuple, 6>& faces,
                                          const std::array<nb::object, 3>& kappa, double reaction,
                                          const nb::list& bodies);
/// A number, or an array at the nodes or on the cells.
[[nodiscard]] ScalarFunction3D function_on_box(const TensorMesh<3>& mesh, const nb::object& f);

}  // namespace stratum::python
