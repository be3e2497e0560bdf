#pragma once

// Poisson problems solved on a grid, or on a subdomain of it.

#include <utility>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include <gtest/gtest.h>

#include "subdomains.hpp"

namespace test {

/// Expected to converge from zero, with NaN before where halos belong to others.
[[nodiscard]] inline std::pair<Field<double>, stratum::SolveReport> solved(Context& ctx, const stratum::Geometry& mesh,
                                                                           const stratum::PoissonProblem& problem,
                                                                           const stratum::PoissonSolverParams& params) {
  stratum::PoissonSolver solver(ctx, mesh, params);
  const GridLayout<2> shape = solver.fine_operator().shape();
  Field<double> b(ctx, shape), x(ctx, shape);
  assemble_load(ctx, mesh, problem, b);
  if (is_singular(ctx, mesh, problem)) (void)make_compatible(ctx, mesh, b);
  poison(ctx, b);
  poison(ctx, x);
  auto report = solver.solve(ctx, b.cview(), x.view());
  EXPECT_EQ(report.status, stratum::Status::converged) << report.reason;
  return {std::move(x), std::move(report)};
}

}  // namespace test
