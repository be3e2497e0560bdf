#include <stratum/core/io/solve_report.hpp>

#include <cmath>

namespace stratum {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::converged: return "converged";
    case Status::round_off_limit: return "round-off limit";
    case Status::max_iterations: return "max iterations";
    case Status::stagnated: return "stagnated";
    case Status::diverged: return "diverged";
    case Status::breakdown: return "breakdown";
    case Status::non_finite: return "non-finite input";
  }
  return "unknown";
}

int exit_code(Status status, bool tolerance_asked_for) {
  switch (status) {
    case Status::converged: return 0;
    case Status::round_off_limit: return tolerance_asked_for ? 2 : 0;
    case Status::max_iterations:
    case Status::stagnated: return 2;
    default: return 3;
  }
}

std::string_view to_string(ReferenceNorm reference_norm) {
  return reference_norm == ReferenceNorm::rhs ? "rhs" : "initial";
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
