#include "outcome.hpp"

namespace stratum::apps::poisson {

std::string coarsening(const std::vector<TensorMesh<2>>& hierarchy) {
  const auto direction = [&](const char* name, const auto& line) {
    const int fine = line(hierarchy.back()).size(), coarse = line(hierarchy.front()).size();
    return message(name, " ", fine, fine == coarse ? "" : message(" to ", coarse), " cell", coarse == 1 ? "" : "s");
  };
  return message(direction("x", [](const TensorMesh<2>& m) -> const Axis& { return m.x(); }), ", ",
                 direction("y", [](const TensorMesh<2>& m) -> const Axis& { return m.y(); }));
}

std::vector<SolveReport> reports_of(const Outcome& outcome) {
  std::vector<SolveReport> reports;
  for (const auto& system : outcome.systems) reports.push_back(system.report);
  return reports;
}

}  // namespace stratum::apps::poisson
