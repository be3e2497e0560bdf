#pragma once

// The solve: which method on which storage, and in which precisions.

#include <optional>
#include <string>
#include <vector>

#include <stratum/core/field/field.hpp>

#include "settings.hpp"
#include "system.hpp"

namespace stratum::apps::krylov {

/// What was left open, decided by the matrix.
struct Plan {
  std::string method;
  Storage storage = Storage::csr;
  std::size_t diagonals = 0;
  GridLayout<2> shape;
  bool on_grid = false;  // vectors and operator of the mesh, for multigrid
};

/// Throws UsageError for a method or preconditioner that the matrix is not fit for.
[[nodiscard]] Plan make_plan(const System& system, const Settings& settings);

struct Outcome {
  SolveReport report;
  std::vector<double> x;
  std::optional<double> error;  // max |x_i - 1|
  std::string box;              // of rows in a box what was found; else empty
};

/// In the precisions of `settings`; prints the heading and the table of residuals unless --quiet is given.
[[nodiscard]] Outcome solve(Context& ctx, const System& system, const Settings& settings, const Plan& plan);

}  // namespace stratum::apps::krylov
