#include "amgcl.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <stratum/core/errors.hpp>

#ifdef STRATUM_HAVE_AMGCL
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>
#endif

namespace stratum::apps {

#ifdef STRATUM_HAVE_AMGCL

bool amgcl_available() { return true; }

SolveReport amgcl_solve(const SparseRows& a, std::span<const double> b, std::span<double> x, double rtol,
                        int max_iterations, Stopwatch now) {
  using Backend = amgcl::backend::builtin<double>;
  using Cycle = amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, amgcl::relaxation::spai0>;
  using Solver = amgcl::make_solver<Cycle, amgcl::solver::cg<Backend>>;
  const std::vector<double> rhs(b.begin(), b.end());
  std::vector<double> solution(x.size(), 0.0);
  double begin = now();
  Solver::params params;
  params.solver.tol = rtol;
  params.solver.maxiter = static_cast<std::size_t>(max_iterations);
  const Solver solver(std::tie(a.rows, a.start, a.column, a.value), params);
  SolveReport report;
  report.setup_seconds = now() - begin;
  begin = now();
  const auto [iterations, error] = solver(rhs, solution);
  report.solve_seconds = now() - begin;
  report.iterations = static_cast<int>(iterations);
  std::copy(solution.begin(), solution.end(), x.begin());

  double residual = 0, norm = 0;
  for (std::size_t k = 0; k < rhs.size(); ++k) {
    double r = rhs[k];
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
      r -= a.value[e] * solution[static_cast<std::size_t>(a.column[e])];
    residual += r * r;
    norm += rhs[k] * rhs[k];
  }
  report.residual = std::sqrt(residual);
  report.initial_residual = report.baseline_norm = std::sqrt(norm);
  report.status = report.residual <= 1.01 * rtol * report.baseline_norm ? Status::converged
                  : report.iterations >= max_iterations                 ? Status::max_iterations
                                                                        : Status::stagnated;
  return report;
}

#else

bool amgcl_available() { return false; }

SolveReport amgcl_solve(const SparseRows& /*a*/, std::span<const double> /*b*/, std::span<double> /*x*/,
                        double /*rtol*/, int /*max_iterations*/, Stopwatch /*now*/) {
  throw ResourceError("this program was built without amgcl (-DAMGCL_ROOT says where its headers are)");
}

#endif

}  // namespace stratum::apps
