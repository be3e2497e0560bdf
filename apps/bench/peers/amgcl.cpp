#include "csr_peer.hpp"

#ifdef STRATUM_HAVE_AMGCL
#include <algorithm>
#include <tuple>
#include <vector>

#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>
#endif

namespace stratum::apps {

namespace {

#ifdef STRATUM_HAVE_AMGCL

SolveReport run(const SparseRows& a, std::span<const double> b, std::span<double> x, double rtol, int max_iterations,
                Stopwatch now) {
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
  return report;
}

#else

constexpr decltype(CsrPeer::run) run = nullptr;

#endif

}  // namespace

CsrPeer amgcl_peer() { return {"amgcl", "amgcl SA-CG", "amgcl (-DAMGCL_ROOT says where its headers are)", run}; }

}  // namespace stratum::apps
