#include "outcome.hpp"

namespace stratum::apps::poisson {

std::vector<BodyLine> body_lines(const PoissonProblem& problem, const std::vector<BodyFlux>& found) {
  std::vector<BodyLine> lines;
  for (const Body& body : problem.bodies) {
    lines.push_back({body.name, body.kind});
    if (found.empty()) continue;
    const BodyFlux& of = found[lines.size() - 1];
    lines.back() = {body.name, body.kind, of.cells, of.area, of.mean, of.flux};
  }
  return lines;
}

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
