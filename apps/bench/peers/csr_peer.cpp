#include "csr_peer.hpp"

#include <cmath>
#include <vector>

#include <stratum/core/errors.hpp>

namespace stratum::apps {

SolveReport CsrPeer::solve(const SparseRows& a, std::span<const double> b, std::span<double> x, double rtol,
                           int max_iterations, Stopwatch now) const {
  if (!available()) throw ResourceError(message("this program was built without ", library));
  SolveReport report = run(a, b, x, rtol, max_iterations, now);
  double residual = 0, norm = 0;
  for (std::size_t k = 0; k < b.size(); ++k) {
    double r = b[k];
    for (auto e = static_cast<std::size_t>(a.start[k]); e < static_cast<std::size_t>(a.start[k + 1]); ++e)
      r -= a.value[e] * x[static_cast<std::size_t>(a.column[e])];
    residual += r * r;
    norm += b[k] * b[k];
  }
  report.residual = std::sqrt(residual);
  report.initial_residual = report.reference_norm_value = std::sqrt(norm);
  report.status = report.residual <= 1.01 * rtol * report.reference_norm_value ? Status::converged
                  : report.iterations >= max_iterations                        ? Status::max_iterations
                                                                               : Status::stagnated;
  return report;
}

}  // namespace stratum::apps
