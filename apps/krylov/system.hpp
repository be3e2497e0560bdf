#pragma once

// The system A x = b: from files, or generated.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

#include "settings.hpp"

namespace stratum::apps::krylov {

/// Nodes of a box are the unknowns.
struct RowsInBox {
  std::array<int, 3> n{};
  std::vector<int> numbering;  // node (k ny + j) nx + i of every row; empty: in an order of the directions
};

struct System {
  std::string name;
  SparseRows a;
  bool symmetric = false;
  bool negated = false;  // a and b: the diagonal was negative
  std::vector<double> b;
  bool solution_is_one = false;
  std::optional<GridLayout<2>> grid;  // whose nodes are the unknowns
  std::optional<TensorMesh<2>> mesh;  // where its widths are known
  std::optional<RowsInBox> box;
};

/// Throws UsageError for a matrix that does not fit its options, ResourceError where a generated one leaves no room to solve,
/// and FileError.
[[nodiscard]] System make_system(const Context& ctx, const CommandLine& options, const Settings& settings);

/// A as it was given.
[[nodiscard]] SparseRows given_matrix(const System& system);

/// Throws where A is singular and no x brings ||b - A x|| below the tolerance: D A is symmetric for some d > 0 (most often 1),
/// rows of a connected part sum to zero, and d is no null vector of b^T there. The smallest residual is |d^T b| / ||d||.
void expects_a_solution(const System& system, const StoppingParams& stop);

}  // namespace stratum::apps::krylov
