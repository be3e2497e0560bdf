#include <stratum/multigrid/full_multigrid_solve.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/rounding.hpp>

namespace stratum {

std::string blown_up_reason(double residual, double initial) {
  return message("the FMG cycle blew up: the residual is ", residual, ", that of x = 0 was ", initial);
}

bool is_rounding_of_float(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                          FieldView<const double> x, double residual) {
  constexpr double digits = std::numeric_limits<float>::epsilon() / std::numeric_limits<double>::epsilon();
  const double level = Rounding<double>::stopped * digits * Rounding<double>(ctx, a, b, x, 0).level();
  return std::isfinite(level) && residual <= level;
}

template <class T>
FullMultigridSolve::FullMultigridSolve(Context& ctx, const GridOperator<double>& a, const Hierarchy<double>& hierarchy,
                                       const Multigrid<T>& multigrid, const PoissonSolverParams& params)
    : from_x_(params.full_multigrid_from_x), goes_on_(params.continue_after_full_multigrid) {
  auto made = std::make_unique<FullMultigrid<T>>(ctx, hierarchy, multigrid);
  if constexpr (std::is_same_v<T, double>)
    double_ = std::move(made);
  else
    float_ = std::move(made);
  if (!from_x_) return;
  defect_ = Field<double>(ctx, a.shape());
  correction_ = Field<double>(ctx, a.shape());
}

template FullMultigridSolve::FullMultigridSolve(Context&, const GridOperator<double>&, const Hierarchy<double>&,
                                                const Multigrid<float>&, const PoissonSolverParams&);
template FullMultigridSolve::FullMultigridSolve(Context&, const GridOperator<double>&, const Hierarchy<double>&,
                                                const Multigrid<double>&, const PoissonSolverParams&);

SolveReport FullMultigridSolve::solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                      FieldView<double> x, ReferenceNorm reference_norm, const Monitor& monitor) {
  SolveReport report;
  const auto norms = goes_on_ ? FullMultigridNorms::initial : FullMultigridNorms::all;
  const auto pass = [&](FieldView<const double> rhs, FieldView<double> solution) {
    return double_ ? double_->solve(ctx, rhs, solution, norms) : float_->solve(ctx, rhs, solution, norms);
  };
  FullMultigridPass norms_found;
  if (from_x_) {
    a.residual(ctx, b, x, defect_.view());
    norms_found = pass(defect_.cview(), correction_.view());
    axpy<double, double>(ctx, 1, correction_.cview(), x);
  } else {
    norms_found = pass(b, x);
  }
  const auto [rhs_norm, interpolated, corrected] = norms_found;
  report.reference_norm = reference_norm;
  report.initial_residual = rhs_norm;
  report.reference_norm_value = from_x_ && report.reference_norm == ReferenceNorm::rhs ? norm2(ctx, b) : rhs_norm;
  report.residual = std::isfinite(rhs_norm) ? corrected : rhs_norm;
  report.iterations = report.inner_iterations = 1;
  report.history = {rhs_norm};
  if (monitor) monitor(0, rhs_norm);
  if (goes_on_ && std::isfinite(rhs_norm)) return report;
  report.history.push_back(report.residual);
  if (monitor) monitor(1, report.residual);
  if (!std::isfinite(rhs_norm)) {
    report.status = Status::non_finite;
    report.reason = "the right-hand side is not finite";
  } else if (!(corrected <= 0.5 * interpolated) || corrected > rhs_norm) {
    look_closer(ctx, a, b, x, interpolated, report);
  } else {
    report.status = Status::converged;
  }
  if (report.status == Status::converged)
    report.reason = message("one full multigrid pass; the finest level's cycle reduced the residual from ",
                            interpolated, " to ", corrected, "; no tolerance was asked for and none is claimed");
  return report;
}

void FullMultigridSolve::look_closer(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                     FieldView<const double> x, double interpolated, SolveReport& report) const {
  const double corrected = report.residual, rhs_norm = report.initial_residual;
  Field<double> r(ctx, a.shape());
  a.residual(ctx, b, x, r.view());
  Rounding<double> rounding(ctx, a, b, x, rhs_norm);
  if (corrected > 0.5 * interpolated && rounding.reached(corrected, r.cview(), Rounding<double>::stopped)) {
    report.status = Status::round_off_limit;
    report.reason = message("one full multigrid pass; its residual, ", corrected, ", is at rounding");
  } else if (!(corrected <= interpolated)) {
    report.status = Status::diverged;
    report.reason = message("the finest level's cycle raised the residual from ", interpolated, " to ", corrected);
    if (float_ && is_rounding_of_float(ctx, a, b, x, corrected))
      report.reason += ", which is what float leaves; use double precision";
  } else if (corrected > rhs_norm && !rounding.has_its_size(corrected, r.cview())) {
    report.status = Status::diverged;
    report.reason = blown_up_reason(corrected, rhs_norm);
  } else if (corrected > 0.5 * interpolated) {
    report.status = Status::stagnated;
    report.reason = message("the finest level's cycle only reduced the residual from ", interpolated, " to ", corrected,
                            "; this smoother does not suit the mesh");
  } else {
    report.status = Status::converged;
  }
}

}  // namespace stratum
