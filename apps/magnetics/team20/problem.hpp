#pragma once

// The device on a grid: elements, materials and the right-hand side.

#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/magnetics/edge_elements.hpp>
#include <stratum/magnetics/team20_problem.hpp>

#include "settings.hpp"

namespace stratum::apps::magnetics {

struct Problem {
  EdgeElements elements;
  std::vector<team20::Material> materials;
  std::vector<double> b;
  std::vector<bool> steel;  // of elements
  double source_check = 0;  // |(b, G phi)| / (|b| |G phi|), phi at random
  double seconds = 0;
};

/// (x, y), on the host.
[[nodiscard]] double dot(const std::vector<double>& x, const std::vector<double>& y);

/// Throws ResourceError where it does not fit.
[[nodiscard]] Problem make_problem(Context& ctx, const Settings& settings);

}  // namespace stratum::apps::magnetics
