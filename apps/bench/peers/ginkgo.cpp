#include "csr_peer.hpp"

#ifdef STRATUM_HAVE_GINKGO
#include <algorithm>
#include <memory>
#include <vector>

#include <ginkgo/ginkgo.hpp>
#endif

namespace stratum::apps {

namespace {

#ifdef STRATUM_HAVE_GINKGO

SolveReport run(const SparseRows& a, std::span<const double> b, std::span<double> x, double rtol, int max_iterations,
                Stopwatch now) {
  using Csr = gko::matrix::Csr<double, int>;
  using Dense = gko::matrix::Dense<double>;
  using Cg = gko::solver::Cg<double>;
  using Multigrid = gko::solver::Multigrid;
  using Pgm = gko::multigrid::Pgm<double, int>;
  using Iterations = gko::stop::Iteration;
  using Reduction = gko::stop::ResidualNorm<double>;
  const auto omp = gko::OmpExecutor::create();
  const auto view = [&](const auto& array) {
    return gko::make_const_array_view(omp, array.size(), array.data()).copy_to_array();
  };
  const auto column_of = [&](std::span<const double> v) {
    return Dense::create(omp, gko::dim<2>(v.size(), 1), view(v), 1);
  };
  std::fill(x.begin(), x.end(), 0.0);
  const auto rhs = column_of(b), solution = column_of(x);
  const auto n = static_cast<gko::size_type>(a.rows);

  double begin = now();
  const auto matrix = gko::share(Csr::create(omp, gko::dim<2>(n, n), view(a.value), view(a.column), view(a.start)));
  const auto cycle =
      Multigrid::build().with_mg_level(Pgm::build()).with_criteria(Iterations::build().with_max_iters(1U));
  const auto solver =
      Cg::build()
          .with_preconditioner(cycle)
          .with_criteria(Iterations::build().with_max_iters(static_cast<gko::size_type>(max_iterations)),
                         Reduction::build().with_reduction_factor(rtol))
          .on(omp)
          ->generate(matrix);
  SolveReport report;
  report.setup_seconds = now() - begin;
  const auto counted = gko::share(gko::log::Convergence<double>::create());
  solver->add_logger(counted);
  begin = now();
  solver->apply(rhs, solution);
  report.solve_seconds = now() - begin;
  report.iterations = static_cast<int>(counted->get_num_iterations());
  std::copy_n(solution->get_const_values(), x.size(), x.begin());
  return report;
}

#else

constexpr decltype(CsrPeer::run) run = nullptr;

#endif

}  // namespace

CsrPeer ginkgo_peer() { return {"ginkgo", "Ginkgo PGM-CG", "Ginkgo (-DGinkgo_DIR says where it is installed)", run}; }

}  // namespace stratum::apps
