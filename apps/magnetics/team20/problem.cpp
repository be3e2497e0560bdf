#include "problem.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <stratum/solvers/solver.hpp>

#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace stratum::apps::magnetics {

namespace {

double source_check(const EdgeElements& elements, const std::vector<double>& b) {
  const SparseRows g = elements.gradient();
  // Numbers without a pattern, the same on every machine.
  std::vector<double> phi(static_cast<std::size_t>(g.columns)), image(static_cast<std::size_t>(g.rows));
  std::uint32_t state = 12345;
  for (double& value : phi) {
    state = 1664525U * state + 1013904223U;
    value = static_cast<double>(state) / 4294967296.0 - 0.5;
  }
  for (std::size_t i = 0; i < image.size(); ++i)
    for (int k = g.start[i]; k < g.start[i + 1]; ++k)
      image[i] +=
          g.value[static_cast<std::size_t>(k)] * phi[static_cast<std::size_t>(g.column[static_cast<std::size_t>(k)])];
  return std::abs(dot(b, image)) / std::sqrt(dot(b, b) * dot(image, image));
}

/// Throws ResourceError where it does not fit: rows of the matrix, on the host and for the solver, in float once more where the
/// precision is mixed; vectors of the method, and the images of the elements.
void expect_room_for(const Context& ctx, const Settings& settings, const EdgeElements& elements) {
  const std::int64_t n = elements.unknowns(), entries = n * (settings.element == EdgeElement::hexahedron ? 33 : 17);
  const auto& method = solver_entry(settings.solver.method);
  const std::int64_t vectors = 12 + method.vectors + std::int64_t{settings.solver.restart} * method.vectors_per_restart;
  const std::int64_t solving = entries * (settings.solver.mixed ? 20 : 12) + 8 * n * vectors;
  const std::int64_t host = 24 * entries + 100 * std::int64_t{elements.elements()};
  expect_room(ctx, message(n, " unknowns"), host + (ctx.on_gpu() ? 0 : solving), solving);
}

}  // namespace

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

Problem make_problem(Context& ctx, const Settings& settings) {
  const double begin = wall_seconds();
  Problem problem{EdgeElements(team20::make_grid(settings.grid), settings.element), {}, {}, {}, 0, 0};
  expect_room_for(ctx, settings, problem.elements);
  problem.materials = team20::materials(problem.elements.grid());
  for (int e = 0; e < problem.elements.elements(); ++e)
    problem.steel.push_back(team20::is_steel(problem.materials[static_cast<std::size_t>(problem.elements.box_of(e))]));
  problem.b = problem.elements.load(ctx, team20::current_potential(settings.ampere_turns));
  problem.source_check = source_check(problem.elements, problem.b);
  problem.seconds = wall_seconds() - begin;
  return problem;
}

}  // namespace stratum::apps::magnetics
