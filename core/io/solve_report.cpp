#include <stratum/core/io/solve_report.hpp>

#include <cmath>

namespace stratum {

int exit_code(Status status, bool tolerance_asked_for) {
  switch (status) {
    case Status::converged: return 0;
    case Status::round_off_limit: return tolerance_asked_for ? 2 : 0;
    case Status::max_iterations:
    case Status::stagnated: return 2;
    default: return 3;
  }
}

double SolveReport::relative_residual() const {
  if (residual == 0) return 0;
  return residual / reference_norm_value;
}

double SolveReport::digits() const { return -std::log10(residual / initial_residual); }

double SolveReport::convergence_rate() const {
  if (history.size() < 2 || history.front() == 0) return 0;
  return std::pow(history.back() / history.front(), 1.0 / static_cast<double>(history.size() - 1));
}

}  // namespace stratum
