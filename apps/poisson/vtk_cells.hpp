#pragma once

// What files for ParaView have on cells, beside solutions in nodes and in volumes alike: the shape of cells, K and c where they
// are not the same everywhere, and the numbers of bodies.

#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/mesh/vtk/vtk.hpp>

namespace stratum::apps::poisson {

/// Names and numbers in the cells between these rows of nodes, x fastest.
using NamedFields = std::vector<std::pair<std::string, std::vector<double>>>;

[[nodiscard]] NamedFields cell_fields(Context& ctx, const ProblemMesh& mesh, const PoissonProblem& problem,
                                      const NodeRows& rows);

/// The same numbers, which the caller keeps, as files take them.
[[nodiscard]] std::vector<VtkField> as_vtk(const NamedFields& fields);

}  // namespace stratum::apps::poisson
