#pragma once

// The matrix and the right-hand side, and what is known of the solution.

#include <future>
#include <vector>

#include <stratum/core/device/context.hpp>

#include "settings.hpp"

namespace stratum::apps::bubbly {

/// Densities on the cells and the links between these, as `s` says.
[[nodiscard]] PressureSystem make_system(const Settings& s, int threads);

struct RightHandSide {
  std::vector<double> b;
  std::vector<double> solution;  // empty: not known
};

/// Noise comes from one thread, one number after the other: where there are more, while these do something else.
[[nodiscard]] std::future<RightHandSide> start_rhs(const Settings& s, const PressureSystem& system, int threads);

/// In the L2 norm, relative; of a singular system without the means.
[[nodiscard]] double relative_error(std::vector<double> p, std::vector<double> exact, bool singular);

/// Throws where the cells leave no room to solve. Counted by hand, in words a cell: links, densities and rows on the host, and
/// what the solver has on the backend.
void expect_room_for(const Context& ctx, const Settings& s);

}  // namespace stratum::apps::bubbly
