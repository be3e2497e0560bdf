#pragma once

// The field: of one linear system, or of a nonlinear one by several.

#include <sstream>
#include <string>
#include <vector>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/solvers/stopping.hpp>

#include "problem.hpp"
#include "settings.hpp"

namespace stratum::apps::magnetics {

/// Residuals of inner solves, one history after the other.
struct InnerHistories {
  std::vector<std::vector<double>> all;
  [[nodiscard]] Monitor monitor() {
    return [this](int iteration, double residual) {
      if (iteration == 0) all.emplace_back();
      all.back().push_back(residual);
    };
  }
  [[nodiscard]] std::string csv() const {
    std::ostringstream out;
    out.precision(17);
    out << "solve,iteration,relative_residual\n";
    for (std::size_t n = 0; n < all.size(); ++n)
      for (std::size_t k = 0; k < all[n].size(); ++k)
        out << n + 1 << ',' << k << ',' << (all[n][0] > 0 ? all[n][k] / all[n][0] : 0) << '\n';
    return out.str();
  }
};

/// A solution, and how it came.
struct SolvedField {
  std::vector<double> a, nu;  // circulations; of elements
  SolveReport report;         // where the field is nonlinear, of the outer iteration
  std::vector<double> steps;  // of Newton's method
  double largest = 0;         // |B| in steel, tesla
};

/// By one permeability of the steel, or by its curve. `histories`: where residuals of inner solves go; null: nowhere.
[[nodiscard]] SolvedField solve_linear(Context& ctx, const Problem& problem, const Settings& settings,
                                       InnerHistories* histories);

[[nodiscard]] SolvedField solve_nonlinear(Context& ctx, const Problem& problem, const Settings& settings,
                                          InnerHistories* histories);

}  // namespace stratum::apps::magnetics
