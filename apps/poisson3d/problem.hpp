#pragma once

// What options say of a problem in a box: expressions, and files on its cells or nodes. For poisson3d and heat3d.

#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>

#include "support/command_line.hpp"
#include "support/mesh_options.hpp"

namespace stratum::apps::poisson3d {

/// Reads expressions, which may know the time, and files for a level of the mesh or a coarser one.
struct ProblemReader {
  const MeshChoice<3>& meshes;
  int level;
  Variables variables = Variables::space;

  [[nodiscard]] ScalarFunction3D function(const std::string& text) const;
  /// K: without the time, and of a file on cells.
  [[nodiscard]] ScalarFunction3D coefficient(const std::string& text) const;
  [[nodiscard]] bool depends_on_time(const std::string& text) const;
};

/// K: --kappa, --kx, --ky and --kz.
[[nodiscard]] std::vector<Option> coefficient_options();

/// --rhs, --exact, --boundary, the faces, K and c.
[[nodiscard]] PoissonProblem3D parse_problem(const CommandLine& options, const ProblemReader& read);

/// The largest difference of two Dirichlet faces at a node of their edge, as a warning; empty where they do not differ.
[[nodiscard]] std::string warning_of_edges(const TensorMesh<3>& mesh, const PoissonProblem3D& problem);

/// K on the cells, by its names in files for ParaView: kappa, or kxx, kyy and kzz. Empty where it is not given.
[[nodiscard]] std::vector<std::pair<const char*, std::vector<double>>>
diffusion_on_cells(const Context& ctx, const TensorMesh<3>& mesh, const Diffusion3D& k);

}  // namespace stratum::apps::poisson3d
