#include "solve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <stratum/magnetics/magnetic_field.hpp>
#include <stratum/magnetics/nonlinear_field.hpp>

#include "magnetics/edge_system.hpp"
#include "support/progress.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace stratum::apps::magnetics {

SolvedField solve_linear(Context& ctx, const Problem& problem, const Settings& settings, InnerHistories* histories) {
  SolvedField field;
  for (const bool steel : problem.steel) field.nu.push_back(steel ? 1 / settings.permeability : 1);
  field.a.assign(problem.b.size(), 0);
  const KeptPlanes kept = planes_of_steel(problem.elements.grid(), problem.materials);
  Progress progress(!settings.quiet);
  const auto table = [&](double norm) -> Monitor {
    if (settings.quiet) return {};
    return with_progress(progress, settings.stop, norm, residual_table(settings.stop.reference_norm, norm));
  };
  field.report = solve_edge_system(ctx, problem.elements.curl_curl(ctx, field.nu), {problem.elements, field.nu, {kept}},
                                   problem.b, field.a, settings.solver, settings.stop, table,
                                   histories == nullptr ? Monitor{} : histories->monitor());
  progress.clear();
  return field;
}

SolvedField solve_nonlinear(Context& ctx, const Problem& problem, const Settings& settings, InnerHistories* histories) {
  SolvedField field;
  const double begin = wall_seconds(), norm = std::sqrt(dot(problem.b, problem.b));
  const auto curve = team20::steel_curve();
  const KeptPlanes kept = planes_of_steel(problem.elements.grid(), problem.materials);
  field.a.assign(problem.b.size(), 0);
  double setup = 0;
  const LinearSolve linear = [&](const SparseRows& matrix, const std::vector<double>& nu, const std::vector<double>& b,
                                 std::vector<double>& x, double rtol) {
    StoppingParams stop = settings.stop;
    stop.rtol = rtol;
    const auto report = solve_edge_system(
        ctx, matrix, {problem.elements, nu, {kept}}, b, x, settings.solver, stop, [](double) { return Monitor{}; },
        histories == nullptr ? Monitor{} : histories->monitor());
    setup += report.setup_seconds;
    if (!settings.quiet) std::printf("%16d linear iterations to %.0e\n", report.iterations, rtol);
    return report;
  };
  auto nonlinear = solve_nonlinear_field(ctx, problem.elements, problem.steel, curve, problem.b, field.a, linear,
                                         settings.nonlinear, [&](int iteration, double residual) {
                                           if (settings.quiet) return;
                                           if (iteration == 0) std::printf("iteration   relative residual\n");
                                           std::printf("%9d   %17.3e\n", iteration, residual / norm);
                                           (void)std::fflush(stdout);
                                         });
  field.report = std::move(nonlinear.outer);
  field.steps = std::move(nonlinear.steps);
  field.report.setup_seconds = setup;
  field.report.solve_seconds = wall_seconds() - begin - setup;
  const auto s = problem.elements.mean_square_curl(ctx, field.a);
  field.nu = reluctivities(problem.steel, curve, s);
  for (std::size_t e = 0; e < s.size(); ++e)
    if (problem.steel[e]) field.largest = std::max(field.largest, vacuum_permeability * std::sqrt(s[e]));
  return field;
}

}  // namespace stratum::apps::magnetics
