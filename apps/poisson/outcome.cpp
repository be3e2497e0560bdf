#include "outcome.hpp"

namespace stratum::apps::poisson {

std::string coarsening(const Outcome& outcome) {
  const auto direction = [&](const char* name, Direction d) {
    const auto count = [&](const TensorMesh<2>& mesh) {
      const Axis& line = d == Direction::x ? mesh.x() : mesh.y();
      return outcome.cells ? line.unknowns() : line.size();
    };
    const int fine = count(outcome.hierarchy.back()), coarse = count(outcome.hierarchy.front());
    return message(name, " ", fine, fine == coarse ? "" : message(" to ", coarse), outcome.cells ? " unknown" : " cell",
                   coarse == 1 ? "" : "s");
  };
  return message(direction("x", Direction::x), ", ", direction("y", Direction::y));
}

std::vector<SolveReport> reports_of(const Outcome& outcome) {
  std::vector<SolveReport> reports;
  for (const auto& system : outcome.systems) reports.push_back(system.report);
  return reports;
}

}  // namespace stratum::apps::poisson
